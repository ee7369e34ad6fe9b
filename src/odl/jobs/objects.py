"""Machine code of one kernel as C calls it, by numba for the plain instruction set: what `odl.jobs.compile` links."""

import importlib
import os

import llvmlite.binding as llvm
from numba import carray, cfunc, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from odl.kernels import native

KINDS = {"d": types.float64, "f": types.float32, "l": types.int64}
KINDS |= {"i": types.int32, "u": types.uint32, "b": types.uint8}


def write(folder, name, function):
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
