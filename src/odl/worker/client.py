"""Hand a job over to the worker of its run, so that it does not import everything once more.

A run is one process of Snakemake, named by ``ODL_PARENT`` (workflow/Snakefile). Its first job begins the worker
(`odl.worker.server`); where there can be none, the job runs in its own process, to the same bytes: not on Linux, no
run, more threads than one, ``ODL_WORKER=0``. Of a step that a rule calls Snakemake itself is the client
(`odl.worker.direct`). The socket has a name that is no file (Linux's abstract names), with the
process and its start in it: two jobs cannot both bind it, and nothing stays behind.
"""

# Of `socket` and `signal` the modules behind them: to import those takes longer than everything else here does.
import _signal
import _socket
import os
import sys

# Jobs of a timestep or of a run. Others are few, take long or start programs, and run in a process of their own.
STREAM = ("index", "batch", "features")
LEARNING = ("score", "update", "topics", "alerts", "baselines")
RESULTS = ("evaluate", "emerging", "plan", "summarise", "regrets")
PAGES = ("figures", "page", "newpage")  # at the end of a run: what they import, no job after them needs
COMMAND = "worker"  # what begins it: odl worker SOCKET
SHARES = {"--files", "--shares"}
SERVED = frozenset((*STREAM, *LEARNING, *RESULTS, *PAGES))
ENDS = (_signal.SIGTERM, _signal.SIGINT)
TRIES = 3
BACKLOG = 1000  # jobs that may wait while the worker imports
BEGUN, OVER = b"B", b"S"  # messages of the worker: a number follows, of the process or of its end


def ask(words):
    """Let the worker of this run do a command.

    Parameters
    ----------
    words : list of str
        The command and its arguments.

    Returns
    -------
    int or None
        The exit status; None where the command has to run in this process.
    """
    name = name_for(words, os.environ)
    if name is None:
        return None
    try:
        connection = connected(name, os.environ)
        if connection is None:
            return None
        mask = os.umask(0)
        os.umask(mask)
        for end in ENDS:  # until the child has begun there is nothing to be ended but this process
            _signal.signal(end, lambda number, _: os._exit(128 + number))
        send(connection, words, os.environ, (0, 1, 2), mask)
        child = begun(connection)
        if child is None:
            return None
        for end in ENDS:
            _signal.signal(end, lambda number, _: tell(child, number))
        return ended(connection, lambda line: print(line, file=sys.stderr))
    except OSError:
        return None
    finally:
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def tell(process, number):
    """Send a signal to a job, which may have ended already."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return  # its status is on the way


def _served(words):
    """Say whether a step is one of the worker's: of reading, what reads or joins shares of the files."""
    return bool(words) and (words[0] in SERVED or (words[0] == "read" and not SHARES.isdisjoint(words)))


def name_of(process):
    """Return the socket's name of the worker for a run, or None where no such process is there.

    Parameters
    ----------
    process : str
        Number of the run's Snakemake.
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            began = file.read().rsplit(b")", 1)[1].split()[19]
    except OSError:
        return None
    return b"\0odl-worker-%d-%s-%s" % (os.getuid(), process.encode(), began)


def name_for(words, variables):
    """Return the socket's name where a worker may do what `odl` is called with, or None.

    Parameters
    ----------
    words : list of str
    variables : dict of str to str
        Environment of the job.
    """
    if words[:1] != ["step"] or not _served(words[1:]) or sys.platform != "linux":
        return None
    if not hasattr(os, "pidfd_open"):  # a Python that was built for older kernels, such as conda's
        return None
    if variables.get("ODL_WORKER") == "0" or variables.get("OMP_NUM_THREADS") != "1":
        return None
    parent = variables.get("ODL_PARENT", "")
    if not parent.isdigit() or variables.get("ODL_HOST") != os.uname().nodename:
        return None
    return name_of(parent)


def connected(name, variables):
    """Return a connection to the worker, which is begun with these variables if there is none, or None."""
    for _ in range(TRIES):
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.connect(name)
        except OSError:
            connection.close()
            _begin(name, variables)
            continue
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return connection if int.from_bytes(peer[4:8], sys.byteorder) == os.getuid() else None
    return None


def _begin(name, variables):
    """Begin the worker, unless another job was faster: only one can have the name."""
    listening = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        listening.bind(name)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        return
    number = listening.fileno()
    os.set_inheritable(number, True)
    command = [sys.executable, "-P", "-m", "odl", COMMAND, str(number)]
    null = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    try:
        os.posix_spawn(sys.executable, command, variables, file_actions=null, setsid=True)
    except NotImplementedError:  # a Python that was built for an older C library
        os.posix_spawn(sys.executable, command, variables, file_actions=null, setpgroup=0)
    listening.close()


def send(connection, words, variables, streams, mask):
    """Send what makes a process: arguments, folder, environment, umask, and its three streams themselves."""
    fields = [identity(), os.fsencode(os.getcwd()), b"%d" % mask, b"%d" % len(words), *map(os.fsencode, words)]
    fields += [os.fsencode(f"{key}={value}") for key, value in variables.items()]
    message = b"\0".join(fields)
    message = len(message).to_bytes(8, sys.byteorder) + message
    passed = b"".join(stream.to_bytes(4, sys.byteorder) for stream in streams)
    sent = connection.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    connection.sendall(message[sent:])


def identity():
    """Return which package and environment this is: jobs of another one are not for this worker."""
    return os.fsencode(f"{__file__} {sys.prefix}")


def begun(connection):
    """Return the process of the job when it has begun, or None where the worker does not do it."""
    kind, child = _message(connection)
    return child if kind == BEGUN else None


def ended(connection, say):
    """Wait for the end of the job and return its status.

    Parameters
    ----------
    connection : socket
    say : callable
        Is given the line that tells why, where the job did not end by itself.
    """
    kind, status = _message(connection)
    if kind != OVER:
        say("odl: the worker of this run was ended, and this job with it; run the same command again")
        return 1
    if status < 0:
        say(f"odl: the job was ended by signal {-status}")
        return 128 - status
    return status


def _message(connection):
    """Return the kind and the number of the next message; nothing and 0 where the connection is closed."""
    found = b""
    try:
        while len(found) < 5 and (more := connection.recv(5 - len(found))):
            found += more
    except ConnectionError:
        found = b""
    return found[:1], int.from_bytes(found[1:], sys.byteorder, signed=True)
