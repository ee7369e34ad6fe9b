"""AUC of nearest neighbours by words and by vectors, and of learners combined with the latter.

    ODL_MIRROR=... python benchmarks/meaning.py --encoder minilm [--streams subjects titles]
    [--seeds 0 1]

Streams, orders and timesteps are those of config/meaning.yaml. The encoder is `wordllama` (extra
`meaning`) or `minilm` (minilm.py, which says what it needs). `--vectors FOLDER` stores the vectors
of each stream as `.npy` and reads them from there; vectors of another encoder can be put there (one
row per document, in the order of the reader). One row for each stream, seed and method: average AUC
of documents scored one by one, and of scores that use the whole batch, as `levels` does.
"""

import argparse
import os
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from unittest import mock

import minilm
import numpy as np
import yaml
from scipy import sparse

from odl import corpora, learners, novelty
from odl.config import chains
from odl.corpora import download
from odl.evaluation import baselines
from odl.files import tables
from odl.learners.peers import by_peers
from odl.learners.vectors import VectorMemory, weight_of
from odl.papers import rivals
from odl.papers.experiments import quality
from odl.stream import dense
from odl.text import encoder as encoders

HERE = Path(__file__).resolve().parent.parent
FIXED, NEAREST, PEERS, SHARE = (0.0, 0.25, 0.5, 0.75, 1.0), 5, 10, 0.5
ROOM = 320_000
RECENT = 1000  # documents of the window of vectors
# Weight of vectors by the median number n of distinct words: the rule of runs, the same without
# bound, another.
RULES = {
    "a by length": lambda n: weight_of([n]),
    "a = 16/(16 + n)": lambda n: 16.0 / (16.0 + n),
    "a = 8/(8 + n)": lambda n: 8.0 / (8.0 + n),
}


def documents_of(name, encoder, folder):
    """Return (setting of a stream of config/meaning.yaml, rule of evaluation, documents).

    The documents have vectors.
    """
    study = yaml.safe_load((HERE / "config/meaning.yaml").read_text(encoding="utf-8"))
    chosen, mirror = study["corpora"][name], os.environ["ODL_MIRROR"]
    registry = download.load_registry(HERE / "data/corpora.csv")
    files = [
        f"{mirror}/{row['folder']}/{row['file']}"
        for row in download.files_of(chosen["reader"], registry)
    ]
    kept = folder / f"{name}-{encoder}.npy" if folder else None
    found = kept is not None and kept.exists()
    began = time.process_time()
    # Readers only know encoders of the package by name, so MiniLM replaces the named one.
    other = (
        {"encoder_of": lambda name: minilm.MiniLM() if name else None}
        if encoder == "minilm"
        else {}
    )
    options = {**chosen["options"], "vectors": None if found else "wordllama"}
    with mock.patch.multiple(encoders, **other) if other else nullcontext():
        documents = corpora.read(chosen["reader"], files, options)
    if found:
        documents = replace(documents, vectors=np.load(kept))
    elif kept:
        np.save(kept, documents.vectors)
    print(
        f"{name}: {len(documents.ids)} documents, read in {time.process_time() - began:.1f} CPU s",
        flush=True,
    )
    return chosen, study["evaluate"], documents


class Both(rivals.FusedRanks):
    """Cosines with earlier documents and within the batch, by words and by vectors."""

    def cosines(self, batch):
        """Return cosines with the past as (words, vectors), and cosines within the batch."""
        blocks = (
            counts for earlier in self.words.past for counts in baselines.blocks(earlier, batch)
        )
        today, past = (
            baselines.weighed(batch, "log"),
            [baselines.weighed(batch, "log", counts) for counts in blocks],
        )
        vectors = dense.centred(self.vectors, batch.vector_mean)
        across = (today @ sparse.vstack(past).T).toarray(), batch.vectors @ vectors.T
        return across, ((today @ today.T).toarray(), batch.vectors @ batch.vectors.T)


def five(cosines):
    """Return 1 - the mean of the five largest values of each row."""
    return 1.0 - np.partition(cosines, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)


def ranked(values):
    """Return the rank of each value as the share of smaller values plus half of equal ones."""
    ordered = np.sort(values)
    return (
        np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    ) / (2 * len(values))


def peers_by(words, vectors, weight):
    """Return the most similar documents within a batch by the joint cosine, and their cosines."""
    cosines = (1.0 - weight) * words + weight * vectors
    np.fill_diagonal(cosines, -np.inf)
    alike = np.argsort(-cosines, axis=1, kind="stable")[:, :PEERS]
    return alike, np.maximum(np.take_along_axis(cosines, alike, axis=1), 0.0)


def methods(across, words, length):
    """Return (scores, weight of vectors for similarity within the batch) of each method by name.

    Parameters
    ----------
    across : (ndarray, ndarray)
        Cosines with the past, by words and by vectors.
    words : dict of str to ndarray
        Scores of learners, by words.
    length : float
        Median number of distinct words of earlier documents.
    """
    (W, V), weight = across, weight_of([length])
    scores = {f"neighbours, a = {a:g}": (five((1.0 - a) * W + a * V), a) for a in FIXED}
    scores["neighbours, a by length"] = (five((1.0 - weight) * W + weight * V), weight)
    by_words, by_vectors, recent = (
        scores["neighbours, a = 0"][0],
        scores["neighbours, a = 1"][0],
        five(V[:, -RECENT:]),
    )
    scores[f"neighbours, vectors of the last {RECENT}"] = (recent, 1.0)
    for name, own in {"neighbours": by_words, **words}.items():
        scores[name] = (own, 0.0)
        for window, vectors in (("", by_vectors), (f" of the last {RECENT}", recent)):
            rules = {rule: by(length) for rule, by in RULES.items()}
            for rule, a in (rules | {f"a = {a:g}": a for a in FIXED[1:-1]}).items():
                mixed = (1.0 - a) * ranked(own) + a * ranked(vectors)
                scores[f"{name}, vectors{window}, ranks with {rule}"] = (mixed, a)
    return scores


def lengths_of(batch):
    """Return the number of distinct words of each document."""
    return np.diff(batch.counts[:].indptr)


def measure(held):
    """Return (method, AUC, AUC using the batch) of all methods, and the weights by length."""
    memory = VectorMemory.empty(held.batches[0].vectors.shape[1])
    made = {"levels": learners.make("levels"), "adaptive": learners.make("adaptive")}
    states = {
        name: learner.start(held.P(0), 500, novelty.generator(held.seed, "start"))
        for name, learner in made.items()
    }
    both, plain, context, weights = Both(held.seed), {}, {}, []
    both.learn(held.batches[0])
    first = novelty.score(made["levels"], states["levels"], held.P(0))
    memory = memory.after(
        first.score, first.score, held.batches[0].vectors, lengths_of(held.batches[0]), ROOM
    )
    for t, batch in enumerate(held.batches[1:], start=1):
        P = held.P(t)
        found = novelty.score(
            made["levels"], made["levels"].fit_terms(states["levels"], P.shape[1]), P
        )
        apart = memory.distances(batch.vectors)
        run = novelty.with_vectors(found, memory, apart)
        memory = memory.after(found.score, apart, batch.vectors, lengths_of(batch), ROOM)
        if t in held.listed:
            words = {
                name: novelty.score(learner, learner.fit_terms(states[name], P.shape[1]), P).score
                for name, learner in made.items()
            }
            across, inside = both.cosines(batch)
            weights.append(both.weight)
            rows = methods(
                across,
                words,
                np.median(np.concatenate([lengths_of(earlier) for earlier in both.words.past])),
            )
            rows["levels, features.meaning"] = (run.score, both.weight)
            peers = {
                weight: peers_by(*inside, weight)
                for weight in {weight for _, weight in rows.values()}
            }
            for name, (scores, weight) in rows.items():
                plain.setdefault(name, {})[t] = scores
                context.setdefault(name, {})[t] = by_peers(scores, *peers[weight], SHARE)
        states = {name: learner.learn(states[name], P, None) for name, learner in made.items()}
        if t < max(held.listed):
            both.learn(batch)
    return [
        (name, held.average(plain[name]), held.average(context[name])) for name in plain
    ], weights


def main():
    """Measure streams and write the table."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("--encoder", default="wordllama")
    words.add_argument("--streams", nargs="+", default=["subjects", "titles"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--vectors", type=Path, help="folder that keeps vectors")
    words.add_argument("--output", default="meaning.tsv")
    given, rows = words.parse_args(), []
    for name in given.streams:
        chosen, rule, documents = documents_of(name, given.encoder, given.vectors)
        for seed in given.seeds:
            order = chains.order_seed({"corpora": {name: chosen}}, name, seed)
            held = quality.SeededStream(name, documents, chosen, rule, order)
            began = time.process_time()
            found, weights = measure(held)
            print(
                f"{name}, seed {seed}: weights {weights}, {time.process_time() - began:.0f} CPU s",
                flush=True,
            )
            for method, plain, context in found:
                print(
                    f"{name}\t{given.encoder}\t{seed}\t{method}\t{plain:.4f}\t{context:.4f}",
                    flush=True,
                )
                row = {"stream": name, "encoder": given.encoder, "seed": seed, "method": method}
                rows.append(row | {"plain": plain, "context": context})
    tables.write_table(given.output, rows)


if __name__ == "__main__":
    main()
