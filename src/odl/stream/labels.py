"""Labels of documents by the topics of the timesteps before: novel, known, or neither."""

from collections.abc import Collection

import numpy as np

from odl.files import rows, storage

UNLABELLED, KNOWN, NOVEL = -1, 0, 1


def label(topics: Collection[str], seen: Collection[str]) -> int:
    """Return whether a document of these topics is novel, known, or neither.

    Examples
    --------
    >>> from odl.stream.labels import label
    >>> label(("oil",), {"gas"}), label(("oil", "gas"), {"gas"}), label((), {"gas"})
    (1, 0, -1)
    """
    return UNLABELLED if not topics else KNOWN if any(name in seen for name in topics) else NOVEL


def topics_of(file):
    """Yield the topics of each document of an open file, the dominant one first."""
    for line in rows.lines(storage.dataset_of(file, "topics", "u")):
        yield tuple(line.split("\t")) if line else ()


def seen_after(file):
    """Return the topics, and the dominant topics, of all batches up to and including that of an open file."""
    seen, dominant = (set(storage.read_strings(file, name)) for name in ("seen", "seen_dominant"))
    for names in topics_of(file):
        seen.update(names)
        dominant.update(names[:1])
    return seen, dominant


def write(file, batch, seen, dominant):
    """Store the labels of a batch by all topics, and by the dominant ones, of earlier batches."""
    for name, most, past in (("novel", None, seen), ("novel_dominant", 1, dominant)):
        labels = (label(names[:most], past) for names in topics_of(batch))
        storage.write_array(file, name, np.fromiter(labels, dtype=np.int8))
