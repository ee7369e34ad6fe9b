"""Split texts of every script into words: letters with their marks, and names with digits such as BA.5 or 737-MAX.

Text of scripts without spaces is split into overlapping pairs or triples of characters, or by the segmenter of another
package (jieba, Janome, PyThaiNLP).
"""

import logging
import re
import tempfile
import unicodedata
from functools import cache, cached_property

import numpy as np

from odl.errors import ConfigError
from odl.text import scripts

# Translation tables for bytes. CUT maps white space to a space, and ASCII characters other than letters, digits,
# control characters and INSIDE, which are parts of words and addresses.
INSIDE = "#@-._/:?=&%+~"
STAYS = [sign > 127 or chr(sign).isalnum() or chr(sign) in INSIDE or sign < 28 or sign == 127 for sign in range(256)]
CUT = bytes(sign if stays else 32 for sign, stays in enumerate(STAYS)).replace(b"\t\n\x0b\x0c\r", b" " * 5)
# PLAIN maps all ASCII characters except letters, digits and "_" to a space.
PLAIN = bytes(sign if sign > 127 or chr(sign).isalnum() or sign == 95 else 32 for sign in range(256))
SPECIAL = re.compile(rb"[0-9@#\x00-\x1f\x7f]|://|(?i:www\.)|\b[A-Za-z]-[A-Za-z]|[A-Z][&/][A-Z]|\+\+")
LETTER = re.compile(rb"[A-Za-z]")
LETTERS = (  # Latin, Greek, Cyrillic, Hebrew, Arabic; a word of one class needs no further analysis
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    "\u0370-\u0373\u0386\u0388-\u03f5\u03f7-\u03ff",
    "\u0400-\u0481\u048a-\u052f",
    "\u05d0-\u05ea",
    "\u0620-\u063f\u0641-\u064a",
)
SCRIPT = re.compile("|".join(f"[{letters}]+" for letters in LETTERS) + "|" + scripts.indic())
EDGES = "-./:?=&%+~\u00ab\u00bb\u0964\u2013\u2014\u2018\u2019\u201c\u201d\u201e\u2026\u060c\u061b\u061f"
ASCII_EDGES = EDGES[:10].encode()
GREEK = re.compile("[\u0370-\u03ff]")
UNFOLDED = re.compile("[\u0131\u0300-\u03ff]").search  # characters that may need normalisation after folding
CONTROLS, FORMS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]"), re.compile(f"[{scripts.FORMS}]+")
EMOJI_PARTS = re.compile(f"[{scripts.SKIN}\u200d]")
CYRILLIC, HEBREW = "[\u0400-\u047f]", "[\u0591-\u05ea]"  # their first bytes in UTF-8 occur in no other script
APOSTROPHE = f"(?:((?<={CYRILLIC}.)(?={CYRILLIC}))|(?<={HEBREW}.)(?={HEBREW}))"
GERSHAYIM = f"(?<={HEBREW}.)(?={HEBREW})(?:(?<={HEBREW}{{2}}.)|(?!{HEBREW}{{2}}))"  # a prefix has one letter
WITHIN = {  # apostrophes and quotes inside words: function that finds them, and the letter that replaces them
    sign: (re.compile(sign + APOSTROPHE).sub, lambda match: "\u05f3" if match[1] is None else "\u02bc")
    for sign in "'\u2019"
} | {sign: (re.compile(sign + GERSHAYIM).sub, "\u05f4") for sign in '"\u201d'}
PARTICLES = (
    "은|는|이|가|을|를|의|에|와|과|도|만|로|으로|에서|에게|에는|에도|에서는|으로는|로는|부터|까지|이나|라는|이라는"
)
PARTICLE = re.compile(  # a Korean particle after a Latin word
    f"(?:(?<=[A-Za-z])|(?<=[A-Za-z][0-9-])|(?<=-[0-9])|(?<=-[0-9]{{2}}))(?:{PARTICLES})(?![{scripts.HANGUL}])"
).sub
MAX_NAME = 40  # characters of a name with digits
SPACELESS = "".join(scripts.SPACELESS)
# Separators of words in scripts without spaces.
APART = "\u00b7\u2014\u2018-\u201d\u2026\u3001\u3002\u3008-\u3011\u301c\u30fb\uff01\uff08\uff09\uff0c\uff1a\uff1b"
APART += "\uff1f\uff5e"
HOST = f"[^\\W{SPACELESS}]"
ADDRESS = re.compile(
    f"(?i)(?:[a-z][a-z0-9+.-]{{0,20}}://|(?<![\\w.])www\\.)(?:[^\\s/?#@]{{0,64}}@)?((?:{HOST}|[.-])+)(?:[!-~]|{HOST})*"
)
ADDRESSEE = re.compile(rb"[\w.+%-]{1,64}@((?:[0-9A-Za-z][\w-]*\.)+[A-Za-z]{2,63})[.:?]*")
MAIL = re.compile(f"(?:{HOST}|[.+%-]){{1,64}}@((?:(?:{HOST}|-){{1,63}}\\.)+(?:{HOST}|-){{2,63}})")
GUID = re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])")
LONG = re.compile(r"[A-Za-z0-9+/_-]{20}")  # base64 and GUIDs contain this
ENCODED = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
SWITCH = re.compile(r"[a-z][A-Z0-9]|[A-Z][a-z0-9]|[0-9][A-Za-z]")
DIGIT, NUMBER = re.compile(r"\d"), re.compile(r"\d{5}")
LETTERED = re.compile(f"[{scripts.THAI}{scripts.LAO}{scripts.KHMER}{scripts.BURMESE}]").match
MONTHS = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
SIMPLE = re.compile(rf"(?!{MONTHS})(?=[0-9a-f]*[g-z-])[a-z]{{2,12}}-?[0-9]{{1,4}}")  # matches most names with digits
HASH = re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{7,}")
CODE = re.compile(r"0x[0-9a-f]{1,16}")
CHANGE = re.compile(r"\d(?=[^\W\d])|[^\W\d](?=\d)")
MONTH = re.compile(rf"{MONTHS}[a-z]{{0,6}}[-_]?\d")
UNITS = (
    "[a-ce-fh-jl-z]|st|nd|rd|th|am|pm|[ckmn]m|[kmu]g|ms|ns|us|min|sec|hrs?|yrs?|[kmgt]i?b(?:ps|it)?|bits?|dpi|px|pt"
    "|[kmg]?hz|k[mw]h?|kv|mph|ft|in|lbs?|oz|usd|eur|days?|mos?|mth|pct"
)
COUNTED = re.compile(rf"\d+-?(?!(?:{UNITS}|{MONTHS}[a-z]{{0,6}})$)[a-z]+")  # 3d, 737-max, but not 10km, 12th, 1990s
NAME = (  # t-SNE; BA.5, B.1.1.7, H.264; 737-MAX; C++, C#; AT&T; I/O
    r"(?<![{whole}&.+-])(?:[A-Za-z]-(?=[A-Za-z\u00c0-\u024f])[{whole}]{{2,}}+(?!-)"
    r"|(?:[A-Z]\.(?=\d\.?\d)|[A-Z]{{2,3}}\.)\d{{1,3}}(?:\.\d{{1,3}})*(?!\.\d)|\d{{1,3}}-[A-Z]{{1,3}}(?!-)"
    r"|[Cc]\+\+|[CF]#|[A-Z]{{1,2}}&[A-Z]{{1,2}}|(?<!/)[A-Z]/[A-Z](?!/|-\d))(?![{whole}&+#])"
)


def encoded(text):
    """Return a text in NFC and UTF-8, with letters in place of apostrophes within words (`WITHIN`, Catalan l·l)."""
    if text.isascii():
        return text.encode()
    text = unicodedata.normalize("NFC", text)
    if "\u00b7" in text:
        text = text.replace("l\u00b7l", "\u0140l").replace("L\u00b7L", "\u013fL")
    data = text.encode("utf-8", "surrogatepass")
    quotes = "'\u2019\"\u201d" if 0xD7 in data else "'\u2019" if 0xD0 in data or 0xD1 in data else ""
    for sign in quotes:  # only if the text has Hebrew or Cyrillic
        if sign in text:
            sub, letter = WITHIN[sign]
            text = sub(letter, text)
            data = text.encode("utf-8", "surrogatepass")
    return data


@cache
def kinds(cut, hangul="words", segment=None):
    """Return the kind of each code point (see `odl.kernels.known_pieces`) for the translation table `cut`."""
    kinds, ascii = np.full(1 << 16, 9, dtype=np.uint8), range(128)
    if cut is CUT:
        spaceless = () if segment else scripts.SPACELESS
        parts = (*LETTERS, *(["\uac00-\ud7a3"] if hangul == "words" else []))
        for kind, part in [*enumerate(parts, 3), *enumerate((APART, *spaceless), 10)]:
            kinds[[point for point in scripts.points(part) if point < len(kinds)]] = kind
    kinds[[sign for sign in ascii if chr(sign).isalpha()]] = 3
    kinds[[*b"0123456789_"]], kinds[[*ASCII_EDGES]] = 2, 1
    kinds[[sign for sign in ascii if cut[sign] == 32]] = 0
    return kinds


def fold_case(word):
    """Return a word in NFC without case. Dotted and dotless i become one letter, Greek loses its accents."""
    folded = word.casefold()
    if folded.isascii() or not UNFOLDED(folded):
        return folded
    folded = folded.replace("i\u0307", "i").replace("\u0131", "i")
    if GREEK.search(folded):
        folded = unicodedata.normalize("NFD", folded).replace("\u0301", "")
    return unicodedata.normalize("NFC", folded)


class Words:
    """Splits pieces of text into words. A piece is a part of a text between separators; see `encoded` and `CUT`.

    Parameters
    ----------
    fold : bool
        Whether to fold case.
    hangul : {"words", "pairs"}
        Whether Korean is split at spaces or into pairs of syllables.
    segment : str, optional
        Package that splits text without spaces, one of `SEGMENTERS`; by default it is split into pairs or triples of
        characters.
    """

    def __init__(self, fold=True, hangul="words", segment=None):
        self.fold, self.lower = (fold_case, bytes.lower) if fold else (str, bytes)
        self.hangul, self.segment = hangul, segmenter(segment)

    def _scanner(self, letters, whole):
        """Return a `finditer` with groups 1 to 5: text without spaces, words, tags, hosts, emoji."""
        apart = scripts.SPACELESS if self.hangul == "words" else (*scripts.SPACELESS, scripts.HANGUL)
        spaceless, emoji = "|".join(f"[{script}]+" for script in apart), f"[{scripts.EMOJI}][{scripts.SKIN}]*"
        return re.compile(
            f"({spaceless})"
            f"|({NAME.format(whole=whole)}"
            f"|[{letters}](?:[{whole}]+|-\\d|(?<=\\d)\\.\\d|[\u05f3\u05f4](?<={HEBREW}.)(?={HEBREW}))*)"
            f"|([#@](?<![{whole}&].)(?:[{whole}]|{spaceless})+)"
            "|\x00([^\x00]+)\x00"
            f"|([{scripts.FLAG}]{{2}}|{emoji}(?:\u200d{emoji})*)"
        ).finditer

    @cached_property
    def scan_ascii(self):
        """The scanner for ASCII."""
        return self._scanner("0-9A-Za-z", "0-9A-Za-z_")

    @cached_property
    def scan(self):
        """The scanner for all of Unicode."""
        return self._scanner(*scripts.alphabets(self.hangul == "words"))

    @cached_property
    def unusual(self):
        """Search for compatibility forms of letters and for ignored characters."""
        return re.compile(f"[{scripts.FORMS}{scripts.ignored()}\u200d]").search

    @cached_property
    def leave_out(self):
        """Substitution of ignored characters, except zero-width joiners between emoji."""
        end = f"{scripts.EMOJI}{scripts.SKIN}\ufe0f"
        return re.compile(f"[{scripts.ignored()}]|(?<![{end}])\u200d|\u200d(?![{scripts.EMOJI}])").sub

    def split(self, piece):
        """Return the words of a piece in UTF-8, in order."""
        if piece.isascii():
            word = piece.strip(ASCII_EDGES)
            return [self.lower(word).decode()] if len(word) > 1 and word.isalpha() else self._of_ascii(piece)
        piece = piece.decode("utf-8", "surrogatepass")
        if len(word := piece.strip(EDGES)) > 1 and SCRIPT.fullmatch(word):
            return [self.fold(word)]
        if self.unusual(piece):
            piece = FORMS.sub(lambda form: unicodedata.normalize("NFKC", form[0]), piece)
            piece = unicodedata.normalize("NFC", self.leave_out("", piece))
        return self._words(self.scan(prepare(PARTICLE(" ", piece))))

    def _of_ascii(self, piece):
        """Return the words of a piece in ASCII."""
        if not SPECIAL.search(piece):
            parts = piece.translate(PLAIN).decode().split()
            return [self.fold(word) for part in parts if len(word := part.strip("_")) > 1 and _may_be_word(word)]
        if not LETTER.search(piece):
            return []
        if mail := ADDRESSEE.fullmatch(piece):
            return [mail[1].decode().lower()]
        piece = CONTROLS.sub("", piece.decode())
        return self._words(self.scan_ascii(prepare(piece)))

    def _words(self, matches):
        """Return the words of the matches of a scanner."""
        tokens = []
        for match in matches:
            kind = match.lastindex
            if kind == 1:
                tokens += self.segment(match[1])
            elif kind == 2:
                word = self.fold(match[2])
                if word.isascii() and word.isalpha():
                    tokens += [word] if len(word) > 1 else []
                elif not word.isdigit() and _may_be_word(match[2].rstrip("_")):
                    tokens += names(word.rstrip("_"))
            elif kind == 5:
                tokens.append(EMOJI_PARTS.sub("", match[5]))
            elif kind == 4 or any(map(str.isalpha, match[3])):
                tokens.append(self.fold(match[kind]))
        return tokens


def _may_be_word(word):
    """Return whether a word has no underscore, or is an identifier in capitals or with digits but no long number."""
    return "_" not in word or ((word.isupper() or DIGIT.search(word)) and not NUMBER.search(word))


def names(word):
    """Return [word] if it is a word or a name with digits, else its parts that are: no numbers, dates or hashes."""
    if not DIGIT.search(word):
        return several_scripts(word)
    if SIMPLE.fullmatch(word) or CODE.fullmatch(word) or named(word.replace("_", "-")):
        return [word]
    return [] if "_" in word else [part for part in word.split("-") if len(part) > 1 and not DIGIT.search(part)]


def prepare(piece):
    """Replace addresses by their hosts, and GUIDs and base64 by spaces."""
    if "://" in piece or ("." in piece and "www." in piece.lower()):
        piece = ADDRESS.sub(_host, piece)
    if "@" in piece:
        piece = MAIL.sub(_host, piece)
    if LONG.search(piece):
        piece = ENCODED.sub(_encoded, GUID.sub(" ", piece))
    return piece


def _host(match):
    host, n_guids = GUID.subn("", match[1].lower())  # `prepare` would replace them by spaces within the host
    host = re.sub(r"\.{2,}", ".", host) if n_guids else host
    host = host.strip(".-_").removeprefix("www.")
    return f"\x00{host}\x00" if len(host) > 1 and any(map(str.isalpha, host)) else " "


def _encoded(match):
    """Return a space for base64, which has both cases and digits and changes between them often."""
    text = match[0]
    mixed = re.search("[a-z]", text) and re.search("[A-Z]", text) and DIGIT.search(text)
    return " " if mixed and len(SWITCH.findall(text)) >= 0.3 * len(text) else text


def named(word):
    """Return whether a folded word with digits is a name, not a number, quantity, date or hash."""
    if len(word) > MAX_NAME:
        return False
    parts = word.split("-")
    if any(HASH.fullmatch(part) or len(CHANGE.findall(part)) > 3 for part in parts):
        return False
    return bool(COUNTED.fullmatch(word)) if word[0].isdigit() else not MONTH.match(word)


def several_scripts(word):
    """Split a word without digits where its script changes; parts of a single letter are dropped."""
    if word.isascii():
        return [word] if len(word) > 1 else []
    parts, last = [""], ""
    for letter in word:
        script = scripts.script_of(letter) or last
        if last and script != last:
            parts.append("")
        parts[-1] += letter
        last = script
    return [part for part in parts if len(part) > 1]


def pairs(run):
    """Return the overlapping pairs of characters of a run (triples in Thai, Lao, Khmer and Burmese)."""
    size = 3 if LETTERED(run) else 2
    return [run[at : at + size] for at in range(max(len(run) - size, 0) + 1)]


def _jieba():
    """Return the segmenter of jieba."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    with tempfile.TemporaryDirectory() as folder:  # its default cache may be of another version
        tokenizer.tmp_dir = folder
        tokenizer.initialize()
    return tokenizer.lcut


def _janome():
    """Return the segmenter of Janome."""
    from janome.tokenizer import Tokenizer

    return Tokenizer(wakati=True).tokenize


def _pythainlp():
    """Return the dictionary-based segmenter of PyThaiNLP."""
    from pythainlp.tokenize import word_tokenize

    return word_tokenize


SEGMENTERS = {
    "jieba": (_jieba, scripts.HAN),
    "janome": (_janome, scripts.HAN + scripts.KANA),
    "pythainlp": (_pythainlp, scripts.THAI),
}


@cache
def segmenter(name):
    """Return the function that splits a run of text without spaces into words.

    Parameters
    ----------
    name : str or None
        One of `SEGMENTERS`; it splits runs entirely in its script. Other runs, and all runs with None, are split by
        `pairs`.

    Raises
    ------
    ConfigError
        If the package is not installed.
    """
    if name is None:
        return pairs
    load, script = SEGMENTERS[name]
    try:
        segment = load()
    except (ImportError, OSError) as error:
        fault = f"tokens.segment is {name!r}, which cannot be loaded ({error})"
        todo = f"pip install 'online-dictionary-learning[{name}]', or leave segment out"
        raise ConfigError(fault, f"the extra {name}", todo) from error
    in_script = re.compile(f"[{script}]+").fullmatch
    return lambda run: segment(run) if in_script(run) else pairs(run)
