"""``odl run``: run the steps of a user's folder, show the progress, and print a report.

Results do not depend on earlier runs. Some facts, such as the number of documents, are stored after
a successful run, so that the next report can state the changes.
"""

import contextlib
import glob
import json
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odl.cli import filekinds
from odl.config import places, project
from odl.config.chains import packages_of
from odl.config.steps import STEPS
from odl.engine import folder as folders
from odl.engine import processes
from odl.engine.ledger import Ledger
from odl.engine.loop import Loop
from odl.errors import ConfigError, OdlError, StorageError
from odl.files import terminal
from odl.files.escaping import visible
from odl.files.provenance import FORMAT
from odl.files.terminal import duration

REDRAW_SECONDS = 0.2  # seconds between updates of the progress on a terminal
DAY_SECONDS = 86_400  # seconds per day


def run(folder, *, again=False, check=False, dry=False, wait=0.0, cores=None, page=True):
    """Run the steps of a folder that are not up to date; return the report to print.

    Parameters
    ----------
    folder : path-like
        Folder that `odl.cli.init` wrote.
    again : bool
        Whether to repeat the steps whose results another version of the code wrote.
    check : bool
        Whether to read and verify every file, even if the ledger records it as verified.
    dry : bool
        Whether to report only the steps that would run, and why.
    wait : float
        Seconds to wait for another run of the folder.
    cores : int, optional
        Number of processes that read files. By default the number of cores.
    page : bool
        Whether to write the page and report what is new. If false, a later run does so.

    Returns
    -------
    str
        Report on the new alerts, or with `dry` on the steps that would run.

    Raises
    ------
    OdlError
        If the folder, its configuration or a file is invalid.
    BusyError
        If another run uses the folder for longer than `wait`.
    """
    began, named = time.monotonic(), os.fspath(folder)
    settings, words, first = project.read(folder), [], []
    if settings.get("driver") == "snakemake":
        raise ConfigError(
            f"{folder} is driven by Snakemake (driver in {project.FILE})",
            "a folder of `odl run`",
            f"type: cd {folder} && snakemake --cores {processes.cores()}",
        )
    with contextlib.chdir(folder), _name_folder_in_errors(named):
        if os.path.isdir("inbox"):  # `odl watch` has used the folder
            from odl.live import inbox

            if inbox.settle(dry) and dry:
                first = ["would be done first: add closed files of the inbox to the sources"]
        if project.NOTIFY in settings:
            from odl.config import commands

            words = commands.read_commands(".").get(project.NOTIFY, [])
        working = folders.opened(named)
        if wrong := places.unwritable(working.names["root"]):
            raise ConfigError(
                f"{wrong} cannot be written",
                "a writable folder",
                "correct its permissions or set 'results'",
            )
        alone = contextlib.nullcontext() if dry else processes.alone(working.lock, wait)
        with processes.heeding() as heed, alone:
            ledger = Ledger(working.ledger, check)
            # The recorded format avoids importing HDF5 in `earlier_error`.
            is_current = again or ledger.facts.get("format") == FORMAT
            if not is_current and (error := folders.earlier_error(working, named)):
                raise error
            if not dry:
                project.refresh_schema(".")
            options = {
                "words": words,
                "again": again,
                "dry": dry,
                "cores": cores or processes.cores(),
                "page": page,
            }
            *lines, last = _run(working, ledger, named, began, check=heed.check, **options)
    report = [*first, *lines, *filter(None, [unread(folder, working.stream)]), last]
    return terminal.for_stream("\n".join(report))


@contextlib.contextmanager
def _name_folder_in_errors(named):
    """Add the name of the folder to errors, whose paths are relative to the folder."""
    try:
        yield
    except OdlError as error:
        if named != ".":
            error.given = f"in {named}: {error.given}"
        raise


def _run(working, ledger, named, began, *, words, dry, page, **options):
    """Run the loop of a folder; return the lines of the report.

    The last line says that the run is done. With `dry`, nothing is written, and the only line is
    the plan.
    """
    shown = Progress(sys.stderr, terminal.is_live(sys.stderr))
    loop = Loop(
        working,
        ledger,
        None if dry else shown,
        dry=dry,
        with_page=page,
        before_replacing=lambda: _begin_again(working, ledger),
        **options,
    )
    try:
        n = loop.run()
        if dry:
            return [_plan(loop)]
        if not page:
            shown.close()
            ledger.save()
            return ["learned; a later run writes the page"]
        if moved := _renumber(working, ledger):
            loop.page(n)
        shown.close()
        news = _ending(working, ledger, n, loop)
    except BaseException as error:
        shown.close()
        if isinstance(error, KeyboardInterrupt):
            hint = f"finished steps are stored; `odl run {named}` continues from there"
            print(f"odl run: stopped; {hint}", file=sys.stderr)
        with contextlib.suppress(OSError):  # the original error is reported
            if not dry:
                ledger.save()
        raise
    finally:
        loop.write_costs()
    news = news.replace("odl explain FOLDER", f"odl explain {named}")
    news = news.replace("odl new FOLDER", f"odl new {named}")
    lines = [news, _report_documents(working, ledger)]
    ledger.save()
    warnings = [*_set_aside(working, ledger, named), *_describe_outdated(loop, named)]
    warnings += _absent_facets(working, n)
    warned = [terminal.styled(line, "yellow") for line in warnings]
    lines += [*moved, *warned, *_send_alerts(ledger, words, named)]
    ledger.save()
    page = os.path.join(named, "new.html")
    done = (
        f"done in {duration(time.monotonic() - began)}"
        if loop.done
        else "nothing has changed since the last run"
    )
    return [*lines, f"{terminal.styled(done, 'green')}; open {page}"]


def _ending(working, ledger, n, loop):
    """Return the text about the periods with new alerts since the last successful run.

    The ledger stores the text. It is used again if new.html and feedback.csv are unchanged.
    """
    key = [ledger.digest("new.html") or "", ledger.digest("feedback.csv") or ""]
    ending = ledger.facts.get("ending")
    if ending and ending[:2] == key:
        return ending[2]
    from odl.alerts import read, show, verdicts
    from odl.stream import boilerplate

    folder = working.folder_of("alerts")
    done = [call.t for call in loop.done if call.step == "alerts"]
    now = [(ledger.digest(os.path.join(folder, f"{t}.h5")) or "")[:16] for t in range(n)]
    before = ledger.facts.get("ended", [] if not ending else None)
    if before is not None:
        done = [t for t in range(n) if before[t : t + 1] != now[t : t + 1]]
    ledger.set_fact("ended", now)
    ledger.set_fact("format", FORMAT)
    first = min(done, default=n - 1)
    _, watch = loop.results.get("newpage", (None, None))
    if watch is None or watch.periods[0].t > first:  # the page lacks the first of these periods
        watch = verdicts.with_verdicts(read.alerts_of(".", last=n - first))
    periods = watch.periods[first - watch.periods[0].t :]
    stream = Path(working.names["root"], working.names["corpus"])
    cleaned = boilerplate.sentence(
        stream / "documents.h5", os.path.join(working.folder_of("features"), f"{n - 1}.h5")
    )
    text = "\n".join([show.styled_text(watch, periods), "", *filter(None, [cleaned])])
    ledger.set_fact("ending", [*key, text])
    return text


def _begin_again(working, ledger):
    """Prepare to compute all alerts again.

    Events may get new numbers. The ledger therefore stores the documents of each event in
    feedback.csv, from which `_renumber` finds its new number. Files of alerts in an earlier format
    are deleted, except that of the first period.
    """
    from odl.alerts import feedback, periods

    folder = working.folder_of("alerts")
    numbers = {entry.event for entry in feedback.read(".") if entry.event}
    if numbers and not ledger.facts.get("topics"):
        ledger.set_fact("topics", feedback.members(folder, numbers))
        ledger.save()
    if periods.are_earlier(folder):
        # The first file is used to detect the earlier format, so it is retained.
        for path in list(periods.paths(folder))[:0:-1]:
            ledger.forget(path)


def _renumber(working, ledger):
    """Write the new numbers of events into feedback.csv; return sentences about the changes.

    Numbers change only if all alerts were computed again, after `_begin_again`. The new lines are
    stored in the ledger before they are written, so that events are not renumbered twice if the
    run is killed.
    """
    members_before = ledger.facts.get("topics")  # event number -> documents before the renumbering
    if not members_before and not ledger.facts.get("renumbered"):
        return []
    from odl.alerts import feedback

    if members_before:
        folder = working.folder_of("alerts")
        renumbered = feedback.renumber_events(feedback.read("."), folder, members_before)
        ledger.set_fact("renumbered", [*renumbered])
        ledger.set_fact("topics", {})
    ledger.save()
    entries, sentences = ledger.facts["renumbered"]
    if sentences:
        feedback.write(".", [feedback.FeedbackLine(*entry) for entry in entries])
    ledger.set_fact("renumbered", [])
    return sentences


def _report_documents(working, ledger):
    """Compare the documents with those of the last run, and record their number for the next run.

    The ledger has two facts: "counted" is the digest and the number of documents, and "implausible"
    is the number of implausible times. Implausible times are reported only if their number changes.

    Returns
    -------
    str
        Number of documents and its change, number of repeated rows, and a document with an
        implausible time.
    """
    path = _path_of_documents(working)
    digest = ledger.digest(path)
    counted_digest, before = ledger.facts.get("counted", ["", None])
    if digest == counted_digest:
        return f"no new documents since the last run; {before:,} in all"
    from odl.files import documents as docs
    from odl.files import storage

    with storage.reading(path, "documents") as file:
        n, repeats = int(file["ids"].attrs["length"]), docs.read_repeats(file)
        n_wrong, row = _implausible(storage.read_array(file, "times", "i"), time.time())
        example = visible(storage.read_strings(file, "ids")[row]) if n_wrong else ""
    ledger.set_fact("counted", [digest, n])
    phrases = [account_of(n, before), str(repeats)]
    if n_wrong != ledger.facts.get("implausible", 0):
        ledger.set_fact("implausible", n_wrong)
        if n_wrong:
            verb = "documents have times" if n_wrong > 1 else "document has a time"
            when = f"before 1970 or after tomorrow, such as {example}"
            phrases.append(f"{n_wrong:,} {verb} {when}; correct them")
    return "; ".join(filter(None, phrases))


def _path_of_documents(working):
    """Return the path of the documents of a folder's stream."""
    return os.path.join(working.names["root"], working.names["corpus"], "documents.h5")


def _implausible(times, now):
    """Return (number of times before 1970 or after tomorrow, first row with such a time or None).

    Parameters
    ----------
    times : ndarray
        Times in ms.
    now : float
        Current time in s.
    """
    from odl.files.documents import NO_TIME

    wrong = (times != NO_TIME) & ((times < 0) | (times > 1000 * (now + DAY_SECONDS)))
    return int(wrong.sum()), int(wrong.argmax()) if wrong.any() else None


def _set_aside(working, ledger, named):
    """Write the table of documents that `odl run` could not read or `odl watch` refused.

    The table is written only if a file that it depends on has changed since the last run.

    Returns
    -------
    list of str
        A line with the number of these documents and the path of the table. Empty without any.
    """
    documents = _path_of_documents(working)
    table = os.path.join(working.config["results"], "set-aside.tsv")
    paths = documents, table, os.path.join("inbox", ".refused")
    *digests, account = ledger.facts.get("aside", [""])
    if digests != [*map(ledger.digest, paths)]:
        from odl.files import setaside, storage
        from odl.live import refused

        with storage.reading(documents, "documents") as file:
            entries = setaside.read(file)
        try:
            refusals, older = refused.read_entries()
        except StorageError as error:  # the next watch begins a new list
            return [str(error)]
        setaside.write_table(table, entries + refusals)
        account = setaside.account(entries + refusals, older)
        if older:
            account += f" (the table lists the last {len(refusals):,} that odl watch refused)"
        ledger.set_fact("aside", [*map(ledger.digest, paths), account])
    return [f"{account}: {os.path.normpath(os.path.join(named, table))}"] if account else []


def account_of(n, before=None):
    """Return a phrase with the number of documents n, and its change if `before` is known."""
    if before is None:
        return f"{n:,} document{'s' * (n != 1)}; no earlier run is recorded"
    if n == before:
        return f"documents or files changed, their number did not; {n:,} in all"
    noun = "document" if abs(n - before) == 1 else "documents"
    direction = "fewer" if n < before else "more"
    return f"{abs(n - before):,} {noun} {direction} than in the last run; {n:,} in all"


def _send_alerts(ledger, words, named):
    """Send new alerts to the command in the key ``notify`` of odl.yaml.

    The ledger records a complete delivery, so that a run without changes need not read the alerts.

    Returns
    -------
    list of str
        Lines of the report about delivered and failed alerts. Empty without a command.
    """
    key = [*words, ledger.digest("new.html"), ledger.digest("feedback.csv")]
    if not words or ledger.facts.get(project.NOTIFY) == key:
        return []
    from odl.live import notify

    lines, complete = notify.deliver(".", words, named)
    if complete:
        ledger.set_fact(project.NOTIFY, key)
    return lines


def _describe_outdated(loop, named):
    """Return a list with a line about results that another version of the code wrote."""
    if not loop.outdated:
        return []
    parts = ", ".join(
        f"{name} of {len(steps)}" if len(steps) > 1 else name
        for name, steps in loop.outdated.items()
    )
    options = loop.folder.stream["options"]
    programs = ["odl", *packages_of(options)]
    if isinstance(options.get("vectors"), dict):
        programs.append("the encoder")
    return [
        f"computed by another version of {' or '.join(programs)}, and still used: {parts}; "
        f"`odl run {named} --again` repeats them"
    ]


def _absent_facets(working, n):
    """Return a list with a line about columns in `options.facets` that the last period lacks."""
    if not (wanted := working.stream["options"].get("facets")):
        return []
    from odl.files import storage

    with storage.reading(working.path(STEPS["batch"].writes["output"], n - 1), "batch") as file:
        rows = storage.read_strings(file, "facets") if "facets" in file else []
    present = {name for row in rows for name in json.loads(row or "{}")}
    if not (absent := [name for name in wanted if name not in present]):
        return []
    noun, names = "columns" if len(absent) > 1 else "column", ", ".join(map(visible, absent))
    todo = f"correct options.facets of {project.FILE} if a name is wrong"
    return [f"facets: no document of the last period has the {noun} {names}; {todo}"]


def _plan(loop):
    """Return the steps that would run, as lines with timesteps and reason."""
    if not loop.done:
        return "nothing to do: all results are up to date"
    groups = {}
    for call in loop.done:
        groups.setdefault((call.step, re.sub(r"\d+\.h5", "", call.reason)), []).append(call)
    lines = [
        f"  {name}{_spans([call.t for call in steps])}: {steps[0].reason}"
        for (name, _), steps in groups.items()
    ]
    return "\n".join(["would be done:", *lines, "and every later step whose input changes"])


def _spans(times):
    """Return timesteps as text, such as " 3 to 5, 8"; "" for steps without a timestep."""
    spans = []
    for t in times:
        if t is None:
            continue
        if spans and t == spans[-1][1] + 1:
            spans[-1][1] = t
        else:
            spans.append([t, t])
    words = (f"{first} to {last}" if first < last else str(first) for first, last in spans)
    return " " + ", ".join(words) if spans else ""


@dataclass
class Progress:
    """Printed progress of a run: a line about reading and a line about the timesteps.

    Parameters
    ----------
    stream : text file
    live : bool
        Whether `stream` is a terminal, on which lines are updated. On other streams, only finished
        lines are written.
    clock : callable
        Returns the time in seconds.

    Attributes
    ----------
    steps : int
        Number of timesteps.
    first : int or None
        First timestep of this run.
    began, drawn : float
        Times when the current phase began and when its line was last drawn.
    text : str
        Text of the current line.
    """

    stream: Any
    live: bool
    clock: Any = time.monotonic
    steps: int = 0
    first: int | None = None
    began: float = 0.0
    drawn: float = 0.0
    text: str = ""

    def started(self, step, t=None):
        """Record the start of a step."""
        if not self.began or (t is not None and self.first is None):
            self.began, self.first = self.clock(), t

    def finished(self, step, t=None, note=""):
        """Show that a step has ended.

        Parameters
        ----------
        step : str
        t : int, optional
        note : str
            Number of documents that were read, or days of the timestep.
        """
        spent = self.clock() - self.began
        if step == "read":
            self._show(f"reading      {note}", f"  {duration(spent)}", end=True)
        elif t is not None:
            n_done, n_steps, remaining = t - self.first, self.steps - self.first, ""
            if 0 < n_done < n_steps:
                remaining = f"  {duration(spent / n_done * (self.steps - t))} left"
            days = re.search(r"\d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?", note)
            label = f"timestep     {t} of {self.steps - 1}{f'  {days[0]}' if days else ''}"
            self._show(label, remaining, done=(n_done + 1, n_steps))

    def close(self):
        """End the current line, which shows the last state if the run ended early."""
        if self.text:
            self._show(self.text, f"  {duration(self.clock() - self.began)}", end=True)

    def _show(self, text, times="", end=False, done=()):
        """Redraw the current line on a terminal; write only complete lines to other streams."""
        now, self.text = self.clock(), "" if end else text
        if self.live and (end or now - self.drawn > REDRAW_SECONDS):
            self.drawn = now
            terminal.redraw(text + times, self.stream, *done)
        elif end:
            self.stream.write(text + times)
        self.stream.write("\n" * end)
        self.stream.flush()


def unread(folder, corpus):
    """Return a phrase about unread files next to the sources; "" if there are none.

    Parameters
    ----------
    folder : path-like
        Folder to which the sources are relative.
    corpus : dict
        ``sources`` and ``options`` of the stream.
    """
    named = [_locate(os.fspath(folder), source) for source in corpus["sources"]]
    kind, phrases = corpus["options"].get("kind"), []
    if siblings := filekinds.unread_siblings(named, kind):
        phrases.append(f"{filekinds.unread(siblings)} of {Path(folder, project.FILE)}")
    if left_out := filekinds.left_out(named, kind):
        phrases.append(left_out)
    return f"not read: {'; '.join(phrases)}" if phrases else ""


def _locate(folder, source):
    """Return a source relative to the working directory, as a path or a pattern."""
    path = os.path.join(folder, source)
    return path if os.path.exists(path) else os.path.join(glob.escape(folder), source)
