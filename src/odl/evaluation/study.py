"""Tables of a study: means and spread over seeds, novel documents per batch, time and memory.

A *plan* is a list of dicts. It has a dict for each combination of run, number of atoms and seed,
and one with ``algorithm: baseline`` for each combination of corpus and seed. The keys are:

    corpus, reader, protocol : str     the stream; reader "tdt2" adds the published rows
    seed : int
    run, algorithm : str               name and learner; "baselines", "baseline" for baselines
    k : int or None                    atoms at the start; None for baselines
    parameters : dict                  hyper-parameters and weighting of the run, {} for baselines
    folder : str                       contains auc.tsv, summary.tsv, scores/, timings/, benchmarks/
    timesteps : list of int            0 to T - 1
"""

import csv
import json
import os
import reprlib
from pathlib import Path

import numpy as np
import pandas

from odl.errors import ConfigError
from odl.evaluation.averages import AUC_COLUMNS, mean
from odl.evaluation.averages import SUMMARY_COLUMNS as RUN_COLUMNS
from odl.files.tables import read_json, read_table, write_json, write_table

BASELINE = "baseline"


PLAN_KEYS = (
    "corpus",
    "reader",
    "protocol",
    "run",
    "algorithm",
    "folder",
    "seed",
    "k",
    "parameters",
    "timesteps",
)
RUN_KEY = ("corpus", "run", "algorithm", "k")


def load_plan(plan):
    """Return a valid plan, given as a list or as the path of a file that `write_plan` wrote.

    Raises
    ------
    ConfigError
        If the plan is not a list of dicts, is empty, or an entry lacks a key.
    StorageError
        If the file is missing or damaged.
    """
    if isinstance(plan, str | os.PathLike):
        plan = read_json(plan).get("plan")
    if not isinstance(plan, list | tuple) or not all(isinstance(entry, dict) for entry in plan):
        raise ConfigError(
            f"the plan is {reprlib.repr(plan)}",
            "a list of dicts",
            "write the plan again: `odl step plan`",
        )
    if not plan:
        raise ConfigError(
            "the plan has no runs",
            "at least one run",
            "select runs and streams in the configuration",
        )
    for entry in plan:
        if missing := [name for name in PLAN_KEYS if name not in entry]:
            raise ConfigError(
                f"a run of the plan lacks {', '.join(missing)}",
                f"the keys {', '.join(PLAN_KEYS)}",
                "write the plan again: `odl step plan`",
            )
    return plan


def parameters_text(parameters):
    """Return the parameters of a run as JSON with sorted keys."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"))


def write_plan(path, plan):
    """Write a plan as JSON, atomically and with sorted keys."""
    write_json(path, {"plan": json.loads(json.dumps(load_plan(plan), sort_keys=True))})


def score_path(entry, t):
    """Return the path of the score file of an entry of the plan at timestep t."""
    inner = () if entry["algorithm"] == BASELINE else ("scores",)
    return os.path.join(entry["folder"], *inner, f"{t}.h5")


def choose_shown(plan, summary, corpus, shown=None):
    """Choose the run of a corpus that the report shows in detail.

    Parameters
    ----------
    plan : list of dict
    summary : list of dict
        Rows of ``summary.tsv``.
    corpus : str
    shown : dict, optional
        Conditions on the entry of the plan: ``run``, ``k``, ``seed``, and ``runs``, a list of
        candidates. Of several matching entries, the first with the best average AUC over seeds is
        chosen. If it is equal, the AUC averaged over all batches decides.

    Returns
    -------
    dict
        Entry of the plan.

    Raises
    ------
    ConfigError
        If no entry matches.
    """
    shown = {name: value for name, value in (shown or {}).items() if value not in (None, "")}
    candidates = shown.pop("runs", None)
    entries = [
        entry
        for entry in plan
        if entry["corpus"] == corpus
        and entry["algorithm"] != BASELINE
        and (not candidates or entry["run"] in candidates)
    ]
    matching = [
        entry for entry in entries if all(entry[name] == value for name, value in shown.items())
    ]
    if not matching:
        wanted = ", ".join(f"{name} {value}" for name, value in shown.items())
        names = sorted({f"{entry['run']} (k {entry['k']})" for entry in entries})
        runs = ", ".join(names) or "a run of a learner"
        raise ConfigError(
            f"no run of {corpus} matches the report settings ({wanted or 'any run'})",
            f"one of {runs}",
            "correct the report settings",
        )
    rows = {(row["run"], row["k"]): row for row in summary if row["corpus"] == corpus}

    def averages(entry):
        row = rows.get((entry["run"], entry["k"]), {})
        values = (row.get(name, np.nan) for name in ("average_mean", "average_all_mean"))
        return [-1.0 if np.isnan(value) else value for value in values]

    return max(matching, key=averages)  # among equals the first of the plan


# AUC on TDT2 at timesteps 1, 2, 5, 6 and 8, for batches of 1000 documents, and its average.
_SOURCE = "NIPS 2012, table 1, as recalled, not checked against the paper's print"
PUBLISHED_AUC = {
    "tdt2": [
        {
            "run": name,
            "auc": dict(zip((1, 2, 5, 6, 8), values, strict=True)),
            "average": average,
            "source": _SOURCE,
        }
        for name, values, average in (
            ("ONLINE (OIADMM)", (0.791, 0.694, 0.732, 0.881, 0.757), 0.771),
            ("BATCH-IMPL", (0.815, 0.704, 0.764, 0.898, 0.760), 0.788),
            ("L2-BATCH", (0.674, 0.586, 0.601, 0.816, 0.701), 0.676),
        )
    ]
}

STATISTICS = ("mean", "sd", "min", "max")


def over_seeds(*measures):
    """Return the column names for mean, sd, min and max of each measure."""
    return [f"{measure}_{name}" for measure in measures for name in STATISTICS]


MEASURES = ("average", "average_all", "pooled")
WITH_INTERVALS = (
    "average",
    "low",
    "high",
    "timesteps_all",
    "average_all",
    "pooled",
    "pooled_low",
    "pooled_high",
)
RUN_SETTINGS = ("corpus", "protocol", "run", "algorithm", "k", "parameters")
BATCH_COLUMNS = ("first_time", "last_time", "seeds")
SPENT = ("score_cpu_s", "learn_cpu_s", "job_cpu_s")
STUDY_COLUMNS = {
    "averages": (*RUN_SETTINGS, "seed", "timesteps", *WITH_INTERVALS, "uncoded", "gap"),
    "summary": (*RUN_SETTINGS, "seeds", "timesteps", *over_seeds(*MEASURES), "uncoded", "gap"),
    "timesteps": (
        *RUN_KEY,
        "t",
        *BATCH_COLUMNS,
        "seeds_listed",
        *over_seeds("auc"),
        "novel",
        "known",
        "uncoded",
    ),
    "novel": (
        "corpus",
        "t",
        *BATCH_COLUMNS,
        "documents",
        *over_seeds("novel"),
        "known",
        "unlabelled",
        "empty",
        "seeds_listed",
    ),
    "published": ("corpus", "run", "t1", "t2", "t5", "t6", "t8", "average", "source"),
    "timing": (*RUN_KEY, "jobs", *SPENT, "start_cpu_s", "wall_s", "max_rss_mb"),
    "costs": (*RUN_KEY, "t", *SPENT),
}


# columns that `collect` adds from the plan
PLAN_COLUMNS = ("corpus", "protocol", "algorithm", "seed", "k", "parameters")


def collect(plan, name, columns):
    """Read the table `name` of every run of a plan; return all rows, extended by `PLAN_COLUMNS`."""
    rows = []
    for entry in plan:
        columns_of_plan = {column: entry[column] for column in PLAN_COLUMNS}
        columns_of_plan |= {"k": "" if entry["k"] is None else entry["k"]}
        columns_of_plan |= {"parameters": parameters_text(entry["parameters"])}
        table = read_table(os.path.join(entry["folder"], name), columns)
        rows += [{**row, **columns_of_plan} for row in table]
    return rows


def aggregate(rows, keys, sort=False, **measures):
    """Aggregate each group of rows with equal values in the columns `keys`.

    Parameters
    ----------
    rows : pandas.DataFrame
    keys : sequence of str
    sort : bool
        Whether groups are sorted by their keys. By default they are in the order of their rows.
    **measures
        Column of the result -> (column of `rows`, aggregation), as in pandas.

    Returns
    -------
    list of dict
        A row for each group, with its keys and measures.
    """
    if rows.empty:
        return []
    groups = rows.groupby(list(keys), sort=sort)
    return groups.agg(**measures).reset_index().to_dict("records")


def means_of(*names):
    """Return the argument `measures` of `aggregate` for the mean of each column, ignoring nan."""
    return {name: (name, "mean") for name in names}


def spread_of(column, name=None):
    """Return the argument `measures` of `aggregate` for mean, sd, min and max of a column.

    All measures ignore nan. The names of the columns begin with `name`, by default `column`.
    """
    measures = ((column, aggregation) for aggregation in ("mean", "std", "min", "max"))
    return dict(zip(over_seeds(name or column), measures, strict=True))


# Earliest and latest time of a batch over seeds. The order of documents within a day depends on the
# seed, so the first and last documents of a batch may differ.
TIME_SPAN = {
    "first_time": ("first_time", lambda times: min(filter(None, times), default="")),
    "last_time": ("last_time", lambda times: max(filter(None, times), default="")),
}


def _summaries(averages):
    """Return a row for each run: mean and spread of its averages over the seeds."""
    spreads = {key: measure for name in MEASURES for key, measure in spread_of(name).items()}
    measured = {
        "seeds": ("seed", "size"),
        **means_of("timesteps", "uncoded"),
        **spreads,
        "gap": ("gap", "max"),
    }
    return aggregate(averages, RUN_SETTINGS, **measured)


def _timesteps(rows):
    """Return a row for each run and timestep: mean and spread of the AUC over the seeds."""
    seeds = {"seeds": ("auc", "count"), "seeds_listed": ("listed", "sum")}
    measured = spread_of("auc") | means_of("novel", "known", "uncoded")
    return aggregate(rows, (*RUN_KEY, "t"), **TIME_SPAN, **seeds, **measured)


def _novel(rows):
    """Return a row for each batch: mean and spread of the number of novel documents over seeds.

    All runs of a seed have the same batches, so one run of each seed is used.
    """
    first = rows.drop_duplicates(["corpus", "t", "seed"]).astype({"novel": float})
    seeds = {"seeds": ("seed", "size"), "seeds_listed": ("listed", "sum")}
    measured = spread_of("novel") | means_of("documents", "known", "unlabelled", "empty")
    return aggregate(first, ("corpus", "t"), sort=True, **TIME_SPAN, **seeds, **measured)


def _benchmark(path, column):
    """Return the numbers in a column of a benchmark file of Snakemake; [] without the file.

    Entries "-" and NA are omitted.
    """
    options = {
        "sep": "\t",
        "dtype": str,
        "encoding_errors": "replace",
        "on_bad_lines": "skip",
        "index_col": False,
    }
    try:
        table = pandas.read_csv(
            path, usecols=lambda name: name == column, quoting=csv.QUOTE_NONE, **options
        )
    except (FileNotFoundError, pandas.errors.EmptyDataError):
        return []
    if column not in table:
        return []
    return pandas.to_numeric(table[column], errors="coerce").dropna().tolist()


def _jobs(plan):
    """Return a table with CPU seconds by phase, wall seconds and memory of each job.

    A job is one timestep of one run. If timings or benchmarks are missing, values are nan.
    """
    rows = []
    for entry in plan:
        run = {name: entry[name] for name in RUN_KEY}
        run["k"] = "" if entry["k"] is None else entry["k"]
        for t in entry["timesteps"]:
            row = {**run, "t": t}
            timings = Path(entry["folder"], "timings", f"{t}.tsv")
            if timings.exists():
                for phase in read_table(timings, ("cpu_s",)):
                    row[f"{phase['phase']}_cpu_s"] = phase["cpu_s"]
            benchmark = Path(entry["folder"], "benchmarks", f"{t}.tsv")
            row["wall_s"] = mean(_benchmark(benchmark, "s"))
            row["max_rss_mb"] = max(_benchmark(benchmark, "max_rss"), default=float("nan"))
            rows.append(row)
    return pandas.DataFrame(rows, columns=[*RUN_KEY, "t", *STUDY_COLUMNS["timing"][5:]])


def _timing(jobs):
    """Return a row for each run: mean times over timesteps and seeds, and largest memory of a job.

    The time of timestep 0, which learns the initial dictionary, is ``start_cpu_s``.
    """
    later, spent = jobs["t"] > 0, ["score_cpu_s", "learn_cpu_s", "job_cpu_s", "wall_s"]
    table = jobs.assign(later=later, start_cpu_s=jobs["start_cpu_s"].where(~later))
    table[spent] = table[spent].where(later, axis=0)
    measured = means_of(*spent, "start_cpu_s") | {"max_rss_mb": ("max_rss_mb", "max")}
    return aggregate(table, RUN_KEY, jobs=("later", "sum"), **measured)


def _costs(jobs):
    """Return a row for each run and timestep, except baselines: mean CPU seconds over seeds."""
    later = jobs[(jobs["t"] > 0) & (jobs["algorithm"] != BASELINE)]
    return aggregate(later, (*RUN_KEY, "t"), **means_of("score_cpu_s", "learn_cpu_s", "job_cpu_s"))


def published(plan):
    """Return published results for the streams of the plan.

    Returns
    -------
    list of dict
        Keys corpus, run, average, source and auc, a dict of timestep -> AUC. A timestep of the
        paper is a batch of 1000 documents in the order of their dates.
    """
    streams = {entry["corpus"]: entry for entry in plan if entry["protocol"] == "by-date"}
    return [
        {"corpus": name, **row}
        for name, entry in streams.items()
        for row in PUBLISHED_AUC.get(entry["reader"], [])
    ]


def summarise(plan, output_folder):
    """Compute the tables of a study from the results of its runs, and write them.

    Parameters
    ----------
    plan : list of dict or path-like
        The folder of each entry must have ``auc.tsv`` and ``summary.tsv``. Timings and benchmarks
        may be missing.
    output_folder : path-like
        Folder for ``summary.tsv`` (mean, sd, min and max over seeds for each corpus, run and k),
        ``averages.tsv`` (a row for each seed), ``timesteps.tsv``, ``novel.tsv`` (novel documents of
        each batch), ``published.tsv``, ``timing.tsv`` and ``costs.tsv`` (CPU seconds of each
        timestep). The bytes of all except the last two are reproducible.

    Raises
    ------
    ConfigError
        If the plan is not valid.
    StorageError
        If the plan or a table is missing or was changed.
    """
    plan = load_plan(plan)
    averages = collect(plan, "summary.tsv", RUN_COLUMNS)
    rows = collect(plan, "auc.tsv", AUC_COLUMNS)
    by_seed, by_timestep = (
        pandas.DataFrame(table, columns=[*names, *PLAN_COLUMNS])
        for table, names in ((averages, RUN_COLUMNS), (rows, AUC_COLUMNS))
    )
    jobs = _jobs(plan)
    published_rows = [
        {**row, **{f"t{t}": value for t, value in row["auc"].items()}} for row in published(plan)
    ]
    tables = {
        "averages": averages,
        "summary": _summaries(by_seed),
        "timesteps": _timesteps(by_timestep),
        "novel": _novel(by_timestep),
        "published": published_rows,
        "timing": _timing(jobs),
        "costs": _costs(jobs),
    }
    for name, columns in STUDY_COLUMNS.items():
        write_table(os.path.join(output_folder, f"{name}.tsv"), tables[name], columns)


def read_tables(folder):
    """Read the tables that `summarise` wrote; return {name: list of rows}."""
    return {
        name: read_table(os.path.join(folder, f"{name}.tsv"), STUDY_COLUMNS[name])
        for name in STUDY_COLUMNS
    }
