"""Tables of AUC: one row per timestep, and averages per run, computed from score files.

Tables are lists of dicts (`odl.files.tables`). Times are UTC. Undefined numbers are nan.
"""

import os
from collections.abc import Collection, ItemsView, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from odl.config.sections import EvaluatedStream
from odl.errors import DataError
from odl.evaluation import metrics
from odl.evaluation.scorefiles import read_scores, with_window
from odl.files.documents import NO_TIME
from odl.files.tables import write_table

AUC_COLUMNS = (
    "run",
    "t",
    "first_time",
    "last_time",
    "documents",
    "novel",
    "known",
    "unlabelled",
    "empty",
    "uncoded",
    "gap",
    "auc",
    "low",
    "high",
    "listed",
)
SUMMARY_COLUMNS = (
    "run",
    "timesteps",
    "average",
    "low",
    "high",
    "timesteps_all",
    "average_all",
    "pooled",
    "pooled_low",
    "pooled_high",
    "documents",
    "novel",
    "uncoded",
    "gap",
)


def choose_timesteps(
    labels: Mapping[int, np.ndarray],
    timesteps: Collection[int] = (),
    *,
    min_novel: int,
    min_known: int,
) -> list[int]:
    """Return the timesteps over which the AUC of a run is averaged, in time order.

    Parameters
    ----------
    labels : dict of int to ndarray
        Labels of the batches that are evaluated, by timestep: 1 novel, 0 known, -1 unlabelled.
    timesteps : collection of int
        Timesteps to average over. If empty, those with at least `min_novel` novel and `min_known`
        known documents.
    min_novel, min_known : int
        Minimum numbers of documents, used if `timesteps` is empty.

    Returns
    -------
    list of int
        Timesteps with at least one novel and one known document, which an AUC needs.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.evaluation.averages import choose_timesteps
    >>> labels = {1: np.array([1, 1, 0]), 2: np.array([0, 0, 0]), 3: np.array([1, 0, 0])}
    >>> choose_timesteps(labels, min_novel=2, min_known=1)
    [1]
    >>> choose_timesteps(labels, [1, 2, 3], min_novel=2, min_known=1)
    [1, 3]
    """
    steps = []
    for t in sorted(labels):
        novel, known = (int((labels[t] == label).sum()) for label in (1, 0))
        enough = t in timesteps if len(timesteps) else novel >= min_novel and known >= min_known
        steps += [t] if enough and novel and known else []
    return steps


def average_auc(aucs: Mapping[int, float], steps: Sequence[int]) -> float:
    """Return the mean AUC over timesteps; nan if `steps` is empty.

    Parameters
    ----------
    aucs : dict of int to float
        AUC by timestep.
    steps : list of int
        Result of `choose_timesteps`.

    Examples
    --------
    >>> from odl.evaluation.averages import average_auc
    >>> average_auc({1: 0.8, 2: 0.5, 3: 0.9}, [1, 3])
    0.8500000000000001
    """
    return mean([aucs[t] for t in steps])


def spread(values: Iterable[float]) -> tuple[float, float]:
    """Return (mean, sample standard deviation) of the values that are not nan, or nan.

    Examples
    --------
    >>> from odl.evaluation.averages import spread
    >>> spread([0.5, 1.0, float("nan")])
    (0.75, 0.3535533905932738)
    """
    defined = np.array([value for value in values if not np.isnan(value)])
    centre = float(defined.mean()) if len(defined) else float("nan")
    return centre, float(defined.std(ddof=1)) if len(defined) > 1 else float("nan")


def mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are not nan, or nan.

    Examples
    --------
    >>> from odl.evaluation.averages import mean
    >>> mean([0.5, 1.0, float("nan")])
    0.75
    """
    return spread(values)[0]


def grouped(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> ItemsView[tuple, list]:
    """Group rows by the values of `keys`; return pairs (values, rows of the group).

    Groups are in the order of their first rows.

    Examples
    --------
    >>> from odl.evaluation.averages import grouped
    >>> list(grouped([{"run": "a", "t": 1}, {"run": "b", "t": 1}, {"run": "a", "t": 2}], ["run"]))
    [(('a',), [{'run': 'a', 't': 1}, {'run': 'a', 't': 2}]), (('b',), [{'run': 'b', 't': 1}])]
    """
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups.items()


def iso(milliseconds: int) -> str:
    """Format a time in ms as YYYY-MM-DDTHH:MM:SS, or YYYY-MM-DD at midnight, or "" if unknown.

    Examples
    --------
    >>> from odl.evaluation.averages import iso
    >>> iso(0), iso(90_061_000)
    ('1970-01-01', '1970-01-02T01:01:01')
    """
    if milliseconds == NO_TIME:
        return ""
    text = str(np.datetime64(int(milliseconds), "ms").astype("datetime64[s]"))
    return text.removesuffix("T00:00:00")


def _batch_row(batch, run, labels, draws):
    """Return the row of a run and timestep with the columns `AUC_COLUMNS` except "listed"."""
    times = batch.times[batch.times != NO_TIME]
    low, high = metrics.interval(draws)
    return {
        "run": run,
        "t": batch.t,
        "first_time": iso(times.min()) if len(times) else "",
        "last_time": iso(times.max()) if len(times) else "",
        "documents": len(labels),
        "novel": int((labels == 1).sum()),
        "known": int((labels == 0).sum()),
        "unlabelled": int((labels == -1).sum()),
        "empty": int(batch.empty.sum()),
        "uncoded": batch.uncoded,
        "gap": batch.gap,
        "auc": metrics.auc(batch.scores[run], labels),
        "low": low,
        "high": high,
    }


def _summary(run, rows, steps, draws, pooled):
    """Return the row of a run with the columns `SUMMARY_COLUMNS`.

    Parameters
    ----------
    run : str
    rows : list of dict
        Rows of all batches after the first (`_batch_row`).
    steps : list of int
        Timesteps over which the AUC is averaged.
    draws : dict of int to ndarray
        Bootstrap replicates of the AUC by timestep.
    pooled : tuple
        AUC over all documents, and its interval: (AUC, low, high).
    """
    low, high = metrics.interval(np.mean([draws[t] for t in steps], axis=0) if steps else [])
    gaps = [row["gap"] for row in rows if not np.isnan(row["gap"])]
    return {
        "run": run,
        "timesteps": len(steps),
        "average": average_auc({row["t"]: row["auc"] for row in rows}, steps),
        "low": low,
        "high": high,
        "timesteps_all": sum(not np.isnan(row["auc"]) for row in rows),
        "average_all": mean([row["auc"] for row in rows]),
        **dict(zip(("pooled", "pooled_low", "pooled_high"), pooled, strict=True)),
        "documents": sum(row["documents"] for row in rows),
        "novel": sum(row["novel"] for row in rows),
        "uncoded": mean([row["uncoded"] for row in rows]),
        "gap": max(gaps, default=float("nan")),
    }


def _read_series(paths):
    """Read the score files of one run; return (names of scores, scored batches after the first).

    Raises
    ------
    DataError
        If the files are of several runs, or two files of the same timestep.
    """
    batches = sorted((read_scores(path, names=False) for path in paths), key=lambda batch: batch.t)
    steps = [batch.t for batch in batches]
    names = {tuple(sorted(batch.scores)) for batch in batches}
    if len(set(steps)) != len(steps) or len(names) > 1:
        raise DataError(
            f"the score files are of the timesteps {steps} and of the runs {sorted(names)}",
            "the files of one run, one for each timestep",
            "pass the files of one folder",
        )
    batches = [batch for batch in batches if batch.t > 0]
    # If a window was used at some timesteps, the name of the average has the window too.
    window = "-".join(sorted({batch.window for batch in batches} - {""}))
    for batch in batches:
        batch.scores = {with_window(name, window): score for name, score in batch.scores.items()}
    return [with_window(name, window) for name in next(iter(names), ())], batches


def evaluate(
    score_paths: Sequence[str | os.PathLike],
    *,
    timesteps: Collection[int] | None = None,
    min_novel: int = 10,
    min_known: int = 10,
    topics: str = "all",
    bootstrap: int = 1000,
    seed: int = 0,
) -> tuple[list[dict], list[dict]]:
    """Evaluate one run (or the baselines) over its timesteps.

    Parameters
    ----------
    score_paths : list of path-like
        Score files of one run, or of the baselines, in any order. Timestep 0 is ignored.
    timesteps : list of int, optional
        Timesteps to average over. If None or empty, those with at least `min_novel` novel and
        `min_known` known documents.
    min_novel, min_known : int
        Minimum numbers of documents, used if `timesteps` is empty.
    topics : {"all", "dominant"}
        With "all", a document is novel if none of its topics occurred in earlier batches. With
        "dominant", it is novel if its first topic did not occur.
    bootstrap : int
        Number of replicates for the 95 % intervals (stratified percentile bootstrap). With 0,
        intervals are nan.
    seed : int
        Seed of the bootstrap. Timestep t uses the seed (seed, t), so that runs on the same batches
        use the same resampled documents.

    Returns
    -------
    rows : list of dict
        A dict for each run and timestep, with the keys `AUC_COLUMNS`. "listed" is 1 if the average
        includes the timestep.
    summary : list of dict
        A dict for each run, with the keys `SUMMARY_COLUMNS`: mean AUC over the listed timesteps
        with its interval, mean AUC over all timesteps that have one, and AUC over the documents of
        all timesteps.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    DataError
        If the files are of several runs, or two files of the same timestep.
    StorageError
        If a file is missing, damaged or not a score file.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl import corpora
    >>> from odl.evaluation import baselines, scorefiles, averages
    >>> from odl.stream import features
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "1.h5")
    >>> corpus = corpora.read("simulation", options={"documents": 600, "days": 6})
    >>> past = features.follow(corpus.select(range(400)))
    >>> batch = features.follow(corpus.select(range(400, 600)), past)
    >>> scorefiles.write_baselines(path, batch, baselines.score(batch, [past]))
    >>> rows, summary = averages.evaluate([path], min_novel=5, bootstrap=0)
    >>> {row["run"]: round(row["auc"], 2) for row in rows if row["run"].startswith("nearest")}
    {'nearest-logtf': 0.87, 'nearest-tfidf': 0.85, 'nearest5-logtf': 0.89, 'nearest5-tfidf': 0.87}
    """
    steps: Any = timesteps.tolist() if isinstance(timesteps, np.ndarray) else timesteps or []
    numbers = {"min_novel": min_novel, "min_known": min_known, "bootstrap": bootstrap, "seed": seed}
    EvaluatedStream(timesteps=steps, topics=topics, **numbers)
    names, batches = _read_series(score_paths)
    labels = {batch.t: batch.labels(topics) for batch in batches}
    chosen = choose_timesteps(labels, steps, min_novel=min_novel, min_known=min_known)
    rows, summary = [], []
    for run in names:
        pairs = {batch.t: (batch.scores[run], labels[batch.t]) for batch in batches}
        draws = {
            t: metrics.bootstrap(*pair, replicates=bootstrap, seed=[seed, t])
            for t, pair in pairs.items()
        }
        run_rows = []
        for batch in batches:
            row = _batch_row(batch, run, labels[batch.t], draws[batch.t])
            run_rows.append({**row, "listed": int(batch.t in chosen)})
        pooled = metrics.pooled_auc(pairs.values(), replicates=bootstrap, seed=[seed, 0])
        rows += run_rows
        summary.append(_summary(run, run_rows, chosen, draws, pooled))
    return rows, summary


def write_evaluation(score_paths, auc_path, summary_path, **options):
    """Evaluate one run with the `options` of `evaluate`; write ``auc.tsv`` and ``summary.tsv``."""
    rows, summary = evaluate(score_paths, **options)
    write_table(auc_path, rows, AUC_COLUMNS)
    write_table(summary_path, summary, SUMMARY_COLUMNS)
