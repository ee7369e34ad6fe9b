"""Arrays with the state of `TextNovelty` that is not part of its `NoveltyDetector`.

These are groups of near-duplicates, the ids of documents with digests of their contents, events,
and the statistics with which gates compare a batch.
"""

import json
from typing import NamedTuple

import numpy as np

from odl.alerts import decision
from odl.corpora.collection import DIGEST_BYTES, Register
from odl.detector.mechanism import as_bytes
from odl.stream import duplicates
from odl.text.shingles import Shingler


class RecentDuplicates(NamedTuple):
    """Groups of near-duplicates in the last batches, and the shingles of their documents.

    Attributes
    ----------
    groups : odl.stream.duplicates.Groups
    sets : tuple of ndarray
        Shingles of each document.
    """

    groups: duplicates.Groups = duplicates.NO_GROUPS
    sets: tuple = ()

    def after(self, texts):
        """Return a copy with the texts of a new batch and without the oldest batches."""
        shingler, t = Shingler(), self.groups.t + 1
        sets = (*self.sets, *map(shingler.shingle, texts))
        names = [_name(t, row) for row in range(len(texts))]
        groups = duplicates.extend_groups(self.groups, sets, names)
        return RecentDuplicates(groups, sets[-len(groups.names) :])


WORD_RULES = 2  # version of the rules for words and pieces, stored in each file
DUPLICATE_ARRAYS = ("shingles", "shingle_ends", "item_born", "item_starts")


def _name(t, row):
    """Return the internal id of a document."""
    return f"{t}:{row}"


EMPTY_PAST = {
    f"past_{name}": value
    for name, value in decision.as_arrays(decision.StreamHistory.nothing()).items()
}
ARRAY_NAMES = (*DUPLICATE_ARRAYS, *EMPTY_PAST, "ids", "contents")


def arrays(repeats, past, register):
    """Return the state as arrays, from which `read` restores it.

    Parameters
    ----------
    repeats : RecentDuplicates
    past : odl.alerts.decision.StreamHistory
    register : odl.corpora.collection.Register
    """
    shingles = np.concatenate([np.zeros(0, dtype=np.int32), *repeats.sets])
    ends = np.cumsum([len(shingle_set) for shingle_set in repeats.sets], dtype=np.int64)
    groups = (shingles, ends, repeats.groups.born, repeats.groups.starts)
    encoded = dict(zip(DUPLICATE_ARRAYS, groups, strict=True))
    past = past._replace(recent=np.zeros(0))  # the detector stores the recent scores
    for name, value in decision.as_arrays(past).items():
        encoded[f"past_{name}"] = as_bytes(value) if isinstance(value, list) else value
    encoded["ids"] = as_bytes([*register.contents])
    encoded["contents"] = np.frombuffer(b"".join(register.contents.values()), dtype=np.uint8)
    return encoded


def read(stored, t, changed):
    """Restore the state after batch t from the arrays that `arrays` returned.

    Parameters
    ----------
    stored : dict of str to ndarray
    t : int
    changed : {"keep", "new"}
        See `odl.TextNovelty`.

    Returns
    -------
    repeats : RecentDuplicates
    past : odl.alerts.decision.StreamHistory
    register : odl.corpora.collection.Register
    """
    register, digests = Register(changed), stored["contents"].tobytes()
    for number, name in enumerate(json.loads(stored["ids"].tobytes())):
        register.contents[name] = digests[DIGEST_BYTES * number : DIGEST_BYTES * (number + 1)]
    past = {}
    for name, empty in EMPTY_PAST.items():
        value = stored[name]
        if isinstance(empty, list):
            value = json.loads(value.tobytes())
        past[name.removeprefix("past_")] = value
    past = decision.from_arrays(past)
    shingles, ends, born, starts = (stored[name] for name in DUPLICATE_ARRAYS)
    groups = duplicates.Groups(t, starts, [_name(*pair) for pair in born.tolist()], born)
    repeats = RecentDuplicates(groups, tuple(np.split(shingles, ends[:-1])))
    return repeats, past, register
