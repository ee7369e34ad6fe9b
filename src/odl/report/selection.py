"""Data about one corpus that its figures and its page section show."""

import numpy as np

from odl.evaluation import study
from odl.evaluation.scorefiles import read_scores, without_window
from odl.evaluation.study import BASELINE, choose_shown, score_path

# Baselines that figures of learners include.
REFERENCES = ("nearest5-logtf", "nearest-logtf", "nearest-tfidf", "out-of-vocabulary")
MOST_RUNS = 6  # largest number of runs drawn by default


def references(runs):
    """Return the runs that are baselines in `REFERENCES`, in the order of `REFERENCES`.

    A baseline with a window, such as "nearest-logtf-last10000", counts as "nearest-logtf".
    """
    drawn = {run for run in runs if without_window(run) in REFERENCES}
    return sorted(drawn, key=lambda run: (REFERENCES.index(without_window(run)), run))


class Selection:
    """Data of one corpus that figures and page sections use.

    Parameters
    ----------
    plan : list of dict
    tables : dict
        Result of `odl.evaluation.study.read_tables`.
    corpus : str
    settings : dict, optional
        ``runs``: the runs drawn as lines (default: those with the most dictionary sizes, at most
        six); ``run``, ``k``, ``seed``: the run shown in detail (default: the best average AUC among
        `runs`); ``topics``: "all" or "dominant".
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
        """Return the runs to draw: those of the settings, or those with the most sizes."""
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
        """Return the rows of one table about this corpus, as a data frame."""
        import pandas  # slow to import, and not needed if there is nothing to draw

        return pandas.DataFrame(self.tables[name], columns=list(study.STUDY_COLUMNS[name]))

    def in_order(self, frame, *columns, runs=None):
        """Sort a data frame by run, in the order of the figures (or of `runs`), then by columns."""
        return frame.assign(order=frame["run"].map((runs or self.runs).index)).sort_values(
            ["order", *columns]
        )

    def entry(self, run):
        """Return the entry of a run in the plan, at the shown seed and the nearest size."""
        entries = [
            entry
            for entry in self.plan
            if entry["run"] == run and entry["seed"] == self.shown["seed"]
        ]
        return min(entries, key=lambda entry: abs(entry["k"] - self.shown["k"]), default=None)

    def sizes(self):
        """Return {run: number of atoms} for the entries that `entry` chooses."""
        return {run: self.entry(run)["k"] for run in self.runs}

    def baselines(self):
        """Return the plan's entry for the baselines, or None.

        The entry with the shown seed is preferred to entries with other seeds.
        """
        entries = [entry for entry in self.plan if entry["algorithm"] == BASELINE]
        return next(
            (entry for entry in entries if entry["seed"] == self.shown["seed"]),
            entries[0] if entries else None,
        )

    def batch(self, entry, t):
        """Return the scores of a plan entry in timestep t.

        The file is read once; later calls return the same object.
        """
        path = score_path(entry, t)
        if path not in self._cache:
            self._cache[path] = read_scores(path)
        return self._cache[path]

    def labels(self, batch):
        """Return the labels of a batch; the setting ``topics`` decides which topics count."""
        return batch.labels(self.settings.get("topics", "all"))

    def name(self):
        """Describe the shown run in words."""
        return f"{self.shown['run']}, k = {self.shown['k']}, seed {self.shown['seed']}"


def thin(values, max_values):
    """Return a list of at most `max_values` evenly spaced values, including the first and last.

    Values are returned unchanged if there are no more than `max_values`.
    """
    values = list(values)
    if len(values) <= max_values:
        return values
    positions = np.linspace(0, len(values) - 1, max_values).round().astype(int)
    return [values[i] for i in np.unique(positions)]
