"""The ``odl`` command: its subcommands (`odl.commands`), how they are run and how they end."""

import os
import sys
import time

import odl
from odl.worker import client

# Everything else is imported where it is used: a job that the worker of its run does needs none of it here.


def _end_cleanly():
    """Turn SIGTERM into an exit that removes temporary files, and end when the workflow that started us is gone.

    A killed Snakemake cannot stop its jobs; the Snakefile names its process in ODL_PARENT.
    """
    import platform
    import signal
    import threading

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
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


def _parser():
    import argparse

    from odl import commands
    from odl.project import commands as project

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
        inner.add_argument("--costs", metavar="FILE", help="seconds and memory of this call to write, as a table")
    inner = subparsers.add_parser("worker", help="import once for the jobs of a run; begun by the first of them")
    inner.set_defaults(function=worker)
    inner.add_argument("socket", type=int, help="number of the listening socket")
    return parser


def worker(args):
    """Serve jobs until the run ends."""
    from odl.worker import server

    server.serve(args.socket, main)


def main(words=None):
    """Run one subcommand; return the exit status."""
    if words is None:
        status = client.ask(sys.argv[1:])
        if status is not None:
            return status
    args = _parser().parse_args(words)
    if words is None and args.command != "worker":
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
    from odl.errors import OdlError

    try:
        args.function(args)
        if getattr(args, "costs", None):
            from odl.jobs import costs

            costs.write(args.costs)
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
