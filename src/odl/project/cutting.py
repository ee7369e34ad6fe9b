"""How a stream is best cut into batches: by the shortest period that has a few hundred documents."""

from statistics import median

import numpy as np

from odl.alerts.settings import Settings
from odl.errors import DataError
from odl.files.documents import NO_TIME
from odl.stream.batching import PERIODS, periods_of

DOCUMENTS = 200  # of a batch, at least, in the middle one
FIRST = 1000  # documents that a dictionary starts from, where there are enough


def batches_of(times, period=None):
    """Return the batches of a configuration, and a sentence on them.

    Parameters
    ----------
    times : list of int
        Milliseconds of all documents; any of them `NO_TIME` where they have none.
    period : str, optional
        One of `PERIODS`, if it is to be that one.

    Returns
    -------
    (dict, str)

    Raises
    ------
    DataError
        If there are fewer than two documents.
    """
    n = len(times)
    if n < 2:
        raise DataError(f"{n} document", "at least two: one to start from and one to score", "add more")
    initial = min(FIRST, max(1, n // 5))
    dated = n and NO_TIME not in times
    for name in (period,) if period else PERIODS if dated else ():
        sizes = counts(times, name) if dated else []
        first, rest = start(sizes, initial)
        if rest and (period or median(rest) >= min(DOCUMENTS, max(2, n // 10))):
            said = f"by {name}, about {median(rest):.0f} documents each; {len(rest)} after the first, which has {first}"
            said += f"; {alerts_begin(rest)}"
            return {"by": "period", "period": name, "initial": initial}, said
    if period:
        raise DataError(f"batches by {period}", "documents of several such periods, all with times", "say another")
    size = min(500, max(1, (n - initial) // 5))
    said = f"of {size} document{'s' * (size > 1)}; the first has {initial}" + (
        "" if dated else ", since not all have times"
    )
    said += f"; {alerts_begin([min(size, n - at) for at in range(initial, n, size)])}"
    return {"by": "documents", "documents": size, "initial": initial}, said


def alerts_begin(sizes, warm_up=Settings.warm_up):
    """Say from which batch on there are alerts: the first that has `warm_up` scored documents before it.

    Parameters
    ----------
    sizes : list of int
        Documents of the batches after the first.
    warm_up : int
    """
    before = 0
    for number, size in enumerate(sizes, start=1):
        if before >= warm_up:
            return f"alerts begin with number {number}"
        before += size
    return f"too few for alerts, which need {warm_up} documents scored before (alerts.warm_up)"


def counts(times, period):
    """Return the documents of each period that has any, in order."""
    found = np.array(periods_of(np.array(times, dtype=np.int64), period))
    return np.unique(found, return_counts=True)[1].tolist()


def start(sizes, initial):
    """Return the documents of the first batch, whole periods of at least `initial`, and the sizes of the others."""
    first, at = 0, 0
    while at < len(sizes) and first < initial:
        first, at = first + sizes[at], at + 1
    return first, sizes[at:]
