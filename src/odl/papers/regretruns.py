"""Regret of runs on disk: the chain of a run read as steps, and what was measured of it as a table and in words."""

import time

from odl import learners
from odl.errors import DataError
from odl.files import checkpoints
from odl.files.tables import write_table
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
        given = f"{len(checkpoint_paths)} checkpoints and {len(feature_paths)} features"
        raise DataError(given, "one of each for timesteps 0, 1, ..., at least two", "pass the files of a whole run")
    held = checkpoints.read_checkpoint(checkpoint_paths[0], t=0)
    chain = held.chain
    algorithm = chain["learner"].get("algorithm")
    if algorithm not in (measurable := algorithms()):
        raise DataError(f"regret of {algorithm}", f"a run of {', '.join(measurable)}", "choose another run")
    learner, steps = learners.make(**chain["learner"]), []
    whole = features.read(feature_paths[-1]) if chain["features"].get("idf") == "corpus" else None
    for t in range(1, len(checkpoint_paths)):
        batch = features.read(feature_paths[t])
        after = checkpoints.read_checkpoint(checkpoint_paths[t], chain=chain, t=t)
        if batch.terms is not None:
            given = f"{feature_paths[t]}, of a bounded vocabulary"
            raise DataError(given, "terms that never leave, where dictionaries are compared", "set max_terms to 0")
        if batch.t != t or batch.counts.shape[0] != after.codes.shape[0] or after.previous != held.digest:
            given = f"{feature_paths[t]}, {checkpoint_paths[t]} and {checkpoint_paths[t - 1]}"
            raise DataError(f"{given} do not follow each other", "the files of one run in order", "pass them so")
        P = batch.weighed(**chain["features"], norm=learner.norm, corpus=whole)[:]
        steps.append(Step(P, after.codes, held.dictionary, after.dictionary, held.arrays.get("dual")))
        held = after
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
    rows, found = measure(steps, learner, **options)
    write_table(path, [{"run": chain["run"], **row} for row in rows], COLUMNS)
    print(describe(rows, found, f"{chain['run']}, k {chain['atoms']}, seed {chain['seed']}"))
    print(f"odl regret: {time.process_time() - begin:.1f} CPU s, {len(steps)} timesteps")


def describe(rows, found, name):
    """Say what was measured, and the tau and beta that the theorems want."""
    last = rows[-1]
    lines = [
        f"{name}: loss {last['online']:.6g} after {last['t']} timesteps, best fixed dictionary "
        f"{last['hindsight_low']:.6g} to {last['hindsight']:.6g}, regret {last['regret']:.6g} to "
        f"{last['regret_high']:.6g}",
        f"Phi {found['phi']:.6g}, D {found['distance']:.6g}, Psi_max {found['psi_max']:.6g}, Upsilon "
        f"{found['upsilon']:.6g}; tau at most {found['tau_most']:.6g}; at tau {found['tau_wanted']:.6g} Theorem B.5 "
        f"wants beta {found['beta_wanted']:.6g}",
    ]
    if found["refused"]:
        lines.append(f"no bound is claimed for this run: {found['refused']}")
    else:
        lines.append(
            f"tau {found['tau']:.6g} and beta {found['beta']:.6g}: regret at most {last['bound_regret']:.6g} "
            f"(B.5: {last['theorem_regret']:.6g}), violations {last['violation_sum']:.6g} of at most "
            f"{last['bound_violation']:.6g} (B.6: {last['theorem_violation']:.6g})"
        )
    return "\n".join(f"odl regret: {line}" for line in lines)
