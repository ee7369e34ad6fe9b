"""The picture of the classification experiment."""

import numpy as np

from odl.report import plots


@plots.styled
def accuracy(summary, names, scalings, stem):
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
        found = {row["topics"]: row for row in rows if row["method"] == method}
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
    words = max((row["mean"] for row in rows if row["method"] not in names), default=None)
    if words is not None:
        axes.axhline(words, color=plots.GREY, linestyle=":", label="all words, best")
    axes.set_xticks(range(len(sizes)), [f"{p:g}" for p in sizes])
