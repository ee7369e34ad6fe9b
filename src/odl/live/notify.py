"""The command of a folder that is told of each alert: trusted by hand, run without a shell, at least once each."""

import json
import os
import time

from odl.config import commands, project
from odl.files.atomic import replacing

KEY = project.NOTIFY
RECORD = ".notified.txt"  # beside odl.yaml: ids of the alerts that were delivered, one a line
TRIES, PAUSE = 3, 1.0  # times an alert is tried in a run, and seconds before the second one, twice as many each time
LIMIT = 30.0  # seconds that a command may take
LAST = 100  # periods that are looked at, those of the page


def deliver(folder, words, named):
    """Run the command of a folder with each alert that it was not told of; at first with those of the last period.

    Parameters
    ----------
    folder : path-like
        Run before; nobody else delivers its alerts meanwhile.
    words : list of str
        Of the command, which is run in the folder with the alert as JSON on its standard input.
    named : str
        The folder, as a person called it.

    Returns
    -------
    (list of str, bool)
        What to tell, and whether nothing is left to deliver.
    """
    if not commands.is_trusted(folder, words):
        return [f"{KEY} was not run: its command is not trusted here; look at it, then say odl trust {named}"], False
    from odl.alerts import maps, read, show

    watch = read.alerts_of(folder, last=LAST)
    told = [(period, alert) for period in watch.periods for alert in maps.alerts_of(watch, period)]
    pairs = [(show.urn(watch, "document", alert[0].id), alert, period) for period, alert in told]
    path, count = os.path.join(folder, RECORD), 0
    if not os.path.exists(path):
        with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name, _, period in pairs if period is not watch.periods[-1])
    with open(path, "r+", encoding="utf-8") as record:
        known = _known(record)
        pending = [pair for pair in pairs if pair[0] not in known]
        for name, alert, period in pending:
            if fault := _tell(folder, words, {**maps.document_map(watch, period, *alert), "alert": name}):
                left = f"{len(pending) - count} of {len(pending)} alerts are not delivered"
                return [f"{KEY}: {left} ({fault}); the next odl run tries them again"], False
            record.write(f"{name}\n")
            record.flush()
            os.fsync(record.fileno())
            count += 1
    return [f"{KEY}: {count} alert{'s' * (count != 1)} delivered"] if count else [], True


def _known(record):
    """Return the ids in a record, which is then to be written on: without a line that a kill has cut."""
    text = record.read()
    whole = text[: text.rfind("\n") + 1]
    record.seek(len(whole.encode()))
    record.truncate()
    return {*whole.split("\n")}


def _tell(folder, words, message):
    """Run a command with a message, several times where it fails; return what was wrong at last, "" for nothing."""
    fault, text = "", json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    for number in range(TRIES):
        time.sleep(PAUSE * 2 ** (number - 1) if number else 0.0)
        if not (fault := commands.run(folder, words, text, LIMIT)[1]):
            return ""
    return f"{words[0]} {fault}, tried {TRIES} times"
