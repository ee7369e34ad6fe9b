"""``python -m odl``, and the command `odl`."""

import signal
import sys

# Replace Python's handler by the default action of the system, so that Ctrl-C during the imports
# ends the process without a traceback. `main` installs a handler of its own after the imports.
signal.signal(signal.SIGINT, signal.SIG_DFL)

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
