"""Gather the runs of a study: means and spread over seeds, novel documents per batch, time and memory."""

import csv
import os
from pathlib import Path

import numpy as np

from odl.evaluation.averages import AUC_COLUMNS
from odl.evaluation.averages import SUMMARY_COLUMNS as RUN_COLUMNS
from odl.evaluation.means import STATISTICS, grouped, mean, statistics
from odl.evaluation.plan import BASELINE, KEY, load_plan, parameters_text
from odl.files.tables import read_table, write_table

# Average AUC on TDT2 at timesteps 1, 2, 5, 6, 8 (batches of 1000, the first for initialisation).
_SOURCE = "NIPS 2012, table 1, as recalled, not checked against the paper's print"
PUBLISHED = {
    "tdt2": [
        {"run": name, "auc": dict(zip((1, 2, 5, 6, 8), values, strict=True)), "average": average, "source": _SOURCE}
        for name, values, average in (
            ("ONLINE (OIADMM)", (0.791, 0.694, 0.732, 0.881, 0.757), 0.771),
            ("BATCH-IMPL", (0.815, 0.704, 0.764, 0.898, 0.760), 0.788),
            ("L2-BATCH", (0.674, 0.586, 0.601, 0.816, 0.701), 0.676),
        )
    ]
}

AVERAGE_COLUMNS = ("corpus", "protocol", "run", "algorithm", "k", "parameters", "seed", "timesteps", "average", "low")
AVERAGE_COLUMNS += ("high", "timesteps_all", "average_all", "pooled", "pooled_low", "pooled_high", "uncoded", "gap")
MEASURES = ("average", "average_all", "pooled")
SUMMARY_COLUMNS = ("corpus", "protocol", "run", "algorithm", "k", "parameters", "seeds", "timesteps")
SUMMARY_COLUMNS += tuple(f"{measure}_{name}" for measure in MEASURES for name in STATISTICS)
SUMMARY_COLUMNS += ("uncoded", "gap")
TIMESTEP_COLUMNS = ("corpus", "run", "algorithm", "k", "t", "first_time", "last_time", "seeds", "seeds_listed")
TIMESTEP_COLUMNS += ("auc_mean", "auc_sd", "auc_min", "auc_max", "novel", "known", "uncoded")
NOVEL_COLUMNS = ("corpus", "t", "first_time", "last_time", "seeds", "documents", "novel_mean", "novel_sd", "novel_min")
NOVEL_COLUMNS += ("novel_max", "known", "unlabelled", "empty", "seeds_listed")
TIMING_COLUMNS = ("corpus", "run", "algorithm", "k", "jobs", "score_cpu_s", "learn_cpu_s", "job_cpu_s", "start_cpu_s")
TIMING_COLUMNS += ("wall_s", "max_rss_mb")
COST_COLUMNS = ("corpus", "run", "algorithm", "k", "t", "score_cpu_s", "learn_cpu_s", "job_cpu_s")
PUBLISHED_COLUMNS = ("corpus", "run", "t1", "t2", "t5", "t6", "t8", "average", "source")
COLUMNS = {
    "averages": AVERAGE_COLUMNS,
    "summary": SUMMARY_COLUMNS,
    "timesteps": TIMESTEP_COLUMNS,
    "novel": NOVEL_COLUMNS,
    "published": PUBLISHED_COLUMNS,
    "timing": TIMING_COLUMNS,
    "costs": COST_COLUMNS,
}


def _with_entry(entry, row):
    k = entry["k"] if entry["k"] is not None else ""
    shared = {name: entry[name] for name in ("corpus", "protocol", "algorithm", "seed")}
    return {**row, **shared, "k": k, "parameters": parameters_text(entry["parameters"])}


def collect(plan, name, columns):
    """Return the rows of a table of every run of a plan, with what the plan says of the run."""
    return [
        _with_entry(entry, row) for entry in plan for row in read_table(os.path.join(entry["folder"], name), columns)
    ]


def _summaries(averages):
    return [
        {
            **{name: rows[0][name] for name in ("corpus", "protocol", "run", "algorithm", "k", "parameters")},
            "seeds": len(rows),
            "timesteps": mean([row["timesteps"] for row in rows]),
            **{key: value for name in MEASURES for key, value in statistics([r[name] for r in rows], name).items()},
            "uncoded": mean([row["uncoded"] for row in rows]),
            "gap": max((row["gap"] for row in rows if not np.isnan(row["gap"])), default=float("nan")),
        }
        for _, rows in grouped(averages, KEY)
    ]


def _span(rows):
    """First and last time of a batch over seeds (orders differ inside a day)."""
    starts, ends = [[row[name] for row in rows if row[name]] for name in ("first_time", "last_time")]
    return {"first_time": min(starts, default=""), "last_time": max(ends, default="")}


def _timesteps(rows):
    return [
        {
            **dict(zip((*KEY, "t"), key, strict=True)),
            **_span(group),
            "seeds": sum(not np.isnan(row["auc"]) for row in group),
            "seeds_listed": sum(row["listed"] for row in group),
            **statistics([row["auc"] for row in group], "auc"),
            **{name: mean([row[name] for row in group]) for name in ("novel", "known", "uncoded")},
        }
        for key, group in grouped(rows, (*KEY, "t"))
    ]


def _novel(rows):
    """Novel documents per batch, from one run of each seed: the batches are the same for all runs."""
    first = {}
    for row in rows:
        first.setdefault((row["corpus"], row["t"], row["seed"]), row)
    return [
        {
            "corpus": corpus,
            "t": t,
            **_span(group),
            "seeds": len(group),
            **statistics([row["novel"] for row in group], "novel"),
            **{name: mean([row[name] for row in group]) for name in ("documents", "known", "unlabelled", "empty")},
            "seeds_listed": sum(row["listed"] for row in group),
        }
        for (corpus, t), group in sorted(grouped(first.values(), ("corpus", "t")))
    ]


def _benchmark(path, column):
    """The numbers of one column of a file that Snakemake wrote; "-", NA and a missing file give none."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    numbers = []
    for row in rows:
        try:
            numbers.append(float(row[column]))
        except (KeyError, TypeError, ValueError):
            continue
    return numbers


def _job(entry, t):
    folder = Path(entry["folder"])
    timings, benchmark = (folder / name / f"{t}.tsv" for name in ("timings", "benchmarks"))
    rows = read_table(timings, ("cpu_s",)) if timings.exists() else []
    phases = {row["phase"]: row["cpu_s"] for row in rows}
    wall, memory = (_benchmark(benchmark, column) for column in ("s", "max_rss"))
    return {
        **{f"{phase}_cpu_s": phases.get(phase, float("nan")) for phase in ("score", "learn", "job", "start")},
        "wall_s": mean(wall),
        "max_rss_mb": max(memory, default=float("nan")),
    }


def _timing(plan):
    """Mean over timesteps and seeds; the start (t = 0) apart, memory as the largest of all jobs."""
    rows = []
    for key, entries in grouped(plan, KEY):
        jobs = [_job(entry, t) for entry in entries for t in entry["timesteps"] if t > 0]
        starts = [_job(entry, t) for entry in entries for t in entry["timesteps"] if t == 0]
        memory = [job["max_rss_mb"] for job in jobs + starts if not np.isnan(job["max_rss_mb"])]
        rows.append(
            {
                **dict(zip(KEY, key, strict=True)),
                "jobs": len(jobs),
                **{name: mean([job[name] for job in jobs]) for name in ("score_cpu_s", "learn_cpu_s", "job_cpu_s")},
                "start_cpu_s": mean([job["start_cpu_s"] for job in starts]),
                "wall_s": mean([job["wall_s"] for job in jobs]),
                "max_rss_mb": max(memory, default=float("nan")),
            }
        )
    return rows


def _costs(plan):
    """CPU seconds of every timestep, mean over seeds; the baselines keep no clock of their own."""
    return [
        {
            **dict(zip((*KEY, "t"), key, strict=True)),
            **{name: mean([job[name] for job in jobs]) for name in ("score_cpu_s", "learn_cpu_s", "job_cpu_s")},
        }
        for key, jobs in grouped(
            [
                {**{name: entry[name] for name in KEY}, "t": t, **_job(entry, t)}
                for entry in plan
                for t in entry["timesteps"]
                if t and entry["algorithm"] != BASELINE
            ],
            (*KEY, "t"),
        )
    ]


def published(plan):
    """Published rows for the streams of the plan read by a reader that has some.

    Returns
    -------
    list of dict
        corpus, run, average, source and ``auc`` by timestep. They hold for the timesteps of the
        paper (batches of 1000 in date order), whatever the study's batches are.
    """
    streams = {entry["corpus"]: entry for entry in plan if entry["protocol"] == "by-date"}
    return [{"corpus": name, **row} for name, entry in streams.items() for row in PUBLISHED.get(entry["reader"], [])]


def summarise(plan, output_folder):
    """Gather a study's results over seeds and write its tables.

    Parameters
    ----------
    plan : list of dict or path-like
        What was run (`odl.evaluation.plan`); each folder's ``auc.tsv`` and ``summary.tsv`` must exist, files
        of timings and benchmarks may be missing.
    output_folder : path-like
        Receives ``summary.tsv`` (mean, sd, min and max over seeds per corpus, run and k),
        ``averages.tsv`` (one row per seed), ``timesteps.tsv``, ``novel.tsv`` (novel documents per
        batch), ``published.tsv``, ``timing.tsv`` and ``costs.tsv`` (CPU seconds per
        timestep). All but the last two are reproducible bytes.

    Raises
    ------
    ConfigError
        If the plan is not one.
    StorageError
        If the plan or a table is missing or was changed.
    """
    plan = load_plan(plan)
    averages, rows = collect(plan, "summary.tsv", RUN_COLUMNS), collect(plan, "auc.tsv", AUC_COLUMNS)
    known = [{**row, **{f"t{t}": value for t, value in row["auc"].items()}} for row in published(plan)]
    tables = {
        "averages": averages,
        "summary": _summaries(averages),
        "timesteps": _timesteps(rows),
        "novel": _novel(rows),
        "published": known,
        "timing": _timing(plan),
        "costs": _costs(plan),
    }
    for name, columns in COLUMNS.items():
        write_table(os.path.join(output_folder, f"{name}.tsv"), tables[name], columns)


def read_tables(folder):
    """Read what `summarise` wrote: a dict of name -> list of rows."""
    return {name: read_table(os.path.join(folder, f"{name}.tsv"), COLUMNS[name]) for name in COLUMNS}
