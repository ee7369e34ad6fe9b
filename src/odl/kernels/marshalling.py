"""Marshalling of what kernels take and return to and from a library: packed words, of kinds as kernels declare them.

A number is a word, an array its address and sizes. What a function returns follows its arguments; an array that it made
has the address of its memory (see `odl.kernels.machinecode`) before; one that was an argument has 0 and is that
argument.
"""

import ctypes
import functools
import re
import struct
from typing import NamedTuple

import numpy as np

from odl.kernels import declarations

TYPES = {"d": np.float64, "f": np.float32, "l": np.int64, "i": np.int32, "u": np.uint32, "b": np.uint8, "?": np.bool_}
NUMBERS = {int: "l", float: "d", bool: "?"}
FAILED = -(2**63)  # what a function of a library returns where there was no memory
PART = re.compile(r"[()]|[\w?]+(?:\[,*\])?")


class Kinds(NamedTuple):
    """What a function takes and returns: strings, nested like the arguments; a named tuple is one of kinds."""

    given: tuple
    found: tuple


@functools.cache
def declared(name):
    """Return the kinds of the functions of a file of kernels that are called from outside."""
    return {
        function: Kinds(*map(_parse, text.partition("->")[::2]))
        for function, text in declarations.declared(name).items()
    }


def _parse(text):
    """Return kinds as they are written: ``d l ?`` numbers, ``d[,]`` an array, ``(l d[])``, a name of `declarations`."""
    unfinished = [[]]
    for part in PART.findall(text):
        if part == "(":
            unfinished.append([])
        elif part == ")":
            closed = tuple(unfinished.pop())
            unfinished[-1].append(closed)
        elif part[0] in TYPES:
            unfinished[-1].append(part)
        else:
            unfinished[-1] += _named(getattr(declarations, part))
    (kinds,) = unfinished
    return tuple(kinds)


def _named(held):
    """Return the kinds that a name of `declarations` stands for."""
    if isinstance(held, str):
        return _parse(held)
    fields = held.__annotations__.values()
    return [held(*(NUMBERS.get(field) or field.__metadata__[0] for field in fields))]


def axes(kind):
    """Return how many axes what is of a kind has, 0 for a number."""
    return kind.count("[") + kind.count(",")


def leaves(kinds, values):
    """Return the (kind, value) of all numbers and arrays in nested tuples."""
    found = []
    for kind, value in zip(kinds, values, strict=True):
        found += leaves(kind, value) if isinstance(kind, tuple) else [(kind, value)]
    return found


def bind(opened, name, function):
    """Return a function of an open library, which checks the type and layout of its arrays."""
    called, (given, found) = getattr(opened, f"odl_{function}"), declared(name)[function]
    called.restype, called.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    opened.odl_release.restype, opened.odl_release.argtypes = None, [ctypes.c_void_p]
    packed = struct.Struct("".join("d" if kind == "d" else "q" * (1 + axes(kind)) for kind, _ in leaves(given, given)))

    def words(values):
        made = []
        for kind, value in values:
            if len(kind) > 1:
                fits = value.dtype == TYPES[kind[0]] and value.ndim == axes(kind)
                if not (fits and value.flags.c_contiguous):
                    raise TypeError(f"{name}.{function}: {value.dtype} array of shape {value.shape} for {kind}")
                made += [value.ctypes.data, *value.shape]
            else:
                made.append(bool(value) if kind == "?" else value)
        return made

    def failed():
        return MemoryError(f"{name}.{function} found no memory")

    def call(*arguments):
        value = called(packed.pack(*words(leaves(given, arguments))))
        if value == FAILED:
            raise failed()
        return value == 1 if found == ("?",) else value

    def call_and_take(*arguments):
        values, passed = leaves(given, arguments), (ctypes.c_int64 * room)()
        packed.pack_into(passed, 0, *words(values))
        if called(passed) == FAILED:
            raise failed()
        arrays = [value for kind, value in values if len(kind) > 1]
        return _taken(found, iter(passed[packed.size // 8 :]), arrays, opened.odl_release)[0]

    room = packed.size // 8 + sum(1 + (axes(kind) > 0) + axes(kind) for kind, _ in leaves(found, found))
    return call if found in ((), ("l",), ("?",)) else call_and_take


def _taken(kinds, words, arrays, release):
    """Return what a function has returned, from the words that it left."""
    found = []
    for kind in kinds:
        if isinstance(kind, tuple):
            found.append(_taken(kind, words, arrays, release))
        elif kind == "d":
            found.append(struct.unpack("d", struct.pack("q", next(words)))[0])
        elif len(kind) == 1:
            found.append(next(words) == 1 if kind == "?" else next(words))
        else:
            memory, address, shape = next(words), next(words), tuple(next(words) for _ in range(axes(kind)))
            found.append(_array(kind, memory, address, shape, arrays))
            if memory:
                release(memory)
    return tuple(found)


def _array(kind, memory, address, shape, arrays):
    """Return the argument that lies at an address, or a copy of what does."""
    for array in arrays:
        if not memory and (array.ctypes.data, array.shape, array.dtype) == (address, shape, TYPES[kind[0]]):
            return array
    made = np.empty(shape, TYPES[kind[0]])
    ctypes.memmove(made.ctypes.data, address, made.nbytes)
    return made
