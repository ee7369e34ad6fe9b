"""The file of one period: what was decided on it, what the next period goes on from. HDF5, kind "alerts"."""

import contextlib
import json
import os
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import decision, earlier
from odl.alerts.model import STATES, Headline, OwnWord, Unseen
from odl.alerts.unseen import SeenWords
from odl.config.sections import Alerts
from odl.errors import EarlierError, StorageError
from odl.files import checkpoints, digests, storage

KIND = "alerts"
ARRAYS = ("score", "tail", "context", "item", "event", "near", "likeness", "novel")
CHANGES = ("sizes", "changes", "born")
FACTS = ("first", "last", "first_seen", "labelled", "unproven", "empty", "repeats", "p", "usual")
MIX = "languages"  # how many documents are of each language, where several are told
SPARED = ("rest", "text", "opening", "phrases")  # of an item, where it is empty
RUN = {"corpus": str, "seed": int, "run": str, "atoms": int, "algorithm": str}


@dataclass
class Item:
    """A document of a period, or a group of near-duplicates, with what is shown of it.

    Attributes
    ----------
    row, id, title, time, source, url
        Of its first document; the row of the batch.
    members : list of str
        Ids of all its documents.
    words : list of (str, float)
        Its reasons: words and shares, `led` of them of other documents as well.
    led : int
    own : float
        Share of all words that no other document has.
    near : list of (str, str)
        Words of the nearest atoms, separated by spaces, and the id of a document of each.
    rest : list, or None
        Values of `odl.alerts.model.Rest`; None where they are not kept.
    text : str
        Excerpt of it around its reasons; empty where texts are not kept.
    opening : list of str
        Its words that are words of its headline, the strongest first.
    phrases : list of (str, list of str)
        Its words that are named, as its text spells and joins them (`odl.alerts.phrasing.phrases`).
    """

    row: int
    id: str
    title: str
    time: int
    source: str
    url: str
    members: list
    words: list
    led: int
    own: float
    near: list
    rest: list | None = None
    text: str = ""
    opening: list = field(default_factory=list)
    phrases: list = field(default_factory=list)


@dataclass
class Record:
    """One period: n documents, most of them never shown.

    Attributes
    ----------
    t : int
    run : dict
        corpus, seed, run, atoms, algorithm.
    settings : dict
        As `odl.config.sections.Alerts`.
    facts : dict
        first, last (times), first_seen, labelled, unproven, empty (documents without a word), repeats (items that
        repeat one of an earlier period), p, usual.
    score, tail, context : ndarray of float64, shape (n,)
        Score; its probability under recent ones; the part of it that is no word's.
    item, event : ndarray of int64, shape (n,)
        Row of the first near-duplicate; number of the event, 0 for none.
    near, likeness : ndarray of int64 and float32, shape (n, 2)
        Nearest atoms before learning (-1: none) and their cosines.
    novel : ndarray of int64
        Rows of the most novel items, the most novel first.
    shares : ndarray of float32
        Words' shares of the score, in the order of the entries of the counts in the features; None where not read.
    items : list of Item
        Documents that are shown.
    headlines, below : list of odl.alerts.model.Headline
        Those that speak, and the strongest others.
    gates : dict of str to float
        p of each gate that was tested.
    sizes : list of (int, int)
        Events and their documents in the period.
    changes : list of (int, str)
        Events and their new states.
    born : list of (int, list of (str, str))
        New events; ids and titles of central documents.
    languages : dict of str to int
        Documents of each language that is told (`odl.text.stopwords.mix`).
    unseen : list of odl.alerts.model.Unseen
        Words that no document before has.
    sources : list of str
        Files that its documents are of, by name; empty where that is not known.
    meaning : ndarray of float64, or None
        The part of vectors in each score; None of a run of words alone.
    """

    t: int
    run: dict
    settings: dict
    facts: dict
    score: np.ndarray
    tail: np.ndarray
    context: np.ndarray
    item: np.ndarray
    event: np.ndarray
    near: np.ndarray
    likeness: np.ndarray
    novel: np.ndarray
    shares: np.ndarray
    items: list = field(default_factory=list)
    headlines: list = field(default_factory=list)
    below: list = field(default_factory=list)
    gates: dict = field(default_factory=dict)
    sizes: list = field(default_factory=list)
    changes: list = field(default_factory=list)
    born: list = field(default_factory=list)
    languages: dict = field(default_factory=dict)
    unseen: list = field(default_factory=list)
    sources: list = field(default_factory=list)
    meaning: np.ndarray | None = None


class Names(NamedTuple):
    """Ids, titles, source files and times of the documents of a period; a file is empty where it is not known."""

    ids: list
    titles: list
    files: list
    times: np.ndarray


@dataclass
class Carried:
    """What the next period goes on from.

    Attributes
    ----------
    t : int
    run, settings : dict
    digest : str
        Of the file.
    past : odl.alerts.decision.StreamHistory
    opened, documents : ndarray of int64, list of str
        Of each atom the number of the document that opened it (its own number for learners that do not say), and the
        id of the document that is most like it.
    terms : ndarray of int64, or None
        Ids of the terms, where the vocabulary is bounded.
    unseen : odl.alerts.unseen.SeenWords or None
        What new words are compared with, where they are told.
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


def write(path, record, names, carried):
    """Write a period, atomically and with reproducible bytes.

    Parameters
    ----------
    path : path-like
    record : Record
    names : Names
    carried : Carried
        Its `digest` is that of the file before.

    Returns
    -------
    str
        Digest of the file.
    """
    attributes = {**record.run, "t": record.t, "settings": json.dumps(record.settings, sort_keys=True)}
    if record.languages:
        attributes[MIX] = json.dumps(record.languages, sort_keys=True)
    with storage.writing(path, KIND, **attributes, **record.facts, previous=carried.digest) as file:
        for name in (*ARRAYS, "shares"):
            storage.write_array(file, name, getattr(record, name))
        if record.meaning is not None:
            storage.write_array(file, "meaning", record.meaning)
        storage.write_strings(file, "items", [_line(item) for item in record.items])
        for name in ("headlines", "below"):
            storage.write_strings(file, name, [_json(asdict(one)) for one in getattr(record, name)])
        if carried.unseen is not None:
            storage.write_strings(file, "unseen", [_json(vars(one)) for one in record.unseen])
        storage.write_strings(file, "events", [_json({name: getattr(record, name) for name in (*CHANGES, "gates")})])
        _write_names(file, names)
        _write_carried(file.create_group("memory"), carried)
        return digests.seal(file)


def _json(values):
    return json.dumps(values, ensure_ascii=False)


def _write_names(file, names):
    sources = {source: number for number, source in enumerate(sorted(set(names.files)))}
    for name, texts in (("ids", names.ids), ("titles", names.titles), ("sources", list(sources))):
        storage.write_strings(file, name, texts)
    storage.write_array(file, "source", np.array([sources[source] for source in names.files], dtype=np.int32))
    storage.write_array(file, "times", names.times)


def _line(item):
    """Return an item as JSON, without a key for what it does not have."""
    return _json({name: value for name, value in vars(item).items() if value or name not in SPARED})


def _write_carried(group, carried):
    _write_past(group, carried.past)
    storage.write_array(group, "opened", carried.opened)
    storage.write_strings(group, "documents", carried.documents)
    if carried.terms is not None:
        storage.write_array(group, "terms", carried.terms)
    if carried.unseen is not None:
        for name, values in carried.unseen._asdict().items():
            storage.write_array(group, f"unseen_{name}", values)


def _write_past(group, past):
    for name, value in decision.as_arrays(past).items():
        if sparse.issparse(value):
            storage.write_csr(group, name, value)
        elif isinstance(value, list):
            storage.write_strings(group, name, value)
        else:
            storage.write_array(group, name, value)


def _read_past(group):
    types = {
        f"{part}_{name}": each for part, kind in decision.PARTS.items() for name, each in kind.__annotations__.items()
    }
    readers = {list: storage.read_strings, sparse.csr_array: storage.read_csr}
    found = {}
    for name in decision.as_arrays(decision.StreamHistory.nothing()):
        read = readers.get(types.get(name))
        found[name] = read(group, name) if read else storage.read_array(group, name, "ifu", ndim=None)
    return decision.from_arrays(found)


def paths(folder):
    """Yield the files of the periods in a folder, oldest first; those behind a gap are of an earlier, longer run."""
    t = 0
    while os.path.exists(path := os.path.join(folder, f"{t}.h5")):
        yield path
        t += 1


def are_earlier(folder):
    """Return whether an earlier version wrote the periods in a folder; False if the first one cannot be read."""
    with contextlib.suppress(StorageError), storage.reading(os.path.join(folder, "0.h5"), KIND) as file:
        return storage.is_earlier(file)
    return False


def read(path, shares=False):
    """Read a period without the state that the next period needs.

    Parameters
    ----------
    path : path-like
    shares : bool
        Whether the shares of all words are read.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        heading = _heading(file)
        values = earlier.values(file, heading["settings"]) if storage.is_earlier(file) else _values(file)
        return Record(
            **heading,
            **values | {"items": [Item(**item) for item in values["items"]]},
            shares=storage.read_array(file, "shares", "f") if shares else None,
            unseen=[Unseen(**json.loads(line)) for line in _lines(file, "unseen")],
            languages=json.loads(file.attrs.get(MIX, "{}")),
            sources=[source for source in _lines(file, "sources") if source],
            meaning=storage.read_array(file, "meaning") if "meaning" in file else None,
        )


def _values(file):
    """Return the fields of a record that an earlier version stored otherwise, items as maps."""
    (changes,) = storage.read_strings(file, "events")
    changes = json.loads(changes)
    return {
        "facts": {name: storage.attribute(file, name) for name in FACTS},
        **{name: storage.read_array(file, name, "if", ndim=None) for name in ARRAYS},
        "items": [json.loads(line) for line in storage.read_strings(file, "items")],
        **{name: [_headline(line) for line in storage.read_strings(file, name)] for name in ("headlines", "below")},
        "gates": changes.pop("gates"),
        **{name: [tuple(entry) for entry in entries] for name, entries in changes.items()},
    }


def _headline(line):
    """Return a headline from its JSON; lists are tuples."""
    values = json.loads(line)
    return Headline(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _lines(file, name):
    return storage.read_strings(file, name) if name in file else []


def read_names(path):
    """Return what the documents of a period are called (`Names`).

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        sources, source = storage.read_strings(file, "sources"), storage.read_array(file, "source", "i")
        ids, titles = (storage.read_strings(file, name) for name in ("ids", "titles"))
        files = [sources[number] for number in source.tolist()]
        return Names(ids, titles, files, storage.read_array(file, "times", "i"))


class KnownEvent(NamedTuple):
    """An event after a period: birth, documents so far, state, name, own words (`OwnWord`), threshold."""

    birth: int
    size: int
    state: str
    name: tuple
    words: tuple
    threshold: float


def read_events(path):
    """Return how many scores a period hands on, and its events by number (`KnownEvent`).

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        if storage.is_earlier(file):
            known = {number: KnownEvent(*topic, (), 0.0) for number, topic in earlier.topics_of(file).items()}
            return len(storage.read_array(file["memory"], "recent", "f")), known
        memory = _read_past(file["memory"])
    return len(memory.recent), known_events(memory.events)


def read_event_numbers(path):
    """Return the number of the event of each document of a period, 0 for none.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        return storage.read_array(file, "topic" if storage.is_earlier(file) else "event", "i")


def read_documents(path):
    """Return the id of the document that is most like each atom after a period.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        return storage.read_strings(file["memory"], "documents")


def known_events(memory):
    """Return the events of a memory by number (`KnownEvent`)."""
    found = {}
    for row, number in enumerate(memory.number.tolist()):
        span = slice(memory.inside.indptr[row], memory.inside.indptr[row + 1])
        order = np.lexsort((memory.weight.indices[span], -memory.weight.data[span]))
        rates = zip(memory.words[row].split("\t"), memory.inside.data[span], memory.before.data[span], strict=False)
        words = [OwnWord(word, float(inside), float(before)) for word, inside, before in rates if word]
        found[number] = KnownEvent(
            int(memory.birth[row]), int(memory.size[row]), STATES[memory.state[row]],
            tuple(filter(None, memory.names[row].split("\t"))), tuple(words[at] for at in order if at < len(words)),
            float(memory.threshold[row]),
        )  # fmt: skip
    return found


def read_births(path):
    """Return the first time of a period, and the events that it found with ids and titles of central documents.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        was = storage.is_earlier(file)
        (changes,) = storage.read_strings(file, "topics" if was else "events")
        changes = json.loads(changes)
        return int(file.attrs["first"]), earlier.born(changes) if was else changes["born"]


def _heading(file):
    run = {name: kind(storage.attribute(file, name)) for name, kind in RUN.items()}
    settings = Alerts.earlier() | json.loads(storage.attribute(file, "settings"))
    settings = earlier.settings_of(settings) if storage.is_earlier(file) else settings
    return {"t": int(storage.attribute(file, "t")), "run": run, "settings": settings}


def read_carried(path, run=None, settings=None, t=None):
    """Read what a period hands to the next one, refused where it is of another chain.

    Raises
    ------
    StorageError
        If the file is damaged, or of another run, other settings or another timestep.
    EarlierError
        If an earlier version wrote it.
    """
    with storage.reading(path, KIND) as file:
        if storage.is_earlier(file):
            todo = "type odl run FOLDER --again, or delete the results of a study and run it again"
            raise EarlierError(f"an earlier version of odl wrote {path}", "a file of this version", todo)
        group = file["memory"]
        carried = Carried(
            **_heading(file),
            digest=str(file.attrs["digest"]),
            past=_read_past(group),
            opened=storage.read_array(group, "opened", "if"),
            documents=storage.read_strings(group, "documents"),
            terms=checkpoints.read_terms(group),
            unseen=_read_unseen(group) if "unseen_largest" in group else None,
        )
    for name, value, wanted in (("run", carried.run, run), ("settings", carried.settings, settings)):
        if wanted is not None and value != wanted:
            raise _other(path, f"{name} {value}", f"{wanted}")
    if t is not None and carried.t != t:
        raise _other(path, f"timestep {carried.t}", f"timestep {t}")
    return carried


def _read_unseen(group):
    return SeenWords(
        **{name: storage.read_array(group, f"unseen_{name}", "ifu", ndim=None) for name in SeenWords._fields}
    )


def _other(path, kind, expected):
    return StorageError(f"{path} is of {kind}", expected, f"delete {path} and run the same command again")
