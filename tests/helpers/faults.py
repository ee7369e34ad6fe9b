"""Kill tests: a small study on the real Snakefile is struck at random moments, and has to end with the same bytes.

``make faults`` (faultrun.py) strikes 200 times and prints what was survived; test_faults.py strikes
10 times. A moment is a fraction of the duration of an undisturbed run. It is found again in a run
on a busy machine by how many results lie there, then by seconds. After every strike the study is
taken up again as the README says; one results folder is struck several times before the run is let
end.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import psutil
from workflows import NOT_REPRODUCIBLE, Study, documents, environment, settings

# name: signal, whom it is sent to.
KINDS = {
    "kill -9 rule": (signal.SIGKILL, "rule"),
    "kill -9 child": (signal.SIGKILL, "child"),
    "kill -9 Snakemake": (signal.SIGKILL, "snakemake"),
    "kill -9 group": (signal.SIGKILL, "group"),
    "SIGTERM job": (signal.SIGTERM, "child"),
    "SIGTERM Snakemake": (signal.SIGTERM, "snakemake"),
    "SIGINT job": (signal.SIGINT, "child"),
    "SIGINT Snakemake": (signal.SIGINT, "snakemake"),
    "SIGINT group": (signal.SIGINT, "group"),  # Ctrl-C
}
# in the environment of every process of a run, so that an orphan is found wherever it hangs
MARK = "ODL_FAULTS"
EARLY = 0.1  # share of the strikes that hit Snakemake before its first job
STEP = 0.05  # seconds between two looks
PATIENCE = 300  # seconds for one phase of a run, on a busy machine
GRACE = 15  # seconds after the end of Snakemake in which its jobs have to end
SURVIVED = "survived"
RULES = {"summarise": "tables"}  # subcommands that have another name than their rule


class Moment(NamedTuple):
    """A strike: its kind, the fraction of the undisturbed run, whether it hits the start of a run, a free draw."""

    kind: str
    fraction: float
    early: bool
    draw: float


def moments(number, seed):
    """Draw moments; all kinds are drawn equally often."""
    rng = random.Random(seed)
    kinds = []
    while len(kinds) < number:
        kinds += rng.sample(list(KINDS), len(KINDS))
    return [
        Moment(kind, rng.random(), rng.random() < EARLY, rng.random()) for kind in kinds[:number]
    ]


@dataclass
class Strike:
    """What one strike hit, and what became of it."""

    moment: Moment
    phase: str = ""  # rule that ran, of two the one that was hit or both
    status: int | None = None  # of the Snakemake that was struck
    unlocked: bool = False
    parts: int = 0  # temporary files between the strike and the next run
    marks: int = 0  # left in Snakemake's records at the end
    wrong: list = field(default_factory=list)

    @property
    def outcome(self):
        return "; ".join(self.wrong) or SURVIVED


def small_study(folder, n=240):
    """Create a study of three timesteps, one run and the baselines: 21 jobs; of fewer with fewer documents."""
    config = settings(
        runs=["da"], atoms=[4], report={"runs": ["da"], "run": "da", "atoms": 4, "seed": 0}
    )
    config["learners"].pop("pg")
    config["corpora"]["mine"]["batches"] |= {"initial": 80}
    study = Study.create(folder, config)
    study.write("a.jsonl", documents(0, n))
    return study


def marked(mark):
    """Return the processes that carry the mark, zombies left out."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


class Run:
    """Snakemake on a study, in a session of its own, watched from outside."""

    def __init__(self, study, *arguments, cores=2):
        self.study, self.mark = study, f"{study.folder.name}-{os.getpid()}-{time.monotonic_ns()}"
        self.printed = study.folder / "printed.log"
        variables = environment(
            study.folder, **{MARK: self.mark, "TMPDIR": str(study.folder / "tmp")}
        )
        (study.folder / "tmp").mkdir(exist_ok=True)
        with open(self.printed, "w") as log:
            self.process = subprocess.Popen(
                study.command(*arguments, cores=cores),
                cwd=study.folder,
                env=variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def running(self):
        return self.process.poll() is None

    def wait(self, reached, patience=PATIENCE):
        """Wait until `reached()` is true; return whether Snakemake still runs."""
        end = time.monotonic() + patience
        while self.running() and time.monotonic() < end:
            if reached():
                return True
            time.sleep(STEP)
        return False

    def jobs(self):
        """Return (shell, odl process or None, rule) of each running job, oldest first."""
        found = []
        try:
            shells = sorted(
                psutil.Process(self.process.pid).children(), key=lambda child: child.create_time()
            )
        except psutil.Error:
            return []
        for shell in shells:
            try:
                words, inner = (
                    shell.cmdline(),
                    [child for child in shell.children() if "odl" in child.cmdline()[1][-3:]],
                )
            except (psutil.Error, IndexError):
                continue
            text = " ".join(words).split("odl step ", 1)
            if words[1:2] == ["-c"] and len(text) == 2:
                name = text[1].split()[0]
                found.append((shell, inner[0] if inner else None, RULES.get(name, name)))
        return found

    def phase(self):
        """Name what Snakemake is at: the rules whose jobs run, its start, or the time between jobs."""
        names = sorted({name for _, _, name in self.jobs()})
        begun = any(f"{word} " in self.text() for word in ("rule", "checkpoint"))
        return "+".join(names) or ("between jobs" if begun else "start")

    def text(self):
        return self.printed.read_text(errors="replace")

    def strike(self, kind):
        """Send the signal of a kind; return what was hit, or None where the run ended before."""
        number, target = KINDS[kind]
        if target in ("snakemake", "group"):
            phase = self.phase()
            if not self.running():
                return None
            (os.kill if target == "snakemake" else os.killpg)(self.process.pid, number)
            return phase
        victim = []

        def found():
            victim[:] = [(job[0 if target == "rule" else 1], job[2]) for job in self.jobs()]
            victim[:] = [entry for entry in victim if entry[0] is not None]
            return bool(victim)

        while self.wait(found):
            try:
                os.kill(victim[0][0].pid, number)
                return victim[0][1]
            except ProcessLookupError:
                continue
        return None

    def settle(self):
        """Wait for the end of Snakemake and of everything it started; end and return what is left after that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        end = time.monotonic() + GRACE
        while (left := marked(self.mark)) and time.monotonic() < end:
            time.sleep(0.2)
        for process in left:
            try:
                process.kill()
            except psutil.Error:
                continue
        return [
            " ".join(process.cmdline()[:4]) if process.is_running() else "process"
            for process in left
        ]


def present(study):
    """Return the names of the files below the results, temporary and other ones, without logs and clocks."""
    kept = []
    for path in study.results.rglob("*"):
        name = "/" + path.relative_to(study.results).as_posix()
        if not NOT_REPRODUCIBLE.search(name):
            kept.append(name)
    return kept


def parts(study):
    """Return the temporary files of the study: ours below the results, and those in TMPDIR."""
    found = [path for path in study.results.rglob(".*") if path.is_file()]
    found += [path for path in (study.folder / "src").rglob("*.tmp*") if path.is_file()]
    return found + [path for path in (study.folder / "tmp").rglob("*") if path.is_file()]


def locks(study):
    return [path for path in (study.folder / ".snakemake" / "locks").glob("*") if path.is_file()]


def marks(study):
    """Return Snakemake's marks of jobs that began and did not end, beside its locks.

    It looks for them before it knows the jobs behind a checkpoint, so those of a struck job can
    stay after its file was found to be there. Files are renamed when whole, so what is there is
    right; the marks are counted apart.
    """
    return [
        path for path in (study.folder / ".snakemake" / "incomplete").glob("*") if path.is_file()
    ]


def locked(study):
    return any((study.folder / ".snakemake" / "locks").glob("*"))


def clear(study):
    """Remove everything a run made."""
    for name in ("results", ".snakemake", "tmp"):
        shutil.rmtree(study.folder / name, ignore_errors=True)


class Reference(NamedTuple):
    """An undisturbed run: digests, all file names, seconds, and when how many results were there."""

    digests: dict
    names: set
    seconds: float
    timeline: list
    target: tuple = ()

    def up_to_the_tables(self, study):
        """Return the part before the pictures and the page."""
        names = {name for name in self.names if not name.startswith(("/figures", "/report"))}
        timeline = [entry for entry in self.timeline if entry[1] <= len(names)]
        digests = {name: digest for name, digest in self.digests.items() if name in names}
        target = (study.target(study.results / "tables" / "averages.tsv"),)
        return Reference(digests, names, timeline[-1][0], timeline, target)


def undisturbed(study, *targets, cores=2):
    """Run the study once as it is meant to run, up to its page or to these targets."""
    clear(study)
    run, begin, timeline = Run(study, *targets, cores=cores), time.monotonic(), [(0.0, 0)]
    while run.running():
        number = len(present(study))
        if number > timeline[-1][1]:
            timeline.append((time.monotonic() - begin, number))
        time.sleep(STEP)
    assert run.process.returncode == 0 and not run.settle(), run.text()
    assert not parts(study) and not locks(study) and not marks(study)
    return Reference(study.bytes(), set(present(study)), time.monotonic() - begin, timeline)


def reach(run, moment, reference):
    """Wait for a moment of a run; return whether it came before the end."""
    begin = time.monotonic()
    if moment.early:
        start = reference.timeline[1][0] / 2
        return run.wait(lambda: time.monotonic() - begin >= moment.draw * start)
    aim = moment.fraction * reference.seconds
    since, number = [entry for entry in reference.timeline if entry[0] <= aim][-1]
    if not run.wait(lambda: len(present(run.study)) >= number):
        return False
    if number and not run.wait(
        run.jobs
    ):  # taken up again with as much there: from its first job on
        return False
    begin = begin if not number else time.monotonic()
    return run.wait(lambda: time.monotonic() - begin >= aim - since)


def damaged(study, reference):
    """Return the results that are there but are not those of the undisturbed run: nothing may be half-written."""
    return sorted(
        name
        for name, digest in study.bytes().items()
        if "/." not in name and reference.digests.get(name) != digest
    )


def strike_study(study, chosen, reference, cores=2):
    """Strike a study at these moments in the order of their fractions, then let it end.

    Returns
    -------
    list of Strike
    list of Moment
        Those that came too late: the run had ended before.
    """
    clear(study)
    struck, late = [], []
    for moment in sorted(chosen, key=lambda moment: moment.fraction):
        if late:  # the run has ended
            late.append(moment)
            continue
        run = Run(study, *reference.target, cores=cores)
        phase = run.strike(moment.kind) if reach(run, moment, reference) else None
        left = run.settle()
        if phase is None:
            late.append(moment)
            if run.process.returncode:
                struck[-1].wrong.append(f"rerun exit {run.process.returncode}")
            continue
        strike = Strike(
            moment, phase, run.process.returncode, unlocked=locked(study), parts=len(parts(study))
        )
        struck.append(strike)
        strike.wrong += [f"orphan: {name}" for name in left]
        strike.wrong += [f"half-written: {name}" for name in damaged(study, reference)]
        if strike.unlocked:
            study.run("--unlock")
    end_study(study, struck, reference, cores)
    return struck, late


def end_study(study, struck, reference, cores):
    """Take a struck study up for the last time, and note against its strikes what is not as in the undisturbed run."""
    run = Run(study, *reference.target, cores=cores)
    left = run.settle()
    wrong = [f"orphan: {name}" for name in left]
    if run.process.returncode:
        wrong.append(f"rerun exit {run.process.returncode}")
    found = study.bytes()
    names = sorted(
        name
        for name in {*found, *reference.digests}
        if found.get(name) != reference.digests.get(name)
    )
    wrong += [f"differs: {name}" for name in names]
    wrong += [f"left: {name}" for name in sorted(set(present(study)) - reference.names)]
    wrong += [f"left: {path.name}" for path in [*parts(study), *locks(study)]]
    for strike in struck:
        strike.marks = len(marks(study))
        strike.wrong += [text for text in wrong if text not in strike.wrong]
    if wrong:
        (study.folder / f"failed-{time.time_ns()}.log").write_text(run.text())
