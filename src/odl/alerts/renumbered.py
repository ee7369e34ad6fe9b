"""Topics of feedback.csv found again by their documents, where alerts are made anew and topics get other numbers."""

import contextlib
import os
from collections import Counter

from odl.alerts import feedback
from odl.errors import StorageError
from odl.files import storage


def members(alerts, features, numbers):
    """Return the ids of the documents of some topics.

    Parameters
    ----------
    alerts, features : path-like
        Folders with ``{t}.h5``; a period whose two files are damaged or of different documents tells nothing.
    numbers : set of int

    Returns
    -------
    dict
        Number of a topic (as text) to a list of ids.
    """
    found = {str(number): [] for number in sorted(numbers)}
    for topics, ids in _periods(alerts, features):
        for row, number in enumerate(topics):
            if number in numbers:
                found[str(number)].append(ids[row])
    return found


def _periods(alerts, features):
    """Yield the topic and the id of each document of a period."""
    t = 0
    while os.path.exists(path := os.path.join(alerts, f"{t}.h5")):
        topics, ids = [], []
        with contextlib.suppress(StorageError):  # the others tell enough
            with storage.reading(path, "alerts") as file:
                topics = storage.read_array(file, "topic", "i").tolist()
            if any(topics):
                with storage.reading(os.path.join(features, f"{t}.h5"), "features") as file:
                    ids = storage.read_strings(file, "ids")
        if len(ids) == len(topics):
            yield topics, ids
        t += 1


def follow(entries, alerts, features, before):
    """Return the lines of feedback.csv with the numbers that their topics have now, and what changed, in sentences.

    A topic is the one that holds most of its documents. A line whose documents are in no topic is taken out.

    Parameters
    ----------
    entries : iterable of odl.alerts.feedback.Entry
    alerts, features : path-like
    before : dict
        As `members` returned, before alerts were made anew.
    """
    where = {ident: number for number, each in before.items() for ident in each}
    now = {number: Counter() for number in before}
    for topics, ids in _periods(alerts, features):
        for number, ident in zip(topics, ids, strict=True):
            if number and ident in where:
                now[where[ident]][number] += 1
    kept, said = {}, []
    for entry in entries:
        what = entry.what
        if str(entry.topic) in before:
            ((number, shared),) = now[str(entry.topic)].most_common(1) or [(0, 0)]
            what = f"topic:{number}"
            if not number:
                said.append(f"{feedback.FILE}: {entry.what} is no topic any more, its line ({entry.verdict}) is gone")
                continue
            if what != entry.what:
                of = f"{shared} of its {len(before[str(entry.topic)])} documents"
                said.append(f"{feedback.FILE}: {entry.what} is {what} now, by {of}")
        if what in kept and kept[what].verdict != entry.verdict:
            said.append(f"{feedback.FILE}: {what} was said to be {kept[what].verdict} and is {entry.verdict} now")
        kept[what] = entry._replace(what=what)
    return list(kept.values()), said
