"""Lines of standard input, in groups of what has come, and the signals that a watch heeds."""

import os
import select
import signal
import sys

from odl.live import inbox
from odl.live.watch import GROUP, Watch

LONGEST = 1 << 24  # bytes of a line
WAIT = 0.2  # seconds between two looks at the other process


def run(tolerance=0.0, strict=False):
    """Watch standard input for the working folder until it ends, or a signal does.

    Parameters
    ----------
    tolerance : float
        Seconds that a period stays open after a document of the next one came.
    strict : bool
        Whether a line that cannot be read ends it.

    Raises
    ------
    BusyError
        If another watch has the folder.
    """
    came = set()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: came.add(number))
    with inbox.alone():
        watch, drained = Watch(sys.stdout, tolerance, strict), False
        try:
            for group in _groups(sys.stdin.fileno(), came):
                if signal.SIGHUP in came:
                    came.remove(signal.SIGHUP)
                    watch.finish()
                    watch.configure()
                watch.poll()
                if group:
                    watch.take(group)
            drained = bool(came)
        except BaseException:
            drained = True
            raise
        finally:
            watch.close(drained)


def _groups(descriptor, came):
    """Yield (number, line) of what has come; nothing now and then, while nothing comes."""
    rest, number, ended = b"", 0, False
    while not ended and not came - {signal.SIGHUP}:
        if not select.select([descriptor], [], [], WAIT)[0]:
            yield []
            continue
        piece = os.read(descriptor, 1 << 20)
        ended = not piece
        *lines, rest = (rest + piece + b"\n" * (ended and bool(rest))).split(b"\n")
        if len(rest) > LONGEST:
            rest = rest[:LONGEST]  # no line of JSON any more
        numbered = list(enumerate(lines, number + 1))
        number += len(lines)
        numbered = [pair for pair in numbered if pair[1].strip()]
        for first in range(0, len(numbered), GROUP):
            yield numbered[first : first + GROUP]
