"""
Reasons for one alert
=====================

A score alone convinces nobody. `explain` divides it among the words of the post, and what is left,
`context`, is no word's: together they add up to the score. It names the nearest known atoms too, so
that one sees what the post was compared with.
"""

import random

import matplotlib.pyplot as plt
import pandas as pd

from odl import TextNovelty

# %%
# A past of two topics, and a post that shares some words with one of them.

topics = [
    "wheat grain harvest farmer crop maize export silo tonnes acre",
    "oil crude barrel tanker refinery opec pipeline cargo port gulf",
]
draw = random.Random(0)
past = [" ".join(draw.choices(topic.split(), k=12)) for topic in topics for _ in range(100)]
stream = TextNovelty()
stream.update(pd.DataFrame({"text": past}))

post = "tanker aground near port: oil slick reaches reef, turtles and birds in the slick"
(why,) = stream.explain([post])
print(f"score {why.score:.3f} = words {sum(why.words.values()):.3f} + context {why.context:.3f}")
for atom in why.atoms:
    print(
        f"atom {atom.number}, cosine {atom.cosine:.2f}:", ", ".join(word for word, _ in atom.words)
    )

# %% Words that nobody has used before make the score; a share below 0 is of a word that the atoms
# have more of than the post has.

fig, ax = plt.subplots(figsize=(7, 4))
words = list(why.words)[::-1]
known = set(" ".join(past).split())
colours = ["tab:grey" if word in known else "tab:red" for word in words]
ax.barh(words, [why.words[word] for word in words], color=colours)
ax.axvline(0, color="black", linewidth=0.8)
ax.set(
    xlabel="share of the score", ylabel="word", title=f"Why this post has the score {why.score:.2f}"
)
ax.legend(
    [plt.Rectangle((0, 0), 1, 1, color="tab:red"), plt.Rectangle((0, 0), 1, 1, color="tab:grey")],
    ["not in the past", "in the past"],
    loc="lower right",
    frameon=False,
)
fig.tight_layout()
