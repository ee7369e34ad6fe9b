"""Fork server: a process that forks one process per step of a local workflow.

The server has NumPy, SciPy and h5py loaded. Loading these libraries takes 0.4 CPU s, longer than
most steps work. The Snakefile starts the server (`start`). `odl step` sends it arguments,
environment and standard streams over a Unix socket, waits, and exits with the status of the forked
process (`delegate`). Without a server a step runs in its own process, with the same result.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from importlib import import_module

SOCKET = "ODL_FORK_SERVER"  # environment variable: path of the server's socket
CHECK_INTERVAL = 0.5  # seconds between two checks whether the parent process still runs
OWN_PROCESS = {"rank"}  # steps that a launcher other than Snakemake starts
SIZE_BYTES = 8  # size of the number that precedes a request: the length of the request
STREAMS = 3  # standard input, output and error


def start(modules):
    """Start a server that ends with this process; return the path of its socket, or "".

    No server starts if the path of the temporary folder is too long for a socket, longer than about
    90 characters.

    Parameters
    ----------
    modules : iterable of str
        Modules to load before the first fork.
    """
    import subprocess
    import tempfile

    folder = tempfile.mkdtemp(prefix="odl-")
    path = os.path.join(folder, "socket")
    # The values that Snakemake sets for a step
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(path)
        except OSError:
            os.rmdir(folder)
            return ""
        listener.listen()
        # -P: no file of the working directory hides a module.
        python = [sys.executable, "-P", "-m", "odl.forkserver"]
        command = [*python, str(listener.fileno()), str(os.getpid()), *modules]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        subprocess.Popen(
            command, env={**os.environ, **threads}, pass_fds=[listener.fileno()], **quiet
        )
    return path


def delegate(words):
    """Run a command in a process that the server forks; return its exit status.

    Return None if the command has to run in this process.

    Parameters
    ----------
    words : list of str
        Arguments of `odl`.
    """
    path = os.environ.get(SOCKET)
    if not path or words[:1] != ["step"] or OWN_PROCESS.intersection(words[1:2]):
        return None
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(path)
            request = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
            socket.send_fds(server, [len(request).to_bytes(SIZE_BYTES, "big")], range(STREAMS))
            server.sendall(request)
            if not server.recv(1):  # the server ended before it forked
                return None
        except OSError:
            return None

        def forward(*_):
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_WR)  # `_end_with_client` sees it

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, forward)
        status = b""
        with contextlib.suppress(OSError):
            status = server.recv(1)
    return status[0] if status else 128 + signal.SIGKILL


def serve(listener, parent, modules):
    """Fork a process for each request until the process `parent` ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forked processes
    folder = os.path.dirname(listener.getsockname())
    try:
        for name in ("odl.cli.studysteps", *modules):
            import_module(name)
        gc.freeze()  # forked processes do not scan the objects of the loaded modules
        listener.settimeout(CHECK_INTERVAL)
        while os.getppid() == parent:
            with contextlib.suppress(TimeoutError):
                connection = listener.accept()[0]
                if not os.fork():
                    listener.close()
                    _answer(connection)
                connection.close()
    finally:
        for remove, path in ((os.unlink, listener.getsockname()), (os.rmdir, folder)):
            with contextlib.suppress(OSError):
                remove(path)


def _answer(connection):
    """Run the command of a request, send its exit status, and end this process."""
    import threading
    import time

    from odl import cli

    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        words = _receive(connection)
        connection.send(b"\0")
        threading.Thread(target=_end_with_client, args=(connection,), daemon=True).start()
        sys.argv[1:], cli.PROCESS_START = words, time.monotonic()
        status = cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        with contextlib.suppress(OSError):
            connection.send(bytes([status]))
        os._exit(status)


def _receive(connection):
    """Take over folder, environment and standard streams of a request; return its words."""
    size, streams, _, _ = socket.recv_fds(connection, SIZE_BYTES, STREAMS)
    with connection.makefile("rb") as file:
        words, folder, environment = json.loads(file.read(int.from_bytes(size, "big")))
    for number, (stream, name, mode) in enumerate(
        zip(streams, ("stdin", "stdout", "stderr"), "rww", strict=True)
    ):
        os.dup2(stream, number)
        os.close(stream)
        # The existing stream object fits the server's file. The client's file may be of another
        # type (terminal, pipe or regular file) and needs a new stream object.
        encoding = getattr(sys, name).encoding
        setattr(sys, name, open(number, mode, buffering=1, encoding=encoding, closefd=False))  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return words


def _end_with_client(connection):
    """End this process by SIGTERM when the client ends or gets a signal."""
    with contextlib.suppress(OSError):
        connection.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        serve(inherited, int(sys.argv[2]), sys.argv[3:])
