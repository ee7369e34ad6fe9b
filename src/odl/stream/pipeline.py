"""The stages from the documents to the features: each reads files, calls one module, writes files."""

import csv
import os
import sys
from pathlib import Path

import numpy as np

from odl.config import order_seed
from odl.errors import DataError, ParameterError, StorageError
from odl.files import documents, storage
from odl.stream import batchfile, batching, featurerows


def index(source, table, order, *, seed, batches, protocol, topic_entry, ties, made=None):
    """Cut the stream into batches and write one row for each, with the sha256 of its documents.

    Parameters
    ----------
    source : path-like
        Documents.
    table, order : path-like
        Written: index.tsv (t, documents, first, last, sha256) and the rows of each batch.
    seed : int
    batches : dict
        by, documents, period, initial, flush of `odl.stream.batching.split`.
    protocol : {"by-date", "topic-entry"}
    topic_entry : dict
        held_back, first, last of `odl.stream.batching.Entry`.
    ties : {"seeded", "source"}
    made : path-like, optional
        Folder of the batches made before: one that changes although it was complete is warned of.
    """
    with storage.reading(source, "documents") as file:
        ids, files = storage.read_strings(file, "ids"), storage.read_strings(file, "files")
        topics, times = documents.read_topics(file), storage.read_array(file, "times", "i")
        digests = storage.read_array(file, "digests", "u", ndim=2)
        if any(len(part) != len(ids) for part in (files, topics, times, digests)):
            raise ValueError("documents, times and digests differ in number")
    if protocol not in ("by-date", "topic-entry"):
        raise ParameterError(f"protocol is {protocol!r}", "'by-date' or 'topic-entry'", "choose one of these")
    entry = batching.Entry(**topic_entry) if protocol == "topic-entry" else None
    rows = batching.order(ids, times, seed, ties)
    parts = batching.split(rows, times, files, topics, entry=entry, seed=seed, **batches)
    sums = [batching.fingerprint(digests[part]) for part in parts]
    _warn_of_late_documents(made, sums)
    with storage.writing(order, "order") as file:
        storage.write_array(file, "rows", np.concatenate(parts))
        storage.write_array(file, "starts", np.cumsum([0] + [len(part) for part in parts]))
    with storage.replacing(table) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["t", "documents", "first", "last", "sha256"])
        for t, (part, digest) in enumerate(zip(parts, sums, strict=True)):
            writer.writerow([t, len(part), *(documents.visible(ids[part[end]]) for end in (0, -1)), digest])


def _warn_of_late_documents(made, sums):
    """Say which finished batches no longer hold the same documents (the newest may just have grown)."""
    stored = {}
    for path in Path(made).glob("*.h5") if made and os.path.isdir(made) else []:
        try:
            with storage.reading(path, "batch") as file:
                stored[int(path.stem)] = str(file.attrs["sha256"])
        except (StorageError, ValueError):
            continue
    changed = [t for t, digest in sorted(stored.items()) if t >= len(sums) or digest != sums[t]]
    if changed and changed[0] != max(stored):
        print(
            f"odl index: the documents of batch {changed[0]} changed (late, edited or removed ones); "
            f"it and every later timestep are computed again",
            file=sys.stderr,
        )


def batch(source, order, output, t):
    """Write the documents of one batch, with nothing in the file that depends on other documents."""
    with storage.reading(order, "order") as file:
        starts = storage.read_array(file, "starts", "i")
        ordered = storage.dataset_of(file, "rows", "i")
        if np.any(np.diff(starts) < 1) or starts.min(initial=0) < 0 or starts.max(initial=0) > len(ordered):
            raise ValueError("the batches are no parts of the stream")
        if not 0 <= t < len(starts) - 1:
            raise DataError(f"timestep {t}", f"one of 0 to {len(starts) - 2}", "ask for an existing timestep")
        rows = ordered[int(starts[t]) : int(starts[t + 1])]
    batchfile.write(source, rows, output, t)


def advance(output, source, previous=None):
    """Continue the feature chain by the batch in `source`."""
    featurerows.advance(output, source, previous)


def lengths(config):
    """Count the timesteps of every stream of a study from its index.

    Returns
    -------
    dict
        (corpus, seed) to the number of timesteps, as `odl.config.plan` takes it.

    Raises
    ------
    DataError
        If an index is missing.
    """
    found = {}
    for corpus in config["streams"]:
        for seed in sorted({order_seed(config, corpus, seed) for seed in config["seeds"]}):
            path = f"{config['results']}/{config['study']}/{corpus}/seed{seed}/index.tsv"
            if not os.path.exists(path):
                raise DataError(f"{path} does not exist", "the index of the stream", "make it first")
            try:
                with open(path, newline="", encoding="utf-8") as file:
                    found[corpus, seed] = len(list(csv.DictReader(file, delimiter="\t")))
            except (UnicodeDecodeError, csv.Error) as error:
                given = f"{path} is not a whole table ({error})"
                raise DataError(given, "the index of the stream", f"delete {path} and run again") from error
    return found
