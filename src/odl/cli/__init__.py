"""The ``odl`` command: its subcommands (`odl.cli.subcommands`), how they are run and how they end."""

import contextlib
import os
import sys
import time

# Everything else is imported where it is used: a step needs little of it.

TITLE = "What is new in a stream of documents, and why."
MORE = """`odl COMMAND --help` says more of each, `odl step --help` lists what the rules of the workflow run."""
STEPS_TITLE = (
    "One step of the workflow, as its rules call them, in the order of a study; to run or to look into by hand."
)


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
    import argparse

    return make(*names, formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def _parser():
    """Return the parser of all commands and steps."""
    import argparse

    import odl
    from odl.cli.subcommands import COMMANDS

    parser = _new(argparse.ArgumentParser, prog="odl", usage="odl COMMAND ...")
    parser.add_argument("--version", action="version", version=f"odl {odl.__version__}")
    listed = {"dest": "command", "metavar": "COMMAND", "required": True, "help": argparse.SUPPRESS}
    subparsers = parser.add_subparsers(prog="odl", **listed)
    lines = [TITLE, ""]
    for name, declared in COMMANDS.items():
        _fill(_new(subparsers.add_parser, name, help=declared.help), declared)
        lines += [f"  {name:<12}{declared.help}", f"{'':14}$ {declared.examples[0]}"]
    parser.description, parser.epilog = "\n".join(lines), MORE
    _add_steps(_new(subparsers.add_parser, "step", usage="odl step NAME ...", help="what rules of the workflow run"))
    return parser


def _add_steps(parser):
    import argparse

    from odl.cli.subcommands import STEPS

    lines = [STEPS_TITLE, "", *(f"  {name:<12}{declared.help}" for name, declared in STEPS.items())]
    parser.description, parser.epilog = "\n".join(lines), "`odl step NAME --help` lists the arguments of one."
    listed = {"dest": "command", "metavar": "NAME", "required": True, "help": argparse.SUPPRESS}
    subparsers = parser.add_subparsers(prog="odl step", **listed)
    for name, declared in STEPS.items():
        _fill_step(_new(subparsers.add_parser, name, help=declared.help), declared)


def _fill(parser, declared):
    """Give a parser what is declared of a command or step."""
    from odl.cli import upkeep

    parser.set_defaults(function=declared.function)
    parser.description = "\n\n".join(filter(None, [_sentence(declared.help), declared.more]))
    if declared.examples:
        parser.epilog = "examples:\n" + "\n".join(f"  {line}" for line in declared.examples)
    for flags, options in declared.arguments:
        action = parser.add_argument(*flags, **options)
        if action.dest == "folder":
            action.completer = upkeep.folders


def _fill_step(parser, declared):
    _fill(parser, declared)
    parser.add_argument("--costs", metavar="FILE", help="seconds and memory of this call to write, as a table")
    parser.add_argument("--code", default="", help="stamp of the code, for the record of what is written")


def _sentence(text):
    return text[:1].upper() + text[1:] + "."


def _parsed(words):
    """Return the parsed arguments, None where no command was named, or a step as a command.

    Those of a step without the parsers of all others, which jobs would wait for.
    """
    import argparse

    from odl import rooms
    from odl.cli.subcommands import STEPS, upkeep

    if "_ARGCOMPLETE" in os.environ:
        upkeep.complete(_parser())
    if words[:1] == ["step"] and words[1:] and words[1] in STEPS:
        parser = _new(argparse.ArgumentParser, prog=f"odl step {words[1]}")
        _fill_step(parser, STEPS[words[1]])
        return parser.parse_args(words[2:], argparse.Namespace(command=words[1]))
    if words[:1] == ["step"] and words[1:] and not words[1].startswith("-") and not rooms.has_papers():
        print(f"odl: no `odl step {words[1]}` is in this copy of odl, which lacks odl.papers.", file=sys.stderr)
        return None
    parser = _parser()
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
    from odl.engine import stopping

    with stopping.heeding() as heed:
        try:
            _follow_parent()
            return _main(sys.argv[1:])
        except (Exception, KeyboardInterrupt):
            if heed.number:  # numpy turns what comes while it is imported into an ImportError
                return 128 + heed.number
            raise


def _main(words):
    args = _parsed(words)
    if args is None:
        return 2
    return _run(args)


def _run(args):
    """Run the subcommand; return the exit status."""
    from odl.errors import OdlError

    try:
        with _recording(args):
            args.function(args)
        if getattr(args, "costs", None):
            from odl.cli import recording

            recording.write_costs(args.costs)
        sys.stdout.flush()
    except OdlError as error:
        _say(f"odl {args.command}: {error}")
        return error.status
    except KeyboardInterrupt as error:
        return getattr(error, "status", 130)
    except MemoryError as error:
        reason = " ".join(str(error).split()) or "no more could be had"
        _say(f"odl {args.command}: out of memory ({reason}); give it more, or fewer documents")
        return 1
    except BrokenPipeError:  # who reads us has enough, such as `odl new FOLDER | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        # A full disk, a folder that may not be written: nothing half-written remains (storage.replacing).
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        where = f" ({error.filename})" if error.filename else ""
        expected = "expected a place to read and write; check space and permissions."
        _say(f"odl {args.command}: {reason}{where}; {expected}")
        return 1
    return 0


@contextlib.contextmanager
def _recording(args):
    """Write the record of a step into what it writes."""
    if not hasattr(args, "code"):
        yield
        return
    from odl.cli import recording
    from odl.files import provenance

    with provenance.recording(recording.record(args)):
        yield


def _say(sentence):
    """Print to the log, which may lie on the disk that is full: its buffer is written once more at the end."""
    with contextlib.suppress(OSError):
        print(sentence, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
