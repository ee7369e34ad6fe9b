"""Small studies in a temporary copy of the workflow: generated documents, runs of the real Snakefile, their jobs."""

import contextlib
import csv
import functools
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from datetime import datetime, timedelta
from typing import NamedTuple

import forked
import h5py
from places import ROOT, made_once

SHOWN = {"tables", "figures", "page"}  # jobs after every evaluation
COPIED = ("workflow", "profiles", "config", "src")
START = datetime(2020, 1, 1)
# Files that differ in every run: times, memory, and figures of them.
NOT_REPRODUCIBLE = re.compile(
    r"/(logs|benchmarks|timings)/|-(time|costs|tradeoff)\.\w+$|/(timing|costs)\.tsv$|-figures\.json$|report\.html$"
)

# A sitecustomize module: every Python that has it on its path notes the command and threads at its
# start.
RECORD = """
import json, os, sys
called = [i for i, name in enumerate(sys.orig_argv) if os.path.basename(name) == "odl"]
if called:
    held = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    study = os.path.dirname(os.path.dirname(__file__))
    command = [word for word in sys.orig_argv[called[0] + 1 :] if word != "step"][0]
    threads = {key: os.environ.get(key) for key in held}
    with open(os.path.join(study, "threads.jsonl"), "a") as file:
        file.write(json.dumps({"command": command, "threads": threads}) + "\\n")
"""


class Result(NamedTuple):
    """A call of Snakemake: exit status, printed text, and jobs as (rule, wildcards), in order of start."""

    status: int
    text: str
    jobs: list

    def names(self, *wildcards):
        """Return the jobs but the target as ``rule value value``: the values of these wildcards that a rule has."""
        found = [
            (rule, [held[name] for name in wildcards if name in held]) for rule, held in self.jobs
        ]
        return {
            " ".join([rule, *values]) for rule, values in found if rule not in ("all", "default")
        }


def link_or_copy(source, target):
    """Copy a file, or link it if it is the extension module, which no test edits."""
    if source.endswith(".so"):
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)
    else:
        shutil.copy2(source, target)


def document(number, topic, moment=None, padding=0):
    """Return a generated document with words of its topic and, in three of four, common words; one every six hours."""
    draw = random.Random(number * 1000 + topic)
    words = [2 * chr(97 + topic) + chr(97 + draw.randrange(20)) for _ in range(20)]
    words += ["common" + chr(97 + draw.randrange(15)) for _ in range(5 if number % 4 else 0)]
    moment = moment or START + timedelta(hours=6 * number)
    found = {
        "id": f"d{number:04d}",
        "time": moment.isoformat(),
        "text": " ".join(words),
        "topics": [f"t{topic}"],
    }
    return {**found, "note": "." * padding} if padding else found


def documents(first, last, padding=0):
    """Return documents `first` to `last` - 1; topics 0 to 2 from the start, one more after every 80 from 140 on."""
    found = []
    for number in range(first, last):
        topics = 3 + max(0, (number - 60) // 80)
        found.append(document(number, random.Random(number).randrange(topics), padding=padding))
    return found


def settings(**changes):
    """Return the configuration of a small study (120 documents to start from, then 80 a timestep, two runs)."""
    corpus = {
        "reader": "documents",
        "sources": ["docs"],
        "options": {},
        "protocol": "by-date",
        "topic_entry": {"held_back": 0.0, "first": 1, "last": 1},
        "ties": "source",
        "batches": {
            "by": "documents",
            "documents": 80,
            "period": "month",
            "initial": 120,
            "flush": True,
        },
        "timesteps": [],
    }
    return {
        "study": "small",
        "streams": ["mine"],
        "corpora": {"mine": corpus},
        "seeds": [0],
        "atoms": [8],
        "runs": ["da", "pg"],
        "learners": {
            "da": {"algorithm": "dual_averaging", "rounds": 3, "gamma": 4.0},
            "pg": {"algorithm": "projected_gradient", "rounds": 3, "eta": 5.0},
        },
        "evaluate": {"min_novel": 3, "min_known": 3, "topics": "all", "bootstrap": 50, "seed": 0},
        "emerging": {"enabled": False, "runs": [], "sizes": []},
        "alerts": {"run": None},
        "report": {"runs": [], "run": None, "atoms": 8, "seed": 0},
        **changes,
    }


class Study:
    """A folder with a copy of the workflow and a small study in it.

    Parameters
    ----------
    folder : Path
        Made by `create` or `copy`.
    base : str, optional
        A configuration of the repository that the study's own is laid over.
    """

    def __init__(self, folder, base=None):
        self.folder, self.base = folder, base
        self.results = folder / "results" / "small"
        self.stream = self.results / "mine" / "seed0"

    @classmethod
    def create(cls, folder, config=None, base=None):
        """Copy the workflow and the package into a new folder."""
        shutil.copytree(
            ROOT / "data", folder / "data", ignore=lambda _, names: set(names) - {"corpora.csv"}
        )
        shutil.copy2(ROOT / "Snakefile", folder / "Snakefile")
        for name in COPIED:
            ignored = shutil.ignore_patterns("*.egg-info", "*.pyc")
            shutil.copytree(ROOT / name, folder / name, copy_function=link_or_copy, ignore=ignored)
        study = cls(folder, base)
        study.configure(config or settings())
        return study

    def copy(self, folder):
        """Return a copy of the study as it is, results and Snakemake's records included."""
        shutil.copytree(self.folder, folder, copy_function=link_or_copy, symlinks=True)
        return Study(folder, self.base)

    @property
    def config(self):
        return json.loads((self.folder / "study.json").read_text())

    def configure(self, config):
        """Write the configuration of the study."""
        (self.folder / "study.json").write_text(json.dumps(config, indent=1))

    def write(self, name, found):
        """Write documents into the folder that the study reads."""
        path = self.folder / "docs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(entry) + "\n" for entry in found))
        return path

    def command(self, *arguments, cores=2):
        files = [self.base, "study.json"] if self.base else ["study.json"]
        start = [sys.executable, "-m", "snakemake", "--cores", str(cores), *map(str, arguments)]
        return [*start, "--configfile", *files]

    def run(self, *arguments, cores=2, fails=False, new_process=False, **variables):
        """Run Snakemake and wait for it.

        Parameters
        ----------
        *arguments : str
            Targets and options.
        cores : int
        fails : bool
            Whether it has to fail; it has to succeed otherwise.
        new_process : bool
            Whether Snakemake is started in a process of its own, and not by `forked.snakemake`.
        **variables : str
            Environment variables.
        """
        words, held = self.command(*arguments, cores=cores), environment(self.folder, **variables)
        if new_process:
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            done = subprocess.run(words, cwd=self.folder, env=held, timeout=600, **pipes)
            status, text = done.returncode, done.stdout
        else:
            status, text = forked.snakemake(words[3:], self.folder, held)
        assert (status != 0) == fails, text[-6000:]
        return Result(status, text, jobs_of(text))

    @contextlib.contextmanager
    def started(self, *arguments, cores=2, **variables):
        """Start Snakemake as in `run` for the length of the block, then terminate it. `printed` returns its output."""
        with open(self.folder / "printed.log", "w") as log:
            process = subprocess.Popen(
                self.command(*arguments, cores=cores),
                cwd=self.folder,
                env=environment(self.folder, **variables),
                stdout=log,
                stderr=log,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)

    def printed(self):
        """Return what a `started` Snakemake printed."""
        return (self.folder / "printed.log").read_text()

    def kill_when(self, reached, *arguments, cores=2, patience=600):
        """Start Snakemake with these targets and options, and kill it with all its jobs once `reached()` is true."""
        with open(self.folder / "killed.log", "w") as log:
            process = subprocess.Popen(
                self.command(*arguments, cores=cores),
                cwd=self.folder,
                env=environment(self.folder),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            end = time.monotonic() + patience
            while process.poll() is None and not reached() and time.monotonic() < end:
                time.sleep(0.02)
            running = process.poll() is None
            os.killpg(process.pid, 9)
            process.wait()
        assert running and reached(), (self.folder / "killed.log").read_text()[-3000:]

    def edit(self, module):
        """Append a statement to a file of the package."""
        with open(self.folder / "src" / "odl" / module, "a") as file:
            file.write("EDITED = True\n")

    def record_threads(self):
        """Make every process of the package note its threads when it starts; `threads` returns the notes."""
        (self.folder / "hooks").mkdir()
        (self.folder / "hooks" / "sitecustomize.py").write_text(RECORD)

    def threads(self):
        """Return the notes of `record_threads`, command and threads, in the order of time."""
        return [
            json.loads(line) for line in (self.folder / "threads.jsonl").read_text().splitlines()
        ]

    def average(self, run):
        """Return the average AUC of a run."""
        with open(self.results / "tables" / "averages.tsv", newline="") as file:
            return next(
                float(row["average"])
                for row in csv.DictReader(file, delimiter="\t")
                if row["run"] == run
            )

    def checkpoint(self, run, t):
        return self.stream / run / "k8" / f"{t}.h5"

    def target(self, path):
        """Name a file as Snakemake knows it."""
        return path.relative_to(self.folder).as_posix()

    def bytes(self, reproducible=True):
        """Return name -> sha256 of the results; if `reproducible`, of those that are the same in every run."""
        found = {}
        for path in sorted(self.results.rglob("*")):
            name = "/" + path.relative_to(self.results).as_posix()
            if path.is_file() and not (reproducible and NOT_REPRODUCIBLE.search(name)):
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found


def h5_attributes(path):
    """Return the attributes of a file of the pipeline."""
    with h5py.File(path) as file:
        return dict(file.attrs)


@functools.cache
def finished(base):
    """Return a finished study of 360 documents and the `Result` of its run.

    One worker runs it; each worker has a copy in its temporary folder `base`.
    """

    def make(folder):
        study = Study.create(folder / "study")
        study.write("a.jsonl", documents(0, 360, padding=3000))
        study.record_threads()
        result = study.run(new_process=True, OMP_NUM_THREADS="7", OPENBLAS_NUM_THREADS="7")
        (folder / "result.json").write_text(json.dumps(result))

    folder = made_once(base, "finished", make)
    status, text, jobs = json.loads((folder / "result.json").read_text())
    return Study(folder / "study").copy(base / "copy"), Result(
        status, text, [tuple(job) for job in jobs]
    )


def chain(run, first=0, last=3):
    """Name the jobs of a run from one timestep to another, with its evaluation."""
    return {f"update {run} {t}" for t in range(first, last + 1)} | {f"evaluate {run}"}


def environment(folder, **variables):
    """Return the environment of a run: the package of the folder, its bytecode stored, and no mirror."""
    without = ("ODL_MIRROR", "SNAKEMAKE_PROFILE", "PYTHONDONTWRITEBYTECODE")
    held = {key: value for key, value in os.environ.items() if key not in without}
    return {**held, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder / 'hooks'}", **variables}


def jobs_of(text):
    """Parse the jobs that Snakemake started, or would start, as (rule, wildcards); members of a group are indented."""
    found = []
    for block in re.finditer(
        r"^( *)(?:local)?(?:rule|checkpoint) (\w+):\n((?:\1    .*\n)*)", text, re.M
    ):
        line = re.search(r"^ *wildcards: (.*)$", block[3], re.M)
        found.append(
            (block[2], dict(pair.split("=", 1) for pair in line[1].split(", ")) if line else {})
        )
    return found
