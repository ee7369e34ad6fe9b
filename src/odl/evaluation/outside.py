"""Compare the novelty scores of another program with those of a study, on the same documents."""

import math
import os
from collections.abc import Sequence

import numpy as np

from odl.corpora import formats
from odl.errors import ConfigError, DataError
from odl.evaluation import metrics
from odl.evaluation.averages import mean
from odl.evaluation.scorefiles import read_scores
from odl.evaluation.study import load_plan, score_path
from odl.files.escaping import visible
from odl.files.tables import read_table

OUTSIDE_COLUMNS = ("id", "score")
YOURS = "yours"  # name of the user's scores in the result
REPLICATES = 1000  # number of bootstrap samples


def read(path: str | os.PathLike) -> dict[str, float]:
    """Read a CSV file with the columns id and score; return {id: score}.

    Higher scores are more novel.

    Raises
    ------
    DataError
        If a column is missing, a score is not a number, or an id occurs twice.
    """
    scores_of: dict[str, float] = {}
    for place, row in formats.all_rows(path, formats.Form(kind="csv")):
        where = f"{os.fspath(path)} {place}"
        if not set(OUTSIDE_COLUMNS) <= row.keys():
            raise DataError(
                f"{os.fspath(path)} has the columns {', '.join(row)}",
                "the columns id and score, separated by commas",
                "correct its first line",
            )
        try:
            score = float(row["score"])
        except ValueError:
            score = math.nan
        if math.isnan(score):
            raise DataError(
                f"{where} has the score {visible(row['score'])!r}", "a number", "correct the score"
            )
        if row["id"] in scores_of:
            raise DataError(
                f"{where} repeats the id {visible(row['id'])}",
                "each document once",
                "remove one of the rows",
            )
        scores_of[row["id"]] = score
    return scores_of


def _choose_runs(plan, stream, seed):
    """Return the entries of the plan for one stream and seed.

    Parameters
    ----------
    plan : list of dict
    stream : str or None
        By default the only stream.
    seed : int or None
        By default the smallest seed.

    Raises
    ------
    ConfigError
        If the plan does not have the stream or seed, or several streams and `stream` is None.
    """
    streams = list(dict.fromkeys(entry["corpus"] for entry in plan))
    if stream is None and len(streams) > 1:
        raise ConfigError(
            f"the study has the streams {', '.join(streams)}", "one stream", "add --stream NAME"
        )
    stream = streams[0] if stream is None else stream
    seeds = sorted({entry["seed"] for entry in plan if entry["corpus"] == stream})
    if not seeds:
        raise ConfigError(
            f"the study has no stream {stream}", f"one of {', '.join(streams)}", "correct --stream"
        )
    seed = seeds[0] if seed is None else seed
    if seed not in seeds:
        raise ConfigError(
            f"the stream {stream} has no seed {seed}",
            f"one of {', '.join(map(str, seeds))}",
            "correct --seed",
        )
    return [entry for entry in plan if (entry["corpus"], entry["seed"]) == (stream, seed)]


def _timesteps(entries):
    """Read the batches over which a study averages, and determine how documents were labelled.

    The labels depend on the setting ``evaluate.topics``, which the tables do not contain. It is
    "all" if the labels by all topics give the numbers of novel documents in the tables.

    Returns
    -------
    batches : list of ScoredBatch
    topics : str
        ``all`` or ``dominant``.

    Raises
    ------
    DataError
        If the study averages over no timestep.
    """
    rows = []
    for entry in entries:
        rows += read_table(os.path.join(entry["folder"], "auc.tsv"))
    listed = sorted({int(row["t"]) for row in rows if row["listed"]})
    if not listed:
        raise DataError(
            "the average AUC of the study includes no timestep",
            "timesteps with novel and known documents",
            "see the tables in report.html",
        )
    novel = {int(row["t"]): int(row["novel"]) for row in rows}
    batches = [read_scores(score_path(entries[0], t)) for t in listed]
    matches = all(int((batch.labels("all") == 1).sum()) == novel[batch.t] for batch in batches)
    return batches, "all" if matches else "dominant"


def compare(
    folder: str | os.PathLike,
    own: dict[str, float],
    *,
    stream: str | None = None,
    seed: int | None = None,
) -> tuple[list[dict], Sequence[int], dict]:
    """Compare scores of another program with every run and baseline of a study.

    The comparison uses the timesteps that the study averages over.

    Parameters
    ----------
    folder : path-like
        ``results/STUDY`` of a finished study, relative to the folder in which it was run.
    own : dict of str to float
        Id of a document -> score. Higher scores are more novel. Documents of other timesteps are
        ignored.
    stream : str, optional
        Required if the study has several streams.
    seed : int, optional
        Seed of the order of documents. By default the smallest seed of the study.

    Returns
    -------
    rows : list of dict
        The first row is that of `own`, with ``run`` and ``average`` (mean AUC). The rows of the
        study also have ``difference`` (`own` - run) and its paired 95 % bootstrap interval, ``low``
        and ``high``.
    listed : list of int
        Timesteps over which the AUC is averaged.
    by_timestep : dict of int to float
        AUC of `own` at each timestep.

    Raises
    ------
    ConfigError
        If the study does not have the stream or seed.
    DataError
        If a document of these timesteps has no score.

    Notes
    -----
    The interval covers the variation over documents, not over seeds.
    """
    entries = _choose_runs(load_plan(os.path.join(folder, "plan.json")), stream, seed)
    if not os.path.isdir(entries[0]["folder"]):
        raise DataError(
            f"{entries[0]['folder']} does not exist in the current folder",
            "the folder in which the study was run",
            "change to that folder and repeat the command",
        )
    batches, topics = _timesteps(entries)
    listed, pairs = [batch.t for batch in batches], []
    for first in batches:
        if missing := [ident for ident in first.ids if ident not in own]:
            raise DataError(
                f"{len(missing)} documents of timestep {first.t} have no score, "
                f"such as {visible(missing[0])}",
                "a score for every document of the timesteps in the average",
                "add the missing scores",
            )
        scores = {YOURS: np.array([own[ident] for ident in first.ids])}
        for entry in entries:
            batch = first if entry is entries[0] else read_scores(score_path(entry, first.t))
            size = f" k={entry['k']}" if entry["k"] is not None else ""
            scores |= {f"{name}{size}": values for name, values in batch.scores.items()}
        pairs.append(([*scores.values()], first.labels(topics)))
    aucs = np.array(
        [[metrics.auc(values, label) for values in columns] for columns, label in pairs]
    )
    replicates = metrics.mean_bootstrap(pairs, replicates=REPLICATES)
    rows = []
    for column, name in enumerate(scores):
        row = {"run": name, "average": mean(aucs[:, column])}
        if column:
            low, high = metrics.interval(replicates[0] - replicates[column])
            row |= {"difference": rows[0]["average"] - row["average"], "low": low, "high": high}
        rows.append(row)
    return rows, listed, dict(zip(listed, aucs[:, 0].tolist(), strict=True))


def as_text(rows, listed, by_timestep):
    """Format the result of `compare` as a table for the terminal."""
    width = max(len(row["run"]) for row in rows)
    lines = [
        f"average AUC over the timesteps {', '.join(map(str, listed))}; "
        "difference of yours and each run with 95 % interval"
    ]
    for row in rows:
        line = f"{row['run']:<{width}}  {row['average']:.3f}"
        if "difference" in row:
            line += f"  {row['difference']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
        lines.append(line)
    lines.append(
        "yours by timestep: " + ", ".join(f"{t}: {value:.3f}" for t, value in by_timestep.items())
    )
    return "\n".join(lines)
