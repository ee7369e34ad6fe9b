"""What Snakemake takes to plan a study of ten thousand jobs: CPU until it knows them all, before any runs."""

import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

from material import FULL
from measure import ROOT, Row, child, say, tool, within

LIMIT = within(12)
INITIAL, BATCH = 250, 2  # documents
LONG, SHORT = 840, 20  # timesteps


def plan(material):
    """Plan the default runs on one seed of a made stream of many timesteps, on the real Snakefile."""
    full = material.size is FULL
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        for name in ("Snakefile", "workflow", "config", "profiles", "data"):
            (place / name).symlink_to(ROOT / name)
        _write_documents(place / "documents.jsonl", INITIAL + BATCH * ((LONG if full else SHORT) - 1))
        (place / "made.yaml").write_text(json.dumps(_study()))
        words = [tool("snakemake"), "--cores", "1", "--configfile", "made.yaml"]
        say("plan: the index of the stream")
        child([*words, "--", "results/made/made/seed0/index.tsv"], folder=place)
        say("plan: all jobs")
        jobs, cpu = _planned([*words, "--dry-run"], place)
    return [Row("plan", f"snakemake, plan of {jobs} jobs, default runs, one seed", cpu, "CPU s", LIMIT if full else "")]


def _write_documents(path, count):
    rng, words = random.Random(0), [f"{first}{second}word" for first in "abcdefghij" for second in "abcdefghij"]
    with path.open("w") as file:
        for number in range(count):
            text = " ".join(rng.choices(words, k=8))
            file.write(json.dumps({"id": f"d{number}", "time": 1_600_000_000 + 60 * number, "text": text}) + "\n")


def _study():
    corpus = {
        "reader": "documents",
        "sources": ["documents.jsonl"],
        "options": {},
        "protocol": "by-date",
        "topic_entry": {"held_back": 0.0, "first": 1, "last": 1},
        "ties": "source",
        "batches": {"by": "documents", "documents": BATCH, "period": "month", "initial": INITIAL, "flush": True},
        "timesteps": [],
    }
    return {"study": "made", "streams": ["made"], "corpora": {"made": corpus}, "seeds": [0]}


def _planned(command, folder):
    """Return (jobs, CPU seconds at the moment their counts are printed); the jobs are not waited for."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            cpu, last = None, ""
            for line in process.stdout:
                if line.startswith("Job stats"):
                    cpu = _cpu_of(process.pid)
                if cpu is not None and line.startswith("total"):
                    return int(line.split()[1]), cpu
                last = line.strip() or last
        finally:
            process.kill()
    raise RuntimeError(f"snakemake planned nothing: {last}")


def _cpu_of(process):
    """Return the CPU seconds of a running process so far."""
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
