"""Decorators of compiled kernels: that keep the result, and never one that an edit made stale.

numba keeps what it compiled beside the source and notices an edit of that file, not of a file whose kernels are called
from it; module constants are frozen likewise. So the name it is kept under holds a digest of all files of kernels that
a kernel reaches (`odl.kernels.declarations`): an edit makes it useless rather than stale, also where jobs start at
once, and a copy of the package finds what was compiled for it.
"""

import os

from numba import njit

from odl.kernels import declarations


def _compiled(**options):
    """Return a decorator; numba takes the name of the files that it keeps from ``__qualname__``."""
    made = njit(cache=True, nogil=True, error_model="numpy", **options)

    def decorate(function):
        name = os.path.splitext(os.path.basename(function.__code__.co_filename))[0]
        function.__qualname__ = f"{function.__name__}_{declarations.digest(name)}"
        return made(function)

    return decorate


def called(kinds):
    """Declare a kernel that is called from outside: `odl.jobs.compile` makes a library of those of its file.

    Parameters
    ----------
    kinds : str
        What it takes and, behind ``->``, what it returns; `odl.kernels.marshalling` reads it in the source, where it
        stands over the decorator of the kernel. Letters are types (d, f: floats of 8 and 4 bytes; l, i, u: integers of
        8, 4 and, unsigned, 4; b: a byte; ?: a truth value), d[,] is an array with two axes in C order, (l d[]) a tuple,
        and names are those of `odl.kernels.declarations`.
    """
    return lambda compiled: compiled


allocating = _compiled()
# Without numba's reference counts, which cost a third of the time: such a function must not allocate.
kernel = _compiled(_nrt=False)
# Where a call would cost as much as its work.
inlined = _compiled(_nrt=False, forceinline=True)
# Of numbers that are not NaN, to compare them: no order of a sum may depend on the processor, so neither does a result.
comparing = _compiled(_nrt=False, fastmath={"reassoc", "nnan", "nsz"})
