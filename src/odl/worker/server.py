"""The worker of a run: imports once, forks a child for each job, ends with the run.

It has one thread, so that a fork takes along no lock that nobody opens. It reads no request itself: a child does, so
that nothing a client does or leaves undone holds up the others. What two kinds of jobs import it learns from its
children: each says at its end which modules of the package it had to import, and the next one finds them.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys

from odl.worker import client, job

FIRST = "odl.jobs.update"  # imports what nearly every job does
IDLE = 600  # seconds without a job after which the worker ends, though its run goes on
GRACE = 5  # seconds that children have to end in when the run has gone
LONGEST = 4096  # bytes that a pipe takes at once
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15


def serve(number, main):
    """Serve the jobs of the run that ``ODL_PARENT`` names until it ends.

    Parameters
    ----------
    number : int
        Descriptor of the listening socket, whose name says which run it is for.
    main : callable
        Runs a command from a list of words; returns the exit status.
    """
    _close_others(number)
    listening = socket.socket(fileno=number)
    process = os.environ["ODL_PARENT"]
    try:
        run = os.pidfd_open(int(process))
    except OSError:
        return
    if client.name_of(process) != listening.getsockname():
        return
    Worker(listening, run, int(process), main).loop()


def _close_others(number):
    """Close what the first job was given beside its streams, such as the pipe of a shell that waits for its end."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != number:
            with contextlib.suppress(OSError):
                os.close(int(name))


class Worker:
    """The loop over requests, ends of children, and the end of the run."""

    def __init__(self, listening, run, number, main):
        self.listening, self.run, self.number, self.main = listening, run, number, main
        self.told, self.tell = os.pipe()
        os.set_blocking(self.tell, False)
        self.children = {}  # descriptor of the process -> (its number, its connection)
        self.connections = {}  # descriptor of the connection -> descriptor of the process
        self.poll = select.poll()
        for descriptor in (listening, run, self.told):
            self.poll.register(descriptor, select.POLLIN)
        self.libc = ctypes.CDLL(None)
        self.libc.prctl(PR_SET_NAME, b"odl worker", 0, 0, 0)
        self.environment, self.seen = dict(os.environb), {}
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.load([FIRST])

    def load(self, modules):
        """Import what children will need, and have the collector leave it alone, so that they share its memory."""
        for module in modules:
            with contextlib.suppress(Exception):  # the job that needs it says what is wrong
                importlib.import_module(module)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if getattr(module, "__name__", "").startswith("odl") and path and path not in self.seen:
                self.seen[path] = _state(path)
        gc.collect()
        gc.freeze()

    def loop(self):
        """Wait for events until the run has gone or nothing was asked for long."""
        while events := self.poll.poll(None if self.children else IDLE * 1000):
            found = [descriptor for descriptor, _ in events]
            if self.run in found:
                return self.end()
            for descriptor in found:
                if descriptor == self.told:
                    self.load(os.read(self.told, 16 * LONGEST).decode().split())
                elif descriptor in self.children:
                    self.finish(descriptor)
                elif descriptor in self.connections:  # the client was killed
                    _send(self.connections.pop(descriptor), signal.SIGKILL)
                    self.poll.unregister(descriptor)
            # Last, for the numbers of descriptors closed above are given anew.
            if self.listening and self.listening.fileno() in found:
                self.accept()
            if not (self.listening or self.children):
                return None
        return None

    def accept(self):
        """Fork a child for the next job; where there is no room for one, the job runs by itself."""
        try:
            connection, _ = self.listening.accept()
        except OSError:  # no descriptor is left
            self.retire()
            return
        pid = None
        try:
            place = os.dup(self.told)  # kept for the descriptor of the child
            try:
                pid = os.fork() if self.fits(connection) else None
            finally:
                os.close(place)
        except OSError:
            self.retire()
        if pid is None:
            connection.close()
            return
        if not pid:
            self.be_child(connection)
        process = os.pidfd_open(pid)
        self.children[process] = (pid, connection)
        self.poll.register(process, select.POLLIN)
        if peer_of(connection)[0] != self.number:  # the end of the run itself is waited for, and its jobs end in order
            self.connections[connection.fileno()] = process
            self.poll.register(connection, select.POLLRDHUP)

    def fits(self, connection):
        """Say whether a child of this process may do what is asked; where it has become another one, serve no more."""
        if peer_of(connection)[1] != os.getuid():
            return False
        if len(os.listdir("/proc/self/task")) == 1 and all(_state(path) == held for path, held in self.seen.items()):
            return True
        self.retire()
        return False

    def retire(self):
        """Take no more jobs: the next one begins another worker."""
        self.poll.unregister(self.listening)
        self.listening.close()
        self.listening = None

    def be_child(self, connection):
        """Do a job in a process of its own, and end it."""
        status = 1
        try:
            self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
            signal.signal(signal.SIGINT, signal.default_int_handler)
            known = set(sys.modules)
            others = [held.fileno() for _, held in self.children.values()]
            for descriptor in (self.listening.fileno(), self.run, self.told, *self.children, *others):
                os.close(descriptor)
            words = job.begin(connection, self.environment)
            if words is None:
                return
            self.libc.prctl(PR_SET_NAME, f"odl {words[1]}".encode(), 0, 0, 0)
            status = job.run(self.main, words)
            if len(os.listdir("/proc/self/task")) == 1 and words[1] not in client.PAGES:
                self.say(sorted(name for name in set(sys.modules) - known if name.startswith("odl.")))
        finally:
            os._exit(status)

    def say(self, modules):
        """Tell the worker what this child imported; what does not fit into one write is left to the next child."""
        words = b""
        for name in modules:
            words += name.encode() + b"\n" if len(words) + len(name) < LONGEST else b""
        if words:
            with contextlib.suppress(BlockingIOError):
                os.write(self.tell, words)

    def finish(self, process):
        """Tell the client how its job ended."""
        pid, connection = self.children.pop(process)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if self.connections.pop(connection.fileno(), None) is not None:
            self.poll.unregister(connection)
        self.poll.unregister(process)
        os.close(process)
        with contextlib.suppress(OSError):
            connection.sendall(client.OVER + status.to_bytes(4, sys.byteorder, signed=True))
        connection.close()

    def end(self):
        """End the children, who remove their temporary files, and then this process."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self.children:
                _send(process, number)
            while self.children:
                ends = [process for process, _ in self.waiting(GRACE) if process in self.children]
                if not ends:
                    break
                for process in ends:
                    self.finish(process)
        os._exit(0)

    def waiting(self, seconds):
        """Wait for ends of children only."""
        ends = select.poll()
        for process in self.children:
            ends.register(process, select.POLLIN)
        return ends.poll(seconds * 1000)


def peer_of(connection):
    """Return the process and the user at the other end."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return tuple(int.from_bytes(peer[first : first + 4], sys.byteorder) for first in (0, 4))


def _send(process, number):
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, number)


def _state(path):
    """Return what changes with a file's content."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
