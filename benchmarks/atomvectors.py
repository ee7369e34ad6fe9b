"""What to remember of vectors: all of them, the last ones, their signs, or a mean vector for each atom of `levels`.

    ODL_MIRROR=... python benchmarks/atomvectors.py [--streams titles ...] [--seeds 0 ...] [--vectors FOLDER]

Streams, orders and timesteps are those of config/meaning.yaml, vectors those of `wordllama` (extra `meaning`). A vector
is compared with the five nearest of what is remembered, of atoms with the 1, 3 or 5 nearest. The mean vector of an atom
follows the atom: that of a document is added when it joins, and those of two atoms when they merge. One row for each
stream, seed and memory: average AUC by vectors alone, and by the ranks of `levels` by words and of vectors with the
weight of the rule.

No learner keeps which documents an atom has. So this takes the place of the step that puts their words together
(`Clusters._cut`): a public way would be a record that every run makes and nothing else reads.
"""

import argparse
from pathlib import Path
from unittest import mock

import meaning
import numpy as np

from odl import learners, novelty
from odl.config import chains
from odl.files import tables
from odl.learners.clusters import Clusters
from odl.learners.vectors import Memory
from odl.papers.experiments import quality

STREAMS, NEAREST, BLOCK = ("titles", "subjects", "abstracts", "scipydocs", "newsgroups"), (1, 3, 5), 512
WINDOWS = {"all": 1 << 40, "last 10,000": 10_000, "last 1000": 1000}


class Followed:
    """Sums of the vectors of the documents of each atom, while documents join, open and merge atoms."""

    def __init__(self, n_dimensions):
        self.sums, self.rows, self.cut = np.zeros((0, n_dimensions)), None, Clusters._cut

    def learn(self, learn, vectors):
        """Return what `learn` does with a batch of these vectors."""
        self.rows = vectors.astype(np.float64)
        with mock.patch.object(Clusters, "_cut", lambda clusters, *parts: self.follow(clusters, *parts)):
            return learn()

    def follow(self, clusters, owner, weight, P):
        """Add up the vectors of the pieces of each atom, and go on."""
        before, count = clusters.index.owner, len(P.starts) - 1
        rows, self.rows = self.rows[:count], self.rows[count:]
        pieces = np.concatenate([self.sums[before], rows * weight[len(before) :, None]])
        self.cut(clusters, owner, weight, P)
        self.sums, owned = np.zeros((len(clusters.arrays["used"]), rows.shape[1])), owner >= 0
        np.add.at(self.sums, owner[owned], pieces[owned])


def apart(vectors, past, most):
    """Return 1 - the mean cosine with the nearest rows of the past."""
    norms = np.linalg.norm(past, axis=1)
    past = past[norms > 0] / norms[norms > 0][:, None]
    parts, most = [], min(most, len(past))
    for first in range(0, len(vectors), BLOCK):
        cosines = vectors[first : first + BLOCK] @ past.T
        parts.append(1.0 - np.partition(cosines, -most, axis=1)[:, -most:].mean(axis=1))
    return np.concatenate(parts)


def measure(stream):
    """Yield name, average AUC by vectors alone, and by ranks with words."""
    first, learner = stream.batches[0], learners.make("levels")
    followed, past, alone, both = Followed(first.vectors.shape[1]), [first.vectors], {}, {}
    state = followed.learn(
        lambda: learner.start(stream.P(0), 1, novelty.generator(stream.seed, "start")), first.vectors
    )
    nothing = np.zeros(len(first.vectors))
    memory = Memory.empty(first.vectors.shape[1])
    memory = memory.after(nothing, nothing, first.vectors, meaning.lengths_of(first), meaning.ROOM)
    for t, batch in enumerate(stream.batches[1:], start=1):
        P, vectors = stream.P(t), batch.vectors
        words, signs = novelty.score(learner, learner.fit_terms(state, P.shape[1]), P).score, memory.apart(vectors)
        if t in stream.listed:
            seen, weight = np.vstack(past), memory.weight()
            rows = {name: apart(vectors, seen[-window:], 5) for name, window in WINDOWS.items()}
            rows["signs of the last 10,000"] = signs
            rows |= {f"atoms, nearest {most}": apart(vectors, followed.sums, most) for most in NEAREST}
            for name, scores in rows.items():
                alone.setdefault(name, {})[t] = scores
                ranks = (1.0 - weight) * meaning.ranked(words) + weight * meaning.ranked(scores)
                both.setdefault(name, {})[t] = ranks
        memory = memory.after(words, signs, vectors, meaning.lengths_of(batch), meaning.ROOM)
        past.append(vectors)
        state = followed.learn(lambda state=state, P=P: learner.learn(state, P, None), vectors)
    for name in alone:
        yield name, stream.average(alone[name]), stream.average(both[name])


def main():
    """Measure streams, print means over seeds and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=STREAMS)
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--vectors", type=Path, help="folder that keeps vectors")
    words.add_argument("--output", default="atomvectors.tsv")
    given, rows = words.parse_args(), []
    for name in given.streams:
        setting, rule, documents = meaning.documents_of(name, "wordllama", given.vectors)
        for seed in given.seeds:
            order = chains.order_seed({"corpora": {name: setting}}, name, seed)
            for memory, alone, both in measure(quality.Stream(name, documents, setting, rule, order)):
                row = {"stream": name, "seed": seed, "memory": memory}
                rows.append(row | {"vectors": alone, "with words": both})
                print(
                    "\t".join(f"{value:.4f}" if isinstance(value, float) else str(value) for value in rows[-1].values())
                )
    tables.write_table(given.output, rows)
    for memory in dict.fromkeys(row["memory"] for row in rows):
        cells = []
        for name in given.streams:
            own = [row for row in rows if (row["stream"], row["memory"]) == (name, memory)]
            cells.append(" / ".join(f"{np.mean([row[kind] for row in own]):.3f}" for kind in ("vectors", "with words")))
        print(" | ".join([memory, *cells]))


if __name__ == "__main__":
    main()
