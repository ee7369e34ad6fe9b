"""Colours and progress bars in a terminal; files get neither.

Texts contain the escape codes of colours until they are printed; `for_stream` removes them for a
stream without colours. Texts of documents contain no escape codes (`odl.files.escaping`).
"""

import os
import shutil
import sys

from odl.files.columns import STYLE_CODE, shortened, width

# Style -> (code that begins it, code that ends it), both of ECMA-48
STYLES = {
    "bold": (1, 22),
    "faint": (2, 22),
    "red": (31, 39),
    "green": (32, 39),
    "yellow": (33, 39),
    "magenta": (35, 39),
}
STATE_STYLES = {"new": "yellow", "growing": "green", "returning": "magenta"}  # by state of events
BAR_COLUMNS = (6, 24)  # smallest and largest number of characters of a progress bar


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

    A terminal gets them unless TERM is "dumb". The environment variable NO_COLOR turns colours
    off; FORCE_COLOR turns them on for files and pipes too (https://no-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_live(sys.stdout if stream is None else stream)


def is_live(stream):
    """Return whether a stream is a terminal in which a line can be redrawn."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def for_stream(text, stream=None):
    """Return a text as a stream gets it: without escape codes unless the stream has colours."""
    return text if is_coloured(stream) else STYLE_CODE.sub("", text)


def redraw(text, stream, done=0, total=0):
    """Replace the current line of a terminal by a text, behind a progress bar if there is a total.

    Parameters
    ----------
    text : str
        A text that is longer than the line is cut.
    stream : text file
    done, total : int
        Amount of work done, and in total; 0: no bar. The bar is as long as the text allows, within
        `BAR_COLUMNS`.
    """
    columns, (smallest, largest) = shutil.get_terminal_size().columns - 1, BAR_COLUMNS
    if total:
        free = columns - width(text) - 2
        text = f"{bar(done, total, max(smallest, min(largest, free)), stream)}  {text}"
    stream.write(f"\r\x1b[K{for_stream(shortened(text, columns), stream)}")
    stream.flush()


def bar(done, total, columns, stream):
    """Return a progress bar of a number of columns; in ASCII if the stream cannot encode "━".

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
