"""What a job took, by the kernel's own count: the columns of Snakemake's benchmark files.

Snakemake looks at the processes that it started twice a second at most: a job shorter than that has no figures.
"""

import os
import time

from odl.files import atomic

COLUMNS = ("s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out", "mean_load", "cpu_time")
MB = 1 << 20
KNOWN = {"VmHWM": "max_rss", "VmPeak": "max_vms", "read_bytes": "io_in", "write_bytes": "io_out"}


def write(path):
    """Write what this process has taken since it began (processes that it waited for: their CPU time).

    Parameters
    ----------
    path : path-like
        A table of one row: seconds on the clock and of CPU, MB of memory at most, MB read and written.
    """
    times = os.times()
    seconds, cpu = _elapsed(), sum(times[:4])
    hours, rest = divmod(int(seconds), 3600)
    found = {"s": f"{seconds:.4f}", "h:m:s": f"{hours}:{rest // 60:02d}:{rest % 60:02d}", "cpu_time": f"{cpu:.2f}"}
    found["mean_load"] = f"{100 * cpu / seconds:.2f}" if seconds else "NA"
    for name in ("status", "io"):
        for key, value in _facts(name):
            if key in KNOWN:
                found[KNOWN[key]] = f"{value / MB:.2f}"
    with atomic.replacing(path) as made, open(made, "w", encoding="utf-8") as file:
        file.write("\t".join(COLUMNS) + "\n" + "\t".join(found.get(name, "NA") for name in COLUMNS) + "\n")


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
