"""Which timesteps the headline AUC is the mean of, and that mean; means and spread over seeds."""

from collections.abc import Collection, ItemsView, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

STATISTICS = ("mean", "sd", "min", "max")


def listed(
    labels: Mapping[int, np.ndarray], timesteps: Collection[int] = (), *, min_novel: int, min_known: int
) -> list[int]:
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

    Examples
    --------
    >>> import numpy as np
    >>> from odl.evaluation.means import listed
    >>> labels = {1: np.array([1, 1, 0]), 2: np.array([0, 0, 0]), 3: np.array([1, 0, 0])}
    >>> listed(labels, min_novel=2, min_known=1), listed(labels, [1, 2, 3], min_novel=2, min_known=1)
    ([1], [1, 3])
    """
    steps = []
    for t in sorted(labels):
        novel, known = (int((labels[t] == label).sum()) for label in (1, 0))
        enough = t in timesteps if len(timesteps) else novel >= min_novel and known >= min_known
        steps += [t] if enough and novel and known else []
    return steps


def average_auc(aucs: Mapping[int, float], steps: Sequence[int]) -> float:
    """Return the headline number of a run: the mean AUC over the listed timesteps; nan without one.

    Parameters
    ----------
    aucs : dict of int to float
        By timestep.
    steps : list of int
        What `listed` returned.

    Examples
    --------
    >>> from odl.evaluation.means import average_auc
    >>> average_auc({1: 0.8, 2: 0.5, 3: 0.9}, [1, 3])
    0.8500000000000001
    """
    return mean([aucs[t] for t in steps])


def statistics(values: Iterable[float], prefix: str) -> dict[str, float]:
    """Return mean, standard deviation (of a sample), least and largest value, without the undefined ones.

    The names are ``{prefix}_mean`` and so on; all are nan where no value is defined.

    Examples
    --------
    >>> from odl.evaluation.means import statistics
    >>> statistics([0.5, 1.0, float("nan")], "auc")
    {'auc_mean': 0.75, 'auc_sd': 0.3535533905932738, 'auc_min': 0.5, 'auc_max': 1.0}
    """
    values = np.array([value for value in values if not np.isnan(value)])
    if not len(values):
        return {f"{prefix}_{name}": float("nan") for name in STATISTICS}
    spread = values.std(ddof=1) if len(values) > 1 else float("nan")
    measures = (values.mean(), spread, values.min(), values.max())
    return {f"{prefix}_{name}": float(value) for name, value in zip(STATISTICS, measures, strict=True)}


def spread(values: Iterable[float]) -> tuple[float, float]:
    """Return mean and standard deviation (of a sample) of the defined values; nan where they are not.

    Examples
    --------
    >>> from odl.evaluation.means import spread
    >>> spread([0.5, 1.0, float("nan")])
    (0.75, 0.3535533905932738)
    """
    measured = statistics(values, "x")
    return measured["x_mean"], measured["x_sd"]


def mean(values: Iterable[float]) -> float:
    """Return the mean of the defined values; nan without one.

    Examples
    --------
    >>> from odl.evaluation.means import mean
    >>> mean([0.5, 1.0, float("nan")])
    0.75
    """
    return statistics(values, "x")["x_mean"]


def grouped(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> ItemsView[tuple, list]:
    """Return (values of the keys, rows) for every combination of values, in the order of the first rows.

    Examples
    --------
    >>> from odl.evaluation.means import grouped
    >>> list(grouped([{"run": "a", "t": 1}, {"run": "b", "t": 1}, {"run": "a", "t": 2}], ["run"]))
    [(('a',), [{'run': 'a', 't': 1}, {'run': 'a', 't': 2}]), (('b',), [{'run': 'b', 't': 1}])]
    """
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups.items()
