"""
A memory instead of a number of atoms
=====================================

How many atoms, with no labels to try them on? `levels` asks for a memory, numbers stored, and finds
the atoms itself; `adaptive` asks for the atoms. Documents like one another, taken out of the past,
stand in for a new topic: how well a budget finds them is known without labels. The stream is made,
so that the choice can be checked with labels that it did not use.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter
from sklearn.feature_extraction.text import TfidfTransformer

from odl import NoveltyDetector, corpora
from odl.evaluation import metrics

# %% Ten days of 200 documents, of which a fifth of the words are of their topic. Topics enter,
# return, drift and split.

made = corpora.read("simulation", [], {"documents": 2000, "days": 10, "own": 0.2, "seed": 0})
topics = np.array([names[-1] for names in made.topics])
days = np.split(np.arange(2000), 10)
weights = TfidfTransformer(sublinear_tf=True).fit(made.counts[days[0]]).transform(made.counts)

# %% Without labels, from the first five days: three documents and the forty most like each are held
# out, and so are 150 others. A dictionary of the rest should give the former the higher scores.

past = weights[:1000]
cosines = (past @ past.T).toarray()


def guessed(**learner):
    """Return how well pseudo-topics of the past are found, mean over eight draws."""
    rng, areas = np.random.default_rng(0), []
    for _ in range(8):
        first = rng.choice(1000, 3, replace=False)
        held = np.unique(np.argsort(-cosines[first], axis=1, kind="stable")[:, :40])
        others = rng.choice(np.setdiff1d(np.arange(1000), held), 150, replace=False)
        detector = NoveltyDetector(folds=0, **learner)
        detector.fit(past[np.setdiff1d(np.arange(1000), [*held, *others])])
        scores = detector.score_samples(past[[*held, *others]])
        areas.append(metrics.auc(scores, np.repeat([1, 0], [len(held), 150])))
    return np.mean(areas)


# %%
# With labels: each day is scored by the days before, then learned.


def judged(**learner):
    """Return the numbers stored at the end, and the mean over days of the AUC of new topics."""
    detector, areas = NoveltyDetector(folds=0, **learner).fit(weights[days[0]]), []
    for day in days[1:]:
        new = ~np.isin(topics[day], topics[: day[0]])
        areas.append(metrics.auc(detector.score_samples(weights[day]), new.astype(int)))
        detector.partial_fit(weights[day])
    return detector.components_.nnz, np.nanmean(areas)


# %% Seven budgets each. A ring marks the budget that is chosen without labels: where more memory
# begins to bring little.

budgets = {
    "levels": [
        {"learner": "levels", "settings": {"memory": 1000 * 2**power}} for power in range(1, 8)
    ],
    "adaptive": [{"learner": "adaptive", "n_atoms": 10 * 2**power} for power in range(7)],
}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
for name, learners in budgets.items():
    guess = [guessed(**learner) for learner in learners]
    stored, areas = zip(*(judged(**learner) for learner in learners), strict=True)
    chosen = int(np.argmax(guess))
    print(
        f"{name}: {learners[chosen]}, AUC {areas[chosen]:.3f}, "
        f"the best of these budgets has {max(areas):.3f}"
    )
    for ax, values in ((left, guess), (right, areas)):
        ax.semilogx(stored, values, marker="o", markersize=4, label=name)
        ax.plot(
            stored[chosen],
            values[chosen],
            "o",
            markersize=12,
            markerfacecolor="none",
            markeredgecolor="black",
        )
left.set(xlabel="numbers stored in atoms", ylabel="AUC of pseudo-topics", title="Without labels")
right.set(xlabel="numbers stored in atoms", ylabel="average AUC", title="Checked with labels")
for ax in (left, right):
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.xaxis.set_minor_formatter(NullFormatter())
left.legend(frameon=False)
fig.tight_layout()
