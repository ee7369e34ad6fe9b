"""Work on several cores by processes that are forked for it, and ended with us."""

import contextlib
import os
import signal


def each(function, tasks, cores):
    """Call a function with each of some tasks, in at most `cores` processes.

    What a process raises stays in it: who calls looks at what was done, and does the rest.

    Parameters
    ----------
    function : callable
    tasks : list of tuple
    cores : int
    """
    children = []
    try:
        for first in range(min(cores, len(tasks))):
            child = os.fork()
            if child == 0:
                _work(function, tasks[first::cores])
            children.append(child)
        while children:
            os.waitpid(children[0], 0)
            children.pop(0)
    finally:
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)


def _work(function, tasks):
    """Do tasks in a process that was forked, and end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who forked us hears it, and ends us
    status = 1
    with contextlib.suppress(BaseException):
        for task in tasks:
            function(*task)
        status = 0
    os._exit(status)


def cores():
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
