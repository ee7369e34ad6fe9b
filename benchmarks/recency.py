"""`levels` and `adaptive` with and without recency, beside windows of nearest documents, in batches of other sizes.

    ODL_MIRROR=... python benchmarks/recency.py [--streams tdt2 ...] [--sizes 50 250 2000] [--seeds 0] [--every 1]

Streams are those of config/quality.yaml; `--every 10` takes each tenth document. Size 0 is that of the study, with
average AUC of the timesteps that it evaluates. Of the others it is the AUC of all documents after the first batch
together. One row for each stream, size, seed and run. Half a CPU minute for 10,000 documents in one size. `--labelled`
leaves documents without a topic out, of what is learned too.
"""

import argparse

import numpy as np
from levels import stream

from odl.evaluation import metrics
from odl.papers import qualitystudy
from odl.papers.experiments import quality

WINDOWS = (200, 1000, 10000, 0)
ATOMS = 500  # of `adaptive`
RUNS = {
    f"{algorithm}{', recency' if power else ''}": {"algorithm": algorithm, "recency": power}
    for algorithm in ("levels", "adaptive")
    for power in (0.0, 0.5)
}


def labelled(held):
    """Return the stream of the documents that have a topic; topics enter sooner by as much."""
    documents, setting = held.made_of
    rows = np.flatnonzero([bool(topics) for topics in documents.topics])
    last = max(1, round(setting["topic_entry"]["last"] * len(rows) / len(documents.ids)))
    setting = {**setting, "topic_entry": {**setting["topic_entry"], "last": last}}
    return quality.Stream(held.name, documents.select(rows), setting, held.rule, held.seed)


def measure(held, size):
    """Yield (run, AUC) of a stream in batches of a size."""
    cut = held.cut(size) if size else held
    steps = list(range(1, len(cut.batches))) if size else held.listed
    labels = np.concatenate([cut.labels[t] for t in steps])

    def auc(scores):
        return metrics.auc(np.concatenate([scores[t] for t in steps]), labels) if size else held.average(scores)

    for run, learner in RUNS.items():
        found, _ = qualitystudy.learn(cut, {run: {"learner": learner, "features": {"tf": "log"}}}, ATOMS, every=True)
        yield run, auc(found[run])
    for window in WINDOWS:
        found = qualitystudy.neighbours(cut, {"logtf": "log"}, window or None, steps)
        yield f"five nearest of {window or 'all'}", auc(found["nearest5-logtf"])


def main():
    """Measure streams and print the rows."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["tdt2", "newsgroups", "scipydocs"])
    words.add_argument("--sizes", nargs="+", type=int, default=[0, 50, 250, 2000])
    words.add_argument("--seeds", nargs="+", type=int, default=[0])
    words.add_argument("--every", type=int, default=1)
    words.add_argument("--labelled", action="store_true")
    given = words.parse_args()
    for name in given.streams:
        for seed in given.seeds:
            held = stream(name, seed, given.every)
            held = labelled(held) if given.labelled else held
            for size in given.sizes:
                for run, auc in measure(held, size):
                    print(f"{name}\t{size}\t{seed}\t{run}\t{auc:.4f}", flush=True)


if __name__ == "__main__":
    main()
