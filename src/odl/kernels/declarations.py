"""Declarations of kernels that are called from outside, and digests of their files with those that they import.

Nothing here needs numba, so that a caller with a library does not load it.
"""

import functools
import hashlib
import os
import re
from typing import Annotated, NamedTuple

import numpy as np

IMPORT = re.compile(rb"^(?:from odl\.kernels\.(\w+) |from odl\.kernels import (.+)$)", re.M)
CALLED = re.compile(rb'^@called\(\s*((?:"[^"\n]*"\s*)+)\)\n(?:@\w+\n)+def (\w+)', re.M)


def source(name):
    """Return the path of a file of kernels."""
    return os.path.join(os.path.dirname(__file__), f"{name}.py")


@functools.cache
def _read(name):
    """Return the bytes of a file of kernels and the names of those that it imports."""
    with open(source(name), "rb") as file:
        text = file.read()
    found = {part.decode() for one, many in IMPORT.findall(text) for part in [one, *re.split(rb"\W+", many)] if part}
    return text, found


def files(name):
    """Return the names of a file of kernels and of all that it imports, and so on."""
    seen, todo = set(), [name]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += _read(name)[1]
    return seen


@functools.cache
def digest(name):
    """Return a digest of the bytes of a file of kernels and of all that it imports."""
    joined = hashlib.sha256()
    for each in sorted(files(name)):
        joined.update(each.encode() + b"\0" + hashlib.sha256(_read(each)[0]).digest())
    return joined.hexdigest()[:16]


def declared(name):
    """Return what each function of a file of kernels says of its arguments, where it is called from outside."""
    found = CALLED.findall(_read(name)[0])
    return {function.decode(): b"".join(re.findall(rb'"([^"]*)"', text)).decode() for text, function in found}


def names():
    """Return the names of the files of kernels with functions that are called from outside."""
    files = sorted(os.listdir(os.path.dirname(__file__)))
    return [file[:-3] for file in files if file.endswith(".py") and declared(file[:-3])]


# Arrays by the kind of their entries and the number of their axes, as `odl.kernels.marshalling` has them.
L1, D1 = Annotated[np.ndarray, "l[]"], Annotated[np.ndarray, "d[]"]

# Arguments of several kernels.
ROWS = "l[] u[] d[]"  # starts, indices, values of a sparse matrix, as `odl.prox.projections.parts` returns them
DOCUMENTS = "(l[] i[] d[])"
ATOMS = "(i[,] d[,] l[])"  # padded: terms, weights, how many (`odl.kernels.agent_losses`)
MODEL = "(d d d ?)"  # gamma, delta, eta, signed
MIXING = "(l[] l[] d[])"  # over a network: starts, agents, weights
TREE_CODES = "Layout d d ? ? (? d l l)"  # lam, lipschitz, infinity, positive, rule (`odl.kernels.tree_codes`)


class Layout(NamedTuple):
    """A tree as the kernels want it."""

    start: L1  # first own atom of a node, and the number of atoms at the end
    end: L1  # end of a node's group
    parent: L1  # -1 for a root
    weight: D1  # w_g
