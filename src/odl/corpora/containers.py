"""Join log lines that a container runtime has split."""

import json
import re
from collections.abc import Iterable, Iterator

from odl.corpora.checks import MAX_LINE, Unreadable

# Prefix of a log line of containerd and CRI-O.
CRI_LINE = re.compile(r"(?P<head>\S+ (?P<stream>stdout|stderr) )(?P<tag>[FP])(?::\S*)? ")
# The beginning of a log line of Docker, and a part that only a complete line has.
DOCKER_START, DOCKER_END = '{"log":"', r'\n","stream":"'
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
        cri = CRI_LINE.match(line)
        cut = cri["tag"] == "P" if cri else not ended and (breaks or len(line) > DOCKER_SIZE)
        pieces = _split(line, cri) if (cut or parts) and not isinstance(line, Unreadable) else None
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


def _split(line, cri):
    """Return (stream, prefix, text) of a log line of a container; None for a line of another form.

    In the text form of CRI, the prefix precedes the text; a complete line has the flag F. In the
    JSON form of Docker, the prefix is the complete object, whose key "log" has the text.
    """
    if cri:
        return cri["stream"], f"{cri['head']}F ", line[cri.end() :].rstrip("\r\n")
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
