"""Text for terminals: width in columns for every script, colours and progress bars.

Texts have escape codes for colours, which `for_stream` removes if the stream has no colours. Texts
from documents never contain escape codes (`odl.files.escaping`).
"""

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from bisect import bisect
from itertools import accumulate

JOINER = "\u200d"  # zero width joiner
EMOJI = "\ufe0f"  # variation selector: the character before it is shown as an emoji
STYLE_CODE = re.compile("\x1b\\[\\d+m")  # escape code of a style (`STYLES`)
PRIVATE_USE = 0x100000  # first code point of the last private use plane

# Style -> (code that begins the style, code that ends it), from the standard ECMA-48.
STYLES = {
    "bold": (1, 22),
    "faint": (2, 22),
    "red": (31, 39),
    "green": (32, 39),
    "yellow": (33, 39),
    "magenta": (35, 39),
}
# State of an event -> style.
STATE_STYLES = {"new": "yellow", "growing": "green", "returning": "magenta"}
BAR_COLUMNS = (6, 24)  # smallest and largest width of a progress bar, in columns


def width(text):
    """Return the width of a text in columns of a terminal."""
    return sum(_columns(text))


def padded(text, n, right=False):
    """Return a text with spaces up to n columns, cut if it is longer."""
    text = shortened(text, n)
    space = " " * (n - width(text))
    return space + text if right else text + space


def widths(rows):
    """Return the width of each column in a table: the largest width of its cells.

    The rows are lists of texts of equal length.
    """
    return [max(map(width, cells)) for cells in zip(*rows, strict=True)]


def table_lines(rows, sizes, right=()):
    """Return rows of text as lines with aligned columns.

    Parameters
    ----------
    rows : sequence of sequence of str
    sizes : sequence of int
        Widths of the columns; longer texts are cut.
    right : collection of int
        Columns that are aligned to the right.

    Examples
    --------
    >>> from odl.files.terminal import table_lines
    >>> table_lines([("7", "orbit")], (3, 4), right={0})
    ['  7  orb…']
    """
    lines = []
    for row in rows:
        columns = enumerate(zip(row, sizes, strict=True))
        cells = [padded(cell, size, column in right) for column, (cell, size) in columns]
        lines.append("  ".join(cells).rstrip())
    return lines


def wrapped(text, width, **options):
    """Return the lines of a text, each at most `width` columns wide.

    The options are those of `textwrap.wrap`.
    """
    clusters = _clusters(text)
    # For `textwrap`, which counts characters, each cluster becomes a private use character,
    # followed by a zero for each further column.
    replaced = [
        cluster for cluster, _ in clusters if len(cluster) > 1 or cluster >= chr(PRIVATE_USE)
    ]
    marks = {name: chr(PRIVATE_USE + number) for number, name in enumerate(dict.fromkeys(replaced))}
    wide = "".join(marks.get(cluster, cluster) + "\0" * (n - 1) for cluster, n in clusters)
    back = str.maketrans({"\0": "", **{mark: cluster for cluster, mark in marks.items()}})
    return [line.translate(back) for line in textwrap.wrap(wide, width, **options)]


def _clusters(text):
    """Split a text into clusters: characters with the characters of width 0 that follow them.

    Characters of width 0 after a space, such as a style code before a word, are instead the start
    of the next cluster, so that a line break does not separate them from their word.

    Returns
    -------
    list of [str, int]
        Clusters and their widths in columns.

    Examples
    --------
    >>> from odl.files.terminal import _clusters
    >>> [(len(cluster), columns) for cluster, columns in _clusters("e\\u0301 \\u65b0")]
    [(2, 1), (1, 1), (1, 2)]
    """
    clusters: list[list] = []
    lead = ""  # characters of width 0 for the start of the next cluster
    for sign, columns in zip(text, _columns(text), strict=True):
        # The emoji selector has the width that it adds to the character before it (`_columns`).
        if columns and not (sign == EMOJI and clusters):
            clusters.append([lead + sign, columns])
            lead = ""
        elif clusters and not clusters[-1][0].isspace():
            clusters[-1] = [clusters[-1][0] + sign, clusters[-1][1] + columns]
        else:
            lead += sign
    if lead:
        clusters.append([lead, 1])  # the private use character in `wrapped` has one column
    return clusters


def _columns(text):
    """Return a list with the number of terminal columns that each character takes.

    Wide East Asian characters take 2 columns; combining marks, joiners, variation selectors and
    style codes take 0. Joined emoji, an emoji with a skin tone, and a pair of flag letters have the
    width of their first character.
    """
    columns = [1] * len(text) if text.isascii() else _wide_columns(text)
    for code in STYLE_CODE.finditer(text) if "\x1b" in text else ():
        columns[code.start() : code.end()] = [0] * len(code[0])
    return columns


def _wide_columns(text):
    """Return the result of `_columns` for a text that is not ASCII, without style codes."""
    columns, follows_joiner, follows_flag = [], False, False
    for sign in text:
        width = _width(sign)
        is_joined = follows_joiner and unicodedata.category(sign) == "So"
        is_skin_tone = "\U0001f3fb" <= sign <= "\U0001f3ff"
        is_flag = "\U0001f1e6" <= sign <= "\U0001f1ff"
        if is_joined or is_skin_tone:
            width = 0
        elif is_flag:
            width = 0 if follows_flag else 2
        if sign == EMOJI and columns and columns[-1] == 1:
            width = 1  # the emoji is two columns wide, one more than its character
        follows_joiner, follows_flag = sign == JOINER, is_flag and not follows_flag
        columns.append(width)
    return columns


def _width(sign):
    """Return the number of terminal columns (0, 1 or 2) that a single character takes."""
    if sign == "\xad":  # the soft hyphen, which is printed although its category is Cf
        return 1
    # \u1160 to \u11ff are vowels and final consonants of Hangul, which combine with the consonant
    # before them.
    if unicodedata.category(sign) in ("Mn", "Me", "Cf") or "\u1160" <= sign <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(sign) in ("W", "F") else 1


def shortened(text, width):
    """Return a text of at most `width` columns; a longer text is cut and ends in an ellipsis.

    It is cut between words if more than half of the characters remain.
    """
    ends = [*accumulate(_columns(text), initial=0)]
    if ends[-1] <= width:
        return text
    limit = bisect(ends, width - 1)  # 1 + number of characters that leave a column for the ellipsis
    space = text.rfind(" ", 0, limit)
    cut = text[: space if 2 * space > limit else limit - 1].rstrip()
    reset = "\x1b[0m" * ("\x1b" in cut)
    return cut + "…" + "\u2069" * (cut.count("\u2068") - cut.count("\u2069")) + reset


def duration(seconds):
    """Return a number of seconds in words: "75 s", "10 min", "2.0 h", "3.5 days"."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.3g} days"


def styled(text, style):
    """Return a text in a style: between two escape codes, or unchanged if text or style is empty.

    Examples
    --------
    >>> from odl.files.terminal import styled
    >>> styled("new", "yellow"), styled("", "bold")
    ('\\x1b[33mnew\\x1b[39m', '')
    """
    if not text or style is None:
        return text
    begin, end = STYLES[style]
    return f"\x1b[{begin}m{text}\x1b[{end}m"


def styled_state(state):
    """Return the state of an event in its colour."""
    return styled(state, STATE_STYLES.get(state))


def is_coloured(stream=None):
    """Return whether text for a stream, by default standard output, has colours.

    Text for a terminal has colours unless TERM is "dumb". The environment variable NO_COLOR turns
    colours off; FORCE_COLOR turns them on for files and pipes too (https://no-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_live(sys.stdout if stream is None else stream)


def is_live(stream):
    """Return whether a stream is a terminal in which a line can be redrawn."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def for_stream(text, stream=None):
    """Return a text without escape codes, unless the stream has colours (`is_coloured`)."""
    return text if is_coloured(stream) else STYLE_CODE.sub("", text)


def redraw(text, stream, done=0, total=0):
    """Replace the current line of a terminal by a text, with a progress bar before it.

    Parameters
    ----------
    text : str
        A text that is longer than the line is cut.
    stream : text file
        The terminal.
    done, total : int
        Number of items done, and of all items. If `total` is 0, there is no bar.
    """
    columns = shutil.get_terminal_size().columns - 1
    smallest, largest = BAR_COLUMNS
    if total:
        free = columns - width(text) - 2
        text = f"{bar(done, total, max(smallest, min(largest, free)), stream)}  {text}"
    stream.write(f"\r\x1b[K{for_stream(shortened(text, columns), stream)}")
    stream.flush()


def bar(done, total, columns, stream):
    """Return a progress bar that is `columns` wide, in ASCII if the stream cannot encode "━".

    Examples
    --------
    >>> import io
    >>> from odl.files.terminal import bar
    >>> bar(3, 12, 24, io.TextIOWrapper(io.BytesIO(), "ascii"))
    '######..................'
    """
    n_done, (done_sign, open_sign) = columns * done // total, "━─"
    try:
        done_sign.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        done_sign, open_sign = "#."
    text = styled(done_sign * n_done, "green") + styled(open_sign * (columns - n_done), "faint")
    return for_stream(text, stream)
