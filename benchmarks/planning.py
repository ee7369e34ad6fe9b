"""The part `plan`: CPU time that Snakemake takes to plan a study of ten thousand jobs.

    python benchmarks/planning.py 1000 10000

measures chains of 1000 and 10,000 timesteps with the steps batch, features, update and alerts: CPU
time of the plan, CPU time until the first job starts, and the first timestep whose checkpoint
Snakemake cannot plan by its name.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

from material import FULL
from measure import ROOT, Row, child, say, tool, within

LIMIT = within(12)
INITIAL, BATCH = 250, 2  # documents
LONG, SHORT = 840, 20  # timesteps
STREAM, LEVELS = "results/made/made/seed0", 2000


def plan(material):
    """Plan the default runs on one seed of a synthetic stream, with the Snakefile."""
    full = material.size is FULL
    with tempfile.TemporaryDirectory() as place:
        words = _indexed(Path(place), LONG if full else SHORT, _study())
        say("plan: all jobs")
        jobs, cpu, *_ = _until("total", [*words, "--dry-run"], place)
    return [
        Row(
            "plan",
            f"snakemake, plan of {jobs} jobs, default runs, one seed",
            cpu,
            "CPU s",
            LIMIT if full else "",
        )
    ]


def _write_documents(path, count):
    rng, words = (
        random.Random(0),
        [f"{first}{second}word" for first in "abcdefghij" for second in "abcdefghij"],
    )
    with path.open("w") as file:
        for number in range(count):
            text = " ".join(rng.choices(words, k=8))
            file.write(
                json.dumps({"id": f"d{number}", "time": 1_600_000_000 + 60 * number, "text": text})
                + "\n"
            )


def _study():
    corpus = {
        "reader": "documents",
        "sources": ["documents.jsonl"],
        "options": {},
        "protocol": "by-date",
        "topic_entry": {"held_back": 0.0, "first": 1, "last": 1},
        "ties": "source",
        "batches": {
            "by": "documents",
            "documents": BATCH,
            "period": "month",
            "initial": INITIAL,
            "flush": True,
        },
        "timesteps": [],
    }
    return {"study": "made", "streams": ["made"], "corpora": {"made": corpus}, "seeds": [0]}


def _chain():
    """Return the configuration of a study of one run with alerts, as `odl init` writes it."""
    off = {name: {"enabled": False} for name in ("baselines", "emerging")}
    return {
        **_study(),
        **off,
        "runs": ["levels"],
        "alerts": {"run": "levels"},
        "report": {"runs": ["levels"]},
    }


def _indexed(place, timesteps, study):
    """Write a stream with an index of `timesteps` batches; return the command of its workflow."""
    for name in ("Snakefile", "workflow", "config", "profiles", "data"):
        (place / name).symlink_to(ROOT / name)
    _write_documents(place / "documents.jsonl", INITIAL + BATCH * (timesteps - 1))
    (place / "made.yaml").write_text(json.dumps(study))
    words = [tool("snakemake"), "--cores", "1", "--nolock", "--configfile", "made.yaml"]
    say(f"plan: the index of {timesteps} timesteps")
    child([*words, "--", f"{STREAM}/index.tsv"], folder=place)
    return words


def _until(begin, command, folder):
    """Run a command until a printed line begins with `begin`; return (jobs, CPU s, s, MB)."""
    began, jobs, last = time.monotonic(), None, ""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            for line in process.stdout:
                if line.startswith("total"):
                    jobs = int(line.split()[1])
                if jobs is not None and line.startswith(begin):
                    return (
                        jobs,
                        _cpu_of(process.pid),
                        time.monotonic() - began,
                        _peak_of(process.pid),
                    )
                last = line.strip() or last
        finally:
            process.kill()
    raise RuntimeError(f"snakemake planned nothing: {last}")


def _deep(words, folder, timesteps):
    """Return the first timestep whose checkpoint Snakemake cannot plan by its name, or None."""

    def fails(t):
        target = f"{STREAM}/levels/k{LEVELS}/{t}.h5"
        done = subprocess.run(
            [*words, "--dry-run", "--", target], cwd=folder, capture_output=True, text=True
        )
        # Snakemake reports a RecursionError as a cyclic dependency.
        if done.returncode and "cyclic dependency" not in done.stdout:
            raise RuntimeError(done.stdout[-500:])
        return done.returncode != 0

    low, high = 0, timesteps - 1
    if not fails(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return high


def _cpu_of(process):
    """Return the CPU seconds of a running process."""
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _peak_of(process):
    """Return the peak memory of a running process in MB."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e6


def main():
    """Print a line for each length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("timesteps", type=int, nargs="+")
    for timesteps in parser.parse_args().timesteps:
        with tempfile.TemporaryDirectory() as place:
            words = _indexed(Path(place), timesteps, _chain())
            for what, begin, more in (
                ("plan", "total", ["--dry-run"]),
                ("first job", ("rule ", "localrule "), []),
            ):
                jobs, cpu, wall, peak = _until(begin, [*words, *more], place)
                print(
                    f"{timesteps} timesteps, {jobs} jobs, {what}: {cpu:.1f} CPU s, {wall:.1f} s, "
                    f"{peak:.0f} MB"
                )
            print(f"{timesteps} timesteps, too deep by name from: {_deep(words, place, timesteps)}")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
