"""A tree of topics learned from the NIPS proceedings, as a table and a figure.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.2, figure 4.
"""

from itertools import product

import numpy as np
from scipy import sparse

from odl import trees
from odl.corpora import nips
from odl.dictionary import structured, treestart
from odl.novelty import top_terms
from odl.papers.experiments import write
from odl.report import plots

TITLE = "Topics of the NIPS proceedings as a tree"
TAKES, ALGORITHMS = ("files",), ("hierarchical",)
POSITIVE_INTEGER = {"type": "integer", "minimum": 1}
SETTINGS = {
    "seeds": {
        "type": "array",
        "minItems": 1,
        "items": {"type": "integer", "minimum": 0},
        "default": [0, 1],
    },
    "rounds": {**POSITIVE_INTEGER, "default": 30},
    "tolerance": {"type": "number", "exclusiveMinimum": 0, "default": 0.001},
    "iterations": {**POSITIVE_INTEGER, "default": 500},
}
BRANCHING = (3, 3)  # number of children of a node, by depth
LAM = 2.0**-15  # weight of the penalty
OCCURRENCES = 10  # smallest number of occurrences of a word in the corpus
START_KINDS = ("documents", "clusters")
LISTED_WORDS, DRAWN_WORDS = 20, 5  # words of a topic in the table and in the figure
INCHES_PER_DEPTH, INCHES_PER_LEAF = 3.8, 0.36  # size of the figure


def run(settings, folder, files):
    """Learn trees from several initial dictionaries, and write the one with the least objective.

    The results are the tables ``topics`` (words and use of every node), ``starts`` and ``corpus``,
    and the figure ``tree``.
    """
    words, vocabulary = frequent(nips.read(files, {}), OCCURRENCES)
    fits, rows, tree = [], [], trees.balanced(BRANCHING)
    for start, seed in product(START_KINDS, settings["seeds"]):
        fit = fit_tree(words, tree, settings, start, seed)
        fits.append(fit)
        row = {"start": start, "seed": seed, "first": fit.objective[0]}
        rows.append({**row, "objective": fit.objective[-1], "chosen": "no"})
    best = int(np.argmin([row["objective"] for row in rows]))
    rows[best]["chosen"] = "yes"
    nodes = describe(tree, fits[best], vocabulary)
    corpus = [{"documents": words.shape[0], "words": words.shape[1]}]
    write(folder, {"starts": rows, "topics": nodes, "corpus": corpus}, {"tree": draw_tree(nodes)})


def frequent(documents, occurrences):
    """Select the words that occur at least `occurrences` times in the corpus.

    Returns
    -------
    frequencies : csr_array, shape (n_documents, n_words)
        Relative frequencies of the words in each document. Documents without these words are
        omitted.
    words : list of str
    """
    frequent_terms = np.flatnonzero(np.asarray(documents.counts.sum(axis=0)).ravel() >= occurrences)
    counts = sparse.csr_array(documents.counts[:, frequent_terms], dtype=float)
    counts = counts[np.flatnonzero(np.diff(counts.indptr))]
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    words = [documents.vocabulary[term] for term in frequent_terms]
    return sparse.csr_array(sparse.diags_array(1.0 / lengths) @ counts), words


def fit_tree(words, tree, settings, start, seed):
    """Learn a tree of non-negative atoms and codes (mu = 1) from one start."""
    stopping = {name: settings[name] for name in ("tolerance", "iterations")}
    problem = structured.Problem(LAM, tree, "linf", mu=1.0, **stopping)
    rng = np.random.default_rng(seed)
    if start == "clusters":
        D = treestart.cluster_atoms(words, tree, rng)
    else:
        D = sparse.csc_array(
            words[np.sort(rng.choice(words.shape[0], tree.n_nodes, replace=False))].T
        )
    return structured.learn_batch(problem, words, D, rounds=settings["rounds"])


def describe(tree, fit, vocabulary):
    """Return a row for each node of the tree.

    "use" is the sum of the codes of the node relative to the sum of all codes. "documents" is the
    share of documents with a positive code of the node. "words" are its words with the largest
    weights.
    """
    X = fit.codes.X
    use, tops = np.asarray(X.sum(axis=0)).ravel(), top_terms(sparse.csc_array(fit.D), LISTED_WORDS)
    return [
        {
            "node": node,
            "parent": tree.parents[node],
            "depth": tree.depths[node],
            "use": float(use[node] / max(use.sum(), 1e-300)),
            "documents": float(np.mean(X[:, [node]].toarray() > 0)),
            "words": " ".join(vocabulary[term] for term, _ in tops[node]),
        }
        for node in range(tree.n_nodes)
    ]


@plots.style()
def draw_tree(nodes):
    """Draw the nodes of a table as a tree from left to right."""
    tree = trees.Tree(tuple(int(row["parent"]) for row in nodes))
    # below[node]: use of the node and its descendants, which sets the width of the edge to its
    # parent
    below, height, n_leaves = [row["use"] for row in nodes], {}, 0
    for node in reversed(tree.preorder):
        children = tree.children[node]
        height[node] = (height[children[0]] + height[children[-1]]) / 2 if children else n_leaves
        n_leaves += not children
        below[node] += sum(below[child] for child in children)
    figure, ((axis,),) = plots.new_figure(
        INCHES_PER_DEPTH * (max(tree.depths) + 1), INCHES_PER_LEAF * n_leaves
    )
    for node, row in enumerate(nodes):
        depth, parent = tree.depths[node], tree.parents[node]
        words = ", ".join(str(row["words"]).split()[:DRAWN_WORDS]) or "no word"
        box = {"facecolor": "white", "edgecolor": plots.GREY, "pad": 3}
        axis.text(depth, height[node], words, va="center", fontsize=8, bbox=box)
        if parent >= 0:
            width = 0.6 + 5 * below[node] / max(max(below), 1e-300)
            axis.plot(
                [depth - 1, depth],
                [height[parent], height[node]],
                color=plots.PALE,
                linewidth=width,
                zorder=0,
            )
    axis.set(xlim=(-0.1, max(tree.depths) + 1), ylim=(-0.6, n_leaves - 0.4))
    axis.axis("off")
    return figure


def shown(tables):
    """Return the values for the template: the corpus, and the topic that most papers use."""
    return {
        "corpus": tables["corpus"][0],
        "used": max(tables["topics"], key=lambda row: row["documents"]),
    }
