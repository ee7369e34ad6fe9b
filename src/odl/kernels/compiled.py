"""How kernels are compiled: decorators that keep the result, and never one that an edit made stale.

numba keeps what it compiled beside the source and notices an edit of that file, not of a file whose kernels are called
from it; module constants are frozen likewise. So the name it is kept under holds a digest of all files of kernels that
a kernel reaches (`odl.kernels.reach`): an edit makes it useless rather than stale, also where jobs start at once,
and a copy of the package finds what was compiled for it.
"""

import os

from numba import njit

from odl.kernels import reach


def _compiled(**options):
    """Return a decorator; numba takes the name of the files that it keeps from ``__qualname__``."""
    made = njit(cache=True, nogil=True, error_model="numpy", **options)

    def decorate(function):
        name = os.path.splitext(os.path.basename(function.__code__.co_filename))[0]
        function.__qualname__ = f"{function.__name__}_{reach.digest(name)}"
        return made(function)

    return decorate


allocating = _compiled()
# Without numba's reference counts, which cost a third of the time, and so that `odl.jobs.compile` can make a library of
# it: such a function must not allocate.
kernel = _compiled(_nrt=False)
# Where a call would cost as much as its work.
inlined = _compiled(_nrt=False, forceinline=True)
# Sums in the order that is fastest, the same on one machine every time.
summing = _compiled(_nrt=False, fastmath={"reassoc", "contract"})
# Of numbers that are not NaN.
comparing = _compiled(_nrt=False, fastmath={"reassoc", "nnan", "nsz"})
