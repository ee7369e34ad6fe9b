"""
A memory instead of a number of atoms
=====================================

How many atoms, without labels to try them on? `levels` asks for a memory, numbers stored, and finds the atoms itself;
`adaptive` asks for the atoms. What can be seen without labels is how well the past explains the next day: once more
memory no longer lowers that score, it is enough. The stream is made, so that the choice can be checked with labels
that it did not use.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfTransformer

from odl import NoveltyDetector, corpora
from odl.evaluation import metrics

# %%
# Ten days of 200 documents. Topics enter, return, drift and split by construction.

made = corpora.read("simulation", [], {"documents": 2000, "days": 10, "own": 0.5, "seed": 0})
topics = np.array([names[-1] for names in made.topics])
days = np.split(np.arange(2000), 10)
weights = TfidfTransformer(sublinear_tf=True).fit(made.counts[days[0]]).transform(made.counts)


def judged(**learner):
    """Return numbers stored, the mean score of the next day, and the AUC, over all days."""
    detector = NoveltyDetector(folds=0, **learner).fit(weights[days[0]])
    means, areas = [], []
    for number, day in enumerate(days[1:], start=1):
        scores = detector.score_samples(weights[day])
        means.append(scores.mean())
        new = ~np.isin(topics[day], topics[: days[number][0]])
        areas.append(metrics.auc(scores, new.astype(int)))
        detector.partial_fit(weights[day])
    return detector.components_.nnz, np.mean(means), np.nanmean(areas)


# %%
# Eight budgets each.

levels = np.array([judged(learner="levels", settings={"memory": 1000 * 2**power}) for power in range(1, 8)])
adaptive = np.array([judged(learner="adaptive", n_atoms=10 * 2**power) for power in range(0, 7)])

# %%
# Left: what is known without labels. Right: how well topics that are new that day are found.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
for name, found in (("levels", levels), ("adaptive", adaptive)):
    left.semilogx(found[:, 0], found[:, 1], marker="o", label=name)
    right.semilogx(found[:, 0], found[:, 2], marker="o", label=name)
left.set(xlabel="numbers stored in atoms", ylabel="mean score of the next day", title="Without labels")
right.set(xlabel="numbers stored in atoms", ylabel="average AUC", title="Checked with labels")
left.legend(frameon=False)
fig.tight_layout()
