"""Kernels compiled ahead of time: numba's code of each function, linked into one shared library by the C compiler.

Where there is no C compiler nothing is made and jobs go on with numba's own cache, half a CPU second slower each.
The code is made for the plain instruction set of the machine's kind, so that one library serves all nodes of a
cluster.
"""

import contextlib
import importlib
import os
import shutil
import subprocess
import tempfile

import llvmlite.binding as llvm
from numba import carray, cfunc, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from odl.files import storage
from odl.kernels import native, reach

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

KINDS = {"d": types.float64, "f": types.float32, "l": types.int64}
KINDS |= {"i": types.int32, "u": types.uint32, "b": types.uint8}
# What the code asks for where it raises or frees, which functions that allocate nothing and check nothing never do.
MISSING = ["NRT_Free", "NRT_MemInfo_call_dtor", "numba_do_raise", "numba_gil_ensure", "numba_gil_release"]
MISSING += ["numba_runtime_build_excinfo_struct", "numba_unpickle"]
STUBS = """#include <math.h>
#include <stdlib.h>
double numba_frexp(double x, int *power) { *power = 0; return isfinite(x) ? frexp(x, power) : x; }
double numba_ldexp(double x, int power) { return ldexp(x, power); }
""" + "".join(f"void {symbol}(void) {{ abort(); }}\n" for symbol in MISSING)


@contextlib.contextmanager
def alone(name, wait=True):
    """Hold the lock of a file of kernels, which is the file itself, so that nothing is left when a process is killed.

    Parameters
    ----------
    name : str
        A file of `odl.kernels`.
    wait : bool
        Whether to wait for a process that has it.

    Yields
    ------
    bool
        False where another process has it. Where the disk knows no locks nobody does.
    """
    with open(reach.source(name), "rb") as file:
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        except OSError:
            pass
        yield True


def build_all(names, say):
    """Compile the libraries that are not there yet; what another process compiles is waited for at the end.

    Parameters
    ----------
    names : iterable of str
        Keys of `odl.kernels.native.FUNCTIONS`.
    say : callable
        Takes a line for each library that is compiled or waited for.

    Returns
    -------
    list of str
        Names of those that could not be made.
    """
    names = [name for name in names if not os.path.exists(native.library(name))]
    others, failed = [], []
    for wait, mine in ((False, names), (True, others)):
        for name in mine:
            if wait:
                say(f"waiting for the kernels {name}, which another job compiles")
            with alone(name, wait) as held:
                if not held:
                    others.append(name)
                elif not os.path.exists(native.library(name)):
                    say(f"kernels {name}, library {names.index(name) + 1} of {len(names)}")
                    if not build(name):
                        failed.append(name)
    return failed


def build(name):
    """Compile the functions of a file of kernels into its library, if it is not there yet.

    Parameters
    ----------
    name : str
        A key of `odl.kernels.native.FUNCTIONS`.

    Returns
    -------
    str or None
        Path of the library; None where no C compiler works.
    """
    path, compiler = native.library(name), shutil.which(os.environ.get("CC", "cc"))
    if os.path.exists(path):
        return path
    if not compiler:
        return None
    try:
        with tempfile.TemporaryDirectory() as folder, storage.replacing(path) as made:
            objects = [_object(folder, name, function) for function in native.FUNCTIONS[name]]
            stubs = os.path.join(folder, "stubs.c")
            with open(stubs, "w") as file:
                file.write(STUBS)
            command = [compiler, "-shared", "-fPIC", "-o", made, *objects, stubs, "-lm"]
            subprocess.run(command, check=True, capture_output=True)
            for function in native.FUNCTIONS[name]:
                native.bind(native.ctypes.CDLL(made), name, function)
    except (subprocess.CalledProcessError, OSError, AttributeError):
        return None
    return path


def _object(folder, name, function):
    """Write the machine code of one function, callable from C as ``odl_{function}``; return its path."""
    compiled = _callable_from_c(
        getattr(importlib.import_module(f"odl.kernels.{name}"), function), native.FUNCTIONS[name][function]
    )
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    code = compiled.inspect_llvm().replace(compiled.native_name, f"odl_{function}")
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3, reloc="pic", codemodel="default")
    path = os.path.join(folder, f"{function}.o")
    with open(path, "wb") as file:
        file.write(machine.emit_object(llvm.parse_assembly(code)))
    return path


def _callable_from_c(function, arguments):
    """Wrap a compiled function: it takes the address of its arguments, packed as by `odl.kernels.native.bind`."""
    unpacked, passing = _unpacked(arguments.split()), cfunc(types.int64(types.CPointer(types.int64)))

    def value(words):
        return function(*unpacked(words))

    def nothing(words):
        function(*unpacked(words))
        return 0

    # Not one function that looks whether there is a value: numba on Python 3.13 does not prune that branch.
    try:
        return passing(value)
    except TypingError:
        return passing(nothing)


def _unpacked(kinds):
    """Return the compiled function from the address of packed arguments to the tuple of them."""
    held = types.Tuple(
        [types.Array(KINDS[kind[0]], _axes(kind), "C") if _axes(kind) else KINDS[kind] for kind in kinds]
    )

    def read(context, builder, signature, given):
        place = 0

        def word():
            nonlocal place
            place += 1
            return builder.load(builder.gep(given[0], [context.get_constant(types.intp, place - 1)]))

        def argument(kind, wanted):
            if not _axes(kind):
                return builder.bitcast(word(), context.get_value_type(wanted))
            pointer, sizes = types.CPointer(wanted.dtype), types.UniTuple(types.int64, wanted.ndim)
            address = builder.inttoptr(word(), context.get_value_type(pointer))
            shape = context.make_tuple(builder, sizes, [word() for _ in range(wanted.ndim)])
            array = wanted(pointer, sizes)
            return context.compile_internal(builder, lambda start, shape: carray(start, shape), array, (address, shape))

        return context.make_tuple(builder, held, list(map(argument, kinds, held)))

    return intrinsic(lambda typing, words: (held(words), read))


def _axes(kind):
    return kind.count("[") + kind.count(",")
