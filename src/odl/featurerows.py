"""Features of one timestep as they lie in their file: what is small is read, documents by ranges of rows."""

import numpy as np

from odl import features, rows, storage
from odl.errors import StorageError


class Stored:
    """An open feature file.

    Parameters
    ----------
    file : h5py.File
        Of kind "features".

    Attributes
    ----------
    t, n_before, n_initial, frequencies, novel, novel_dominant, times
        As in `odl.features.FeatureBatch`.
    counts : odl.rows.Matrix
    """

    def __init__(self, file):
        self.file = file
        self.t, self.n_before, self.n_initial = (int(file.attrs[name]) for name in ("t", "n_before", "n_initial"))
        self.frequencies, self.novel, self.novel_dominant, self.times = (
            file[name][:] for name in ("frequencies", "novel", "novel_dominant", "times")
        )
        self.counts = rows.Matrix(file, "counts")
        n_documents, n_terms = self.counts.shape
        lengths = (file["vocabulary"].attrs["length"], file["ids"].attrs["length"], len(self.novel))
        if len(self.frequencies) != n_terms or lengths != (n_terms, n_documents, n_documents):
            path = file.filename
            raise StorageError(f"{path} does not fit together", "counts that match", f"delete {path} and run again")

    @property
    def vocabulary(self):
        """All terms seen up to and including this batch."""
        return storage.read_strings(self.file, "vocabulary")

    def frequencies_after(self):
        """Return the document frequencies including this batch."""
        total = self.frequencies.copy()
        for indices in rows.pieces(self.file["counts/indices"]):
            total += np.bincount(indices, minlength=len(total))
        return total

    def weighed(self, **settings):
        """Return the documents, weighed as by `odl.features.FeatureBatch.weigh`, as `Weighed`."""
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
        return self.weigh(self.counts[span])

    def take(self, few):
        """Return a few rows, in the order given."""
        return self.weigh(self.counts.take(few))


def read(path):
    """Open the features of one timestep; the file is closed when nothing refers to it any more.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, "features"):
        return Stored(rows.opened(path))
