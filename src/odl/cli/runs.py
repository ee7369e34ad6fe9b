"""``python -m odl.cli.runs FOLDER SECONDS``: run a folder on request; only `odl watch` calls it.

Each line of standard input is a request for ``odl run FOLDER --wait SECONDS``. All runs are in this
process, so that libraries are imported once. The exit status of each run is a line of standard
output. The reports of the runs go to standard error.
"""

import contextlib
import os
import select
import sys

from odl import cli

IDLE_SECONDS = 60.0  # seconds without a request after which the process ends, to free its memory


def serve(folder, seconds):
    """Run a folder once for each line of standard input, until the input ends or is idle.

    Returns
    -------
    int
        Exit status of this process: 0, or that of a run which a signal ended.
    """
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while select.select([sys.stdin], [], [], IDLE_SECONDS)[0] and os.read(sys.stdin.fileno(), 1):
        status = cli.main(["run", folder, "--wait", seconds])
        if status >= 128:  # a signal
            return status
        with contextlib.suppress(BrokenPipeError):  # the watch was killed, and stdin is closed too
            print(status, file=replies, flush=True)
    return 0


if __name__ == "__main__":
    cli.prepare_process()
    sys.exit(serve(*sys.argv[1:]))
