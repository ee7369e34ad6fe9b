"""A stream in batches of several sizes: learners beside windows of nearest documents, half-lives and recency."""

from collections import defaultdict

import numpy as np

from odl.evaluation import metrics
from odl.papers import qualitystudy
from odl.papers.rivals.windows import Recent

WINDOWS, HALF_LIVES = (200, 1000, 10000), (500, 2000)
NAME, LIVES = "nearest5-logtf", 20  # half-lives after which nothing counts


def resize(stream, learners_of, settings):
    """Rows of the runs and of five nearest neighbours in batches of each size.

    ``pooled`` is the AUC of all documents after the first batch together, ``single`` the mean AUC of those batches
    that have one: a topic is new in one batch only, so that small batches have few new documents each.
    """
    grouped, around = qualitystudy.compared(learners_of, settings)
    around = {name: around[name] for name in ("levels",) if name in around}  # enough to compare with, and quick
    rows = []
    for size in settings["sizes"]:
        recut = stream.cut(size)
        scores = qualitystudy.learned(recut, grouped, settings["k"], every=True)[0] | neighbours(recut, around)
        rows += [{"run": run, "size": size, **measured(recut, values)} for run, values in scores.items()]
    return {"sizes": rows}


def measured(stream, scores):
    """Return both AUCs of a run, and how many timesteps, novel documents and timesteps with an AUC there are."""
    labels = [stream.labels[t] for t in scores]
    both = [t for t, own in zip(scores, labels, strict=True) if 0 < (own == 1).sum() < (own >= 0).sum()]
    single = [metrics.auc(scores[t], stream.labels[t]) for t in both]
    counted = {"timesteps": len(labels), "novel": int((np.concatenate(labels) == 1).sum()), "listed": len(both)}
    pooled = metrics.auc(np.concatenate([*scores.values()]), np.concatenate(labels))
    return counted | {"pooled": pooled, "single": float(np.mean(single)) if both else float("nan")}


def neighbours(stream, around):
    """Score all timesteps after the first by five nearest documents: whole past, windows, half-lives, recency.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.Stream
    around : dict
        As of `odl.papers.qualitystudy.contexts`: the learners by which they use the batch, too.

    Returns
    -------
    dict of str to dict of int to ndarray
        Run to timestep to scores.
    """
    rival, scores = Recent(), defaultdict(dict)
    for t, batch in enumerate(stream.batches):
        if t:
            best = rival.memory.nearest(batch, ways(rival))
            for name, (_, cosines) in best.items():
                scores[name][t] = 1.0 - cosines.sum(axis=1) / cosines.shape[1]
            rival.count(best[NAME][0])
        rival.memory.learn(batch)
    for name in list(scores):
        scores |= qualitystudy.judged(stream, around, name, scores[name])
    return scores


def ways(rival):
    """Return, by run, what cosines with earlier documents are multiplied by; windows as long as the past are it."""
    ages = rival.memory.ages
    factors = {NAME: np.ones(len(ages))}
    factors |= {f"{NAME}-window{window}": (ages < window).astype(float) for window in WINDOWS}
    factors |= {f"{NAME}-half-life{life}": 0.5 ** (ages / life) * (ages < LIVES * life) for life in HALF_LIVES}
    return factors | {f"{NAME}-recency": rival.factors(ages)}
