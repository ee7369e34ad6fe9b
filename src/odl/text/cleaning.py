"""Cleaners, which remove parts of a text that its author did not write: markup, quotes, headers."""

import re
from array import array
from operator import is_not
from typing import Any

import numpy as np

from odl.text.mailparts import drop_headers, drop_quotes, drop_signatures, drop_trailers

HTML_SIGNS = re.compile(  # tags and entities that occur in HTML only
    r"<!doctype\s|</[a-z][a-z0-9]{0,15}\s*>|<(?:br|p|hr|html|head|body|div|img)\b[^<>]{0,2000}>"
    r"|&(?:amp|lt|gt|quot|apos|nbsp|[mn]dash|hellip|[lr][sd]quo|[aou]uml|szlig"
    r"|[aeiou](?:acute|grave|circ)|ntilde|ccedil"
    r"|copy|reg|euro|#[0-9]{1,7}|#x[0-9a-f]{1,6});",
    re.I,
)
BLOCK_NAMES = (
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol option p pre section table td th title tr ul"
)
HIDDEN = ["iframe", "noscript", "object", "script", "style", "svg", "template"]  # not displayed
AMPERSANDS = re.compile(r"&(?:(?:amp|#0{0,5}38|#x0{0,5}26);)+", re.I)
TAG = re.compile(r"<(/?)([a-z][a-z0-9]{0,15})\b[^<>]{0,2000}>", re.I)
MAX_TAG_DEPTH = 500  # depth of nested tags; the time of the parser grows with its square
BLOCKS = frozenset(BLOCK_NAMES.split())
# Elements without an end tag, or whose end tag may be missing.
UNCLOSED_NAMES = "area base br col dd dt embed hr img input li link meta option p source td th tr"
UNCLOSED = frozenset(UNCLOSED_NAMES.split())
MAX_LAYERS = 4  # how often markup may have been escaped as text, as in feeds
MARKUP_SIGNS = re.compile(r"[<&]")


def drop_html(text: str) -> str:
    """Return the text of HTML without tags, comments, scripts and styles, with decoded entities.

    A text that is not HTML is returned unchanged. Malformed HTML is parsed as browsers do. Each
    block element begins a line. Markup that was escaped as text is removed too.

    Examples
    --------
    >>> from odl.text.cleaning import drop_html
    >>> drop_html("<p>Rain &amp; floods</p><script>track()</script>").strip()
    'Rain & floods'
    """
    for _ in range(MAX_LAYERS):
        if not HTML_SIGNS.search(text):
            return text
        text = _extract_text(_shallow(AMPERSANDS.sub("&", text)))
    return MARKUP_SIGNS.sub(" ", text) if HTML_SIGNS.search(text) else text


def _shallow(text):
    """Return HTML without the tags that are nested deeper than `MAX_TAG_DEPTH`."""
    if text.count("<") <= MAX_TAG_DEPTH:
        return text
    parts, position, depth = [], 0, 0
    for tag in TAG.finditer(text):
        is_end, name = tag[1], tag[2].lower()
        if name in UNCLOSED:
            continue
        if is_end:
            depth = max(0, depth - 1)
        elif depth < MAX_TAG_DEPTH:
            depth += 1
        else:
            parts += [text[position : tag.start()], " "]
            position = tag.end()
    return "".join([*parts, text[position:]])


def _extract_text(text):
    """Return the text of HTML; each block element begins a line."""
    from selectolax.lexbor import LexborHTMLParser

    tree, parts = LexborHTMLParser(text), []
    if tree.root is None:
        return ""
    tree.strip_tags(HIDDEN, recursive=True)
    for node in tree.root.traverse(include_text=True):
        before = node.prev
        if node.tag in BLOCKS or (before is not None and before.tag in BLOCKS):
            parts.append("\n")
        if node.tag == "-text":
            parts.append(node.text_content or "")
    return "".join(parts)


# Encoded data: uuencode, base64, BinHex, hex dumps, yEnc, keys and minified code.

MAX_TESTED_LINE = 400  # characters; in longer lines only single words are tested
MIN_ENCODED_LINES = 2  # smallest number of lines of an encoded block
# Lines of uuencode and its last line, a long word without spaces, the last line of base64, a hex
# dump, a long hexadecimal number.
UU = re.compile(r"M[ -`]{54,61}\s*$")
UU_SHORT = re.compile(r"[!-`][ -`]*\s*$")
DENSE = re.compile(r"\s*[!-~]{45,}\s*$")
BASE64_END = re.compile(r"\s*[A-Za-z0-9+/_-]+={0,2}\s*$")
HEX_DUMP = re.compile(
    r"\s*(?:[0-9A-Fa-f]{4,16}:?\s+)?"
    r"(?:(?:0[xX])?[0-9A-Fa-f]{2}[\s,;:]{1,3}|[0-9A-Fa-f]{4}[\s,]{1,3}|[0-9A-Fa-f]{8}\s{1,3}){6,}"
)
HEX_WORD = re.compile(r"\s*[0-9A-Fa-f]{32,}\s*$")
BEGINS = (  # (first line, last line) of a framed block
    (re.compile(r"=ybegin .*$"), re.compile(r"=yend\b")),
    (
        re.compile(r"\s*-----BEGIN (?!PGP SIGNED)[A-Z0-9 ]{1,40}-----\s*$"),
        re.compile(r"\s*-----END [A-Z0-9 ]{1,40}-----"),
    ),
)
STARTS = ("=ybegin ", "-----BEGIN ")  # every first line in `BEGINS` contains one of these
# Lines before and after uuencoded data.
FRAME = re.compile(r"(?:begin [0-7]{3,4} \S|end\s*$|`\s*$)")
MIN_WORD = 40  # smallest number of characters of a word that is tested
# Translation table for bytes: x for printable ASCII, a space for others; line breaks remain.
PRINTABLE = bytes(ord("x") if 32 < sign < 127 else 10 if sign == 10 else 32 for sign in range(256))
LONG_WORD = b"x" * MIN_WORD  # a long word after this translation
TESTED_WORD = re.compile(rf"[!-~]{{{MIN_WORD},}}")
ADDRESS_SIGN = re.compile(r"://|\bwww\.|@")
MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*[ />]|=\"|&[lg]t;")
HEX_INSIDE = re.compile(r"(?=[A-Fa-f]*[0-9])(?:[0-9a-f]{32}|[0-9A-F]{32})")
VOWELS = re.compile(r"[aeiouyAEIOUY]+")
LETTER_RUNS = re.compile(r"[A-Za-z]+")
RUNS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
MIN_VOWELS = 0.15  # smallest share of vowels among the letters of natural text; English has .4
# Smallest mean length of runs of lower case, upper case or digits in natural text. Base64 has 1.6,
# names in code have 2.3.
MIN_RUN = 2.0
MIN_ALPHANUMERIC = 30  # smallest number of letters and digits in an encoded word
MIN_MINIFIED = 400  # characters; shorter lines are not tested for minified code
CODE = re.compile(r"[{}()\[\];=<>&|,:!?+*/\"'$]")


def drop_encoded(text: str) -> str:
    """Drop encoded blocks, lines of minified code, and encoded words of 40 characters or more.

    Only ASCII characters are tested, so that scripts without spaces are unchanged. A block becomes
    an empty line.

    Examples
    --------
    >>> from odl.text.cleaning import drop_encoded
    >>> drop_encoded(f"see {'QWxhZGRpbjpvcGVuIHNlc2FtZQ' * 3} for more")
    'see  for more'
    """
    lines = text.split("\n")
    # Most texts contain no encoded data, which fast tests show. A test of every line would take a
    # third of the time for reading a corpus.
    remaining = _without_long_words(text, lines)
    has_frames = any(start in text for start in STARTS)
    has_changed = remaining is not lines and any(map(is_not, remaining, lines))
    kinds = ENCODINGS
    if not has_changed:
        candidates = list(filter(ENCODED_LINE.match, lines))
        kinds = [kind for kind in ENCODINGS if sum(map(kind, candidates)) >= MIN_ENCODED_LINES]
    if not (has_changed or has_frames or kinds):
        return text
    is_dropped = [False] * len(lines)
    if has_frames:
        _mark_framed(remaining, is_dropped)
    for kind in kinds:
        _mark_runs(lines, remaining, is_dropped, kind)
    retained = []
    for number, line in enumerate(remaining):
        if not is_dropped[number]:
            retained.append(line)
        elif number == 0 or not is_dropped[number - 1]:
            retained.append("")  # a block becomes an empty line
    return "\n".join(retained)


def _without_long_words(text, lines):
    """Return the lines of a text without encoded words and minified code.

    If no line is long enough, the same list is returned.
    """
    signs = text.encode("latin-1", "replace").translate(PRINTABLE)  # one byte per character
    tested, number, begin = set(), 0, 0
    position = signs.find(LONG_WORD)
    while position >= 0:
        number, begin = number + signs.count(b"\n", begin, position), position
        tested.add(number)
        end = signs.find(b"\n", position)
        position = signs.find(LONG_WORD, end) if end >= 0 else -1
    if max(map(len, lines)) >= MIN_MINIFIED:
        tested.update(number for number, line in enumerate(lines) if len(line) >= MIN_MINIFIED)
    if not tested:
        return lines
    return [_drop_words(line) if number in tested else line for number, line in enumerate(lines)]


def _mark_framed(lines, drop):
    """Set `drop` to True for the lines of framed blocks, including their frames.

    The first and the last line of a framed block match a pair of patterns in `BEGINS`, such as
    "-----BEGIN CERTIFICATE-----". If the last line of a block is missing, only its first line is
    marked.
    """
    begin, last_line = None, None
    for number, line in enumerate(lines):
        line = line[:MAX_TESTED_LINE]
        end_of_frame = next((last for first, last in BEGINS if first.match(line)), None)
        if end_of_frame:
            begin, last_line, drop[number] = number, end_of_frame, True
        elif begin is not None and last_line.match(line):
            drop[begin : number + 1] = [True] * (number + 1 - begin)
            begin = None


def _is_uu(line):
    """Return whether a line is uuencoded."""
    return UU.match(line) is not None


def _is_dense(line):
    """Return whether a line is one long word of base64 or a similar encoding."""
    if not DENSE.match(line) or ADDRESS_SIGN.search(line) or MARKUP.search(line):
        return False
    runs = RUNS.findall(line)
    return 16 <= sum(map(len, runs)) < 1.1 * MIN_RUN * len(runs)


def _is_hex(line):
    """Return whether a line is hexadecimal: a dump, or a long word."""
    return HEX_DUMP.match(line) is not None or HEX_WORD.match(line) is not None


ENCODINGS = (_is_uu, _is_dense, _is_hex)  # functions that return whether a line is encoded
# Matches every line for which a function in `ENCODINGS` is true, faster than three calls.
ENCODED_LINE = re.compile("|".join(one.pattern for one in (UU, DENSE, HEX_DUMP, HEX_WORD)))


def _mark_runs(lines, remaining, drop, kind):
    """Set `drop` to True for the lines that belong to blocks in one encoding.

    A block is a run of at least `MIN_ENCODED_LINES` lines with the encoding, its shorter last line,
    and the lines that frame it, such as "begin 644 a.zip" and "end".

    Parameters
    ----------
    lines, remaining : list of str
        The lines of a text before and after encoded words were dropped.
    drop : list of bool
        Whether each line is dropped; changed in place. Lines that are already dropped end a block.
    kind : callable
        One of `ENCODINGS`.
    """
    is_encoded = [
        not is_dropped and _fits(line, line_after, kind)
        for line, line_after, is_dropped in zip(lines, remaining, drop, strict=True)
    ]
    first = None
    for number, fits in enumerate([*is_encoded, False]):
        if fits:
            first = number if first is None else first
            continue
        if first is not None and number - first >= MIN_ENCODED_LINES:
            last = number + _is_short_end(lines, number, kind)
            while last < len(lines) and FRAME.match(lines[last][:MAX_TESTED_LINE]):
                last += 1
            while first and FRAME.match(lines[first - 1][:MAX_TESTED_LINE]):
                first -= 1
            drop[first:last] = [True] * (last - first)
        first = None


def _fits(line, remaining, kind):
    """Return whether a line has an encoding, before or after encoded words were dropped from it.

    A line that has only encoded words counts as dense (`_is_dense`).

    Parameters
    ----------
    line, remaining : str
        The line before and after encoded words were dropped.
    kind : callable
        One of `ENCODINGS`.
    """
    if len(line) > MAX_TESTED_LINE:
        return False
    if kind(line) or remaining is line:
        return kind(line)
    return kind(remaining) or (kind is _is_dense and not remaining.strip())


def _is_short_end(lines, number, kind):
    """Return whether a line is the shorter last line of the encoded lines before it.

    A uuencoded line must have the length that its first character states, a base64 line a multiple
    of 4 characters. Other encodings (`kind`) are not recognised in a short line.
    """
    line = lines[number].rstrip() if number < len(lines) else ""
    if not 0 < len(line) <= MAX_TESTED_LINE:
        return False
    if kind is _is_uu:
        n_bytes = (ord(line[0]) - 32) & 63
        n_characters = 1 + 4 * -(-n_bytes // 3)  # some programs add one more character
        return bool(UU_SHORT.match(line)) and len(line) - n_characters in (0, 1)
    return kind is _is_dense and bool(BASE64_END.match(line)) and len(line.strip()) % 4 == 0


def _drop_words(line):
    """Drop the encoded words of a line, or the entire line if the remaining text is minified."""
    remaining = TESTED_WORD.sub(lambda word: "" if _is_noise(word[0]) else word[0], line)
    if len(remaining) >= MIN_MINIFIED and _is_minified(remaining):
        return ""
    return line if remaining == line else remaining


def _is_minified(line):
    """Return whether a long line is minified code: few spaces and many signs."""
    return (
        line.isascii()
        and not MARKUP.search(line)
        and line.count(" ") <= len(line) / 25
        and len(CODE.findall(line)) > len(line) / 12
    )


def _is_noise(word):
    """Return whether a word is encoded.

    Such a word has short runs of lower case, upper case or digits, few letters, few vowels, or a
    long hexadecimal number.
    """
    runs = RUNS.findall(word)
    size = sum(map(len, runs))
    if size < MIN_ALPHANUMERIC or ADDRESS_SIGN.search(word) or MARKUP.search(word):
        return False
    if size < MIN_RUN * len(runs):
        return True
    n_letters = sum(map(len, LETTER_RUNS.findall(word)))
    n_vowels = sum(map(len, VOWELS.findall(word)))
    if n_vowels < MIN_VOWELS * n_letters or 2 * n_letters < size:
        return True
    return HEX_INSIDE.search(word) is not None


# In the order of application. Encoded data, which may look like markup, is removed before markup.
# Markup, which may hide the start of a line, is removed before quotes.
CLEANERS = {
    "headers": drop_headers,
    "encoded": drop_encoded,
    "html": drop_html,
    "quotes": drop_quotes,
    "signatures": drop_signatures,
    "trailers": drop_trailers,
}
# Cleaner that compares documents. `odl.stream.boilerplate` runs it after all other cleaners.
CHAINED = "boilerplate"
CLEANER_NAMES = (*CLEANERS, CHAINED)
CLEAN_SCHEMA = {
    "type": ["array", "object"],
    "items": {"type": "string", "enum": list(CLEANER_NAMES)},
    "additionalProperties": False,
    "properties": {name: {"type": "boolean"} for name in CLEANER_NAMES}
    | {"trailers": {"type": "boolean", "earlier": False}},
}


def cleaner_names(clean: Any) -> list[str]:
    """Return the names of the cleaners that the option `clean` selects, in order of application.

    `CLEAN_SCHEMA` describes the option.

    Examples
    --------
    >>> from odl.text.cleaning import cleaner_names
    >>> cleaner_names({"quotes": True, "html": True, "signatures": False})
    ['html', 'quotes']
    """
    clean = dict.fromkeys(clean or (), True) if not isinstance(clean, dict) else clean
    return [name for name in CLEANER_NAMES if clean.get(name)]


class Cleaning:
    """Cleaners of texts, which count the characters that they remove from each document.

    Parameters
    ----------
    clean : list of str, dict or None
        See `cleaner_names`.

    Attributes
    ----------
    names : list of str
        Names of the cleaners.
    boilerplate : bool
        Whether the passages of documents are stored, so that `odl.stream.boilerplate` can remove
        boilerplate.

    Examples
    --------
    >>> from odl.text.cleaning import Cleaning
    >>> cleaner = Cleaning(["html"])
    >>> text, removed = cleaner.apply("<p>Rain</p>")
    >>> text.strip(), removed  # characters removed by each cleaner
    ('Rain', [6])
    """

    def __init__(self, clean: Any = None) -> None:
        names = cleaner_names(clean)
        self.names, self.boilerplate = [name for name in names if name != CHAINED], CHAINED in names
        self.restart()

    def restart(self) -> None:
        """Reset the counts."""
        self.taken = {name: array("i") for name in self.names}

    def apply(self, text: str) -> tuple:
        """Return the cleaned text and the number of characters that each cleaner removed."""
        counts = []
        for name in self.names:
            before, text = len(text), CLEANERS[name](text)
            counts.append(before - len(text))
        return text, counts

    def count(self, counts: Any) -> None:
        """Add the numbers of characters removed from the next document, one per cleaner."""
        for name, count in zip(self.names, counts, strict=True):
            self.taken[name].append(count)

    def removed(self) -> dict[str, np.ndarray]:
        """Return a dict from cleaner to the number of characters removed from each document."""
        return {name: np.array(taken, dtype=np.int32) for name, taken in self.taken.items()}
