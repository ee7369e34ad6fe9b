"""What each part of the learner `levels` brings, beside `adaptive` and nearest neighbours over the whole past.

    ODL_MIRROR=... python benchmarks/levels.py [--streams tdt2 newsgroups] [--seeds 0 1] [--every 1] [--output FILE]

Streams, orders and timesteps are those of config/quality.yaml; `--every 10` takes each tenth document. One row for each
stream, seed and run: stored numbers and average AUC. About half a CPU minute for a stream of 10,000 documents.
"""

import argparse
import functools
import os
from pathlib import Path

import numpy as np
import yaml

from odl import corpora, learners, novelty
from odl.config import chains
from odl.corpora import download
from odl.files import tables
from odl.learners.likeness import in_order, share_of_peers
from odl.papers import qualitystudy
from odl.papers.experiments import quality

HERE = Path(__file__).resolve().parent.parent
# Ways to learn, and ways to score by the same atoms.
MADE = {
    "": {},
    ", groups of 10": {"merged": 10},
    ", groups of 20": {"merged": 20},
    ", no recency": {"recency": 0.0},
    ", no recency, groups of 20": {"recency": 0.0, "merged": 20},
    ", 145 terms an atom": {"terms": 145},
    ", 32 terms an atom": {"terms": 32},
}
PLAIN_AND_CONTEXT = ("levels", "levels, whole batch")
SCORED = {
    "levels": {},
    "levels, whole batch": {"context": 0.5},
    "atoms alone": {"groups": 0.0},
    "groups alone": {"groups": 1.0},
    "nearest atom": {"nearest": 1},
    "5 nearest atoms": {"nearest": 5},
    "plain cosine": {"cohesion": 0.0, "flatten": 1.0},
}


@functools.lru_cache(maxsize=12)
def corpus(name):
    """Return the setting of a stream of config/quality.yaml, what is evaluated, and its documents."""
    study = yaml.safe_load((HERE / "config/quality.yaml").read_text(encoding="utf-8"))
    chosen, mirror = study["corpora"][name], os.environ["ODL_MIRROR"]
    registry = download.load_registry(HERE / "data/corpora.csv")
    files = [f"{mirror}/{row['folder']}/{row['file']}" for row in download.files_of(chosen["reader"], registry)]
    return chosen, study["evaluate"], corpora.read(chosen["reader"], files, chosen["options"])


def stream(name, seed, every=1, last=None):
    """Return a stream of config/quality.yaml in the order of a seed; topics may enter up to another timestep."""
    chosen, rule, documents = corpus(name)
    entry = chosen["topic_entry"]
    if every > 1:
        documents = documents.select(np.arange(0, len(documents.ids), every))
        entry = {**entry, "last": max(1, entry["last"] // every)}
    chosen = {**chosen, "topic_entry": {**entry, "last": last or entry["last"]}}
    order = chains.order_seed({"corpora": {name: chosen}}, name, seed)
    return quality.Stream(name, documents, chosen, rule, order)


def scores_of(held, made, variants, seed):
    """Return the scores of variants that share their atoms, and the numbers stored at the end."""
    first = learners.make("levels", **made)
    found, state = {name: {} for name in variants}, first.start(held.P(0), 1, novelty.generator(seed, "start"))
    for t in range(1, len(held.batches)):
        P = held.P(t)
        state = first.fit_terms(state, P.shape[1])
        for name, settings in variants.items() if t in held.listed else ():
            found[name][t] = novelty.score(learners.make("levels", **made | settings), state, P).score
        state = first.learn(state, P, None)
    return found, state.dictionary.nnz + sum(value.size for value in state.arrays.values())


def measure(held, seed):
    """Return (run, stored numbers, average AUC) of all runs of a stream."""
    rows = []
    for label, made in MADE.items():
        variants = {name: SCORED[name] for name in (PLAIN_AND_CONTEXT if made else SCORED)}
        found, stored = scores_of(held, made, variants, seed)
        rows += [(name + label, stored, held.average(scores)) for name, scores in found.items()]
    return rows


def rivals(held, k=500):
    """Return such rows of `adaptive` and nearest neighbours, plain and in two contexts."""
    context = learners.make("adaptive", contrast=0.3, context=0.5)
    runs = {"adaptive": {"learner": {"algorithm": "adaptive"}, "features": {"tf": "log"}}}
    adaptive, stored = qualitystudy.learn(held, runs, k)
    past = sum(held.P(t).nnz for t in range(len(held.batches) - 1))
    found = {"adaptive": (adaptive["adaptive"], stored)}
    found |= {name: (scores, past) for name, scores in qualitystudy.neighbours(held).items()}
    rows = []
    for name, (scores, numbers) in found.items():
        rows.append((name, numbers, held.average(scores)))
        (around,) = qualitystudy.judged(held, {"adaptive": context}, name, scores).values()
        rows.append((f"{name}, whole batch", numbers, held.average(around)))
        ordered = {t: in_order(held.P(t), score, share_of_peers(0.5, len(score)), 10) for t, score in scores.items()}
        rows.append((f"{name} in the context of levels", numbers, held.average(ordered)))
    return rows


def main():
    """Measure streams and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["tdt2", "newsgroups", "scipydocs", "reuters-cai"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--every", type=int, default=1)
    words.add_argument("--output", default="levels.tsv")
    given, rows = words.parse_args(), []
    for name in given.streams:
        for seed in given.seeds:
            held = stream(name, seed, given.every)
            for run, stored, average in measure(held, seed) + rivals(held):
                print(f"{name}\t{seed}\t{run}\t{stored}\t{average:.4f}", flush=True)
                rows.append({"stream": name, "seed": seed, "run": run, "stored": stored, "average": average})
    tables.write_table(given.output, rows)


if __name__ == "__main__":
    main()
