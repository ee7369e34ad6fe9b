"""The score file of a timestep over ranks, written alone when they have ended, by who may see all agents' files."""

from odl import learners, novelty
from odl.distributed import coding
from odl.files import agentfiles
from odl.jobs import update
from odl.jobs.ranks import with_terms
from odl.jobs.runs import open_documents
from odl.learners.batches import InMemory


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
        before = with_terms(earlier.dictionary, earlier.terms, data, previous)
    before = learners.widen(before, n_rows=P.shape[1])
    best = coding.centralised(P, before, learner.model, tolerance=learner.tolerance)
    found = novelty.of(learner.network_scores(P, held.codes, value, best), P)
    batch = InMemory(P, found.codes)
    update.write_scores(score_file, data, batch, found, before, held.dictionary, run)
