"""Which timesteps the headline AUC is the mean of, and that mean; means and spread over seeds."""

import numpy as np

STATISTICS = ("mean", "sd", "min", "max")


def listed(labels, timesteps=(), *, min_novel, min_known):
    """Return the timesteps that the average AUC of a run is over, in the order of time.

    Parameters
    ----------
    labels : dict of int to ndarray
        Labels of the batches that are evaluated, by timestep: 1 novel, 0 known, others unlabelled.
    timesteps : collection of int
        Timesteps to average over; empty: those with at least `min_novel` novel and `min_known` known documents.
    min_novel, min_known : int

    Returns
    -------
    list of int
        Only timesteps whose AUC is defined, with a novel and a known document.
    """
    steps = []
    for t in sorted(labels):
        novel, known = (int((labels[t] == label).sum()) for label in (1, 0))
        enough = t in timesteps if len(timesteps) else novel >= min_novel and known >= min_known
        steps += [t] if enough and novel and known else []
    return steps


def average_auc(aucs, steps):
    """Return the headline number of a run: the mean AUC over the listed timesteps; nan without one.

    Parameters
    ----------
    aucs : dict of int to float
        By timestep.
    steps : list of int
        What `listed` returned.
    """
    return mean([aucs[t] for t in steps])


def statistics(values, prefix):
    """Return mean, standard deviation (of a sample), least and largest value, without the undefined ones.

    The names are ``{prefix}_mean`` and so on; all are nan where no value is defined.
    """
    values = np.array([value for value in values if not np.isnan(value)])
    if not len(values):
        return {f"{prefix}_{name}": float("nan") for name in STATISTICS}
    spread = values.std(ddof=1) if len(values) > 1 else float("nan")
    found = (values.mean(), spread, values.min(), values.max())
    return {f"{prefix}_{name}": float(value) for name, value in zip(STATISTICS, found, strict=True)}


def mean(values):
    """Return the mean of the defined values; nan without one."""
    return statistics(values, "x")["x_mean"]


def grouped(rows, keys):
    """Return (values of the keys, rows) for every combination of values, in the order of the first rows."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups.items()
