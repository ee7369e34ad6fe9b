"""What a study ran: its plan, the files of a run, and the run that a page shows in detail.

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

import json
import os
import reprlib

import numpy as np

from odl.errors import ConfigError
from odl.files.tables import read_json, write_json

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


def load_plan(plan):
    """Return a plan given as a list or as the path of what `write_plan` wrote, checked.

    Raises
    ------
    ConfigError
        If it is no list of dicts, is empty, or an entry lacks a key.
    StorageError
        If the file is missing, or not as `write_plan` wrote it.
    """
    if isinstance(plan, str | os.PathLike):
        plan = read_json(plan).get("plan")
    if not isinstance(plan, list | tuple) or not all(isinstance(entry, dict) for entry in plan):
        fault = f"a plan that is {reprlib.repr(plan)}"
        raise ConfigError(fault, "a list of runs, each with its keys", "make the plan again")
    if not plan:
        raise ConfigError("a plan without runs", "at least one run", "select runs and streams in the configuration")
    for entry in plan:
        missing = [name for name in PLAN_KEYS if name not in entry]
        if missing:
            raise ConfigError(f"a run of the plan without {', '.join(missing)}", "every key", "make the plan again")
        wrong = next((name for name, fits in PLAN_KEYS.items() if not fits(entry[name])), None)
        if wrong:
            fault = f"a run of the plan with {reprlib.repr(entry[wrong])} as its {wrong}"
            raise ConfigError(fault, "the value that odl step plan writes", "make the plan again")
    return plan


def parameters_text(parameters):
    """Write a run's parameters as JSON with sorted keys."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"))


def write_plan(path, plan):
    """Write a plan as JSON, atomically and with reproducible bytes."""
    write_json(path, {"plan": json.loads(json.dumps(load_plan(plan), sort_keys=True))})


def score_path(entry, t):
    """Path of the score file of one timestep (learners) or of the baselines."""
    inner = () if entry["algorithm"] == BASELINE else ("scores",)
    return os.path.join(entry["folder"], *inner, f"{t}.h5")


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
        fault = ", ".join(f"{name} {value}" for name, value in shown.items()) or "nothing"
        runs = ", ".join(sorted({f"{entry['run']} (k {entry['k']})" for entry in entries})) or "a learner's run"
        raise ConfigError(f"{fault} to show of {corpus}", f"one of {runs}", "correct the report settings")
    rows = {(row["run"], row["k"]): row for row in summary if row["corpus"] == corpus}

    def rank(entry):
        row = rows.get((entry["run"], entry["k"]), {})
        values = [row.get(name, float("nan")) for name in ("average_mean", "average_all_mean")]
        return tuple(-1.0 if np.isnan(value) else value for value in values)

    return max(matching, key=rank)  # the first of equals, in the order of the plan
