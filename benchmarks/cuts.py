"""Whether smaller batches lose AUC, or only have other labels: the same documents in batches of 50 and of 250.

    ODL_MIRROR=... python benchmarks/cuts.py [--streams tdt2] [--seeds 0] [--sizes 50 250]

Streams are those of config/quality.yaml, cut at the larger size; each batch is then cut again. `levels` learns both. A
topic is new in the first batch that has it, so that fewer documents are new in smaller batches. Printed are the new
documents of both, the AUC of all documents together by the labels of each, and of both on the documents whose label
is the same, with the standard error of that difference. About 15 CPU seconds for 10,000 documents.
"""

import argparse
import copy
import itertools

import numpy as np
from levels import stream

from odl.evaluation import metrics
from odl.papers import qualitystudy
from odl.stream import features

RUN = {"levels": {"learner": {"algorithm": "levels", "recency": 0.5}, "features": {"tf": "log"}}}


def again(whole, size):
    """Return the batches of a stream, those after the first cut again."""
    rows = {name: row for row, name in enumerate(whole.made_of[0].ids)}
    cut, before = copy.copy(whole), None
    cut.batches, cut.weighed = [], {}
    for t, batch in enumerate(whole.batches):
        own = [rows[name] for name in batch.ids]
        for first in range(0, len(own), size) if t else [0]:
            part = own[first : first + size] if t else own
            before = features.follow(whole.made_of[0].select(part), before)
            cut.batches.append(before)
    cut.labels = [batch.novel_dominant if cut.rule["topics"] == "dominant" else batch.novel for batch in cut.batches]
    return cut


def judged(held):
    """Return scores and labels of all documents after the first batch, in their order."""
    scores = qualitystudy.learn(held, RUN, 1, every=True)[0]["levels"]
    return np.concatenate([scores[t] for t in sorted(scores)]), np.concatenate(held.labels[1:])


def main():
    """Measure streams and print a line for each."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["tdt2", "newsgroups", "scipydocs", "reuters-cai"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0])
    words.add_argument("--sizes", nargs=2, type=int, default=[50, 250])
    options = words.parse_args()
    print(
        "stream",
        "seed",
        *(f"{what} {size}" for what in ("new", "own", "same") for size in options.sizes),
        "se",
        sep="\t",
    )
    for name, seed in itertools.product(options.streams, options.seeds):
        large = stream(name, seed).cut(max(options.sizes))
        both = [judged(again(large, min(options.sizes))), judged(large)]
        same = both[0][1] == both[1][1]
        new = [int((labels == 1).sum()) for _, labels in both]
        aucs = [metrics.auc(*one) for one in both] + [
            metrics.auc(scores[same], labels[same]) for scores, labels in both
        ]
        drawn = metrics.mean_bootstrap(
            [([scores[same] for scores, _ in both], both[0][1][same])], replicates=1000, seed=0
        )
        spread = np.std(drawn[0] - drawn[1])
        print(name, seed, *new, *(f"{auc:.4f}" for auc in [*aucs, spread]), sep="\t", flush=True)


if __name__ == "__main__":
    main()
