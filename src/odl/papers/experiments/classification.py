"""Two newsgroups told apart by a linear SVM on a few topics: PCA, NMF, LDA, flat and tree-structured dictionaries.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.2, figure 5.
"""

import os

import numpy as np

from odl.files.tables import read_table, write_table
from odl.papers.common import deviation, spread
from odl.papers.twogroups import METHODS, PART, RAW, SETTINGS, UNMEASURED, measure
from odl.report import plots
from odl.report.page import details, element, picture, table

__all__ = ["PART", "SETTINGS", "TITLE", "UNMEASURED", "finish", "measure", "section"]

TITLE = "Two newsgroups: a linear SVM on topics"
TAKES, ALGORITHMS = ("files",), ("hierarchical",)
NAMES = {"pca": "PCA", "nmf": "NMF", "lda": "LDA", "flat": "flat", "tree": "tree"}
NORMS = {"frequencies": "rows of unit l1 norm", "counts": "counts", "directions": "rows of unit l2 norm"}
CHOSEN = "chosen"
SCALED = {
    CHOSEN: "the scaling chosen by cross-validation",
    "none": "features as they are",
    "one": "all features together to unit mean square",
    "each": "every feature to unit deviation",
}
PUBLISHED = (90.9, 1.1)  # raw words; the rest of figure 5 is a drawing without numbers


def finish(settings, folder, files, measured):
    """Write and draw what was measured over random splits.

    Writes ``accuracy.tsv`` (every split), ``summary.tsv``, ``chosen.tsv`` (how often what was chosen),
    ``corpus.tsv`` and the figure.
    """
    rows = measured["accuracy"]
    summary = summarise(rows)
    tables = ("accuracy", rows), ("summary", summary), ("chosen", choices(rows)), ("corpus", measured["corpus"][:1])
    for name, table_rows in tables:
        write_table(os.path.join(folder, f"{name}.tsv"), table_rows)
    draw_accuracy(summary, NAMES, shown(summary), os.path.join(folder, "accuracy"))


def shown(summary):
    """Return name and words of the scalings of a summary, in the order of `SCALED`."""
    scalings = {row["scaling"] for row in summary}
    return {name: text for name, text in SCALED.items() if name in scalings}


def summarise(rows):
    """Return mean and deviation over splits by scaling, method and topics, and tree minus flat by split.

    The scaling ``chosen`` has of every split the row that cross-validation chose.
    """
    summary = []
    for scaling in (CHOSEN, *dict.fromkeys(row["scaling"] for row in rows)):
        of_scaling = [row for row in rows if (row["chosen"] if scaling == CHOSEN else row["scaling"] == scaling)]
        summary += [{"scaling": scaling, **row} for row in _means(of_scaling)]
    return summary


def _means(rows):
    """Return mean and deviation over splits for each method and number of topics, and tree minus flat by split."""
    means, of_flat = [], {(r["split"], r["topics"]): r["accuracy"] for r in rows if r["method"] == "flat"}
    for method, topics in dict.fromkeys((row["method"], row["topics"]) for row in rows):
        of_method = [row for row in rows if (row["method"], row["topics"]) == (method, topics)]
        values = np.array([row["accuracy"] for row in of_method])
        row = {"method": method, "topics": topics, "splits": len(values), "mean": float(values.mean())}
        row |= {"sd": deviation(values), "difference": float("nan"), "difference_sd": float("nan")}
        if method == "tree" and of_flat:
            paired = np.array([row["accuracy"] - of_flat[row["split"], topics] for row in of_method])
            row |= {"difference": float(paired.mean()), "difference_sd": deviation(paired)}
        means.append(row)
    return means


def choices(rows):
    """Return a row for each method and setting: how often cross-validation chose each value, over splits and sizes."""
    counts = []
    for method in dict.fromkeys(row["method"] for row in rows):
        of_method = [row for row in rows if row["method"] == method and row["chosen"]]
        for setting in ("lam", "scaling", "C"):
            values = [row[setting] for row in of_method if row[setting] is not None]
            count = {value: values.count(value) for value in sorted(set(values))}
            counts += [{"method": method, "setting": setting, "value": v, "times": n} for v, n in count.items()]
    return counts


def section(folder):
    """Return the part of the page: a table for each scaling, raw words, and figure 5."""
    rows = read_table(os.path.join(folder, "summary.tsv"))
    (corpus,) = read_table(os.path.join(folder, "corpus.tsv"))
    splits = f"mean ± standard deviation over {rows[0]['splits']:g} random splits"
    larger = 100.0 * max(corpus["first"], corpus["documents"] - corpus["first"]) / corpus["documents"]
    told = (
        f"{corpus['documents']:g} posts with {corpus['words']:g} words; naming the larger group always is right for "
        f"{larger:.1f} % of them. Topics are learned from the training posts of a split without their labels; C, and "
        "lam of the dictionaries, are chosen by cross-validation there, with each scaling of the features on its own; "
        "the paper names no scaling."
    )
    drawn = (
        "Accuracy by the number of topics, by scaling; bars show the standard deviation over splits, the line the best "
        "of all words. The axis starts at 50 %."
    )
    counted = "How often each value was chosen, over splits and sizes"
    return [
        element("p", told),
        *(_topics(rows, name, f"Test accuracy in percent, {text}; {splits}") for name, text in shown(rows).items()),
        _words(rows, f"Test accuracy in percent with all {corpus['words']:g} words, by the norm of a post; {splits}"),
        picture(os.path.join(folder, "accuracy"), drawn, "Accuracy of PCA, NMF, LDA, flat and tree."),
        details("What cross-validation chose", table(["", "lam = 2^", "scaling", "C = 4^"], _chosen(folder), counted)),
    ]


def _topics(rows, scaling, caption):
    """Return the table of the representations with one scaling, by number of topics."""
    by = {(row["method"], row["topics"]): row for row in rows if row["scaling"] == scaling}
    sizes = sorted({topics for method, topics in by if method not in RAW})
    lines = [
        [NAMES[method], *(_shown(by[method, p]) if (method, p) in by else "" for p in sizes)]
        for method in METHODS
        if any((method, p) in by for p in sizes)
    ]
    lines.append(["tree - flat", *(_shown(by["tree", p], "difference") if ("tree", p) in by else "" for p in sizes)])
    return table(["", *(f"p = {p:g}" for p in sizes)], lines, caption)


def _words(rows, caption):
    """Return the table of all words, by norm of a row and scaling."""
    by = {(row["method"], row["scaling"]): row for row in rows if row["method"] in RAW}
    names = list(shown(rows))
    lines = [[NORMS[kind], *(_shown(by[kind, name]) for name in names)] for kind in RAW if (kind, names[0]) in by]
    published = f"{PUBLISHED[0]:.1f} ± {PUBLISHED[1]:.1f}"
    lines.append(["13312 words, published, norm and scaling not said", published, *[""] * (len(names) - 1)])
    return table(["", *(f"scaling {name}" if name != CHOSEN else "chosen" for name in names)], lines, caption)


def _chosen(folder):
    """Return a row for each method: its values of lam, scaling and C, with how often each was chosen."""
    texts_of = {}
    for row in read_table(os.path.join(folder, "chosen.tsv")):
        value = row["value"] if isinstance(row["value"], str) else f"{row['value']:g}"
        texts = texts_of.setdefault(row["method"], {"lam": [], "scaling": [], "C": []})[row["setting"]]
        texts.append(f"{value}: {row['times']:g}")
    return [
        [NAMES.get(method, method), *(", ".join(texts) for texts in row.values())] for method, row in texts_of.items()
    ]


def _shown(row, name="mean"):
    return spread(row[name], row["sd" if name == "mean" else f"{name}_sd"])


@plots.styled
def draw_accuracy(summary, names, scalings, stem):
    """Draw a panel for each scaling: a group of bars for each number of topics (figure 5 of the paper).

    Parameters
    ----------
    summary : list of dict
    names : dict
        Method -> name; what is not named is raw words, whose best mean is a line.
    scalings : dict
        Scaling -> title of its panel.
    stem : path-like
        Of the files.
    """
    figure, panels = plots.new_figure(7.5, 0.8 + 2.4 * len(scalings), len(scalings), 1, sharex=True)
    for axes, (scaling, title) in zip(panels[:, 0], scalings.items(), strict=True):
        _bars(axes, [row for row in summary if row["scaling"] == scaling], names)
        axes.set(title=title, ylabel="accuracy (%)", ylim=(50, 100))
    panels[-1, 0].set(xlabel="number of topics")
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=6, handlelength=1.4, columnspacing=1.2)
    plots.save(figure, stem)


def _bars(axes, rows, names):
    """Draw the bars of one scaling, and the line of all words."""
    sizes = sorted({row["topics"] for row in rows if row["method"] in names})
    methods = [method for method in names if any(row["method"] == method for row in rows)]
    width = 0.8 / len(methods)
    for position, method in enumerate(methods):
        by_size = {row["topics"]: row for row in rows if row["method"] == method}
        axes.bar(
            np.arange(len(sizes)) + (position - (len(methods) - 1) / 2) * width,
            [by_size[p]["mean"] for p in sizes],
            0.92 * width,
            yerr=[np.nan_to_num(by_size[p]["sd"]) for p in sizes],
            color=plots.COLOURS[position],
            hatch=("", "///", "...", "", "\\\\\\")[position % 5],
            edgecolor="white",
            error_kw={"ecolor": plots.INK, "elinewidth": 1.0, "capsize": 2},
            label=names[method],
        )
    words = max((row["mean"] for row in rows if row["method"] not in names), default=None)
    if words is not None:
        axes.axhline(words, color=plots.GREY, linestyle=":", label="all words, best")
    axes.set_xticks(range(len(sizes)), [f"{p:g}" for p in sizes])
