"""Figures and tables over all streams of `quality` experiments."""

import os
import re

import numpy as np
from matplotlib.ticker import LogLocator

from odl.errors import DataError
from odl.evaluation.averages import grouped, spread
from odl.files.tables import read_table
from odl.papers import rivals
from odl.papers.experiments import write
from odl.report.page import mean_sd, number
from odl.report.plots import (
    GREY,
    INK,
    LINE_STYLES,
    despine,
    logarithmic,
    look_of,
    new_figure,
    style,
)

TITLE = "Learners of bounded memory and nearest neighbours"
TAKES, ALGORITHMS = ("experiments",), ()
SETTINGS = {"shown": {"type": "array", "items": {"type": "string", "minLength": 1}, "default": []}}
QUALITY_TABLES = ("table", "pairs", "memory", "ablation", "rivals", "sizes")
CONTEXT = re.compile("-(levels|adaptive)-context$")
# Labels of the best nearest neighbours in a window or among all earlier documents, if documents are
# scored separately (plain) or with batch peers (context).
WINDOW_PLAIN, WINDOW_CONTEXT = "nearest documents, window", "nearest documents, window, whole batch"
PAST_PLAIN = "nearest documents, whole past"
PAST_CONTEXT = f"{PAST_PLAIN}, whole batch"


def run(settings, folder, files):
    """Join the tables of several `quality` experiments, and draw average AUC against memory.

    The results are the joined `QUALITY_TABLES`, the figure ``memory`` of all streams, and the
    figure ``claim`` of the streams in the setting `shown`. Folders may lack tables.

    Parameters
    ----------
    settings : dict
    folder : path-like
        Folder to write to.
    files : list of path-like
        Folders of finished `quality` experiments.

    Raises
    ------
    DataError
        If the part "memory" of a stream in `shown` was not measured.
    """
    tables = {name: [] for name in QUALITY_TABLES}
    for name, rows in tables.items():
        paths = (os.path.join(folder_of, f"{name}.tsv") for folder_of in files)
        for path in filter(os.path.exists, paths):
            rows += read_table(path, delete=os.path.dirname(path))
    streams = sorted({row["stream"] for row in tables["memory"]})
    for name in settings["shown"]:
        if name not in streams:
            raise DataError(
                f"the setting shown of the experiment names '{name}'",
                f"one of {', '.join(streams)}" if streams else "streams with the part memory",
                "correct the name, or measure the part memory of the stream",
            )
    memory, compared, figures = tables["memory"], tables["table"], {}
    if settings["shown"]:
        shown_rows = [row for name in settings["shown"] for row in memory if row["stream"] == name]
        figures["claim"] = curves(shown_rows, compared)
    if streams:
        figures["memory"] = curves(memory, compared, others=tables["rivals"])
    write(folder, tables, figures)


def shown(tables):
    """Return the values for the template: column names and rows of each table.

    Parameters
    ----------
    tables : dict of str to list of dict
        The existing tables of `QUALITY_TABLES`.
    """
    tables = {name: tables.get(name, []) for name in QUALITY_TABLES}
    sizes = sorted({row["size"] for row in tables["sizes"]})
    streams = {
        name: list(dict.fromkeys(row["stream"] for row in tables[name]))
        for name in ("table", "ablation")
    }
    return {
        "averages": (streams["table"], averages(tables["table"])),
        "pairs": by_stream(tables["pairs"], _paired),
        "competing": by_stream(tables["rivals"], _competing),
        "sizes": (
            [f"batches of {size}" for size in sizes],
            by_stream(tables["sizes"], _sized, sizes),
        ),
        "ablation": (streams["ablation"], averages(tables["ablation"])),
    }


def by_stream(rows, cells_of, *columns):
    """Return rows of cells of all streams, with their names if there are several streams."""
    lines, streams = [], grouped(rows, ("stream",))
    for (name,), part in streams:
        lines += [[name]] if len(streams) > 1 else []
        lines += cells_of(part, *columns)
    return lines


def averages(rows):
    """Return a row for each run: mean and standard deviation of the average AUC on each stream."""
    streams = dict.fromkeys(row["stream"] for row in rows)
    cells = dict(grouped(rows, ("run", "stream")))
    runs = dict.fromkeys(row["run"] for row in rows)
    return [
        [
            describe_run(run),
            *(mean_sd(*spread_over(cells.get((run, name), []), "average")) for name in streams),
        ]
        for run in runs
    ]


def _paired(rows):
    """Yield a row for each run: average AUC, best other methods, differences and intervals."""
    for (run,), pairs in grouped(rows, ("run",)):
        cells = [run, number(pairs[0]["average"])]
        for row in pairs:
            difference, low, high = (
                number(row[column], "+.3f") for column in ("difference", "low", "high")
            )
            cells.append(f"{describe_run(row['best'])}: {number(row['other'])}")
            cells.append(f"{difference} ({low} to {high})")
        yield cells


def _competing(rows):
    """Yield a row for each rival method: AUC without and with batch peers, memory and time."""
    runs = {run: of_run for (run,), of_run in grouped(rows, ("run",))}
    for run, plain in runs.items():
        if CONTEXT.search(run):
            continue
        with_peers = [runs.get(f"{run}-{kind}-context", []) for kind in ("levels", "adaptive")]
        cells = [mean_sd(*spread_over(part, "average")) for part in (plain, *with_peers)]
        stored, ms = (spread_over(plain, column)[0] for column in ("entries", "ms"))
        yield [describe_method(run), *cells, f"{stored / 1000:,.0f}", number(ms, ".3f")]


def _sized(rows, sizes):
    """Yield a row for each run with its AUC by batch size, then the numbers of novel documents."""
    cells = dict(grouped(rows, ("run", "size")))
    for run in dict.fromkeys(row["run"] for row in rows):
        spreads = (spread_over(cells.get((run, size), []), "pooled") for size in sizes)
        yield [describe_run(run), *(mean_sd(*values) for values in spreads)]
    by_size = dict(grouped(rows, ("size",)))
    novel = (spread_over(by_size.get((size,), []), "novel")[0] for size in sizes)
    yield ["novel documents", *(number(value, ".0f") for value in novel)]


def spread_over(rows, column):
    """Return (mean, standard deviation) of a column over rows, ignoring nan."""
    return spread([row[column] for row in rows])


def describe_method(run):
    """Return the description of a rival method, or the name of a run."""
    return rivals.RIVALS[run].WORDS if run in rivals.RIVALS else run


def describe_run(run):
    """Return a description of a run in words."""
    text, context = CONTEXT.sub("", run), CONTEXT.search(run)
    words = describe_method(text)
    for start, kind in (("nearest5-", "5 nearest documents, "), ("nearest-", "nearest document, ")):
        if text.startswith(start) and words == text:
            words = kind + text.removeprefix(start)
            words = words.replace("tfidf", "tf-idf").replace("logtf", "log tf-idf")
            words = words.replace("-window", ", last ").replace("-half-life", ", half-life ")
    return f"{words}, whole batch as {context[1]}" if context else words


def best_of(rows, labels):
    """Return {label: rows of the best run} for runs without and with batch peers.

    Parameters
    ----------
    rows : list of dict
    labels : (str, str)
        Label of the best run without batch peers, and of the best run with batch peers. The best
        run has the largest mean average AUC. A label without runs is omitted.
    """
    best = {}
    for label, context in zip(labels, (False, True), strict=True):
        of_kind = [row for row in rows if row["run"].endswith("-context") == context]
        if runs := dict(grouped(of_kind, ("run",))):
            best[label] = max(runs.values(), key=lambda of_run: spread_over(of_run, "average")[0])
    return best


def curves_of(rows):
    """Return {label: rows} of the curves of a stream.

    These are a curve for each learner, labelled with the name of its run, and two curves for the
    best nearest neighbours in a window of earlier documents (`best_of`).
    """
    window_rows = [row for row in rows if "-window" in row["run"]]
    learner_rows = [row for row in rows if "-window" not in row["run"]]
    learners = {run: run_rows for (run,), run_rows in grouped(learner_rows, ("run",))}
    return learners | best_of(window_rows, (WINDOW_PLAIN, WINDOW_CONTEXT))


def lines_of(rows):
    """Return {label: average AUC} of the best nearest neighbours among all earlier documents."""
    best = best_of(
        [row for row in rows if row["run"].startswith("nearest")], (PAST_PLAIN, PAST_CONTEXT)
    )
    return {label: spread_over(of_run, "average")[0] for label, of_run in best.items()}


def _look(label, learned):
    """Return colour, marker and line style of a curve; neighbours are grey or black."""
    if label in learned:
        return look_of(learned.index(label))
    plain = label == WINDOW_PLAIN
    return {
        "color": GREY if plain else INK,
        "marker": "P" if plain else "X",
        "linestyle": LINE_STYLES[1 if plain else 2],
    }


def _panel(axis, rows, lines, learned):
    """Draw the curves of a stream (`curves_of`) and its horizontal lines (`lines_of`)."""
    for label, of_curve in curves_of(rows).items():
        points = [part for _, part in grouped(of_curve, ("size",))]
        x = np.array([np.mean([row["entries"] for row in part]) for part in points])
        average = np.array([spread_over(part, "average") for part in points])
        order = np.argsort(x)
        axis.errorbar(x[order] / 1000, average[order, 0], label=label, capsize=2.5,
                      yerr=np.nan_to_num(average[order, 1]), markersize=5, linewidth=1.5,
                      **_look(label, learned))  # fmt: skip
    for (label, value), colour, line in zip(
        lines.items(), (GREY, INK), (LINE_STYLES[4], LINE_STYLES[3]), strict=False
    ):
        axis.axhline(value, label=label, color=colour, linestyle=line, linewidth=1.1, zorder=0)


def _decades(axis):
    """Set the ticks of a logarithmic x axis so that their labels do not overlap."""
    low, high = axis.get_xlim()
    n_decades = np.log10(high / low)
    if n_decades < 1.6:
        ticks = (1, 2, 5)
    elif n_decades < 2.2:
        ticks = (1, 3)
    else:
        ticks = (1,)
    axis.xaxis.set_major_locator(LogLocator(subs=ticks))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()


def points_of(rows):
    """Return {description: (stored numbers in thousands, average AUC)} of the rival methods.

    Both numbers are means over seeds.
    """
    points = {}
    for (run,), part in grouped(rows, ("run",)):
        if not run.endswith("-context"):
            entries, average = (spread_over(part, name)[0] for name in ("entries", "average"))
            points[describe_method(run)] = entries / 1000, average
    return points


@style()
def curves(memory, compared=(), others=()):
    """Draw average AUC against memory with a panel for each stream, mean and deviation over seeds.

    Parameters
    ----------
    memory : list of dict
        Rows of the curves, with stream, seed, run, size, entries and average.
    compared : list of dict
        Rows with stream, seed, run and average. Nearest neighbours among all earlier documents are
        drawn as horizontal lines.
    others : list of dict
        Rows of rival methods, which are drawn as points, with stream, seed, run, entries and
        average.

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
        _panel(axis, rows, lines_of([row for row in compared if row["stream"] == name]), learned)
        logarithmic(axis, "x")
        axis.set(title=name, xlabel="stored numbers, thousands")
        of_stream = [row for row in others if row["stream"] == name]
        for (method, point), marker in zip(points_of(of_stream).items(), "*DvhdHp<>", strict=False):
            look = {"color": GREY, "marker": marker, "markersize": 6, "linestyle": "none"}
            axis.plot(*point, label=method, zorder=3, **look)
        _decades(axis)
        handles |= {
            label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
    for axis in axes[:, 0]:
        axis.set_ylabel("average AUC")
    close = {"fontsize": 8, "columnspacing": 1.0} if len(handles) > 9 else {}
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=min(across, 3), **close
    )
    despine(figure)
    return figure
