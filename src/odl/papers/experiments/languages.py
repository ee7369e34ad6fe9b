"""AUC for the same sentences in many languages, with words only and with words and their pieces."""

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
    """Return the mean cosine distance of each document at timestep t to its five nearest documents.

    Neighbours are searched in all earlier batches, with the document frequencies of batch t.
    """
    batch = stream.batches[t]
    rows, n_terms = Weighed(batch, Weighting(**weighting), "l2"), batch.counts.shape[1]
    counts = [widen(earlier.counts[:], n_columns=n_terms) for earlier in stream.batches[:t]]
    past = sparse.csr_array(sparse.vstack(counts))
    cosines = (rows[:] @ rows.weigh(past).T).toarray()
    return 1.0 - np.sort(cosines, axis=1)[:, -N_NEIGHBOURS:].mean(axis=1)


def measure_runs(stream, runs, share):
    """Return the average AUC of each run, and of five nearest neighbours, on a stream.

    Parameters
    ----------
    stream : odl.papers.experiments.quality.SeededStream
    runs : dict
        Name of a run -> its settings. The settings of the first run define the weights of terms for
        nearest neighbours.
    share : float
        Weight of pieces relative to words, which overrides that in the settings.

    Returns
    -------
    list of dict
        A row for each method, with run, pieces (`share`) and auc.
    """
    runs = {
        run: {**entry, "features": {**entry["features"], "pieces": share}}
        for run, entry in runs.items()
    }
    first_weighting = next(iter(runs.values()))["features"]
    scores = {"nearest5": {t: neighbours(stream, t, first_weighting) for t in stream.listed}}
    for run, entry in runs.items():
        scores |= qualitystudy.learn(stream, {run: entry}, 1)[0]
    return [
        {"run": run, "pieces": share, "auc": stream.average(values)}
        for run, values in scores.items()
    ]


def run(settings, folder, files, study):
    """Write ``draws.tsv`` with the AUC of each seed, and ``languages.tsv`` with the means."""
    draws, means = [], []
    for (name, setting), file in zip(study["streams"].items(), files, strict=True):
        documents, measured = batchfile.read(file), []
        share = pieces.weight(documents.counts, documents.vocabulary)
        for seed in study["seeds"]:
            stream = quality.SeededStream(name, documents, setting, study["evaluate"], seed)
            for terms, weight in (("words", 0.0), ("pieces", share)):
                rows = measure_runs(stream, study["learners"], weight)
                measured += [{"stream": name, "seed": seed, "by": terms, **row} for row in rows]
            print(f"{name}, seed {seed}", flush=True)
        draws += measured
        mean = {"stream": name, "weight": share}
        for kind, rows in grouped(measured, ("run", "by")):
            mean["_".join(kind)] = np.mean([row["auc"] for row in rows])
        means.append(mean)
    write(folder, {"draws": draws, "languages": means}, {})
