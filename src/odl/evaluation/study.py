"""Gather the runs of a study: means and spread over seeds, novel documents per batch, time and memory.

A *plan* says what was run: a list of dicts, one for each run, dictionary size and seed (and one for
each corpus and seed with ``algorithm: baseline``):

    corpus, reader, protocol : str     the stream; reader "tdt2" brings the published rows
    seed : int
    run, algorithm : str               name and learner; "baselines" and "baseline" for the baselines
    k : int or None                    atoms at the start; None for baselines
    parameters : dict                  hyper-parameters and weighting of the run, {} for baselines
    folder : str                       holds auc.tsv, summary.tsv, scores/, timings/, benchmarks/
    timesteps : list of int            0 to T - 1
"""

import csv
import json
import os
import reprlib
from pathlib import Path

import numpy as np

from odl.errors import ConfigError
from odl.evaluation.spread import STATISTICS, grouped, mean, statistics
from odl.evaluation.tables import AUC_COLUMNS, read_table, write_table
from odl.evaluation.tables import SUMMARY_COLUMNS as RUN_COLUMNS
from odl.files import storage

BASELINE = "baseline"


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _text(value):
    return isinstance(value, str) and "\0" not in value and value.isprintable()


PLAN_KEYS = {
    **dict.fromkeys(("corpus", "reader", "protocol", "run", "algorithm", "folder"), _text),
    "seed": _whole,
    "k": lambda value: value is None or _whole(value),
    "parameters": lambda value: isinstance(value, dict),
    "timesteps": lambda value: isinstance(value, list) and all(map(_whole, value)),
}
KEY = ("corpus", "run", "algorithm", "k")

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
EMERGING_COLUMNS = ("corpus", "run", "algorithm", "k", "t", "seeds", "selected", "novel_share", "clusters", "clustered")
EMERGING_COLUMNS += ("purity_mean", "purity_sd", "f1_mean", "f1_sd", "precision", "recall", "novel_topics", "reachable")
EMERGING_COLUMNS += ("found", "found_share")
COLUMNS = {
    "averages": AVERAGE_COLUMNS,
    "summary": SUMMARY_COLUMNS,
    "timesteps": TIMESTEP_COLUMNS,
    "novel": NOVEL_COLUMNS,
    "published": PUBLISHED_COLUMNS,
    "timing": TIMING_COLUMNS,
    "costs": COST_COLUMNS,
    "emerging": EMERGING_COLUMNS,
}


def load_plan(plan):
    """Return a plan given as a list or as the path of a JSON file, checked.

    Raises
    ------
    ConfigError
        If it cannot be read, is no list of dicts, is empty, or an entry lacks a key.
    """
    if isinstance(plan, str | os.PathLike):
        try:
            plan = json.loads(Path(plan).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"the plan {plan} cannot be read ({error})", "a JSON list", "make it again") from error
    if not isinstance(plan, list | tuple) or not all(isinstance(entry, dict) for entry in plan):
        given = f"a plan that is {reprlib.repr(plan)}"
        raise ConfigError(given, "a list of runs, each with its keys", "make the plan again")
    if not plan:
        raise ConfigError("a plan without runs", "at least one run", "select runs and streams in the configuration")
    for entry in plan:
        missing = [name for name in PLAN_KEYS if name not in entry]
        if missing:
            raise ConfigError(f"a run of the plan without {', '.join(missing)}", "every key", "make the plan again")
        wrong = next((name for name, fits in PLAN_KEYS.items() if not fits(entry[name])), None)
        if wrong:
            given = f"a run of the plan with {reprlib.repr(entry[wrong])} as its {wrong}"
            raise ConfigError(given, "the value that odl plan writes", "make the plan again")
    return plan


def parameters_text(parameters):
    """Write a run's parameters as JSON with sorted keys."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"))


def _with_entry(entry, row):
    k = entry["k"] if entry["k"] is not None else ""
    held = {name: entry[name] for name in ("corpus", "protocol", "algorithm", "seed")}
    return {**row, **held, "k": k, "parameters": parameters_text(entry["parameters"])}


def _collect(plan, name, columns):
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
            **_span(found),
            "seeds": sum(not np.isnan(row["auc"]) for row in found),
            "seeds_listed": sum(row["listed"] for row in found),
            **statistics([row["auc"] for row in found], "auc"),
            **{name: mean([row[name] for row in found]) for name in ("novel", "known", "uncoded")},
        }
        for key, found in grouped(rows, (*KEY, "t"))
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
            **_span(found),
            "seeds": len(found),
            **statistics([row["novel"] for row in found], "novel"),
            **{name: mean([row[name] for row in found]) for name in ("documents", "known", "unlabelled", "empty")},
            "seeds_listed": sum(row["listed"] for row in found),
        }
        for (corpus, t), found in sorted(grouped(first.values(), ("corpus", "t")))
    ]


def _emerging(plan, paths):
    """Means of the emerging topics over seeds, by timestep; shares over the seeds that have one."""
    folders = {os.path.dirname(os.fspath(path)) for path in paths}
    means = ("selected", "novel_share", "clusters", "clustered", "precision", "recall")
    means += ("novel_topics", "reachable", "found", "found_share")
    judged = (*means, "purity", "f1")
    rows = _collect([entry for entry in plan if entry["folder"] in folders], "emerging.tsv", ("run", "t", *judged))
    found = []
    for key, held in grouped(rows, (*KEY, "t")):
        spread = {name: statistics([row[name] for row in held], name) for name in ("purity", "f1")}
        found.append(
            {
                **dict(zip((*KEY, "t"), key, strict=True)),
                "seeds": len(held),
                **{name: mean([row[name] for row in held]) for name in means},
                **{f"{name}_{kind}": spread[name][f"{name}_{kind}"] for name in spread for kind in ("mean", "sd")},
            }
        )
    return found


def _numbers(path, column):
    """The numbers of one column of a small table; "-", NA and a missing file give none."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    found = {}
    for position, row in enumerate(rows):
        try:
            found[row.get("phase", position)] = float(row[column])
        except (KeyError, TypeError, ValueError):
            continue
    return found


def _job(entry, t):
    folder = Path(entry["folder"])
    phases = _numbers(folder / "timings" / f"{t}.tsv", "cpu_s")
    benchmark = folder / "benchmarks" / f"{t}.tsv"
    wall, memory = (list(_numbers(benchmark, column).values()) for column in ("s", "max_rss"))
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


def summarise(plan, output_folder, emerging=()):
    """Gather a study's results over seeds and write its tables.

    Parameters
    ----------
    plan : list of dict or path-like
        What was run (see the module); each folder's ``auc.tsv`` and ``summary.tsv`` must exist, files
        of timings and benchmarks may be missing.
    output_folder : path-like
        Receives ``summary.tsv`` (mean, sd, min and max over seeds per corpus, run and k),
        ``averages.tsv`` (one row per seed), ``timesteps.tsv``, ``novel.tsv`` (novel documents per
        batch), ``published.tsv``, ``emerging.tsv``, ``timing.tsv`` and ``costs.tsv`` (CPU seconds per
        timestep). All but the last two are reproducible bytes.
    emerging : list of path-like, optional
        Tables of emerging topics, each the ``emerging.tsv`` in the folder of a run of the plan.

    Raises
    ------
    ConfigError
        If the plan is not one.
    DataError
        If a table is missing or not whole.
    """
    plan = load_plan(plan)
    averages, rows = _collect(plan, "summary.tsv", RUN_COLUMNS), _collect(plan, "auc.tsv", AUC_COLUMNS)
    known = [{**row, **{f"t{t}": value for t, value in row["auc"].items()}} for row in published(plan)]
    found = {
        "averages": averages,
        "summary": _summaries(averages),
        "timesteps": _timesteps(rows),
        "novel": _novel(rows),
        "published": known,
        "timing": _timing(plan),
        "costs": _costs(plan),
        "emerging": _emerging(plan, emerging),
    }
    for name, columns in COLUMNS.items():
        write_table(os.path.join(output_folder, f"{name}.tsv"), found[name], columns)


def read_tables(folder):
    """Read what `summarise` wrote: a dict of name -> list of rows."""
    return {name: read_table(os.path.join(folder, f"{name}.tsv"), COLUMNS[name]) for name in COLUMNS}


def choose_shown(plan, summary, corpus, shown=None):
    """Choose the run of a corpus that the page shows in detail.

    Parameters
    ----------
    plan, summary
        The plan and the rows of ``summary.tsv``.
    corpus : str
    shown : dict, optional
        Any of ``run``, ``k``, ``seed``, and ``runs`` to choose among; what is missing is the best
        average AUC over seeds (then over all batches), and the first seed.

    Returns
    -------
    dict
        The entry of the plan.

    Raises
    ------
    ConfigError
        If the plan has no such run.
    """
    shown = {name: value for name, value in (shown or {}).items() if value not in (None, "")}
    among = shown.pop("runs", None)
    entries = [entry for entry in plan if entry["corpus"] == corpus and entry["algorithm"] != BASELINE]
    entries = [entry for entry in entries if not among or entry["run"] in among]
    matching = [entry for entry in entries if all(entry[name] == value for name, value in shown.items())]
    if not matching:
        given = ", ".join(f"{name} {value}" for name, value in shown.items()) or "nothing"
        runs = ", ".join(sorted({f"{entry['run']} (k {entry['k']})" for entry in entries})) or "a learner's run"
        raise ConfigError(f"{given} to show of {corpus}", f"one of {runs}", "correct the report settings")
    rows = {(row["run"], row["k"]): row for row in summary if row["corpus"] == corpus}

    def rank(entry):
        row = rows.get((entry["run"], entry["k"]), {})
        values = [row.get(name, float("nan")) for name in ("average_mean", "average_all_mean")]
        return tuple(-1.0 if np.isnan(value) else value for value in values)

    return max(matching, key=rank)  # the first of equals, in the order of the plan


def score_path(entry, t):
    """Path of the score file of one timestep (learners) or of the baselines."""
    inner = () if entry["algorithm"] == BASELINE else ("scores",)
    return os.path.join(entry["folder"], *inner, f"{t}.h5")


def write_plan(path, plan):
    """Write a plan as JSON, atomically and with reproducible bytes."""
    with storage.replacing(path) as temporary:
        Path(temporary).write_text(json.dumps(load_plan(plan), indent=1, sort_keys=True) + "\n", encoding="utf-8")
