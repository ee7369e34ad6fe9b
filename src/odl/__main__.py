"""``python -m odl``, and the command `odl`."""

import gc
import signal
import sys

signal.signal(
    signal.SIGINT, signal.SIG_DFL
)  # an import that Ctrl-C ends would print a traceback; `main` heeds it then
gc.set_threshold(
    100_000
)  # imports create about this many permanent objects; the default, 700, scans them repeatedly

from odl import forkserver  # noqa: E402


def main():
    """Run the command of this process's arguments; return the exit status."""
    status = forkserver.delegate(sys.argv[1:])
    if status is None:
        from odl.cli import main

        status = main()
    return status


if __name__ == "__main__":
    sys.exit(main())
