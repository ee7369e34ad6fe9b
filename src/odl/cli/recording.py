"""Record of a step that a rule runs, the same as the loop of `odl run` writes (`odl.config.steps`), and its costs."""

import os
import time

from odl.config.steps import STEPS, record_of
from odl.files import tables

BEGAN = time.monotonic()


def record(args):
    """Return the record of what a step is about to write; None of a step that has none.

    Parameters
    ----------
    args : argparse.Namespace
        Of the step, with its name as ``command``.
    """
    if args.command not in STEPS:
        return None
    from odl.engine import ledger

    name, arguments = args.command, dict(vars(args))
    if name == "read":
        name = "share" if args.files else name
        arguments["sources"] = [] if args.shares or args.reader != "documents" else _files(args)
    if name == "newpage":
        arguments |= _of_page(args)
    return record_of(name, arguments, lambda path: ledger.read(path).digest)


def _files(args):
    """Return name and path of the files that are read."""
    from odl.corpora.formats import find_files

    files = find_files(args.source, args.options.get("kind"))
    if not args.files:
        return files
    places = [os.path.normpath(path) for _, path in files]
    first, last = (places.index(os.path.normpath(path)) for path in args.files)
    return files[first : last + 1]


def _of_page(args):
    """Return the alerts and the feedback that a page is made of."""
    from odl.alerts import feedback, read

    place = read.place_of(args.folder, args.stream)
    said = os.path.join(args.home or place.home, feedback.FILE)
    n = 0
    while os.path.exists(os.path.join(place.alerts, f"{n}.h5")):
        n += 1
    alerts = [os.path.join(place.alerts, f"{t}.h5") for t in range(n)]
    return {"alerts": alerts, "feedback": said if os.path.exists(said) else ""}


def write_costs(path):
    """Write what this process has taken since it began to work (processes that it waited for: their CPU time).

    Snakemake's `benchmark:` looks at processes twice a second at most, so that a short job has no figures there.

    Parameters
    ----------
    path : path-like
        A table of one row, with Snakemake's columns: seconds, MB of memory at most, CPU seconds.
    """
    cpu = sum(os.times()[:4])
    tables.write_table(path, [{"s": time.monotonic() - BEGAN, "max_rss": _most_memory(), "cpu_time": cpu}])


def _most_memory():
    """Return the largest memory of this process in MB; what `resource` says includes that of who started it."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except OSError:
        return float("nan")
