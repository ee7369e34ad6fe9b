"""One timestep of a learner on MPI ranks: each rank updates some agents.

One process then collects the scores (`collect`).

Ranks read the same features and settings from one file system. They exchange dual variables, costs
and counters (`odl.distributed.messages`). Atoms and codes are written to the files of the rank's
own agents.
"""

import contextlib
import os
import time
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import learners, novelty
from odl.distributed import coding, messages
from odl.distributed.messages import together
from odl.errors import ParameterError
from odl.files import agentfiles, checkpoints, storage
from odl.jobs import update
from odl.jobs.runs import check_previous, open_documents, places_of
from odl.learners.base import DICTIONARY
from odl.learners.sparse_atoms import renumber_terms
from odl.stream import features


class Share(NamedTuple):
    """Inputs of a rank for one timestep: all documents, and the atoms of its own agents.

    Attributes
    ----------
    data : odl.stream.features.FeatureFile
    P : csr_array
        Weighted documents of the timestep.
    agents : odl.distributed.messages.Agents
        Agents that run on this rank, with their atoms.
    updates : int
        Number of dictionary updates before this timestep.
    previous, features : str
        Digest of the previous checkpoint, and digest of the features.
    """

    data: features.FeatureFile
    P: sparse.csr_array
    agents: messages.Agents
    updates: int
    previous: str
    features: str


def prepare(comm, source, *, run, previous=None, corpus_features=None):
    """Read the documents of a timestep and the atoms of this rank's agents.

    The previous checkpoint has a file for each agent. Only those of the rank's agents are read.

    Returns
    -------
    Share

    Raises
    ------
    OdlError
        If an input is invalid, or the learner cannot run on ranks.
    """
    learner = run.learner
    if not learner.over_ranks:
        todo = "set algorithm: diffusion, or run without ranks"
        raise ParameterError(f"the algorithm '{learner.algorithm}' over ranks", "'diffusion'", todo)
    step = open_documents(source, run, corpus_features)
    data, P = step.data, step.P[:]
    check_previous(data.t, previous)
    owner, network = learner.agents_of(run.atoms)
    if learner.central(network):
        defect = f"solver '{learner.solver}' on the network '{learner.network}' over ranks"
        todo = "set solver: diffusion, or run without ranks"
        raise ParameterError(defect, "a solver for which no rank needs all atoms", todo)
    among = messages.Ranks(comm, network)
    is_own = np.isin(owner, among.agents)
    if previous is None:
        A = learner.first_atoms(P, run.atoms, novelty.generator(run.seed, "start"))[:, is_own]
        updates, digest = 0, checkpoints.NO_DIGEST
    else:
        A, updates, digest, earlier = _read_own(
            previous, run.chain, data.t - 1, among.agents, is_own
        )
        A = with_terms(A, earlier, data, previous)
    A = learners.widen(sparse.csc_array(A), n_rows=P.shape[1])
    agents = messages.Agents(among, learner.model, owner, A, **learner.diffusion)
    return Share(data, P, agents, updates, digest, storage.digest_of(source, "features"))


def _read_own(previous, chain, t, agents, is_own):
    """Read (atoms of these agents, updates, digest, ids of terms) from the previous checkpoint."""
    if not agentfiles.of_network(previous):  # one process had all the atoms
        earlier = checkpoints.read_checkpoint(previous, chain, t)
        return earlier.dictionary[:, is_own], earlier.updates, earlier.digest, earlier.terms
    earlier = agentfiles.read_network(previous, chain, t)
    blocks = [agentfiles.read_agent(previous, agent, earlier)[0] for agent in agents]
    return sparse.hstack(blocks, format="csc"), earlier.updates, earlier.digest, earlier.terms


def with_terms(A, earlier, data, previous):
    """Return atoms whose rows are moved from the terms of `earlier` to those of a timestep."""
    positions = places_of(earlier, data.terms, previous)
    if positions is None:
        return A
    return renumber_terms(sparse.csc_array(A), DICTIONARY.shape, positions, data.counts.shape[1])


def work(comm, source, state, timings, *, run, previous=None, corpus_features=None):
    """Score one timestep and learn from it over the ranks of `comm`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    source, run, previous, corpus_features
        As in `odl.jobs.update.update`.
    state, timings : path-like
        Files to write: checkpoint (`odl.files.agentfiles`) and CPU seconds of all ranks.

    Raises
    ------
    Agreed
        If a rank failed; all ranks raise it together.
    """
    begin = time.process_time()
    inputs = {"run": run, "previous": previous, "corpus_features": corpus_features}
    share = together(comm, lambda: prepare(comm, source, **inputs))
    P, learner, agents = share.P, run.learner, share.agents
    start = time.process_time()
    for _ in range(0 if previous else learner.rounds):
        agents.learn(P, learner.mu_w)
    started = time.process_time()
    inferred = agents.infer(P)
    scored = time.process_time()
    dual = {
        "value": -agents.ranks.gather(inferred.costs).T.sum(axis=1),
        "iterations": inferred.iterations,
    }
    if previous:
        agents.learn(P, learner.mu_w)
    learned = time.process_time()
    _write(comm, state, share, run, inferred, dual)
    phases = {"start": started - start, "score": scored - started, "learn": learned - scored}
    phases["job"] = time.process_time() - begin
    *seconds, sent = agents.ranks.add_up([*phases.values(), agents.ranks.sent]).tolist()
    totals = dict(zip(phases, seconds, strict=True))
    together(comm, lambda: _finish(agents.ranks, timings, totals, sent, inferred))


def _write(comm, state, share, run, inferred, dual):
    """Write the checkpoint of a timestep, together with the other ranks.

    Rank 0 deletes the old checkpoint, each rank writes the files of its own agents, and rank 0 then
    writes the file that names the files of all agents.
    """
    among, P, data = share.agents.ranks, share.P, share.data
    first = comm.Get_rank() == 0
    updates = share.updates + (data.t > 0)
    A, position_of = share.agents.dictionary(), share.agents.owner - share.agents.ranks.agents[0]

    def forget():
        if first:
            # The file names files of agents, which are overwritten below.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(state)

    def write_own():
        digests = []
        for position, agent in enumerate(among.agents.tolist()):
            own_atoms = np.flatnonzero(position_of == position)
            codes = sparse.csr_array(inferred.codes[:, own_atoms])
            links = {"previous": share.previous, "features": share.features}
            checkpoint = checkpoints.Checkpoint(
                t=data.t,
                chain=run.chain,
                dictionary=A[:, own_atoms],
                arrays={},
                updates=updates,
                codes=codes,
                uncoded=0.0,
                **links,
            )
            digests.append(agentfiles.write_agent(state, agent, checkpoint))
        return digests

    def write_network(digests):
        if first:
            score = np.where(
                np.diff(P.indptr) == 0, novelty.EMPTY_SCORE, dual["value"] * run.learner.scale(P)
            )
            links = {"previous": share.previous, "features": share.features, "terms": data.terms}
            checkpoint = agentfiles.NetworkCheckpoint(
                t=data.t,
                chain=run.chain,
                updates=updates,
                n_atoms=run.atoms,
                score=score,
                dual=dual,
                digests=digests,
                **links,
            )
            agentfiles.write_network(state, checkpoint)

    together(comm, forget)
    digests = among.gather_digests(together(comm, write_own))
    together(comm, lambda: write_network(digests))


def _finish(among, timings, phases, sent, inferred):
    """Write the timings and print a summary, on rank 0."""
    if among.rank == 0:
        update.write_timings(timings, phases, len(inferred.iterations))
        rounds = float(np.mean(inferred.iterations)) if len(inferred.iterations) else 0.0
        print(
            f"odl rank: {among.size} ranks, {len(inferred.iterations)} documents, "
            f"{rounds:.1f} iterations per document, {int(sent)} bytes sent",
            flush=True,
        )


def collect(source, state, score_file, *, run, previous=None, corpus_features=None):
    """Write the score file of a timestep from the files of all ranks.

    Parameters
    ----------
    source, run, previous, corpus_features
        As in `odl.jobs.update.update`.
    state : path-like
        Checkpoint that the ranks have written.
    score_file : path-like
        File to write.
    """
    learner, step = run.learner, open_documents(source, run, corpus_features)
    data, P = step.data, step.P[:]
    checkpoint = agentfiles.read_whole(state, run.chain, data.t)
    value = agentfiles.read_network(state).dual["value"]
    before = checkpoint.dictionary
    if previous:
        earlier = agentfiles.read_whole(previous, run.chain, data.t - 1)
        before = with_terms(earlier.dictionary, earlier.terms, data, previous)
    before = learners.widen(before, n_rows=P.shape[1])
    optimum = coding.centralised(P, before, learner.model, tolerance=learner.tolerance)
    scored = novelty.from_scores(learner.network_scores(P, checkpoint.codes, value, optimum), P)
    update.write_scores(score_file, data, P, scored, before, checkpoint.dictionary, run)
