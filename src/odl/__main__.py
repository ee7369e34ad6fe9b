"""``python -m odl``, and the command `odl`."""

import gc
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # an import that Ctrl-C ends would print a traceback; `main` heeds it then
gc.set_threshold(100_000)  # imports make as many objects that stay: the default, 700, examines them again and again

from odl.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
