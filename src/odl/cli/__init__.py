"""Command ``odl``: parsing of its arguments, and its exit status.

The decorator `subcommand` declares a function as a command for users, and `step` declares one as a
step of the workflow. Such a function imports modules when it is called, so ``odl --help`` starts
quickly.
"""

import argparse
import codecs
import gc
import inspect
import json
import os
import reprlib
import sys
import time
import types
from typing import Any, Literal, NamedTuple, get_args, get_origin

PROCESS_START = time.monotonic()
ESCAPE_HANDLER = "odl.escaped"  # name of the codec error handler of standard streams
# Number of new objects that starts a garbage collection. Imports create about this number of
# permanent objects, which Python's default of 700 would scan repeatedly.
GC_THRESHOLD = 100_000
MIN_ADDRESS_SPACE = 512  # MB; a stream of 6,000 short documents takes 430

HELP_SUMMARY = "What is new in a stream of documents, and why."
HELP_FOOTER = (
    "`odl COMMAND --help` describes a command. `odl step --help` lists the steps of the workflow."
)
STEPS_SUMMARY = (
    "Run one step of a study, as the rules of the workflow do. Steps are listed in the order in "
    "which they run."
)


class Declared(NamedTuple):
    """Declaration of a command or step: its function, arguments and help.

    Attributes
    ----------
    name : str
    function : callable
        Function that runs the command with the parsed arguments.
    help : str
        Line in the list of all commands.
    arguments : tuple
        Pairs of flags and options (`argument`).
    details : str
        Paragraphs after the first sentence in the help of the command.
    examples : tuple of str
        Command lines at the end of the help.
    """

    name: str
    function: Any
    help: str
    arguments: tuple
    details: str = ""
    examples: tuple = ()


def subcommand(help, *arguments, details="", examples=()):
    """Return a decorator that declares a function as a subcommand, named like the function.

    The function gets the parsed arguments. The parameters are described in `Declared`.
    """

    def declared(function):
        function.declared = Declared(
            function.__name__, function, help, arguments, details, examples
        )
        return function

    return declared


def step(function):
    """Declare a function as a step of the workflow (decorator).

    The command line follows from the name and the signature of the function, and the help from its
    docstring. The digest of the step's code covers everything that the function imports
    (`odl.config.sources`), or, if the function has the attribute ``begins_in``, these files and
    their imports.
    """
    first, _, details = inspect.getdoc(function).partition("\n\n")
    arguments = tuple(map(_argument_of, inspect.signature(function).parameters.values()))
    help = first[:1].lower() + first[1:].rstrip(".")
    function.declared = Declared(function.__name__, function, help, arguments, details)
    return function


def _argument_of(parameter):
    """Return the `argument` for a parameter; a keyword-only parameter becomes an option."""
    kind, needed = parameter.annotation, parameter.default is parameter.empty
    kind = get_args(kind)[0] if isinstance(kind, types.UnionType) else kind  # int | None
    options = {}
    if not needed:
        options["default"] = list(parameter.default) if kind is list else parameter.default
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
        if needed:
            options["required"] = True
        return argument(f"--{parameter.name.replace('_', '-')}", **options)
    if not needed:
        options.setdefault("nargs", "?")
    return argument(parameter.name, **options)


def declared_in(*modules):
    """Return {name: `Declared`} of the commands or steps in modules, in the order of definition."""
    values = (value for module in modules for value in vars(module).values())
    declarations = (value.declared for value in values if hasattr(value, "declared"))
    return {declared.name: declared for declared in declarations}


def argument(*flags, **options):
    """Return (flags, options): the arguments of a later call of `ArgumentParser.add_argument`."""
    return flags, options


def parse_map(text):
    """Return the map in a JSON text, as the type of an argparse argument.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is not JSON, is not a map, or has a number that is not finite.
    """

    def refuse(constant):
        raise argparse.ArgumentTypeError(f"{constant}, expected a finite number")

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"not JSON: {reprlib.repr(str(error))[1:-1]}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{reprlib.repr(text)}, expected a JSON map")
    return value


Json = parse_map  # type annotation of step arguments that are JSON objects


def _follow_parent():
    """Start a thread that terminates this process when the workflow that started it has ended.

    A killed Snakemake does not stop its jobs. The Snakefile sets ODL_PARENT to its process id.
    """
    import platform
    import threading

    parent = os.environ.get("ODL_PARENT", "")
    if parent.isdigit() and os.environ.get("ODL_HOST", platform.node()) == platform.node():
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()


def _watch(parent):
    """Terminate this process when the process `parent` has ended."""
    import signal

    from odl.files.atomic import is_running

    while is_running(parent):
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)


def _new(make, *names, **options):
    """Return `make(*names, **options)` for a parser whose help preserves line breaks."""
    return make(*names, formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def commands():
    """Return {name: `Declared`} of the commands for users, in the order of the help."""
    from odl.cli import triage, upkeep

    return declared_in(triage, upkeep)


def steps():
    """Return {name: `Declared`} of the steps of the workflow, in the order in which they run."""
    from odl.cli import studysteps
    from odl.config import places

    return declared_in(studysteps, *([places.papers("stages")] if places.has_papers() else []))


def _parser(with_steps=True):
    """Return the parser of all commands and, with `with_steps`, of all steps."""
    import odl

    parser = _new(argparse.ArgumentParser, prog="odl", usage="odl COMMAND ...")
    parser.add_argument("--version", action="version", version=f"odl {odl.__version__}")
    listed = {"dest": "command", "metavar": "COMMAND", "required": True, "help": argparse.SUPPRESS}
    subparsers = parser.add_subparsers(prog="odl", **listed)
    lines = [HELP_SUMMARY, ""]
    for name, declared in commands().items():
        _fill(_new(subparsers.add_parser, name, help=declared.help), declared)
        lines += [f"  {name:<12}{declared.help}", f"{'':14}$ {declared.examples[0]}"]
    parser.description, parser.epilog = "\n".join(lines), HELP_FOOTER
    parser_of_steps = _new(
        subparsers.add_parser,
        "step",
        usage="odl step NAME ...",
        help="run one step of the workflow",
    )
    if with_steps:
        _add_steps(parser_of_steps)
    return parser


def _add_steps(parser):
    """Add the parsers of all steps to the parser of `odl step`."""
    lines = [f"  {name:<12}{declared.help}" for name, declared in steps().items()]
    parser.description = "\n".join([STEPS_SUMMARY, "", *lines])
    parser.epilog = "`odl step NAME --help` lists the arguments of a step."
    listed = {"dest": "command", "metavar": "NAME", "required": True, "help": argparse.SUPPRESS}
    subparsers = parser.add_subparsers(prog="odl step", **listed)
    for name, declared in steps().items():
        _fill_step(_new(subparsers.add_parser, name, help=declared.help), declared)


def _fill(parser, declared):
    """Add the help and arguments of a `Declared` to its parser."""
    parser.set_defaults(function=declared.function)
    sentence = f"{declared.help[:1].upper()}{declared.help[1:]}."
    parser.description = "\n\n".join(filter(None, [sentence, declared.details]))
    if declared.examples:
        parser.epilog = "examples:\n" + "\n".join(f"  {line}" for line in declared.examples)
    for flags, options in declared.arguments:
        parser.add_argument(*flags, **options)


def _fill_step(parser, declared):
    """Add help, arguments and the option --costs of a step to its parser."""
    _fill(parser, declared)
    names = inspect.signature(declared.function).parameters
    parser.set_defaults(
        function=lambda args: declared.function(**{name: getattr(args, name) for name in names})
    )
    parser.add_argument(
        "--costs",
        metavar="FILE",
        help="write the wall time, CPU time and peak memory of this step to FILE",
    )


def _parse(words):
    """Return the parsed arguments of a command or step.

    Without a command, or if this copy of odl lacks the step, print a message and return None.
    """
    from odl.config import places

    if words[:1] == ["step"] and len(words) > 1:
        name, declared = words[1], steps()
        if name.isalpha() and name not in declared and not places.has_papers():
            print(
                f"odl: `odl step {name}` is not in this copy of odl, which lacks odl.papers.",
                file=sys.stderr,
            )
            return None
        # The parsers of all steps would take as long as a small step, so only one is created.
        if name in declared:
            parser = _new(argparse.ArgumentParser, prog=f"odl step {name}")
            _fill_step(parser, declared[name])
            return parser.parse_args(words[2:], argparse.Namespace(command=name))
    parser = _parser(with_steps=words[:1] == ["step"])
    if not words:
        parser.print_help(sys.stderr)
        return None
    args, unknown = parser.parse_known_args(words)
    # argparse does not assign positional arguments after an option.
    if args.command == "init" and not any(word.startswith("-") for word in unknown):
        args.sources, unknown = [*args.sources, *unknown], []
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def main(words=None):
    """Run one subcommand and return its exit status.

    Parameters
    ----------
    words : list of str, optional
        Arguments of the command. By default those of this process, which then also handles signals.
    """
    if words is not None:
        return _main(words)
    prepare_process()
    from odl.engine import processes

    with processes.heeding() as heed:
        try:
            _follow_parent()
            status = _main(sys.argv[1:])
            # A process ends sooner without a garbage collection at exit. After a failure, however,
            # only this collection closes open HDF5 files.
            if not status:
                gc.freeze()
            return status
        except (Exception, KeyboardInterrupt):
            if heed.number:  # NumPy raises ImportError for a signal during its import
                return 128 + heed.number
            raise


def prepare_process():
    """Reduce garbage collection and open closed standard streams, before commands run."""
    gc.set_threshold(GC_THRESHOLD)
    open_streams()


def open_streams():
    """Open closed standard streams on /dev/null, and escape characters that they cannot encode.

    If a standard stream remained closed, the next opened file would get its number, and printed
    text would be written into this file.
    """
    codecs.register_error(ESCAPE_HANDLER, _escape)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
        if getattr(sys, name) is None:
            file = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open
            setattr(sys, name, file)
        if mode == "w":
            getattr(sys, name).reconfigure(errors=ESCAPE_HANDLER)


def _escape(error):
    r"""Return the JSON escapes (\u1234) of characters that cannot be encoded, and their end."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _main(words):
    """Run the command in `words`; return its exit status."""

    def run():
        args = _parse(words)
        if args is None:
            return 2
        _check_room()
        args.function(args)
        if getattr(args, "costs", None):
            _write_costs(args.costs)
        return 0

    named = words[1:2] if words[:1] == ["step"] else words[:1]
    return call(run, " ".join(["odl", *named]))


def call(function, command):
    """Call the function of a command; return the exit status, by default what it returns or 0.

    Errors are printed as one sentence, after the name of the command.
    """
    from odl.errors import OdlError

    try:
        try:
            return function() or 0
        finally:
            sys.stdout.flush()  # also after --help, which raises SystemExit
    except OdlError as error:
        _say(f"{command}: {error}")
        return error.status
    except KeyboardInterrupt as error:
        return getattr(error, "status", 130)
    except (MemoryError, ImportError) as error:
        # "failed to map segment": a shared library does not fit into memory.
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        reason = " ".join(str(error).split()) or "allocation failed"
        _say(f"{command}: out of memory ({reason}); provide more memory, or use fewer documents")
        return 1
    except BrokenPipeError:  # the reader has closed the pipe: `odl new FOLDER | head`
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):  # this stream is the pipe: drop its buffered output
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 141
    except OSError as error:
        # For example a full disk. Files are written atomically, so no partial file remains.
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        where = f" ({error.filename})" if error.filename else ""
        expected = "expected a readable file and a writable disk; check space and permissions."
        _say(f"{command}: {reason}{where}; {expected}")
        return 1


def _check_room():
    """Refuse a small limit on the address space, in which OpenBLAS would never stop allocating."""
    import resource

    from odl.errors import OdlError

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE << 20:
        raise OdlError(
            f"the address space of a process is limited to {limit >> 20} MB (ulimit -v)",
            f"at least {MIN_ADDRESS_SPACE} MB",
            f"type: ulimit -v {MIN_ADDRESS_SPACE << 10}, or more for long streams",
        )


def _write_costs(path):
    """Write a table with seconds, maximum memory in MB and CPU seconds of this process.

    CPU seconds include those of finished child processes. The columns are named as in Snakemake's
    ``benchmark:``, which samples processes twice a second and misses short jobs.
    """
    from odl.files import tables

    cpu = sum(os.times()[:4])
    tables.write_table(
        path, [{"s": time.monotonic() - PROCESS_START, "max_rss": _most_memory(), "cpu_time": cpu}]
    )


def _most_memory():
    """Return the peak memory of this process in MB; `getrusage` would include its parent's."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except OSError:
        return float("nan")


def _say(sentence):
    """Print an error on stderr, with the command in red on a terminal; ignore a full disk."""
    from odl.files.terminal import for_stream, styled

    command, colon, fault = sentence.partition(":")
    text = for_stream(styled(command + colon, "red") + fault, sys.stderr)
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # drop the buffered output: a failed flush at exit would change the status
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


if __name__ == "__main__":
    sys.exit(main())
