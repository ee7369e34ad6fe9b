"""What a long job says while it works, one line at a time: the last line of its log is shown by `odl run`."""

import time

MARK = "now: "
EVERY = 2.0  # seconds
_heard = []  # what takes the lines: nothing, unless a command asks for them


def aloud(write=None):
    """Say what follows from now on, by `print` if nothing else is given."""
    _heard[:] = [write or (lambda line: print(line, flush=True))]


def say(text):
    """Say a line."""
    for write in _heard:
        write(f"{MARK}{text}")


def counted(rows, what, clock=time.monotonic):
    """Yield rows, and say now and then how many there were.

    Parameters
    ----------
    rows : iterable
    what : callable
        Of the number of rows so far; returns what to say.
    clock : callable
    """
    last = clock()
    for number, row in enumerate(rows):
        if _heard and number % 16 == 0 and clock() - last > EVERY:
            last = clock()
            say(what(number))
        yield row
