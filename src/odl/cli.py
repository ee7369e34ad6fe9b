"""The ``odl`` command: its subcommands (`odl.commands`), how they are run and how they end."""

import argparse
import os
import platform
import signal
import sys
import threading
import time

import odl
from odl import commands
from odl.errors import OdlError
from odl.project import commands as project


def _end_cleanly():
    """Turn SIGTERM into an exit that removes temporary files, and end when the workflow that started us is gone.

    A killed Snakemake cannot stop its jobs; the Snakefile names its process in ODL_PARENT.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parent = os.environ.get("ODL_PARENT", "")
    if parent.isdigit() and os.environ.get("ODL_HOST", platform.node()) == platform.node():
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()


def _watch(parent):
    while True:
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        except PermissionError:
            return
        time.sleep(0.5)


def _parser():
    parser = argparse.ArgumentParser(
        prog="odl", description="Online dictionary learning for novel documents: the steps of the workflow."
    )
    parser.add_argument("--version", action="version", version=f"odl {odl.__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    project.add(subparsers)
    for name, (function, help, arguments) in commands.COMMANDS.items():
        inner = subparsers.add_parser(name, help=help, description=help)
        inner.set_defaults(function=function)
        for flags, options in arguments:
            inner.add_argument(*flags, **options)
    return parser


def main(words=None):
    """Run one subcommand; return the exit status."""
    args = _parser().parse_args(words)
    if words is None:
        _end_cleanly()
    status = _run(args)
    if os.environ.get("ODL_COSTS"):
        print(f"odl {args.command}: {time.process_time():.3f} CPU s, {_peak():.1f} MB at most", file=sys.stderr)
    return status


def _peak():
    """Return the largest memory of this process in MB; what `resource` says includes that of who started it."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e6
    except OSError:
        return float("nan")


def _run(args):
    """Run the subcommand; return the exit status."""
    try:
        args.function(args)
        sys.stdout.flush()
    except OdlError as error:
        print(f"odl {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        reason = " ".join(str(error).split()) or "no more could be had"
        print(f"odl {args.command}: out of memory ({reason}); give it more, or fewer documents", file=sys.stderr)
        return 1
    except BrokenPipeError:  # who reads us has enough, such as `odl new FOLDER | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        # A full disk, a folder that may not be written: nothing half-written remains (storage.replacing).
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        where = f" ({error.filename})" if error.filename else ""
        expected = "expected a place to read and write; check space and permissions."
        print(f"odl {args.command}: {reason}{where}; {expected}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
