"""
Dense vectors beside words
==========================

Short texts share few words though they mean the same, so a vector of an encoder may help; where words say more, it
harms. How much the vectors should count is chosen from the past, without labels: documents like one another are taken
out of it, and the weight that tells them best from the others wins. Where the two views contradict each other, as with
the poor encoder here, words stay alone.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse

from odl.evaluation import metrics
from odl.papers.rivals import meaning as meaning_weight
from odl.stream.dense import unit

# %%
# Documents of ten words about twelve topics, and their vectors: the topic's own and noise. Three topics are new: none
# of their documents is in the past.

rng = np.random.default_rng(0)
topics, directions = rng.dirichlet(np.full(2000, 0.2), 12), rng.standard_normal((12, 30))
past, today = rng.integers(9, size=400), rng.integers(12, size=400)


def seen(of, noise):
    counts = np.array([rng.multinomial(10, topics[topic]) for topic in of])
    vectors = directions[of] + noise * rng.standard_normal((len(of), 30))
    return sparse.csr_array(unit(np.sqrt(counts))), unit(vectors)


# %%
# Novelty is one less the mean cosine to the five nearest documents of the past, in the joined view.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, (name, noise) in zip(axes, {"a good encoder": 1.0, "a poor encoder": 6.0}.items(), strict=True):
    (P, E), (Q, F) = seen(past, noise), seen(today, noise)
    chosen = meaning_weight.separation(P, E, np.random.default_rng(0))
    areas = []
    for weight in meaning_weight.WEIGHTS:
        cosines = (meaning_weight.joined(Q, F, weight) @ meaning_weight.joined(P, E, weight).T).toarray()
        novelty = 1.0 - np.sort(cosines, axis=1)[:, -5:].mean(axis=1)
        areas.append(metrics.auc(novelty, (today >= 9).astype(int)))
    weight = meaning_weight.weight_of([chosen])
    print(f"{name}: weight {weight}, AUC {areas[round(10 * weight)]:.3f}, words alone {areas[0]:.3f}")
    if chosen.any():
        ax.plot(meaning_weight.WEIGHTS, chosen, marker=".", label="pseudo-topics of the past, no labels")
    ax.plot(meaning_weight.WEIGHTS, areas, marker=".", color="tab:orange", label="new topics of today, labels")
    ax.axvline(weight, color="black", linestyle="--", linewidth=0.8, label="weight chosen")
    ax.set(xlabel="weight of the vectors", ylabel="AUC", title=name)
fig.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
fig.tight_layout(rect=(0, 0.07, 1, 1))
