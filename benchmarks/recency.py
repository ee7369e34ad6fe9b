"""`levels` with and without recency, and `adaptive`, beside windows and half-lives of nearest documents.

    ODL_MIRROR=... python benchmarks/recency.py [--streams tdt2 ...] [--sizes 50 ...] [--seeds 0 ...] [--output FILE]

Streams are those of config/quality.yaml, of Reuters by topic entry the documents that have a topic, and two made ones:
`drift`, whose topics change their words, and `stories`, which are short. One row for each stream, size, seed and run:
AUC of all documents after the first batch together and mean AUC of batches that have one, plain and with the batch as
context. Size 0 is that of the study, with the mean AUC of its timesteps. What the file has already is not measured
again. At the end tables and regrets are printed. About ten CPU seconds for 10,000 documents in one size.
"""

import argparse
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from levels import stream
from scipy import sparse

from odl.evaluation import baselines, metrics
from odl.files import tables
from odl.files.documents import Documents
from odl.learners import clusters
from odl.learners.adaptive import in_context
from odl.learners.likeness import by_peers, nearest_among, share_of_peers
from odl.papers import qualitystudy
from odl.papers.experiments import quality

STREAMS = (
    "tdt2", "newsgroups", "scipydocs", "reuters-cai", "reuters-entry", "subjects", "titles", "simulation", "drift",
    "stories",
)  # fmt: skip
SIZES = (50, 250, 1000, 2000)
WINDOWS = {200: "last 200", 1000: "last 1000", 10000: "last 10,000", 10**9: "whole past"}  # edges of bins
HALF_LIVES = (500, 2000)
RECENT = "whole past by recency"
RIVALS = (*WINDOWS.values(), *(f"half-life {half_life}" for half_life in HALF_LIVES), RECENT)
RUNS = {
    "levels": {"algorithm": "levels", "recency": 0.0},
    "levels, recency": {"algorithm": "levels", "recency": 0.5},
    "adaptive": {"algorithm": "adaptive", "recency": 0.0},
}
ATOMS = 500  # of `adaptive`
AROUND, CONTRAST, PEERS = 0.5, 0.3, 10  # of the batch as context
BLOCK = 500  # documents compared at once with all of the past
DAY = 86_400_000


def made(name, seed, n=8000):
    """Return a made stream; two words of three are from a language of 6000, the others of the document's topic.

    Of `drift` 40 topics live at a time, each for 4000 documents, in which each of its words is replaced once. Of
    `stories` a fourth of the documents are of one of six that live for 800, the others of 40 topics that stay.
    """
    rng, language = np.random.default_rng([seed, len(name)]), 1.0 / (np.arange(6000) + 10.0)
    drift, own, live, staying, columns, topics = name == "drift", 60, [], [], [], []
    most, life, pool = (40, 4000, 6000) if drift else (6, 800, 1000)
    language /= language.sum()
    if not drift:
        staying = [(f"s{number}", 0, rng.choice(6000, own, replace=False)) for number in range(40)]
    for row in range(n):
        while len(live) < most or rng.random() < most / life:
            parts = rng.choice(pool, own, replace=False), rng.choice(pool, own), rng.permutation(own)
            live = [*live[1 - most :], (f"t{row}-{len(live)}", row, *parts)]
        among = live if drift or rng.random() < 0.25 else staying
        topic, birth, words, *others = among[rng.integers(len(among))]
        if drift:
            words = np.where(others[1] < own * (row - birth) / life, others[0], words)
        columns += [words[rng.integers(own, size=12)], rng.choice(6000, 24, p=language)]
        topics.append((topic,))
    rows = np.repeat(np.arange(n), 36)
    counts = sparse.csr_array((np.ones(len(rows), dtype=np.int64), (rows, np.concatenate(columns))), shape=(n, 6000))
    ids = [f"{name}{row}" for row in range(n)]
    documents = Documents(
        counts, [f"w{word:04d}" for word in range(6000)], ids, DAY + 60_000 * np.arange(n), topics, ids
    )
    setting = {
        "protocol": "by-date", "ties": "source", "timesteps": [],
        "topic_entry": {"held_back": 0.0, "first": 1, "last": 1},
        "batches": {"by": "documents", "documents": 1000, "period": "month", "initial": 1000, "flush": True},
    }  # fmt: skip
    rule = {"topics": "all", "min_novel": 0, "min_known": 0, "bootstrap": 10, "seed": 0}
    return quality.Stream(name, documents, setting, rule, seed)


def labelled(whole):
    """Return the stream of the documents that have a topic; topics enter sooner by as much."""
    documents, setting = whole.made_of
    rows = np.flatnonzero([bool(topics) for topics in documents.topics])
    last = max(1, round(setting["topic_entry"]["last"] * len(rows) / len(documents.ids)))
    setting = {**setting, "topic_entry": {**setting["topic_entry"], "last": last}}
    return quality.Stream(whole.name, documents.select(rows), setting, whole.rule, whole.seed)


def source(name, seed):
    """Return a stream by its name."""
    if name in ("drift", "stories"):
        return made(name, seed)
    return labelled(stream(name, seed)) if name == "reuters-entry" else stream(name, seed)


def largest(cosines):
    """Return the five largest of each row, or all."""
    return cosines if cosines.shape[1] <= 5 else np.partition(cosines, -5, axis=1)[:, -5:]


def neighbours(cut):
    """Return scores of each timestep by five nearest documents, as `odl.evaluation.baselines`, of all `RIVALS`.

    The edges of the windows are edges of bins of age, so that the five nearest of each bin say all but the half-lives.
    """
    scores, past = {name: {} for name in RIVALS}, []
    counters = {name: array.zeros({}) for name, array in clusters.AGES.items()}
    for t, batch in enumerate(cut.batches):
        counts = batch.counts[:].astype(float)
        counts.data = 1.0 + np.log(counts.data)
        if t:
            earlier = sparse.vstack([widened(rows, counts.shape[1]) for rows in past], format="csr")
            idf = np.log((1 + batch.n_before) / (1 + batch.frequencies)) + 1.0
            inverse = 1.0 / np.maximum(np.sqrt(earlier.power(2) @ idf**2), 1e-12)
            today, ages = baselines.weighed(batch, "log"), np.arange(earlier.shape[0])[::-1]
            bins, parts, matches = np.searchsorted(clusters.EDGES, ages, side="right"), defaultdict(list), []
            factor = clusters.recency_of(counters, ages, 0.5)
            first = {one: place for place, one in reversed([*enumerate(bins.tolist())])}
            for low in range(0, today.shape[0], BLOCK):
                rows = sparse.csr_array((today[low : low + BLOCK] * idf[None, :]).T)
                cosines = np.ascontiguousarray((earlier @ rows).toarray().T) * inverse
                best = {one: largest(cosines[:, bins == one]) for one in first}
                for name, values in judged(best, cosines, ages, {one: factor[first[one]] for one in first}):
                    parts[name].append(largest(values).sum(axis=1) / 5)
                matches.append(matched(best))
            for name, values in parts.items():
                scores[name][t] = np.where(np.diff(counts.indptr) == 0, 1.0, 1.0 - np.concatenate(values))
            places = np.array([first[one] for one in np.concatenate(matches).tolist()], dtype=np.int64)
            counters = clusters.with_matches(counters, ages, np.ones(len(ages)), places[:, None])
        past.append(counts)
    return scores


def judged(best, cosines, ages, factors):
    """Yield the name of each rival and cosines with the five largest of each document, as it multiplies them."""
    for edge, name in WINDOWS.items():
        yield name, np.hstack([values for one, values in best.items() if not one or clusters.EDGES[one - 1] < edge])
    yield RECENT, np.hstack([values * factors[one] for one, values in best.items()])
    for half_life in HALF_LIVES:
        near = slice(max(0, len(ages) - 20 * half_life), None)  # what is older has less than a millionth
        yield f"half-life {half_life}", cosines[:, near] * 0.5 ** (ages[near] / half_life)


def matched(best):
    """Return the bins of the five largest cosines above 0 of each row, one after another."""
    values = np.hstack([*best.values()])
    owner = np.repeat([*best], [part.shape[1] for part in best.values()])
    places = np.argpartition(values, -min(5, values.shape[1]), axis=1)[:, -5:]
    return owner[places][np.take_along_axis(values, places, axis=1) > 0]


def widened(rows, n_terms):
    """Return counts with as many columns as there are words now; words are only appended."""
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_terms))


def measure(whole, size, missing):
    """Yield run, context, AUC of all documents together, mean AUC of batches, number of these, of runs that miss."""
    cut = whole.cut(size) if size else whole
    scores = neighbours(cut) if missing & {*RIVALS} else {}
    for run, learner in RUNS.items():
        if run not in missing:
            continue
        found, _ = qualitystudy.learn(cut, {run: {"learner": learner, "features": {"tf": "log"}}}, ATOMS, every=True)
        scores |= found
    around = {name: {} for name in scores}
    for t in range(1, len(cut.batches)):
        P, share = cut.P(t), share_of_peers(AROUND, cut.P(t).shape[0])
        alike, cosines = nearest_among(P, min(PEERS, P.shape[0] - 1))
        for name, values in scores.items():
            if name == "adaptive":
                around[name][t] = sum(in_context(P, values[t], CONTRAST, AROUND, PEERS))
            else:
                around[name][t] = by_peers(values[t], alike, cosines, share) if P.shape[0] > 2 else values[t]
    steps = range(1, len(cut.batches))
    labels = np.concatenate([cut.labels[t] for t in steps])
    both = (
        whole.listed if not size else [t for t in steps if 0 < (cut.labels[t] == 1).sum() < (cut.labels[t] >= 0).sum()]
    )
    for context, kind in ((0, scores), (1, around)):
        for run, values in kind.items():
            single = [metrics.auc(values[t], cut.labels[t]) for t in both]
            pooled = metrics.auc(np.concatenate([values[t] for t in steps]), labels)
            yield run, context, pooled, float(np.mean(single)), len(both)


def shown(rows):
    """Print, for both AUCs, with and without the batch, means over seeds by stream and size, and regrets.

    A regret is the best of windows and half-lives, after the fact, less the run.
    """
    for measured, context in product(("pooled", "single"), (0, 1)):
        cells, regrets = defaultdict(list), defaultdict(list)
        for row in rows:
            if row["context"] == context:
                cells[row["stream"], row["size"], row["run"]].append(row[measured])
        print(
            f"\n{measured}, {'using the batch' if context else 'plain'}\nstream | size | seeds | " + " | ".join(RUNS),
            end="",
        )
        print(f" | {RECENT} | best window")
        for name, size in dict.fromkeys((row["stream"], row["size"]) for row in rows):
            means = {run: np.mean(values) for (of, at, run), values in cells.items() if (of, at) == (name, size)}
            best = max((run for run in means if run in RIVALS and run != RECENT), key=means.get, default=None)
            if best is None:
                continue
            for run in (one for one in (*RUNS, RECENT) if one in means):
                regrets[run].append(means[best] - means[run])
            parts = [f"{means.get(run, np.nan):.3f}" for run in (*RUNS, RECENT)]
            print(
                " | ".join([name, f"{size:g}", str(len(cells[name, size, best])), *parts, f"{means[best]:.3f} {best}"])
            )
        for run, values in regrets.items():
            print(f"regret of {run}: mean {np.mean(values):.4f}, largest {max(values):.4f}, {len(values)} rows")


def main():
    """Measure what is missing, and print the tables."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=STREAMS)
    words.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    words.add_argument("--runs", nargs="+", default=[*RIVALS, *RUNS])
    words.add_argument("--output", type=Path, default=Path("recency.tsv"))
    given = words.parse_args()
    rows = tables.read_table(given.output) if given.output.exists() else []
    done = {(row["stream"], int(row["size"]), int(row["seed"]), row["run"]) for row in rows}
    for seed, size, name in product(given.seeds, given.sizes, given.streams):
        missing = {run for run in given.runs if (name, size, seed, run) not in done}
        for run, context, pooled, single, batches in measure(source(name, seed), size, missing) if missing else ():
            row = {"stream": name, "size": size, "seed": seed, "run": run, "context": context}
            rows.append(row | {"pooled": pooled, "single": single, "batches": batches})
        if missing:
            tables.write_table(given.output, rows)
            print(name, size, seed, flush=True)
    shown(rows)


if __name__ == "__main__":
    main()
