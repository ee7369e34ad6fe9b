"""How the commands of a submitted job ended: whether more memory would help the next attempt."""

import contextlib
import json
import os
import platform
import sys
from pathlib import Path

from odl.errors import OdlError

# What Slurm calls the end of a job; other ends (FAILED) have to be told apart by what the commands left.
OF_MEMORY = {"OUT_OF_MEMORY"}
NOT_OF_MEMORY = {"TIMEOUT", "CANCELLED", "DEADLINE", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "COMPLETED"}


class NotOfMemory(OdlError):
    """A job that failed for a reason that more memory does not remove."""


@contextlib.contextmanager
def remembered(command, folder=None):
    """Leave a file in `folder` that says how a command ended; none if it succeeded.

    A process that is killed without a warning, as the kernel does for want of memory, leaves the file as it was at
    the start, without an end.

    Parameters
    ----------
    command : str
        Name of the subcommand.
    folder : path-like, optional
        Default: the environment's ODL_ATTEMPTS. If empty, nothing is left.

    Yields
    ------
    callable
        Takes the exit status and a word on the end: ``refused``, ``memory`` ...
    """
    folder = os.environ.get("ODL_ATTEMPTS") if folder is None else folder
    if not folder:
        yield lambda status, end: None
        return
    path = Path(folder) / f"{platform.node()}-{os.getpid()}.json"
    entry = {"command": command, "job": os.environ.get("SLURM_JOB_ID", "")}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entry))

    def ended(status, end):
        if status:
            path.write_text(json.dumps({**entry, "status": status, "end": end}))
        else:
            path.unlink(missing_ok=True)

    try:
        yield ended
    except SystemExit as stopped:
        ended(stopped.code if isinstance(stopped.code, int) else 1, "terminated" if stopped.code == 143 else "refused")
        raise
    except BaseException:
        ended(1, "error")
        raise


def state_of(job):
    """Return what Slurm says of a job (``FAILED``, ``TIMEOUT`` ...), or an empty string if it says nothing.

    Parameters
    ----------
    job : str
        Its number; may be empty.
    """
    import shutil
    import subprocess

    for command in (["squeue", "--noheader", "--states=all", "--format=%T", "--jobs", job],
                    ["sacct", "--noheader", "--allocations", "--format=State%20", "--jobs", job]):  # fmt: skip
        if job and shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True)
            words = done.stdout.split()
            if done.returncode == 0 and words:
                return words[0].rstrip("+")
    return ""


def check(folder):
    """Return why another attempt may help, and forget the one before.

    Parameters
    ----------
    folder : path-like
        What the commands of the last attempt left.

    Raises
    ------
    NotOfMemory
        If it was not ended for want of memory; then what it left stays, for the attempts to come.
    """
    import shutil

    entries = [json.loads(path.read_text() or "{}") for path in sorted(Path(folder).glob("*.json"))]
    state = next(filter(None, map(state_of, {entry.get("job", "") for entry in entries})), "")
    killed = [entry for entry in entries if "end" not in entry or entry["end"] == "memory"]
    if state in OF_MEMORY or (killed and state not in NOT_OF_MEMORY):
        shutil.rmtree(folder, ignore_errors=True)
        told = any("end" in entry for entry in killed)
        return state if state in OF_MEMORY else "a command that said so" if told else "a kill without a warning"
    if state in NOT_OF_MEMORY:
        why = f"Slurm ended it as {state}"
    elif entries:
        why = f"odl {entries[0]['command']} ended by itself with status {entries[0]['status']}"
    else:
        why = "no command of it was running when it ended"
    raise NotOfMemory(
        f"a second attempt at a job that had memory enough ({why})",
        "one after a kill for want of memory",
        "see the job's own log, then run the same snakemake command again",
    )


def ask(folder):
    """Print why another attempt may help; see `check`."""
    print(f"odl attempt: once more, with more memory, after {check(folder)}", file=sys.stderr)
