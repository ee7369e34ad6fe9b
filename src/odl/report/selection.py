"""Data of one corpus that figures and the page of a study show."""

import numpy as np

from odl.evaluation import study
from odl.evaluation.scorefiles import read_scores, without_window
from odl.evaluation.study import BASELINE, choose_shown, score_path

# Baselines that figures of learners include.
REFERENCES = ("nearest5-logtf", "nearest-logtf", "nearest-tfidf", "out-of-vocabulary")
MOST_RUNS = 6  # maximum number of runs in figures by default


def references(runs):
    """Return the runs that are baselines in `REFERENCES`, also with a window, in its order."""
    drawn = {run for run in runs if without_window(run) in REFERENCES}
    return sorted(drawn, key=lambda run: (REFERENCES.index(without_window(run)), run))


class Selection:
    """Data of one corpus that figures and page sections show.

    Parameters
    ----------
    plan : list of dict
    tables : dict
        Result of `odl.evaluation.study.read_tables`.
    corpus : str
    settings : dict, optional
        ``runs``: runs that figures show as lines, by default the runs with the most sizes, at most
        `MOST_RUNS`. ``run``, ``k``, ``seed``: run shown in detail, by default the one among `runs`
        with the best average AUC. ``topics``: topics that count, "all" or "dominant".
    """

    def __init__(self, plan, tables, corpus, settings=None):
        self.settings = dict(settings or {})
        self.corpus, self.plan = corpus, [entry for entry in plan if entry["corpus"] == corpus]
        self.tables = {
            name: [row for row in rows if row["corpus"] == corpus] for name, rows in tables.items()
        }
        asked = {name: self.settings.get(name) for name in ("run", "runs", "k", "seed")}
        self.shown = choose_shown(self.plan, self.tables["summary"], corpus, asked)
        self.runs = self._runs()
        self._cache = {}

    def _runs(self):
        """Return the runs in figures: those in the settings, or those with the most sizes."""
        learners = [entry for entry in self.plan if entry["algorithm"] != BASELINE]
        sizes = {}
        for entry in learners:
            sizes.setdefault(entry["run"], set()).add(entry["k"])
        asked = [run for run in self.settings.get("runs") or () if run in sizes]
        if asked:
            return asked
        max_sizes = max(len(of_run) for of_run in sizes.values())
        runs = [run for run, of_run in sizes.items() if len(of_run) == max_sizes]
        best = [self.shown["run"], *(run for run in runs if run != self.shown["run"])][:MOST_RUNS]
        return [run for run in sizes if run in best]

    def frame(self, name):
        """Return the rows of this corpus in a table of the study as a data frame."""
        import pandas  # slow to import, and not always needed

        return pandas.DataFrame(self.tables[name], columns=list(study.STUDY_COLUMNS[name]))

    def in_order(self, frame, *columns, runs=None):
        """Sort a data frame by run, in the order of the figures (or of `runs`), then by columns."""
        return frame.assign(order=frame["run"].map((runs or self.runs).index)).sort_values(
            ["order", *columns]
        )

    def entry(self, run):
        """Return the entry of a run in the plan with the shown seed and the nearest size."""
        entries = [
            entry
            for entry in self.plan
            if entry["run"] == run and entry["seed"] == self.shown["seed"]
        ]
        return min(entries, key=lambda entry: abs(entry["k"] - self.shown["k"]), default=None)

    def sizes(self):
        """Return {run: number of atoms of its `entry`}."""
        return {run: self.entry(run)["k"] for run in self.runs}

    def baselines(self):
        """Return the plan's entry of the baselines, preferably with the shown seed, or None."""
        entries = [entry for entry in self.plan if entry["algorithm"] == BASELINE]
        return next(
            (entry for entry in entries if entry["seed"] == self.shown["seed"]),
            entries[0] if entries else None,
        )

    def batch(self, entry, t):
        """Return the scores of a plan entry at timestep t, whose file is read only once."""
        path = score_path(entry, t)
        if path not in self._cache:
            self._cache[path] = read_scores(path)
        return self._cache[path]

    def labels(self, batch):
        """Return the labels of a batch by the setting ``topics``."""
        return batch.labels(self.settings.get("topics", "all"))

    def name(self):
        """Return a phrase with name, size and seed of the shown run."""
        return f"{self.shown['run']}, k = {self.shown['k']}, seed {self.shown['seed']}"


def thin(values, max_values):
    """Return at most `max_values` evenly spaced values of a list, with the first and the last."""
    values = list(values)
    if len(values) <= max_values:
        return values
    positions = np.linspace(0, len(values) - 1, max_values).round().astype(int)
    return [values[i] for i in np.unique(positions)]
