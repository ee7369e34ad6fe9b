"""Compare learners of bounded memory with nearest neighbours on one stream: AUC, memory, ablations, batch sizes.

Every batch is scored before it is learned; labels are used for evaluation only.
"""

import time
from collections import defaultdict

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
# Parameters that change scores, but not atoms
SCORING = ("nearest", "cohesion", "flatten", "groups", "contrast", "context", "peers")
WINDOWS, HALF_LIVES = (200, 1000, 10000), (500, 2000)
NEAREST_RUN, MAX_HALF_LIVES = "nearest5-logtf", 20  # half-lives after which a cosine counts as 0


def learn(stream, runs, k, every=False):
    """Score a stream by variants of a learner that have the same atoms, which are learned once.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    runs : dict of str to dict
        Maps names to ``learner`` (algorithm and hyper-parameters) and ``features``.
    k : int
        Number of atoms, for learners that need it.
    every : bool
        Whether to score all timesteps instead of the evaluated ones.

    Returns
    -------
    scores, entries
        For each variant its scores by timestep; and how many numbers are stored at the end.
    """
    instances = {
        run: learners.make(**learner_of(variant["learner"])) for run, variant in runs.items()
    }
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
    """Group runs that have the same atoms: equal learners and features except for parameters of scoring."""
    grouped = defaultdict(dict)
    for name in names:
        learner, weighting = learners_of[name]["learner"], learners_of[name]["features"]
        atoms_by = sorted((key, value) for key, value in learner.items() if key not in SCORING)
        grouped[repr((atoms_by, sorted(weighting.items())))][name] = learners_of[name]
    return list(grouped.values())


def neighbours(stream, weightings=baselines.WEIGHTINGS, window=None):
    """Score by the cosine baselines at the evaluated timesteps, for all earlier or the last `window` documents."""
    scores = defaultdict(dict)
    for t in stream.listed:
        past = (
            baselines.latest(reversed(stream.batches[:t]), window) if window else stream.batches[:t]
        )
        for name, score in baselines.nearest(stream.batches[t], past, weightings).items():
            scores[name][t] = score
    return scores


def compared(learners_of, settings):
    """Return the compared runs in groups with equal atoms, and the learners that use the batch (`contexts`)."""
    return groups(learners_of, settings["runs"]), contexts(learners_of, settings["runs"])


def learned(stream, grouped, k, **options):
    """Return the scores of all groups of runs, and how many numbers each run stores (see `learn`)."""
    scores, entries = {}, {}
    for runs in grouped:
        own, stored = learn(stream, runs, k, **options)
        scores |= own
        entries |= dict.fromkeys(own, stored)
    return scores, entries


def compare(stream, learners_of, settings):
    """Compare the runs with cosines over the complete past, each with and without use of the batch."""
    run_groups, contexts_of_runs = compared(learners_of, settings)
    run_scores, _ = learned(stream, run_groups, settings["k"])
    cosine_scores = neighbours(stream)
    scores = {
        "plain": {},
        "context": {},
    }  # without and with use of the batch: method -> scores of each batch
    for run, values in run_scores.items():
        scores["context" if in_batch(learners_of[run]["learner"]) else "plain"][run] = values
    for name in COSINES:
        scores["plain"][name] = cosine_scores[name]
        scores["context"] |= judged(stream, contexts_of_runs, name, cosine_scores[name])
    aucs = {}  # method -> (average AUC, AUC of each batch)
    for kind, methods in scores.items():
        aucs |= stream.judge(kind, methods) if methods else {}
    return {"table": [{"run": method, "average": average} for method, (average, _) in aucs.items()]}


def pooled(streams, learners_of, settings):
    """Return rows that compare the runs with the best other methods, over the streams of all seeds."""
    names = set(COSINES) | {
        f"{name}-{algorithm}-context"
        for name in COSINES
        for algorithm in contexts(learners_of, settings["runs"])
    }
    return pairs(streams, settings["runs"], names)


def _sized(grouped, settings):
    """Return (size, k, runs) for each number of atoms, or size of memory, of each group of runs."""
    sizes = []
    for runs in grouped:
        first = next(iter(runs.values()))["learner"]
        if not hasattr(
            learners.make(**learner_of(first)), "memory"
        ):  # the configuration may omit it
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
    """Measure AUC against the number of stored numbers, for dictionaries and windows of documents."""
    (grouped, around), rows = compared(learners_of, settings), []
    for size, k, runs in _sized(grouped, settings):
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
            for run, judgement in ({label: plain} | judged(stream, around, label, plain)).items():
                row = {"run": run, "size": window, "entries": int(window * lengths.mean())}
                rows.append(row | {"average": stream.average(judgement)})
    return {"memory": rows}


def ablate(stream, learners_of, settings):
    """Measure every learner that the experiment names, for ablations."""
    scores, entries = learned(stream, groups(learners_of, learners_of), settings["k"])
    rows = [
        {"run": run, "entries": entries[run], "average": stream.average(scores[run])}
        for run in learners_of
    ]
    return {"ablation": rows}


def rival(stream, learners_of, settings):
    """Measure other methods with and without use of the batch, how many numbers they store, and their CPU time."""
    around, rows = contexts(learners_of, settings["runs"]), []
    for name in rivals.names() + (
        rivals.names("vectors") if stream.batches[0].vectors is not None else []
    ):
        scores, alike, stored, ms = follow(stream, name)
        for kind, runs in (
            ("plain", {name: scores}),
            ("context", judged(stream, around, name, scores, alike)),
        ):
            if (
                runs and rivals.RIVALS[name].NEEDS == "counts"
            ):  # those with vectors know more than the runs
                stream.judge(kind, runs)
            rows += [
                {"run": run, "entries": stored, "ms": ms, "average": stream.average(runs[run])}
                for run in runs
            ]
    return {"rivals": rows}


def resize(stream, learners_of, settings):
    """Measure the runs and five nearest neighbours with batches of each size.

    ``pooled`` is the AUC of all documents after the first batch together, ``single`` the mean AUC
    over batches that have one. A topic is novel in one batch only, so small batches have few novel
    documents each.
    """
    grouped, around = compared(learners_of, settings)
    around = {
        name: around[name] for name in ("levels",) if name in around
    }  # one is enough for the comparison
    rows = []
    for size in settings["sizes"]:
        recut = stream.cut(size)
        scores = learned(recut, grouped, settings["k"], every=True)[0] | by_age(recut, around)
        rows += [
            {"run": run, "size": size, **measured(recut, values)} for run, values in scores.items()
        ]
    return {"sizes": rows}


def measured(stream, scores):
    """Return pooled and mean AUC of a run, and the numbers of timesteps, novel documents, and timesteps with an AUC."""
    labels = [stream.labels[t] for t in scores]
    both = [
        t for t, own in zip(scores, labels, strict=True) if 0 < (own == 1).sum() < (own >= 0).sum()
    ]
    single = [metrics.auc(scores[t], stream.labels[t]) for t in both]
    counted = {
        "timesteps": len(labels),
        "novel": int((np.concatenate(labels) == 1).sum()),
        "listed": len(both),
    }
    pooled = metrics.auc(np.concatenate([*scores.values()]), np.concatenate(labels))
    return counted | {"pooled": pooled, "single": float(np.mean(single)) if both else float("nan")}


def by_age(stream, around):
    """Score all timesteps after the first by five nearest documents: complete past, windows, half-lives, recency.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    around : dict
        Learners whose use of the batch is applied to these scores too (`contexts`).

    Returns
    -------
    dict of str to dict of int to ndarray
        Scores by run and timestep.
    """
    rival, scores = Recent(), defaultdict(dict)
    for t, batch in enumerate(stream.batches):
        if t:
            best = rival.memory.nearest(batch, ways(rival))
            for name, (_, cosines) in best.items():
                scores[name][t] = 1.0 - cosines.sum(axis=1) / cosines.shape[1]
            rival.count(best[NEAREST_RUN][0])
        rival.memory.learn(batch)
    for name in list(scores):
        scores |= judged(stream, around, name, scores[name])
    return scores


def ways(rival):
    """Return, by run, the factors that cosines with earlier documents are multiplied by."""
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


JUDGES = {
    "adaptive": lambda P, scores, own: sum(
        combine_with_peers(P, scores, own.contrast, own.context, own.peers)
    ),
    "levels": lambda P, scores, own: with_peers(P, scores, own.context, own.peers),
}


def in_batch(learner):
    """Return whether the scores of a learner with these settings depend on the other documents of the batch."""
    return learners.make(**learner_of(learner)).in_batch


def contexts(learners_of, runs):
    """Return for each algorithm the last learner among some runs that uses the batch."""
    made = (learners.make(**learner_of(learners_of[run]["learner"])) for run in runs)
    return {learner.algorithm: learner for learner in made if learner.in_batch}


def judged(stream, contexts, name, scores, alike=None):
    """Adjust scores by those of similar documents in the batch, as learners do it with their own scores.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    contexts : dict
        Learners by algorithm (`contexts`).
    name : str
        Name of the method.
    scores : dict of int to ndarray
    alike : dict of int to csr_array, optional
        Rows by which documents are similar; by default their words.

    Returns
    -------
    dict of str to dict of int to ndarray
        Scores by ``{name}-{algorithm}-context`` and timestep.
    """
    return {
        f"{name}-{algorithm}-context": {
            t: JUDGES[algorithm]((alike or {}).get(t, stream.P(t)), values, learner)
            for t, values in scores.items()
        }
        for algorithm, learner in contexts.items()
    }


def pairs(streams, runs, cosines):
    """Compare each run with the best cosine over the complete past, and with the best of all methods.

    Parameters
    ----------
    streams : list of odl.papers.experiments.quality.SeededStream
        One for each seed, after all parts were judged.
    runs : list of str
        Names of learners; all other names are methods to compare with.
    cosines : collection of str
        Names of the cosines, with and without use of the batch.

    Returns
    -------
    list of dict
        One row per run and comparison. The best method has the highest mean over seeds, chosen
        afterwards. The interval is of the mean difference over seeds, by a bootstrap of documents
        within each timestep and seed.
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
        for run in (name for name in means if name in runs):
            for among, names in groups.items():
                if names:
                    best = max(names, key=means.get)
                    row = {
                        "run": run,
                        "among": among,
                        "seeds": len(judgements),
                        "average": means[run],
                    }
                    rows.append(
                        row
                        | {"best": best, "other": means[best]}
                        | _difference(judgements, run, best)
                    )
    return rows


def _difference(judgements, run, best):
    """Return mean and standard deviation over seeds of the difference of two runs, and the interval of the mean."""
    values = np.array([result[run][0] - result[best][0] for result in judgements])
    low, high = metrics.interval(
        np.mean([result[run][1] - result[best][1] for result in judgements], axis=0)
    )
    spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return {"difference": float(values.mean()), "sd": spread, "low": low, "high": high}


def follow(stream, name):
    """Run one of the other methods over a stream.

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
        Rows by which their documents are similar, if not by words; otherwise empty.
    stored : int
        How many numbers are stored at the end.
    ms : float
        CPU milliseconds to score and learn a document, without the first batch.
    """
    rival, scores, alike, spent = (
        rivals.RIVALS[name](stream.seed),
        {},
        {},
        {"score": 0.0, "learn": 0.0},
    )
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
    return (
        scores,
        alike,
        rival.stored,
        sum(1000.0 * spent[phase] / max(documents[phase], 1) for phase in spent),
    )
