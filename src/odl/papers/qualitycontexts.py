"""The context of a batch, as learners have it, for the scores of other methods."""

from odl import learners
from odl.learners.adaptive import in_context
from odl.learners.peers import in_order


def _as_adaptive(P, scores, learner):
    return sum(in_context(P, scores, learner["contrast"], learner["context"], learner["peers"]))


def _as_levels(P, scores, learner):
    return in_order(P, scores, learner["context"], learner["peers"])


JUDGES = {"adaptive": _as_adaptive, "levels": _as_levels}


def in_batch(learner):
    """Tell whether the scores of a learner, given as its settings, depend on the batch."""
    return learners.make(**learner).in_batch


def contexts(chosen, runs):
    """Return algorithm to learner of the last of these runs of it that look at the batch."""
    found = (chosen[run]["learner"] for run in runs)
    return {learner["algorithm"]: learner for learner in found if in_batch(learner)}


def judged(held, contexts, name, scores, alike=None):
    """Judge the scores of timesteps in the context of their batches, as learners do it with their own.

    Parameters
    ----------
    held : odl.papers.qualitystream.Stream
    contexts : dict
        As `contexts`.
    name : str
        Of the method.
    scores : dict of int to ndarray
    alike : dict of int to csr_array, optional
        Rows by which documents are alike; otherwise it is their words.

    Returns
    -------
    dict of str to dict of int to ndarray
        Of each context: name to timestep to scores.
    """
    return {
        f"{name}-{algorithm}-context": {
            t: JUDGES[algorithm]((alike or {}).get(t, held.P(t)), values, learner) for t, values in scores.items()
        }
        for algorithm, learner in contexts.items()
    }
