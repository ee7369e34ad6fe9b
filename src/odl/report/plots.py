"""The house style of figures, and how they are saved.

Learners differ by colour (colour-blind safe), marker and line, so that a black-and-white print
can be read; what needs no dictionary (neighbours, unseen words, published values) is grey. Nothing
here depends on the time, the machine or global state: equal data give equal bytes.
"""

import os
import re
import textwrap
from contextlib import contextmanager

import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation
from seaborn import axes_style, color_palette, despine, plotting_context

from odl.files import storage
from odl.files.escaping import visible

COLOURS = [color_palette("colorblind").as_hex()[place] for place in (0, 3, 2, 4, 1, 9, 5, 6)]
MARKERS = "osD^vPX*"
LINES = ["-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), "--", ":"]
INK, GREY, PALE = "0.15", "0.45", "0.8"
RC = {
    **axes_style("ticks"),
    **plotting_context("paper", font_scale=1.15),
    "image.cmap": matplotlib.rcParamsDefault["image.cmap"],
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
    "figure.autolayout": False,  # that of a matplotlibrc would lay out again what is saved
    "figure.constrained_layout.use": False,
    "axes.unicode_minus": False,
    "text.parse_math": False,  # tokens, titles and names hold "$"; see `logarithmic` for powers of ten
}
FAR = 8  # times the smallest size: from there on sizes are drawn on a logarithmic axis
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@contextmanager
def style():
    """The house style, while a figure is drawn; also a decorator of what draws one."""
    with matplotlib.style.context(["default", RC]):  # whatever a matplotlibrc of the working folder says
        yield


def new_figure(width, height, rows=1, columns=1, **options):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def panels(n, width, height, **options):
    """Return a figure of so many panels, three in a row, and their axes."""
    columns = min(3, n)
    rows = -(-n // columns)
    figure, axes = new_figure(max(3.8, width * columns), height * rows, rows, columns, **options)
    for axis in axes.flat[n:]:
        axis.axis("off")
    return figure, axes.flat[:n]


def legend_below(figure, columns):
    """Name what is drawn in the first panel below all of them, and draw no frames; return the figure."""
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=min(columns, len(handles[1])))
    despine(figure)
    return figure


def ranking(axis, rows):
    """Draw rows of values, the first below: dots with their mean and spread, or a grey stroke for what has no look.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    rows : list of (str, dict or None, sequence of float)
        Name, look (`look_of`) and values.
    """
    for y, (_, look, values) in enumerate(rows):
        axis.axhline(y, color="0.92", linewidth=0.8, zorder=0)
        mean, spread = np.mean(values), np.std(values, ddof=1) if len(values) > 1 else 0.0
        if look is None:
            axis.plot(mean, y, "|", color=GREY, markersize=13, markeredgewidth=2.2)
        else:
            axis.plot(values, [y] * len(values), ".", color=look["color"], markersize=4, alpha=0.6)
            axis.errorbar(mean, y, xerr=spread, capsize=3, markersize=7, **look)
        axis.annotate(f"{mean:.3f}", (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    axis.set(ylim=(-0.6, len(rows) - 0.4))
    axis.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axis.tick_params(axis="y", length=0)


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


def sizes_below(axis, sizes):
    """Name the sizes of dictionaries, which rise, below an axis; it is logarithmic where they differ much."""
    if sizes[-1] > FAR * sizes[0]:
        logarithmic(axis, "x")
    axis.set(xlabel="atoms k")
    axis.set_xticks([], minor=True)
    axis.set_xticks(sizes, [f"{size:g}" for size in sizes])


def lines(axis, frame, x, y, spread=None, **look):
    """Draw a line a run.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    frame : DataFrame
        With a column ``run``; runs and rows are drawn in their order.
    x, y : str
        Columns.
    spread : str, optional
        Column of deviations, drawn as bars.
    **look
        In place of that of `look_of`.
    """
    for position, (run, rows) in enumerate(frame.groupby("run", sort=False)):
        bars = rows[spread].fillna(0.0) if spread else None
        options = {"capsize": 2.5, "markersize": 5.5, "linewidth": 1.6} | look_of(position) | look
        axis.errorbar(rows[x], rows[y], yerr=bars, label=run, **options)


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
            text.set_text(visible(text.get_text()))
        figure.set_dpi(RC["savefig.dpi"])
        if layout := figure.get_layout_engine():  # once for both: it is half of the work
            layout.execute(figure)
            figure.set_layout_engine(None)  # by "none" one would stay, and everything be drawn twice for it
        for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            with storage.replacing(f"{os.fspath(stem)}.{suffix}") as temporary:
                figure.savefig(temporary, format=suffix, metadata=metadata)


@style()
def note(text):
    """A figure that only says why there is nothing to draw."""
    figure = Figure(figsize=(6.4, 1.2))
    FigureCanvasAgg(figure)
    figure.text(0.5, 0.5, "\n".join(textwrap.wrap(text, 80)), ha="center", va="center", color=GREY)
    return figure
