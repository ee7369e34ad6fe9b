"""What a terminal shows that a file does not: colours, and a line that is redrawn.

Texts contain the codes of colours until they are printed; `for_stream` removes them where none are
wanted. Texts of documents contain no such codes (`odl.files.escaping`).
"""

import os
import shutil
import sys

from odl.files.columns import STYLE_CODE, shortened, width

# (code that begins a style, code that ends it), of ECMA-48
STYLES = {
    "bold": (1, 22), "faint": (2, 22), "red": (31, 39), "green": (32, 39), "yellow": (33, 39), "magenta": (35, 39),
}  # fmt: skip
STATE_STYLES = {"new": "yellow", "growing": "green", "returning": "magenta"}  # states of events
BAR_COLUMNS = (6, 24)  # smallest and largest width of a bar of progress


def styled(text, style):
    """Return a text between the codes of a style; unchanged if it is empty or the style is None.

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
    """Return whether a stream, by default standard output, gets colours.

    It does if it is a terminal that is not dumb. The environment variable NO_COLOR turns colours
    off, FORCE_COLOR turns them on for files and pipes too (https://no-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_live(sys.stdout if stream is None else stream)


def is_live(stream):
    """Return whether a stream is a terminal in which a line can be redrawn."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def for_stream(text, stream=None):
    """Return a text without the codes of styles, unless the stream gets colours."""
    return text if is_coloured(stream) else STYLE_CODE.sub("", text)


def redraw(text, stream, done=0, total=0):
    """Replace the present line of a terminal by a text, after a bar if there is a total.

    Parameters
    ----------
    text : str
        Cut to the width of the terminal.
    stream : text file
    done, total : int
        The bar has the room that the text leaves, within `BAR_COLUMNS`.
    """
    columns, (least, most) = shutil.get_terminal_size().columns - 1, BAR_COLUMNS
    if total:
        drawn = bar(done, total, max(least, min(most, columns - width(text) - 2)), stream)
        text = f"{drawn}  {text}"
    stream.write(f"\r\x1b[K{for_stream(shortened(text, columns), stream)}")
    stream.flush()


def bar(done, total, columns, stream):
    """Return a bar of progress; of ASCII characters if the stream cannot encode lines.

    Examples
    --------
    >>> import io
    >>> from odl.files.terminal import bar
    >>> bar(3, 12, 24, io.TextIOWrapper(io.BytesIO(), "ascii"))
    '######..................'
    """
    full, (sign, rest) = columns * done // total, "━─"
    try:
        sign.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        sign, rest = "#."
    drawn = styled(sign * full, "green") + styled(rest * (columns - full), "faint")
    return for_stream(drawn, stream)
