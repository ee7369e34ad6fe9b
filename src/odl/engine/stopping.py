"""SIGINT and SIGTERM end a command at once, or as soon as HDF5 has returned to Python."""

import contextlib
import signal
import sys

from odl.files import blocks

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN = 0.02  # seconds


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
        """Take note of a signal and stop; a moment later where HDF5 has called us, which no exception may pass."""
        self.number = self.number if number == signal.SIGALRM else number
        while frame is not None:
            if frame.f_code.co_filename == blocks.__file__:
                signal.setitimer(signal.ITIMER_REAL, AGAIN)
                return
            frame = frame.f_back
        raise Stopped(self.number)

    def check(self):
        """Stop if a signal came where Python drops exceptions."""
        if self.number:
            raise Stopped(self.number)


@contextlib.contextmanager
def heeding():
    """Yield what heeds signals, in the main thread."""
    caught = (*SIGNALS, signal.SIGALRM)
    heed, before, hook = Heed(), {number: signal.getsignal(number) for number in caught}, sys.unraisablehook
    sys.unraisablehook = lambda said: None if isinstance(said.exc_value, Stopped) else hook(said)
    try:
        for number in caught:
            signal.signal(number, heed)
        yield heed
    except Exception:
        heed.check()  # what comes within a class is a RuntimeError, within NumPy's import an ImportError
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
