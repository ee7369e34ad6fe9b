"""What recency does within single small batches of a stream: `levels` by the same atoms, with other factors of age.

    ODL_MIRROR=... python benchmarks/factors.py [--stream newsgroups] [--size 50] [--seeds 5 6 7 8 9]

The atoms are learned once a seed. In each batch with new and known documents, each way of making the factors has an
AUC less that without recency. What is printed is the mean over batches, its standard error, and the mean in which each
new document counts alike. About 15 CPU seconds a seed.
"""

import argparse
from collections import defaultdict
from unittest import mock

import numpy as np
from levels import stream

from odl import learners, novelty
from odl.evaluation import metrics
from odl.learners import adaptive, clusters

POWER, NONE = 0.5, "none"


def coarse(edge):
    """Return the factors by which all ages below an edge are one bin."""
    bins = int(np.searchsorted(clusters.EDGES, edge, side="right"))

    def factors(counters, ages, power):
        whole = {name: counters[name].copy() for name in clusters.AGES}
        for values in whole.values():
            values[:bins] = values[:bins].sum()
        return clusters.recency_of(whole, ages, power)

    return factors


def ways(ends, rng):
    """Return name -> factors of counters, ages and power; `ends` are the counters at the end of the stream."""
    return {
        NONE: lambda counters, ages, power: np.ones(len(ages)),
        "as shipped": clusters.recency_of,
        "power .25": lambda counters, ages, power: clusters.recency_of(counters, ages, power / 2),
        "power 1": lambda counters, ages, power: clusters.recency_of(counters, ages, power * 2),
        "counters of the whole stream": lambda counters, ages, power: clusters.recency_of(ends, ages, power),
        "ages below 200 in one bin": coarse(200),
        "ages below 1000 in one bin": coarse(1000),
        "ages drawn anew": lambda counters, ages, power: clusters.recency_of(counters, rng.permutation(ages), power),
    }


def scored(learner, state, P, factors):
    """Return the scores of a batch by these factors; what was kept of other ones goes."""
    for level in (state, state.derived.get("groups", state)):
        for key in [key for key in level.derived if key[0] in ("scale", "flattened")]:
            del level.derived[key]
    with mock.patch.object(adaptive, "recency_of", factors):
        return novelty.score(learner, state, P).score


def measure(name, seed, size):
    """Return way -> AUC of each batch that has one, and the new documents of each."""
    held, learner = stream(name, seed).cut(size), learners.make("levels", recency=POWER)
    states, state = {}, learner.start(held.P(0), 1, novelty.generator(held.seed, "start"))
    for t in range(1, len(held.batches)):
        state = learner.fit_terms(state, held.P(t).shape[1])
        if 0 < (held.labels[t] == 1).sum() < (held.labels[t] >= 0).sum():
            novelty.score(learner, state, held.P(t))  # its groups are kept with it
            states[t] = state
        state = learner.learn(state, held.P(t), None)
    aucs = defaultdict(list)
    for way, factors in ways(state.arrays, np.random.default_rng(seed)).items():
        for t, before in states.items():
            aucs[way].append(metrics.auc(scored(learner, before, held.P(t), factors), held.labels[t]))
    return aucs, [int((held.labels[t] == 1).sum()) for t in states]


def main():
    """Measure the seeds and print the differences."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--stream", default="newsgroups")
    words.add_argument("--size", type=int, default=50)
    words.add_argument("--seeds", nargs="+", type=int, default=[5, 6, 7, 8, 9])
    given, differences, new = words.parse_args(), defaultdict(list), []
    for seed in given.seeds:
        aucs, numbers = measure(given.stream, seed, given.size)
        new += numbers
        for way, values in aucs.items():
            differences[way] += [value - none for value, none in zip(values, aucs[NONE], strict=True)]
        print(f"seed {seed}: {len(numbers)} batches, {sum(numbers)} new documents", flush=True)
    for way, values in differences.items():
        error = np.std(values, ddof=1) / len(values) ** 0.5
        print(f"{way}\t{np.mean(values):+.4f}\t{error:.4f}\t{np.average(values, weights=new):+.4f}")


if __name__ == "__main__":
    main()
