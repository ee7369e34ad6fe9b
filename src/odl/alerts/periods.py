"""Reader and writer of period files (HDF5, kind "alerts").

A file has the decision on a period, and the state that the next period needs.
"""

import contextlib
import json
import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from odl.alerts import decision, earlier
from odl.alerts.model import (
    STATES,
    Document,
    Event,
    Headline,
    Near,
    OwnWord,
    Period,
    Reason,
    Rest,
    Unseen,
    brief_history,
)
from odl.alerts.unseen import SeenWords
from odl.config.sections import Alerts
from odl.errors import EarlierError, StorageError
from odl.files import bundles, digests, storage

PERIOD_FILE = "alerts"
# Names of the HDF5 groups with the period, and with the state that the next period needs; prefix of
# the fields of `SeenWords` in the second group.
RECORD, MEMORY, UNSEEN = "period", "memory", "unseen_"
PERIOD_ARRAYS = ("score", "tail", "context", "item", "event", "near", "likeness", "novel")
# Scalar fields of a period and their types; one line of JSON stores them all.
PERIOD_FACTS = {
    "first": int,
    "last": int,
    "first_seen": float,
    "labelled": bool,
    "unproven": bool,
    "empty": int,
    "p": float,
    "usual": float,
    "repeats": int,
}
EVENT_CHANGES = ("sizes", "changes", "born")
JSON_FACTS = ("run", "settings", "languages", "gates", *EVENT_CHANGES)
# Fields of a document that its JSON line in the data set "items" contains, in this order.
DOCUMENT_FIELDS = (
    "row",
    "id",
    "title",
    "time",
    "source",
    "url",
    "members",
    "reasons",
    "led",
    "own",
    "nearest",
    "rest",
    "text",
    "opening",
    "phrases",
)
DOCUMENT_KEYS = {"reasons": "words", "nearest": "near"}  # fields with other keys in these lines
_json = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would create it at each call
SPARED_FIELDS = ("rest", "text", "opening", "phrases")  # fields omitted in these lines if empty


class Names(NamedTuple):
    """Ids, titles, source files (empty if unknown) and times (ms) of the documents of a period."""

    ids: list
    titles: list
    files: list
    times: np.ndarray


@dataclass
class Carried:
    """State from which the next period resumes.

    Attributes
    ----------
    t : int
        Number of the period.
    run, settings : dict
        Facts of the run (`Period.run`), and the settings of alerts.
    digest : str
        Digest of the period's file.
    past : odl.alerts.decision.StreamHistory
    opened, documents : ndarray of int64, list of str
        For each atom, the number of the document that opened the atom (the number of the atom if
        the learner does not record documents), and the id of the document most similar to the atom.
    terms : ndarray of int64, or None
        Ids of the terms; None if the vocabulary is not bounded.
    unseen : odl.alerts.unseen.SeenWords or None
        History of unseen words; None if they are not reported.
    """

    t: int
    run: dict
    settings: dict
    digest: str
    past: decision.StreamHistory
    opened: np.ndarray
    documents: list
    terms: np.ndarray | None = None
    unseen: SeenWords | None = None


def write(path, period, names, carried):
    """Write a period, atomically and with reproducible bytes.

    Parameters
    ----------
    path : path-like
    period : odl.alerts.model.Period
    names : Names
    carried : Carried
        Its `digest` is that of the previous period's file.

    Returns
    -------
    str
        Digest of the file.
    """
    with storage.writing(path, PERIOD_FILE, t=period.t, previous=carried.digest) as file:
        bundles.write(file, RECORD, _record_of(period, names))
        _write_carried(file, carried)
        return digests.seal(file)


def _record_of(period, names):
    """Return the stored arrays and lists of strings of a period and its documents, by name.

    `names` has the ids, titles, files and times of the documents (`Names`). The array "source"
    contains the index of each document's file in the list "sources".
    """
    facts = {name: kind(getattr(period, name)) for name, kind in PERIOD_FACTS.items()}
    facts |= {name: getattr(period, name) for name in JSON_FACTS}
    facts["settings"] = dict(sorted(period.settings.items()))  # equal periods have equal bytes
    record = {name: getattr(period, name) for name in (*PERIOD_ARRAYS, "shares")}
    if period.meaning is not None:
        record["meaning"] = period.meaning
    for name in ("headlines", "below", "unseen"):
        record[name] = [_json(vars(value)) for value in getattr(period, name)]
    index_of_file = {file: index for index, file in enumerate(sorted(set(names.files)))}
    return record | {
        "facts": [_json(facts)],
        "items": [_line(document) for document in period.documents_of.values()],
        "ids": names.ids,
        "titles": names.titles,
        "sources": [*index_of_file],
        "source": np.array([index_of_file[file] for file in names.files], dtype=np.int32),
        "times": names.times,
    }


def _line(document):
    """Return the stored fields of a document as JSON."""
    values = {name: getattr(document, name) for name in DOCUMENT_FIELDS}
    values = {name: value for name, value in values.items() if value or name not in SPARED_FIELDS}
    values["nearest"] = [(" ".join(atom.words), atom.id) for atom in document.nearest]
    return _json({DOCUMENT_KEYS.get(name, name): value for name, value in values.items()})


def _document(period, stored, rank):
    """Return a document from its stored fields (`_line`), the arrays of its period and its rank."""
    keys = {name: DOCUMENT_KEYS.get(name, name) for name in DOCUMENT_FIELDS}
    values = {name: stored[key] for name, key in keys.items() if key in stored}
    row = values["row"]
    columns = [column for column, atom in enumerate(period.near[row].tolist()) if atom >= 0]
    values["nearest"] = tuple(
        Near(
            int(period.near[row, column]),
            tuple(words.split()),
            float(period.likeness[row, column]),
            ident,
        )
        for column, (words, ident) in zip(columns, values["nearest"], strict=True)
    )
    values["reasons"] = tuple(Reason(*pair) for pair in values["reasons"])
    values["phrases"] = tuple((phrase, tuple(words)) for phrase, words in values.get("phrases", ()))
    values |= {name: tuple(values.get(name, ())) for name in ("members", "opening")}
    values["rest"] = Rest(*values["rest"]) if values.get("rest") else None
    return Document(**values | period.facts_of(row), rank=rank)


def _ranks(period):
    """Return {row of an item's first document: rank of its score}; rank 1 is the largest."""
    items = np.flatnonzero(period.item == np.arange(len(period.item)))
    order = items[np.argsort(-period.score[items], kind="stable")]
    return {row: rank for rank, row in enumerate(order.tolist(), start=1)}


def _write_carried(file, carried):
    """Write the state for the next period (`Carried`)."""
    arrays = decision.as_arrays(carried.past)
    arrays |= {"opened": carried.opened, "documents": carried.documents}
    if carried.terms is not None:
        arrays["terms"] = carried.terms
    if carried.unseen is not None:
        arrays |= {f"{UNSEEN}{name}": values for name, values in carried.unseen._asdict().items()}
    bundles.write(file, MEMORY, arrays)


def paths(folder):
    """Yield the paths of the period files 0.h5, 1.h5, ... in a folder, up to the first gap.

    Files after a gap belong to an earlier, longer run.
    """
    t = 0
    while os.path.exists(path := os.path.join(folder, f"{t}.h5")):
        yield path
        t += 1


def are_earlier(folder):
    """Return whether an earlier version wrote the periods in a folder.

    If the first period cannot be read, return False.
    """
    with (
        contextlib.suppress(StorageError),
        storage.reading(os.path.join(folder, "0.h5"), PERIOD_FILE) as file,
    ):
        return storage.is_earlier(file)
    return False


def read(path, shares=False):
    """Read a period without the state that the next period needs.

    Parameters
    ----------
    path : path-like
    shares : bool
        Whether to read the shares of all words.

    Returns
    -------
    odl.alerts.model.Period
        Its texts are those of the documents; they are not yet safe to print.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, PERIOD_FILE) as file:
        if storage.is_earlier(file):
            record = earlier.record_of(file)
            values = earlier.values(file, record)
        else:
            record = bundles.read(file, RECORD)
            values = _values(record)
        values["t"] = int(storage.attribute(file, "t"))
    items = values.pop("items")
    period = Period(
        **values,
        shares=record["shares"] if shares else None,
        unseen=[Unseen(**json.loads(line)) for line in record.get("unseen", [])],
        sources=[source for source in record["sources"] if source],
        meaning=record.get("meaning"),
    )
    rank_of = _ranks(period)
    period.documents_of = {
        item["row"]: _document(period, item, rank_of.get(item["row"], 0)) for item in items
    }
    return period


def _values(record):
    """Return the fields of a period whose storage depends on the version of the file, as a dict.

    `record` was read from a file of this version; see `odl.alerts.earlier.values` for format 2. The
    documents are dicts in the list "items".
    """
    facts = _facts(record)
    for name in EVENT_CHANGES:
        facts[name] = [tuple(entry) for entry in facts[name]]
    return {
        **facts,
        **{name: record[name] for name in PERIOD_ARRAYS},
        "items": [json.loads(line) for line in record["items"]],
        "headlines": [_headline(line) for line in record["headlines"]],
        "below": [_headline(line) for line in record["below"]],
    }


def _facts(record):
    """Return the fields `PERIOD_FACTS` and `JSON_FACTS` of a period, as a dict.

    Settings that the file lacks get their defaults.
    """
    facts = json.loads(record["facts"][0])
    facts["settings"] = Alerts.earlier() | facts["settings"]
    return facts


def _headline(line):
    """Return a headline from its JSON; lists become tuples."""
    values = json.loads(line)
    return Headline(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
    )


def read_names(path):
    """Return ids, titles, source files and times of the documents of a period (`Names`).

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    record = _read_some(path, ["ids", "titles", "sources", "source", "times"])
    files = [record["sources"][number] for number in record["source"].tolist()]
    return Names(record["ids"], record["titles"], files, record["times"])


def _read_some(path, names):
    """Return {name: stored array or list of strings} for some names of `_record_of`.

    From a file of an earlier format, all arrays and lists are returned.
    """
    with storage.reading(path, PERIOD_FILE) as file:
        if storage.is_earlier(file):
            return earlier.record_of(file)
        return bundles.read(file, RECORD, names)


def read_events(path):
    """Return (number of recent scores after a period, {event number: `Event`}).

    `Event.earlier` is the number of documents up to and including this period.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, PERIOD_FILE) as file:
        t = int(storage.attribute(file, "t"))
        if storage.is_earlier(file):
            return len(storage.read_array(file[MEMORY], "recent", "f")), earlier.events_of(file, t)
        memory = decision.from_arrays(bundles.read(file, MEMORY))
    return len(memory.recent), _events(memory.events, t)


def read_event_numbers(path):
    """Return the event number of each document in a period; 0 for documents without an event.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    return _read_some(path, ["event"])["event"]


def read_documents(path):
    """Return, for each atom after a period, the id of the document most similar to it.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, PERIOD_FILE) as file:
        if storage.is_earlier(file):
            return storage.read_strings(file[MEMORY], "documents")
        return bundles.read(file, MEMORY, ["documents"])["documents"]


def _events(memory, t):
    """Return {number: `Event`} for the events in the memory after period t.

    The memory has no sizes by period and no earlier states: all documents of an event count as
    `Event.earlier`, and its history has the birth and the present state only.
    """
    events = {}
    for row, number in enumerate(memory.number.tolist()):
        name = tuple(filter(None, memory.names[row].split("\t")))
        birth, threshold = int(memory.birth[row]), float(memory.threshold[row])
        event = Event(number, name, _own_words(memory, row), threshold, birth)
        event.earlier = int(memory.size[row])
        event.history = brief_history(birth, t, STATES[memory.state[row]])
        events[number] = event
    return events


def _own_words(memory, row):
    """Return the own words (`OwnWord`) of the event in a row of the memory, the strongest first."""
    span = slice(memory.inside.indptr[row], memory.inside.indptr[row + 1])
    rates = zip(
        memory.words[row].split("\t"),
        memory.inside.data[span],
        memory.before.data[span],
        strict=False,
    )
    words = [OwnWord(word, float(inside), float(before)) for word, inside, before in rates if word]
    strongest_first = np.lexsort((memory.weight.indices[span], -memory.weight.data[span]))
    return tuple(words[index] for index in strongest_first if index < len(words))


def read_births(path):
    """Return the first time of a period (ms) and its new events.

    An event is a pair: its number, and a list with the (id, title) of its central documents.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, PERIOD_FILE) as file:
        if storage.is_earlier(file):
            return earlier.births_of(file)
        facts = _facts(bundles.read(file, RECORD, ["facts"]))
        return facts["first"], facts["born"]


def read_carried(path, run=None, settings=None, t=None):
    """Return the state (`Carried`) that a period passes to the next one.

    Parameters
    ----------
    path : path-like
    run, settings : dict, optional
        Expected facts of the run, and expected settings of alerts.
    t : int, optional
        Expected number of the period.

    Raises
    ------
    StorageError
        If the file is damaged, or has another run, other settings or another period than expected.
    EarlierError
        If an earlier version wrote it.
    """
    with storage.reading(path, PERIOD_FILE) as file:
        if storage.is_earlier(file):
            todo = "type odl run FOLDER --again, or delete the results of a study and run it again"
            raise EarlierError(
                f"an earlier version of odl wrote {path}", "a file of this version", todo
            )
        arrays = bundles.read(file, MEMORY)
        unseen = {name: arrays.get(f"{UNSEEN}{name}") for name in SeenWords._fields}
        facts = _facts(bundles.read(file, RECORD, ["facts"]))
        carried = Carried(
            t=int(storage.attribute(file, "t")),
            run=facts["run"],
            settings=facts["settings"],
            digest=str(file.attrs["digest"]),
            past=decision.from_arrays(arrays),
            opened=arrays["opened"],
            documents=arrays["documents"],
            terms=arrays.get("terms"),
            unseen=None if unseen["largest"] is None else SeenWords(**unseen),
        )
    for name, value, wanted in (
        ("run", carried.run, run),
        ("settings", carried.settings, settings),
    ):
        if wanted is not None and value != wanted:
            raise _other(path, f"{name} {value}", f"{wanted}")
    if t is not None and carried.t != t:
        raise _other(path, f"timestep {carried.t}", f"timestep {t}")
    return carried


def _other(path, kind, expected):
    """Return the error about a file with another run, other settings or another timestep."""
    return StorageError(
        f"{path} is of {kind}", expected, f"delete {path} and run the same command again"
    )
