"""Pictures of quality: AUC against atoms and against memory, drift of the scores of known documents."""

import numpy as np
import seaborn
from matplotlib.ticker import LogLocator, MaxNLocator

from odl.papers.qualitypage import by, described, named, spread
from odl.report.plots import GREY, INK, LINES, PALE, logarithmic, look_of, new_figure, styled

PLAIN, CONTEXT = "nearest documents, window", "nearest documents, window, in context"
WHOLE, WHOLE_CONTEXT = "nearest documents, whole past", "nearest documents, whole past, in context"


def best_of(rows):
    """Return the rows of the run with the highest mean over everything that it was measured at."""
    runs = by(rows, "run")
    return max(runs.values(), key=lambda held: spread(held, "average")[0]) if runs else []


def curves_of(rows):
    """Split the rows of a stream into curves: learners, the better window of neighbours, plain and in context."""
    windows = [row for row in rows if "-window" in row["run"]]
    curves = {run: best for (run,), best in by([row for row in rows if "-window" not in row["run"]], "run").items()}
    for label, context in ((PLAIN, False), (CONTEXT, True)):
        best = best_of([row for row in windows if row["run"].endswith("-context") == context])
        if best:
            curves[label] = best
    return curves


def lines_of(rows):
    """Return label to average AUC of the best cosine over the whole past, plain and in context."""
    cosines = [row for row in rows if row["run"].startswith("nearest")]
    levels = {}
    for label, context in ((WHOLE, False), (WHOLE_CONTEXT, True)):
        best = best_of([row for row in cosines if row["run"].endswith("-context") == context])
        if best:
            levels[label] = spread(best, "average")[0]
    return levels


def _look(label, learned):
    if label in learned:
        return look_of(learned.index(label))
    looks = {
        PLAIN: {"color": GREY, "marker": "P", "linestyle": LINES[1]},
        CONTEXT: {"color": INK, "marker": "X", "linestyle": LINES[2]},
    }
    return looks[label]


def _panel(axis, rows, lines, learned, column):
    for label, held in curves_of(rows).items():
        if column == "size" and label not in learned:
            continue  # a window has no atoms
        points = list(by(held, "size").values())
        x = np.array([np.mean([row[column] for row in point]) for point in points])
        average = np.array([spread(point, "average") for point in points])
        order = np.argsort(x)
        axis.errorbar(x[order] / (1 if column == "size" else 1000), average[order, 0], label=label, capsize=2.5,
                      yerr=np.nan_to_num(average[order, 1]), markersize=5, linewidth=1.5,
                      **_look(label, learned))  # fmt: skip
    for (label, value), colour, style in zip(lines.items(), (GREY, INK), (LINES[4], LINES[3]), strict=False):
        axis.axhline(value, label=label, color=colour, linestyle=style, linewidth=1.1, zorder=0)


def _decades(axis):
    """Mark 1, 2 and 5 of each decade, or where these would touch one or two of them."""
    low, high = axis.get_xlim()
    decades = np.log10(high / low)
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 1.6 else (1, 3) if decades < 2.2 else (1,)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()


def points_of(rows):
    """Return name to (stored numbers, thousands; average AUC) of the other methods of a stream, means over seeds."""
    return {
        described(run): (spread(best, "entries")[0] / 1000, spread(best, "average")[0])
        for (run,), best in by(rows, "run").items()
        if not run.endswith("-context")
    }


@styled
def curves(memory, compared=(), column="entries", others=()):
    """Draw average AUC against memory, or against the number of atoms: one panel a stream, mean and sd over seeds.

    Parameters
    ----------
    memory : list of dict
        stream, seed, run, size, entries, average.
    compared : list of dict
        stream, seed, run, average: for the horizontal lines of nearest documents over the whole past.
    column : {"entries", "size"}
        Stored weights, or atoms.
    others : list of dict
        stream, seed, run, entries, average: other methods, a point each where memory is shown.

    Returns
    -------
    Figure
    """
    streams = by(memory, "stream")
    across = min(3, len(streams))
    down = -(-len(streams) // across)
    learned = list(dict.fromkeys(row["run"] for row in memory if "-window" not in row["run"]))
    figure, axes = new_figure(max(4.6, 3.3 * across), 2.9 * down + 1.0, down, across)
    for axis in axes.flat[len(streams) :]:
        axis.axis("off")
    handles = {}
    for axis, ((name,), rows) in zip(axes.flat, streams.items(), strict=False):
        _panel(axis, rows, lines_of([row for row in compared if row["stream"] == name]), learned, column)
        label = "atoms k" if column == "size" else "stored numbers, thousands"
        logarithmic(axis, "x")
        axis.set(title=name, xlabel=label)
        if column == "size":
            axis.minorticks_off()
            axis.set_xticks(sorted({row["size"] for row in rows if row["run"] in learned}))
            axis.xaxis.set_major_formatter("{x:g}")
        if column == "entries":
            chosen = [row for row in others if row["stream"] == name]
            for (method, point), marker in zip(points_of(chosen).items(), "*DvhdHp<>", strict=False):
                axis.plot(*point, label=method, color=GREY, marker=marker, markersize=6, linestyle="none", zorder=3)
            _decades(axis)
        handles |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    for axis in axes[:, 0]:
        axis.set_ylabel("average AUC")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=min(across, 3))
    seaborn.despine(figure)
    return figure


@styled
def drift(rows):
    """Draw the mean score of known documents by timestep, raw and calibrated: a row of panels a stream.

    Parameters
    ----------
    rows : list of dict
        stream, seed, run, scores ("raw" or "calibrated"), t, mean.

    Returns
    -------
    Figure
    """
    streams, runs = by(rows, "stream"), list(dict.fromkeys(row["run"] for row in rows))
    figure, axes = new_figure(7.4, 1.9 * len(streams) + 0.9, len(streams), 2, sharex="row")
    for pair, ((name,), held) in zip(axes, streams.items(), strict=True):
        for axis, kind in zip(pair, ("raw", "calibrated"), strict=True):
            for position, run in enumerate(runs):
                part = by([row for row in held if (row["run"], row["scores"]) == (run, kind)], "t")
                times = sorted(t for (t,) in part)
                means = [spread(part[t,], "mean")[0] for t in times]
                look = look_of(position) if not run.startswith("nearest") else {
                    "color": INK if run.endswith("-context") else GREY, "linestyle": LINES[position % len(LINES)],
                    "marker": "X" if run.endswith("-context") else "P",
                }  # fmt: skip
                axis.plot(times, means, label=named(run), markersize=3.8, linewidth=1.3, **look)
            axis.set_title(f"{name}: {kind}")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=1))
        pair[0].set_ylabel("mean score, known")
        pair[1].axhline(0.5, color=PALE, linewidth=0.8, zorder=0)
        pair[1].set_ylim(0, 1)
    for axis in axes[-1]:
        axis.set_xlabel("timestep t")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    seaborn.despine(figure)
    return figure
