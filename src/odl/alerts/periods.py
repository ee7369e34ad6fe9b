"""The file of one period: what its documents are called, what the next period goes on from. HDF5, kind "alerts"."""

import json
import os
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts.gates import Past
from odl.alerts.memory import Memory
from odl.alerts.model import STATES, Unseen
from odl.alerts.unseen import Past as PastWords
from odl.config.sections import Alerts
from odl.errors import StorageError
from odl.files import checkpoints, digests, storage

KIND = "alerts"
ARRAYS = ("score", "tail", "context", "item", "topic", "near", "likeness")  # a row each document
CHANGES = ("sizes", "changes", "born", "joined", "names", "atoms")
FACTS = ("first", "last", "first_seen", "labelled", "warm_up", "empty", "repeats")
MIX = "languages"  # how many documents are of each language, where several are told
SPARED = ("gate", "rest", "text", "opening", "phrases")  # of an item, where it is empty
STORED = {"occurrences": "held"}  # fields of the memory that have another name in the file
RUN = {"corpus": str, "seed": int, "run": str, "atoms": int, "algorithm": str}


@dataclass
class Item:
    """One of the most novel items of a period, with what is shown of it.

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
    gate : str
        The gate that it opens, one of `odl.alerts.gates.GATES`; empty for none.
    opening : list of str
        Its words that open the gate of words, the rarest first.
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
    gate: str = ""
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
        first, last (times), first_seen, labelled, warm_up, empty (documents without a word), repeats (items that
        repeat one of an earlier period).
    score, tail, context : ndarray of float64, shape (n,)
        Score; its probability under recent ones; the part of it that is no word's.
    item, topic : ndarray of int64, shape (n,)
        Row of the first near-duplicate; number of the topic, 0 for none.
    near, likeness : ndarray of int64 and float32, shape (n, 2)
        Nearest atoms before learning (-1: none) and their cosines.
    shares : ndarray of float32
        Words' shares of the score, in the order of the entries of the counts in the features; None where not read.
    pool : list of Item
        The most novel first.
    sizes, changes, born, joined : list of tuple
        As in `odl.alerts.candidates.Changes`; of `born` the id and the title of the document.
    names : list of (int, str)
        Topics that have another name from now on; its parts are separated by tabs.
    atoms : list of (int, int)
        Topics, and the atoms that hold them now.
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
    topic: np.ndarray
    near: np.ndarray
    likeness: np.ndarray
    shares: np.ndarray
    pool: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    changes: list = field(default_factory=list)
    born: list = field(default_factory=list)
    joined: list = field(default_factory=list)
    names: list = field(default_factory=list)
    atoms: list = field(default_factory=list)
    unseen: list = field(default_factory=list)
    languages: dict = field(default_factory=dict)
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
    memory : odl.alerts.memory.Memory
    recent : ndarray of float64
        Last scores.
    opened, documents : ndarray of int64, list of str
        Of each atom the number of the document that opened it (its own number for learners that do not say), and the
        id of the document that is most like it.
    linked : ndarray of int64
        Atom of each topic of the memory, -1 for none.
    terms : ndarray of int64, or None
        Ids of the terms of the memory, where the vocabulary is bounded.
    gates : odl.alerts.gates.Past, or None
        What they compare the next period with, where there are gates.
    unseen : odl.alerts.unseen.Past or None
        The same for new words, where they are told.
    """

    t: int
    run: dict
    settings: dict
    digest: str
    memory: Memory
    recent: np.ndarray
    opened: np.ndarray
    documents: list
    linked: np.ndarray
    terms: np.ndarray | None = None
    gates: Past | None = None
    unseen: PastWords | None = None


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
        storage.write_strings(file, "pool", [_line(item) for item in record.pool])
        if carried.unseen is not None:
            storage.write_strings(file, "unseen", [json.dumps(vars(one), ensure_ascii=False) for one in record.unseen])
        changes = {name: getattr(record, name) for name in CHANGES}
        storage.write_strings(file, "topics", [json.dumps(changes, ensure_ascii=False)])
        _write_names(file, names)
        _write_memory(file.create_group("memory"), carried)
        return digests.seal(file)


def _write_names(file, names):
    sources = {source: number for number, source in enumerate(sorted(set(names.files)))}
    for name, texts in (("ids", names.ids), ("titles", names.titles), ("sources", list(sources))):
        storage.write_strings(file, name, texts)
    storage.write_array(file, "source", np.array([sources[source] for source in names.files], dtype=np.int32))
    storage.write_array(file, "times", names.times)


def _line(item):
    """Return an item as JSON, without a key for what it does not have."""
    entry = {name: value for name, value in vars(item).items() if value or name not in SPARED}
    return json.dumps(entry, ensure_ascii=False)


def _write_memory(group, carried):
    memory = carried.memory
    group.attrs["given"] = memory.numbered
    for entry in fields(Memory):
        value, name = getattr(memory, entry.name), STORED.get(entry.name, entry.name)
        if sparse.issparse(value):
            storage.write_csr(group, name, value)
        elif isinstance(value, list):
            storage.write_strings(group, name, value)
        elif entry.name != "numbered":
            storage.write_array(group, name, value)
    for name in ("recent", "opened", "linked"):
        storage.write_array(group, name, getattr(carried, name))
    storage.write_strings(group, "documents", carried.documents)
    if carried.terms is not None:
        storage.write_array(group, "terms", carried.terms)
    for kind, past in (("gates", carried.gates), ("unseen", carried.unseen)):
        for name, values in past._asdict().items() if past is not None else ():
            storage.write_array(group, f"{kind}_{name}", values)


def paths(folder):
    """Yield the files of the periods in a folder, oldest first; those behind a gap are of an earlier, longer run."""
    t = 0
    while os.path.exists(path := os.path.join(folder, f"{t}.h5")):
        yield path
        t += 1


def read(path, shares=False):
    """Read a period, but for what the next one goes on from.

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
        (changes,) = storage.read_strings(file, "topics")
        return Record(
            **_heading(file),
            facts={name: storage.attribute(file, name) for name in FACTS},
            **{name: storage.read_array(file, name, "if", ndim=None) for name in ARRAYS},
            shares=storage.read_array(file, "shares", "f") if shares else None,
            pool=[Item(**json.loads(line)) for line in storage.read_strings(file, "pool")],
            unseen=[Unseen(**json.loads(line)) for line in _lines(file, "unseen")],
            languages=json.loads(file.attrs.get(MIX, "{}")),
            sources=[source for source in _lines(file, "sources") if source],
            meaning=storage.read_array(file, "meaning") if "meaning" in file else None,
            **{name: [tuple(entry) for entry in entries] for name, entries in json.loads(changes).items()},
        )


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


class Known(NamedTuple):
    """A topic after a period: birth, items so far, state, parts of its name separated by tabs, its atom or -1."""

    birth: int
    items: int
    state: str
    name: str
    atom: int


def read_topics(path):
    """Return how many scores a period hands on, and its topics by number (`Known`).

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        memory = file["memory"]
        columns = ("number", "birth", "items", "state", "linked")
        columns = [storage.read_array(memory, name, "i").tolist() for name in columns]
        rows = zip(*columns, storage.read_strings(memory, "names"), strict=True)
        known = {
            number: Known(birth, items, STATES[state], name, atom) for number, birth, items, state, atom, name in rows
        }
        return len(storage.read_array(memory, "recent", "f")), known


def read_births(path):
    """Return the first time of a period, the topics that it found, and the earlier items that joined them.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, KIND) as file:
        (changes,) = storage.read_strings(file, "topics")
        changes = json.loads(changes)
        return int(file.attrs["first"]), changes["born"], changes["joined"]


def _heading(file):
    run = {name: kind(storage.attribute(file, name)) for name, kind in RUN.items()}
    settings = Alerts.earlier() | json.loads(storage.attribute(file, "settings"))
    return {"t": int(storage.attribute(file, "t")), "run": run, "settings": settings}


def read_carried(path, run=None, settings=None, t=None):
    """Read what a period hands to the next one, refused where it is of another chain.

    Raises
    ------
    StorageError
        If the file is damaged, or of another run, other settings or another timestep.
    """
    with storage.reading(path, KIND) as file:
        group, heading = file["memory"], _heading(file)
        values = {"numbered": int(group.attrs["given"])}
        for entry in fields(Memory):
            name = STORED.get(entry.name, entry.name)
            if entry.type is list:
                values[entry.name] = storage.read_strings(group, name)
            elif entry.type is sparse.csr_array:
                values[entry.name] = storage.read_csr(group, name)
            elif entry.name != "numbered":
                values[entry.name] = storage.read_array(group, name, "if", ndim=None)
        carried = Carried(
            **heading,
            digest=str(file.attrs["digest"]),
            memory=Memory(**values),
            **{name: storage.read_array(group, name, "if") for name in ("recent", "opened", "linked")},
            documents=storage.read_strings(group, "documents"),
            terms=checkpoints.read_terms(group),
            gates=_read_past(group, "gates", Past),
            unseen=_read_past(group, "unseen", PastWords),
        )
    for name, value, wanted in (("run", carried.run, run), ("settings", carried.settings, settings)):
        if wanted is not None and value != wanted:
            raise _other(path, f"{name} {value}", f"{wanted}")
    if t is not None and carried.t != t:
        raise _other(path, f"timestep {carried.t}", f"timestep {t}")
    return carried


def _read_past(group, kind, past):
    """Return what a period is compared with; None where it is not kept."""
    if f"{kind}_{past._fields[0]}" not in group:
        return None
    kept = [name for name in past._fields if f"{kind}_{name}" in group]  # fewer in a file of before
    return past(**{name: storage.read_array(group, f"{kind}_{name}", "ifu", ndim=None) for name in kept})


def _other(path, kind, expected):
    return StorageError(f"{path} is of {kind}", expected, f"delete {path} and run the same command again")
