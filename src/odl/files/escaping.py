"""Signs that a terminal, a spreadsheet or UTF-8 does not take, spelled out or replaced. Standard library only."""

import re
from unicodedata import bidirectional

# All that moves a cursor or turns the writing around it, but for tabs and line breaks.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
UNREAD = re.compile("[\xad\u202a-\u202e\u2066-\u2069\ufeff]")  # these, soft hyphens and marks of byte order

DRAWN_LINE = re.compile(r"([^\w\s])\1{4,}")  # a line drawn with characters, such as =====

# Escape sequences of terminals: CSI, OSC and other strings, choices of a character set, and short ones.
ESCAPES = re.compile(
    r"(?P<csi>(?:\x1b\[|\x9b)[0-?]*[ -/]*(?P<end>[@-~]))"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?|[\x9b\x9d\x9c]"
)
SPELLED = re.compile(r"(?:\\x1b|\\u001b|\\033|\\e|#033|\^\[|␛)(?=\[[0-9;:?]*[A-Za-z])", re.I)  # as syslog and JSON do

ISOLATES = {"L": "\u2066", "R": "\u2067", "AL": "\u2067"}  # by the direction of a first letter

# Letters that are written from right to left, and the mark that counts as one.
LEFTWARD = re.compile("[\u200f\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")

# Where a spreadsheet would begin a formula: at the start of a cell, or of what another separator would make one.
FORMULA = r"(?='*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]))"
CELL = r"(?:^|(?<=[;\t\r\n]))"


def visible(text):
    """Spell control characters as ``\\u001b``, for whatever a person or a terminal reads (also inside JSON)."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def isolated(text, whole=""):
    """Return a text by itself, so that what is written from right to left turns nothing around it.

    A line of a whole text is written as that is: by its own first letter, as texts are, a name would turn it.
    """
    if not LEFTWARD.search(whole or text):
        return text
    first = next(filter(None, map(ISOLATES.get, map(bidirectional, whole))), "\u2068")
    return f"{first}{text}\u2069"


def readable(text):
    """Return a text as it is read: `visible`, without what turns the direction of writing or hyphenates."""
    return visible(UNREAD.sub("", text))


def heading(text):
    """Return a title as it is shown: `readable`, in one line, without lines that are drawn of signs."""
    return readable(" ".join(DRAWN_LINE.sub(" ", text).split()) or text)


def guarded(value):
    """Return a cell that no spreadsheet runs: text that it could take for a formula after an apostrophe."""
    return re.sub(CELL + FORMULA, "'", value) if isinstance(value, str) else value


def unguarded(cell):
    """Return the text that `guarded` made a cell of."""
    return re.sub(f"{CELL}'{FORMULA}", "", cell)


def without_ansi(text):
    """Return a text without escape sequences of terminals, such as colours; movements of the cursor become a space.

    The escape character may be spelled out before a sequence, as in ``^[[31m``, ``\\x1b[31m`` and ``#033[31m``.
    """
    text = SPELLED.sub("\x1b", text) if "[" in text else text
    return ESCAPES.sub(_joint, text) if "\x1b" in text or not text.isascii() else text


def _joint(found):
    return " " if found["csi"] and found["end"] in "ABCDEFGHJKSTdfsu" else ""


def clean(text):
    """Replace what UTF-8 cannot hold (half a surrogate pair, which JSON can spell)."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
