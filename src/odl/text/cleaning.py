"""Cleaning of texts before their words are counted: what is not said by the document itself, taken out and counted."""

import re
from array import array
from typing import Any

import numpy as np

from odl.text.encoded import drop_encoded
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
