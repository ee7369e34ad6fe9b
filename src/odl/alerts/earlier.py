"""Read alerts of format 2 as periods of this version.

Topics become events, and documents that were alerts become headlines. Files of format 2 contain no
p-values. At most 1 in 20 of their periods without news had an alert, so each headline gets p =
1/20. The files contain neither the own words of events, nor the evidence t of words, nor usual
numbers of documents.
"""

import json
from dataclasses import replace

import numpy as np

from odl.alerts.model import STATES, Event, Headline, brief_history
from odl.config.sections import Alerts
from odl.files import storage

EARLIER_P = 0.05  # p of every headline: at most this share of periods without news had an alert
LONE_GATE = "lone"  # gate that documents without a topic get
NOVEL_LISTED = 5  # most novel documents that are listed
# Attributes of a period in a file of format 2, and their types.
EARLIER_FACTS = {
    "first": int,
    "last": int,
    "first_seen": float,
    "labelled": bool,
    "empty": int,
    "repeats": int,
}
# Arrays of a period: name in format 2 -> present name.
EARLIER_ARRAYS = {"topic": "event"} | {
    name: name for name in ("score", "tail", "context", "item", "near", "likeness")
}
EARLIER_CHANGES = ("sizes", "changes")  # lists of changes of topics, of events today
# Attributes about the run, and their types.
RUN_FACTS = {"corpus": str, "seed": int, "run": str, "atoms": int, "algorithm": str}


def record_of(file):
    """Return {name: array or list of strings} for the data sets of a period in format 2.

    The data set "topic" is returned under its present name, "event".
    """
    record = {}
    for name in file:
        if name == "memory":  # the group with the state for the next period
            continue
        if "length" in file[name].attrs:  # only lists of strings have this attribute
            values = storage.read_strings(file, name)
        else:
            values = storage.read_array(file, name, ndim=None)
        record[EARLIER_ARRAYS.get(name, name)] = values
    return record


def values(file, record):
    """Return the fields of a period that format 2 stores differently, as a dict.

    The documents are dicts in the list "items".

    Parameters
    ----------
    file : h5py.File
        File of kind "alerts" in the earlier format.
    record : dict
        Its arrays and lists of strings (`record_of`).
    """
    changes = json.loads(record["topics"][0])
    settings = Alerts.earlier() | json.loads(storage.attribute(file, "settings"))
    # The earlier `level` was a tail probability.
    settings |= {"tail": settings["level"], "certain": 0.0}
    facts = {name: kind(storage.attribute(file, name)) for name, kind in EARLIER_FACTS.items()}
    unproven = bool(storage.attribute(file, "warm_up"))
    arrays = {name: record[name] for name in EARLIER_ARRAYS.values()}
    items = [json.loads(line) for line in record["pool"]]
    opened = [item for item in items if item.pop("gate", "") and not unproven]
    events = events_of(file, int(storage.attribute(file, "t")))
    headlines = _headlines(opened, arrays["event"], events) if settings["gates"] else []
    chosen = items[:NOVEL_LISTED] if settings["gates"] else items
    return {
        **arrays,
        **{name: [tuple(entry) for entry in changes[name]] for name in EARLIER_CHANGES},
        **facts,
        "run": {name: kind(storage.attribute(file, name)) for name, kind in RUN_FACTS.items()},
        "settings": settings,
        "languages": json.loads(file.attrs.get("languages", "{}")),
        "unproven": unproven,
        "p": EARLIER_P if headlines else 1.0,
        "usual": 0.0,
        "novel": np.array([item["row"] for item in chosen], dtype=np.int64),
        "items": items,
        "headlines": headlines,
        "born": born(changes),
    }


def _headlines(items, topic_of, events):
    """Return a headline for each topic with an alert, and for each alert without a topic."""
    groups = {}
    for item in items:
        number = int(topic_of[item["row"]])
        groups.setdefault(number or (LONE_GATE, item["row"]), []).append(item)
    return [_headline(number, group, topic_of, events) for number, group in groups.items()]


def _headline(number, items, topic_of, events):
    """Return the alerts about one topic, or the alert about a lone document, as a headline.

    `number` is the number of the topic, or (`LONE_GATE`, row) for a document without a topic.
    """
    words = tuple(dict.fromkeys(word for item in items for word in item.get("opening", ())))
    examples = tuple(item["row"] for item in items)
    lone = Headline(
        name=(), words=words, t=0.0, t_all=0.0, t_recent=0.0, rows=examples, usual=np.nan,
        p=EARLIER_P, gate=LONE_GATE, examples=examples,
    )  # fmt: skip
    if isinstance(number, tuple):
        return lone
    event, rows = events[number], tuple(np.flatnonzero(topic_of == number).tolist())
    return replace(lone, name=event.name, rows=rows, gate="words", event=number, state=event.state)


def born(changes):
    """Return (number, [(id, title)]) for each new topic of a period.

    Format 2 stores one document for each topic.
    """
    return [(number, [(ident, title)]) for number, ident, title in changes["born"]]


def births_of(file):
    """Return (first time of a period in ms, its new topics as `born` returns them)."""
    (changes,) = storage.read_strings(file, "topics")
    return int(file.attrs["first"]), born(json.loads(changes))


def events_of(file, t):
    """Return {number: `Event`} of the topics stored after period t."""
    memory = file["memory"]
    columns = [
        storage.read_array(memory, name, "i").tolist()
        for name in ("number", "birth", "items", "state")
    ]
    events = {}
    for number, birth, size, state, name in zip(
        *columns, storage.read_strings(memory, "names"), strict=True
    ):
        event = events[number] = Event(
            number, tuple(filter(None, name.split("\t"))), (), 0.0, birth, earlier=size
        )
        event.history = brief_history(birth, t, STATES[state])
    return events
