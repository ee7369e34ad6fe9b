"""Compiled passing of messages between processes that share memory and semaphores (Linux).

Memory is an array of floats in parts, one for each rank that writes and each that reads. A part is a semaphore, the
lengths of two messages, how many have been written and read (each touched by one rank only), and the two messages,
each of up to `longest` floats. Two are enough because two ranks always tell each other something in turn, one message
each: a third is not written before an answer to the first has come.
"""

import numpy as np
from numba import types

from odl.kernels.compiled import called, kernel
from odl.kernels.shared import SLOTS

SEMAPHORE = 8  # floats kept for a sem_t, which takes 4 on Linux
WRITTEN, READ = SEMAPHORE + 2, SEMAPHORE + 3  # places in a part, of `SLOTS` before the messages
TOO_LONG = -1.0
TURNS = 30_000  # nanoseconds in which a rank that waits yields the core before it sleeps
PAUSE = 20  # waits that it sleeps at once after one in which that was in vain

_number, _address = types.int32, types.intp
_start = types.ExternalFunction("sem_init", _number(_address, _number, types.uint32))
_post = types.ExternalFunction("sem_post", _number(_address))
_try = types.ExternalFunction("sem_trywait", _number(_address))
_wait = types.ExternalFunction("sem_timedwait", _number(_address, _address))
_yield = types.ExternalFunction("sched_yield", _number())
_clock = types.ExternalFunction("clock_gettime", _number(_number, _address))


@called("d[] l -> ?")
@kernel
def start(memory, at):
    """Make the semaphore of a part; return whether the system has it."""
    return _start(memory.ctypes.data + 8 * at, np.int32(1), np.uint32(0)) == 0


@called("d[] l l d[] -> ?")
@kernel
def put(memory, at, longest, message):
    """Write a message into a part and wake who waits for it; return whether it had room."""
    turn = int(memory[at + WRITTEN]) % 2
    memory[at + WRITTEN] += 1.0
    fits = len(message) <= longest
    memory[at + SEMAPHORE + turn] = len(message) if fits else TOO_LONG
    if fits:
        first = at + SLOTS + turn * longest
        for place in range(len(message)):
            memory[first + place] = message[place]
    _post(memory.ctypes.data + 8 * at)
    return fits


@kernel
def _now(moment):
    _clock(np.int32(1), moment.ctypes.data)
    return moment[0] * 1_000_000_000 + moment[1]


@called("d[] l l[] -> ?")
@kernel
def await_message(memory, at, moment):
    """Wait until a part has a message; return False after a second or a signal, so that Python can look at it.

    To be woken costs more than to yield the core, so a rank yields first: once where ranks share cores
    (``moment[3]``), else until others have had the core so long that it was in vain (``moment[2]`` waits without).
    """
    semaphore = memory.ctypes.data + 8 * at
    if _try(semaphore) == 0:
        return True
    if moment[3]:
        _yield()
        if _try(semaphore) == 0:
            return True
    elif moment[2] > 0:
        moment[2] -= 1
    else:
        begin, came = _now(moment), False
        while not came and moment[2] == 0:
            _yield()
            came = _try(semaphore) == 0
            if _now(moment) - begin > TURNS:
                moment[2] = PAUSE
        if came:
            return True
    _clock(np.int32(0), moment.ctypes.data)
    moment[0] += 1
    return _wait(semaphore, moment.ctypes.data) == 0


@called("d[] l l -> (l l)")
@kernel
def span(memory, at, longest):
    """Return where the message lies that was awaited, and its length."""
    turn = int(memory[at + READ]) % 2
    memory[at + READ] += 1.0
    return at + SLOTS + turn * longest, int(memory[at + SEMAPHORE + turn])


@called("l[] WINDOW l[] d[] d[] -> ?")
@kernel
def gather(state, window, starts, mine, everyone):
    """Tell all other ranks some numbers and place theirs from ``starts[rank]`` on. Returns whether all were heard.

    ``state`` is the rank that is listened to (-1: none was told); a call that was interrupted is made once more.
    """
    memory, longest, moment, out, into = window
    if state[0] < 0:
        for rank in range(len(out)):
            if out[rank] >= 0:
                put(memory, out[rank], longest, mine)
        state[0] = 0
    while state[0] < len(into):
        rank = state[0]
        source, first = mine, 0
        if into[rank] >= 0:
            if not await_message(memory, into[rank], moment):
                return False
            first, _ = span(memory, into[rank], longest)
            source = memory
        for place in range(starts[rank + 1] - starts[rank]):
            everyone[starts[rank] + place] = source[first + place]
        state[0] += 1
    return True
