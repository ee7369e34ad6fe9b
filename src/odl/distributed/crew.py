"""Which of MPI's ranks hold agents, how the others wait for them, and how all agree to go on or to stop.

Ranks that share a core wait at every exchange for the kernel to change between them, which takes longer than what they
do. So on each host as many ranks hold agents as there are cores for them, and the others sleep until these have ended.
This module imports the standard library and mpi4py only: a rank that holds nothing starts with little else.
"""

import os
import sys
import time
import traceback

from odl.errors import OdlError, ParameterError

INSTALL = "pip install 'online-dictionary-learning[mpi]'"
POLLS, PAUSE = 20, 1e-5  # looks before a rank sleeps between them, seconds that it sleeps at least
SHARE, LONGEST = 0.05, 0.01  # of the time waited so far that it sleeps, seconds at most


class Agreed(Exception):
    """All ranks stop here, in order; one of them says why."""


def world(asked=None):
    """Return MPI's communicator of all ranks.

    Parameters
    ----------
    asked : int, optional
        How many ranks there have to be.

    Raises
    ------
    ParameterError
        If mpi4py is missing or the launcher started another number of ranks.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        given = f"mpi4py cannot be used ({' '.join(str(error).split())[:100]})"
        raise ParameterError(given, "mpi4py and an MPI library", INSTALL) from error
    comm = MPI.COMM_WORLD
    if asked is not None and comm.Get_size() != asked:
        given = f"{comm.Get_size()} rank{'s' * (comm.Get_size() > 1)} where {asked} were asked for"
        todo = f"start them by 'mpiexec -n {asked}', under Slurm by 'srun --mpi=pmi2 -n {asked}'"
        raise ParameterError(given, f"a launcher that starts {asked}", todo)
    return comm


def wait(done):
    """Return when `done()`; other processes may have the core meanwhile.

    MPI's own waiting keeps the core busy: with more ranks than free cores that is 25 times slower. Who has waited long
    looks rarely.
    """
    tries, began = 0, time.monotonic()
    while not done():
        tries += 1
        if tries > POLLS:
            time.sleep(min(max(PAUSE, SHARE * (time.monotonic() - began)), LONGEST))


def together(comm, function):
    """Call a function on every rank; if it refuses on any, all stop, and only the first such rank has the reason.

    Raises
    ------
    Agreed
    """
    result, failed = None, None
    try:
        result = function()
    except (OdlError, OSError) as error:
        failed = error
    flags = _tell(comm, failed is not None)
    if any(flags):
        raise Agreed() from (failed if flags.index(1) == comm.Get_rank() else None)
    return result


def _tell(comm, failed):
    """Tell all ranks whether this one has failed; return what each of them tells."""
    flags = bytearray(comm.Get_size())
    wait(comm.Iallgather(bytes([failed]), flags).Test)
    return flags


def cores():
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def working(hosts, allowed):
    """Return the ranks that hold agents, ascending: a core for each, and at least two, so that none holds all atoms.

    Parameters
    ----------
    hosts : sequence
        Host of each rank.
    allowed : sequence of sequence of int
        Cores that it may use, one or more: all of its host, or those that its launcher has bound it to.
    """
    taken, found = set(), []
    # Who is bound to few cores chooses first.
    for rank in sorted(range(len(hosts)), key=lambda rank: len(allowed[rank])):
        free = [core for core in allowed[rank] if (hosts[rank], core) not in taken]
        if free:
            taken.add((hosts[rank], free[0]))
            found.append(rank)
    others = [rank for rank in range(len(hosts)) if rank not in found]
    return sorted(found + others[: max(0, 2 - len(found))])


def deal(comm):
    """Return the communicator of the ranks that hold agents, or None on a rank that does not."""
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    told = comm.allgather((here.bcast(comm.Get_rank()), cores()))
    here.Free()
    held = comm.Get_rank() in working(*zip(*told, strict=True))
    among = comm.Split(0 if held else MPI.UNDEFINED, comm.Get_rank())
    return among if held else None


def take_part(asked, work):
    """Be one of the ranks of COMM_WORLD; return the exit status. No rank waits for one that has failed.

    Parameters
    ----------
    asked : int or None
        How many there have to be.
    work : callable
        Called, where this rank holds agents, with the communicator of those that do. They stop in order by `Agreed`.
    """
    comm, stopped, failed = world(asked), None, True
    try:
        among = deal(comm)
        try:
            if among is not None:
                work(among)
        except Agreed as agreed:
            stopped = agreed
        failed = any(_tell(comm, stopped is not None))
    except BaseException as error:
        if not isinstance(error, SystemExit | KeyboardInterrupt):
            traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    if stopped and stopped.__cause__:
        print(f"odl rank: {stopped.__cause__}", file=sys.stderr, flush=True)
    return int(failed)
