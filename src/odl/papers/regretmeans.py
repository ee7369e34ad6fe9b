"""Regret of the runs of a study, over seeds."""

import os

import numpy as np

from odl.errors import ConfigError
from odl.evaluation.means import STATISTICS, grouped, mean, statistics
from odl.evaluation.plan import KEY, load_plan
from odl.files.tables import read_table, write_table

COLUMNS = ("corpus", "run", "algorithm", "k", "t", "seeds", "online", "hindsight", "hindsight_low")
COLUMNS += tuple(f"{name}_{part}" for name in ("regret", "violation") for part in STATISTICS)
COLUMNS += ("regret_high", "phi", "distance", "upsilon", "psi_max", "tau", "beta")
MEASURED = ("run", "t", "online", "hindsight", "hindsight_low", "regret", "regret_high", "phi", "distance", "upsilon")
MEASURED += ("psi_max", "violation_sum")
BOUNDS = ("theorem_regret", "bound_regret", "theorem_violation", "bound_violation")
COLUMNS += BOUNDS


def gather_regret(plan, path, *, runs, sizes=()):
    """Gather the regret of some runs over seeds.

    Parameters
    ----------
    plan : list of dict or path-like
        What was run; the folders of these runs must have a ``regret.tsv`` (`odl.papers.regretruns.write`).
    path : path-like
        Table to write, columns `COLUMNS`: one row for each corpus, run, k and number t of timesteps that the
        best fixed dictionary was fitted for. Means over seeds; of ``phi``, ``distance``, ``upsilon`` and ``psi_max``
        the largest of all timesteps and seeds. Bounds are there if they hold for every seed.
    runs : list of str
    sizes : list of int, optional
        Numbers of atoms; all where there are none.

    Raises
    ------
    ConfigError
        If the plan is not one, or has none of these runs.
    StorageError
        If the plan or a table is missing or was changed.
    """
    entries = [entry for entry in load_plan(plan) if entry["run"] in runs and (not sizes or entry["k"] in sizes)]
    if not entries:
        given = f"regret of {', '.join(runs) or 'no run'}"
        raise ConfigError(given, "runs and sizes of the plan", "correct regret.runs and regret.sizes")
    found = []
    for key, held in grouped(entries, KEY):
        tables = [read_table(os.path.join(entry["folder"], "regret.tsv"), [*MEASURED, *BOUNDS]) for entry in held]
        rows = [row for table in tables for row in table]
        common = dict(zip(KEY, key, strict=True))
        for name in ("phi", "distance", "upsilon", "psi_max"):
            common[name] = max((row[name] for row in rows if not np.isnan(row[name])), default=float("nan"))
        for name in ("tau", "beta"):
            common[name] = held[0]["parameters"].get(name, float("nan"))
        fitted = [row for row in rows if not np.isnan(row["regret"])]
        found += [{**common, "t": t[0], **_over_seeds(part)} for t, part in sorted(grouped(fitted, ("t",)))]
    write_table(path, found, COLUMNS)


def _over_seeds(rows):
    return {
        "seeds": len(rows),
        **{name: mean([row[name] for row in rows]) for name in ("online", "hindsight", "hindsight_low")},
        **statistics([row["regret"] for row in rows], "regret"),
        **statistics([row["violation_sum"] for row in rows], "violation"),
        "regret_high": mean([row["regret_high"] for row in rows]),
        **{name: float(np.mean([row[name] for row in rows])) for name in BOUNDS},
    }
