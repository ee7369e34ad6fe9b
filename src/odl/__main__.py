"""``python -m odl``, and the command `odl`."""

import gc
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # an import that Ctrl-C ends would print a traceback; `main` heeds it then
gc.set_threshold(100_000)  # imports create about this many permanent objects; the default, 700, scans them repeatedly

from odl.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
