"""One job of a learner over MPI ranks: `launch` starts them, `work` is what each does, `collect` the scores after.

Ranks share the features, the settings and the file system. They tell each other dual variables, costs and counters
(`odl.distributed.ranks`); atoms and codes go to the own agents' files only. `collect` runs alone when they have
ended: it reads the agents' files for whoever may see them all, and writes the same score file as one process does.
"""

import contextlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
import traceback
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import learners, novelty
from odl.distributed import coding, messages, ranks, span_ranks, windows
from odl.errors import DataError, OdlError, ParameterError
from odl.files import agentfiles, checkpoints, storage
from odl.jobs import update
from odl.jobs.runs import check_previous, open_documents, places_of
from odl.learners.batches import InMemory
from odl.learners.kept import DICTIONARY
from odl.learners.matrices import moved
from odl.stream import features

SIGNALS = (9, 11, 15, 137, 139, 143)  # statuses of launchers: 9 and 11 from mpiexec, 128 more from srun
BANNER = "=" * 20  # of mpiexec, where a rank was killed: replaced by one sentence
ALLOCATED = ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE", "HYDRA_HOST_FILE")  # may be several hosts


class Agreed(Exception):
    """All ranks stop here, in order; one of them says why."""


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
    flags = np.zeros(comm.Get_size(), dtype=np.int64)
    mine = np.array([failed is not None], dtype=np.int64)
    messages.wait(comm.Iallgather(mine, flags).Test)
    if flags.any():
        raise Agreed() from (failed if np.argmax(flags) == comm.Get_rank() else None)
    return result


class Share(NamedTuple):
    """What a rank works on: features, weighed documents, its agents, and the chain so far."""

    data: features.Features
    P: sparse.csr_array
    agents: ranks.Agents
    updates: int
    previous: str
    features: str


def check_over_ranks(learner):
    """Refuse a learner without agents."""
    if not learner.over_ranks:
        todo = "choose it, or run without ranks"
        raise ParameterError(f"the algorithm '{learner.algorithm}' over ranks", "'diffusion'", todo)


def prepare(comm, source, *, run, previous=None, corpus_features=None):
    """Read what a rank needs, of the checkpoint before only its own agents' files.

    Returns
    -------
    Share

    Raises
    ------
    OdlError
        If an input is refused, or the run cannot go over ranks.
    """
    learner = run.learner
    check_over_ranks(learner)
    step = open_documents(source, run, corpus_features)
    data, P = step.data, step.P[:]
    check_previous(data.t, previous)
    owner, network = learner.agents_of(run.atoms)
    if learner.central(network):
        given = f"solver '{learner.solver}' on the network '{learner.network}' over ranks"
        todo = "set solver: diffusion, or run without ranks"
        raise ParameterError(given, "diffusion: no rank may see all atoms", todo)
    among = messages.Ranks(comm, network)
    own = np.isin(owner, among.agents)
    if previous is None:
        A = learner.first_atoms(P, run.atoms, novelty.generator(run.seed, "start"))[:, own]
        updates, digest = 0, checkpoints.FIRST
    else:
        A, updates, digest, held = _read_own(previous, run.chain, data.t - 1, among.agents, own)
        A = _with_terms(A, held, data, previous)
    A = learners.widen(sparse.csc_array(A), n_rows=P.shape[1])
    agents = span_ranks.agents_of(among, learner.model, owner, A, **learner.diffusion)
    return Share(data, P, agents, updates, digest, storage.digest_of(source, "features"))


def _read_own(previous, chain, t, agents, own):
    """Return (own atoms, updates, digest, ids of terms) of the checkpoint before."""
    if not agentfiles.of_network(previous):  # one process had all the atoms
        held = checkpoints.read_checkpoint(previous, chain, t)
        return held.dictionary[:, own], held.updates, held.digest, held.terms
    held = agentfiles.read_network(previous, chain, t)
    blocks = [agentfiles.read_agent(previous, agent, held)[0] for agent in agents]
    return sparse.hstack(blocks, format="csc"), held.updates, held.digest, held.terms


def _with_terms(A, held, data, previous):
    """Return atoms of the checkpoint before under the terms of a timestep with a bound on them."""
    places = places_of(held, data, previous)
    if places is None:
        return A
    if len(places) != A.shape[0]:
        raise DataError(f"{previous} names {len(places)} terms and has {A.shape[0]}", "one file", f"delete {previous}")
    return moved(sparse.csc_array(A), DICTIONARY.shape, places, data.counts.shape[1])


def work(comm, source, state, timings, *, run, previous=None, corpus_features=None):
    """Score one timestep and learn from it over the ranks of `comm`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    source, run, previous, corpus_features
        As in `odl.jobs.update.update`.
    state, timings : path-like
        Written: the checkpoint (`odl.files.agentfiles`) and CPU seconds over all ranks.

    Raises
    ------
    Agreed
    """
    begin = time.process_time()
    share = together(comm, lambda: prepare(comm, source, run=run, previous=previous, corpus_features=corpus_features))
    P, learner, agents = share.P, run.learner, share.agents
    start = time.process_time()
    for _ in range(0 if previous else learner.rounds):
        agents.learn(P, learner.mu_w)
    started = time.process_time()
    found = agents.infer(P)
    scored = time.process_time()
    dual = summarise(agents.ranks, found, learner.score_iterations)
    if previous:
        agents.learn(P, learner.mu_w)
    learned = time.process_time()
    _write(comm, state, share, run, found, dual)
    phases = {"start": started - start, "score": scored - started, "learn": learned - scored}
    phases["job"] = time.process_time() - begin
    totals = agents.ranks.add_up([*phases.values(), agents.ranks.sent]).tolist()
    together(
        comm,
        lambda: _finish(
            comm, timings, dict(zip(phases, totals, strict=False)), totals[-1], agents.ranks.exchanges, found
        ),
    )


def summarise(among, found, score_iterations):
    """Return the dual summary of a batch: value (the scores that the network finds), norm, iterations."""
    costs, norms = among.gather(found.costs), among.gather(found.norms)
    value = -costs.T.sum(axis=1)
    if score_iterations:
        value = among.gather(among.average(found.costs, score_iterations))[0]  # as agent 0 has it
    return {"value": value, "norm": np.sqrt(norms.mean(axis=0)), "iterations": found.iterations}


def _write(comm, state, share, run, found, dual):
    """Write the own agents' files, then, on one rank, the file that makes them a checkpoint."""
    among, P, data = share.agents.ranks, share.P, share.data
    first = comm.Get_rank() == 0
    updates = share.updates + (data.t > 0)
    A, own = share.agents.dictionary(), share.agents.own

    def forget():
        if first:
            with contextlib.suppress(FileNotFoundError):  # it would name other agents' files
                os.unlink(state)

    def write_own():
        made = []
        for position, agent in enumerate(among.agents.tolist()):
            mine = np.flatnonzero(own == position)
            codes = sparse.csr_array(found.codes[:, mine])
            links = {"previous": share.previous, "features": share.features}
            held = checkpoints.Checkpoint(data.t, run.chain, A[:, mine], {}, updates, codes, 0.0, **links)
            made.append(agentfiles.write_agent(state, agent, held))
        return made

    def write_network(digests):
        if first:
            score = np.where(np.diff(P.indptr) == 0, novelty.EMPTY_SCORE, dual["value"] * run.learner.scale(P))
            links = {"previous": share.previous, "features": share.features, "terms": data.terms}
            held = agentfiles.Network(data.t, run.chain, updates, run.atoms, score, dual, digests, **links)
            agentfiles.write_network(state, held)

    together(comm, forget)
    digests = among.gather_digests(together(comm, write_own))
    together(comm, lambda: write_network(digests))


def _finish(comm, timings, phases, sent, exchanges, found):
    if comm.Get_rank() == 0:
        update.write_timings(timings, phases, len(found.iterations))
        rounds = float(np.mean(found.iterations)) if len(found.iterations) else 0.0
        print(
            f"odl rank: {comm.Get_size()} ranks, {len(found.iterations)} documents, {rounds:.1f} iterations for "
            f"the score of one, {int(sent)} bytes sent, {exchanges} exchanges",
            flush=True,
        )


def rank(asked, *arguments, **options):
    """Run `work` on this rank of COMM_WORLD; return the exit status. No rank waits for one that has failed."""
    comm = messages.world(asked)
    try:
        work(comm, *arguments, **options)
    except Agreed as stopped:
        if stopped.__cause__:
            print(f"odl rank: {stopped.__cause__}", file=sys.stderr, flush=True)
        return 1
    except BaseException as error:
        if not isinstance(error, SystemExit | KeyboardInterrupt):
            traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    return 0


def started(n_ranks, launcher):
    """Return how many ranks to start: those asked for, or on a host of fewer cores as many as these, at least two.

    An exchange of ranks that share a core costs several times one of ranks that do not, and files are the same bytes
    for every number. Two stay apart, so that none holds all atoms. A launcher with options of its own (hosts, binding)
    and one inside a cluster's job start what was asked for.

    Parameters
    ----------
    n_ranks : int
    launcher : list of str
        The launcher's name and options.
    """
    named = os.path.basename(launcher[0])
    if len(launcher) > 1 or named not in ("mpiexec", "mpirun") or any(name in os.environ for name in ALLOCATED):
        return n_ranks
    cores = max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2)
    if n_ranks > cores:
        print(f"odl step ranks: {cores} ranks in place of {n_ranks}, as many as cores; the files are the same")
    return min(n_ranks, cores)


def launch(words, n_ranks, launcher, state):
    """Start ``odl step rank`` on ranks and wait for them; what they print is passed on.

    Parameters
    ----------
    words : list of str
        Arguments of ``odl step rank``.
    n_ranks : int
        Ranks asked for; `started` says how many there are.
    launcher : str
        ``mpiexec``, ``srun --mpi=pmi2`` ...; ``-n RANKS`` is appended.
    state : path-like
        The checkpoint they are to write.

    Raises
    ------
    ParameterError
        If the launcher is not there or a rank died.
    """
    start = shlex.split(launcher)
    if len(start) == 1:
        start = shlex.split(start[0])  # Snakemake hands on the quotes of a resource with spaces
    folder = os.path.dirname(sys.executable)
    found = shutil.which(start[0], path=folder + os.pathsep + os.environ.get("PATH", os.defpath)) if start else None
    if not found:
        given = f"the launcher '{launcher}', which is not there"
        raise ParameterError(given, "one such as mpiexec", f"{messages.INSTALL}, or name it")
    n_ranks = started(n_ranks, start)
    command = [found, *start[1:], "-n", str(n_ranks), sys.executable, "-m", "odl", "step", "rank", str(n_ranks), *words]
    # Ranks on this host end with this process, as this one ends with the workflow.
    environment = {**os.environ, "ODL_PARENT": str(os.getpid()), "ODL_HOST": platform.node()}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    refused, banner = False, False
    try:
        for line in process.stdout:
            refused |= line.startswith("odl rank: ") and "; expected " in line
            banner |= line.startswith(BANNER)
            if not banner:
                sys.stdout.write(line)
                sys.stdout.flush()
        status = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if refused:
        raise SystemExit(1)
    if status:
        killed = -status if status < 0 else status % 128 if status in SIGNALS else 0
        given = f"a rank ended {f'by signal {killed}' if killed else f'with status {status}'}, the others were stopped"
        todo = f"{os.fspath(state)} was not written and the one before is whole, so run the same command again"
        raise ParameterError(given, f"{n_ranks} ranks that reach the end", todo)


def collect(source, state, score_file, *, run, previous=None, corpus_features=None):
    """Write the score file of a timestep that ranks have worked on, as one process would have.

    Parameters
    ----------
    source, run, previous, corpus_features
        As in `odl.jobs.update.update`.
    state : path-like
        The checkpoint that the ranks have written.
    score_file : path-like
        Written.
    """
    learner, step = run.learner, open_documents(source, run, corpus_features)
    data, P = step.data, step.P[:]
    held = agentfiles.read_whole(state, run.chain, data.t)
    value = agentfiles.read_network(state).dual["value"]
    before = held.dictionary
    if previous:
        earlier = agentfiles.read_whole(previous, run.chain, data.t - 1)
        before = _with_terms(earlier.dictionary, earlier.terms, data, previous)
    before = learners.widen(before, n_rows=P.shape[1])
    best = coding.centralised(P, before, learner.model, tolerance=learner.tolerance)
    found = novelty.of(learner.network_scores(P, held.codes, value, best), P)
    batch = InMemory(P, found.codes)
    update.write_scores(score_file, data, batch, found, before, held.dictionary, run)


def warm_up():
    """Compile the kernels of a rank and of `collect` once, before ranks start side by side."""
    update.warm_up("diffusion")
    learner = learners.make("diffusion", network="ring", iterations=ranks.CHECK)
    rng = np.random.default_rng(0)
    P = sparse.csr_array(rng.random((3, 6)))
    owner, network = learner.agents_of(2)
    among = messages.Ranks(messages.Alone(), network)
    for kind in (ranks.Agents, span_ranks.SpanAgents):
        agents = kind(among, learner.model, owner, sparse.csc_array(P[:2].T), **learner.diffusion)
        agents.infer(P)
        agents.learn(P, learner.mu_w)
        agents.warm_up()
    windows.warm_up()
