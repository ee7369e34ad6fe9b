"""A corpus in the order of one seed, as the quality experiment follows it: batches, labels, what is averaged."""

import math

from odl.errors import DataError
from odl.evaluation import means, metrics
from odl.stream import batching, features


class Stream:
    """A corpus in the order of one seed: batches, labels, and the timesteps that are evaluated.

    Parameters
    ----------
    name : str
    documents : Documents
    setting : dict
        protocol, topic_entry, ties, batches and timesteps, as of a corpus in the configuration.
    rule : dict
        topics, min_novel, min_known, bootstrap, seed, as `evaluate` in the configuration.
    seed : int
        Of the order and of the learners' start.
    most : int
        Batches that are used; 0: all.

    Raises
    ------
    DataError
        If no timestep has enough novel and known documents.
    """

    def __init__(self, name, documents, setting, rule, seed, most=0):
        self.name, self.seed, self.rule, self.made_of = name, seed, rule, (documents, setting)
        entry = batching.Entry(**setting["topic_entry"]) if setting["protocol"] == "topic-entry" else None
        rows = batching.order(documents.ids, documents.times, seed, setting["ties"])
        parts = batching.split(
            rows, documents.times, documents.files, documents.topics, entry=entry, seed=seed, **setting["batches"]
        )
        self.batches = []
        for part in parts[: most or None]:
            self.batches.append(features.follow(documents.select(part), self.batches[-1] if self.batches else None))
        self.labels = [batch.novel_dominant if rule["topics"] == "dominant" else batch.novel for batch in self.batches]
        self.listed = means.listed(
            dict(enumerate(self.labels[1:], start=1)),
            [t for t in setting["timesteps"] if t < len(self.batches)],
            **{name: rule[name] for name in ("min_novel", "min_known")},
        )
        if not self.listed:
            expected = f"{rule['min_novel']} novel and {rule['min_known']} known documents in one of them"
            raise DataError(f"no timestep of {name} can be evaluated", expected, "lower evaluate.min_novel")
        self.weighed, self.judged = {}, {"plain": {}, "context": {}}

    def cut(self, size):
        """Return the same stream in batches of another size; held-back topics enter less than a batch later."""
        documents, setting = self.made_of
        ratio, entry = setting["batches"]["documents"] / size, setting["topic_entry"]
        first = max(1, math.ceil((entry["first"] - 1) * ratio) + 1)
        entry = {**entry, "first": first, "last": max(first, math.ceil(entry["last"] * ratio))}
        batches = {**setting["batches"], "by": "documents", "documents": size}
        other = {**setting, "topic_entry": entry, "batches": batches, "timesteps": []}
        rule = {**self.rule, "min_novel": 0, "min_known": 0}
        return Stream(self.name, documents, other, rule, self.seed)

    def P(self, t, weighting=None):
        """Return a weighted batch of unit l2 rows; without a weighting log-tf with the idf of the past."""
        form = weighting or {"tf": "log"}
        key = (t, *sorted(form.items()))
        if key not in self.weighed:
            self.weighed[key] = self.batches[t].weighed(norm="l2", corpus=self.batches[-1], **form)[:]
        return self.weighed[key]

    def average(self, scores):
        """Return the mean AUC over the listed timesteps."""
        aucs = {t: metrics.auc(scores[t], self.labels[t]) for t in self.listed}
        return means.average_auc(aucs, self.listed)

    def forget(self):
        """Let go of everything but what was judged."""
        self.batches, self.labels, self.weighed, self.made_of = [], [], {}, None

    def judge(self, kind, scores):
        """Return average AUC of each run, and those of documents drawn again, the same ones for all; both are kept.

        Parameters
        ----------
        kind : {"plain", "context"}
            What the runs may look at: they are compared with those of the same kind.
        scores : dict of str to dict of int to ndarray
            Run to timestep to scores.

        Returns
        -------
        dict of str to (float, ndarray)
        """
        batches = [([results[t] for results in scores.values()], self.labels[t]) for t in self.listed]
        # Of each seed other draws: what is averaged over seeds is not of the same ones.
        seed = (self.rule["seed"], self.seed)
        drawn = metrics.mean_bootstrap(batches, replicates=self.rule["bootstrap"], seed=seed)
        results = {run: (self.average(held), values) for (run, held), values in zip(scores.items(), drawn, strict=True)}
        self.judged[kind] |= results
        return results
