"""Compare learners of bounded memory with nearest neighbours on one or several streams.

The experiment `quality_overview` draws the tables, so changes of figures do not repeat the
measurements.
"""

import math
from collections import defaultdict

from odl.config import chains
from odl.config.sections import Order
from odl.errors import ConfigError, DataError
from odl.evaluation import averages, metrics
from odl.papers import experiments, qualitystudy
from odl.papers.qualitystudy import QUALITY_PARTS
from odl.stream import batchfile, batching, features

TITLE = "Quality of a stream"
TAKES, ALGORITHMS = ("streams", "learners"), ("levels", "adaptive")
NAME_LIST = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
POSITIVE_INTEGERS = {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1}
SETTINGS = {
    "parts": {
        **NAME_LIST,
        "items": {"type": "string", "enum": [*QUALITY_PARTS]},
        "default": [*QUALITY_PARTS],
    },
    "runs": {**NAME_LIST, "default": ["levels", "levels-context", "adaptive", "adaptive-context"]},
    "k": {"type": "integer", "minimum": 1, "default": 500},
    "atoms": {**POSITIVE_INTEGERS, "default": [50, 100, 200, 500, 1000]},
    "memory": {**POSITIVE_INTEGERS, "default": [9000, 18000, 37500, 75000, 150000, 300000]},
    "windows": {**POSITIVE_INTEGERS, "default": [125, 250, 500, 1000, 2000, 4000]},
    "sizes": {**POSITIVE_INTEGERS, "default": [50, 250, 1000, 2000]},
    "batches": {"type": "integer", "minimum": 0, "default": 0},
    "seeds": {"type": "array", "items": {"type": "integer", "minimum": 0}, "default": []},
}


class SeededStream:
    """Corpus in the order of one seed: batches, labels, and the evaluated timesteps.

    Parameters
    ----------
    name : str
    documents : Documents
    setting : dict
        Settings protocol, topic_entry, ties, batches and timesteps of the corpus.
    rule : dict
        Settings topics, min_novel, min_known, bootstrap and seed of the section ``evaluate``.
    seed : int
        Seed of the order and of initial atoms.
    max_batches : int
        Maximum number of batches; 0: all.

    Raises
    ------
    DataError
        If no timestep has enough novel and known documents.
    """

    def __init__(self, name, documents, setting, rule, seed, max_batches=0):
        self.name, self.seed, self.rule = name, seed, rule
        self.source = documents, setting
        row_sets = batching.split(documents, Order.from_map(Order.part(setting)), seed)
        self.batches = []
        previous = None
        for rows in row_sets[: max_batches or None]:
            previous = features.follow(documents.select(rows), previous)
            self.batches.append(previous)
        kind = "novel_dominant" if rule["topics"] == "dominant" else "novel"
        self.labels = [getattr(batch, kind) for batch in self.batches]
        self.listed = averages.choose_timesteps(
            dict(enumerate(self.labels[1:], start=1)),
            [t for t in setting["timesteps"] if t < len(self.batches)],
            **{name: rule[name] for name in ("min_novel", "min_known")},
        )
        if not self.listed and rule["min_novel"]:  # `cut` sets it to 0
            raise DataError(
                f"no timestep of {name} can be evaluated",
                f"a timestep with at least {rule['min_novel']} novel and {rule['min_known']} known "
                "documents",
                "lower evaluate.min_novel",
            )
        self.weighed = {}  # cache of weighted documents
        # results of `judge`, of methods without (plain) and with (context) batch peers
        self.judged = {"plain": {}, "context": {}}

    def cut(self, size):
        """Return the same stream with batches of another size.

        Held-back topics may enter up to one batch later.
        """
        documents, setting = self.source
        ratio, entry = setting["batches"]["documents"] / size, setting["topic_entry"]
        first = max(1, math.ceil((entry["first"] - 1) * ratio) + 1)
        entry = {**entry, "first": first, "last": max(first, math.ceil(entry["last"] * ratio))}
        batches = {**setting["batches"], "by": "documents", "documents": size}
        other = {**setting, "topic_entry": entry, "batches": batches, "timesteps": []}
        rule = {**self.rule, "min_novel": 0, "min_known": 0}
        return SeededStream(self.name, documents, other, rule, self.seed)

    def P(self, t, weighting=None):
        """Return a weighted batch as CSR with rows of unit l2 norm, by default log tf and idf."""
        weighting = weighting or {"tf": "log"}
        key = (t, *sorted(weighting.items()))
        if key not in self.weighed:
            batch = self.batches[t].weighed(norm="l2", corpus=self.batches[-1], **weighting)
            self.weighed[key] = batch[:]
        return self.weighed[key]

    def average(self, scores):
        """Return the mean AUC of scores over the evaluated timesteps."""
        aucs = {t: metrics.auc(scores[t], self.labels[t]) for t in self.listed}
        return averages.average_auc(aucs, self.listed)

    def forget(self):
        """Free all memory except the results of `judge`."""
        self.batches, self.labels, self.weighed, self.source = [], [], {}, None

    def judge(self, kind, scores):
        """Compute and store the average AUC of each run, and its bootstrap replicates.

        Replicates of all runs are computed from the same resampled documents.

        Parameters
        ----------
        kind : {"plain", "context"}
            Whether the runs score documents separately or with batch peers. Only runs of the same
            kind are compared.
        scores : dict of str to dict of int to ndarray
            Scores by run and timestep.

        Returns
        -------
        dict of str to (float, ndarray)
            Average AUC and replicates by run.
        """
        batches = [
            ([results[t] for results in scores.values()], self.labels[t]) for t in self.listed
        ]
        # Replicates differ between seeds, so that averages over seeds use independent replicates.
        seed = (self.rule["seed"], self.seed)
        drawn = metrics.mean_bootstrap(batches, replicates=self.rule["bootstrap"], seed=seed)
        results = {
            run: (self.average(run_scores), replicates)
            for (run, run_scores), replicates in zip(scores.items(), drawn, strict=True)
        }
        self.judged[kind] |= results
        return results


def _variants(settings, study):
    """Return a study with only the learners whose algorithm is in `ALGORITHMS`.

    Raises
    ------
    ConfigError
        If a run in the settings is not a learner of the study, or its algorithm is not in
        `ALGORITHMS`.
    """
    for run in settings["runs"]:
        if run not in study["learners"]:
            raise ConfigError(
                f"the setting runs of the experiment names '{run}'",
                "one of " + ", ".join(study["learners"]),
                "add it to the learners of the experiment",
            )
        algorithm = study["learners"][run]["learner"]["algorithm"]
        if algorithm not in ALGORITHMS:
            raise ConfigError(
                f"the algorithm of '{run}' is {algorithm}",
                " or ".join(ALGORITHMS),
                "remove it from the runs of the experiment",
            )
    compared = {
        run: variant
        for run, variant in study["learners"].items()
        if variant["learner"]["algorithm"] in ALGORITHMS
    }
    return {**study, "learners": compared}


def measure(settings, study, files):
    """Return the rows of every table.

    Parameters
    ----------
    settings : dict
        Values of `SETTINGS`.
    study : dict
        Result of `odl.config.chains.study_of`.
    files : list of str
        Files with the documents of each stream.

    Returns
    -------
    dict of str to list of dict
    """
    tables = defaultdict(list)
    for (name, setting), file in zip(study["streams"].items(), files, strict=True):
        corpus = batchfile.read(file)
        # Seeds with the same order are used once.
        seeds = settings["seeds"] or study["seeds"]
        orders = dict.fromkeys(
            chains.order_seed({"corpora": {name: setting}}, name, seed) for seed in seeds
        )
        streams = []
        for seed in orders:
            stream = SeededStream(
                name, corpus, setting, study["evaluate"], seed, settings["batches"]
            )
            for part in settings["parts"]:
                print(f"{name}, seed {seed}: {part}", flush=True)
                for table, rows in QUALITY_PARTS[part](stream, study["learners"], settings).items():
                    tables[table] += [{"stream": name, "seed": seed, **row} for row in rows]
            stream.forget()
            streams.append(stream)
        if "table" in settings["parts"]:
            rows = qualitystudy.pooled(streams, study["learners"], settings)
            tables["pairs"] += [{"stream": name, **row} for row in rows]
    return tables


def run(settings, folder, files, study):
    """Compute and write all tables."""
    experiments.write(folder, measure(settings, _variants(settings, study), files), {})
