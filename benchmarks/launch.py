"""Run one command and write its cost: ``python -IS launch.py REPORT COMMAND ...``.

It also waits for processes that outlive the command, and counts them.

The peak memory that the kernel reports for a process includes the memory of its parent at the
start. So a benchmark with a corpus in memory cannot measure a child directly; this small process
starts it instead.
"""

import ctypes
import json
import os
import resource
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
report, command = sys.argv[1], sys.argv[2:]
if sys.platform == "linux":  # orphaned processes become our children
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
began = time.monotonic()
child = os.posix_spawnp(command[0], command, os.environ)
_, status = os.waitpid(child, 0)
wall = time.monotonic() - began
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(report, "w") as file:
    # Linux counts in KiB, macOS in bytes.
    rss = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    cost = {"cpu": usage.ru_utime + usage.ru_stime, "rss": rss, "wall": wall}
    json.dump(cost, file)
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
