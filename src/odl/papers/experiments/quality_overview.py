"""Pictures and tables over all the streams that runs of `quality` measured; quick, so it can be drawn again alone."""

import os

from odl.errors import DataError
from odl.evaluation.means import grouped
from odl.files.tables import read_table, write_table
from odl.papers import qualityplots
from odl.papers.qualityplots import CONTEXT, described, named, over
from odl.report import plots
from odl.report.page import mean_sd, number

TITLE = "Learners of bounded memory and nearest neighbours"
TAKES, ALGORITHMS = ("experiments",), ()
SETTINGS = {"shown": {"type": "array", "items": {"type": "string", "minLength": 1}, "default": []}}
TABLES = ("table", "pairs", "memory", "ablation", "alerts", "drift", "cost", "rivals", "sizes")


def run(settings, folder, files):
    """Gather the tables of the folders, and draw them.

    Raises
    ------
    DataError
        If a stream to show was not measured.
    """
    tables = {name: [] for name in TABLES}
    for name, rows in tables.items():
        for path in filter(os.path.exists, (os.path.join(place, f"{name}.tsv") for place in files)):
            rows += read_table(path, delete=os.path.dirname(path))
    streams = {row["stream"] for row in tables["memory"]}
    for name in settings["shown"]:
        if name not in streams:
            expected = "one of " + ", ".join(sorted(streams)) if streams else "streams with the part memory"
            raise DataError(f"quality_overview: shown names '{name}'", expected, "correct it or measure its memory")
    for name, rows in tables.items():
        if rows:
            write_table(os.path.join(folder, f"{name}.tsv"), rows)
    memory, compared, figures = tables["memory"], tables["table"], {}
    if settings["shown"]:
        claimed = [row for name in settings["shown"] for row in memory if row["stream"] == name]
        figures["claim"] = qualityplots.curves(claimed, compared)
    if streams:
        figures["memory"] = qualityplots.curves(memory, compared, others=tables["rivals"])
        figures["atoms"] = qualityplots.curves(memory, compared, "size")
    if tables["drift"]:
        figures["drift"] = qualityplots.drift(tables["drift"])
    for name, figure in figures.items():
        plots.save(figure, os.path.join(folder, name))


def shown(tables):
    """Return the values of the page: of each table its further headers and its rows, of every figure that it is there.

    Parameters
    ----------
    tables : dict of str to list of dict
        Those of `TABLES` that were measured.
    """
    tables = {name: tables.get(name, []) for name in TABLES}
    sizes = sorted({row["size"] for row in tables["sizes"]})
    budgets = [key.removeprefix("alerts_") for key in (tables["alerts"] or [{}])[0] if key.startswith("alerts_")]
    columns = ("precision at {}", "alerts at {}", "on known", "missed", "topics found")
    streams = {name: list(dict.fromkeys(row["stream"] for row in tables[name])) for name in ("table", "ablation")}
    return {
        "averages": (streams["table"], averages(tables["table"])),
        "pairs": by_stream(tables["pairs"], _paired),
        "compared": by_stream(tables["table"], _compared),
        "competing": by_stream(tables["rivals"], _competing),
        "sizes": ([f"batches of {size}" for size in sizes], by_stream(tables["sizes"], _sized, sizes)),
        "ablation": (streams["ablation"], averages(tables["ablation"])),
        "alerts": (
            [column.format(f"{100 * float(budget):g} %") for budget in budgets for column in columns],
            by_stream(tables["alerts"], _alerting, budgets),
        ),
        "cost": [
            [f"{run}, {name}", f"{part[0]['timesteps']}", *_means(part, "ms", "first_third", "last_third")]
            for (name, run), part in grouped(tables["cost"], ("stream", "run"))
        ],
    }


def by_stream(rows, cells_of, *columns):
    """Return the rows of a table: what is said of each stream, below its name where there are several."""
    lines, streams = [], grouped(rows, ("stream",))
    for (name,), part in streams:
        lines += [[name]] if len(streams) > 1 else []
        lines += cells_of(part, *columns)
    return lines


def averages(rows):
    """Return runs by streams: mean and spread of the average AUC."""
    streams, cells = dict.fromkeys(row["stream"] for row in rows), dict(grouped(rows, ("run", "stream")))
    runs = dict.fromkeys(row["run"] for row in rows)
    return [[named(run), *(mean_sd(*over(cells.get((run, name), []), "average")) for name in streams)] for run in runs]


def _means(rows, *columns, form=".3f"):
    return [number(over(rows, column)[0], form) for column in columns]


def _paired(rows):
    """Runs against the best method of the same kind, over all seeds."""
    for (run,), pairs in grouped(rows, ("run",)):
        cells = [run, number(pairs[0]["average"])]
        for row in pairs:
            difference, low, high = (number(row[column], "+.3f") for column in ("difference", "low", "high"))
            cells += [f"{named(row['best'])}: {number(row['other'])}", f"{difference} ({low} to {high})"]
        yield cells


def _compared(rows):
    """Average AUC of runs and cosines, and differences to the best cosine."""
    for (run,), runs in grouped(rows, ("run",)):
        difference, low, high = _means(runs, "difference", "low", "high", form="+.3f")
        above, below = sum(row["low"] > 0 for row in runs), sum(row["high"] < 0 for row in runs)
        counts = f"{above} / {below} / {len(runs)}"
        yield [named(run), mean_sd(*over(runs, "average")), difference, f"{low} to {high}", counts]


def _competing(rows):
    """Other methods: quality plain and in the contexts, what they store, and time."""
    runs = dict(grouped(rows, ("run",)))
    for (run,), plain in runs.items():
        if not CONTEXT.search(run):
            parts = [plain, *(runs.get((f"{run}-{kind}-context",), []) for kind in ("levels", "adaptive"))]
            cells = [mean_sd(*over(part, "average")) for part in parts]
            yield [described(run), *cells, f"{over(plain, 'entries')[0] / 1000:,.0f}", *_means(plain, "ms")]


def _sized(rows, sizes):
    """Quality in batches of other sizes, and how many documents are novel."""
    cells = dict(grouped(rows, ("run", "size")))
    for run in dict.fromkeys(row["run"] for row in rows):
        yield [named(run), *(mean_sd(*over(cells.get((run, size), []), "pooled")) for size in sizes)]
    novel = [over([row for row in rows if row["size"] == size], "novel")[0] for size in sizes]
    yield ["novel documents", *(number(value, ".0f") for value in novel)]


def _alerting(rows, budgets):
    """Alerts within budgets, raw and calibrated."""
    for (run, kind), runs in grouped(rows, ("run", "scores")):
        cells = _means(runs, "cost")
        for budget in budgets:
            cells += _means(runs, *(f"{column}_{budget}" for column in ("precision", "alerts", "false")))
            cells += _means(runs, f"missed_{budget}", form=".0f") + _means(runs, f"topics_found_{budget}", form=".2f")
        yield [f"{named(run)}, {kind}", *cells]
