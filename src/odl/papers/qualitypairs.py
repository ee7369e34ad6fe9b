"""Runs against the best of the other methods of the same kind, over all seeds of a stream."""

import numpy as np

from odl.evaluation import intervals


def pairs(streams, runs, cosines):
    """Return a row for each run and what it is compared with: the cosines over the whole past, and all methods.

    Parameters
    ----------
    streams : list of odl.papers.qualitystream.Stream
        One for each seed, with what was judged.
    runs : list of str
        Those of learners; all others are methods to compare with.
    cosines : collection of str
        Names of the cosines, plain and in context.

    Returns
    -------
    list of dict
        The best method is that of the highest mean over the seeds, after looking. The interval is that of the mean over
        seeds of the difference, documents drawn again within each timestep of each seed.
    """
    rows = []
    for kind in ("plain", "context"):
        held = [stream.judged[kind] for stream in streams]
        means = {name: float(np.mean([found[name][0] for found in held])) for name in held[0]}
        others = [name for name in means if name not in runs]
        groups = {"cosines": [name for name in others if name in cosines], "all": others}
        for run in (name for name in means if name in runs):
            for among, names in groups.items():
                if names:
                    best = max(names, key=means.get)
                    row = {"run": run, "among": among, "seeds": len(held), "average": means[run]}
                    rows.append(row | {"best": best, "other": means[best]} | _difference(held, run, best))
    return rows


def _difference(held, run, best):
    """Return mean and spread over seeds of the difference of two runs, and the interval of the mean."""
    values = np.array([found[run][0] - found[best][0] for found in held])
    low, high = intervals.interval(np.mean([found[run][1] - found[best][1] for found in held], axis=0))
    spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return {"difference": float(values.mean()), "sd": spread, "low": low, "high": high}
