"""Style of all figures, helpers to draw them, and saving with reproducible bytes.

Learners differ by colour (colour-blind safe), marker and line, so that a black-and-white print is
readable. Baselines and published values are grey. Equal data give equal bytes: nothing depends on
the time, the machine or global state.
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

COLOURS = [color_palette("colorblind").as_hex()[index] for index in (0, 3, 2, 4, 1, 9, 5, 6)]
MARKERS = "osD^vPX*"
LINE_STYLES = [
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    "--",
    ":",
]
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
    "figure.autolayout": False,  # a matplotlibrc could set it, and change the layout when saving
    "figure.constrained_layout.use": False,
    "axes.unicode_minus": False,
    # Tokens, titles and names may contain "$"; `logarithmic` formats powers of ten.
    "text.parse_math": False,
}
FAR = 8  # ratio of the largest to the smallest size above which the axis is logarithmic
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@contextmanager
def style():
    """Set the style of odl's figures while a block or a decorated function runs."""
    with matplotlib.style.context(["default", RC]):  # ignores any matplotlibrc
        yield


def new_figure(width, height, rows=1, columns=1, **options):
    """Return a new figure and its axes, an array of shape (rows, columns).

    Width and height are in inches. The canvas is that of the Agg backend, so no display is needed.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def panels(n, width, height, **options):
    """Return a figure with n panels, three in a row, and a list of their axes."""
    columns = min(3, n)
    rows = -(-n // columns)
    figure, axes = new_figure(max(3.8, width * columns), height * rows, rows, columns, **options)
    for axis in axes.flat[n:]:
        axis.axis("off")
    return figure, axes.flat[:n]


def legend_below(figure, columns):
    """Draw the legend of the first panel below all panels, remove frames, and return the figure."""
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=min(columns, len(handles[1])))
    despine(figure)
    return figure


def ranking(axis, rows):
    """Draw a row for each run, the first at the bottom: a dot for each value, mean and deviation.

    A run without a look is a grey stroke at its mean.

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
        axis.annotate(
            f"{mean:.3f}", (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=9
        )
    axis.set(ylim=(-0.6, len(rows) - 0.4))
    axis.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axis.tick_params(axis="y", length=0)


class Powers(LogFormatterSciNotation):
    """Formatter for ticks of a logarithmic axis in plain text, such as ``10⁻²``."""

    def __call__(self, x, pos=None):
        text = (
            super()
            .__call__(x, pos)
            .removeprefix(r"$\mathdefault{")
            .removesuffix("}$")
            .replace(r"\times", "×")
        )
        return re.sub(r"\^\{([-0-9]+)\}", lambda power: power[1].translate(RAISED), text)


def logarithmic(axis, *names):
    """Make axes (``"x"``, ``"y"``) logarithmic, with ticks in plain text."""
    for name in names:
        axis.set(**{f"{name}scale": "log"})
        ticks = getattr(axis, f"{name}axis")
        ticks.set_major_formatter(Powers())
        ticks.set_minor_formatter(Powers(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def sizes_below(axis, sizes):
    """Label the x axis with sorted sizes of dictionaries, logarithmic above a ratio of `FAR`."""
    if sizes[-1] > FAR * sizes[0]:
        logarithmic(axis, "x")
    axis.set(xlabel="atoms k")
    axis.set_xticks([], minor=True)
    axis.set_xticks(sizes, [f"{size:g}" for size in sizes])


def lines(axis, frame, x, y, spread=None, **look):
    """Draw one line per run.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    frame : DataFrame
        Table with the column ``run``; runs and points are drawn in the order of rows.
    x, y : str
        Names of the columns to draw.
    spread : str, optional
        Column of deviations, drawn as bars.
    **look
        Line properties that replace those of `look_of`.
    """
    for position, (run, rows) in enumerate(frame.groupby("run", sort=False)):
        bars = rows[spread].fillna(0.0) if spread else None
        options = {"capsize": 2.5, "markersize": 5.5, "linewidth": 1.6} | look_of(position) | look
        axis.errorbar(rows[x], rows[y], yerr=bars, label=run, **options)


def look_of(position):
    """Return colour, marker and line style of the run at a position."""
    return {
        "color": COLOURS[position % len(COLOURS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": LINE_STYLES[position % len(LINE_STYLES)],
    }


def save(figure, stem):
    """Write ``{stem}.png`` (200 dpi) and ``{stem}.svg`` atomically, without dates or versions.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    stem : path-like
        Path without extension.
    """
    with style():  # finding texts creates the ticks in the style that is active
        for text in figure.findobj(Text):
            text.set_text(visible(text.get_text()))
        figure.set_dpi(RC["savefig.dpi"])
        # The layout takes half of the time, so it is computed once for both files. Then the engine
        # is removed with None: "none" would leave a placeholder that draws everything twice.
        if layout := figure.get_layout_engine():
            layout.execute(figure)
            figure.set_layout_engine(None)
        for suffix, metadata in (
            ("png", {"Software": None}),
            ("svg", {"Date": None, "Creator": None}),
        ):
            with storage.replacing(f"{os.fspath(stem)}.{suffix}") as temporary:
                figure.savefig(temporary, format=suffix, metadata=metadata)


@style()
def note(text):
    """Return a figure that only shows a text: why there is nothing to draw."""
    figure = Figure(figsize=(6.4, 1.2))
    FigureCanvasAgg(figure)
    figure.text(0.5, 0.5, "\n".join(textwrap.wrap(text, 80)), ha="center", va="center", color=GREY)
    return figure
