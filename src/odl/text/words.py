"""Split texts of every script into words, and names with digits such as BA.5 or 737-MAX.

A word consists of letters and their marks. `encode` normalises a text and returns it in UTF-8. The
table `CUT` translates separators to spaces. `Words.split` splits each piece between spaces into
words: a piece of ASCII letters is one word; in other pieces, a regular expression finds words,
names, tags, hosts and emoji. Text in scripts without spaces is split by
`odl.text.scripts.segmenter`.
"""

import re
import string
import unicodedata
from functools import cache, cached_property

import numpy as np

from odl.text import scripts
from odl.text.identifiers import (
    ASCII_MAIL_ADDRESS,
    is_identifier_or_plain,
    names,
    simplify_addresses,
)

# Signs that may occur inside words and addresses. Those in ASCII_EDGES are removed from the start
# and the end of a piece.
INSIDE_SIGNS = "#@-._/:?=&%+~"
ASCII_EDGES = b"-./:?=&%+~"
SEPARATING_SIGNS = set(string.punctuation) - set(INSIDE_SIGNS)
QUOTATION_MARKS = (
    "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}"
    "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}"
    "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
    "\N{DOUBLE LOW-9 QUOTATION MARK}"
)
SENTENCE_SIGNS = (
    "\N{DEVANAGARI DANDA}\N{EN DASH}\N{EM DASH}\N{HORIZONTAL ELLIPSIS}"
    "\N{ARABIC COMMA}\N{ARABIC SEMICOLON}\N{ARABIC QUESTION MARK}"
)
EDGES = ASCII_EDGES.decode() + QUOTATION_MARKS + SENTENCE_SIGNS

# Character class of the signs that separate words in scripts without spaces: middle dot, dashes,
# quotation marks, ellipsis, punctuation of CJK and in full width.
UNSPACED_SIGNS = "\u00b7\u2014\u2018-\u201d\u2026\u3001\u3002\u3008-\u3011\u301c\u30fb"
UNSPACED_SIGNS += "\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff5e"

# Character classes of the letters of Latin, Greek, Cyrillic, Hebrew and Arabic. A piece with
# letters of one class only is one word.
WORD_ALPHABETS = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    "\u0370-\u0373\u0386\u0388-\u03f5\u03f7-\u03ff",
    "\u0400-\u0481\u048a-\u052f",
    "\u05d0-\u05ea",
    "\u0620-\u063f\u0641-\u064a",
)
is_word_of_one_script = re.compile(
    "|".join(f"[{letters}]+" for letters in WORD_ALPHABETS) + "|" + scripts.indic()
).fullmatch


# Translation tables for bytes. CUT replaces white space, and ASCII signs that never occur inside a
# word or an address, by spaces. PLAIN replaces all ASCII characters except letters, digits and "_".
WHITE_SPACE = b"\t\n\v\f\r\x1c\x1d\x1e\x1f "
CUT = bytes(
    32 if sign in WHITE_SPACE or chr(sign) in SEPARATING_SIGNS else sign for sign in range(256)
)
PLAIN = bytes(
    sign if sign > 127 or chr(sign).isalnum() or chr(sign) == "_" else 32 for sign in range(256)
)

# Finds digits, tags, addresses, and names such as t-SNE, AT&T and C++, which `PLAIN` would destroy.
is_special = re.compile(
    rb"[0-9@#\x00-\x1f\x7f]|://|(?i:www\.)|\b[A-Za-z]-[A-Za-z]|[A-Z][&/][A-Z]|\+\+"
).search
has_letter = re.compile(rb"[A-Za-z]").search

# Names that contain symbols, such as C++. `{whole}` is the character class of words.
NAME_WITH_SIGNS = (
    r"(?<![{whole}&.+-])"
    r"(?:[A-Za-z]-(?=[A-Za-z\u00c0-\u024f])[{whole}]{{2,}}+(?!-)"  # t-SNE
    # BA.5, B.1.1.7, H.264
    r"|(?:[A-Z]\.(?=\d\.?\d)|[A-Z]{{2,3}}\.)\d{{1,3}}(?:\.\d{{1,3}})*(?!\.\d)"
    r"|\d{{1,3}}-[A-Z]{{1,3}}(?!-)"  # 737-MAX
    r"|[Cc]\+\+|[CF]#"
    r"|[A-Z]{{1,2}}&[A-Z]{{1,2}}"  # AT&T
    r"|(?<!/)[A-Z]/[A-Z](?!/|-\d)"  # I/O
    r")(?![{whole}&+#])"
)

# Apostrophes and quotes inside Cyrillic and Hebrew words are replaced by letters, so that they do
# not end the word. The letters of these scripts in UTF-8 begin with bytes of no other script.
CYRILLIC, CYRILLIC_BYTES = "[\u0400-\u047f]", (0xD0, 0xD1)
HEBREW, HEBREW_BYTE = "[\u0591-\u05ea]", 0xD7
APOSTROPHE_LETTER, GERESH = "\N{MODIFIER LETTER APOSTROPHE}", "\N{HEBREW PUNCTUATION GERESH}"
GERSHAYIM = "\N{HEBREW PUNCTUATION GERSHAYIM}"
SINGLE_QUOTES, DOUBLE_QUOTES = (
    "'\N{RIGHT SINGLE QUOTATION MARK}",
    '"\N{RIGHT DOUBLE QUOTATION MARK}',
)
BETWEEN_LETTERS = (
    f"(?:((?<={CYRILLIC}.)(?={CYRILLIC}))|(?<={HEBREW}.)(?={HEBREW}))"  # group 1: Cyrillic
)
# Hebrew abbreviations have a quote before their last letter. A quote after a single letter, which
# is a prefix, opens a quotation.
BEFORE_LAST_LETTER = f"(?<={HEBREW}.)(?={HEBREW})(?:(?<={HEBREW}{{2}}.)|(?!{HEBREW}{{2}}))"


def _replace_single_quote(match):
    """Return the letter that replaces a single quote inside a Cyrillic or Hebrew word.

    Group 1 of the match is set if the word is Cyrillic.
    """
    return GERESH if match[1] is None else APOSTROPHE_LETTER


# Quote -> (function that substitutes the quote inside words, its replacement or a function that
# returns the replacement for a match).
REPLACED_QUOTES = {
    **{
        quote: (re.compile(quote + BETWEEN_LETTERS).sub, _replace_single_quote)
        for quote in SINGLE_QUOTES
    },
    **{quote: (re.compile(quote + BEFORE_LAST_LETTER).sub, GERSHAYIM) for quote in DOUBLE_QUOTES},
}

# Characters that are removed or replaced in a piece.
CONTROL_SIGNS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
COMPATIBILITY_FORMS = re.compile(f"[{scripts.FORMS}]+")
JOINER = "\N{ZERO WIDTH JOINER}"  # joins several emoji into one
EMOJI_PARTS = re.compile(f"[{scripts.SKIN}{JOINER}]")
KOREAN_PARTICLES = (
    "은|는|이|가|을|를|의|에|와|과|도|만|로|으로|에서|에게|에는|에도|"
    "에서는|으로는|로는|부터|까지|이나|라는|이라는"
)
drop_particles = re.compile(  # removes a Korean particle that follows a Latin word
    "(?:(?<=[A-Za-z])|(?<=[A-Za-z][0-9-])|(?<=-[0-9])|(?<=-[0-9]{2}))"
    f"(?:{KOREAN_PARTICLES})(?![{scripts.HANGUL}])"
).sub

GREEK = re.compile("[\u0370-\u03ff]")
DOTLESS_I, DOT_ABOVE, ACUTE = (
    "\N{LATIN SMALL LETTER DOTLESS I}",
    "\N{COMBINING DOT ABOVE}",
    "\N{COMBINING ACUTE ACCENT}",
)
# Combining marks and Greek letters, whose accents `str.casefold` does not remove.
may_need_folding = re.compile(f"[{DOTLESS_I}\u0300-\u03ff]").search

# Kinds of code points for the kernel (`odl.kernels.known_pieces`).
SEPARATOR, EDGE, DIGIT, FIRST_ALPHABET, OTHER_KIND, UNSPACED_SIGN = 0, 1, 2, 3, 9, 10


def encode(text):
    """Return a text in NFC and UTF-8, with letters for apostrophes and middle dots inside words.

    Only texts with letters of Cyrillic or Hebrew are searched for apostrophes.
    """
    if text.isascii():
        return text.encode()
    text = unicodedata.normalize("NFC", text)
    if "\N{MIDDLE DOT}" in text:
        text = text.replace("l\N{MIDDLE DOT}l", "\N{LATIN SMALL LETTER L WITH MIDDLE DOT}l")
        text = text.replace("L\N{MIDDLE DOT}L", "\N{LATIN CAPITAL LETTER L WITH MIDDLE DOT}L")
    data = text.encode("utf-8", "surrogatepass")
    if HEBREW_BYTE in data:
        quotes = SINGLE_QUOTES + DOUBLE_QUOTES
    else:
        quotes = SINGLE_QUOTES if any(byte in data for byte in CYRILLIC_BYTES) else ""
    for quote in quotes:
        if quote in text:
            substitute, letter = REPLACED_QUOTES[quote]
            text = substitute(letter, text)
            data = text.encode("utf-8", "surrogatepass")
    return data


@cache
def kinds(cut, hangul="words", segment=None):
    """Return the kind of each code point below 65536 for the translation table `cut`.

    `odl.kernels.known_pieces` describes the kinds.
    """
    kinds, ascii = np.full(1 << 16, OTHER_KIND, dtype=np.uint8), range(128)
    if cut is CUT:
        spaceless = () if segment else scripts.SPACELESS
        # Syllables of Korean are an alphabet if they are split at spaces.
        alphabets = (*WORD_ALPHABETS, *(["\uac00-\ud7a3"] if hangul == "words" else []))
        classes = [
            *enumerate(alphabets, FIRST_ALPHABET),
            *enumerate((UNSPACED_SIGNS, *spaceless), UNSPACED_SIGN),
        ]
        for kind, characters in classes:
            kinds[[point for point in scripts.points(characters) if point < len(kinds)]] = kind
    kinds[[sign for sign in ascii if chr(sign).isalpha()]] = FIRST_ALPHABET
    kinds[[*b"0123456789_"]], kinds[[*ASCII_EDGES]] = DIGIT, EDGE
    kinds[[sign for sign in ascii if cut[sign] == 32]] = SEPARATOR
    return kinds


def fold_case(word):
    """Return a word in NFC without case, with dotted i for dotless i, and without Greek accents."""
    folded = word.casefold()
    if folded.isascii() or not may_need_folding(folded):
        return folded
    folded = folded.replace(f"i{DOT_ABOVE}", "i").replace(DOTLESS_I, "i")
    if GREEK.search(folded):
        folded = unicodedata.normalize("NFD", folded).replace(ACUTE, "")
    return unicodedata.normalize("NFC", folded)


class Words:
    """Splitter of pieces of text into words; a piece is the text between separators (see `CUT`).

    Parameters
    ----------
    fold : bool
        Whether to fold case.
    hangul : {"words", "pairs"}
        Whether Korean is split at spaces or into pairs of syllables.
    segment : str, optional
        Package that splits text without spaces, one of `odl.text.scripts.SEGMENTERS`. By default,
        such text is split into pairs or triples of characters.
    """

    # Numbers of the groups in the regular expression of `_scanner`.
    UNSPACED, WORD, TAG, HOST, EMOJI = range(1, 6)

    def __init__(self, fold=True, hangul="words", segment=None):
        self.fold, self.lower = (fold_case, bytes.lower) if fold else (str, bytes)
        self.hangul, self.segment = hangul, scripts.segmenter(segment)

    def _scanner(self, letters, whole):
        """Return the `finditer` of a regular expression for the words in a piece.

        Each match has one group. The number of the group is the kind of the word.

        Parameters
        ----------
        letters, whole : str
            Character classes: of the first character of a word, and of all its characters.
        """
        unspaced = scripts.SPACELESS
        if self.hangul == "pairs":
            unspaced = (*unspaced, scripts.HANGUL)
        spaceless = "|".join(f"[{script}]+" for script in unspaced)
        emoji = f"[{scripts.EMOJI}][{scripts.SKIN}]*"
        number_or_quote = f"-\\d|(?<=\\d)\\.\\d|[{GERESH}{GERSHAYIM}](?<={HEBREW}.)(?={HEBREW})"
        return re.compile(
            f"({spaceless})"
            f"|({NAME_WITH_SIGNS.format(whole=whole)}|[{letters}](?:[{whole}]+|{number_or_quote})*)"
            f"|([#@](?<![{whole}&].)(?:[{whole}]|{spaceless})+)"
            "|\x00([^\x00]+)\x00"
            f"|([{scripts.FLAG}]{{2}}|{emoji}(?:{JOINER}{emoji})*)"
        ).finditer

    @cached_property
    def scan_ascii(self):
        """Function that finds the words in an ASCII piece; see `_scanner`."""
        return self._scanner("0-9A-Za-z", "0-9A-Za-z_")

    @cached_property
    def scan(self):
        """Function that finds the words in any piece, more slowly than `scan_ascii`."""
        return self._scanner(*scripts.alphabets(self.hangul == "words"))

    @cached_property
    def has_forms(self):
        """Function that searches for compatibility forms of letters and for ignored characters."""
        return re.compile(f"[{scripts.FORMS}{scripts.ignored()}{JOINER}]").search

    @cached_property
    def drop_ignored(self):
        """Function that substitutes ignored characters, except zero-width joiners between emoji."""
        ends = f"{scripts.EMOJI}{scripts.SKIN}\N{VARIATION SELECTOR-16}"
        outside_emoji = f"(?<![{ends}]){JOINER}|{JOINER}(?![{scripts.EMOJI}])"
        return re.compile(f"[{scripts.ignored()}]|{outside_emoji}").sub

    def split(self, piece):
        """Return the words of a piece in UTF-8, in order."""
        if piece.isascii():
            word = piece.strip(ASCII_EDGES)
            is_one_word = len(word) > 1 and word.isalpha()
            return [self.lower(word).decode()] if is_one_word else self._split_ascii(piece)
        piece = piece.decode("utf-8", "surrogatepass")
        if len(word := piece.strip(EDGES)) > 1 and is_word_of_one_script(word):
            return [self.fold(word)]
        if self.has_forms(piece):
            piece = COMPATIBILITY_FORMS.sub(
                lambda form: unicodedata.normalize("NFKC", form[0]), piece
            )
            piece = unicodedata.normalize("NFC", self.drop_ignored("", piece))
        return self._words(self.scan(simplify_addresses(drop_particles(" ", piece))))

    def _split_ascii(self, piece):
        """Return the words in an ASCII piece that does not consist of letters only.

        A piece without digits and special signs (`is_special`) is split by `PLAIN`, which is fast.
        A mail address gives its host. In other pieces, the regular expression is searched.
        """
        if not is_special(piece):
            words = [part.strip("_") for part in piece.translate(PLAIN).decode().split()]
            words = [word for word in words if len(word) > 1 and is_identifier_or_plain(word)]
            return list(map(self.fold, words))
        if not has_letter(piece):
            return []
        if mail := ASCII_MAIL_ADDRESS.fullmatch(piece):
            return [mail[1].decode().lower()]
        text = CONTROL_SIGNS.sub("", piece.decode())
        return self._words(self.scan_ascii(simplify_addresses(text)))

    def _words(self, matches):
        """Return the words for the matches of the regular expression of `_scanner`."""
        tokens = []
        for match in matches:
            group = match.lastindex
            part = match[group]
            if group == self.UNSPACED:
                tokens += self.segment(part)
            elif group == self.WORD:
                word = self.fold(part)
                if word.isascii() and word.isalpha():
                    tokens += [word] if len(word) > 1 else []
                elif not word.isdigit() and is_identifier_or_plain(part.rstrip("_")):
                    tokens += names(word.rstrip("_"))
            elif group == self.EMOJI:
                tokens.append(EMOJI_PARTS.sub("", part))
            elif group == self.HOST or any(map(str.isalpha, part)):
                tokens.append(self.fold(part))
        return tokens
