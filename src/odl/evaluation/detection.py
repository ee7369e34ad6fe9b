"""Quality of alerts against labels: precision within a budget, delay, cost of misses and false alarms, drift.

Scores are larger for what is more novel. Labels are 1 (novel), 0 (known) and -1 (unlabelled, ignored), as in
`odl.evaluation.metrics`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from odl.errors import ParameterError
from odl.evaluation.metrics import split

C_MISS, C_FALSE_ALARM, P_TARGET = 1.0, 0.1, 0.02  # of the TDT evaluations


def precision_at(scores: ArrayLike, labels: ArrayLike, budget: float) -> float:
    """Share of novel documents among the most novel `budget` of the labelled ones.

    Parameters
    ----------
    scores, labels : array-like, shape (n_documents,)
    budget : float
        Share of the documents that somebody will read; at least one document.

    Returns
    -------
    float
        Documents that tie at the edge of the budget count by their mean, so the value does not depend on their
        order. nan without labelled documents.

    Raises
    ------
    ParameterError
        If the budget is not in (0, 1], or scores and labels do not fit.

    Examples
    --------
    >>> from odl.evaluation.detection import precision_at
    >>> precision_at([0.9, 0.8, 0.3, 0.1], [1, 0, 1, 0], budget=0.5)
    0.5
    """
    if not 0 < budget <= 1:
        raise ParameterError(f"the budget is {budget!r}", "a share above 0 and up to 1", "pass e.g. 0.05 for 5 %")
    novel, known = split(scores, labels)
    both = np.concatenate([novel, known])
    if not len(both):
        return float("nan")
    # A share such as 0.07 of 100 is 7.000000000000001 in binary.
    room = max(1, math.ceil(round(budget * len(both), 9)))
    edge = np.sort(both)[-room]
    tied = (novel == edge).sum() / (both == edge).sum()
    hits = (novel > edge).sum() + (room - (both > edge).sum()) * tied
    return float(hits / room)


class Delay(NamedTuple):
    """How long a new topic went unnoticed.

    Attributes
    ----------
    topic : str
    t : int
        Timestep at which it first appears.
    documents : int
        Documents of the topic.
    missed : int
        Documents of the topic before the first one with an alert; all of them if there is none.
    waited : int
        Documents of the stream from the first one of the topic to the alert, both counted; -1 without an alert.

    Examples
    --------
    >>> from odl.evaluation.detection import detection_delays
    >>> [delay.missed for delay in detection_delays([[0], [1, 1]], [[("oil",)], [("space",), ("space",)]])]
    [0]
    """

    topic: str
    t: int
    documents: int
    missed: int
    waited: int


def detection_delays(alerts: Sequence[ArrayLike], topics: Sequence[Sequence[tuple[str, ...]]]) -> list[Delay]:
    """Delay until the first alert on each topic that appears after the first timestep.

    Parameters
    ----------
    alerts : sequence of array-like of bool
        For each timestep, which documents raise an alert. Those of the first timestep do not count.
    topics : sequence of list of tuple of str
        Topics of the same documents.

    Returns
    -------
    list of Delay
        In the order in which the topics appear.

    Raises
    ------
    ParameterError
        If alerts and topics differ in number.

    Examples
    --------
    >>> from odl.evaluation.detection import detection_delays
    >>> alerts, topics = [[0, 0], [0, 0, 1]], [[("oil",), ("oil",)], [("space",), ("oil",), ("space",)]]
    >>> detection_delays(alerts, topics)
    [Delay(topic='space', t=1, documents=2, missed=1, waited=3)]
    """
    known, delays, position = set(), {}, 0
    for t, (flags, labels) in enumerate(zip(alerts, topics, strict=True)):
        flags = np.asarray(flags, dtype=bool)
        if len(flags) != len(labels):
            fault = f"{len(flags)} alerts for {len(labels)} documents at timestep {t}"
            raise ParameterError(fault, "one for each document", "pass lists of one length")
        for flag, names in zip(flags.tolist(), labels, strict=True):
            for name in names:
                if t == 0:
                    known.add(name)
                elif name not in known:
                    first = delays.setdefault(name, [t, position, 0, 0, -1])
                    first[2] += 1
                    if first[4] < 0 and flag:
                        first[4] = position - first[1] + 1
                    elif first[4] < 0:
                        first[3] += 1
            position += 1
    return [Delay(name, t, total, missed, waited) for name, (t, _, total, missed, waited) in delays.items()]


def detection_cost(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float | None = None,
    *,
    c_miss: float = C_MISS,
    c_false_alarm: float = C_FALSE_ALARM,
    p_target: float = P_TARGET,
) -> float:
    """Normalised detection cost of the TDT evaluations.

    (c_miss P_miss p_target + c_false_alarm P_fa (1 - p_target)) / min(c_miss p_target, c_false_alarm (1 - p_target))

    Parameters
    ----------
    scores, labels : array-like, shape (n_documents,)
    threshold : float, optional
        Alert at scores of at least this; by default the threshold of the least cost, which is what the best choice
        with hindsight would have cost.
    c_miss, c_false_alarm, p_target : float
        Costs and prior share of novel documents; 1, 0.1 and 0.02 in TDT (Fiscus and Doddington 2002).

    Returns
    -------
    float
        0 is perfect, 1 is what no alert at all costs (or alerts on everything, whichever is cheaper); nan without
        novel or without known documents.

    Examples
    --------
    >>> from odl.evaluation.detection import detection_cost
    >>> detection_cost([0.9, 0.8, 0.3, 0.1], [1, 0, 1, 0]), detection_cost([0.9, 0.1], [1, 0])
    (0.5, 0.0)
    """
    novel, known = map(np.sort, split(scores, labels))
    if not len(novel) or not len(known):
        return float("nan")
    edges = np.append(np.unique(np.concatenate([novel, known])), np.inf) if threshold is None else np.array([threshold])
    missed = np.searchsorted(novel, edges, side="left") / len(novel)
    alarms = 1.0 - np.searchsorted(known, edges, side="left") / len(known)
    costs = c_miss * p_target * missed + c_false_alarm * (1.0 - p_target) * alarms
    return float(costs.min() / min(c_miss * p_target, c_false_alarm * (1.0 - p_target)))


class Drift(NamedTuple):
    """Mean score of the known documents of each timestep (nan where there are none), and its trend.

    Attributes
    ----------
    means : ndarray
    slope : float
        Least-squares change for each timestep; nan with fewer than two means.
    spread : float
        Standard deviation of the known scores within timesteps: the scale on which the slope matters.

    Examples
    --------
    >>> from odl.evaluation.detection import drift
    >>> round(drift([([0.2, 0.4], [0, 0]), ([0.4, 0.6], [0, 0])]).slope, 2)
    0.2
    """

    means: np.ndarray
    slope: float
    spread: float


def drift(batches: Sequence[tuple[ArrayLike, ArrayLike]]) -> Drift:
    """Measure how the scores of known documents move as the stream goes by.

    Parameters
    ----------
    batches : sequence of (scores, labels)
        One pair for each timestep.

    Returns
    -------
    Drift

    Examples
    --------
    >>> from odl.evaluation.detection import drift
    >>> drift([([0.2, 0.4, 0.9], [0, 0, 1]), ([0.4, 0.6], [0, 0])]).means.round(2)
    array([0.3, 0.5])
    """
    means, parts = [], []
    for scores, labels in batches:
        _, known = split(scores, labels)
        means.append(known.mean() if len(known) else np.nan)
        if len(known) > 1:
            parts.append(known - known.mean())
    means = np.array(means)
    at = np.flatnonzero(~np.isnan(means))
    slope = float("nan")
    if len(at) > 1:
        centred = at - at.mean()
        slope = float((centred * means[at]).sum() / (centred**2).sum())
    spread = float(np.concatenate(parts).std()) if parts else float("nan")
    return Drift(means, slope, spread)
