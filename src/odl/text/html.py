"""Text of HTML, by selectolax: the parser of the Lexbor engine, which takes what is malformed as browsers do."""

import re

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

    Blocks begin on a line of their own. Markup that was escaped and escaped again is taken off as well.

    Examples
    --------
    >>> from odl.text.html import drop_html
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
