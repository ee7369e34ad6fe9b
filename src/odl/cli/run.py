"""``odl run``: the loop over a person's folder, its progress on the screen, and what is new at the end."""

import contextlib
import os
import sys
import time
from pathlib import Path

from odl.cli import lastrun
from odl.cli.progress import Progress, duration
from odl.config import places, project
from odl.engine import folder as folders
from odl.engine import forking, lock, stopping
from odl.engine.ledger import Ledger
from odl.engine.loop import Loop
from odl.errors import ConfigError
from odl.live import inbox, notify


def run(folder, *, again=False, check=False, dry=False, wait=0.0, cores=None):
    """Run what is new in a folder.

    Parameters
    ----------
    folder : path-like
        Written by `odl.cli.init`.
    again : bool
        Do again what another version of the code made.
    check : bool
        Read and verify every file, whatever was remembered of it.
    dry : bool
        Only say what would be done, and why.
    wait : float
        Seconds to wait for another run of the folder.
    cores : int, optional
        Processes that read files at a time; by default as many as there are cores.

    Returns
    -------
    str
        What to tell: what is new, or what would be done.

    Raises
    ------
    OdlError
        If the folder, its configuration or a file is wrong; `BusyError` if another run has it.
    """
    began, named = time.monotonic(), os.fspath(folder)
    if project.read(folder).get("driver") == "snakemake":
        fault = f"{folder} is driven by Snakemake (driver in {project.FILE})"
        raise ConfigError(fault, "a folder of `odl run`", f"type: cd {folder} && snakemake --cores {forking.cores()}")
    with contextlib.chdir(folder):
        inbox.settle()
        place, words = folders.opened(), notify.command_of(".")
        if wrong := places.unwritable(place.names["root"]):
            raise ConfigError(f"{wrong} may not be written", "a folder for results", "correct it, or set 'results'")
        with stopping.heeding() as heed, lock.alone(place.lock, wait):
            options = {"words": words, "again": again, "dry": dry, "cores": cores or forking.cores()}
            *lines, last = _run(place, Ledger(place.ledger, check), named, began, check=heed.check, **options)
    return "\n".join([*lines, *filter(None, [lastrun.unread(folder, place.stream)]), last])


def _run(place, ledger, named, began, *, words, dry, **options):
    shown = Progress(sys.stderr, sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    loop = Loop(place, ledger, None if dry else shown, dry=dry, anew=lambda: _note_topics(place, ledger), **options)
    try:
        n = loop.run()
        if dry:
            return [_plan(loop)]
        if moved := _renumber(place, ledger):
            loop.page(n)
        shown.close()
        told = _ending(place, ledger, n, [one.t for one in loop.done if one.step == "alerts"])
    except BaseException as error:
        shown.close(whole=False)
        if isinstance(error, KeyboardInterrupt):
            told = f"what was finished is kept, and `odl run {named}` goes on from there"
            print(f"odl run: stopped; {told}", file=sys.stderr)
        with contextlib.suppress(OSError):  # the first file that found no room is the one to name
            ledger.save()
        raise
    finally:
        loop.write_costs()
    ledger.save()
    told = told.replace("odl explain FOLDER", f"odl explain {named}").replace("odl new FOLDER", f"odl new {named}")
    lines = [told, _documents(place, ledger)]
    lines += [*moved, *_outdated(loop, named), *_told(ledger, words, named)]
    ledger.save()
    page = os.path.join(named, "new.html")
    done = f"done in {duration(time.monotonic() - began)}" if loop.done else "nothing has changed since the last run"
    return [*lines, f"{done}; open {page}"]


def _ending(place, ledger, n, done):
    """Return what this run and those before it that did not end well brought; it is kept as long as the page is."""
    key = [ledger.digest("new.html") or "", ledger.digest("feedback.csv") or ""]
    ending = ledger.told.get("ending")
    if ending and ending[:2] == key:
        return ending[2]
    from odl.alerts import read, show
    from odl.stream import losses

    folder = place.folder_of("alerts")
    now = [(ledger.digest(os.path.join(folder, f"{t}.h5")) or "")[:16] for t in range(n)]
    before = ledger.told.get("ended", [] if not ending else None)
    if before is not None:
        done = [t for t in range(n) if before[t : t + 1] != now[t : t + 1]]
    ledger.tell("ended", now)
    watch = read.alerts_of(".", last=n - min(done, default=n - 1))
    stream = Path(place.names["root"], place.names["corpus"])
    cleaned = losses.sentence(stream / "documents.h5", place.folder_of("features"))
    new = filter(None, [show.as_text(watch, watch.periods), show.next_in_line(watch, watch.periods)])
    text = "\n".join([*new, "", *filter(None, [cleaned])])
    ledger.tell("ending", [*key, text])
    return text


def _note_topics(place, ledger):
    """Keep the documents of the topics that feedback.csv names, until `_renumber` has found them again."""
    from odl.alerts import feedback

    numbers = {entry.topic for entry in feedback.read(".") if entry.topic}
    if numbers and not ledger.told.get("topics"):
        ledger.tell("topics", feedback.members(place.folder_of("alerts"), place.folder_of("features"), numbers))
        ledger.save()


def _renumber(place, ledger):
    """Return what changed in feedback.csv, in sentences; killed at any moment, it ends with the same lines."""
    before, said = ledger.told.get("topics"), []
    if not before and not ledger.told.get("renumbered"):
        return said
    from odl.alerts import feedback

    if before:
        folders_of = place.folder_of("alerts"), place.folder_of("features")
        entries, said = feedback.renumbered(feedback.read("."), *folders_of, before)
        ledger.tell("renumbered", [entries, said])
        ledger.tell("topics", {})
    if ledger.told.get("renumbered"):
        ledger.save()
        entries, said = ledger.told["renumbered"]
        if said:
            feedback.write(".", [feedback.Entry(*entry) for entry in entries])
        ledger.tell("renumbered", [])
    return said


def _documents(place, ledger):
    """Return how many documents are new since the last run that ended well."""
    path = os.path.join(place.names["root"], place.names["corpus"], "documents.h5")
    key, noted = ledger.digest(path), ledger.told.get("documents", ["", ""])
    if key != noted[0] or not os.path.exists(lastrun.FILE):
        now, repeats = lastrun.read(path)
        said = lastrun.sentence(".", now, repeats)
        lastrun.keep(".", now)
        ledger.tell("documents", [key, f"0 new documents since the run before; {len(now.keys):,} in all"])
    else:
        said = noted[1]
    return said


def _told(ledger, words, named):
    """Give the alerts to the command of the folder, if it names one; return what to tell of that."""
    key = [*words, ledger.digest("new.html"), ledger.digest("feedback.csv")]
    if not words or ledger.told.get(notify.KEY) == key:
        return []
    lines, complete = notify.deliver(".", words, named)
    if complete:
        ledger.tell(notify.KEY, key)
    return lines


def _outdated(loop, named):
    """Return what another version of the code made, in a sentence."""
    if not loop.outdated:
        return []
    parts = ", ".join(f"{name} of {len(steps)}" if len(steps) > 1 else name for name, steps in loop.outdated.items())
    return [f"made by another version of odl, and kept: {parts}; `odl run {named} --again` makes it anew"]


def _plan(loop):
    """Return what would be done, a line for each step and reason."""
    if not loop.done:
        return "nothing to do: all results are up to date"
    lines, groups = ["would be done:"], {}
    for one in loop.done:
        groups.setdefault(one.step, []).append(one)
    for name, steps in groups.items():
        times = [one.t for one in steps if one.t is not None]
        span = f" {times[0]}" if len(times) == 1 else f" {times[0]} to {times[-1]}" if times else ""
        lines.append(f"  {name}{span}: {steps[0].reason}")
    return "\n".join(lines)
