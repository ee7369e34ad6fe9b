"""
A vocabulary that grows
=======================

New topics bring new words. :class:`odl.TextNovelty` appends a column for each word it has not seen,
and atoms get zeros there, so nothing that was learned has to be learned again. The picture shows
the number of words known, and the number of numbers stored for the dictionary, which follows the
atoms and not the vocabulary.
"""

import random
from itertools import product

import matplotlib.pyplot as plt
import pandas as pd

from odl import TextNovelty

# %% Every week has 50 posts about four topics; each week one topic goes, and another one comes with
# words of its own.

syllables = ["ba", "de", "ki", "lo", "mu", "ne", "po", "ra", "su", "ti"]
words = ["".join(three) for three in product(syllables, repeat=3)]
draw = random.Random(0)
draw.shuffle(words)
lists = [words[20 * topic : 20 * topic + 20] for topic in range(24)]


def week_of_posts(week):
    return pd.DataFrame(
        {"text": [" ".join(draw.choices(lists[week + draw.randrange(4)], k=15)) for _ in range(50)]}
    )


# %%
# Learn week by week, with room for 30 atoms.

stream = TextNovelty("adaptive", n_atoms=30)
rows = []
for week in range(20):
    found = stream.update(week_of_posts(week))
    dictionary = stream.detector_.components_
    rows.append((week + 1, dictionary.shape[1], dictionary.nnz, found["score"].mean()))
weeks, vocabulary, stored, mean_score = zip(*rows, strict=True)
print(f"{vocabulary[-1]} words, {stored[-1]} numbers in {dictionary.shape[0]} atoms")

# %%
# Were the dictionary a full table, it would have as many numbers as words times atoms.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.plot(weeks, vocabulary, marker=".")
left.set(xlabel="week", ylabel="words known", ylim=(0, None), title="The vocabulary grows")
right.plot(weeks, stored, marker=".", label="stored")
right.plot(
    weeks,
    [30 * size for size in vocabulary],
    linestyle="--",
    color="tab:grey",
    label="30 atoms x words",
)
right.set(xlabel="week", ylabel="numbers of the dictionary", yscale="log", title="Memory does not")
right.legend(frameon=False)
fig.tight_layout()
