"""The picture of the classification experiment."""

import numpy as np

from odl.report import plots


@plots.styled
def accuracy(summary, names, stem):
    """Draw a group of bars for each number of topics (figure 5 of the paper), and a line for all words."""
    sizes = sorted({row["topics"] for row in summary if row["method"] in names})
    methods = [method for method in names if any(row["method"] == method for row in summary)]
    figure, ((axes,),) = plots.new_figure(7.5, 3.6)
    width = 0.8 / len(methods)
    for position, method in enumerate(methods):
        found = {row["topics"]: row for row in summary if row["method"] == method}
        axes.bar(
            np.arange(len(sizes)) + (position - (len(methods) - 1) / 2) * width,
            [found[p]["mean"] for p in sizes],
            0.92 * width,
            yerr=[np.nan_to_num(found[p]["sd"]) for p in sizes],
            color=plots.COLOURS[position],
            hatch=("", "///", "...", "", "\\\\\\")[position % 5],
            edgecolor="white",
            error_kw={"ecolor": plots.INK, "elinewidth": 1.0, "capsize": 2},
            label=names[method],
        )
    words = max((row["mean"] for row in summary if row["method"] not in names), default=None)
    if words is not None:
        axes.axhline(words, color=plots.GREY, linestyle=":", label="all words")
    axes.set_xticks(range(len(sizes)), [f"{p:g}" for p in sizes])
    axes.set(xlabel="number of topics", ylabel="accuracy (%)", ylim=(50, 100))
    figure.legend(loc="outside upper center", ncols=6, handlelength=1.4, columnspacing=1.2)
    plots.save(figure, stem)
