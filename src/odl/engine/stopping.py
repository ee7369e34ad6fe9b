"""SIGINT and SIGTERM end a run at once where that is safe, and at the next step in any case."""

import contextlib
import signal
import sys

from odl.files import blocks

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """A signal came.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number):
        super().__init__()
        self.status = 128 + number


class Heed:
    """What came while a run was under way."""

    def __init__(self):
        self.number = 0

    def __call__(self, number, frame=None):
        """Take note of a signal and stop; at the next step if HDF5 has called us, which no exception may pass."""
        self.number = number
        while frame is not None:
            if frame.f_code.co_filename == blocks.__file__:
                return
            frame = frame.f_back
        raise Stopped(number)

    def check(self):
        """Stop if a signal came where none may be raised, or where Python drops exceptions."""
        if self.number:
            raise Stopped(self.number)


@contextlib.contextmanager
def heeding():
    """Yield what heeds signals, in the main thread."""
    heed, before, hook = Heed(), {number: signal.getsignal(number) for number in SIGNALS}, sys.unraisablehook
    sys.unraisablehook = lambda said: None if isinstance(said.exc_value, Stopped) else hook(said)
    try:
        for number in SIGNALS:
            signal.signal(number, heed)
        yield heed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
