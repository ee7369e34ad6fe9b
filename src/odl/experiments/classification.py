"""Two newsgroups told apart by a linear SVM on a few topics: PCA, NMF, LDA, flat and tree-structured dictionaries.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.2, figure 5.
"""

import os

import numpy as np

from odl.experiments import classplots
from odl.experiments.common import deviation, spread
from odl.experiments.twogroups import METHODS, PART, RAW, SETTINGS, UNMEASURED, measure
from odl.files.tables import read_table, write_table
from odl.report.page import details, element, picture, table

__all__ = ["PART", "SETTINGS", "TITLE", "UNMEASURED", "finish", "measure", "section"]

TITLE = "Two newsgroups: a linear SVM on topics"
TAKES, ALGORITHMS = ("files",), ("hierarchical",)
NAMES = {"pca": "PCA", "nmf": "NMF", "lda": "LDA", "flat": "flat", "tree": "tree"}
PUBLISHED = (90.9, 1.1)  # raw words; the rest of figure 5 is a drawing without numbers


def finish(settings, folder, files, found):
    """Write and draw what was measured over random splits.

    Writes ``accuracy.tsv`` (every split), ``summary.tsv``, ``chosen.tsv`` (how often what was chosen),
    ``corpus.tsv`` and the figure.
    """
    rows = found["accuracy"]
    summary = summarise(rows)
    tables = ("accuracy", rows), ("summary", summary), ("chosen", choices(rows)), ("corpus", found["corpus"][:1])
    for name, held in tables:
        write_table(os.path.join(folder, f"{name}.tsv"), held)
    classplots.accuracy(summary, NAMES, os.path.join(folder, "accuracy"))


def summarise(rows):
    """Return mean and deviation over splits for each method and number of topics, and tree minus flat by split."""
    found, of_flat = [], {(r["split"], r["topics"]): r["accuracy"] for r in rows if r["method"] == "flat"}
    for method, topics in dict.fromkeys((row["method"], row["topics"]) for row in rows):
        chosen = [row for row in rows if (row["method"], row["topics"]) == (method, topics)]
        values = np.array([row["accuracy"] for row in chosen])
        row = {"method": method, "topics": topics, "splits": len(values), "mean": float(values.mean())}
        row |= {"sd": deviation(values), "difference": float("nan"), "difference_sd": float("nan")}
        if method == "tree" and of_flat:
            paired = np.array([row["accuracy"] - of_flat[row["split"], topics] for row in chosen])
            row |= {"difference": float(paired.mean()), "difference_sd": deviation(paired)}
        found.append(row)
    return found


def choices(rows):
    """Return a row for each method and setting: how often cross-validation chose each value, over splits and sizes."""
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        for setting in ("lam", "scaling", "C"):
            values = [row[setting] for row in rows if row["method"] == method and row[setting] is not None]
            count = {value: values.count(value) for value in sorted(set(values))}
            found += [{"method": method, "setting": setting, "value": v, "times": n} for v, n in count.items()]
    return found


def section(folder):
    """Return the part of the page: the table and figure 5."""
    rows = read_table(os.path.join(folder, "summary.tsv"))
    (corpus,) = read_table(os.path.join(folder, "corpus.tsv"))
    by = {(row["method"], row["topics"]): row for row in rows}
    sizes = sorted({row["topics"] for row in rows if row["method"] not in RAW})
    lines = [
        [NAMES[method], *(_shown(by[method, p]) if (method, p) in by else "" for p in sizes)]
        for method in METHODS
        if any((method, p) in by for p in sizes)
    ]
    lines.append(["tree - flat", *(_shown(by["tree", p], "difference") if ("tree", p) in by else "" for p in sizes)])
    blank = [""] * (len(sizes) - 1)
    for row in rows:
        if row["method"] in RAW:
            lines.append([f"all {row['topics']:g} words, {row['method']}", _shown(row), *blank])
    lines.append(["all 13312 words, published", f"{PUBLISHED[0]:.1f} ± {PUBLISHED[1]:.1f}", *blank])
    caption = f"Test accuracy in percent, mean ± standard deviation over {rows[0]['splits']:g} random splits"
    larger = 100.0 * max(corpus["first"], corpus["documents"] - corpus["first"]) / corpus["documents"]
    return [
        element("p", f"{corpus['documents']:g} posts with {corpus['words']:g} words; naming the larger group always is "
                f"right for {larger:.1f} % of them. Topics are learned from the training posts of a split without "
                "their labels; C, the scaling of the features, and lam of the dictionaries are chosen by "
                "cross-validation there."),
        table(["", *(f"p = {p:g}" for p in sizes)], lines, caption),
        picture(os.path.join(folder, "accuracy"), "Accuracy by the number of topics; bars show the standard deviation "
                "over splits, the line all words. The axis starts at 50 %.",
                "Accuracy of PCA, NMF, LDA, flat and tree."),
        details("What cross-validation chose", table(["", "lam = 2^", "scaling", "C = 4^"], _chosen(folder),
                                                     "How often each value was chosen, over splits and sizes")),
    ]  # fmt: skip


def _chosen(folder):
    """Return a row for each method: its values of lam, scaling and C, with how often each was chosen."""
    found = {}
    for row in read_table(os.path.join(folder, "chosen.tsv")):
        value = row["value"] if isinstance(row["value"], str) else f"{row['value']:g}"
        texts = found.setdefault(row["method"], {"lam": [], "scaling": [], "C": []})[row["setting"]]
        texts.append(f"{value}: {row['times']:g}")
    return [[NAMES.get(method, method), *(", ".join(texts) for texts in row.values())] for method, row in found.items()]


def _shown(row, name="mean"):
    return spread(row[name], row["sd" if name == "mean" else f"{name}_sd"])
