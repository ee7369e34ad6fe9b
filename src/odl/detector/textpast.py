"""Past of a `TextNovelty` beside its detector, as arrays of a file: near-duplicates, ids, topics, gates."""

import json
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import decision, gates, memory
from odl.corpora.collection import DIGEST, Register
from odl.stream import duplicates
from odl.text.shingles import Shingler


class Repeats(NamedTuple):
    """Groups of the documents of the last batches, and the set of shingles of each (`odl.stream.duplicates`)."""

    groups: duplicates.Groups = duplicates.NONE
    sets: tuple = ()

    def after(self, texts):
        """Return the same with one more batch, forgetting what is not compared any more."""
        shingler, t = Shingler(), self.groups.t + 1
        sets = [shingler.of(text) for text in texts]
        groups = duplicates.grouped(self.groups, self.sets, sets, [_name(t, row) for row in range(len(texts))])
        return Repeats(groups, (*self.sets, *sets)[-len(groups.names) :])

    def arrays(self):
        """Return what `of` makes the same from."""
        shingles = np.concatenate([np.zeros(0, dtype=np.int32), *self.sets])
        ends = np.cumsum([len(one) for one in self.sets], dtype=np.int64)
        return {
            "shingles": shingles,
            "shingle_ends": ends,
            "item_born": self.groups.born,
            "item_starts": self.groups.starts,
        }

    @classmethod
    def of(cls, arrays, t):
        """Return what `arrays` was made of after batch t.

        Raises
        ------
        ValueError
            If they do not fit together.
        """
        shingles, ends, born, starts = (arrays[name] for name in REPEATS)
        n = len(ends)
        sound = [part.dtype == kind for part, kind in zip((shingles, ends, born, starts), REPEATS_TYPES, strict=True)]
        sound += [shingles.ndim == ends.ndim == starts.ndim == 1, born.shape == (n, 2), len(starts) > 1]
        if not all(sound) or [*starts[[0, -1]], *ends[-1:]] != [0, n, len(shingles)] or n == 0:
            raise ValueError("shingles and documents differ in number")
        if np.diff(starts).min() < 0 or np.diff(ends, prepend=0).min() < 0 or not _ascend(shingles, ends):
            raise ValueError("shingles of documents that are none")
        names = [_name(*pair) for pair in born.tolist()]
        return cls(duplicates.Groups(t, starts, names, born), tuple(np.split(shingles, ends[:-1])))


REPEATS, REPEATS_TYPES = (
    ("shingles", "shingle_ends", "item_born", "item_starts"),
    (np.int32, np.int64, np.int64, np.int64),
)


def _name(t, row):
    return f"{t}:{row}"


def _ascend(shingles, ends):
    """Return whether the shingles of each document do."""
    inside = np.ones(len(shingles), dtype=bool)
    inside[np.append(0, ends[:-1])[np.diff(ends, prepend=0) > 0]] = False
    return bool(np.all(np.diff(shingles)[inside[1:]] > 0))


GATES = tuple(f"gates_{name}" for name in gates.Past._fields)
TOPICS = tuple(f"topic_{field.name}" for field in fields(memory.Memory))
NAMES = (*REPEATS, *GATES, *TOPICS, "ids", "contents")


def arrays(repeats, past, register):
    """Return what `read` makes the same from.

    Parameters
    ----------
    repeats : Repeats
    past : odl.alerts.decision.Past
    register : odl.corpora.collection.Register
    """
    topics = {name: getattr(past.topics, name.removeprefix("topic_")) for name in TOPICS}
    topics |= {name: _bytes(value) for name, value in topics.items() if isinstance(value, list)}
    topics["topic_numbered"] = np.array([past.topics.numbered])
    compared = dict(zip(GATES, past.gates or gates.Past(), strict=True))
    contents = np.frombuffer(b"".join(register.contents.values()), dtype=np.uint8)
    return repeats.arrays() | topics | compared | {"ids": _bytes([*register.contents]), "contents": contents}


def read(stored, t, n_terms, options, changed):
    """Return what `arrays` was made of after batch t; version 0.2 had nothing of it.

    Parameters
    ----------
    stored : dict of str to array
        None for what the file lacks.
    t, n_terms : int
    options : odl.config.sections.Alerts
    changed : str

    Raises
    ------
    AttributeError, TypeError, ValueError
        If they do not fit together.
    """
    register, blank = Register(changed), memory.nothing(options)
    if all(value is None for value in stored.values()):
        return Repeats(replace(duplicates.NONE, t=t)), decision.Past(blank, np.zeros(0)), register
    ids, contents = _list(stored["ids"]), stored["contents"].tobytes()
    if len(contents) != DIGEST * len(ids):
        raise ValueError("ids and contents differ in number")
    register.contents = {name: contents[DIGEST * at : DIGEST * (at + 1)] for at, name in enumerate(ids)}
    compared = gates.Past.of(stored[name] for name in GATES)
    past = decision.Past(_topics(stored, n_terms, blank), np.zeros(0), compared if options.gates else None)
    return Repeats.of(stored, t), past, register


def _topics(stored, n_terms, blank):
    """Return the memory of topics that a file has, of the kinds of a blank one."""
    values = {"numbered": int(stored["topic_numbered"][0])}
    for field in fields(memory.Memory)[1:]:
        value, like = stored[f"topic_{field.name}"], getattr(blank, field.name)
        values[field.name] = value = _list(value) if isinstance(like, list) else value
        if isinstance(like, np.ndarray) and (value.dtype, value.shape[1:]) != (like.dtype, like.shape[1:]):
            raise ValueError("its topics have values of another kind")
        if sparse.issparse(like) and not (sparse.issparse(value) and value.shape[1] == n_terms):
            raise ValueError("its topics are of other terms than it names")
    topics = memory.Memory(**values)
    topics.check(n_terms)
    return topics


def _bytes(names):
    return np.frombuffer(json.dumps(names, ensure_ascii=False).encode(), dtype=np.uint8)


def _list(stored):
    names = json.loads(stored.tobytes())
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("a list of other things than names")
    return names
