"""Near-duplicates of a stream of texts in memory: groups and shingles of the batches that the next is compared with."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from odl.corpora.shingles import Shingler
from odl.stream import duplicates


class Repeats(NamedTuple):
    """Groups of the documents of the last batches, and the set of shingles of each (`odl.stream.duplicates`)."""

    groups: duplicates.Groups = duplicates.NONE
    sets: tuple = ()

    def after(self, texts):
        """Return the same with one more batch, forgetting what is not compared any more."""
        shingler, t = Shingler(), self.groups.t + 1
        own = [shingler.of(text) for text in texts]
        groups = duplicates.grouped(self.groups, self.sets, own, [_name(t, row) for row in range(len(texts))])
        return Repeats(groups, (*self.sets, *own)[-len(groups.names) :])

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
        """Return what `arrays` was made of after batch t; nothing, where a version before kept none.

        Raises
        ------
        ValueError
            If they do not fit together.
        """
        shingles, ends, born, starts = (arrays[name] for name in NAMES)
        if shingles is None:
            return cls(replace(duplicates.NONE, t=t))
        n = len(ends)
        sound = [part.dtype == kind for part, kind in zip((shingles, ends, born, starts), KINDS, strict=True)]
        sound += [shingles.ndim == ends.ndim == starts.ndim == 1, born.shape == (n, 2), len(starts) > 1]
        if not all(sound) or [*starts[[0, -1]], *ends[-1:]] != [0, n, len(shingles)] or n == 0:
            raise ValueError("shingles and documents differ in number")
        if np.diff(starts).min() < 0 or np.diff(ends, prepend=0).min() < 0 or not _ascend(shingles, ends):
            raise ValueError("shingles of documents that are none")
        names = [_name(*pair) for pair in born.tolist()]
        return cls(duplicates.Groups(t, starts, names, born), tuple(np.split(shingles, ends[:-1])))


NAMES, KINDS = ("shingles", "shingle_ends", "item_born", "item_starts"), (np.int32, np.int64, np.int64, np.int64)


def _name(t, row):
    return f"{t}:{row}"


def _ascend(shingles, ends):
    """Return whether the shingles of each document do."""
    inside = np.ones(len(shingles), dtype=bool)
    inside[np.append(0, ends[:-1])[np.diff(ends, prepend=0) > 0]] = False
    return bool(np.all(np.diff(shingles)[inside[1:]] > 0))
