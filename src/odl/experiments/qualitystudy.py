"""The adaptive learner against nearest neighbours on one stream: quality, memory, ingredients, alerts, cost.

Everything is scored before it is learned, in the order of the stream; labels are used to measure only.
"""

import math
import time
from collections import defaultdict
from types import SimpleNamespace

import numpy as np

from odl import learners, novelty
from odl.alerts import calibration
from odl.errors import DataError
from odl.evaluation import baselines, means, metrics, rivals
from odl.experiments import qualityrivals
from odl.learners.adaptive import in_context
from odl.stream import batching, features

COSINES = ("nearest-tfidf", "nearest5-tfidf", "nearest-logtf", "nearest5-logtf")
LOGTF = {"logtf": "log"}
SCORING = ("nearest", "cohesion", "flatten", "contrast", "context", "peers")  # of `adaptive`: do not change the atoms


class Stream:
    """A corpus in the order of one seed: batches, labels, and the timesteps that are evaluated.

    Parameters
    ----------
    name : str
    documents : Documents
    setting : dict
        protocol, topic_entry, ties, batches and timesteps, as of a corpus in the configuration.
    rule : dict
        topics, min_novel, min_known, bootstrap, seed, as `evaluate` in the configuration.
    seed : int
        Of the order and of the learners' start.
    most : int
        Batches that are used; 0: all.

    Raises
    ------
    DataError
        If no timestep has enough novel and known documents.
    """

    def __init__(self, name, documents, setting, rule, seed, most=0):
        self.name, self.seed, self.rule, self.made_of = name, seed, rule, (documents, setting)
        held = batching.Entry(**setting["topic_entry"]) if setting["protocol"] == "topic-entry" else None
        rows = batching.order(documents.ids, documents.times, seed, setting["ties"])
        parts = batching.split(
            rows, documents.times, documents.files, documents.topics, entry=held, seed=seed, **setting["batches"]
        )
        self.batches = []
        for part in parts[: most or None]:
            self.batches.append(features.follow(documents.select(part), self.batches[-1] if self.batches else None))
        self.labels = [batch.novel_dominant if rule["topics"] == "dominant" else batch.novel for batch in self.batches]
        self.listed = means.listed(
            dict(enumerate(self.labels[1:], start=1)),
            [t for t in setting["timesteps"] if t < len(self.batches)],
            **{name: rule[name] for name in ("min_novel", "min_known")},
        )
        if not self.listed:
            expected = f"{rule['min_novel']} novel and {rule['min_known']} known documents in one of them"
            raise DataError(f"no timestep of {name} can be evaluated", expected, "lower evaluate.min_novel")
        self.weighed = {}

    def cut(self, size):
        """Return the same stream in batches of another size; held-back topics enter less than a batch later."""
        documents, setting = self.made_of
        ratio, entry = setting["batches"]["documents"] / size, setting["topic_entry"]
        first = max(1, math.ceil((entry["first"] - 1) * ratio) + 1)
        entry = {**entry, "first": first, "last": max(first, math.ceil(entry["last"] * ratio))}
        batches = {**setting["batches"], "by": "documents", "documents": size}
        other = {**setting, "topic_entry": entry, "batches": batches, "timesteps": []}
        rule = {**self.rule, "min_novel": 0, "min_known": 0}
        return Stream(self.name, documents, other, rule, self.seed)

    def P(self, t, weighting=None):
        """Return a weighted batch of unit l2 rows; without a weighting log-tf with the idf of the past."""
        chosen = weighting or {"tf": "log"}
        key = (t, *sorted(chosen.items()))
        if key not in self.weighed:
            self.weighed[key] = self.batches[t].weighed(norm="l2", corpus=self.batches[-1], **chosen)[:]
        return self.weighed[key]

    def average(self, scores):
        """Return the mean AUC over the listed timesteps."""
        aucs = {t: metrics.auc(scores[t], self.labels[t]) for t in self.listed}
        return means.average_auc(aucs, self.listed)

    def against(self, scores, others):
        """Return the difference of the mean AUCs with its paired interval."""
        return metrics.mean_difference(
            [(scores[t], others[t], self.labels[t]) for t in self.listed],
            replicates=self.rule["bootstrap"],
            seed=self.rule["seed"],
        )


def learn(held, runs, k, every=False, cost=None):
    """Run variants of `adaptive` that share their atoms over a stream.

    Parameters
    ----------
    held : Stream
    runs : dict of str to dict
        Name to ``learner`` (algorithm and hyper-parameters) and ``features``.
    k : int
    every : bool
        Score all timesteps rather than the listed ones.
    cost : list, optional
        Gets one (t, CPU ms a document of the first variant, scored and learned) for each timestep.

    Returns
    -------
    scores, entries
        Of each variant timestep -> scores, and the stored weights of the dictionary at the end.
    """
    made = {run: learners.make(**chosen["learner"]) for run, chosen in runs.items()}
    first, weighting = next(iter(made.values())), next(iter(runs.values()))["features"]
    found = {run: {} for run in runs}
    start = held.P(0, weighting)
    state = first.start(start, k, novelty.generator(held.seed, "start"))
    for t in range(1, len(held.batches)):
        P, spent = held.P(t, weighting), 0.0
        for run, learner in made.items():
            if every or t in held.listed or (cost is not None and learner is first):
                begin = time.process_time()
                found[run][t] = novelty.score(learner, learner.fit_terms(state, P.shape[1]), P).score
                spent += (time.process_time() - begin) * (learner is first)
        begin = time.process_time()
        state = first.learn(state, P, None)
        if cost is not None:
            cost.append((t, 1000.0 * (spent + time.process_time() - begin) / P.shape[0]))
    return found, state.dictionary.nnz


def groups(chosen, names):
    """Group the runs of these names by the atoms that they make."""
    grouped = defaultdict(dict)
    for name in names:
        learner, weighting = chosen[name]["learner"], chosen[name]["features"]
        made = sorted((key, value) for key, value in learner.items() if key not in SCORING)
        grouped[repr((made, sorted(weighting.items())))][name] = chosen[name]
    return list(grouped.values())


def neighbours(held, weightings=baselines.WEIGHTINGS, window=None, steps=None):
    """Return the cosine baselines of timesteps (the listed ones), over the past or its last `window` documents."""
    found = defaultdict(dict)
    for t in steps or held.listed:
        past, room = [], window or sum(batch.counts.shape[0] for batch in held.batches[:t])
        for batch in reversed(held.batches[:t]):
            counts = batch.counts[max(0, batch.counts.shape[0] - room) :]
            past.append(SimpleNamespace(t=batch.t, counts=counts))
            room -= counts.shape[0]
            if room <= 0:
                break
        for name, score in baselines.nearest(held.batches[t], past, weightings).items():
            found[name][t] = score
    return found


def with_context(held, scores, learner, alike=None):
    """Judge the scores of timesteps in the context of their batches, as the learner does it with its own.

    Documents are alike by their words, or by the rows of `alike`.
    """
    return {
        t: sum(
            in_context(
                (alike or {}).get(t, held.P(t)), score, learner["contrast"], learner["context"], learner["peers"]
            )
        )
        for t, score in scores.items()
    }


def _runs(chosen, settings):
    """The runs compared, by the atoms they make, and the settings of the context of the batch."""
    return groups(chosen, settings["runs"]), chosen[settings["runs"][-1]]["learner"]


def _learned(held, grouped, k, **options):
    scores, entries = {}, {}
    for runs in grouped:
        found, stored = learn(held, runs, k, **options)
        scores |= found
        entries |= dict.fromkeys(found, stored)
    return scores, entries


def compare(held, chosen, settings):
    """The runs and the cosines over the whole past, plain and in context; differences to the best cosine."""
    grouped, context = _runs(chosen, settings)
    scores, _ = _learned(held, grouped, settings["k"])
    cosines = neighbours(held)
    for name in COSINES:
        scores[name] = cosines[name]
        scores[f"{name}-context"] = with_context(held, cosines[name], context)
    best = max(COSINES, key=lambda name: held.average(cosines[name]))
    rows = []
    for name, found in scores.items():
        difference, low, high = held.against(found, cosines[best])
        row = {"run": name, "average": held.average(found), "best": best}
        rows.append(row | {"difference": difference, "low": low, "high": high})
    return {"table": rows}


def remember(held, chosen, settings):
    """AUC against the weights that are kept: dictionaries of k atoms, windows of documents."""
    (grouped, context), rows = _runs(chosen, settings), []
    for k in settings["atoms"]:
        scores, entries = _learned(held, grouped, k)
        for run, found in scores.items():
            rows.append({"run": run, "size": k, "entries": entries[run], "average": held.average(found)})
    lengths = np.concatenate([np.diff(batch.counts[:].indptr) for batch in held.batches])
    for window in settings["windows"]:
        if window > len(lengths):
            continue
        for name, plain in neighbours(held, LOGTF, window).items():
            for run, scores in ((f"{name}-window", plain), (f"{name}-window-context", None)):
                found = with_context(held, plain, context) if scores is None else scores
                row = {"run": run, "size": window, "entries": int(window * lengths.mean())}
                rows.append(row | {"average": held.average(found)})
    return {"memory": rows}


def ablate(held, chosen, settings):
    """Every learner that the experiment names: what each ingredient brings."""
    scores, entries = _learned(held, groups(chosen, chosen), settings["k"])
    return {
        "ablation": [
            {"run": run, "entries": entries[run], "average": held.average(scores[run])} for run in chosen
        ]
    }  # fmt: skip


def _budget(values, calibrated, budget, labels, topics):
    """What alerts within a budget give: rates, precision, and the delay of topics that enter."""
    # Raw scores: the threshold that kept the budget on the first scored batch.
    edge = 1.0 - budget if calibrated else np.quantile(values[0], 1.0 - budget)
    flags = [score >= edge for score in values]
    flags[0][:] = False
    spent, labels = np.concatenate(flags[1:]), np.concatenate(labels[1:])
    hit = labels[spent & (labels >= 0)]
    delays = calibration.detection_delays([np.zeros(len(topics[0]), dtype=bool), *flags], topics)
    waits = [delay.missed for delay in delays if delay.t > 1]
    seen = [delay.waited >= 0 for delay in delays if delay.t > 1]
    name = f"{budget:g}"
    return {
        f"precision_{name}": calibration.precision_at(np.concatenate(values[1:]), labels, budget),
        f"alerts_{name}": spent.mean(),
        f"false_{name}": spent[labels == 0].mean() if (labels == 0).any() else float("nan"),
        f"alert_precision_{name}": float((hit == 1).mean()) if len(hit) else float("nan"),
        f"missed_{name}": float(np.median(waits)) if waits else float("nan"),
        f"topics_found_{name}": float(np.mean(seen)) if seen else float("nan"),
    }


def alert(held, chosen, settings):
    """Drift, budgets, delays and cost of the scores as they are and calibrated, of runs and nearest neighbours."""
    grouped, context = _runs(chosen, settings)
    steps = range(1, len(held.batches))
    if len(steps) < 2:
        given = f"{held.name} has {len(held.batches)} batches"
        raise DataError(given, "at least 3 for the part alerts", "make smaller batches or leave the part out")
    scores, _ = _learned(held, grouped, settings["k"], every=True)
    scores["nearest5-logtf"] = neighbours(held, LOGTF, steps=steps)["nearest5-logtf"]
    scores["nearest5-logtf-context"] = with_context(held, scores["nearest5-logtf"], context)
    labels = [held.labels[t] for t in steps]
    topics = [batch.topics for batch in held.batches]
    rows, means = [], []
    for run, found in scores.items():
        raw = [found[t] for t in steps]
        tails = [1.0 - tail for tail in calibration.calibrate(raw, settings["calibration"])]
        for kind, values in (("raw", raw), ("calibrated", tails)):
            # The first scored batch has nothing to be calibrated against.
            drift = calibration.drift(list(zip(values, labels, strict=True))[kind != "raw" :])
            row = {"run": run, "scores": kind}
            if len(drift.means):
                row |= {"first_mean": drift.means[0], "last_mean": drift.means[-1], "slope": drift.slope}
            row["spread"] = drift.spread
            row["cost"] = calibration.detection_cost(np.concatenate(values[1:]), np.concatenate(labels[1:]))
            for budget in settings["budgets"]:
                row |= _budget(values, kind != "raw", budget, labels, topics)
            rows.append(row)
            known = [int((label == 0).sum()) for label in labels[kind != "raw" :]]
            for t, (number, mean) in enumerate(zip(known, drift.means, strict=True), start=1 + (kind != "raw")):
                means.append({"run": run, "scores": kind, "t": t, "known": number, "mean": mean})
    return {"alerts": rows, "drift": means}


def spend(held, chosen, settings):
    """CPU milliseconds a document along the stream; the first timestep, which loads code, left out."""
    rows = []
    for run in settings["runs"]:
        spent = []
        learn(held, {run: chosen[run]}, settings["k"], cost=spent)
        times = np.array([value for _, value in spent[1:] or spent])
        third = max(1, len(times) // 3)
        row = {"run": run, "timesteps": len(spent), "ms": float(np.median(times))}
        row |= {"first_third": float(np.median(times[:third])), "last_third": float(np.median(times[-third:]))}
        rows.append(row)
    return {"cost": rows}


def resize(held, chosen, settings):
    """The runs and nearest neighbours in batches of other sizes: AUC of all documents after the first batch together.

    A topic is new in one batch only, so that small batches have too few new documents each for an AUC of their own.
    """
    (grouped, context), rows = _runs(chosen, settings), []
    for size in settings["sizes"]:
        if size < 100 and len(held.made_of[0]) >= 10000:
            continue
        made = held.cut(size)
        steps = range(1, len(made.batches))
        scores, _ = _learned(made, grouped, settings["k"], every=True)
        scores["nearest5-logtf"] = neighbours(made, LOGTF, steps=steps)["nearest5-logtf"]
        scores["nearest5-logtf-context"] = with_context(made, scores["nearest5-logtf"], context)
        labels = np.concatenate([made.labels[t] for t in steps])
        novel = int((labels == 1).sum())
        for run, found in scores.items():
            pooled = metrics.auc(np.concatenate([found[t] for t in steps]), labels)
            rows.append({"run": run, "size": size, "timesteps": len(steps), "novel": novel, "pooled": pooled})
    return {"sizes": rows}


def rival(held, chosen, settings, slow=False):
    """Other methods, plain and in context, with what they store and the time that they take."""
    _, context = _runs(chosen, settings)
    names = rivals.names(slow) + (rivals.names(slow, "vectors") if held.batches[0].vectors is not None else [])
    found = qualityrivals.rows(held, names, lambda scores, alike: with_context(held, scores, context, alike))
    return {"rivals": found}


def model(held, chosen, settings):
    """As `rival`, of those that take long."""
    return rival(held, chosen, settings, slow=True)


PARTS = {"table": compare, "memory": remember, "ablation": ablate, "alerts": alert, "cost": spend, "rivals": rival}
PARTS |= {"models": model, "sizes": resize}
