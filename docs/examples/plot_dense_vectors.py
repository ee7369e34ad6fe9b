"""
Dense vectors beside words
==========================

Short texts share few words though they mean the same, so a vector of an encoder helps. Long texts
say more by their words. How much the vectors count follows from the median number of distinct
words, without labels.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse

from odl.evaluation import metrics
from odl.learners import vectors
from odl.papers.rivals import meaning
from odl.stream.dense import unit

# %% Documents about twelve topics, and their vectors: the topic's own and noise. Three topics are
# new: none of their documents is in the past.

rng = np.random.default_rng(0)
topics, directions = rng.dirichlet(np.full(2000, 0.2), 12), rng.standard_normal((12, 30))
past, today = rng.integers(9, size=400), rng.integers(12, size=400)


def documents(of, length):
    counts = np.array([rng.multinomial(length, topics[topic]) for topic in of])
    vectors = directions[of] + 2 * rng.standard_normal((len(of), 30))
    return sparse.csr_array(unit(np.sqrt(counts))), unit(vectors)


# %%
# Novelty is one less the mean cosine to the five nearest documents of the past, in the joined view.

weights = np.linspace(0, 1, 11)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, length in zip(axes, (6, 100), strict=True):
    (P, E), (Q, F) = documents(past, length), documents(today, length)
    areas = []
    for a in weights:
        cosines = (meaning.join_views(Q, F, a) @ meaning.join_views(P, E, a).T).toarray()
        novelty = 1.0 - np.sort(cosines, axis=1)[:, -5:].mean(axis=1)
        areas.append(metrics.auc(novelty, (today >= 9).astype(int)))
    rule = vectors.weight_of(np.diff(P.indptr))
    print(
        f"{length} words: weight {rule:.2f}, AUC {np.interp(rule, weights, areas):.2f}, "
        f"words alone {areas[0]:.2f}"
    )
    ax.plot(weights, areas, marker=".", color="tab:orange")
    ax.axvline(rule, color="black", linestyle="--", linewidth=0.8, label="weight by length")
    ax.set(xlabel="weight of the vectors", ylabel="AUC", title=f"{length} words a document")
axes[0].legend(frameon=False)
fig.tight_layout()
