"""Tables of regret: of the chain of a run read as steps, and of runs over seeds."""

import os
import time

import numpy as np

from odl import learners
from odl.errors import ConfigError, DataError
from odl.evaluation.means import STATISTICS, grouped, mean, statistics
from odl.evaluation.plan import KEY, load_plan
from odl.files import checkpoints
from odl.files.tables import read_table, write_table
from odl.papers.hindsight import Step, algorithms, measure
from odl.stream import features

COLUMNS = ("run", "t", "documents", "loss", "online", "hindsight", "hindsight_low", "regret", "regret_high")
COLUMNS += ("iterations", "distance", "upsilon", "phi", "psi_max", "violation", "violation_sum")
COLUMNS += ("theorem_regret", "bound_regret", "theorem_violation", "bound_violation")


def read_steps(checkpoint_paths, feature_paths):
    """Read the chain of a run as steps.

    Parameters
    ----------
    checkpoint_paths, feature_paths : list of path-like
        Of all timesteps from 0, in order.

    Returns
    -------
    steps : list of odl.papers.hindsight.Step
    learner : Learner
    chain : dict
        What the checkpoints say of themselves: corpus, seed, run, atoms, learner, features.

    Raises
    ------
    DataError
        If the files are not of timesteps 0, 1, ..., if there are fewer than two, or if the learner has no regret.
    CheckpointError, StorageError
        If a file is damaged, or a checkpoint is not the one that follows.
    """
    if len(checkpoint_paths) != len(feature_paths) or len(checkpoint_paths) < 2:
        defect = f"{len(checkpoint_paths)} checkpoints and {len(feature_paths)} features"
        raise DataError(defect, "one of each for timesteps 0, 1, ..., at least two", "pass the files of a whole run")
    before = checkpoints.read_checkpoint(checkpoint_paths[0], t=0)
    chain = before.chain
    algorithm = chain["learner"].get("algorithm")
    if algorithm not in (measurable := algorithms()):
        raise DataError(f"regret of {algorithm}", f"a run of {', '.join(measurable)}", "choose another run")
    learner, steps = learners.make(**chain["learner"]), []
    whole = features.read(feature_paths[-1]) if chain["features"].get("idf") == "corpus" else None
    for t in range(1, len(checkpoint_paths)):
        batch = features.read(feature_paths[t])
        after = checkpoints.read_checkpoint(checkpoint_paths[t], chain=chain, t=t)
        if batch.terms is not None:
            defect = f"{feature_paths[t]}, of a bounded vocabulary"
            raise DataError(defect, "terms that never leave, where dictionaries are compared", "set max_terms to 0")
        if batch.t != t or batch.counts.shape[0] != after.codes.shape[0] or after.previous != before.digest:
            defect = f"{feature_paths[t]}, {checkpoint_paths[t]} and {checkpoint_paths[t - 1]}"
            raise DataError(f"{defect} do not follow each other", "the files of one run in order", "pass them so")
        P = batch.weighed(**chain["features"], norm=learner.norm, corpus=whole)[:]
        steps.append(Step(P, after.codes, before.dictionary, after.dictionary, before.arrays.get("dual")))
        before = after
    return steps, learner, chain


def write(path, checkpoint_paths, feature_paths, **options):
    """Measure the regret of the run that the files belong to, write its table and print its constants.

    Parameters
    ----------
    path : path-like
        Table to write, columns `COLUMNS`.
    checkpoint_paths, feature_paths
        As for `read_steps`.
    **options
        timesteps, tolerance, iterations of `odl.papers.hindsight.measure`.
    """
    begin = time.process_time()
    steps, learner, chain = read_steps(checkpoint_paths, feature_paths)
    rows, constants = measure(steps, learner, **options)
    write_table(path, [{"run": chain["run"], **row} for row in rows], COLUMNS)
    print(describe(rows, constants, f"{chain['run']}, k {chain['atoms']}, seed {chain['seed']}"))
    print(f"odl regret: {time.process_time() - begin:.1f} CPU s, {len(steps)} timesteps")


def describe(rows, bounds, name):
    """Say what was measured, and the tau and beta that the theorems want."""
    last = rows[-1]
    lines = [
        f"{name}: loss {last['online']:.6g} after {last['t']} timesteps, best fixed dictionary "
        f"{last['hindsight_low']:.6g} to {last['hindsight']:.6g}, regret {last['regret']:.6g} to "
        f"{last['regret_high']:.6g}",
        f"Phi {bounds['phi']:.6g}, D {bounds['distance']:.6g}, Psi_max {bounds['psi_max']:.6g}, Upsilon "
        f"{bounds['upsilon']:.6g}; tau at most {bounds['tau_most']:.6g}; at tau {bounds['tau_wanted']:.6g} Theorem B.5 "
        f"wants beta {bounds['beta_wanted']:.6g}",
    ]
    if bounds["refused"]:
        lines.append(f"no bound is claimed for this run: {bounds['refused']}")
    else:
        lines.append(
            f"tau {bounds['tau']:.6g} and beta {bounds['beta']:.6g}: regret at most {last['bound_regret']:.6g} "
            f"(B.5: {last['theorem_regret']:.6g}), violations {last['violation_sum']:.6g} of at most "
            f"{last['bound_violation']:.6g} (B.6: {last['theorem_violation']:.6g})"
        )
    return "\n".join(f"odl regret: {line}" for line in lines)


OVER_SEEDS = ("corpus", "run", "algorithm", "k", "t", "seeds", "online", "hindsight", "hindsight_low")
OVER_SEEDS += tuple(f"{name}_{part}" for name in ("regret", "violation") for part in STATISTICS)
OVER_SEEDS += ("regret_high", "phi", "distance", "upsilon", "psi_max", "tau", "beta")
MEASURED = ("run", "t", "online", "hindsight", "hindsight_low", "regret", "regret_high", "phi", "distance", "upsilon")
MEASURED += ("psi_max", "violation_sum")
BOUNDS = ("theorem_regret", "bound_regret", "theorem_violation", "bound_violation")
OVER_SEEDS += BOUNDS


def gather_regret(plan, path, *, runs, sizes=()):
    """Gather the regret of some runs over seeds.

    Parameters
    ----------
    plan : list of dict or path-like
        What was run; the folders of these runs must have a ``regret.tsv`` (`write`).
    path : path-like
        Table to write, columns `OVER_SEEDS`: one row for each corpus, run, k and number t of timesteps that the
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
        defect = f"regret of {', '.join(runs) or 'no run'}"
        raise ConfigError(defect, "runs and sizes of the plan", "correct regret.runs and regret.sizes")
    means = []
    for key, runs_of in grouped(entries, KEY):
        tables = [read_table(os.path.join(entry["folder"], "regret.tsv"), [*MEASURED, *BOUNDS]) for entry in runs_of]
        rows = [row for table in tables for row in table]
        common = dict(zip(KEY, key, strict=True))
        for name in ("phi", "distance", "upsilon", "psi_max"):
            common[name] = max((row[name] for row in rows if not np.isnan(row[name])), default=float("nan"))
        for name in ("tau", "beta"):
            common[name] = runs_of[0]["parameters"].get(name, float("nan"))
        fitted = [row for row in rows if not np.isnan(row["regret"])]
        means += [{**common, "t": t[0], **_over_seeds(part)} for t, part in sorted(grouped(fitted, ("t",)))]
    write_table(path, means, OVER_SEEDS)


def _over_seeds(rows):
    return {
        "seeds": len(rows),
        **{name: mean([row[name] for row in rows]) for name in ("online", "hindsight", "hindsight_low")},
        **statistics([row["regret"] for row in rows], "regret"),
        **statistics([row["violation_sum"] for row in rows], "violation"),
        "regret_high": mean([row["regret_high"] for row in rows]),
        **{name: float(np.mean([row[name] for row in rows])) for name in BOUNDS},
    }
