"""Past of a `TextNovelty` beside its detector, as arrays of a file: near-duplicates, ids, events, gates."""

import json
from typing import NamedTuple

import numpy as np

from odl.alerts import decision
from odl.corpora.collection import DIGEST_BYTES, Register
from odl.detector.mechanism import as_bytes
from odl.stream import duplicates
from odl.text.shingles import Shingler


class Repeats(NamedTuple):
    """Groups of the documents of the last batches, and the set of shingles of each (`odl.stream.duplicates`)."""

    groups: duplicates.Groups = duplicates.NO_GROUPS
    sets: tuple = ()

    def after(self, texts):
        """Return the same with one more batch, forgetting what is not compared any more."""
        shingler, t = Shingler(), self.groups.t + 1
        sets = [shingler.shingle(text) for text in texts]
        groups = duplicates.grouped(self.groups, self.sets, sets, [_name(t, row) for row in range(len(texts))])
        return Repeats(groups, (*self.sets, *sets)[-len(groups.names) :])


WORD_RULES = 2  # version of the rules for words and pieces; states saved by version 1 have other pieces
REPEATS = ("shingles", "shingle_ends", "item_born", "item_starts")


def _name(t, row):
    return f"{t}:{row}"


PAST = {f"past_{name}": value for name, value in decision.as_arrays(decision.StreamHistory.nothing()).items()}
NAMES = (*REPEATS, *PAST, "ids", "contents")


def arrays(repeats, past, register):
    """Return what `read` makes the same from.

    Parameters
    ----------
    repeats : Repeats
    past : odl.alerts.decision.StreamHistory
    register : odl.corpora.collection.Register
    """
    past = decision.as_arrays(past._replace(recent=np.zeros(0)))  # the detector has the scores
    past = {f"past_{name}": as_bytes(value) if isinstance(value, list) else value for name, value in past.items()}
    shingles = np.concatenate([np.zeros(0, dtype=np.int32), *repeats.sets])
    ends = np.cumsum([len(one) for one in repeats.sets], dtype=np.int64)
    again = dict(zip(REPEATS, (shingles, ends, repeats.groups.born, repeats.groups.starts), strict=True))
    contents = np.frombuffer(b"".join(register.contents.values()), dtype=np.uint8)
    return again | past | {"ids": as_bytes([*register.contents]), "contents": contents}


def read(stored, t, changed):
    """Return what `arrays` was made of after batch t.

    Parameters
    ----------
    stored : dict of str to array
    t : int
    changed : str
    """
    register, contents = Register(changed), stored["contents"].tobytes()
    ids = json.loads(stored["ids"].tobytes())
    register.contents = {name: contents[DIGEST_BYTES * at : DIGEST_BYTES * (at + 1)] for at, name in enumerate(ids)}
    lists = {name for name, value in PAST.items() if isinstance(value, list)}
    past = {name: json.loads(stored[name].tobytes()) if name in lists else stored[name] for name in PAST}
    past = decision.from_arrays({name.removeprefix("past_"): value for name, value in past.items()})
    shingles, ends, born, starts = (stored[name] for name in REPEATS)
    groups = duplicates.Groups(t, starts, [_name(*pair) for pair in born.tolist()], born)
    repeats = Repeats(groups, tuple(np.split(shingles, ends[:-1])))
    return repeats, past, register
