"""The house style, and the figures that compare runs: data frames in, a matplotlib Figure out.

Learners differ by colour (colour-blind safe), marker and line, so that a black-and-white print
can be read; what needs no dictionary (neighbours, unseen words, published values) is grey. Nothing
here depends on the time, the machine or global state: equal data give equal bytes.
"""

import os
import re
import textwrap
from contextlib import contextmanager
from itertools import pairwise

import matplotlib
import numpy as np
import seaborn
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation

from odl.files import storage
from odl.files.text import visible

COLOURS = [seaborn.color_palette("colorblind")[i] for i in (0, 3, 2, 4, 1, 9, 5, 6)]
MARKERS = "osD^vPX*"
LINES = ["-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), "--", ":"]
INK, GREY, PALE = "0.15", "0.45", "0.8"
RC = {
    **seaborn.axes_style("ticks"),
    **seaborn.plotting_context("paper", font_scale=1.15),
    "font.family": "DejaVu Sans",
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "svg.hashsalt": "odl",
    "svg.fonttype": "path",
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "axes.unicode_minus": False,
    "text.parse_math": False,  # tokens, titles and names hold "$"; see `logarithmic` for powers of ten
}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@contextmanager
def style():
    with matplotlib.rc_context(RC):
        yield


def styled(function):
    """Run a figure function under the house style."""

    def drawn(*args, **options):
        with style():
            return function(*args, **options)

    drawn.__doc__, drawn.__name__ = function.__doc__, function.__name__
    return drawn


def new_figure(width, height, rows=1, columns=1, **options):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


class Powers(LogFormatterSciNotation):
    """Ticks of a logarithmic axis as matplotlib chooses them, in plain text: ``10⁻²``."""

    def __call__(self, x, pos=None):
        text = super().__call__(x, pos).removeprefix(r"$\mathdefault{").removesuffix("}$").replace(r"\times", "×")
        return re.sub(r"\^\{([-0-9]+)\}", lambda power: power[1].translate(RAISED), text)


def logarithmic(axis, *names):
    """Make axes logarithmic (``"x"``, ``"y"``) without mathematics in their ticks."""
    for name in names:
        axis.set(**{f"{name}scale": "log"})
        ticks = getattr(axis, f"{name}axis")
        ticks.set_major_formatter(Powers())
        ticks.set_minor_formatter(Powers(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def look_of(position):
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": LINES[position % len(LINES)],
    }


def save(figure, stem):
    """Write ``{stem}.png`` (200 dpi) and ``{stem}.svg`` atomically, without dates or versions.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    stem : path-like
        Path without an ending.
    """
    with style():  # to look for texts makes the ticks, which keep the style of that moment
        for text in figure.findobj(Text):
            if text.get_text() != visible(text.get_text()):
                text.set_text(visible(text.get_text()))
    for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        with style(), storage.replacing(f"{os.fspath(stem)}.{ending}") as temporary:
            figure.savefig(temporary, format=ending, metadata=metadata)


@styled
def note(text):
    """A figure that only says why there is nothing to draw."""
    figure, axes = new_figure(6.4, 1.2)
    axes[0, 0].axis("off")
    axes[0, 0].text(0.5, 0.5, "\n".join(textwrap.wrap(text, 80)), ha="center", va="center", color=GREY)
    return figure


def _label_right(axis, labels):
    """Name horizontal lines at the right edge, moved apart where they would overlap.

    labels : list of (y in data, text, colour)
    """
    low, high = axis.get_ylim()
    gap = 0.062
    places = [[(y - low) / (high - low), text, colour] for y, text, colour in sorted(labels)]
    wanted = [place[0] for place in places]
    for _ in range(200):
        for first, second in pairwise(places):
            short = gap - (second[0] - first[0])
            if short > 1e-9:
                first[0] -= short / 2
                second[0] += short / 2
    for (y, text, colour), target in zip(places, wanted, strict=True):
        axis.annotate(
            text, (1.0, target), (1.05, y), xycoords="axes fraction", textcoords="axes fraction", va="center",
            fontsize=8.5, color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": PALE, "linewidth": 0.8,
                        "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip


def _spread(frame, by, value):
    """Mean and standard deviation of a column, one row per value of another."""
    grouped = frame.groupby(by, sort=True)[value]
    return grouped.mean(), grouped.std().fillna(0.0)


@styled
def auc_against_k(averages, references=()):
    """Average AUC against the number of atoms, mean and standard deviation over seeds (figure 1 a, c).

    Parameters
    ----------
    averages : DataFrame
        run, k, seed, average: one row per run, k and seed, of the learners to show.
    references : sequence of (str, float)
        Names and values of horizontal lines: baselines and published figures.

    Returns
    -------
    Figure
        With a single k, a dot for each run instead, beside the references.
    """
    if averages["k"].nunique() == 1:
        return _ranking(averages, references)
    figure, axes = new_figure(7.2, 4.2)
    axis, labels = axes[0, 0], []
    runs = list(dict.fromkeys(averages["run"]))
    sizes = np.unique(averages["k"])
    shift = 0.012 * (sizes[-1] - sizes[0])
    for position, run in enumerate(runs):
        mean, spread = _spread(averages[averages["run"] == run], "k", "average")
        x = mean.index.to_numpy(dtype=float) + shift * (position - (len(runs) - 1) / 2)
        axis.errorbar(x, mean, yerr=spread, label=run, capsize=2.5, markersize=5.5, linewidth=1.6, **look_of(position))
    for position, (name, value) in enumerate(references):
        axis.axhline(value, color=GREY, linewidth=1.1, linestyle=LINES[(position + 1) % len(LINES)], zorder=0)
        labels.append((value, f"{name} {value:.3f}", INK))
    axis.set(xlabel="atoms k", ylabel="average AUC", xticks=sizes)
    axis.margins(y=0.08)
    _label_right(axis, labels)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(4, len(runs)))
    seaborn.despine(figure)
    return figure


def _ranking(averages, references):
    """One row per run and reference, best above: for studies with one dictionary size."""
    runs = list(dict.fromkeys(averages["run"]))
    mean, spread = _spread(averages, "run", "average")
    rows = [(mean[run], run, position) for position, run in enumerate(runs)]
    rows = sorted([*rows, *((value, name, None) for name, value in references)], key=lambda row: (row[0], row[1]))
    figure, axes = new_figure(6.8, 1.1 + 0.32 * len(rows))
    axis = axes[0, 0]
    for y, (value, name, position) in enumerate(rows):
        axis.axhline(y, color="0.92", linewidth=0.8, zorder=0)
        if position is None:
            axis.plot(value, y, "|", color=GREY, markersize=13, markeredgewidth=2.2)
        else:
            look = look_of(position)
            seeds = averages.loc[averages["run"] == name, "average"]
            axis.plot(seeds, [y] * len(seeds), ".", color=look["color"], markersize=4, alpha=0.6)
            axis.errorbar(value, y, xerr=spread[name], capsize=3, markersize=7, **look)
        axis.annotate(f"{value:.3f}", (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    axis.set(xlabel=f"average AUC (k = {averages['k'].iloc[0]:g})", ylim=(-0.6, len(rows) - 0.4))
    axis.set_yticks(range(len(rows)), [row[1] for row in rows])
    axis.tick_params(axis="y", length=0)
    seaborn.despine(figure, left=True)
    return figure


@styled
def sensitivity(sweeps):
    """Average AUC against one parameter of each algorithm, mean and deviation over seeds (figure 2).

    Parameters
    ----------
    sweeps : list of (title, parameter, DataFrame)
        One panel each; the frame has value, seed, average.
    """
    columns = min(3, len(sweeps))
    rows = -(-len(sweeps) // columns)
    figure, axes = new_figure(max(3.8, 2.9 * columns), 2.9 * rows, rows, columns, sharey=True)
    for position, axis in enumerate(axes.flat):
        if position >= len(sweeps):
            axis.axis("off")
            continue
        title, parameter, frame = sweeps[position]
        mean, spread = _spread(frame, "value", "average")
        axis.errorbar(mean.index, mean, yerr=spread, capsize=2.5, markersize=5.5, linewidth=1.6, **look_of(position))
        values = mean.index.to_numpy(dtype=float)
        if values.min() > 0 and values.max() / values.min() > 30:
            logarithmic(axis, "x")
            axis.set_xticks(values, [f"{value:g}" for value in values])
            axis.minorticks_off()
        axis.set(title=title, xlabel=parameter)
    for axis in axes[:, 0]:
        axis.set_ylabel("average AUC")
    seaborn.despine(figure)
    return figure
