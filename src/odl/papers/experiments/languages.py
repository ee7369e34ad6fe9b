"""AUC on the same sentences in many languages, by words and by words with their pieces.

The streams have novel topics.
"""

import numpy as np
from scipy import sparse

from odl.evaluation.averages import grouped
from odl.evaluation.baselines import N_NEIGHBOURS
from odl.learners.sparse_atoms import widen
from odl.papers import qualitystudy
from odl.papers.experiments import quality, write
from odl.stream import batchfile, pieces
from odl.stream.weighting import Weighed, Weighting

TITLE = "Languages"
TAKES, ALGORITHMS = ("streams", "learners"), ("levels",)
SETTINGS: dict = {}


def neighbours(stream, t, weighting):
    """Return the mean cosine distance of each document to its five nearest earlier documents.

    Term weights are those of the batch.
    """
    batch = stream.batches[t]
    rows, n_terms = Weighed(batch, Weighting(**weighting), "l2"), batch.counts.shape[1]
    counts = [widen(earlier.counts[:], n_columns=n_terms) for earlier in stream.batches[:t]]
    past = sparse.csr_array(sparse.vstack(counts))
    cosines = (rows[:] @ rows.weigh(past).T).toarray()
    return 1.0 - np.sort(cosines, axis=1)[:, -N_NEIGHBOURS:].mean(axis=1)


def rows_of(stream, runs, share):
    """Return rows with the AUC of five nearest neighbours and of each run.

    `share` is the weight of the pieces of words.
    """
    weightings = {run: {**entry["features"], "pieces": share} for run, entry in runs.items()}
    first = next(iter(weightings.values()))
    scores = {"nearest5": {t: neighbours(stream, t, first) for t in stream.listed}}
    for run, entry in runs.items():
        scores |= qualitystudy.learn(stream, {run: {**entry, "features": weightings[run]}}, 1)[0]
    return [
        {"run": run, "pieces": share, "auc": stream.average(values)}
        for run, values in scores.items()
    ]


def run(settings, folder, files, study):
    """Write ``draws.tsv``, a row for each seed, and its means, ``languages.tsv``."""
    draws, means = [], []
    for (name, setting), file in zip(study["streams"].items(), files, strict=True):
        documents, measured = batchfile.read(file), []
        share = pieces.weight(documents.counts, documents.vocabulary)
        for seed in study["seeds"]:
            stream = quality.SeededStream(name, documents, setting, study["evaluate"], seed)
            for terms, weight in (("words", 0.0), ("pieces", share)):
                rows = rows_of(stream, study["learners"], weight)
                measured += [{"stream": name, "seed": seed, "by": terms, **row} for row in rows]
            print(f"{name}, seed {seed}", flush=True)
        draws += measured
        mean = {"stream": name, "weight": share}
        for kind, rows in grouped(measured, ("run", "by")):
            mean["_".join(kind)] = np.mean([row["auc"] for row in rows])
        means.append(mean)
    write(folder, {"draws": draws, "languages": means}, {})
