"""Pictures of quality: AUC against atoms and against memory, drift of the scores of known documents."""

import re

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator

from odl.evaluation.means import grouped, spread
from odl.papers import rivals
from odl.report.plots import GREY, INK, LINES, PALE, despine, legend_below, logarithmic, look_of, new_figure, styled

CONTEXT = re.compile("-(levels|adaptive)-context$")
PLAIN, AROUND = "nearest documents, window", "nearest documents, window, in context"
WHOLE, WHOLE_CONTEXT = "nearest documents, whole past", "nearest documents, whole past, in context"


def over(rows, column):
    """Return mean and standard deviation of a column over the rows that have a value; nan where there are none."""
    return spread([row[column] for row in rows])


def described(run):
    """Say in words what a rival is."""
    return rivals.RIVALS[run].WORDS if run in rivals.RIVALS else run


def named(run):
    """Say in words what a run is."""
    text, context = CONTEXT.sub("", run), CONTEXT.search(run)
    words = described(text)
    for start, kind in (("nearest5-", "5 nearest documents, "), ("nearest-", "nearest document, ")):
        if text.startswith(start) and words == text:
            words = kind + text.removeprefix(start).replace("tfidf", "tf-idf").replace("logtf", "log tf-idf")
    return f"{words}, in context as {context[1]}" if context else words


def best_of(rows, labels):
    """Return, plain and in context, the rows of the run with the highest mean over everything it was measured at."""
    best = {}
    for label, context in zip(labels, (False, True), strict=True):
        runs = dict(grouped([row for row in rows if row["run"].endswith("-context") == context], ("run",)))
        if runs:
            best[label] = max(runs.values(), key=lambda of_run: over(of_run, "average")[0])
    return best


def curves_of(rows):
    """Split the rows of a stream into curves: learners, the better window of neighbours, plain and in context."""
    learned = grouped([row for row in rows if "-window" not in row["run"]], ("run",))
    windows = best_of([row for row in rows if "-window" in row["run"]], (PLAIN, AROUND))
    return {run: of_run for (run,), of_run in learned} | windows


def lines_of(rows):
    """Return label to average AUC of the best cosine over the whole past, plain and in context."""
    best = best_of([row for row in rows if row["run"].startswith("nearest")], (WHOLE, WHOLE_CONTEXT))
    return {label: over(of_run, "average")[0] for label, of_run in best.items()}


def _look(label, learned):
    if label in learned:
        return look_of(learned.index(label))
    plain = label == PLAIN
    return {"color": GREY if plain else INK, "marker": "P" if plain else "X", "linestyle": LINES[1 if plain else 2]}


def _panel(axis, rows, lines, learned, column):
    for label, of_curve in curves_of(rows).items():
        if column == "size" and label not in learned:
            continue  # a window has no atoms
        points = [part for _, part in grouped(of_curve, ("size",))]
        x = np.array([np.mean([row[column] for row in part]) for part in points])
        average = np.array([over(part, "average") for part in points])
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
        described(run): (over(part, "entries")[0] / 1000, over(part, "average")[0])
        for (run,), part in grouped(rows, ("run",))
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
    streams = grouped(memory, ("stream",))
    across = min(3, len(streams))
    down = -(-len(streams) // across)
    learned = list(dict.fromkeys(row["run"] for row in memory if "-window" not in row["run"]))
    figure, axes = new_figure(max(4.6, 3.3 * across), 2.9 * down + 1.0, down, across)
    for axis in axes.flat[len(streams) :]:
        axis.axis("off")
    handles = {}
    for axis, ((name,), rows) in zip(axes.flat, streams, strict=False):
        _panel(axis, rows, lines_of([row for row in compared if row["stream"] == name]), learned, column)
        label = "atoms k" if column == "size" else "stored numbers, thousands"
        logarithmic(axis, "x")
        axis.set(title=name, xlabel=label)
        if column == "size":
            axis.minorticks_off()
            axis.set_xticks(sorted({row["size"] for row in rows if row["run"] in learned}))
            axis.xaxis.set_major_formatter("{x:g}")
        if column == "entries":
            of_stream = [row for row in others if row["stream"] == name]
            for (method, point), marker in zip(points_of(of_stream).items(), "*DvhdHp<>", strict=False):
                axis.plot(*point, label=method, color=GREY, marker=marker, markersize=6, linestyle="none", zorder=3)
            _decades(axis)
        handles |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    for axis in axes[:, 0]:
        axis.set_ylabel("average AUC")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=min(across, 3))
    despine(figure)
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
    streams, runs = grouped(rows, ("stream",)), dict.fromkeys(row["run"] for row in rows)
    figure, axes = new_figure(7.4, 1.9 * len(streams) + 0.9, len(streams), 2, sharex="row")
    for pair, ((name,), of_stream) in zip(axes, streams, strict=True):
        points = dict(grouped(of_stream, ("run", "scores", "t")))
        for axis, kind in zip(pair, ("raw", "calibrated"), strict=True):
            for position, run in enumerate(runs):
                times = sorted(t for one, scores, t in points if (one, scores) == (run, kind))
                means = [over(points[run, kind, t], "mean")[0] for t in times]
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
    return legend_below(figure, 2)
