"""Style of all figures, functions that draw parts of them, and saving with reproducible bytes.

Learners differ by colour, marker and line style, so figures are readable in black and white and for
colour-blind people. Baselines and published values are grey. Bytes do not depend on the time, the
machine or global state.
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
FAR = 8  # largest ratio of numbers of atoms for which their axis is linear
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@contextmanager
def style():
    """Set the style of odl's figures (context manager or decorator)."""
    with matplotlib.style.context(["default", RC]):  # "default" ignores any matplotlibrc
        yield


def new_figure(width, height, rows=1, columns=1, **options):
    """Return a new figure, which needs no display, and its axes, shape (rows, columns).

    Width and height are in inches.
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
    """Draw the legend of the first panel below the figure, remove frames; return the figure."""
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=min(columns, len(handles[1])))
    despine(figure)
    return figure


def ranking(axis, rows):
    """Draw the values of each run as dots in a row, with mean and standard deviation.

    The first run is at the bottom.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    rows : list of (str, dict or None, sequence of float)
        Name, line properties (`look_of`) and values. A run whose properties are None is drawn as a
        grey mark at its mean.
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
        text = super().__call__(x, pos)
        text = text.removeprefix(r"$\mathdefault{").removesuffix("}$").replace(r"\times", "×")
        return re.sub(r"\^\{([-0-9]+)\}", lambda power: power[1].translate(RAISED), text)


def logarithmic(axis, *names):
    """Make axes (``"x"``, ``"y"``) logarithmic, with ticks in plain text."""
    for name in names:
        axis.set(**{f"{name}scale": "log"})
        ticks = getattr(axis, f"{name}axis")
        ticks.set_major_formatter(Powers())
        ticks.set_minor_formatter(Powers(labelOnlyBase=False, minor_thresholds=(1, 0.4)))


def sizes_below(axis, sizes):
    """Label the x axis with sorted numbers of atoms; make it logarithmic if they differ much."""
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
        Table with the column ``run``. Runs and points are drawn in the order of its rows.
    x, y : str
        Columns to draw.
    spread : str, optional
        Column of deviations, which are drawn as error bars.
    **look
        Line properties that override those of `look_of`.
    """
    for position, (run, rows) in enumerate(frame.groupby("run", sort=False)):
        bars = rows[spread].fillna(0.0) if spread else None
        options = {"capsize": 2.5, "markersize": 5.5, "linewidth": 1.6} | look_of(position) | look
        axis.errorbar(rows[x], rows[y], yerr=bars, label=run, **options)


def look_of(position):
    """Return colour, marker and line style of the run with this position in a figure."""
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
    with style():  # `findobj` creates the ticks, in the active style
        for text in figure.findobj(Text):
            text.set_text(visible(text.get_text()))
        figure.set_dpi(RC["savefig.dpi"])
        # The layout takes half of the time, so it is computed once for both files. The engine is
        # then removed by None, since "none" would set a placeholder that draws everything twice.
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
    """Return a figure that shows only a text."""
    figure = Figure(figsize=(6.4, 1.2))
    FigureCanvasAgg(figure)
    figure.text(0.5, 0.5, "\n".join(textwrap.wrap(text, 80)), ha="center", va="center", color=GREY)
    return figure
