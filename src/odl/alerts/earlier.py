"""Read alerts of format 2 as periods of this version.

Topics become events, and documents that were alerts become headlines. Format 2 has no p of a
headline. At most 1 in 20 of its periods without news had an alert, so each headline gets p = 1/20.
It does not store the words by which documents join events, the evidence t of words, or usual
numbers of documents.
"""

import json

import numpy as np

from odl.alerts.model import STATES, Event, Headline, brief_history
from odl.files import storage

EARLIER_P = 0.05  # p of each headline: share of the periods without news that had an alert
LONE_GATE = "lone"  # gate of documents without a topic
NOVEL_LISTED = 5  # most novel documents that are listed
EARLIER_FACTS = {
    "first": int,
    "last": int,
    "first_seen": float,
    "labelled": bool,
    "empty": int,
    "repeats": int,
}
EARLIER_ARRAYS = {"topic": "event"} | {
    name: name for name in ("score", "tail", "context", "item", "near", "likeness")
}
EARLIER_CHANGES = ("sizes", "changes")


def settings_of(settings):
    """Return settings of alerts under their present names; `level` was a tail probability."""
    return settings | {"tail": settings["level"], "certain": 0.0}


def values(file, settings):
    """Return the fields of a period that the earlier format stores differently.

    The documents are dicts under "items".

    Parameters
    ----------
    file : h5py.File
        File of kind "alerts" in the earlier format.
    settings : dict
    """
    (changes,) = storage.read_strings(file, "topics")
    changes = json.loads(changes)
    facts = {name: kind(storage.attribute(file, name)) for name, kind in EARLIER_FACTS.items()}
    unproven = bool(storage.attribute(file, "warm_up"))
    arrays = {
        now: storage.read_array(file, name, "if", ndim=None) for name, now in EARLIER_ARRAYS.items()
    }
    items = [json.loads(line) for line in storage.read_strings(file, "pool")]
    opened = [item for item in items if item.pop("gate", "") and not unproven]
    events = events_of(file, int(storage.attribute(file, "t")))
    headlines = _headlines(opened, arrays["event"], events) if settings["gates"] else []
    chosen = items[:NOVEL_LISTED] if settings["gates"] else items
    return {
        **arrays,
        **{name: [tuple(entry) for entry in changes[name]] for name in EARLIER_CHANGES},
        **facts,
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
    """Return the headline of a topic, or of a document without a topic, from its alerts."""
    words = tuple(dict.fromkeys(word for item in items for word in item.get("opening", ())))
    examples = tuple(item["row"] for item in items)
    if isinstance(number, tuple):
        return Headline(
            (), words, 0.0, 0.0, 0.0, examples, np.nan, EARLIER_P, LONE_GATE, examples=examples
        )
    event, rows = events[number], tuple(np.flatnonzero(topic_of == number).tolist())
    values = (
        event.name,
        words,
        0.0,
        0.0,
        0.0,
        rows,
        np.nan,
        EARLIER_P,
        "words",
        number,
        event.state,
    )
    return Headline(*values, examples=examples)


def born(changes):
    """Return [(number, [(id, title)])] of the new topics of a period, with one document each."""
    return [(number, [(ident, title)]) for number, ident, title in changes["born"]]


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
