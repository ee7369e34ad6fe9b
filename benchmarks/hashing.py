"""What hashed words cost: how many share a bucket, and the AUC of learners against a column a word.

    ODL_MIRROR=... python benchmarks/hashing.py [--streams tdt2] [--seeds 0 1] [--buckets 262144] [--output FILE]

Streams, orders and timesteps are those of config/quality.yaml; `levels` is as it ships, dual averaging that of
config/tdt2.yaml with 200 atoms. Of every stream and number of buckets: words that share theirs, buckets shown with
another word than a document has (of all its words), and for each learner the mean AUC over seeds and its difference
to a column a word, seed by seed, with the standard deviation. Some ten CPU seconds a seed and number.
"""

import argparse
from collections import Counter
from statistics import mean, stdev

import yaml
from levels import HERE, stream

from odl import learners, novelty
from odl.files import tables
from odl.files.documents import Documents
from odl.stream import buckets, features

RUNS = {"levels": (1, {"tf": "log"}), "dual-averaging": (200, {})}  # atoms to start with, weighting


def hashed(batches, number):
    """Return the same batches with their words hashed; with 0 the batches themselves."""
    found, before = [], None
    for batch in batches if number else ():
        fields = batch.ids, batch.times, batch.topics, batch.titles
        before = features.follow(Documents(batch.counts[:], batch.vocabulary, *fields), before, hash_terms=number)
        found.append(before)
    return found or batches


def learner_of(name):
    """Return a learner of `RUNS`."""
    settings = yaml.safe_load((HERE / "config/tdt2.yaml").read_text(encoding="utf-8"))["learners"]
    return learners.make(**settings.get(name, {"algorithm": name}))


def auc_of(held, batches, name):
    """Return the average AUC of a learner over the timesteps of a stream."""
    learner, (atoms, weighting), scores = learner_of(name), RUNS[name], {}
    parts = (batch.weighed(norm=learner.norm, **weighting)[:] for batch in batches)
    first = next(parts)
    state = learner.start(first, atoms, novelty.generator(held.seed, "start"))
    for t, P in enumerate(parts, start=1):
        state = learner.fit_terms(state, P.shape[1])
        found = novelty.score(learner, state, P)
        scores[t] = found.score
        state = learner.learn(state, P, found.codes)
    return held.average(scores)


def shared(plain, batches, number):
    """Return (words, share of them that are not alone in their bucket, share of documents' words that do not lead)."""
    words = plain[-1].vocabulary
    held = buckets.buckets_of(words, number).tolist()
    sizes = Counter(held)
    alone = sum(sizes[bucket] == 1 for bucket in held)
    others = sum(batch.others.nnz for batch in batches) / sum(batch.counts.nnz for batch in plain)
    return len(words), 1 - alone / len(words), others


def main():
    """Measure streams, print the table of each, and write all AUC."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["tdt2", "newsgroups"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--buckets", nargs="+", type=int, default=[1 << 14, 1 << 16, 1 << 18, 1 << 20])
    words.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    words.add_argument("--output", default="hashing.tsv")
    given, rows = words.parse_args(), []
    for name in given.streams:
        found, collisions = {}, {}
        for seed in given.seeds:
            held = stream(name, seed)
            for number in (0, *given.buckets):
                batches = hashed(held.batches, number)
                if number:
                    collisions.setdefault(number, []).append(shared(held.batches, batches, number))
                for run in given.runs:
                    auc = auc_of(held, batches, run)
                    found.setdefault((number, run), []).append(auc)
                    rows.append({"stream": name, "seed": seed, "buckets": number, "run": run, "average": auc})
                    print(f"{name}\t{seed}\t{number}\t{run}\t{auc:.4f}", flush=True)
                tables.write_table(given.output, rows)
        print(*table(name, found, collisions, given), sep="\n", flush=True)


def table(name, found, collisions, given):
    """Return lines: of every number of buckets the shares and, for each run, mean AUC and difference."""
    lines = [f"{name}: buckets, words, share a bucket, not shown, " + ", ".join(given.runs)]
    for number in (0, *given.buckets):
        cells = [f"{number:>8}"]
        if number:
            cells += [f"{mean(part):.4g}" for part in zip(*collisions[number], strict=True)]
        for run in given.runs:
            own = found[number, run]
            less = [one - other for one, other in zip(own, found[0, run], strict=True)]
            spread = f" ({mean(less):+.4f}, sd {stdev(less):.4f})" if number and len(less) > 1 else ""
            cells.append(f"{mean(own):.4f}{spread}")
        lines.append("  ".join(cells))
    return lines


if __name__ == "__main__":
    main()
