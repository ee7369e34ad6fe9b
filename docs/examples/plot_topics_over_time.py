"""
Topics over time
================

The atoms are weighted lists of words, so the codes of a week say what it was about. One dictionary,
learned week by week, codes all weeks at the end: the stacked areas are the shares of its atoms,
named by their heaviest words. One subject fades, one comes back every five weeks, and one begins
half-way.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from odl import NoveltyDetector

# %%
# Twenty weeks of 100 posts; how often a subject is drawn depends on the week.

subjects = {
    "wheat grain harvest farmer crop maize": lambda week: 10 - 0.5 * week,
    "oil crude barrel tanker refinery opec": lambda week: 5,
    "vote poll party seat ballot senate": lambda week: 8 if week % 5 == 0 else 1,
    "satellite rocket orbit launch payload mission": lambda week: max(0, week - 9),
}
draw = random.Random(0)
weeks = []
for week in range(20):
    shares = [share(week) for share in subjects.values()]
    weeks.append(
        [
            " ".join(draw.choices(draw.choices(list(subjects), shares)[0].split(), k=10))
            for _ in range(100)
        ]
    )

# %% Room for six atoms. A post whose cosine with an atom is at least 0.3 joins it; one that is like
# none opens another.

words = CountVectorizer(vocabulary=sorted(" ".join(subjects).split()))
detector = NoveltyDetector(learner="adaptive", n_atoms=6, settings={"same": 0.3})
for posts in weeks:
    detector.partial_fit(words.transform(posts))

names = words.get_feature_names_out()
heaviest = np.argsort(-detector.components_.toarray(), axis=1)[:, :3]
labels = [", ".join(names[row]) for row in heaviest]

# %%
# Codes of all weeks on the last dictionary, as shares of each week.

use = np.array(
    [np.asarray(detector.transform(words.transform(posts)).sum(axis=0)).ravel() for posts in weeks]
)
use /= use.sum(axis=1, keepdims=True)

fig, ax = plt.subplots(figsize=(8, 4.2))
ax.stackplot(range(1, 21), use.T, labels=labels)
ax.set(
    xlabel="week",
    ylabel="share of the codes",
    xlim=(1, 20),
    ylim=(0, 1),
    xticks=range(1, 21),
    title="What each week was about",
)
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
fig.tight_layout()
