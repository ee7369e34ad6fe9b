"""Run one command and write what it cost: ``python -IS launch.py REPORT COMMAND ...``.

The peak memory that the kernel reports of a process includes what its parent held when it was started, so a
benchmark that holds a corpus cannot measure a child itself: this small process stands between them.
"""

import json
import os
import sys
import time

report, command = sys.argv[1], sys.argv[2:]
began = time.monotonic()
child = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(child, 0)
with open(report, "w") as file:
    # Linux counts in KiB, macOS in bytes.
    rss = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    cost = {"cpu": usage.ru_utime + usage.ru_stime, "rss": rss, "wall": time.monotonic() - began}
    json.dump(cost, file)
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
