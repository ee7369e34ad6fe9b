"""The ``odl`` command: its subcommands, how they are run and how they end.

A command is declared beside its function (`subcommand`), in the file of its subject; a step is its function (`step`).
Each checks its arguments and calls one module, imported only then.
"""

import argparse
import codecs
import contextlib
import gc
import inspect
import json
import os
import reprlib
import sys
import time
import types
from typing import Any, Literal, NamedTuple, get_args, get_origin

# Everything else is imported where it is used: a step needs little of it.
BEGAN = time.monotonic()
ESCAPED = "odl.escaped"  # name of the handling of signs that the encoding of a stream lacks
LEAST = 512  # MB of address space: a stream of 6,000 short documents takes 430

TITLE = "What is new in a stream of documents, and why."
MORE = """`odl COMMAND --help` says more of each, `odl step --help` lists what the rules of the workflow run."""
STEPS_TITLE = (
    "One step of the workflow, as its rules call them, in the order of a study; to run or to look into by hand."
)


class Declared(NamedTuple):
    """A subcommand: its line in the list of all, its arguments (`argument`), more for its own help, lines to type."""

    name: str
    function: Any
    help: str
    arguments: tuple
    more: str = ""
    examples: tuple = ()


def subcommand(help, *arguments, more="", examples=()):
    """Declare a function of the parsed arguments as the subcommand of its name."""

    def declared(function):
        function.declared = Declared(function.__name__, function, help, arguments, more, examples)
        return function

    return declared


def step(function):
    """Declare a function as the step of its name: help and arguments are those of its docstring and signature.

    Its attribute ``begins_in`` says where the code of its result begins, where it imports more or less than makes that
    (`odl.config.sources`).
    """
    first, _, more = inspect.getdoc(function).partition("\n\n")
    arguments = tuple(map(_argument_of, inspect.signature(function).parameters.values()))
    help = first[:1].lower() + first[1:].rstrip(".")
    function.declared = Declared(function.__name__, function, help, arguments, more)
    return function


def _argument_of(parameter):
    """Return the argument of a command for one of a function, an option where it is named only."""
    kind, needed = parameter.annotation, parameter.default is parameter.empty
    kind = get_args(kind)[0] if isinstance(kind, types.UnionType) else kind  # int | None
    options = {} if needed else {"default": list(parameter.default) if kind is list else parameter.default}
    if kind is bool:
        options["action"] = "store_true"
    elif kind is list:
        options["nargs"] = "+" if needed else "*"
    elif get_origin(kind) is tuple:
        options["nargs"] = len(get_args(kind))
    elif get_origin(kind) is Literal:
        options["choices"] = get_args(kind)
    elif kind is not parameter.empty:
        options["type"] = kind
    if parameter.kind is parameter.KEYWORD_ONLY:
        return argument(f"--{parameter.name.replace('_', '-')}", **options, **({"required": True} if needed else {}))
    return argument(parameter.name, **options, **({} if needed or "nargs" in options else {"nargs": "?"}))


def declared_in(*modules):
    """Return the subcommands of some modules: name -> `Declared`, in their order."""
    functions = (one for module in modules for one in vars(module).values() if hasattr(one, "declared"))
    return {one.declared.name: one.declared for one in functions}


def argument(*flags, **options):
    """Describe an argument, as for `argparse.ArgumentParser.add_argument`."""
    return flags, options


def parse_map(text):
    """Parse an argument that is a JSON map."""

    def refuse(constant):
        raise argparse.ArgumentTypeError(f"{constant}, where a finite number is expected")

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"not JSON: {reprlib.repr(str(error))[1:-1]}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{reprlib.repr(text)}, where a JSON map is expected")
    return value


Json = parse_map  # as a kind of the arguments of steps


def _follow_parent():
    """End when the workflow that started us is gone.

    A killed Snakemake cannot stop its jobs; the Snakefile names its process in ODL_PARENT.
    """
    import platform
    import threading

    parent = os.environ.get("ODL_PARENT", "")
    if parent.isdigit() and os.environ.get("ODL_HOST", platform.node()) == platform.node():
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()


def _watch(parent):
    import signal

    while True:
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        except PermissionError:
            return
        time.sleep(0.5)


def _new(make, *names, **options):
    """Return a parser whose texts stay as they are written."""
    return make(*names, formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def commands():
    """Return what people type: name -> `Declared`, in the order of the help."""
    from odl.cli import triage, upkeep

    return declared_in(triage, upkeep)


def steps():
    """Return what the rules of the workflow call by `odl step NAME`, in the order of a study."""
    from odl.cli import studysteps
    from odl.config import places

    return declared_in(studysteps, *([places.papers("stages")] if places.has_papers() else []))


def _parser(with_steps=True):
    """Return the parser of all commands, and of all steps."""
    import odl

    parser = _new(argparse.ArgumentParser, prog="odl", usage="odl COMMAND ...")
    parser.add_argument("--version", action="version", version=f"odl {odl.__version__}")
    listed = {"dest": "command", "metavar": "COMMAND", "required": True, "help": argparse.SUPPRESS}
    subparsers = parser.add_subparsers(prog="odl", **listed)
    lines = [TITLE, ""]
    for name, declared in commands().items():
        _fill(_new(subparsers.add_parser, name, help=declared.help), declared)
        lines += [f"  {name:<12}{declared.help}", f"{'':14}$ {declared.examples[0]}"]
    parser.description, parser.epilog = "\n".join(lines), MORE
    parser_of_steps = _new(
        subparsers.add_parser, "step", usage="odl step NAME ...", help="what rules of the workflow run"
    )
    if with_steps:
        _add_steps(parser_of_steps)
    return parser


def _add_steps(parser):
    lines = [STEPS_TITLE, "", *(f"  {name:<12}{declared.help}" for name, declared in steps().items())]
    parser.description, parser.epilog = "\n".join(lines), "`odl step NAME --help` lists the arguments of one."
    listed = {"dest": "command", "metavar": "NAME", "required": True, "help": argparse.SUPPRESS}
    subparsers = parser.add_subparsers(prog="odl step", **listed)
    for name, declared in steps().items():
        _fill_step(_new(subparsers.add_parser, name, help=declared.help), declared)


def _fill(parser, declared):
    """Give a parser what is declared of a command or step."""
    parser.set_defaults(function=declared.function)
    sentence = f"{declared.help[:1].upper()}{declared.help[1:]}."
    parser.description = "\n\n".join(filter(None, [sentence, declared.more]))
    if declared.examples:
        parser.epilog = "examples:\n" + "\n".join(f"  {line}" for line in declared.examples)
    for flags, options in declared.arguments:
        parser.add_argument(*flags, **options)


def _fill_step(parser, declared):
    _fill(parser, declared)
    names = inspect.signature(declared.function).parameters
    parser.set_defaults(function=lambda args: declared.function(**{name: getattr(args, name) for name in names}))
    parser.add_argument("--costs", metavar="FILE", help="seconds and memory of this call to write, as a table")


def _parsed(words):
    """Return the parsed arguments, None where no command was named, or a step as a command."""
    from odl.config import places

    named = words[:1] == ["step"] and "".join(words[1:2])
    if named and named.isalpha() and not places.has_papers() and named not in steps():
        print(f"odl: no `odl step {named}` is in this copy of odl, which lacks odl.papers.", file=sys.stderr)
        return None
    if named in (known := steps() if named else {}):  # the parsers of all others take as long as a small step
        parser = _new(argparse.ArgumentParser, prog=f"odl step {named}")
        _fill_step(parser, known[named])
        return parser.parse_args(words[2:], argparse.Namespace(command=named))
    parser = _parser(with_steps=words[:1] == ["step"])
    if not words:
        parser.print_help(sys.stderr)
        return None
    args, unknown = parser.parse_known_args(words)
    if args.command == "init" and not any(word.startswith("-") for word in unknown):
        args.sources, unknown = [*args.sources, *unknown], []  # files behind an option, which argparse leaves over
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def main(words=None):
    """Run one subcommand; return the exit status."""
    if words is not None:
        return _main(words)
    open_streams()
    from odl.engine import processes

    with processes.heeding() as heed:
        try:
            _follow_parent()
            status = _main(sys.argv[1:])
            if not status:  # after a failure, files in a cycle of references have to be closed before HDF5 exits
                gc.freeze()  # saves the last collection of a process that ends
            return status
        except (Exception, KeyboardInterrupt):
            if heed.number:  # numpy turns what comes while it is imported into an ImportError
                return 128 + heed.number
            raise


def open_streams():
    """Make the standard streams usable: closed ones read and write nothing, and every sign can be written.

    A file that is opened later would otherwise get the number of a closed stream, and what is printed.
    """
    codecs.register_error(ESCAPED, _escape)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays open
        if mode == "w":
            getattr(sys, name).reconfigure(errors=ESCAPED)


def _escape(error):
    r"""Return what is written for signs that an encoding lacks: \u1234, as JSON has it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _main(words):
    """Run the subcommand; return the exit status."""
    from odl.errors import OdlError

    command = "odl"
    try:
        try:
            args = _parsed(words)
            if args is None:
                return 2
            command = f"odl {args.command}"
            _check_room()
            args.function(args)
            if getattr(args, "costs", None):
                _write_costs(args.costs)
        finally:
            sys.stdout.flush()  # also of --help, which ends at once
    except OdlError as error:
        _say(f"{command}: {error}")
        return error.status
    except KeyboardInterrupt as error:
        return getattr(error, "status", 130)
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):  # of a library without room
            raise
        reason = " ".join(str(error).split()) or "no more could be had"
        _say(f"{command}: out of memory ({reason}); give it more, or fewer documents")
        return 1
    except BrokenPipeError:  # who reads us has enough, such as `odl new FOLDER | head`
        for stream in (sys.stdout, sys.stderr):  # either may be the pipe; what is left of both is dropped
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
                continue
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 141
    except OSError as error:
        # A full disk, a folder that may not be written: nothing half-written remains (storage.replacing).
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        where = f" ({error.filename})" if error.filename else ""
        expected = "expected a place to read and write; check space and permissions."
        _say(f"{command}: {reason}{where}; {expected}")
        return 1
    return 0


def _check_room():
    """Refuse too small an address space: OpenBLAS asks for its buffers for ever where there is none for them."""
    import resource

    from odl.errors import OdlError

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST << 20:
        fault = f"the address space of a process is limited to {limit >> 20} MB (ulimit -v)"
        raise OdlError(fault, f"at least {LEAST} MB", f"type: ulimit -v {LEAST << 10}, or more for long streams")


def _write_costs(path):
    """Write what this process has taken since it began to work (processes that it waited for: their CPU time).

    Snakemake's `benchmark:` looks at processes twice a second at most, so that a short job has no figures there. The
    table has one row, with Snakemake's columns: seconds, MB of memory at most, CPU seconds.
    """
    from odl.files import tables

    cpu = sum(os.times()[:4])
    tables.write_table(path, [{"s": time.monotonic() - BEGAN, "max_rss": _most_memory(), "cpu_time": cpu}])


def _most_memory():
    """Return the largest memory of this process in MB; what `resource` says includes that of who started it."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except OSError:
        return float("nan")


def _say(sentence):
    """Print to the log, which may lie on the disk that is full: its buffer is written once more at the end."""
    with contextlib.suppress(OSError):
        print(sentence, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
