"""Selection that figures and page of one corpus are made from: its tables, its shown run, its score files."""

import numpy as np

from odl.evaluation import study
from odl.evaluation.scorefiles import read_scores, without_window
from odl.evaluation.study import BASELINE, choose_shown, score_path

# Baselines drawn beside the learners
REFERENCES = ("nearest5-logtf", "nearest-logtf", "nearest-tfidf", "out-of-vocabulary")
MOST_RUNS = 6


def references(runs):
    """Those of some runs that are drawn beside the learners, in their order; names may say a window."""
    drawn = {run for run in runs if without_window(run) in REFERENCES}
    return sorted(drawn, key=lambda run: (REFERENCES.index(without_window(run)), run))


class Selection:
    """What the figures of one corpus are drawn from.

    Parameters
    ----------
    plan : list of dict
    tables : dict
        Tables as `odl.evaluation.study.read_tables` returns them.
    corpus : str
    settings : dict, optional
        ``runs``: the runs drawn as lines (default: those with the most dictionary sizes, at most
        six); ``run``, ``k``, ``seed``: what is shown in detail (default: the best average AUC of
        these runs); ``topics``: "all" or "dominant".
    """

    def __init__(self, plan, tables, corpus, settings=None):
        self.settings = dict(settings or {})
        self.corpus, self.plan = corpus, [entry for entry in plan if entry["corpus"] == corpus]
        self.tables = {name: [row for row in rows if row["corpus"] == corpus] for name, rows in tables.items()}
        asked = {name: self.settings.get(name) for name in ("run", "runs", "k", "seed")}
        self.shown = choose_shown(self.plan, self.tables["summary"], corpus, asked)
        self.runs = self._runs()
        self._cache = {}

    def _runs(self):
        learners = [entry for entry in self.plan if entry["algorithm"] != BASELINE]
        sizes = {}
        for entry in learners:
            sizes.setdefault(entry["run"], set()).add(entry["k"])
        asked = [run for run in self.settings.get("runs") or () if run in sizes]
        if asked:
            return asked
        most = max(len(of_run) for of_run in sizes.values())
        runs = [run for run, of_run in sizes.items() if len(of_run) == most]
        best = [self.shown["run"], *(run for run in runs if run != self.shown["run"])][:MOST_RUNS]
        return [run for run in sizes if run in best]

    def frame(self, name):
        """Rows of one table about this corpus, as a data frame."""
        import pandas  # slow to import: asked for only where there is something to draw

        return pandas.DataFrame(self.tables[name], columns=list(study.COLUMNS[name]))

    def in_order(self, frame, *columns, runs=None):
        """Rows of a data frame in the order in which the runs are drawn, or of `runs`, then by columns."""
        return frame.assign(order=frame["run"].map((runs or self.runs).index)).sort_values(["order", *columns])

    def entry(self, run):
        """The plan's entry of a run at the shown size (or its nearest) and seed."""
        same = [entry for entry in self.plan if entry["run"] == run and entry["seed"] == self.shown["seed"]]
        return min(same, key=lambda entry: abs(entry["k"] - self.shown["k"]), default=None)

    def sizes(self):
        """The number of atoms at which each run is drawn."""
        return {run: self.entry(run)["k"] for run in self.runs}

    def baselines(self):
        """The plan's entry of the baselines for the shown seed, or for seed 0 where seeds share batches."""
        entries = [entry for entry in self.plan if entry["algorithm"] == BASELINE]
        return next(
            (entry for entry in entries if entry["seed"] == self.shown["seed"]), entries[0] if entries else None
        )

    def batch(self, entry, t):
        """Read one score file, once."""
        path = score_path(entry, t)
        if path not in self._cache:
            self._cache[path] = read_scores(path)
        return self._cache[path]

    def labels(self, batch):
        """Labels of a batch under the study's rule."""
        return batch.labels(self.settings.get("topics", "all"))

    def name(self):
        """The shown run in words."""
        return f"{self.shown['run']}, k = {self.shown['k']}, seed {self.shown['seed']}"


def thin(values, most):
    """At most `most` of the values, evenly spaced, the first and the last among them."""
    values = list(values)
    if len(values) <= most:
        return values
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))]
