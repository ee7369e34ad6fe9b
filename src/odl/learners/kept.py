"""What the arrays of a state are: layout, sizes, type and values, declared by each learner in one place."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.errors import CheckpointError


class Kept(NamedTuple):
    """What an array of a state is.

    Attributes
    ----------
    layout : {"csr", "csc", "dense"}
    shape : tuple of str or int
        Of each dimension a number, or "terms" or "atoms", as many as the dictionary has ("terms" for sparse arrays
        only), or "positions", documents of a batch, of which there may be any number.
    dtype : type
    between : (str or int, str or int)
        Smallest and largest value of a dense array: a number, "atoms", or "start", the atoms that the run began with.

    Examples
    --------
    >>> from odl.learners.kept import Kept
    >>> total = Kept("csc", ("terms", "atoms"))
    >>> total.zeros({"terms": 5, "atoms": 2}).shape, total.text({"terms": 5, "atoms": 2})
    ((5, 2), 'csc float64 of 5 terms x 2 atoms')
    """

    layout: str
    shape: tuple
    dtype: type = np.float64
    between: tuple = (-np.inf, np.inf)

    def zeros(self, sizes: Mapping[str, int]) -> Any:
        """Return the array for sizes by name, with nothing in it and no positions."""
        shape = tuple({**sizes, "positions": 0}.get(size, size) for size in self.shape)
        if self.layout == "dense":
            return np.zeros(shape, dtype=self.dtype)
        return (sparse.csr_array if self.layout == "csr" else sparse.csc_array)(shape, dtype=self.dtype)

    def fits(self, value: Any, sizes: Mapping[str, int]) -> bool:
        """Tell whether a value is such an array, for sizes by name."""
        if (_layout(value), value.dtype, value.ndim) != (self.layout, self.dtype, len(self.shape)):
            return False
        free = {**sizes, "positions": None}
        if any(free.get(want, want) not in (None, size) for want, size in zip(self.shape, value.shape, strict=True)):
            return False
        low, high = (sizes.get(bound, bound) for bound in self.between)
        return self.layout != "dense" or bool(np.all(np.isfinite(value) & (low <= value) & (value <= high)))

    def text(self, sizes: Mapping[str, int]) -> str:
        """Return in words what it is, for sizes by name."""
        shape = [f"{sizes[size]} {size}" if size in sizes else str(size) for size in self.shape]
        low, high = (sizes.get(bound, bound) for bound in self.between)
        words = f"{self.layout} {np.dtype(self.dtype)} of {' x '.join(shape)}"
        return words if low == -np.inf else f"{words} within {low} to {high}"


DICTIONARY = Kept("csc", ("terms", "atoms"))


def check_arrays(kept, dictionary, arrays, start, path):
    """Refuse the arrays of a checkpoint that are none of the learner's: kernels would trust them.

    Parameters
    ----------
    kept : dict of str to Kept
        What the learner keeps beside its dictionary.
    dictionary, arrays
        As in `odl.learners.State`.
    start : int
        Atoms that the run began with.
    path : path-like
        The checkpoint, for the message.

    Raises
    ------
    CheckpointError
        Naming the first array that is missing, too much, or of another layout, size, type or value.
    """
    sizes = {**dict(zip(("terms", "atoms"), dictionary.shape, strict=False)), "start": start}
    wanted, found = {"dictionary": DICTIONARY, **kept}, {"dictionary": dictionary, **arrays}
    for name in sorted(wanted | found):
        given = _text(found[name]) if name in found else "nothing"
        expected = wanted[name].text(sizes) if name in wanted else "nothing"
        if "nothing" in (given, expected) or not wanted[name].fits(found[name], sizes):
            todo = f"delete {path} and run the same command again"
            raise CheckpointError(f"{path} holds {given} as {name}", expected, todo)


def _layout(value):
    return getattr(value, "format", "dense")


def _text(value):
    """Return in words what an array is."""
    words = f"{_layout(value)} {value.dtype} of {' x '.join(map(str, value.shape)) or 'no dimension'}"
    if _layout(value) == "dense" and value.size:
        words += f" within {value.min()} to {value.max()}"
    return words
