"""Means and spread over seeds."""

import numpy as np

STATISTICS = ("mean", "sd", "min", "max")


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
