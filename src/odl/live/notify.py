"""Run the command of the setting `notify`, if it is trusted, at least once for each new alert."""

import json
import os
import time

from odl.config import commands, project
from odl.files.atomic import replacing

KEY = project.NOTIFY
DELIVERED_FILE = ".notified.txt"  # file next to odl.yaml with ids of delivered alerts, one a line
MAX_TRIES = 3  # calls of the command per alert and run
RETRY_SECONDS = 1.0  # wait before the second call; doubled before each further one
NOTIFY_SECONDS = 30.0  # time limit of a call
N_NOTIFIED_PERIODS = 100  # latest periods whose alerts are delivered; the page shows as many


def deliver(folder, words, named):
    """Run the notification command of a folder once for each undelivered alert.

    The first time, only alerts of the last period are delivered.

    Parameters
    ----------
    folder : path-like
        Folder with alerts. The caller must hold the lock of the folder, so that no other process
        delivers alerts.
    words : list of str
        Command and arguments. It runs in the folder and reads the alert as JSON from standard
        input.
    named : str
        Folder as the user typed it, for messages.

    Returns
    -------
    messages : list of str
    complete : bool
        Whether all alerts are delivered.
    """
    if not commands.is_trusted(folder, words):
        return [
            f"{KEY} was not run: its command is not trusted here; "
            f"read it, then type: odl trust {named}"
        ], False
    from odl.alerts import maps, read, views

    watch = read.alerts_of(folder, last=N_NOTIFIED_PERIODS)
    pairs = [
        (views.urn_of(watch, "document", alert["id"]), alert, period)
        for period in watch.periods
        for alert in maps.alert_maps(watch, period)
    ]
    path, count = os.path.join(folder, DELIVERED_FILE), 0
    if not os.path.exists(path):
        with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.writelines(
                f"{name}\n" for name, _, period in pairs if period is not watch.periods[-1]
            )
    with open(path, "r+", encoding="utf-8") as record:
        delivered = _read_delivered(record)
        pending = [pair for pair in pairs if pair[0] not in delivered]
        for name, alert, _ in pending:
            if fault := _call(folder, words, {**alert, "alert": name}):
                n_pending = len(pending)
                summary = f"{n_pending - count} of {n_pending} alerts could not be delivered"
                return [f"{KEY}: {summary} ({fault}); the next odl run tries them again"], False
            record.write(f"{name}\n")
            record.flush()
            os.fsync(record.fileno())
            count += 1
    return [f"{KEY}: {count} alert{'s' * (count != 1)} delivered"] if count else [], True


def _read_delivered(record):
    """Return the ids in the open file of delivered alerts, as a set.

    A kill may leave an incomplete last line. This line is removed from the file, so that the next
    id begins a line.
    """
    text = record.read()
    complete_lines = text[: text.rfind("\n") + 1]
    record.seek(len(complete_lines.encode()))
    record.truncate()
    return {*complete_lines.split("\n")}


def _call(folder, words, message):
    """Run a command with a message, up to `MAX_TRIES` times; return the last error or ""."""
    text = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    _, fault = commands.run(folder, words, text, NOTIFY_SECONDS)
    for number in range(MAX_TRIES - 1):
        if not fault:
            return ""
        time.sleep(RETRY_SECONDS * 2**number)
        _, fault = commands.run(folder, words, text, NOTIFY_SECONDS)
    return f"{words[0]} {fault}, tried {MAX_TRIES} times" if fault else ""
