"""Record of a step that a rule runs, the same as the loop of `odl run` writes (`odl.config.steps`), and its costs."""

import os
import time

from odl.config.steps import STEPS, record_of
from odl.files import atomic

# Of Snakemake's benchmark files.
COLUMNS = ("s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out", "mean_load", "cpu_time")
MB = 1 << 20
KNOWN = {"VmHWM": "max_rss", "VmPeak": "max_vms", "read_bytes": "io_in", "write_bytes": "io_out"}


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
    """Write what this process has taken since it began (processes that it waited for: their CPU time).

    By the kernel's own count: Snakemake looks at the processes that it started twice a second at most, so that a job
    shorter than that has no figures.

    Parameters
    ----------
    path : path-like
        A table of one row: seconds on the clock and of CPU, MB of memory at most, MB read and written.
    """
    times = os.times()
    seconds, cpu = _elapsed(), sum(times[:4])
    hours, rest = divmod(int(seconds), 3600)
    figures = {"s": f"{seconds:.4f}", "h:m:s": f"{hours}:{rest // 60:02d}:{rest % 60:02d}", "cpu_time": f"{cpu:.2f}"}
    figures["mean_load"] = f"{100 * cpu / seconds:.2f}" if seconds else "NA"
    for name in ("status", "io"):
        for key, value in _facts(name):
            if key in KNOWN:
                figures[KNOWN[key]] = f"{value / MB:.2f}"
    with atomic.replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write("\t".join(COLUMNS) + "\n" + "\t".join(figures.get(name, "NA") for name in COLUMNS) + "\n")


def _elapsed():
    """Return the seconds since this process began, in hundredths; its CPU time where the system does not say."""
    try:
        with open("/proc/self/stat", "rb") as file:
            began = int(file.read().rsplit(b")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, AttributeError):
        return time.process_time()


def _facts(name):
    """Yield the numbers of a file of /proc about this process, in bytes."""
    try:
        with open(f"/proc/self/{name}", encoding="ascii", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                words = value.split()
                if words and words[0].isdigit():
                    yield key, int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    except OSError:
        return
