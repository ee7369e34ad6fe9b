"""What the batch as context of `levels` brings, against every fixed weight of it, and of its parts.

    ODL_MIRROR=... python benchmarks/contexts.py [--streams tdt2] [--seeds 0 1] [--sizes 50 0] [--output FILE]

Streams, orders and timesteps are those of config/quality.yaml. The atoms are learned once a stream and seed; what
differs is the order within each batch. Size 0: the batches of the stream, mean AUC over its timesteps; another size:
the AUC of all documents together, as in the tables of batches of other sizes. Some ten CPU seconds a stream and seed.
"""

import argparse

import numpy as np
from levels import stream

from odl import learners, novelty
from odl.evaluation import metrics
from odl.files import tables
from odl.learners.likeness import by_peers, nearest_among

SHARES = (0.0, 0.25, 0.5, 0.75)  # of the order that comes from the peers
CONTRASTS = (None, 0.0, 0.15, 0.3)  # weight of the likeness to the batch; None: by the rule
PEERS = 10


def plain(held, every):
    """Return timestep -> scores of each document for itself; of all timesteps but the first, or of the listed ones."""
    learner, found = learners.make("levels", recency=0.5), {}
    state = learner.start(held.P(0), 1, novelty.generator(held.seed, "start"))
    for t in range(1, len(held.batches)):
        state = learner.fit_terms(state, held.P(t).shape[1])
        if every or t in held.listed:
            found[t] = novelty.score(learner, state, held.P(t)).score
        state = learner.learn(state, held.P(t), None)
    return found


def average(held, scores, every):
    """Return the mean AUC of timesteps, or that of all documents together."""
    if not every:
        return held.average(scores)
    return metrics.auc(np.concatenate([*scores.values()]), np.concatenate([held.labels[t] for t in scores]))


def measure(held, size):
    """Return (share, contrast, AUC) of all weights, the first row without context."""
    held = held.cut(size) if size else held
    scores = plain(held, bool(size))
    rows = [(0.0, "none", average(held, scores, bool(size)))]
    peers = {t: nearest_among(held.P(t), min(PEERS, held.P(t).shape[0] - 1)) for t in scores}
    for share in SHARES:
        for contrast in CONTRASTS:
            ordered = {t: by_peers(value, *peers[t], share, contrast) for t, value in scores.items()}
            rows.append((share, "rule" if contrast is None else contrast, average(held, ordered, bool(size))))
    return rows


def main():
    """Measure streams and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["tdt2", "newsgroups", "scipydocs", "reuters-cai"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--sizes", nargs="+", type=int, default=[0])
    words.add_argument("--output", default="contexts.tsv")
    given, rows = words.parse_args(), []
    for name in given.streams:
        for seed in given.seeds:
            for size in given.sizes:
                for share, contrast, auc in measure(stream(name, seed), size):
                    print(f"{name}\t{seed}\t{size}\t{share}\t{contrast}\t{auc:.4f}", flush=True)
                    row = {"stream": name, "seed": seed, "size": size, "share": share, "contrast": contrast}
                    rows.append(row | {"average": auc})
    tables.write_table(given.output, rows)


if __name__ == "__main__":
    main()
