"""Server of ``odl watch --http``: its threads read requests and wait; the watch answers in the main thread.

So documents of several clients share one write to the disk, and a slow client holds up nobody.
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
from odl.live.lines import WAIT, tell
from odl.live.openperiod import GROUP_SIZE
from odl.live.watch import follow

TOKEN = "ODL_TOKEN"  # variable of the environment
SHORTEST = 16  # characters of a token
THREADS, CONNECTIONS, PATIENCE = 32, 1000, 30  # seconds after which a connection on which nothing happens is closed
SWITCH = 0.0005  # seconds that a thread computes while another waits: documents do not wait for what is loaded aside
WAITING = 8 * GROUP_SIZE  # documents at most that wait to be answered, or that a request has
PIECE = 1 << 19  # bytes of documents that are answered before those of the next request have their turn
REQUEST_SIZE = 1 << 24  # bytes of a request
DRAIN = 1.5  # seconds that threads have to finish their requests after the watch has stored what it answered


def run(address, tolerance=0.0, by_clock=False, rate=math.inf):
    """Watch what comes by HTTP for the working folder until a signal ends it.

    Parameters
    ----------
    address : str
        As ``127.0.0.1:8080``.
    tolerance, by_clock
        As of `odl.live.watch.LiveWatch`.
    rate : float
        As of `odl.live.service.Service`.

    Raises
    ------
    ParameterError
        If the address or the rate is none, the extra is not installed, or there is no token where one is needed.
    BusyError
        If another watch has the folder.
    """
    try:
        import waitress

        from odl.live.service import LOOPBACK, Service
    except ModuleNotFoundError as error:
        todo = "type pip install 'online-dictionary-learning[http]'"
        raise ParameterError(f"--http, and {error.name} is not installed", "the extra http", todo) from error
    host, _, port = address.rpartition(":")
    host, token = host.strip("[]"), os.environ.get(TOKEN, "")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ParameterError(f"--http {address}", "an address and a port, such as 127.0.0.1:8080", "correct it")
    if len(token) < SHORTEST and (token or host not in LOOPBACK):
        given = f"--http {address}, and {TOKEN} has {len(token)} characters"
        todo = f"set the variable {TOKEN}, or listen on 127.0.0.1"
        raise ParameterError(given, f"a token of {SHORTEST} or more where others can connect", todo)
    if not rate > 0:
        raise ParameterError(f"--rate {rate:g}", "documents a second, more than 0", "correct it or leave it out")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, int(port)), family=family, backlog=CONNECTIONS)
    except OSError as error:
        given = f"--http {address} ({error.strerror})"
        raise ParameterError(given, "an address of this machine that nobody listens on", "take another") from error
    desk, limits = Desk(), {"threads": THREADS, "connection_limit": CONNECTIONS, "channel_timeout": PATIENCE}
    limits |= {"max_request_body_size": REQUEST_SIZE, "cleanup_interval": PATIENCE // 3, "asyncore_use_poll": True}
    server = waitress.create_server(Service(desk, token, rate), sockets=[listening], ident=None, **limits)
    print(f"odl watch: listens on port {listening.getsockname()[1]} of {host}", file=sys.stderr, flush=True)
    sys.setswitchinterval(SWITCH)
    logging.getLogger("waitress").setLevel(logging.ERROR)  # it warns of every short queue
    threading.Thread(target=server.run, daemon=True).start()
    try:
        follow(desk.groups, desk.tell, desk.refuse, place_of, tolerance, by_clock)
    except BaseException:
        desk.close()
        _finish_requests(server, PATIENCE)
        raise
    if not _finish_requests(server, DRAIN):
        # All that was answered is stored and printed. A thread still reads results; Python would end it inside HDF5,
        # whose lock it holds, and then wait for that lock for ever.
        os._exit(0)


def place_of(number):
    """Return the source of a document and its place there."""
    return "http", f"document {number[1] + 1} of a request" + time.strftime(", %Y-%m-%d %H:%M UTC", time.gmtime())


def _finish_requests(server, timeout):
    """Let the threads of a server end after their requests; return whether they have, and send their answers."""
    dispatcher = server.task_dispatcher
    dispatcher.shutdown(timeout=timeout)
    time.sleep(WAIT)  # answers are on their way
    return not dispatcher.threads


@dataclass
class Job:
    """Documents of a request.

    Attributes
    ----------
    lines : list of bytes
    learn : bool
        Whether they are accepted, or judged only.
    answers : list of str or None
        JSON of each line; None as long as there is none.
    taken : int
        Lines that were handed to the watch so far.
    done : threading.Event
    """

    lines: list
    learn: bool
    answers: list
    taken: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def take(self, n_lines, size):
        """Return the places of the next lines: at least one, and no more than a number of lines and of bytes."""
        first = self.taken
        while self.taken < len(self.lines) and self.taken - first < n_lines and (size > 0 or self.taken == first):
            size -= len(self.lines[self.taken])
            self.taken += 1
        return range(first, self.taken)


class Desk:
    """Where requests leave documents, and the watch takes them up; the source of `odl.live.watch.follow`."""

    def __init__(self):
        self.watch, self.ended, self.renew = None, False, False
        self.jobs, self.under_way, self.serial = queue.SimpleQueue(), {}, count()
        self.most, self.waiting, self.alone = WAITING, 0, threading.Lock()

    def ask(self, lines, learn):
        """Return the answers to lines, in a thread of the server; None where too many wait, or the watch ends.

        Parameters
        ----------
        lines : list of bytes
        learn : bool
            Whether they are accepted, or judged only.
        """
        with self.alone:
            if self.ended or (self.waiting and self.waiting + len(lines) > WAITING):
                return None
            self.waiting += len(lines)
            job = Job(lines, learn, [None] * len(lines))
            self.jobs.put((next(self.serial), job))
        job.done.wait()
        with self.alone:
            self.waiting -= len(lines)
        return None if None in job.answers else job.answers

    def groups(self, watch, ended):
        """Yield (number, line) of what has come; nothing now and then, while nothing comes."""
        self.watch = watch
        gc.freeze()  # a full collection looks at all that is loaded, for 25 ms and more in which nobody is answered
        try:
            while not ended():
                if self.renew:
                    self.renew = False
                    watch.learn()
                yield from self._next()
        finally:
            self.close()

    def close(self):
        """Take no more documents, and let those who wait know that there is no answer."""
        with self.alone:
            self.ended = True
        for job in [*self.under_way.values(), *(self.jobs.get()[1] for _ in range(self.jobs.qsize()))]:
            job.done.set()

    def _next(self):
        """Yield a group of the documents that wait, and let those who sent them know; requests take turns."""
        group, size = [], 0
        while len(group) < GROUP_SIZE and size < PIECE:
            try:
                serial, job = self.jobs.get(timeout=0 if size else WAIT)
            except queue.Empty:
                break
            self.under_way[serial] = job
            piece = [((serial, place), job.lines[place]) for place in job.take(GROUP_SIZE - len(group), PIECE - size)]
            size += sum(len(line) for _, line in piece) or 1
            if job.learn:
                group += piece
            else:
                self.watch.judge_only(piece)
            if job.taken < len(job.lines):
                self.jobs.put((serial, job))
        yield group
        for serial in [serial for serial, job in self.under_way.items() if job.taken == len(job.lines)]:
            self.under_way.pop(serial).done.set()

    def tell(self, pairs):
        """Take answers; records of periods go to standard output."""
        for number, text in pairs:
            if number is None:
                tell([(None, text)])
            else:
                serial, place = number
                self.under_way[serial].answers[place] = text

    def refuse(self, pairs):
        """Take what is wrong with lines."""
        self.tell([(number, json.dumps({"line": number[1] + 1, "error": fault})) for number, fault in pairs])
