"""Kernels without the compiler: a library made by ``odl step compile`` is loaded where it is there, else numba is.

Importing numba and loading its cache costs more than a small timestep does. The functions listed here allocate
nothing and take arrays and numbers only, so `odl.jobs.compile` can compile them ahead of time into a shared library
that ctypes loads at once. A library belongs to one state of all files of kernels that its own reaches (its name holds
their digest), so an edit makes it useless rather than stale; without it, or where ``ODL_NATIVE=0``, the same functions
run through numba. A wheel for one platform has libraries in `SHIPPED`: one that loads is used before any other, one
that does not (an older C library) is made again as if it were not there.
"""

import ctypes
import functools
import hashlib
import importlib
import os
import platform
import struct

import numpy as np

from odl.kernels import reach

# File of kernels -> function -> arguments: d, l, i, u, f, b are numbers of the types below, [] an array of them.
FUNCTIONS = {
    "exact": {
        "code_documents": "l l l[] u[] d[] l[] u[] d[] l[] u[] d[] d[] d l d[] l l "
        "d[] l[] b[] d[] d[] i[] d[] l[] i[] d[] d[] d[] b[]",
    },
    "columns": {
        "project_columns": "l[] d[] d[] d",
    },
    "grams": {
        "largest_eigenvalue": "l[] u[] d[] d[] d[] l d d[]",
    },
    "fit": {
        "count": "l[] u[] l[] u[] d[] d[] d[] l[] l[] l[]",
        "reduce": "l[] u[] d[] l[] u[] d[] d[] d[] l[] l[] l[] l[] d[] d[] l[] i[] d[]",
        "iterate": "d[] l[] i[] d[] d[] l[] l[] d[] d[] d[] d d[] d[] d[] d[] d[,] d[] d[]",
    },
    "inverted": {
        "number": "i[] i[] i[] l u[]",
        "find": "l l i[] i[] l u[]",
        "count": "l l l[] u[] l[]",
        "offsets": "l[,] l[]",
        "fill": "l l l[] u[] d[] l[] u[] d[]",
        "grams": "l l l[] u[] d[] l[] u[] d[] d[,]",
        "nearest": "l l l l[] u[] d[] l[] u[] d[] d[] l[,] d[,]",
        "combine": "l[] u[] d[] l[] u[] d[] l l[] l[] l[] u[] d[]",
        "by_row": "l[] i[] l[] u[] d[] l[] i[] d[]",
    },
    "rows": {
        "flatten": "l l l[] d[] d d[] d[]",
        "codes": "l l l[] u[] d[] l[] u[] d[] l[,] l d[,] d[] d[,]",
        "heaviest": "l l[] i[] d[] l[] d[] d[]",
    },
    "clusters": {
        "products": "l l l l[] u[] d[] l[] u[] d[] l[] u[] d[] l[] u[] d[] l l d[,] d[]",
        "learn": "l l l l[] u[] d[] l[] u[] d[] l[] u[] d[] l[] u[] d[] l[] d[,] d[] "
        "d[,] d[] d[] d[] l[] l[] d[] l[] l[] l[,] d[,] d[] d[] d[] l[] l[] l l l d l",
    },
    "prices": {
        "search": "l l d[,] d[] d[] l[] l[,] d[,] d[] d[] d[] l[]",
    },
    "parents": {
        "group": "d[,] d[] d[] d[] l l[] l[] d[] l[] l[,] d[,] d[] d[] d[] l[] l[] l[] l[]",
    },
}
SHIPPED = os.path.join(os.path.dirname(__file__), "libraries")  # filled by setup.py, and there only in such a wheel
TYPES = {"d": np.float64, "f": np.float32, "l": np.int64, "i": np.int32, "u": np.uint32, "b": np.uint8}
PASSING = "packed"  # how arguments reach a library: a part of its digest


def library(name, folder=None):
    """Return where the library of a file of kernels is or would be: beside numba's own cache of that file."""
    state = reach.digest(name) + repr((PASSING, FUNCTIONS[name]))
    digest = hashlib.sha256(state.encode()).hexdigest()
    folder = folder or os.environ.get("NUMBA_CACHE_DIR") or os.path.join(os.path.dirname(__file__), "__pycache__")
    return os.path.join(folder, f"{name}-{platform.system()}-{platform.machine()}-{digest[:16]}.so".lower())


def loaded(name):
    """Return the open library of a file of kernels: the shipped one, else the one made here, else None."""
    for path in (library(name, SHIPPED), library(name)):
        try:
            return _open(path)
        except OSError:
            continue
    return None


def ready(name):
    """Tell whether a file of kernels has a library here: one that was made, or a shipped one that loads."""
    return os.path.exists(library(name)) or loaded(name) is not None


class Kernels:
    """The functions of a file of kernels, from the library or from numba, found when first called."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, function):
        found = self._library(function) if function in FUNCTIONS.get(self._name, ()) else None
        if found is None:
            found = getattr(importlib.import_module(f"odl.kernels.{self._name}"), function)
        setattr(self, function, found)
        return found

    def _library(self, function):
        if os.environ.get("ODL_NATIVE") == "0":
            return None
        opened = loaded(self._name)
        try:
            return opened and bind(opened, self._name, function)
        except AttributeError:
            return None


@functools.cache
def _open(path):
    return ctypes.CDLL(path)


def bind(opened, name, function):
    """Return a function of an open library, which checks the type and layout of its arrays."""
    called, kinds = getattr(opened, f"odl_{function}"), FUNCTIONS[name][function].split()
    called.restype, called.argtypes = ctypes.c_int64, [ctypes.c_char_p]
    # Numbers as they are, arrays as their address and sizes.
    pack = struct.Struct("".join({"d": "d", "l": "q"}.get(kind, "qq" + "q" * kind.count(",")) for kind in kinds)).pack

    def call(*given):
        words = []
        for kind, value in zip(kinds, given, strict=True):
            if len(kind) > 1:
                fits = value.dtype == TYPES[kind[0]] and value.ndim == 1 + kind.count(",")
                if not (fits and value.flags.c_contiguous):
                    raise TypeError(f"{name}.{function}: {value.dtype} array of shape {value.shape} for {kind}")
                words += [value.ctypes.data, *value.shape]
            else:
                words.append(value)
        return called(pack(*words))

    return call
