"""Cleaning of texts before their words are counted: what is not said by the document itself, taken out and counted."""

import re
from array import array
from operator import is_not
from typing import Any

import numpy as np

from odl.text.mailparts import drop_headers, drop_quotes, drop_signatures

SIGNS = re.compile(
    r"<!doctype\s|</[a-z][a-z0-9]{0,15}\s*>|<(?:br|p|hr|html|head|body|div|img)\b[^<>]{0,2000}>"
    r"|&(?:amp|lt|gt|quot|apos|nbsp|[mn]dash|hellip|[lr][sd]quo|[aou]uml|szlig|[aeiou](?:acute|grave|circ)|ntilde|ccedil"
    r"|copy|reg|euro|#[0-9]{1,7}|#x[0-9a-f]{1,6});",
    re.I,
)
BLOCKS = (
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr li main nav ol option p pre section table td th title tr ul"
)
HIDDEN = ["iframe", "noscript", "object", "script", "style", "svg", "template"]
AMPERSANDS = re.compile(r"&(?:(?:amp|#0{0,5}38|#x0{0,5}26);)+", re.I)
TAG = re.compile(r"<(/?)([a-z][a-z0-9]{0,15})\b[^<>]{0,2000}>", re.I)
DEEPEST = 500  # open tags; the parser looks through them all at each further one
CLOSED_BY_OTHERS = "area base br col dd dt embed hr img input li link meta option p source td th tr"
LAYERS = 4  # of markup that was escaped as text, as in feeds
LEFT = re.compile(r"[<&]")
BLOCKS, CLOSED_BY_OTHERS = frozenset(BLOCKS.split()), frozenset(CLOSED_BY_OTHERS.split())


def drop_html(text: str) -> str:
    """Return the text of HTML: without tags, comments, scripts and styles, entities spelt out; other texts as they are.

    The parser is that of the Lexbor engine (selectolax), which takes what is malformed as browsers do. Blocks begin on
    a line of their own. Markup that was escaped and escaped again is taken off as well.

    Examples
    --------
    >>> from odl.text.cleaning import drop_html
    >>> drop_html("<p>Rain &amp; floods</p><script>track()</script>").strip()
    'Rain & floods'
    """
    for _ in range(LAYERS):
        if not SIGNS.search(text):
            return text
        text = _text_of(_shallow(AMPERSANDS.sub("&", text)))
    return LEFT.sub(" ", text) if SIGNS.search(text) else text


def _shallow(text):
    """Return HTML without the tags that open more elements in each other than `DEEPEST`, whatever their names."""
    if text.count("<") <= DEEPEST:
        return text
    depth = 0

    def keep(tag):
        nonlocal depth
        if tag[2].lower() in CLOSED_BY_OTHERS:
            return tag[0]
        if tag[1]:
            depth = max(0, depth - 1)
        elif depth == DEEPEST:
            return " "
        else:
            depth += 1
        return tag[0]

    return TAG.sub(keep, text)


def _text_of(text):
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


# What is encoded: uuencode, base64, BinHex, hex dumps, yEnc, keys, minified code

LONGEST = 400  # characters of a line of an encoded block; longer lines are looked at word by word
RUN = 2  # lines of a block at least
UU = re.compile(r"M[ -`]{54,61}\s*$")
UU_SHORT = re.compile(r"[!-`][ -`]*\s*$")
DENSE = re.compile(r"\s*[!-~]{45,}\s*$")
BASE64_END = re.compile(r"\s*[A-Za-z0-9+/_-]+={0,2}\s*$")
HEX = re.compile(
    r"\s*(?:[0-9A-Fa-f]{4,16}:?\s+)?(?:(?:0[xX])?[0-9A-Fa-f]{2}[\s,;:]{1,3}|[0-9A-Fa-f]{4}[\s,]{1,3}|[0-9A-Fa-f]{8}\s{1,3}){6,}"
)
HEX_WORD = re.compile(r"\s*[0-9A-Fa-f]{32,}\s*$")
BEGINS = (
    (re.compile(r"=ybegin .*$"), re.compile(r"=yend\b")),
    (
        re.compile(r"\s*-----BEGIN (?!PGP SIGNED)[A-Z0-9 ]{1,40}-----\s*$"),
        re.compile(r"\s*-----END [A-Z0-9 ]{1,40}-----"),
    ),
)
STARTS = ("=ybegin ", "-----BEGIN ")  # what `BEGINS` cannot do without
FRAME = re.compile(r"(?:begin [0-7]{3,4} \S|end\s*$|`\s*$)")
SHORTEST_WORD = 40
WORD = re.compile(rf"[!-~]{{{SHORTEST_WORD},}}")
ADDRESS = re.compile(r"://|\bwww\.|@")
MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*[ />]|=\"|&[lg]t;")  # left to the parser of HTML
HEX_INSIDE = re.compile(r"(?=[A-Fa-f]*[0-9])(?:[0-9a-f]{32}|[0-9A-F]{32})")
VOWELS = re.compile(r"[aeiouyAEIOUY]+")
LETTERS = re.compile(r"[A-Za-z]+")
RUNS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
LEAST_VOWELS = 0.15  # of the letters; English has .4
SHORTEST_RUN = 2.0  # mean length of what is lower case, upper case or digits; base64 has 1.6, names in code 2.3
FEWEST = 30  # letters and digits of a word that may be dropped: no line that is drawn
MINIFIED = 400  # characters of a line at least
CODE = re.compile(r"[{}()\[\];=<>&|,:!?+*/\"'$]")


def drop_encoded(text: str) -> str:
    """Drop encoded blocks, lines of minified code, and words of 40 characters and more that read like neither.

    Only ASCII is looked at: scripts that are written without spaces stay as they are. A block leaves an empty line.

    Examples
    --------
    >>> from odl.text.cleaning import drop_encoded
    >>> drop_encoded(f"see {'QWxhZGRpbjpvcGVuIHNlc2FtZQ' * 3} for more")
    'see  for more'
    """
    lines = text.split("\n")
    # Most texts hold nothing of the kind, and to look at every line of them would take a third of their reading.
    wide = max(map(len, text.split()), default=0) >= SHORTEST_WORD or max(map(len, lines)) >= MINIFIED
    rest = [line if len(line) < SHORTEST_WORD else _drop_words(line) for line in lines] if wide else lines
    framed = any(start in text for start in STARTS)
    changed = wide and any(map(is_not, rest, lines))
    signed = lines if changed else list(filter(SIGN.match, lines))
    kinds = [kind for kind, signs in KINDS if changed or any(any(map(sign.match, signed)) for sign in signs)]
    if not (changed or framed or kinds):
        return text
    drop = [False] * len(lines)
    if framed:
        _mark_framed(rest, drop)
    for kind in kinds:
        _mark_runs(lines, rest, drop, kind)
    marked = zip(rest, drop, [False, *drop], strict=False)  # a line, and whether it and the one before it go
    return "\n".join("" if gone else line for line, gone, before in marked if not (gone and before))


def _mark_framed(lines, drop):
    """Mark blocks from a line that begins them to one that ends them; without the latter, the line alone."""
    begun, end = None, None
    for at, line in enumerate(lines):
        line = line[:LONGEST]
        if closing := next((last for first, last in BEGINS if first.match(line)), None):
            begun, end, drop[at] = at, closing, True
        elif begun is not None and end.match(line):
            drop[begun : at + 1] = [True] * (at + 1 - begun)
            begun = None


def _is_uu(line):
    return UU.match(line) is not None


def _is_dense(line):
    if not DENSE.match(line) or ADDRESS.search(line) or MARKUP.search(line):
        return False
    runs = RUNS.findall(line)
    return 16 <= sum(map(len, runs)) < 1.1 * SHORTEST_RUN * len(runs)


def _is_hex(line):
    return HEX.match(line) is not None or HEX_WORD.match(line) is not None


KINDS = ((_is_uu, (UU,)), (_is_dense, (DENSE,)), (_is_hex, (HEX, HEX_WORD)))  # with what a line of each begins with
SIGN = re.compile("|".join(sign.pattern for _, signs in KINDS for sign in signs))  # any of these


def _mark_runs(lines, rest, drop, kind):
    """Mark runs of lines of one kind, with the short last line of an encoding and what frames it."""
    fits = [not gone and _fits(*pair, kind) for *pair, gone in zip(lines, rest, drop, strict=True)]
    first = None
    for at, fit in enumerate([*fits, False]):
        if fit:
            first = at if first is None else first
            continue
        if first is not None and at - first >= RUN:
            last = at + _short_end(lines, at, kind)
            while last < len(lines) and FRAME.match(lines[last][:LONGEST]):
                last += 1
            while first and FRAME.match(lines[first - 1][:LONGEST]):
                first -= 1
            drop[first:last] = [True] * (last - first)
        first = None


def _fits(line, rest, kind):
    """Whether a line, or what is left of it, is of a kind; one of which nothing is left is dense."""
    if len(line) > LONGEST:
        return False
    return kind(line) or (rest is not line and (kind(rest) or (kind is _is_dense and not rest.strip())))


def _short_end(lines, at, kind):
    """Whether the line after a run is the end of what is encoded (1 or 0)."""
    if at == len(lines) or not 0 < len(line := lines[at].rstrip()) <= LONGEST:
        return 0
    if kind is _is_uu:
        n_bytes = (ord(line[0]) - 32) & 63
        return int(bool(UU_SHORT.match(line)) and 0 <= len(line) - 1 - 4 * -(-n_bytes // 3) <= 1)
    if kind is _is_dense:
        return int(bool(BASE64_END.match(line)) and len(line.strip()) % 4 == 0)
    return 0


def _drop_words(line):
    """Drop the words of a line that are no words; all of it, if what is left is minified code."""
    rest = WORD.sub(lambda word: "" if _is_noise(word[0]) else word[0], line)
    if len(rest) >= MINIFIED and _is_minified(rest):
        return ""
    return line if rest == line else rest


def _is_minified(line):
    return (
        line.isascii()
        and not MARKUP.search(line)
        and line.count(" ") <= len(line) / 25
        and len(CODE.findall(line)) > len(line) / 12
    )


def _is_noise(word):
    """Whether letters and digits change from one to the other as in no word, or vowels are missing."""
    runs = RUNS.findall(word)
    size = sum(map(len, runs))
    if size < FEWEST or ADDRESS.search(word) or MARKUP.search(word):
        return False
    if size < SHORTEST_RUN * len(runs):  # most of what is encoded
        return True
    letters, vowels = sum(map(len, LETTERS.findall(word))), sum(map(len, VOWELS.findall(word)))
    return vowels < LEAST_VOWELS * letters or 2 * letters < size or HEX_INSIDE.search(word) is not None


# In the order in which they are applied: what is encoded may look like markup, which hides what a line begins with.
CLEANERS = {
    "headers": drop_headers,
    "encoded": drop_encoded,
    "html": drop_html,
    "quotes": drop_quotes,
    "signatures": drop_signatures,
}
CHAINED = "boilerplate"  # told by other documents: `odl.stream.boilerplate` takes it out, after all others
NAMES = (*CLEANERS, CHAINED)
SCHEMA = {
    "type": ["array", "object"],
    "items": {"type": "string", "enum": list(NAMES)},
    "additionalProperties": False,
    "properties": {name: {"type": "boolean"} for name in NAMES},
}


def cleaner_names(clean: Any) -> list[str]:
    """Return the names of an option, as `SCHEMA` allows it, of cleaners that are applied, in the order of `NAMES`.

    Examples
    --------
    >>> from odl.text.cleaning import cleaner_names
    >>> cleaner_names({"quotes": True, "html": True, "signatures": False})
    ['html', 'quotes']
    """
    clean = dict.fromkeys(clean or (), True) if not isinstance(clean, dict) else clean
    return [name for name in NAMES if clean.get(name)]


class Cleaning:
    """Cleaners, and how many characters each took out of each document.

    Parameters
    ----------
    clean : list of str, dict or None
        See `cleaner_names`.

    Attributes
    ----------
    names : list of str
        Of the cleaners.
    boilerplate : bool
        Whether passages are to be kept, for what is taken out later.

    Examples
    --------
    >>> from odl.text.cleaning import Cleaning
    >>> cleaner = Cleaning(["html"])
    >>> text, removed = cleaner.apply("<p>Rain</p>")
    >>> text.strip(), removed  # characters that each cleaner took out
    ('Rain', [6])
    """

    def __init__(self, clean: Any = None) -> None:
        names = cleaner_names(clean)
        self.names, self.boilerplate = [name for name in names if name != CHAINED], CHAINED in names
        self.restart()

    def restart(self) -> None:
        """Forget what was taken out."""
        self.taken = {name: array("i") for name in self.names}

    def apply(self, text: str) -> tuple:
        """Return the text cleaned, and the characters that each cleaner took out."""
        counts = []
        for name in self.names:
            before, text = len(text), CLEANERS[name](text)
            counts.append(before - len(text))
        return text, counts

    def count(self, counts: Any) -> None:
        """Count what was taken out of the next document."""
        for name, count in zip(self.names, counts, strict=True):
            self.taken[name].append(count)

    def removed(self) -> dict[str, np.ndarray]:
        """Return cleaner -> characters that it took out of each document."""
        return {name: np.array(taken, dtype=np.int32) for name, taken in self.taken.items()}
