"""Starting the ranks of a job and waiting for them: what they print, and how they may have ended."""

import os
import platform
import shlex
import shutil
import subprocess
import sys

from odl.distributed.messages import INSTALL
from odl.errors import ParameterError

SIGNALS = (9, 11, 15, 137, 139, 143)  # statuses of launchers: 9 and 11 from mpiexec, 128 more from srun
BANNER = "=" * 20  # of mpiexec, where a rank was killed: replaced by one sentence


def launch(words, n_ranks, launcher, state):
    """Start ``odl step rank`` on ranks and wait for them; what they print is passed on.

    Parameters
    ----------
    words : list of str
        Arguments of ``odl step rank``.
    n_ranks : int
    launcher : str
        ``mpiexec``, ``srun --mpi=pmi2`` ...; ``-n RANKS`` is appended.
    state : path-like
        The checkpoint they are to write.

    Raises
    ------
    ParameterError
        If the launcher is not there or a rank died.
    """
    start = _split(launcher)
    if len(start) == 1:
        start = _split(start[0])  # Snakemake hands on the quotes of a resource with spaces
    folder = os.path.dirname(sys.executable)
    found = shutil.which(start[0], path=folder + os.pathsep + os.environ.get("PATH", os.defpath)) if start else None
    if not found:
        given = f"the launcher '{launcher}', which is not there"
        raise ParameterError(given, "one such as mpiexec", f"{INSTALL}, or name it")
    command = [found, *start[1:], "-n", str(n_ranks), sys.executable, "-m", "odl", "step", "rank", str(n_ranks), *words]
    # Ranks on this host end with this process, as this one ends with the workflow.
    environment = {**os.environ, "ODL_PARENT": str(os.getpid()), "ODL_HOST": platform.node()}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    process = subprocess.Popen(command, env=environment, **both)
    refused, banner = False, False
    try:
        for line in process.stdout:
            refused |= line.startswith("odl rank: ") and "; expected " in line
            banner |= line.startswith(BANNER)
            if not banner:
                sys.stdout.write(line)
                sys.stdout.flush()
        status = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if refused:
        raise SystemExit(1)
    if status:
        killed = -status if status < 0 else status % 128 if status in SIGNALS else 0
        given = f"a rank ended {f'by signal {killed}' if killed else f'with status {status}'}, the others were stopped"
        todo = f"{os.fspath(state)} was not written and the one before is whole, so run the same command again"
        raise ParameterError(given, f"{n_ranks} ranks that reach the end", todo)


def _split(launcher):
    """Return the words of a launcher."""
    try:
        return shlex.split(launcher)
    except ValueError as error:
        given = f"the launcher {launcher!r} ({error})"
        raise ParameterError(given, "words as in a shell", "close its quotes") from error
