"""Marshalling of what kernels take and return to and from a library: packed words, of kinds as kernels declare them.

A number is a word, an array its address and sizes. What a function returns follows its arguments; an array that it made
has the address of its memory (see `odl.kernels.compiled`) before; one that was an argument has 0 and is that argument.
Declarations are read in the source: nothing here needs numba, so that a caller with a library does not load it.
"""

import ctypes
import functools
import hashlib
import os
import re
import struct
from typing import Annotated, NamedTuple

import numpy as np

TYPES = {"d": np.float64, "f": np.float32, "l": np.int64, "i": np.int32, "u": np.uint32, "b": np.uint8, "?": np.bool_}
NUMBERS = {int: "l", float: "d", bool: "?"}
NOTHING = ctypes.c_char * 0
FAILED = -(2**63)  # what a function of a library returns where there was no memory
PART = re.compile(r"[()]|[\w?]+(?:\[,*\])?")
IMPORT = re.compile(rb"^(?:from odl\.kernels\.(\w+) |from odl\.kernels import (.+)$)", re.M)
CALLED = re.compile(rb'^@called\(\s*((?:"[^"\n]*"\s*)+)\)\n(?:@\w+\n)+def (\w+)', re.M)

# Arrays by the kind of their entries and the number of their axes.
L1, D1 = Annotated[np.ndarray, "l[]"], Annotated[np.ndarray, "d[]"]
L2, D2 = Annotated[np.ndarray, "l[,]"], Annotated[np.ndarray, "d[,]"]

# Arguments of several kernels.
ROWS = "l[] u[] d[]"  # starts, indices, values of a sparse matrix, as `odl.prox.projections.parts` returns them
FLAT = "l[] u[] d[] d[]"  # the same with values raised to a power as well (`odl.learners.likeness.Flat`)
TREE_CODES = "Layout d d ? ? (? d l l)"  # lam, lipschitz, infinity, positive, rule (`odl.kernels.tree_codes`)


class Layout(NamedTuple):
    """A tree as the kernels want it."""

    end: L1  # end of a node's group
    parent: L1  # -1 for a root


class Atoms(NamedTuple):
    """Atoms in padded rows, with room to grow (`odl.kernels.agent_losses`)."""

    term: Annotated[np.ndarray, "i[,]"]
    weight: D2
    count: L1  # entries of each


class Model(NamedTuple):
    """Objective over agents (`odl.distributed.models`)."""

    gamma: float
    delta: float
    eta: float  # 0: the squared residual
    signed: bool  # codes and atoms may be negative


class Diffusion(NamedTuple):
    """Iteration over a network (`odl.kernels.adapt_then_combine`)."""

    owner: L1  # agent of each atom
    starts: L1  # neighbours of agent k, itself among them, are neighbours[starts[k]:starts[k + 1]]
    neighbours: L1
    weights: D1  # of these
    shares: D1  # 1/|N_I| for an agent that sees the documents, else 0
    mu: float
    iterations: int
    tolerance: float
    check: int  # iterations from one look at the stopping rule to the next
    spread: Annotated[np.ndarray, "d[,,]"]  # from `odl.kernels.fixed_point.spread`; empty: iterate from the start


class Merging(NamedTuple):
    """Atoms that may merge (`odl.kernels.ward_merging`): one entry or row for each, unless another size is told."""

    gram: D2  # inner products of the atoms' sums; empty where nothing will be merged
    documents: D1  # of each atom, forgetting included
    squares: D1  # ||S_j||^2
    inverse: D1  # 1 / ||S_j||
    inner: D1  # with one document; work space
    stamp: L1  # time of the last change
    recent: L1  # atoms by the time of their change
    partner: L2  # those that are cheapest to merge with, or why there is none
    cost: D2  # of merging with these, squared
    price: D1  # the least cost, or a lower bound of it
    least: D1  # least price of each block of atoms
    counters: L1  # four
    places: L1  # work space
    work: D1  # atoms in order: documents and 1 over the norms; work space


class Grouping(Merging):
    """Groups that may merge: the same in single precision, which is enough for them."""

    __annotations__ = {
        name: Annotated[np.ndarray, kind.__metadata__[0].replace("d", "f")]
        for name, kind in Merging.__annotations__.items()
    }


class Kinds(NamedTuple):
    """What a function takes and returns: strings, nested like the arguments; a named tuple is one of kinds."""

    taken: tuple
    returned: tuple


def source(name):
    """Return the path of a file of kernels."""
    return os.path.join(os.path.dirname(__file__), f"{name}.py")


@functools.cache
def _read(name):
    """Return the bytes of a file of kernels and the names of those that it imports."""
    with open(source(name), "rb") as file:
        text = file.read()
    return text, {
        part.decode() for one, many in IMPORT.findall(text) for part in [one, *re.split(rb"\W+", many)] if part
    }


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
    """Return a digest of the bytes of a file of kernels, of all that it imports and of what is linked to it."""
    with open(os.path.join(os.path.dirname(__file__), "runtime.c"), "rb") as file:
        joined = hashlib.sha256(file.read())
    for each in sorted(files(name)):
        joined.update(each.encode() + b"\0" + hashlib.sha256(_read(each)[0]).digest())
    return joined.hexdigest()[:16]


@functools.cache
def declared(name):
    """Return the kinds of the functions of a file of kernels that are called from outside."""
    texts = {
        function.decode(): b"".join(re.findall(rb'"([^"]*)"', text)).decode()
        for text, function in CALLED.findall(_read(name)[0])
    }
    return {function: Kinds(*map(_parse, text.partition("->")[::2])) for function, text in texts.items()}


@functools.cache
def names():
    """Return the names of the files of kernels with functions that are called from outside."""
    paths = sorted(os.listdir(os.path.dirname(__file__)))
    return [path[:-3] for path in paths if path.endswith(".py") and declared(path[:-3])]


def _parse(text):
    """Return kinds as they are written: ``d l ?`` numbers, ``d[,]`` an array, ``(l d[])``, a name of this file."""
    unfinished = [[]]
    for part in PART.findall(text):
        if part == "(":
            unfinished.append([])
        elif part == ")":
            closed = tuple(unfinished.pop())
            unfinished[-1].append(closed)
        elif part[0] in TYPES:
            unfinished[-1].append(part)
        elif isinstance(globals()[part], str):
            unfinished[-1] += _parse(globals()[part])
        else:
            record = globals()[part]
            fields = record.__annotations__.values()
            unfinished[-1].append(record(*(NUMBERS.get(field) or field.__metadata__[0] for field in fields)))
    (kinds,) = unfinished
    return tuple(kinds)


@functools.cache
def axes(kind):
    """Return how many axes what is of a kind has, 0 for a number."""
    return kind.count("[") + kind.count(",")


def leaves(kinds, values):
    """Return the (kind, value) of all numbers and arrays in nested tuples."""
    pairs = []
    for kind, value in zip(kinds, values, strict=True):
        pairs += leaves(kind, value) if isinstance(kind, tuple) else [(kind, value)]
    return pairs


def _address(array):
    """Return where the entries of an array are; to ask its attribute `ctypes` takes five times as long."""
    return ctypes.addressof(NOTHING.from_buffer(array)) if array.flags.writeable else array.ctypes.data


def bind(library, name, function):
    """Return a function of an open library, which checks the type and layout of its arrays."""
    called, (taken, returned) = getattr(library, f"odl_{function}"), declared(name)[function]
    called.restype, called.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    library.odl_release.restype, library.odl_release.argtypes = None, [ctypes.c_void_p]
    packed = struct.Struct("".join("d" if kind == "d" else "q" * (1 + axes(kind)) for kind, _ in leaves(taken, taken)))
    room = packed.size // 8 + sum(1 + (axes(kind) > 0) + axes(kind) for kind, _ in leaves(returned, returned))

    def words(values):
        packing = []
        for kind, value in values:
            if len(kind) > 1:
                fits = value.dtype == TYPES[kind[0]] and value.ndim == axes(kind)
                if not (fits and value.flags.c_contiguous):
                    raise TypeError(f"{name}.{function}: {value.dtype} array of shape {value.shape} for {kind}")
                packing += [_address(value), *value.shape]
            else:
                packing.append(bool(value) if kind == "?" else value)
        return packing

    def call(*arguments):
        values, buffer = leaves(taken, arguments), (ctypes.c_int64 * room)()
        packed.pack_into(buffer, 0, *words(values))
        status = called(buffer)
        if status == FAILED:
            raise MemoryError(f"{name}.{function} found no memory")
        if returned in ((), ("l",), ("?",)):
            return status == 1 if returned == ("?",) else status
        arrays = [value for kind, value in values if len(kind) > 1]
        return _unpacked(returned, iter(buffer[packed.size // 8 :]), arrays, library.odl_release)[0]

    return call


def _unpacked(kinds, words, arrays, release):
    """Return what a function has returned, from the words that it left."""
    results = []
    for kind in kinds:
        if isinstance(kind, tuple):
            results.append(_unpacked(kind, words, arrays, release))
        elif kind == "d":
            results.append(struct.unpack("d", struct.pack("q", next(words)))[0])
        elif len(kind) == 1:
            results.append(next(words) == 1 if kind == "?" else next(words))
        else:
            memory, address, shape = next(words), next(words), tuple(next(words) for _ in range(axes(kind)))
            results.append(_array(kind, memory, address, shape, arrays))
            if memory:
                release(memory)
    return tuple(results)


def _array(kind, memory, address, shape, arrays):
    """Return the argument that lies at an address, or a copy of what does."""
    for array in arrays:
        if not memory and (_address(array), array.shape, array.dtype) == (address, shape, TYPES[kind[0]]):
            return array
    copy = np.empty(shape, TYPES[kind[0]])
    ctypes.memmove(copy.ctypes.data, address, copy.nbytes)
    return copy
