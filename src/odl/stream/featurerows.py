"""Features of one timestep as they lie in their file: what is small is read, documents by ranges of rows.

`advance` continues the chain of files in the same way, to the bytes of `advance` and `write` of `odl.stream.features`.
"""

import numpy as np
from scipy import sparse

from odl.errors import DataError
from odl.files import rows, storage
from odl.stream import features


class Stored:
    """An open feature file.

    Parameters
    ----------
    file : h5py.File
        Of kind "features".

    Attributes
    ----------
    t, n_before, n_initial, frequencies, novel, novel_dominant
        As in `odl.stream.features.FeatureBatch`.
    counts : odl.files.rows.Matrix
    """

    def __init__(self, file):
        self.file = file
        self.t, self.n_before, self.n_initial = (int(file.attrs[name]) for name in ("t", "n_before", "n_initial"))
        self.frequencies, self.novel, self.novel_dominant = (
            storage.read_array(file, name, "i") for name in ("frequencies", "novel", "novel_dominant")
        )
        self.counts = rows.Matrix(file, "counts")
        named = [int(file[name].attrs["length"]) for name in ("ids", "titles", "topics")]
        named.append(len(storage.dataset_of(file, "times", "i")))
        features.check_fit(self, named, int(file["vocabulary"].attrs["length"]), file.filename)

    @property
    def times(self):
        """Time of each document."""
        try:
            return storage.read_array(self.file, "times", "i")
        except (OSError, ValueError) as error:
            raise storage.damaged(self.file.filename, error) from error

    @property
    def vocabulary(self):
        """All terms seen up to and including this batch."""
        return storage.read_strings(self.file, "vocabulary")

    def frequencies_after(self):
        """Return the document frequencies including this batch."""
        total = self.frequencies.copy()
        for indices in rows.pieces(self.counts.held["indices"]):
            total += np.bincount(indices, minlength=len(total))
        return total

    def seen_after(self):
        """Return the topics, and the dominant topics, of all batches up to and including this one."""
        seen, dominant = (set(storage.read_strings(self.file, name)) for name in ("seen", "seen_dominant"))
        for names in _topics(self.file):
            seen.update(names)
            dominant.update(names[:1])
        return seen, dominant

    def weighed(self, **settings):
        """Return the documents, weighed as by `odl.stream.features.FeatureBatch.weigh`, as `Weighed`."""
        return Weighed(self.counts, features.weighing(self, **settings))

    def write_names(self, file):
        """Store ids, titles and topics of the documents."""
        for name in ("ids", "titles", "topics"):
            rows.copy_array(self.file, file, name)


class Weighed:
    """Weighed documents that are read by rows."""

    def __init__(self, counts, weigh):
        self.counts, self.weigh, self.shape = counts, weigh, counts.shape

    def __getitem__(self, span):
        return self._weighed(self.counts[span])

    def take(self, few):
        """Return a few rows, in the order given."""
        return self._weighed(self.counts.take(few))

    def _weighed(self, counts):
        if counts.data.min(initial=1) <= 0:
            raise storage.damaged(self.counts.group.file.filename, "a count is not positive")
        return self.weigh(counts)


def advance(output, source, previous=None):
    """Continue the feature chain by one batch, a run of documents at a time.

    Parameters
    ----------
    output : path-like
        Written: features of the timestep.
    source : path-like
        The batch.
    previous : path-like, optional
        Features of the timestep before; none for batch 0.

    Raises
    ------
    DataError
        If the batch is not the one that follows.
    """
    before = read(previous) if previous else None
    wanted = before.t + 1 if before else 0
    with storage.reading(source, "batch") as batch:
        if int(batch.attrs["t"]) != wanted:
            expected = f"timestep {wanted}, after {previous or 'nothing'}"
            given = f"{source} is of timestep {int(batch.attrs['t'])}"
            raise DataError(given, expected, "pass the batch that follows")
        vocabulary = before.vocabulary if before else []
        known = len(vocabulary)
        columns = features.number_terms(storage.read_strings(batch, "vocabulary"), vocabulary)
        frequencies = np.zeros(len(vocabulary), dtype=np.int64)
        seen, dominant = set(), set()
        if before:
            frequencies[:known] = before.frequencies_after()
            seen, dominant = before.seen_after()
        sizes = {
            "t": wanted,
            "n_before": before.n_before + before.counts.shape[0] if before else 0,
            "n_initial": before.n_initial if before else len(vocabulary),
        }
        with storage.writing(output, "features", **sizes) as file:
            _write_counts(file, rows.Matrix(batch, "counts"), columns, len(vocabulary))
            storage.write_strings(file, "vocabulary", vocabulary)
            for name in ("ids", "titles"):
                rows.copy_array(batch, file, name)
            storage.write_strings(file, "seen", sorted(seen))
            storage.write_strings(file, "seen_dominant", sorted(dominant))
            storage.write_array(file, "frequencies", frequencies)
            for name, chosen, past in (("novel", None, seen), ("novel_dominant", 1, dominant)):
                labels = (features.label(names[:chosen], past) for names in _topics(batch))
                storage.write_array(file, name, np.fromiter(labels, dtype=np.int8))
            for name in ("times", "topics"):
                rows.copy_array(batch, file, name)


def _topics(file):
    """Yield the topics of each document, the dominant one first."""
    for line in rows.lines(storage.dataset_of(file, "topics", "u")):
        yield tuple(line.split("\t")) if line else ()


def _write_counts(file, counts, columns, n_terms):
    """Store the counts under global term ids, terms ascending; gone through once for each array."""
    group = file.create_group("counts")
    group.attrs["shape"] = np.array([counts.shape[0], n_terms], dtype=np.int64)

    def parts():
        for _, part in counts.parts():
            moved = (part.data.astype(np.int32), columns[part.indices], part.indptr)
            yield sparse.csr_array(moved, shape=(part.shape[0], n_terms)).sorted_indices()

    for name in ("data", "indices"):
        entries = (getattr(part, name) for part in parts())
        rows.write_array(group, name, counts.nnz, np.dtype(np.int32), rows.reader(entries))
    rows.copy_array(counts.inner, group, "indptr")


def read(path):
    """Open the features of one timestep; the file is closed when nothing refers to it any more.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, "features"):
        return Stored(rows.opened(path))
