"""A stream in batches of several sizes: learners beside windows of nearest documents, half-lives and recency."""

import time
from collections import defaultdict

import numpy as np

from odl.evaluation import metrics
from odl.learners.likeness import FEWEST, by_peers, nearest_among, share_of_peers
from odl.papers import qualitystudy
from odl.papers.rivals.windows import Recent

WINDOWS, HALF_LIVES = (200, 1000, 10000), (500, 2000)
NAME, WHOLE, LEAST = "nearest5-logtf", 10**9, 1e-6  # factors below the least one count as 0


def resize(stream, learners_of, settings):
    """Rows of the runs and of five nearest neighbours in batches of each size, and of the time that they take.

    ``pooled`` is the AUC of all documents after the first batch together, ``single`` the mean AUC of those batches
    that have one: a topic is new in one batch only, so that small batches have few new documents each.
    """
    rows, seconds = [], []
    for size in settings["sizes"]:
        recut, spent, scores = stream.cut(size), {}, {}
        for runs in qualitystudy.groups(learners_of, settings["runs"]):
            began = time.process_time()
            scores |= qualitystudy.learn(recut, runs, settings["k"], every=True)[0]
            spent[" ".join(runs)] = time.process_time() - began
        began = time.process_time()
        scores |= neighbours(recut, qualitystudy.contexts(learners_of, settings["runs"]).get("levels"))
        spent[NAME] = time.process_time() - began
        rows += [{"run": run, "size": size, **judged(recut, values)} for run, values in scores.items()]
        seconds += [{"run": run, "size": size, "cpu_s": value} for run, value in spent.items()]
    return {"sizes": rows, "seconds": seconds}


def judged(stream, scores):
    """Return both AUCs of a run, and how many timesteps, novel documents and timesteps with an AUC there are."""
    labels = [stream.labels[t] for t in scores]
    both = [t for t, own in zip(scores, labels, strict=True) if 0 < (own == 1).sum() < (own >= 0).sum()]
    single = [metrics.auc(scores[t], stream.labels[t]) for t in both]
    counted = {"timesteps": len(labels), "novel": int((np.concatenate(labels) == 1).sum()), "listed": len(both)}
    pooled = metrics.auc(np.concatenate([*scores.values()]), np.concatenate(labels))
    return counted | {"pooled": pooled, "single": float(np.mean(single)) if both else float("nan")}


def neighbours(stream, around=None):
    """Score all timesteps after the first by five nearest documents: whole past, windows, half-lives, recency.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.Stream
    around : dict, optional
        Hyper-parameters of a learner `levels` by which they use the batch, too.

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
            if around:
                for name, values in in_batch(stream.P(t), {name: scores[name][t] for name in best}, around).items():
                    scores[f"{name}-levels-context"][t] = values
        rival.memory.learn(batch)
    return scores


def ways(rival):
    """Return, by run, what cosines with earlier documents are multiplied by; windows as long as the past are it."""
    ages = rival.memory.ages
    factors = {NAME: np.ones(len(ages))}
    factors |= {f"{NAME}-window{window}": (ages < window).astype(float) for window in WINDOWS}
    for half_life in HALF_LIVES:
        fading = 0.5 ** (ages / half_life)
        factors[f"{NAME}-half-life{half_life}"] = np.where(fading < LEAST, 0.0, fading)
    return factors | {f"{NAME}-recency": rival.factors(ages)}


def in_batch(P, scores, learner):
    """Return scores of several runs in the order that the batch gives them, as `odl.learners.likeness.in_order`."""
    if P.shape[0] < FEWEST:
        return scores
    peers = nearest_among(P, min(learner["peers"], P.shape[0] - 1))
    share = share_of_peers(learner["context"], P.shape[0])
    return {name: by_peers(values, *peers, share) for name, values in scores.items()}
