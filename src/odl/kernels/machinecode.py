"""Machine code of one kernel as C calls it, by numba for the plain instruction set: what `odl.jobs.compile` links."""

import importlib
import os
import re

import llvmlite.binding as llvm
from numba import carray, cfunc, types
from numba.core import cgutils
from numba.extending import intrinsic

from odl.kernels import marshalling

NUMBERS = {"d": types.float64, "f": types.float32, "l": types.int64, "i": types.int32, "u": types.uint32}
NUMBERS |= {"b": types.uint8, "?": types.boolean}
OLD = re.compile(r"@(sem_\w+|hypot)\b")  # called by the names under which runtime.c has those of an older C library


def write(folder, name, function):
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


def _callable_from_c(kernel, given, found):
    """Wrap a compiled function: it takes the address of its packed arguments."""
    taken = tuple(map(_type, given))
    kernel.compile(taken)
    compiled = kernel.overloads[taken]
    returned = _type(found[0]) if found else types.none
    if compiled.signature.return_type != returned:
        raise TypeError(f"{kernel.__name__} returns {compiled.signature.return_type}, and is declared to {returned}")

    def run(context, builder, signature, words):
        pointer = Words(context, builder, words[0])
        values = list(map(pointer.read, given, taken))
        context.active_code_library.add_linking_library(compiled.library)
        status, value = context.call_internal_no_propagate(builder, compiled.fndesc, compiled.signature, values)
        if found in (("l",), ("?",)):
            result = pointer.as_word(found[0], value)
        else:
            result = context.get_constant(types.int64, 0)
            if found:
                pointer.write(found[0], returned, value)
        return builder.select(status.is_error, context.get_constant(types.int64, marshalling.FAILED), result)

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

    def write(self, kind, held, value):
        """Write a value of a kind and type."""
        if isinstance(kind, tuple):
            for place, (each, kept) in enumerate(zip(kind, held, strict=True)):
                self.write(each, kept, self.builder.extract_value(value, place))
            return
        words = [value]
        if marshalling.axes(kind):
            array = self.context.make_array(held)(self.context, self.builder, value)
            words = [array.meminfo, array.data, *cgutils.unpack_tuple(self.builder, array.shape, held.ndim)]
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
