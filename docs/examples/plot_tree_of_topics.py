"""
A tree of topics
================

With the penalty of a tree, a document that uses an atom may use those above it at little cost. So
words that all documents share move to the root, those of a field below it, and those of a topic to
the leaves. The documents are drawn from such a tree, and the learner gets its shape alone.
"""

import random

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from odl import trees
from odl.dictionary import structured, treestart

# %%
# Words for everything, for two fields, and for three topics in each of these.

common = "today people report week city group"
fields = {
    "market price trade export share firm": [
        "wheat grain harvest crop maize silo",
        "oil crude barrel tanker refinery opec",
        "bank loan credit interest bond debt",
    ],
    "match team coach season league goal": [
        "tennis serve racket court set volley",
        "rowing boat oar river crew stroke",
        "chess rook bishop knight pawn queen",
    ],
}
draw = random.Random(0)
texts = []
for _ in range(600):
    field = draw.choice(list(fields))
    topic = draw.choice(fields[field])
    texts.append(
        " ".join(
            word for words in (common, field, topic) for word in draw.choices(words.split(), k=8)
        )
    )

# %% Frequencies of words, and a dictionary of nine atoms: one root, two below it, three below each
# of these.

vectorizer = CountVectorizer()
counts = vectorizer.fit_transform(texts)
P = counts / counts.sum(axis=1)
tree = trees.balanced((2, 3))
problem = structured.Problem(2.0**-6, tree, "l2", mu=1.0)
start = treestart.cluster_atoms(P, tree, np.random.default_rng(0))
fit = structured.learn_batch(problem, P, start, rounds=30)
print(f"mean objective: {fit.objective[0]:.5f} at the start, {fit.objective[-1]:.5f} at the end")

# %%
# The heaviest words of each node.

names = vectorizer.get_feature_names_out()
D = fit.D.toarray()
words = ["\n".join(names[np.argsort(-D[:, node])[:4]]) for node in range(tree.n_nodes)]
leaves = [node for node in tree.preorder if not tree.children[node]]
x = {leaf: place for place, leaf in enumerate(leaves)}
for node in reversed(tree.preorder):
    if tree.children[node]:
        x[node] = np.mean([x[child] for child in tree.children[node]])

fig, ax = plt.subplots(figsize=(9, 4.5))
for node in tree.preorder:
    if tree.parents[node] >= 0:
        above = tree.parents[node]
        ax.plot([x[above], x[node]], [-tree.depths[above], -tree.depths[node]], color="tab:grey")
for node in tree.preorder:
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "tab:grey"}
    ax.text(x[node], -tree.depths[node], words[node], ha="center", va="center", bbox=box)
ax.set(xlim=(-0.6, 5.6), ylim=(-2.4, 0.4), title="Heaviest words of each atom")
ax.axis("off")
fig.tight_layout()
