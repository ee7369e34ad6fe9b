"""Classification of two newsgroups by a linear SVM on topics of several methods.

The methods are PCA, NMF, LDA, and flat and tree-structured dictionaries.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.2, figure 5.
"""

import numpy as np

from odl.evaluation.averages import grouped, spread
from odl.papers.experiments import write
from odl.papers.twogroups import METHODS, PART, RAW, SETTINGS, UNMEASURED, measure
from odl.report import plots
from odl.report.page import mean_sd

__all__ = ["PART", "SETTINGS", "TITLE", "UNMEASURED", "finish", "measure", "shown"]

TITLE = "Two newsgroups: a linear SVM on topics"
TAKES, ALGORITHMS = ("files",), ("hierarchical",)
METHOD_NAMES = {"pca": "PCA", "nmf": "NMF", "lda": "LDA", "flat": "flat", "tree": "tree"}
NORM_NAMES = {
    "frequencies": "rows of unit l1 norm",
    "counts": "counts",
    "directions": "rows of unit l2 norm",
}
CHOSEN = "chosen"  # stands for the scaling that cross-validation selects in each split
SCALED = {
    CHOSEN: "the scaling chosen by cross-validation",
    "none": "features as they are",
    "one": "all features together to unit mean square",
    "each": "every feature to unit deviation",
}


def finish(settings, folder, files, measured):
    """Write the tables ``accuracy``, ``summary`` and ``corpus`` and the figure ``accuracy``."""
    rows = measured["accuracy"]
    summary = summarise(rows)
    tables = {"accuracy": rows, "summary": summary, "corpus": measured["corpus"][:1]}
    write(folder, tables, {"accuracy": draw_accuracy(summary)})


def scalings_of(summary):
    """Return {scaling: description} of the scalings in a summary, in the order of `SCALED`."""
    scalings = {row["scaling"] for row in summary}
    return {name: text for name, text in SCALED.items() if name in scalings}


def summarise(rows):
    """Return means and deviations over splits by scaling, method and number of topics.

    Rows of the method "tree" also have its difference to "flat". The scaling "chosen" is the one
    that cross-validation selected in each split.
    """
    summary = []
    parts = {CHOSEN: [row for row in rows if row["chosen"]]}
    parts |= {scaling: part for (scaling,), part in grouped(rows, ("scaling",))}
    for scaling, part in parts.items():
        of_flat = {}
        for row in part:
            if row["method"] == "flat":
                of_flat[row["split"], row["topics"]] = row["accuracy"]
        for (method, topics), of_method in grouped(part, ("method", "topics")):
            mean, sd = spread([row["accuracy"] for row in of_method])
            gains = []
            if method == "tree" and of_flat:
                gains = [row["accuracy"] - of_flat[row["split"], topics] for row in of_method]
            difference, difference_sd = spread(gains)
            summary.append(
                {
                    "scaling": scaling,
                    "method": method,
                    "topics": topics,
                    "splits": len(of_method),
                    "mean": mean,
                    "sd": sd,
                    "difference": difference,
                    "difference_sd": difference_sd,
                }
            )
    return summary


def shown(tables):
    """Return the values for the template.

    "by_topics" has a table of accuracies for each scaling, with methods in rows and numbers of
    topics in columns. "words" is the table of representations by all words, with scalings in
    columns. "larger" is the accuracy in percent of always predicting the larger newsgroup.
    """
    summary, (corpus,) = tables["summary"], tables["corpus"]
    scalings, by_topics = scalings_of(summary), []
    values = {(row["scaling"], row["method"], row["topics"]): row for row in summary}
    sizes = sorted({row["topics"] for row in summary if row["method"] not in RAW})
    for scaling, text in scalings.items():
        rows = [
            [METHOD_NAMES[method], *(_cell(values.get((scaling, method, p))) for p in sizes)]
            for method in METHODS
            if any(row["method"] == method for row in summary)
        ]
        rows.append(
            ["tree - flat", *(_cell(values.get((scaling, "tree", p)), "difference") for p in sizes)]
        )
        by_topics.append((text, [f"p = {p:g}" for p in sizes], rows))
    n_documents, n_first = corpus["documents"], corpus["first"]
    larger = 100.0 * max(n_first, n_documents - n_first) / n_documents
    words = [
        [NORM_NAMES[kind], *(_cell(values[scaling, kind, corpus["words"]]) for scaling in scalings)]
        for kind in RAW
        if (CHOSEN, kind, corpus["words"]) in values
    ]
    names = [f"scaling {name}" if name != CHOSEN else "chosen" for name in scalings]
    return {
        "corpus": corpus,
        "larger": larger,
        "by_topics": by_topics,
        "words": words,
        "scalings": names,
    }


def _cell(row, name="mean"):
    """Format the mean in a column of a row with its deviation; return "" without a row."""
    if not row:
        return ""
    deviation = row["sd"] if name == "mean" else row[f"{name}_sd"]
    return mean_sd(row[name], deviation, ".1f")


@plots.style()
def draw_accuracy(summary):
    """Draw a panel for each scaling, with a group of bars for each number of topics.

    This is figure 5 of the paper. A line shows the best mean of representations by all words.
    """
    scalings = scalings_of(summary)
    figure, panels = plots.new_figure(7.5, 0.8 + 2.4 * len(scalings), len(scalings), 1, sharex=True)
    for axes, (scaling, title) in zip(panels[:, 0], scalings.items(), strict=True):
        _bars(axes, [row for row in summary if row["scaling"] == scaling])
        axes.set(title=title, ylabel="accuracy (%)", ylim=(50, 100))
    panels[-1, 0].set(xlabel="number of topics")
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        *handles, loc="outside upper center", ncols=6, handlelength=1.4, columnspacing=1.2
    )
    return figure


def _bars(axes, rows):
    """Draw the bars of one scaling, and the line for all words."""
    sizes = sorted({row["topics"] for row in rows if row["method"] in METHOD_NAMES})
    methods = [method for method in METHOD_NAMES if any(row["method"] == method for row in rows)]
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
            label=METHOD_NAMES[method],
        )
    words = max((row["mean"] for row in rows if row["method"] not in METHOD_NAMES), default=None)
    if words is not None:
        axes.axhline(words, color=plots.GREY, linestyle=":", label="all words, best")
    axes.set_xticks(range(len(sizes)), [f"{p:g}" for p in sizes])
