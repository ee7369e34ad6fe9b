"""Escaping of characters that are unsafe in terminals, spreadsheets or UTF-8.

Standard library only.
"""

import re
from unicodedata import bidirectional

# Control characters without tabs and line breaks, and characters that change the direction of text.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Direction marks, soft hyphens and byte order marks
UNREAD = re.compile("[\xad\u202a-\u202e\u2066-\u2069\ufeff]")

DRAWN_LINE = re.compile(r"([^\w\s])\1{4,}")  # a rule drawn with characters, such as =====

# Escape sequences for terminals: CSI, strings such as OSC, character set selections, and other
# short sequences.
ESCAPES = re.compile(
    r"(?P<csi>(?:\x1b\[|\x9b)[0-?]*[ -/]*(?P<end>[@-~]))"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?|[\x9b\x9d\x9c]"
)
# Escape characters that syslog and JSON replace by text.
SPELLED_ESCAPE = re.compile(r"(?:\\x1b|\\u001b|\\033|\\e|#033|\^\[|␛)(?=\[[0-9;:?]*[A-Za-z])", re.I)

# Direction of the first letter -> character that opens a Unicode isolate
ISOLATES = {"L": "\u2066", "R": "\u2067", "AL": "\u2067"}

# Letters of right-to-left scripts, and the right-to-left mark.
LEFTWARD = re.compile(
    "[\u200f\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)

# Positions at which a spreadsheet may start a formula: the start of a cell, with any separator.
FORMULA = r"(?='*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]))"
CELL = r"(?:^|(?<=[;\t\r\n]))"


def visible(text):
    """Return a text with escapes such as ``\\u001b`` in place of control characters."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def isolated(text, whole=""):
    """Enclose a text with right-to-left letters in Unicode isolates; return other texts unchanged.

    Without isolates, such letters would reorder the text around them. If the text is a line of a
    longer text `whole`, the direction is that of `whole`.
    """
    if not LEFTWARD.search(whole or text):
        return text
    first = next(filter(None, map(ISOLATES.get, map(bidirectional, whole))), "\u2068")
    return f"{first}{text}\u2069"


def readable(text):
    """Return `visible` text without direction marks and soft hyphens."""
    return visible(UNREAD.sub("", text))


def heading(text):
    """Return a title on one line, as `readable` text without lines drawn with characters."""
    return readable(" ".join(DRAWN_LINE.sub(" ", text).split()) or text)


def guarded(value):
    """Return a cell with an apostrophe before text that a spreadsheet could run as a formula."""
    return re.sub(CELL + FORMULA, "'", value) if isinstance(value, str) else value


def unguarded(cell):
    """Return the text of a cell that `guarded` wrote."""
    return re.sub(f"{CELL}'{FORMULA}", "", cell)


def without_ansi(text):
    """Remove escape sequences of terminals, such as colours; cursor movements become a space.

    The escape character may be replaced by text, as in ``^[[31m``, ``\\x1b[31m`` and ``#033[31m``.
    """
    text = SPELLED_ESCAPE.sub("\x1b", text) if "[" in text else text
    return ESCAPES.sub(_joint, text) if "\x1b" in text or not text.isascii() else text


def _joint(found):
    """Return a space for a matched movement of the cursor, else ""."""
    return " " if found["csi"] and found["end"] in "ABCDEFGHJKSTdfsu" else ""


def clean(text):
    """Replace lone surrogates, which JSON can contain and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
