"""The file of one period: what its documents are called, what the next period goes on from. HDF5, kind "alerts"."""

import json
from dataclasses import dataclass, field, fields

import numpy as np
from scipy import sparse

from odl.alerts.candidates import Memory
from odl.errors import StorageError
from odl.files import storage

KIND = "alerts"
LISTS = ("ids", "titles", "members", "sources", "urls", "words", "near_words", "near_ids")  # of the pool
ARRAYS = {"rows": "i", "times": "i", "lines": "i", "shares": "f"}


@dataclass
class Pool:
    """The r most novel items of a period, the most novel first.

    Attributes
    ----------
    rows, times, lines : ndarray of int64, shape (r,)
        Of the first document: row of the batch, time, line of its source (0: not known).
    ids, titles, sources, urls : list of str
        Likewise.
    members : list of str
        Ids of all documents of the item, separated by tabs.
    words : list of str
        Leading words of its reasons, separated by spaces.
    shares : ndarray of float32, shape (r, words at most)
        Their shares; 0 where there are fewer.
    near_words, near_ids : list of str
        Words of the nearest atoms and a document of each, separated by tabs.
    """

    rows: np.ndarray
    ids: list
    titles: list
    times: np.ndarray
    members: list
    sources: list
    lines: np.ndarray
    urls: list
    words: list
    shares: np.ndarray
    near_words: list
    near_ids: list


@dataclass
class Record:
    """One period: n documents, most of them never shown.

    Attributes
    ----------
    t : int
    run : dict
        corpus, seed, run, atoms, algorithm.
    settings : dict
        As `odl.alerts.settings.Settings`.
    facts : dict
        first, last (times), first_seen, labelled, warm_up, empty (documents without a word).
    score, tail, context : ndarray of float64, shape (n,)
        Score; its probability under recent ones; the part of it that is no word's.
    item, topic : ndarray of int64, shape (n,)
        Row of the first near-duplicate; number of the topic, 0 for none.
    near, likeness : ndarray of int64 and float32, shape (n, 2)
        Nearest atoms before learning (-1: none) and their cosines.
    shares : ndarray of float32
        Words' shares of the score, in the order of the entries of the counts in the features; None where not read.
    pool : Pool
    sizes, changes, born, joined
        As in `odl.alerts.candidates.Found`; of `born` the id and the title of the document.
    names : dict of int to str
        Words of the topics that are remembered, by number, separated by spaces.
    atoms : dict of int to int
        Topic to the atom that holds it now.
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
    pool: Pool
    sizes: dict
    changes: list
    born: list
    joined: list
    names: dict = field(default_factory=dict)
    atoms: dict = field(default_factory=dict)


@dataclass
class Carried:
    """What the next period goes on from.

    Attributes
    ----------
    t : int
    run, settings : dict
    digest : str
        Of the file.
    memory : odl.alerts.candidates.Memory
    recent : ndarray of float64
        Last scores.
    opened, documents : ndarray of int64, list of str
        Of each atom the number of the document that opened it (its own number for learners that do not say), and the
        id of the document that is most like it.
    linked : ndarray of int64
        Atom of each topic of the memory, -1 for none.
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


def write(path, record, carried):
    """Write a period, atomically and with reproducible bytes.

    Parameters
    ----------
    path : path-like
    record : Record
    carried : Carried
        Its `digest` is that of the file before.
    """
    attributes = {**record.run, "t": record.t, "settings": json.dumps(record.settings, sort_keys=True)}
    with storage.writing(path, KIND, **attributes, **record.facts, previous=carried.digest) as file:
        for name in ("score", "tail", "context", "shares", "item", "topic", "near", "likeness"):
            storage.write_array(file, name, getattr(record, name))
        pool = file.create_group("pool")
        for name in LISTS:
            storage.write_strings(pool, name, getattr(record.pool, name))
        for name in ARRAYS:
            storage.write_array(pool, name, getattr(record.pool, name))
        _write_pairs(file, "sizes", sorted(record.sizes.items()))
        for name in ("changes", "joined"):
            _write_pairs(file, name, getattr(record, name))
        _write_pairs(file, "born", [(number, ident) for number, ident, _ in record.born])
        storage.write_strings(file["born"], "titles", [title for *_, title in record.born])
        _write_memory(file.create_group("memory"), carried)


def _write_pairs(file, name, pairs):
    """Store topics with a number or a text each."""
    group = file.create_group(name)
    storage.write_array(group, "topics", np.array([number for number, _ in pairs], dtype=np.int64))
    values = [value for _, value in pairs]
    if name == "sizes":
        storage.write_array(group, "values", np.array(values, dtype=np.int64))
    else:
        storage.write_strings(group, "values", values)


def _write_memory(group, carried):
    memory = carried.memory
    group.attrs["given"] = memory.given
    for entry in fields(Memory):
        value = getattr(memory, entry.name)
        if sparse.issparse(value):
            storage.write_csr(group, entry.name, value)
        elif isinstance(value, list):
            storage.write_strings(group, entry.name, value)
        elif entry.name != "given":
            storage.write_array(group, entry.name, value)
    for name in ("recent", "opened", "linked"):
        storage.write_array(group, name, getattr(carried, name))
    storage.write_strings(group, "documents", carried.documents)


def read(path, shares=False):
    """Read a period; of what is carried only the names of the topics.

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
        names = storage.read_strings(file, "memory/names")
        numbers, atoms = (storage.read_array(file, f"memory/{name}", "i").tolist() for name in ("number", "linked"))
        born = _read_pairs(file, "born")
        titles = storage.read_strings(file, "born/titles")
        record = Record(
            **_heading(file),
            facts={name: file.attrs[name].item() for name in FACTS},
            **{name: storage.read_array(file, name) for name in ("score", "tail", "context")},
            **{name: storage.read_array(file, name, "i") for name in ("item", "topic")},
            near=storage.read_array(file, "near", "i", ndim=2),
            likeness=storage.read_array(file, "likeness", "f", ndim=2),
            shares=storage.read_array(file, "shares", "f") if shares else None,
            pool=_read_pool(file),
            sizes=dict(_read_pairs(file, "sizes")),
            **{name: _read_pairs(file, name) for name in ("changes", "joined")},
            born=[(number, ident, title) for (number, ident), title in zip(born, titles, strict=True)],
            names=dict(zip(numbers, names, strict=True)),
            atoms={number: atom for number, atom in zip(numbers, atoms, strict=True) if atom >= 0},
        )
        parts = (record.tail, record.context, record.item, record.topic, record.near, record.likeness)
        if any(len(part) != len(record.score) for part in parts):
            raise ValueError("its parts are of different documents")
        if len(record.pool.rows) and not 0 <= record.pool.rows.min() <= record.pool.rows.max() < len(record.score):
            raise ValueError("an item is none of its documents")
    return record


FACTS = ("first", "last", "first_seen", "labelled", "warm_up", "empty")
RUN = {"corpus": str, "seed": int, "run": str, "atoms": int, "algorithm": str}


def _heading(file):
    run = {name: kind(file.attrs[name]) for name, kind in RUN.items()}
    settings = json.loads(file.attrs["settings"])
    if not isinstance(settings, dict):
        raise ValueError("its settings are none")
    return {"t": int(file.attrs["t"]), "run": run, "settings": settings}


def _read_pairs(file, name):
    topics = storage.read_array(file, f"{name}/topics", "i").tolist()
    if name == "sizes":
        values = storage.read_array(file, f"{name}/values", "i").tolist()
    else:
        values = storage.read_strings(file, f"{name}/values")
    return list(zip(topics, values, strict=True))


def _read_pool(file):
    pool = Pool(
        **{name: storage.read_strings(file, f"pool/{name}") for name in LISTS},
        **{name: storage.read_array(file, f"pool/{name}", kind, ndim=None) for name, kind in ARRAYS.items()},
    )
    if {len(getattr(pool, name)) for name in (*LISTS, *ARRAYS)} != {len(pool.rows)}:
        raise ValueError("its items differ in number")
    return pool


def read_carried(path, run=None, settings=None, t=None):
    """Read what a period hands to the next one, refused where it is of another chain.

    Raises
    ------
    StorageError
        If the file is damaged, or of another run, other settings or another timestep.
    """
    with storage.reading(path, KIND) as file:
        held, heading = file["memory"], _heading(file)
        values = {"given": int(held.attrs["given"])}
        for entry in fields(Memory):
            if entry.type is list:
                values[entry.name] = storage.read_strings(held, entry.name)
            elif entry.type is sparse.csr_array:
                values[entry.name] = storage.read_csr(held, entry.name)
            elif entry.name != "given":
                values[entry.name] = storage.read_array(held, entry.name, "if", ndim=None)
        carried = Carried(
            **heading,
            digest=str(file.attrs["digest"]),
            memory=Memory(**values),
            **{name: storage.read_array(held, name, "if") for name in ("recent", "opened", "linked")},
            documents=storage.read_strings(held, "documents"),
        )
        memory = carried.memory
        if len({len(memory.number), *(len(getattr(memory, name)) for name in ("birth", "last", "items", "state"))}) > 1:
            raise ValueError("its topics differ in number")
        if memory.sums.shape != memory.held.shape or memory.sums.nnz != memory.held.nnz:
            raise ValueError("its topics have words of different number")
    for name, given, wanted in (("run", carried.run, run), ("settings", carried.settings, settings)):
        if wanted is not None and given != wanted:
            raise _other(path, f"{name} {given}", f"{wanted}")
    if t is not None and carried.t != t:
        raise _other(path, f"timestep {carried.t}", f"timestep {t}")
    return carried


def _other(path, given, expected):
    return StorageError(f"{path} is of {given}", expected, f"delete {path} and run the same command again")
