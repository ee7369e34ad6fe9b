"""
Your own learner in one file
============================

A learner is a frozen dataclass with its settings and the functions it wants to change. Here the
step of a projected gradient shrinks with the number of updates, which takes one method of four
lines. Saved as ``src/odl/learners/shrinking_gradient.py`` it is a learner of the workflow and of
:class:`odl.NoveltyDetector` too. Low scores mean that a batch was explained by those before it: the
constant step overshoots.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse

from odl import learners, novelty
from odl.learners.l1_objective import SubgradientLearner
from odl.prox.projections import project_columns

# %%
# The update: a step against the subgradient G of the batch, then each atom back to mass at most 1.


@dataclass(frozen=True)
class ShrinkingGradient(SubgradientLearner):
    """A_{t+1} = Proj(A_t - eta / t G_t)."""

    eta: float = 11.0

    algorithm: ClassVar[str] = "shrinking_gradient"

    def update(self, state, statistics):
        """Step against the subgradient and project."""
        updates = state.updates + 1
        dictionary = project_columns(
            sparse.csc_array(state.dictionary - self.eta / updates * statistics)
        )
        return replace(state, dictionary=dictionary, updates=updates)


# %%
# A stream of twelve topics in thirty batches; the first batch has six of them.

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(200, 0.05), 12)


def batch(t):
    counts = rng.poisson(50 * topics[rng.integers(6 if t == 0 else 12, size=60)])
    return sparse.csr_array(counts / counts.sum(axis=1, keepdims=True))


stream = [batch(t) for t in range(30)]

# %%
# Each batch is scored by the dictionary of those before it, then learned.


def mean_scores(learner):
    state, means = learner.start(stream[0], 12, np.random.default_rng(0)), []
    for P in stream[1:]:
        found = novelty.score(learner, state, P)
        means.append(found.score.mean())
        state = learner.learn(state, P, found.codes)
    return means


fig, ax = plt.subplots(figsize=(7, 4))
constant = learners.make("projected_gradient", eta=0.3)
for learner, name in (
    (constant, "projected_gradient, constant step"),
    (ShrinkingGradient(eta=0.3), "shrinking_gradient"),
):
    ax.plot(range(1, 30), mean_scores(learner), marker=".", label=name)
ax.set(xlabel="batch", ylabel="mean score before it is learned", title="The same first step")
ax.legend(frameon=False)
fig.tight_layout()
