"""Server of ``odl watch --http``: threads read requests; the watch answers in the main thread.

So the documents of several clients are written to the disk together, and a slow client does not
delay others.
"""

import gc
import json
import logging
import math
import os
import queue
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from itertools import count

from odl.errors import ParameterError
from odl.live.lines import POLL_SECONDS, tell, text_record
from odl.live.openperiod import GROUP_SIZE
from odl.live.watch import follow, json_record, print_line

TOKEN_VARIABLE = "ODL_TOKEN"  # environment variable with the token that requests must have
MIN_TOKEN_LENGTH = 16  # characters
N_THREADS, MAX_CONNECTIONS = 32, 1000
MAX_QUIET_SECONDS = 30  # an idle connection is closed after this time
# Switch interval of Python's threads. With a short one, a thread that loads results does not delay
# answers.
SWITCH_SECONDS = 0.0005
# Documents per request, and documents of all requests that wait for answers.
MAX_WAITING = 8 * GROUP_SIZE
TURN_SIZE = 1 << 19  # bytes of documents that are answered together before the next request
REQUEST_SIZE = 1 << 24  # largest size of a request in bytes
DRAIN_SECONDS = 1.5  # time to send the answers of stored documents before the process ends


def run(runner, address, tolerance=0.0, by_clock=False, rate=math.inf, text=False):
    """Score documents that arrive by HTTP, until the process gets SIGINT or SIGTERM.

    The watch is that of the working folder.

    Parameters
    ----------
    runner : odl.live.runner.Runner
    address : str
        Address and port, such as ``127.0.0.1:8080``.
    tolerance, by_clock
        See `odl.live.watch.LiveWatch`.
    rate : float
        See `odl.live.service.Service`.
    text : bool
        Whether to print the headlines of learned periods as text.

    Raises
    ------
    ParameterError
        If the address or rate cannot be used, the extra `http` is not installed, the token is too
        short, or there is no token and other machines can connect.
    BusyError
        If another watch is running in the folder.
    """
    try:
        import waitress

        from odl.live.service import LOOPBACK, Service
    except ModuleNotFoundError as error:
        todo = "type pip install 'online-dictionary-learning[http]'"
        raise ParameterError(
            f"--http needs {error.name}, which is not installed", "the extra http", todo
        ) from error
    host, port = _parse_address(address)
    token = os.environ.get(TOKEN_VARIABLE, "")
    if len(token) < MIN_TOKEN_LENGTH and (token or host not in LOOPBACK):
        given = f"--http {address} with a {TOKEN_VARIABLE} of {len(token)} characters"
        todo = f"set the variable {TOKEN_VARIABLE}, or listen on 127.0.0.1"
        raise ParameterError(
            given, f"a token of at least {MIN_TOKEN_LENGTH} characters, or 127.0.0.1", todo
        )
    if not rate > 0:
        raise ParameterError(
            f"--rate {rate:g}",
            "a number of documents per second above 0",
            "give a larger rate, or omit --rate",
        )
    listening = _listen(host, port, address)
    desk = Desk()
    server = waitress.create_server(
        Service(desk, token, rate),
        sockets=[listening],
        ident=None,  # responses have no header Server
        threads=N_THREADS,
        connection_limit=MAX_CONNECTIONS,
        channel_timeout=MAX_QUIET_SECONDS,
        cleanup_interval=MAX_QUIET_SECONDS // 3,
        max_request_body_size=REQUEST_SIZE,
        asyncore_use_poll=True,  # `select` cannot watch more than 1,024 connections
    )
    print_line(f"listens on port {listening.getsockname()[1]} of {host}")
    sys.setswitchinterval(SWITCH_SECONDS)
    # The warnings of waitress about waiting requests are not useful here.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    threading.Thread(target=server.run, daemon=True).start()
    try:
        record_of = text_record if text else json_record
        settings = desk.tell, desk.refuse, place_of, tolerance, by_clock, record_of
        follow(desk.groups, runner, *settings)
    except BaseException:
        desk.close()
        _finish_requests(server, MAX_QUIET_SECONDS)
        raise
    if not _finish_requests(server, DRAIN_SECONDS):
        # All answered documents are stored. A thread is still reading results: at exit, Python
        # would end it while it holds the lock of HDF5, and then wait for this lock forever.
        os._exit(0)


def _parse_address(address):
    """Return (host, port) of an address such as ``127.0.0.1:8080`` or ``[::1]:8080``."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ParameterError(
            f"--http {address}",
            "an address and a port, such as 127.0.0.1:8080",
            "correct the address",
        )
    return host, int(port)


def _listen(host, port, address):
    """Return a socket that listens on a port; `address` is the option --http, for the message."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=MAX_CONNECTIONS)
    except OSError as error:
        given = f"--http {address} ({error.strerror})"
        raise ParameterError(
            given, "a free port at an address of this machine", "choose another port"
        ) from error


def place_of(number):
    """Return (source, location) of a document from its number (request, position in it)."""
    now = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return "http", f"document {number[1] + 1} of a request, {now}"


def _finish_requests(server, timeout):
    """Wait at most `timeout` seconds until the threads of a server end; return whether all ended.

    Each thread ends after it has sent its answer.
    """
    dispatcher = server.task_dispatcher
    dispatcher.shutdown(timeout=timeout)
    time.sleep(POLL_SECONDS)  # the last answers are being sent
    return not dispatcher.threads


@dataclass
class Job:
    """Documents that one HTTP request sent, with the answers to them.

    Attributes
    ----------
    lines : list of bytes
        One document as JSON per line.
    learn : bool
        True if the watch accepts the documents, false if it only judges them.
    answers : list of str or None
        JSON answer to each line; None until the watch has answered.
    taken : int
        Number of lines that the watch has taken so far.
    done : threading.Event
        Set when all lines are answered, or the watch ends.
    """

    lines: list
    learn: bool
    answers: list
    taken: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def take(self, n_lines, size):
        """Take the next lines: at least one, at most `n_lines`, about `size` bytes in total.

        Return the positions of these lines in `lines`.
        """
        first = self.taken
        while (
            self.taken < len(self.lines)
            and self.taken - first < n_lines
            and (size > 0 or self.taken == first)
        ):
            size -= len(self.lines[self.taken])
            self.taken += 1
        return range(first, self.taken)


class Desk:
    """Queue between the server and the watch.

    Threads of the server put documents into it and wait. The watch takes the documents and puts the
    answers back.

    Attributes
    ----------
    watch : odl.live.watch.LiveWatch or None
    ended : bool
        Whether documents are refused, because the watch ends.
    renew : bool
        Set after feedback to request a run, which writes the pages again.
    waiting : int
        Number of documents that wait for answers.
    under_way : dict
        Number of a request -> `Job` that the watch is answering.
    """

    def __init__(self):
        self.watch, self.ended, self.renew = None, False, False
        self.jobs, self.under_way, self.serial = queue.SimpleQueue(), {}, count()
        self.max_documents, self.waiting, self.alone = MAX_WAITING, 0, threading.Lock()

    def ask(self, lines, learn):
        """Queue lines and wait for their answers; None if too many wait or the watch ends.

        Called in threads of the server.

        Parameters
        ----------
        lines : list of bytes
        learn : bool
            Whether to accept the documents (true) or only judge them.
        """
        with self.alone:
            if self.ended or (self.waiting and self.waiting + len(lines) > MAX_WAITING):
                return None
            self.waiting += len(lines)
            job = Job(lines, learn, [None] * len(lines))
            self.jobs.put((next(self.serial), job))
        job.done.wait()
        with self.alone:
            self.waiting -= len(lines)
        return None if None in job.answers else job.answers

    def groups(self, watch, ended):
        """Yield groups of (number, line); while no request arrives, empty groups.

        This method is the argument `groups` of `odl.live.watch.follow`.
        """
        self.watch = watch
        # Without this, a full garbage collection visits all loaded objects, which delays answers
        # by 25 ms or more.
        gc.freeze()
        try:
            while not ended():
                if self.renew:
                    self.renew = False
                    watch.learn()
                yield from self._next()
        finally:
            self.close()

    def close(self):
        """Take no more documents, and wake up the threads that wait for answers."""
        with self.alone:
            self.ended = True
        for job in self.under_way.values():
            job.done.set()
        for _ in range(self.jobs.qsize()):
            _, job = self.jobs.get()
            job.done.set()

    def _next(self):
        """Yield a group of waiting documents, from the requests in turn.

        After the group is answered, wake up the requests whose documents are all answered.
        """
        group, size = [], 0
        while len(group) < GROUP_SIZE and size < TURN_SIZE:
            try:
                serial, job = self.jobs.get(timeout=0 if size else POLL_SECONDS)
            except queue.Empty:
                break
            self.under_way[serial] = job
            numbered_lines = [
                ((serial, position), job.lines[position])
                for position in job.take(GROUP_SIZE - len(group), TURN_SIZE - size)
            ]
            size += sum(len(line) for _, line in numbered_lines) or 1
            if job.learn:
                group += numbered_lines
            else:
                self.watch.judge_only(numbered_lines)
            if job.taken < len(job.lines):
                self.jobs.put((serial, job))
        yield group
        for serial, job in list(self.under_way.items()):
            if job.taken == len(job.lines):
                del self.under_way[serial]
                job.done.set()

    def tell(self, pairs):
        """Store answers in their jobs; print records of learned periods."""
        for number, text in pairs:
            if number is None:
                tell([(None, text)])
            else:
                serial, position = number
                self.under_way[serial].answers[position] = text

    def refuse(self, pairs):
        """Store faults of lines as their answers."""
        for (serial, position), fault in pairs:
            answer = json.dumps({"line": position + 1, "error": fault})
            self.under_way[serial].answers[position] = answer
