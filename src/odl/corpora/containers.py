"""Log lines that a container runtime has split: their parts are joined to one document."""

import json
import re
from collections.abc import Iterable, Iterator

from odl.corpora.checks import MAX_LINE, Unreadable

CRI_LINE = re.compile(
    r"(?P<head>\S+ (?P<stream>stdout|stderr) )(?P<tag>[FP])(?::\S*)? "
)  # prefix of containerd and CRI-O
DOCKER_START, DOCKER_END = (
    '{"log":"',
    r'\n","stream":"',
)  # start of a Docker line; part of it if it is complete
DOCKER_SIZE = 1 << 14  # bytes at which Docker splits a line


def whole_lines(lines: Iterable[tuple]) -> Iterator[tuple]:
    """Yield (number, line) with the parts of split lines joined, with the number of the first part.

    Docker lines without a line break at the end are parts only if an earlier line has one, or if
    they have the size at which Docker splits. If neither holds, another program wrote them, which
    never ends a text with a line break; its lines are complete.

    Parameters
    ----------
    lines : iterable of (int, str or Unreadable)

    Examples
    --------
    >>> from odl.corpora.containers import whole_lines
    >>> time = "2026-01-05T00:00:00Z"
    >>> lines = [(1, f"{time} stdout P disk "), (2, f"{time} stdout F full")]
    >>> list(whole_lines(lines))
    [(1, '2026-01-05T00:00:00Z stdout F disk full')]
    """
    parts: dict = {}  # stream -> (number of the first part, prefix, texts)
    breaks = False
    for number, line in lines:
        ended = not line.startswith(DOCKER_START) or DOCKER_END in line
        breaks |= ended and line.startswith(DOCKER_START)
        found = CRI_LINE.match(line)
        cut = found["tag"] == "P" if found else not ended and (breaks or len(line) > DOCKER_SIZE)
        pieces = (
            _split(line, found) if (cut or parts) and not isinstance(line, Unreadable) else None
        )
        if pieces is None or not (cut or pieces[0] in parts):
            yield number, line
            continue
        stream, head, text = pieces
        first, head, texts = parts.pop(stream, (number, head, []))
        texts.append(text)
        if cut and sum(map(len, texts)) < MAX_LINE:
            parts[stream] = first, head, texts
        else:
            yield first, _join(head, texts)
    for first, head, texts in parts.values():
        yield first, _join(head, texts)


def _split(line, found):
    """Return (stream, prefix, text) of a log line of a container; None for a line of another form.

    In the text form of CRI a complete line has the flag F, and the prefix is what precedes the
    text. In the JSON form of Docker the prefix is the whole object, whose key "log" has the text.
    """
    if found:
        return found["stream"], f"{found['head']}F ", line[found.end() :].rstrip("\r\n")
    try:
        row = json.loads(line)
        return (
            (row["stream"], row, row["log"])
            if isinstance(row["log"] + row["stream"], str)
            else None
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _join(head, texts):
    text = "".join(texts)
    return head + text if isinstance(head, str) else json.dumps({**head, "log": text})
