"""``python -m odl.cli.runs FOLDER SECONDS``: run a folder repeatedly in one process.

`odl watch` starts this program, so that libraries are imported once. For each line of standard
input it executes ``odl run FOLDER --wait SECONDS`` and writes the exit status as a line to standard
output. The reports of the runs are written to standard error.
"""

import contextlib
import os
import select
import sys

from odl import cli

IDLE_SECONDS = 60.0  # seconds without a request after which the process ends and frees its memory


def serve(folder, seconds):
    """Run a folder once for each line of standard input.

    Parameters
    ----------
    folder, seconds : str
        Arguments of ``odl run FOLDER --wait SECONDS``.

    Returns
    -------
    int
        Exit status of this process. It is 0 after the end of the input or `IDLE_SECONDS` without a
        line, and that of the run if a signal ended a run.
    """
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while select.select([sys.stdin], [], [], IDLE_SECONDS)[0] and os.read(sys.stdin.fileno(), 1):
        status = cli.main(["run", folder, "--wait", seconds])
        if status >= 128:  # a signal ended the run
            return status
        with contextlib.suppress(BrokenPipeError):  # the watch was killed; the input ends too
            print(status, file=replies, flush=True)
    return 0


if __name__ == "__main__":
    cli.prepare_process()
    sys.exit(serve(*sys.argv[1:]))
