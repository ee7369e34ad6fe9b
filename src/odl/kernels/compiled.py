"""Decorators of compiled kernels, which keep the result and never a stale one, and their machine code for C.

numba keeps what it compiled beside the source and notices an edit of that file, not of a file whose kernels are called
from it; module constants are frozen likewise. So the name it is kept under holds a digest of all files of kernels that
a kernel reaches (`odl.kernels.marshalling`): an edit makes it useless rather than stale, also where jobs start at
once, and a copy of the package finds what was compiled for it.
"""

import importlib
import os
import re

import llvmlite.binding as llvm
from numba import carray, cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from odl.kernels import marshalling

NUMBERS = {"d": types.float64, "f": types.float32, "l": types.int64, "i": types.int32, "u": types.uint32}
NUMBERS |= {"b": types.uint8, "?": types.boolean}
OLD = re.compile(r"@(sem_\w+|hypot)\b")  # called by the names under which runtime.c has those of an older C library


def _compiled(**options):
    """Return a decorator; numba takes the name of the files that it keeps from ``__qualname__``."""
    compiler = njit(cache=True, nogil=True, error_model="numpy", **options)

    def decorate(function):
        name = os.path.splitext(os.path.basename(function.__code__.co_filename))[0]
        function.__qualname__ = f"{function.__name__}_{marshalling.digest(name)}"
        return compiler(function)

    return decorate


def called(kinds):
    """Declare a kernel that is called from outside: `odl.jobs.compile` makes a library of those of its file.

    Parameters
    ----------
    kinds : str
        What it takes and, behind ``->``, what it returns; `odl.kernels.marshalling` reads it in the source, where it
        stands over the decorator of the kernel. Letters are types (d, f: floats of 8 and 4 bytes; l, i, u: integers of
        8, 4 and, unsigned, 4; b: a byte; ?: a truth value), d[,] is an array with two axes in C order, (l d[]) a tuple,
        and names are those of `odl.kernels.marshalling`.
    """
    return lambda compiled: compiled


allocating = _compiled()
# Without numba's reference counts, which cost a third of the time: such a function must not allocate.
kernel = _compiled(_nrt=False)
# Where a call would cost as much as its work.
inlined = _compiled(_nrt=False, forceinline=True)
# Of numbers that are not NaN, to compare them: no order of a sum may depend on the processor, so neither does a result.
comparing = _compiled(_nrt=False, fastmath={"reassoc", "nnan", "nsz"})


def write_object(folder, name, function):
    """Write the machine code of one function, callable from C as ``odl_{function}``; return its path.

    C passes the address of words as `odl.kernels.marshalling` has them, and gets what is returned if that is one
    integer, 0 if it stands behind the arguments, `marshalling.FAILED` if there was no memory.
    """
    kernel = getattr(importlib.import_module(f"odl.kernels.{name}"), function)
    compiled = _callable_from_c(kernel, *marshalling.declared(name)[function])
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    code = OLD.sub(r"@odl_\1", compiled.inspect_llvm().replace(compiled.native_name, f"odl_{function}"))
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3, reloc="pic", codemodel="default")
    path = os.path.join(folder, f"{function}.o")
    with open(path, "wb") as file:
        file.write(machine.emit_object(llvm.parse_assembly(code)))
    return path


def _callable_from_c(kernel, taken, returned):
    """Wrap a compiled function: it takes the address of its packed arguments."""
    arguments = tuple(map(_type, taken))
    kernel.compile(arguments)
    compiled = kernel.overloads[arguments]
    result = _type(returned[0]) if returned else types.none
    if compiled.signature.return_type != result:
        raise TypeError(f"{kernel.__name__} returns {compiled.signature.return_type}, and is declared to {result}")

    def run(context, builder, signature, words):
        pointer = Words(context, builder, words[0])
        values = list(map(pointer.read, taken, arguments))
        context.active_code_library.add_linking_library(compiled.library)
        status, value = context.call_internal_no_propagate(builder, compiled.fndesc, compiled.signature, values)
        word = context.get_constant(types.int64, 0)
        if returned in (("l",), ("?",)):
            word = pointer.as_word(returned[0], value)
        elif returned:
            pointer.write(returned[0], result, value)
        return builder.select(status.is_error, context.get_constant(types.int64, marshalling.FAILED), word)

    called = intrinsic(lambda typing, words: (types.int64(words), run))

    def entry(words):
        return called(words)

    return cfunc(types.int64(types.CPointer(types.int64)))(entry)


class Words:
    """Code that reads arguments from words, one after the other, and writes results behind them."""

    def __init__(self, context, builder, pointer):
        self.context, self.builder, self.pointer, self.place = context, builder, pointer, -1

    def _next(self):
        self.place += 1
        return self.builder.gep(self.pointer, [self.context.get_constant(types.intp, self.place)])

    def read(self, kind, wanted):
        """Return the value of a kind, of the type wanted."""
        context, builder = self.context, self.builder
        if isinstance(kind, tuple):
            return context.make_tuple(builder, wanted, list(map(self.read, kind, wanted)))
        word, n_axes = builder.load(self._next()), marshalling.axes(kind)
        if not n_axes:
            if kind == "?":
                return builder.icmp_signed("!=", word, context.get_constant(types.int64, 0))
            return builder.bitcast(word, context.get_value_type(wanted))
        pointer, sizes = types.CPointer(wanted.dtype), types.UniTuple(types.int64, n_axes)
        address = builder.inttoptr(word, context.get_value_type(pointer))
        shape = context.make_tuple(builder, sizes, [builder.load(self._next()) for _ in range(n_axes)])
        array = wanted(pointer, sizes)
        return context.compile_internal(builder, lambda start, shape: carray(start, shape), array, (address, shape))

    def write(self, kind, typed, value):
        """Write a value of a kind and type."""
        if isinstance(kind, tuple):
            for place, pair in enumerate(zip(kind, typed, strict=True)):
                self.write(*pair, self.builder.extract_value(value, place))
            return
        words = [value]
        if marshalling.axes(kind):
            array = self.context.make_array(typed)(self.context, self.builder, value)
            words = [array.meminfo, array.data, *cgutils.unpack_tuple(self.builder, array.shape, typed.ndim)]
        for word in words:
            self.builder.store(self.as_word(kind, word), self._next())

    def as_word(self, kind, value):
        """Return a number or an address as a word."""
        integer = self.context.get_value_type(types.int64)
        if cgutils.is_pointer(value.type):
            return self.builder.ptrtoint(value, integer)
        if kind == "?":
            return self.builder.zext(value, integer)
        return self.builder.bitcast(value, integer)


def _type(kind):
    """Return numba's type of a kind."""
    if isinstance(kind, tuple):
        return types.BaseTuple.from_types(list(map(_type, kind)), type(kind) if hasattr(kind, "_fields") else None)
    return types.Array(NUMBERS[kind[0]], marshalling.axes(kind), "C") if marshalling.axes(kind) else NUMBERS[kind]
