"""The loop of `odl run`, which runs the steps of a stream whose inputs or settings changed."""

import contextlib
import os
import time
from functools import partial
from typing import NamedTuple

from odl.config import chains, project, sections
from odl.config.setting import differing
from odl.config.steps import STEPS, is_retained, record_of
from odl.engine import calls, processes
from odl.engine.folder import files_of
from odl.engine.ledger import origin_of, read
from odl.errors import OdlError, StorageError
from odl.files import provenance, tables

TIMESTEP_STEPS = ("batch", "features", "update", "alerts")  # steps that run for every timestep
SAVE_INTERVAL = 20.0  # seconds between two writes of the ledger
CARRIED_STEPS = ("features", "update", "alerts")  # steps whose result the next timestep uses
# Results of the last run: (path of the ledger, step) -> (timestep, digests of the outputs, result).
# `odl watch` runs a folder repeatedly in one process. With this cache, the next run need not read
# the last checkpoint.
_carried: dict = {}


class StepRun(NamedTuple):
    """Record of a step that ran, or that a dry run would run.

    Attributes
    ----------
    step : str
    t : int or None
        Timestep; None for steps that read or write the entire stream.
    reason : str
        Why the step has to run.
    cpu : float
        CPU time in seconds.
    """

    step: str
    t: int | None
    reason: str
    cpu: float = 0.0


class Loop:
    """Runner of the steps of one folder.

    Parameters
    ----------
    folder : odl.engine.folder.Folder
        The working folder.
    ledger : odl.engine.ledger.Ledger
    shown : odl.cli.run.Progress or None
        Receives the progress.
    again : bool
        Whether to run steps again whose code has changed.
    dry : bool
        Whether to collect the reasons of steps without running them.
    cores : int
        Number of processes that read files.
    check : callable
        Called before each step. If it raises an exception, the run ends.
    before_replacing : callable
        Called once, before the first existing file of alerts is replaced. Events may then get other
        numbers.
    with_page : bool
        Whether to write the page.

    Attributes
    ----------
    done : list of StepRun
        Steps that ran.
    outdated : dict of str to set of str
        Step -> outputs that an earlier version of its code wrote.
    absent : dict of str to str
        Path -> digest of files that do not exist: outputs in a dry run, and deleted checkpoints.
    codes : dict of str to str
        Step -> digest of its code.
    results : dict of str to (int, object)
        Step -> last timestep and its result in memory.
    period : str
        Line about the last batch that was written, for the progress.
    last : str
        Path of the last features of the stream with ``idf: corpus``, otherwise "".
    n : int
        Number of timesteps.
    """

    def __init__(
        self,
        folder,
        ledger,
        shown=None,
        again=False,
        dry=False,
        cores=1,
        check=lambda: None,
        before_replacing=lambda: None,
        with_page=True,
    ):
        self.folder, self.ledger, self.shown = folder, ledger, shown
        self.again, self.dry = again, dry
        self.cores, self.check, self.before_replacing = cores, check, before_replacing
        self.with_page = with_page
        self.done, self.outdated, self.absent, self.codes = [], {}, {}, {}
        self.results, self.saved, self.period = {}, time.monotonic(), ""

    def run(self):
        """Run the steps that are not up to date; return the number of timesteps."""
        self.read()
        stream, seed = self.folder.stream, self.folder.names["seed"]
        settings = sections.Order.part(stream)
        self.step("index", seed=seed, stream=settings, made=self.folder.folder_of("batch"))
        rows = self.rows()
        if self.shown:
            self.shown.steps = len(rows)
        # With the idf of the entire corpus, the features of all timesteps are needed first.
        corpus_idf = self.folder.chain["features"]["idf"] == "corpus"
        self.last = (
            self.folder.path(STEPS["features"].writes["output"], len(rows) - 1)
            if corpus_idf
            else ""
        )
        for t, row in enumerate(rows) if corpus_idf else ():
            self.count(t, row)
        self.n = len(rows)
        for t, row in enumerate(rows):
            self.timestep(t, row, counted=corpus_idf)
        self.clear(self.n)
        if self.with_page:
            self.page(self.n)
        self._carry()
        return self.n

    def read(self):
        """Read the user's files: first the shares that changed, then all shares as one corpus."""
        files, shares = files_of(self.folder)
        if self.folder.stream["options"].get("times") == "modified":
            self._record_times(files)
        self._check_forgotten()
        common = reading_of(self.folder)
        reads = [share_of(self.folder, name, paths) for name, paths in shares.items()]
        if not self.dry and self.cores > 1:
            self._read_in_parallel(reads)
        for arguments in reads:
            self.step("share", **arguments)
        paths = [arguments["output"] for arguments in reads]
        self.step("read", **({"shares": paths} if paths else {"sources": files}), **common)

    def _check_forgotten(self):
        """Refuse to read documents again that `odl forget` removed.

        Raises
        ------
        StorageError
            If forgotten.txt lacks digests that it had when the documents were last read.
        """
        current = sorted(self.folder.stream["options"].get("forgotten", ()))
        if self.ledger.facts.get("forgotten") == current:  # no need to open the documents
            return
        path, record = self.folder.path(STEPS["read"].writes["output"]), None
        with contextlib.suppress(OdlError, OSError):
            _, record = read(path, whole=False)
        before = ((record or {}).get("settings") or {}).get("options") or {}
        if lost := sorted({*before.get("forgotten", ())} - {*current}):
            given = f"{project.FORGOTTEN} lacks {len(lost)} forgotten documents"
            todo = f"add these lines, or delete {path} to read these documents again"
            raise StorageError(given, f"the lines {', '.join(lost)}", todo)
        if not self.dry:
            self.ledger.set_fact("forgotten", current)

    def _record_times(self, files):
        """Record the modification times of source files in the ledger.

        The reader uses them as the times of texts and for the years of logs. A copied file keeps
        its recorded time as long as its content is unchanged, so results do not change.
        """
        from odl.corpora import formats

        recorded, times = self.ledger.facts.get("times", {}), {}
        for name, path in files:
            digest = self.ledger.digest(path)
            recorded_digest, time_s = recorded.get(name, (None, None))
            if time_s is None or recorded_digest != digest:
                time_s = formats.changed(path)
            times[name] = [digest, time_s]
            formats.recorded[path] = time_s
        self.ledger.set_fact("times", times)

    def _read_in_parallel(self, reads):
        """Read shares in several processes.

        Errors are ignored here: the caller reads the failed shares again and gets their errors.
        """
        reads = [self._arguments("share", None, arguments) for arguments in reads]
        reads = [arguments for arguments in reads if self.reason("share", arguments)]
        tasks = [(arguments, record_of("share", arguments, self._digest)) for arguments in reads]
        if len(tasks) > 1:
            processes.each(_share, tasks, self.cores)

    def rows(self):
        """Return the rows of the index, which are empty if a dry run finds no index."""
        path = self.folder.path(STEPS["index"].writes["table"])
        return chains.read_index(path) if os.path.exists(path) or not self.dry else []

    def count(self, t, row):
        """Run the steps batch and features of a timestep."""
        features = self.folder.config["features"]
        self.step("batch", t, sha256=row["sha256"])
        self.step("features", t, max_terms=features.get("max_terms", 0))

    def timestep(self, t, row, counted=False):
        """Run the steps of a timestep; `counted` says that batch and features have run."""
        if not counted:
            self.count(t, row)
        run = self.folder.chain
        self.step(
            "update",
            t,
            run=run,
            corpus_features=self.last,
            history=self.folder.folder_of("features"),
        )
        settings = sections.Alerts.part(self.folder.config["alerts"])
        self.step("alerts", t, run=run, corpus_features=self.last, settings=settings)
        self.prune(t)
        if time.monotonic() - self.saved > SAVE_INTERVAL:
            self.ledger.save()
            self.saved = time.monotonic()

    def page(self, n):
        """Write new.html and the feeds from the alerts of the first n timesteps."""
        pattern, feedback = STEPS["newpage"].reads["alerts"], STEPS["newpage"].reads["feedback"]
        alerts = [self.folder.path(pattern, t) for t in range(n)]
        feedback = feedback if os.path.exists(feedback) else ""
        order = "" if project.orders_by_verdicts(".") else STEPS["newpage"].reads["order"]
        folder = self.folder.folder_of("alerts")
        features = self.folder.path(STEPS["features"].writes["output"], n - 1)
        inputs = {"alerts": alerts, "features": features, "feedback": feedback, "order": order}
        self.step("newpage", **inputs, folder=folder, home=".")

    def step(self, name, t=None, **arguments):
        """Run a step unless its outputs were computed from the current inputs and settings."""
        self.check()
        arguments = self._arguments(name, t, arguments)
        reason = self.reason(name, arguments)
        if reason and self.dry:
            self.done.append(StepRun(name, t, reason))
            self.absent |= {
                arguments[role]: self.ledger.before(arguments[role]) for role in STEPS[name].writes
            }
        elif reason:
            self.make(name, t, arguments, reason)

    def _arguments(self, name, t, arguments):
        """Return the arguments of a step with the paths of its files, t and the digest of its code.

        Paths with ``{last}`` or ``{share}`` are not added, since they do not depend on t only.
        """
        if name not in self.codes:
            self.codes[name] = self.folder.code(name)
        files = {}
        for role, pattern in (STEPS[name].reads | STEPS[name].writes).items():
            is_given = role in arguments or not pattern or "{last}" in pattern
            if not is_given and "{share}" not in pattern:
                files[role] = self.folder.path(pattern, t)
        return {**files, **arguments, "t": t, "code": self.codes[name]}

    def reason(self, name, arguments):
        """Return why a step has to run, or "" if it is up to date."""
        step = STEPS[name]
        *others, last = (arguments[role] for role in step.writes)
        expected, entry = record_of(name, arguments, self._digest), self.ledger.entry(last)
        if entry is None:
            return f"{last} is {'damaged' if os.path.exists(last) else 'missing'}"
        if entry.origin != origin_of(expected):
            return self._difference(last, expected)
        if self.again and entry.code != arguments["code"]:
            return f"its code changed ({entry.code or 'none'}, now {arguments['code']})"
        for path, digest in zip(others, entry.earlier_outputs, strict=False):
            current = self.ledger.digest(path)
            if current is None and name == "update" and self.is_pruned(arguments["t"]):
                self.absent[path] = digest  # `restore` computes the checkpoint when it is needed
            elif current != digest:
                return f"{path} {'is missing' if current is None else 'was written by another run'}"
        if entry.code != arguments["code"]:
            self.outdated.setdefault(name, set()).add(last)
        return ""

    def _digest(self, path):
        """Return the digest of a file, or its digest in `absent`, or ""."""
        return self.ledger.digest(path) or self.absent.get(path, "")

    @staticmethod
    def _difference(path, expected):
        """Return a phrase about what differs between a file's record and the expected one."""
        record = None
        with contextlib.suppress(OdlError, OSError, ValueError):
            _, record = read(path, whole=False)
        if not record:
            return f"{path} has no provenance record"
        for kind in ("inputs", "settings"):
            if changed := differing(record.get(kind) or {}, expected[kind]):
                return f"{', '.join(changed)} changed"
        return f"{path} was written by another step"

    def make(self, name, t, arguments, reason):
        """Run a step, and store the digests of its outputs in the ledger and its result."""
        began = time.process_time()
        if self.before_replacing and name == "alerts" and os.path.exists(arguments["output"]):
            self.before_replacing()
            self.before_replacing = None
        in_memory = self._in_memory(name, t, arguments)
        record = record_of(name, arguments, self._digest)
        if self.shown:
            self.shown.started(name, t)
        with provenance.recording(record) as outputs:
            lines, value = calls.FUNCTIONS[name](arguments, **in_memory)
        for role, digest in zip(STEPS[name].writes, outputs, strict=True):
            earlier = outputs[: list(STEPS[name].writes).index(role)]
            self.ledger.put(arguments[role], digest, {**record, "beside": earlier})
        if value is not None:
            self.results[name] = t, value
        self.period = lines[0] if name == "batch" else self.period
        if self.shown:
            self.shown.finished(name, t, lines[0] if name == "read" else self.period)
        self.done.append(StepRun(name, t, reason, time.process_time() - began))

    def _in_memory(self, name, t, arguments):
        """Return the inputs of a step that are in memory; restore deleted checkpoints it reads."""
        if name == "read":
            return {"digests": [self._digest(path) for path in arguments.get("shares", ())]}
        if name == "features":
            return {"previous": self._result("features", t - 1)}
        if name == "update":
            self.restore(t - 1)
            before = self._result("update", t - 1)
            return {"data": self._result("features", t), "before": before and before.after}
        if name == "alerts":
            self.restore(t - 1)
            self.restore(t)
            return {"learned": self._result("update", t), "carried": self._result("alerts", t - 1)}
        return {}

    def _result(self, name, t):
        """Return the result of a step for timestep t if it is in memory, else None.

        The result of the last timestep of this run is in memory, and that of the last run in this
        process if its files are unchanged.
        """
        last, result = self.results.get(name, (None, None))
        if last == t:
            return result
        last, digests, result = _carried.get(self._carried_key(name), [None] * 3)
        return result if last == t and digests == self._output_digests(name, t) else None

    def _carried_key(self, name):
        """Return the key of a step's result in `_carried`."""
        return os.path.abspath(self.ledger.path), name

    def _output_digests(self, name, t):
        """Return the digests of the files that a step wrote for timestep t."""
        patterns = STEPS[name].writes.values()
        return [self.ledger.digest(self.folder.path(pattern, t)) for pattern in patterns]

    def _carry(self):
        """Cache the results of the last timestep for the next run in this process.

        The cache has one result per step: results of other folders are removed, to save memory.
        """
        for name in CARRIED_STEPS:
            t, result = self.results.get(name, (None, None))
            if t != self.n - 1:
                continue
            for key in list(_carried):
                if key[1] == name:
                    del _carried[key]
            _carried[self._carried_key(name)] = t, self._output_digests(name, t), result

    def restore(self, t):
        """Compute the checkpoint of timestep t again, with equal bytes, if it was deleted.

        Learning starts from the last checkpoint that exists.
        """
        missing = t
        while missing >= 0 and not os.path.exists(
            self.folder.path(STEPS["update"].writes["state"], missing)
        ):
            missing -= 1
        for step in range(missing + 1, t + 1):
            run, history = self.folder.chain, self.folder.folder_of("features")
            arguments = self._arguments(
                "update", step, {"run": run, "corpus_features": self.last, "history": history}
            )
            self.make("update", step, arguments, "its checkpoint is needed")

    def is_pruned(self, t):
        """Return whether the setting `checkpoints.keep` lets checkpoint t be deleted."""
        return not is_retained(t, self.n - 1, self.folder.config["checkpoints"]["keep"])

    def prune(self, t):
        """Delete the checkpoints before timestep t that are not retained."""
        keep = self.folder.config["checkpoints"]["keep"]
        if self.done and self.done[-1].t == t and keep and not self.dry:
            from odl.files import agentfiles

            agentfiles.prune(
                self.folder.path(STEPS["update"].writes["state"], t),
                partial(is_retained, keep=keep),
            )

    def clear(self, n):
        """Delete the files of timesteps from n, which were written for a longer stream."""
        if self.dry:
            return
        for name in TIMESTEP_STEPS:
            for role in STEPS[name].writes:
                folder = self.folder.folder_of(name, role)
                for file in os.listdir(folder) if os.path.isdir(folder) else ():
                    stem, suffix = os.path.splitext(file)
                    if suffix == ".h5" and stem.isdecimal() and int(stem) >= n:
                        self.ledger.forget(os.path.join(folder, file))

    def write_costs(self):
        """Write run.tsv: the CPU seconds of each step in this run, and the reason why it ran."""
        if self.done and not self.dry:
            rows = [
                {"step": run.step, "t": run.t, "cpu_s": run.cpu, "reason": run.reason}
                for run in self.done
            ]
            with contextlib.suppress(OSError):
                tables.write_table(os.path.join(self.folder.names["root"], "run.tsv"), rows)


def reading_of(folder):
    """Return the arguments of the steps read and share that are the same for all files."""
    stream = folder.stream
    return {
        "reader": stream["reader"],
        "options": stream["options"],
        "source": stream["sources"],
    }


def share_of(folder, share, members):
    """Return the arguments of the step that reads a share.

    Parameters
    ----------
    folder : odl.engine.folder.Folder
    share : str
        Name of the share.
    members : list of (str, path-like)
        Names and paths of its files.
    """
    output = folder.path(STEPS["share"].writes["output"].replace("{share}", share))
    return {"sources": members, **reading_of(folder), "output": output}


def _share(arguments, record):
    """Run the step share with its provenance record, in a forked process."""
    with provenance.recording(record):
        calls.share(arguments)
