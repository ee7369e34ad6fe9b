"""A tree of topics learned from the documents of a corpus, to be read.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.2, figure 4.
"""

import os

import numpy as np
from scipy import sparse

from odl import trees
from odl.corpora import nips
from odl.dictionary import structured, treestart
from odl.files import storage
from odl.files.tables import read_table, write_table
from odl.papers.common import branched
from odl.report import topictree
from odl.report.page import Markup, details, element, number, table

TITLE = "Topics of the NIPS proceedings as a tree"
TAKES, ALGORITHMS = ("files",), ("hierarchical",)
WHOLE = {"type": "integer", "minimum": 1}
SETTINGS = {
    "tree": {"type": "string", "default": "3,3"},
    "lam": {"type": "integer", "minimum": -60, "maximum": 20, "default": -15},
    "norm": {"type": "string", "enum": ["linf", "l2"], "default": "linf"},
    "occurrences": {**WHOLE, "default": 10},
    "starts": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["documents", "clusters"]},
               "default": ["documents", "clusters"]},
    "seeds": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}, "default": [0, 1]},
    "rounds": {**WHOLE, "default": 30},
    "tolerance": {"type": "number", "exclusiveMinimum": 0, "default": 0.001},
    "iterations": {**WHOLE, "default": 500},
    "words": {**WHOLE, "default": 5},
}  # fmt: skip


def run(settings, folder, files):
    """Learn the tree from every start and keep the one with the smallest objective.

    Writes ``topics.tsv`` (words and use of every node), ``starts.tsv``, ``corpus.tsv`` and ``tree.svg``.
    """
    documents = nips.read(files, {})
    words, vocabulary = frequent(documents, settings["occurrences"])
    tree = branched(settings["tree"])
    fits, rows = [], []
    for start in settings["starts"]:
        for seed in settings["seeds"]:
            fits.append(fitted(words, tree, settings, start, seed))
            first, last = fits[-1].objective[0], fits[-1].objective[-1]
            rows.append({"start": start, "seed": seed, "first": first, "objective": last, "chosen": "no"})
    best = int(np.argmin([row["objective"] for row in rows]))
    rows[best]["chosen"] = "yes"
    nodes = describe(tree, fits[best], vocabulary, 20)
    write_table(os.path.join(folder, "starts.tsv"), rows)
    write_table(os.path.join(folder, "topics.tsv"), nodes)
    write_table(os.path.join(folder, "corpus.tsv"), [{"documents": words.shape[0], "words": words.shape[1]}])
    lists, use = [row["words"].split() for row in nodes], [row["use"] for row in nodes]
    drawing = topictree.svg(tree, lists, most=settings["words"], size=13, use=use, title=TITLE)
    with storage.replacing(os.path.join(folder, "tree.svg")) as part, open(part, "w", encoding="utf-8") as file:
        file.write(drawing)


def frequent(documents, occurrences):
    """Return word frequencies (documents x words, rows sum to 1) of the words that occur often enough, and these."""
    kept = np.flatnonzero(np.asarray(documents.counts.sum(axis=0)).ravel() >= occurrences)
    counts = sparse.csr_array(documents.counts[:, kept], dtype=float)
    counts = counts[np.flatnonzero(np.diff(counts.indptr))]
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1.0 / lengths) @ counts), [documents.vocabulary[term] for term in kept]


def fitted(words, tree, settings, start, seed):
    """Return the `odl.dictionary.structured.Fit` from one start: atoms and codes non-negative, mu = 1."""
    problem = structured.Problem(
        2.0 ** settings["lam"],
        tree,
        settings["norm"],
        mu=1.0,
        tolerance=settings["tolerance"],
        iterations=settings["iterations"],
    )
    rng = np.random.default_rng(seed)
    if start == "clusters":
        D = treestart.cluster_atoms(words, tree, rng)
    else:
        D = sparse.csc_array(words[np.sort(rng.choice(words.shape[0], tree.n_atoms, replace=False))].T)
    return structured.learn_batch(problem, words, D, rounds=settings["rounds"])


def describe(tree, fit, vocabulary, most):
    """Return a row for each node: parent, share of all codes, share of documents that use it, heaviest words."""
    D, X = sparse.csc_array(fit.D), fit.codes.X
    use, rows = np.asarray(X.sum(axis=0)).ravel(), []
    for node in range(tree.n_nodes):
        span = slice(D.indptr[node], D.indptr[node + 1])
        order = np.lexsort((D.indices[span], -D.data[span]))[:most]
        rows.append(
            {
                "node": node,
                "parent": tree.parents[node],
                "depth": tree.depths[node],
                "use": float(use[node] / max(use.sum(), 1e-300)),
                "documents": float(np.mean(X[:, [node]].toarray() > 0)),
                "words": " ".join(vocabulary[term] for term in D.indices[span][order]),
            }
        )
    return rows


def section(folder):
    """Return the part of the page: the picture, the tree as a list, the starts."""
    nodes = read_table(os.path.join(folder, "topics.tsv"))
    (corpus,) = read_table(os.path.join(folder, "corpus.tsv"))
    tree = trees.Tree(tuple(int(row["parent"]) for row in nodes))
    lists, use = [str(row["words"]).split() for row in nodes], [row["use"] for row in nodes]
    with open(os.path.join(folder, "tree.svg"), encoding="utf-8") as file:
        drawing = Markup(file.read())
    used = max(nodes, key=lambda row: row["documents"])
    starts = [
        [row["start"], f"{row['seed']:g}", number(row["first"], ".3e"), number(row["objective"], ".3e"), row["chosen"]]
        for row in read_table(os.path.join(folder, "starts.tsv"))
    ]
    shares = [
        [row["node"], number(row["use"], ".3f"), number(row["documents"], ".3f"), ", ".join(words)]
        for row, words in zip(nodes, lists, strict=True)
    ]
    return [
        element("p", f"{corpus['documents']:g} papers with {corpus['words']:g} words. The penalty of a topic falls on "
                "all topics below it too, so a paper that uses a topic may use those above it at little cost. "
                f"Most papers, {100 * used['documents']:.0f} %, use topic {used['node']:g}."),
        element("figure", element("div", drawing, class_="scroll"), element("figcaption", "Heaviest words of each "
                "topic; a heavier line leads to topics that are used more.")),
        details("The tree as a list, with the share of all codes", Markup(topictree.nested_list(tree, lists, use=use))),
        details("Every topic", table(["topic", "share of codes", "share of papers", "words"], shares,
                                     "Topics of the tree", wide=(3,))),
        details("Starts", table(["start", "seed", "objective at the start", "objective", "shown"], starts,
                                "Mean objective of a paper from each start; the smallest is shown")),
    ]  # fmt: skip
