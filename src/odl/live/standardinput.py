"""Lines of standard input, in groups of what has come; answers go to standard output."""

import os
import select
import sys

from odl.errors import DataError
from odl.live.watch import GROUP, follow

LONGEST = 1 << 24  # bytes of a line
WAIT = 0.2  # seconds between two looks at the other process


def run(tolerance=0.0, by_clock=False, strict=False):
    """Watch standard input for the working folder until it ends, or a signal does.

    Parameters
    ----------
    tolerance, by_clock
        As of `odl.live.watch.Watch`.
    strict : bool
        Whether a line that cannot be read ends it.

    Raises
    ------
    BusyError
        If another watch has the folder.
    DataError
        If a line cannot be read, and `strict`.
    """

    def refuse(pairs):
        for number, fault in pairs:
            error = DataError(f"line {number} of the input: {fault}", "a readable document", "correct or remove it")
            if strict:
                raise error
            print(f"odl watch: {error}", file=sys.stderr, flush=True)

    follow(_groups, tell, refuse, tolerance, by_clock)


def tell(pairs):
    """Print answers and records of periods."""
    sys.stdout.write("".join(f"{text}\n" for _, text in pairs))
    sys.stdout.flush()


def _groups(watch, ended):
    """Yield (number, line) of what has come; nothing now and then, while nothing comes."""
    rest, number, whole = b"", 0, False
    while not whole and not ended():
        if not select.select([sys.stdin], [], [], WAIT)[0]:
            yield []
            continue
        piece = os.read(sys.stdin.fileno(), 1 << 20)
        whole = not piece
        *lines, rest = (rest + piece + b"\n" * (whole and bool(rest))).split(b"\n")
        if len(rest) > LONGEST:
            rest = rest[:LONGEST]  # no line of JSON any more
        numbered = list(enumerate(lines, number + 1))
        number += len(lines)
        numbered = [pair for pair in numbered if pair[1].strip()]
        for first in range(0, len(numbered), GROUP):
            yield numbered[first : first + GROUP]
