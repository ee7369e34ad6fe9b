"""Vectors of documents, centred by the mean vector of earlier documents."""

import numpy as np

from odl.errors import DataError
from odl.files import storage


def unit(rows: np.ndarray) -> np.ndarray:
    """Return rows scaled to unit l2 norm, in double precision; rows of zeros remain zero.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.dense import unit
    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    rows = np.asarray(rows, dtype=np.float64)
    sizes = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > 0)


def total(vectors: np.ndarray) -> np.ndarray:
    """Return the sum of the rows after each is scaled to unit l2 norm.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.dense import total
    >>> total(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([0.6, 1.8])
    """
    return unit(vectors).sum(axis=0)


def centred(vectors: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Scale vectors to unit norm, subtract a mean, and scale the differences to unit norm.

    Vectors of zeros remain zero. Encoders map all texts in a language near one direction, so that
    only the difference from it distinguishes documents.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.dense import centred
    >>> centred(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5])).round(3)
    array([[ 0.707, -0.707],
           [-0.707,  0.707]])
    """
    scaled = unit(vectors)
    return unit(np.where(scaled.any(axis=1, keepdims=True), scaled - mean, 0.0))


def total_after(file):
    """Return the sum of all unit vectors up to the timestep of an open feature file, inclusive."""
    before = storage.read_array(file, "vector_total", "f") if int(file.attrs["t"]) else 0.0
    return total(storage.read_array(file, "vectors", "f", 2)) + before


def advance(file, batch, before):
    """Store the vectors of a batch, and the sum of all earlier unit vectors, in a feature file.

    Parameters
    ----------
    file : h5py.File
        Feature file that is written.
    batch : h5py.File
    before : odl.stream.features.FeatureFile or None
        Features of the timestep before.

    Raises
    ------
    DataError
        If only one of the two timesteps has vectors, or their dimensions differ.
    """
    if before is not None and ("vectors" in before.file) != ("vectors" in batch):
        words = ("without", "with") if "vectors" in batch else ("with", "without")
        problem = f"a batch {words[1]} vectors follows a batch {words[0]} vectors"
        raise DataError(
            problem, "vectors for all documents, or for none", "correct the column of vectors"
        )
    if "vectors" not in batch:
        return
    vectors = storage.read_array(batch, "vectors", "f", 2)
    past = np.zeros(vectors.shape[1])
    if before is not None:
        if before.raw_vectors.shape[1] != vectors.shape[1]:
            problem = (
                f"vectors of {vectors.shape[1]} numbers follow vectors of "
                f"{before.raw_vectors.shape[1]}"
            )
            raise DataError(
                problem, "vectors of one encoder", "encode all documents by the same encoder"
            )
        past = total_after(before.file)
    storage.write_array(file, "vectors", vectors)
    storage.write_array(file, "vector_total", past)
