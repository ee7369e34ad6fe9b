"""Learners of bounded memory against nearest neighbours on one stream: quality, memory, ingredients, batch sizes.

Everything is scored before it is learned, in the order of the stream; labels are used to measure only.
"""

import time
from collections import defaultdict

import numpy as np

from odl import learners, novelty
from odl.config.chains import learner_of
from odl.evaluation import baselines, metrics
from odl.learners.adaptive import in_context
from odl.learners.peers import with_peers
from odl.papers import rivals
from odl.papers.rivals.windows import Recent

COSINES = ("nearest-tfidf", "nearest5-tfidf", "nearest-logtf", "nearest5-logtf")
LOGTF = {"logtf": "log"}
SCORING = ("nearest", "cohesion", "flatten", "groups", "contrast", "context", "peers")  # do not change the atoms
WINDOWS, HALF_LIVES = (200, 1000, 10000), (500, 2000)
NEAREST, LIVES = "nearest5-logtf", 20  # half-lives after which nothing counts


def learn(stream, runs, k, every=False):
    """Run variants of a learner that share their atoms over a stream.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.Stream
    runs : dict of str to dict
        Name to ``learner`` (algorithm and hyper-parameters) and ``features``.
    k : int
        Atoms, of a learner whose memory is told so.
    every : bool
        Score all timesteps rather than the listed ones.

    Returns
    -------
    scores, entries
        Of each variant timestep -> scores, and the numbers stored at the end.
    """
    instances = {run: learners.make(**learner_of(variant["learner"])) for run, variant in runs.items()}
    first, weighting = next(iter(instances.values())), next(iter(runs.values()))["features"]
    scores = {run: {} for run in runs}
    start = stream.P(0, weighting)
    state = first.start(start, k, novelty.generator(stream.seed, "start"))
    for t in range(1, len(stream.batches)):
        P = stream.P(t, weighting)
        for run, learner in instances.items() if every or t in stream.listed else ():
            scores[run][t] = novelty.score(learner, learner.fit_terms(state, P.shape[1]), P).score
        state = first.learn(state, P, None)
    return scores, state.dictionary.nnz + sum(value.size for value in state.arrays.values())


def groups(learners_of, names):
    """Group the runs of these names by the atoms that they make."""
    grouped = defaultdict(dict)
    for name in names:
        learner, weighting = learners_of[name]["learner"], learners_of[name]["features"]
        atoms_by = sorted((key, value) for key, value in learner.items() if key not in SCORING)
        grouped[repr((atoms_by, sorted(weighting.items())))][name] = learners_of[name]
    return list(grouped.values())


def neighbours(stream, weightings=baselines.WEIGHTINGS, window=None):
    """Return the cosine baselines of timesteps (the listed ones), over the past or its last `window` documents."""
    scores = defaultdict(dict)
    for t in stream.listed:
        past = baselines.latest(reversed(stream.batches[:t]), window) if window else stream.batches[:t]
        for name, score in baselines.nearest(stream.batches[t], past, weightings).items():
            scores[name][t] = score
    return scores


def compared(learners_of, settings):
    """The runs compared, by the atoms they make, and the contexts of the batch that they have."""
    return groups(learners_of, settings["runs"]), contexts(learners_of, settings["runs"])


def learned(stream, grouped, k, **options):
    """Return the scores of all these runs, and the numbers stored at the end, as of `learn`."""
    scores, entries = {}, {}
    for runs in grouped:
        own, stored = learn(stream, runs, k, **options)
        scores |= own
        entries |= dict.fromkeys(own, stored)
    return scores, entries


def compare(stream, learners_of, settings):
    """The runs and the cosines over the whole past, plain and using the batch."""
    grouped, around = compared(learners_of, settings)
    scores, _ = learned(stream, grouped, settings["k"])
    cosines, kinds = neighbours(stream), {"plain": {}, "context": {}}
    for run, averages in scores.items():
        kinds["context" if in_batch(learners_of[run]["learner"]) else "plain"][run] = averages
    for name in COSINES:
        kinds["plain"][name] = cosines[name]
        kinds["context"] |= judged(stream, around, name, cosines[name])
    averages = {}
    for kind, runs in kinds.items():
        averages |= stream.judge(kind, runs) if runs else {}
    return {"table": [{"run": run, "average": average} for run, (average, _) in averages.items()]}


def pooled(streams, learners_of, settings):
    """Return the rows of the runs against the best methods of their kind, over the streams of all seeds."""
    names = set(COSINES) | {
        f"{name}-{algorithm}-context" for name in COSINES for algorithm in contexts(learners_of, settings["runs"])
    }
    return pairs(streams, settings["runs"], names)


def _sized(grouped, settings):
    """Return atoms, k and runs for each size of memory that a group of runs is measured at."""
    sizes = []
    for runs in grouped:
        first = next(iter(runs.values()))["learner"]
        if not hasattr(learners.make(**learner_of(first)), "memory"):  # which the configuration may leave out
            sizes += [(k, k, runs) for k in settings["atoms"]]
            continue
        for memory in settings["memory"]:
            sized = {
                run: {**entry, "learner": {**entry["learner"], "memory": memory}} for run, entry in runs.items()
            }  # fmt: skip
            limit = learners.make(**learner_of({**first, "memory": memory})).limit
            sizes.append((limit, 1, sized))
    return sizes


def remember(stream, learners_of, settings):
    """AUC against the numbers that are kept: dictionaries, windows of documents."""
    (grouped, around), rows = compared(learners_of, settings), []
    for size, k, runs in _sized(grouped, settings):
        scores, entries = learn(stream, runs, k)
        for run, judgement in scores.items():
            rows.append({"run": run, "size": size, "entries": entries, "average": stream.average(judgement)})
    lengths = np.concatenate([np.diff(batch.counts[:].indptr) for batch in stream.batches])
    for window in settings["windows"]:
        if window > len(lengths):
            continue
        for name, plain in neighbours(stream, LOGTF, window).items():
            label = f"{name}-window"
            for run, judgement in ({label: plain} | judged(stream, around, label, plain)).items():
                row = {"run": run, "size": window, "entries": int(window * lengths.mean())}
                rows.append(row | {"average": stream.average(judgement)})
    return {"memory": rows}


def ablate(stream, learners_of, settings):
    """Every learner that the experiment names: what each ingredient brings."""
    scores, entries = learned(stream, groups(learners_of, learners_of), settings["k"])
    rows = [{"run": run, "entries": entries[run], "average": stream.average(scores[run])} for run in learners_of]
    return {"ablation": rows}


def rival(stream, learners_of, settings):
    """Other methods, plain and using the batch, with what they store and the time that they take."""
    around, rows = contexts(learners_of, settings["runs"]), []
    for name in rivals.names() + (rivals.names("vectors") if stream.batches[0].vectors is not None else []):
        scores, alike, stored, ms = follow(stream, name)
        for kind, runs in (("plain", {name: scores}), ("context", judged(stream, around, name, scores, alike))):
            if runs and rivals.RIVALS[name].NEEDS == "counts":  # vectors are more to go by than the runs have
                stream.judge(kind, runs)
            rows += [{"run": run, "entries": stored, "ms": ms, "average": stream.average(runs[run])} for run in runs]
    return {"rivals": rows}


def resize(stream, learners_of, settings):
    """Rows of the runs and of five nearest neighbours in batches of each size.

    ``pooled`` is the AUC of all documents after the first batch together, ``single`` the mean AUC of those batches
    that have one: a topic is new in one batch only, so that small batches have few new documents each.
    """
    grouped, around = compared(learners_of, settings)
    around = {name: around[name] for name in ("levels",) if name in around}  # enough to compare with, and quick
    rows = []
    for size in settings["sizes"]:
        recut = stream.cut(size)
        scores = learned(recut, grouped, settings["k"], every=True)[0] | by_age(recut, around)
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


def by_age(stream, around):
    """Score all timesteps after the first by five nearest documents: whole past, windows, half-lives, recency.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.Stream
    around : dict
        As of `contexts`: the learners by which they use the batch, too.

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
            rival.count(best[NEAREST][0])
        rival.memory.learn(batch)
    for name in list(scores):
        scores |= judged(stream, around, name, scores[name])
    return scores


def ways(rival):
    """Return, by run, what cosines with earlier documents are multiplied by; windows as long as the past are it."""
    ages = rival.memory.ages
    factors = {NEAREST: np.ones(len(ages))}
    factors |= {f"{NEAREST}-window{window}": (ages < window).astype(float) for window in WINDOWS}
    factors |= {f"{NEAREST}-half-life{life}": 0.5 ** (ages / life) * (ages < LIVES * life) for life in HALF_LIVES}
    return factors | {f"{NEAREST}-recency": rival.factors(ages)}


PARTS = {"table": compare, "memory": remember, "ablation": ablate, "rivals": rival, "sizes": resize}


JUDGES = {
    "adaptive": lambda P, scores, own: sum(in_context(P, scores, own.contrast, own.context, own.peers)),
    "levels": lambda P, scores, own: with_peers(P, scores, own.context, own.peers),
}


def in_batch(learner):
    """Tell whether the scores of a learner, told by its settings, depend on the batch."""
    return learners.make(**learner_of(learner)).in_batch


def contexts(learners_of, runs):
    """Return algorithm to learner of the last of these runs of it that look at the batch."""
    made = (learners.make(**learner_of(learners_of[run]["learner"])) for run in runs)
    return {learner.algorithm: learner for learner in made if learner.in_batch}


def judged(stream, contexts, name, scores, alike=None):
    """Judge the scores of timesteps in the context of their batches, as learners do it with their own.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.Stream
    contexts : dict
        As `contexts`.
    name : str
        Of the method.
    scores : dict of int to ndarray
    alike : dict of int to csr_array, optional
        Rows by which documents are alike; otherwise it is their words.

    Returns
    -------
    dict of str to dict of int to ndarray
        Of each context: name to timestep to scores.
    """
    return {
        f"{name}-{algorithm}-context": {
            t: JUDGES[algorithm]((alike or {}).get(t, stream.P(t)), values, learner) for t, values in scores.items()
        }
        for algorithm, learner in contexts.items()
    }


def pairs(streams, runs, cosines):
    """Return a row for each run and what it is compared with: the cosines over the whole past, and all methods.

    Parameters
    ----------
    streams : list of odl.papers.experiments.quality.Stream
        One for each seed, with what was judged.
    runs : list of str
        Those of learners; all others are methods to compare with.
    cosines : collection of str
        Names of the cosines, plain and using the batch.

    Returns
    -------
    list of dict
        The best method is that of the highest mean over the seeds, after looking. The interval is that of the mean over
        seeds of the difference, documents drawn again within each timestep of each seed.
    """
    rows = []
    for kind in ("plain", "context"):
        judgements = [stream.judged[kind] for stream in streams]
        means = {name: float(np.mean([result[name][0] for result in judgements])) for name in judgements[0]}
        others = [name for name in means if name not in runs]
        groups = {"cosines": [name for name in others if name in cosines], "all": others}
        for run in (name for name in means if name in runs):
            for among, names in groups.items():
                if names:
                    best = max(names, key=means.get)
                    row = {"run": run, "among": among, "seeds": len(judgements), "average": means[run]}
                    rows.append(row | {"best": best, "other": means[best]} | _difference(judgements, run, best))
    return rows


def _difference(judgements, run, best):
    """Return mean and spread over seeds of the difference of two runs, and the interval of the mean."""
    values = np.array([result[run][0] - result[best][0] for result in judgements])
    low, high = metrics.interval(np.mean([result[run][1] - result[best][1] for result in judgements], axis=0))
    spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return {"difference": float(values.mean()), "sd": spread, "low": low, "high": high}


def follow(stream, name):
    """Run one rival over a stream.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.Stream
    name : str
        One of `odl.papers.rivals.RIVALS`.

    Returns
    -------
    scores : dict of int to ndarray
        Of the timesteps that are evaluated.
    alike : dict of int to csr_array
        What documents of these are compared by, for their context; empty where it is their words.
    stored : int
        Numbers stored at the end.
    ms : float
        CPU milliseconds a document, to score it and to learn it; the first batch, which is learned only, left out.
    """
    rival, scores, alike, spent = rivals.RIVALS[name](stream.seed), {}, {}, {"score": 0.0, "learn": 0.0}
    documents = dict(spent)
    for t, batch in enumerate(stream.batches):
        if t in stream.listed and hasattr(rival, "rows"):
            alike[t] = rival.rows(batch)
        for phase in ("score", "learn") if t in stream.listed else ("learn",):
            begin = time.process_time()
            if phase == "score":
                scores[t] = rival.score(batch)
            else:
                rival.learn(batch)
            if t:
                spent[phase] += time.process_time() - begin
                documents[phase] += batch.counts.shape[0]
    return scores, alike, rival.stored, sum(1000.0 * spent[phase] / max(documents[phase], 1) for phase in spent)
