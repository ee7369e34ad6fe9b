"""``python -m odl``, and the command `odl`."""

import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # an import that Ctrl-C ends would print a traceback; `main` heeds it then

from odl.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
