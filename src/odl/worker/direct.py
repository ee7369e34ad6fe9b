"""Jobs that Snakemake hands to the worker of its run itself, without processes that would only wait for them.

Snakemake begins a shell for each job, and the shell the `odl` of the rule, which asks the worker (`odl.worker.client`).
Where a command is a step of `odl` that the worker does, with nothing but words and a log, the thread that would wait
for the shell asks instead. Any other command, and a job that the worker does not take, goes to a shell.
"""

import contextlib
import importlib
import os
import re
import shlex
import signal
import subprocess
import threading
from types import SimpleNamespace

from odl.worker import client

WORD = r"""(?:[\w@%+=:,./-]|'[^']*'|"'")+"""  # as `shlex.quote` writes it: nothing that a shell would look at
COMMAND = re.compile(rf"(?:set -euo pipefail; +)?odl +((?:{WORD} +)+)> *({WORD}) 2>&1", re.ASCII)
RUNNING = set()  # jobs handed over whose end is not known yet
BEGINNING = threading.Lock()  # so that one of the first jobs begins the worker, and the others find it


class Handed:
    """A job that the worker does, as far as Snakemake uses a `subprocess.Popen`.

    Parameters
    ----------
    connection : socket
    pid : int
        Of the worker's child.
    log : str
        What the job prints to.
    """

    def __init__(self, connection, pid, log):
        self.connection, self.pid, self.log, self.returncode = connection, pid, log, None
        RUNNING.add(self)

    def wait(self):
        """Return the exit status of the job when it has ended."""
        if self.returncode is None:
            said = []
            self.returncode = client.ended(self.connection, said.append)
            RUNNING.discard(self)
            self.connection.close()
            for line in said:
                with contextlib.suppress(OSError), open(self.log, "a", encoding="utf-8") as log:
                    log.write(f"{line}\n")
        return self.returncode

    def send_signal(self, number):
        """Send a signal to the job, if it has not ended."""
        if self.returncode is None:
            client.tell(self.pid, number)

    def terminate(self):
        """Ask the job to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self):
        """End the job."""
        self.send_signal(signal.SIGKILL)


def install():
    """Let Snakemake, whose process this is, hand jobs over; called before it begins any."""
    shells = importlib.import_module("snakemake.shell")
    if not hasattr(shells, "sp") or isinstance(shells.sp, SimpleNamespace):
        return
    shells.sp = SimpleNamespace(**{**vars(subprocess), "Popen": begin})
    before = signal.getsignal(signal.SIGINT)

    def interrupted(number, frame):
        # A terminal tells all processes of a run; the worker's are not among them.
        for job in list(RUNNING):
            job.send_signal(number)
        if callable(before):
            before(number, frame)

    if callable(before) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupted)


def begin(command, **options):
    """Begin a command as `subprocess.Popen` does, or hand it over.

    Returns
    -------
    subprocess.Popen or Handed
    """
    found = COMMAND.fullmatch(command) if isinstance(command, str) else None
    plain = found and options.get("shell") and options.get("stdout") is not subprocess.PIPE
    job = _handed(shlex.split(found[1]), shlex.split(found[2])[0], options.get("env")) if plain else None
    return job or subprocess.Popen(command, **options)


def _handed(words, log, variables):
    """Return the job that the worker does, or None where a shell has to begin it."""
    name = client.name_for(words, variables) if variables else None
    if name is None:
        return None
    connection = None
    try:
        stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except OSError:
        return None  # the shell says why
    try:
        with BEGINNING:
            connection = client.connected(name, variables)
        if connection is None:
            return None
        client.send(connection, words, variables, (0, stream, stream), _mask())
        pid = client.begun(connection)
        if pid is not None:
            return Handed(connection, pid, log)
    except OSError:
        pass
    finally:
        os.close(stream)
    if connection is not None:
        connection.close()
    return None


def _mask():
    """Return the umask of this process, which other threads may need while it is asked for by setting it."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    raise OSError("this kernel does not say the umask of a process")
