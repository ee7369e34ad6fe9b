"""The default study on this machine and through a Slurm on loopback: whether the bytes are the same, and what it took.

python tests/helpers/slurmrun.py [--ways local blocks single] [--part] [--nodes 2] [--cpus 2]
[--folder DIR]
"""

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import slurm
from workflows import Study

SLURM = ("--profile", "profiles/slurm")
# One seed, one run.
PART = {
    "seeds": [0],
    "atoms": [100],
    "runs": ["dual-averaging"],
    "alerts": {"run": None},
    "report": {"runs": ["dual-averaging"], "run": "dual-averaging", "atoms": 100, "seed": 0},
}
# Way of running -> changes of the configuration, options of Snakemake.
WAYS = {
    "local": ({}, ()),
    "blocks": ({}, SLURM),
    "single": ({"block": 0}, SLURM),
}


class Way(NamedTuple):
    """What a study took in one way, and name -> sha256 of what has to be the same in every way."""

    name: str
    jobs: int
    submissions: int
    seconds: float
    bytes: dict


def run(name, folder, cluster=None, part=False):
    """Run the default study from nothing in a copy of the workflow.

    Parameters
    ----------
    name : str
        Of `WAYS`.
    folder : Path
        Made.
    cluster : slurm.Cluster, optional
        What the jobs go to; not asked for by the way ``local``.
    part : bool
        Whether it is one seed and one run, see `PART`.

    Returns
    -------
    Way
    """
    changes, options = WAYS[name]
    study = Study.create(folder)
    study.configure({**(PART if part else {}), **changes})
    study.results = folder / "results" / "default"
    place = {"PATH": cluster.environment["PATH"]} if options else {}
    start = time.monotonic()
    with study.started(*options, cores=2, **place) as process:
        status = process.wait()
    seconds = time.monotonic() - start
    if status:
        raise RuntimeError(f"{name}: Snakemake ended with {status}\n{study.printed()[-5000:]}")
    finished = study.printed().count("\nFinished jobid: ")
    sent = sum(job["folder"] == str(folder) for job in cluster.jobs()) if options else 0
    return Way(name, finished, sent, seconds, study.bytes())


def compared(cluster, folder, ways, part=False):
    """Yield the study's run in every way, one after the other; see `run`."""
    for name in ways:
        yield run(name, folder / name, cluster, part)


def line(way, first):
    """Return a line of the table: what differs is counted against the first way."""
    other = sum(way.bytes.get(name) != first.bytes.get(name) for name in {*way.bytes, *first.bytes})
    return f"{way.name:>8}{way.jobs:8}{way.submissions:14}{way.seconds:10.0f}{len(way.bytes):9}{other:11}"


def main():
    """Print one line a way; end with 1 if any byte differs."""
    parser = argparse.ArgumentParser(
        description="Compare a run on this machine with the same through Slurm."
    )
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--part", action="store_true", help="one seed and one run of the study")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cpus", type=int, default=os.cpu_count(), help="that each node declares")
    parser.add_argument(
        "--folder", type=Path, help="kept, with all results; default: a temporary one"
    )
    args = parser.parse_args()
    reason = slurm.missing()
    if reason:
        sys.exit(f"tests/helpers/slurmrun.py: no Slurm can be started: {reason}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        folder = args.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="slurmrun-"))
        )
        cluster = stack.enter_context(
            slurm.Cluster(folder.resolve() / "slurm", args.nodes, args.cpus, 16000)
        )
        print(
            f"{'way':>8}{'jobs':>8}{'submissions':>14}{'seconds':>10}{'files':>9}{'different':>11}"
        )
        first, same = None, True
        for way in compared(cluster, folder.resolve(), args.ways, args.part):
            first = first or way
            print(line(way, first), flush=True)
            same = same and way.bytes == first.bytes
    sys.exit(not same)


if __name__ == "__main__":
    main()
