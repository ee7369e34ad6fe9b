"""A scheduler of the smallest kind: `submit CPUS MB MINUTES SCRIPT`, `status NUMBER`, `cancel NUMBER...`, in BATCH_DIR.

Every job is a process of its own that outlives the one that submitted it, as on a cluster.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ["BATCH_DIR"])


def submit(cpus, megabytes, minutes, script):
    """Start a job script; print its number."""
    number = str(sum(1 for _ in FOLDER.glob("*.json")) + 1)
    asked = {"cpus": int(cpus), "megabytes": int(megabytes), "minutes": int(minutes)}
    (FOLDER / f"{number}.json").write_text(json.dumps(asked))
    end = f'sh "$1"; echo $? > {FOLDER}/{number}.part; mv {FOLDER}/{number}.part {FOLDER}/{number}.end'
    with open(FOLDER / f"{number}.log", "w") as log:
        process = subprocess.Popen(
            ["sh", "-c", end, "job", script],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (FOLDER / f"{number}.pid").write_text(str(process.pid))
    print(number)


def status(number):
    """Print running, success or failed."""
    end, pid = FOLDER / f"{number}.end", int((FOLDER / f"{number}.pid").read_text())
    if end.exists():
        print("success" if end.read_text().strip() == "0" else "failed")
        return
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        print("failed")
    else:
        print("running")


def cancel(*numbers):
    """End jobs with everything that they started."""
    for number in numbers:
        os.killpg(int((FOLDER / f"{number}.pid").read_text()), signal.SIGTERM)


if __name__ == "__main__":
    {"submit": submit, "status": status, "cancel": cancel}[sys.argv[1]](*sys.argv[2:])
