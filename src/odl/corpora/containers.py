"""Lines of containers that their runtime has cut: the parts of a line are one document."""

import json
import re
from collections.abc import Iterable, Iterator

from odl.corpora.checks import LONGEST_LINE, Unreadable

CRI = re.compile(r"(?P<head>\S+ (?P<stream>stdout|stderr) )(?P<tag>[FP])(?::\S*)? ")  # of containerd and CRI-O
DOCKER, ENDED = '{"log":"', r'\n","stream":"'  # how a line of Docker begins; what is in it unless it was cut
DOCKER_SIZE = 1 << 14  # bytes after which Docker cuts


def whole_lines(lines: Iterable[tuple]) -> Iterator[tuple]:
    """Yield (number, line) with the parts of a line joined, under the number of the first part.

    Lines as of Docker without a line break in them are parts only if one with a break came before, or at the size at
    which Docker cuts: other programs write them without breaks.

    Parameters
    ----------
    lines : iterable of (int, str or Unreadable)

    Examples
    --------
    >>> from odl.corpora.containers import whole_lines
    >>> lines = [(1, "2026-01-05T00:00:00Z stdout P disk "), (2, "2026-01-05T00:00:00Z stdout F full")]
    >>> list(whole_lines(lines))
    [(1, '2026-01-05T00:00:00Z stdout F disk full')]
    """
    parts: dict = {}  # stream -> number of the first part, what is before its text, and the texts
    breaks = False
    for number, line in lines:
        ended = not line.startswith(DOCKER) or ENDED in line
        breaks |= ended and line.startswith(DOCKER)
        found = CRI.match(line)
        cut = found["tag"] == "P" if found else not ended and (breaks or len(line) > DOCKER_SIZE)
        pieces = _split(line, found) if (cut or parts) and not isinstance(line, Unreadable) else None
        if pieces is None or not (cut or pieces[0] in parts):
            yield number, line
            continue
        stream, head, text = pieces
        first, head, texts = parts.pop(stream, (number, head, []))
        texts.append(text)
        if cut and sum(map(len, texts)) < LONGEST_LINE:
            parts[stream] = first, head, texts
        else:
            yield first, _joined(head, texts)
    for first, head, texts in parts.values():
        yield first, _joined(head, texts)


def _split(line, found):
    """Return the stream of a line, what is before its text, and the text; None of a line of another kind."""
    if found:
        return found["stream"], f"{found['head']}F ", line[found.end() :].rstrip("\r\n")
    try:
        row = json.loads(line)
        return (row["stream"], row, row["log"]) if isinstance(row["log"] + row["stream"], str) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _joined(head, texts):
    text = "".join(texts)
    return head + text if isinstance(head, str) else json.dumps({**head, "log": text})
