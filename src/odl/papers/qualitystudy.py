"""Compare learners of bounded memory with nearest neighbours on one stream.

AUC is compared overall, by memory, between variants of learners, and by batch size. Every batch is
scored before it is learned, and labels are used for evaluation only.
"""

import time
from collections import defaultdict
from itertools import product

import numpy as np

from odl import learners, novelty
from odl.config.chains import learner_of
from odl.evaluation import baselines, metrics
from odl.learners.adaptive import combine_with_peers
from odl.learners.peers import with_peers
from odl.papers import rivals
from odl.papers.rivals.windows import Recent

COSINES = ("nearest-tfidf", "nearest5-tfidf", "nearest-logtf", "nearest5-logtf")
LOGTF = {"logtf": "log"}
# parameters of learners that affect scores but not atoms
SCORING = ("nearest", "cohesion", "flatten", "groups", "contrast", "context", "peers")
WINDOWS, HALF_LIVES = (200, 1000, 10000), (500, 2000)  # numbers of documents
NEAREST_RUN = "nearest5-logtf"
MAX_HALF_LIVES = 20  # age in half-lives above which a cosine counts as 0


def learn(stream, runs, k, every=False):
    """Score a stream by variants of a learner that differ only in the computation of scores.

    All variants have the same atoms, which the first variant learns.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    runs : dict of str to dict
        Name of a variant -> "learner" (algorithm and hyper-parameters) and "features".
    k : int
        Number of atoms, for learners that need it.
    every : bool
        Whether to score all timesteps instead of only the evaluated timesteps.

    Returns
    -------
    scores : dict of str to dict of int to ndarray
        Scores by variant and timestep.
    entries : int
        Number of floating-point numbers that the learner stores after the last batch.
    """
    instances = {
        run: learners.make(**learner_of(variant["learner"])) for run, variant in runs.items()
    }
    first_learner = next(iter(instances.values()))
    weighting = next(iter(runs.values()))["features"]
    scores = {run: {} for run in runs}
    rng = novelty.generator(stream.seed, "start")
    state = first_learner.start(stream.P(0, weighting), k, rng)
    for t in range(1, len(stream.batches)):
        P = stream.P(t, weighting)
        if every or t in stream.listed:
            for run, learner in instances.items():
                widened = learner.fit_terms(state, P.shape[1])
                scores[run][t] = novelty.score(learner, widened, P).score
        state = first_learner.learn(state, P, None)
    return scores, state.dictionary.nnz + sum(value.size for value in state.arrays.values())


def groups(learners_of, names):
    """Return groups {name: run} of runs that have the same atoms.

    Their learners and features differ only in the parameters `SCORING`.
    """
    grouped = defaultdict(dict)
    for name in names:
        learner, weighting = learners_of[name]["learner"], learners_of[name]["features"]
        atoms_by = sorted((key, value) for key, value in learner.items() if key not in SCORING)
        grouped[repr((atoms_by, sorted(weighting.items())))][name] = learners_of[name]
    return list(grouped.values())


def neighbours(stream, weightings=baselines.WEIGHTINGS, window=None):
    """Return the scores of the evaluated timesteps by the cosine baselines.

    Neighbours are searched among all earlier documents, or among the last `window` documents.
    """
    scores = defaultdict(dict)
    for t in stream.listed:
        past = stream.batches[:t]
        if window:
            past = baselines.latest(reversed(past), window)
        for name, score in baselines.nearest(stream.batches[t], past, weightings).items():
            scores[name][t] = score
    return scores


def learn_groups(stream, grouped, k, **options):
    """Return (scores, number of stored numbers) of `learn` for all groups, as dicts by run."""
    scores, entries = {}, {}
    for runs in grouped:
        group_scores, stored = learn(stream, runs, k, **options)
        scores |= group_scores
        entries |= dict.fromkeys(group_scores, stored)
    return scores, entries


def compare(stream, learners_of, settings):
    """Compare the runs with cosines to all earlier documents, with and without batch peers.

    The stream records the AUCs (`SeededStream.judge`) for the comparison over all seeds.

    Returns
    -------
    dict
        "table": rows with the average AUC of each method.
    """
    run_scores, _ = learn_groups(stream, groups(learners_of, settings["runs"]), settings["k"])
    cosine_scores, peer_learners = neighbours(stream), contexts(learners_of, settings["runs"])
    # method -> scores of each batch, without (plain) and with (context) the effect of batch peers
    scores = {"plain": {}, "context": {}}
    for run, values in run_scores.items():
        learner = learners.make(**learner_of(learners_of[run]["learner"]))
        scores["context" if learner.in_batch else "plain"][run] = values
    for name in COSINES:
        scores["plain"][name] = cosine_scores[name]
        scores["context"] |= add_peers(stream, peer_learners, name, cosine_scores[name])
    aucs = {}  # method -> (average AUC, AUC of each batch)
    for kind, methods in scores.items():
        aucs |= stream.judge(kind, methods) if methods else {}
    return {"table": [{"run": method, "average": average} for method, (average, _) in aucs.items()]}


def pooled(streams, learners_of, settings):
    """Return rows that compare the runs with the best other method over all seeds."""
    names = set(COSINES) | {
        f"{name}-{algorithm}-context"
        for name in COSINES
        for algorithm in contexts(learners_of, settings["runs"])
    }
    return compare_pairs(streams, settings["runs"], names)


def _sized(grouped, settings):
    """Return (size, k, runs) for each combination of a group of runs and a size of its memory.

    The size is a number of atoms, and k the initial number of atoms. For learners with the setting
    `memory`, the size is the largest number of atoms in the memory, and k is 1.
    """
    sizes = []
    for runs in grouped:
        first = next(iter(runs.values()))["learner"]
        if not hasattr(learners.make(**learner_of(first)), "memory"):
            sizes += [(k, k, runs) for k in settings["atoms"]]
            continue
        for memory in settings["memory"]:
            sized = {
                run: {**entry, "learner": {**entry["learner"], "memory": memory}}
                for run, entry in runs.items()
            }
            limit = learners.make(**learner_of({**first, "memory": memory})).limit
            sizes.append((limit, 1, sized))
    return sizes


def remember(stream, learners_of, settings):
    """Measure AUC by the number of stored numbers, for dictionaries and windows of documents."""
    peer_learners, rows = contexts(learners_of, settings["runs"]), []
    for size, k, runs in _sized(groups(learners_of, settings["runs"]), settings):
        scores, entries = learn(stream, runs, k)
        for run, judgement in scores.items():
            rows.append(
                {"run": run, "size": size, "entries": entries, "average": stream.average(judgement)}
            )
    lengths = np.concatenate([np.diff(batch.counts[:].indptr) for batch in stream.batches])
    for window in settings["windows"]:
        if window > len(lengths):
            continue
        for name, plain in neighbours(stream, LOGTF, window).items():
            label = f"{name}-window"
            variants = {label: plain} | add_peers(stream, peer_learners, label, plain)
            for run, judgement in variants.items():
                row = {"run": run, "size": window, "entries": int(window * lengths.mean())}
                rows.append(row | {"average": stream.average(judgement)})
    return {"memory": rows}


def ablate(stream, learners_of, settings):
    """Return the table "ablation" with the average AUC of every learner of the experiment."""
    scores, entries = learn_groups(stream, groups(learners_of, learners_of), settings["k"])
    rows = [
        {"run": run, "entries": entries[run], "average": stream.average(scores[run])}
        for run in learners_of
    ]
    return {"ablation": rows}


def rival(stream, learners_of, settings):
    """Measure AUC, stored numbers and CPU time of other methods, with and without batch peers."""
    peer_learners, rows = contexts(learners_of, settings["runs"]), []
    names = rivals.names()
    if stream.batches[0].vectors is not None:
        names += rivals.names("vectors")
    for name in names:
        scores, alike, stored, ms = follow(stream, name)
        for kind, runs in (
            ("plain", {name: scores}),
            ("context", add_peers(stream, peer_learners, name, scores, alike)),
        ):
            # Methods with vectors are not compared with the runs, which have counts only.
            if runs and rivals.RIVALS[name].NEEDS == "counts":
                stream.judge(kind, runs)
            rows += [
                {"run": run, "entries": stored, "ms": ms, "average": stream.average(runs[run])}
                for run in runs
            ]
    return {"rivals": rows}


def resize(stream, learners_of, settings):
    """Measure the runs and five nearest neighbours with batches of each size (`measure_auc`)."""
    grouped, peer_learners = groups(learners_of, settings["runs"]), {}
    # Batch peers are used as in `levels` only.
    if levels := contexts(learners_of, settings["runs"]).get("levels"):
        peer_learners["levels"] = levels
    rows = []
    for size in settings["sizes"]:
        recut = stream.cut(size)
        scores = learn_groups(recut, grouped, settings["k"], every=True)[0]
        scores |= score_by_age(recut, peer_learners)
        rows += [
            {"run": run, "size": size, **measure_auc(recut, values)}
            for run, values in scores.items()
        ]
    return {"sizes": rows}


def measure_auc(stream, scores):
    """Return the pooled and the mean AUC of a run, with its numbers of timesteps and documents.

    Returns
    -------
    dict
        "timesteps" is the number of timesteps with scores, and "novel" the number of novel
        documents. "listed" is the number of timesteps whose AUC is defined, because they have novel
        and known documents. "pooled" is the AUC over all documents, and "single" the mean of the
        defined AUCs, which is nan without any.
    """
    labels = np.concatenate([stream.labels[t] for t in scores])
    aucs = [metrics.auc(values, stream.labels[t]) for t, values in scores.items()]
    defined = [value for value in aucs if not np.isnan(value)]
    return {
        "timesteps": len(scores),
        "novel": int((labels == 1).sum()),
        "listed": len(defined),
        "pooled": metrics.auc(np.concatenate([*scores.values()]), labels),
        "single": float(np.mean(defined)) if defined else float("nan"),
    }


def score_by_age(stream, peer_learners):
    """Score all timesteps after the first by five nearest neighbours, with cosines weighted by age.

    Each run has its own weights (`age_factors`): equal weights, a window, a half-life, or the
    weights of `Recent`.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    peer_learners : dict of str to learner
        Algorithm -> learner whose peer effect is added to the scores, in extra runs (see
        `contexts`).

    Returns
    -------
    dict of str to dict of int to ndarray
        Scores by run and timestep.
    """
    rival, scores = Recent(), defaultdict(dict)
    for t, batch in enumerate(stream.batches):
        if t:
            best = rival.memory.nearest(batch, age_factors(rival))
            for name, (_, cosines) in best.items():
                scores[name][t] = 1.0 - cosines.sum(axis=1) / cosines.shape[1]
            rival.count(best[NEAREST_RUN][0])
        rival.memory.learn(batch)
    for name in list(scores):
        scores |= add_peers(stream, peer_learners, name, scores[name])
    return scores


def age_factors(rival):
    """Return {run: factor of the cosine with each earlier document}."""
    ages = rival.memory.ages
    factors = {NEAREST_RUN: np.ones(len(ages))}
    factors |= {
        f"{NEAREST_RUN}-window{window}": (ages < window).astype(float) for window in WINDOWS
    }
    factors |= {
        f"{NEAREST_RUN}-half-life{life}": 0.5 ** (ages / life) * (ages < MAX_HALF_LIVES * life)
        for life in HALF_LIVES
    }
    return factors | {f"{NEAREST_RUN}-recency": rival.factors(ages)}


QUALITY_PARTS = {
    "table": compare,
    "memory": remember,
    "ablation": ablate,
    "rivals": rival,
    "sizes": resize,
}


# algorithm -> function of (P, scores, learner) that returns the scores with the effect of peers
WITH_PEERS = {
    "adaptive": lambda P, scores, learner: sum(
        combine_with_peers(P, scores, learner.contrast, learner.context, learner.peers)
    ),
    "levels": lambda P, scores, learner: with_peers(P, scores, learner.context, learner.peers),
}


def contexts(learners_of, runs):
    """Return {algorithm: last learner of the runs that scores with batch peers}."""
    instances = (learners.make(**learner_of(learners_of[run]["learner"])) for run in runs)
    return {learner.algorithm: learner for learner in instances if learner.in_batch}


def add_peers(stream, contexts, name, scores, alike=None):
    """Adjust scores by those of similar documents in the batch, in the same way as learners.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    contexts : dict of str to learner
        Algorithm -> learner, as the function `contexts` returns.
    name : str
        Name of the method.
    scores : dict of int to ndarray
        Scores of the method by timestep.
    alike : dict of int to csr_array, optional
        Rows from which similarities are computed, by timestep. By default weighted words.

    Returns
    -------
    dict of str to dict of int to ndarray
        Scores by ``{name}-{algorithm}-context`` and timestep.
    """
    return {
        f"{name}-{algorithm}-context": {
            t: WITH_PEERS[algorithm]((alike or {}).get(t, stream.P(t)), values, learner)
            for t, values in scores.items()
        }
        for algorithm, learner in contexts.items()
    }


def compare_pairs(streams, runs, cosines):
    """Compare each run with the best cosine over all earlier documents, and with the best method.

    Parameters
    ----------
    streams : list of odl.papers.experiments.quality.SeededStream
        Stream of each seed, after all calls of `SeededStream.judge`.
    runs : list of str
        Names of learners. All other names in the judgements are methods with which the learners are
        compared.
    cosines : collection of str
        Names of the cosines, with and without batch peers.

    Returns
    -------
    list of dict
        A row for each run and comparison. The best method has the largest mean over the same seeds.
        The interval of the mean difference over seeds is computed from bootstrap samples of the
        documents of each timestep and seed.
    """
    rows = []
    for kind in ("plain", "context"):
        judgements = [stream.judged[kind] for stream in streams]
        means = {
            name: float(np.mean([result[name][0] for result in judgements]))
            for name in judgements[0]
        }
        others = [name for name in means if name not in runs]
        groups = {"cosines": [name for name in others if name in cosines], "all": others}
        for run, (among, names) in product(means, groups.items()):
            if run not in runs or not names:
                continue
            best = max(names, key=means.get)
            row = {
                "run": run,
                "among": among,
                "seeds": len(judgements),
                "average": means[run],
                "best": best,
                "other": means[best],
            }
            rows.append(row | _difference(judgements, run, best))
    return rows


def _difference(judgements, run, best):
    """Return the difference in average AUC of two runs: mean over seeds, deviation and interval."""
    values = np.array([result[run][0] - result[best][0] for result in judgements])
    replicates = [result[run][1] - result[best][1] for result in judgements]
    low, high = metrics.interval(np.mean(replicates, axis=0))
    spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return {"difference": float(values.mean()), "sd": spread, "low": low, "high": high}


def follow(stream, name):
    """Score a stream by a rival method, and measure its memory and CPU time.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    name : str
        One of `odl.papers.rivals.RIVALS`.

    Returns
    -------
    scores : dict of int to ndarray
        Scores of the evaluated timesteps.
    alike : dict of int to csr_array
        Rows from which similarities are computed; empty if the method compares words.
    stored : int
        Number of floating-point numbers that are stored after the last batch.
    ms : float
        CPU time in ms to score and learn a document, without the first batch.
    """
    rival, scores, alike = rivals.RIVALS[name](stream.seed), {}, {}
    spent = {"score": 0.0, "learn": 0.0}  # CPU seconds
    documents = dict(spent)  # numbers of documents
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
    ms = sum(1000.0 * spent[phase] / max(documents[phase], 1) for phase in spent)
    return scores, alike, rival.stored, ms
