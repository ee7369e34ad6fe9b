"""Atoms of the adaptive learner while a batch is learned: documents join them, open them, and the cheapest two merge.

Sums of atoms and documents stay where they are: each is a piece that an atom owns, and they are put together between
blocks (`odl.kernels.clusters`).
"""

from itertools import pairwise

import numpy as np
from scipy import sparse

from odl.kernels import native
from odl.learners import likeness, merging

kernels = native.Kernels("clusters")
AHEAD = 64  # documents that are compared while those before them are learned
FULL = {"merge": 0, "join": 1, "retire": 2}  # as in odl.kernels.clusters


class Clusters:
    """Atoms while a batch is learned, a block of documents after another.

    Parameters
    ----------
    dictionary : csc_array, shape (n_terms, n_atoms)
    memory : dict of str to ndarray
        Of the state, forgetting included.
    shape : (int, int)
        Documents and terms of the batch.
    same : float
    full : int
    share : Threads
        What the order of the documents does not bear on is shared out.
    """

    def __init__(
        self,
        dictionary: sparse.csc_array,
        memory: dict[str, np.ndarray],
        shape: tuple[int, int],
        same: float,
        full: int,
        share: likeness.Threads = likeness.ALONE,
    ) -> None:
        n_atoms, n_slots = dictionary.shape[1], int(memory["limit"][0])
        self.n_terms, self.settings, self.seen = shape[1], (same, full), int(memory["seen"][0])
        self.share, self.numbers = share, likeness.Numbers(shape[1])
        rows = self.numbers.rows(dictionary)
        rows = rows._replace(weights=rows.weights * np.repeat(memory["size"], np.diff(rows.starts)))
        self.early, self.owner = likeness.inverted(rows, self.numbers.count), np.arange(n_atoms)
        self.late, self.n_late = likeness.NOTHING, 0
        merges = full == FULL["merge"] and n_atoms + shape[0] > n_slots
        self.gram = np.empty((n_slots, n_slots) if merges else (0, 0))
        if merges:
            merging.grams(rows, self.early, self.gram, share)
        columns = np.repeat(self.owner, np.diff(rows.starts))
        squares = np.bincount(columns, rows.weights**2, minlength=n_slots).astype(np.float64)
        inverse = np.where(squares > 0, 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
        self.slots = {"members": _padded(memory["members"], n_slots), "squares": squares, "inverse": inverse}
        self.slots |= {name: _padded(memory[name], n_slots) for name in ("used", "birth")}
        self.slots["inner"] = np.empty(n_slots)
        times = np.zeros(n_slots, dtype=np.int64)
        times[:n_atoms] = np.arange(1, n_atoms + 1)
        self.times, self.offers = (times, np.zeros(n_slots, np.int64)), merging.unknown(n_slots)
        self.counters = np.array([n_atoms, n_atoms, n_atoms, -n_slots])
        if merges and n_atoms == n_slots:
            self.counters[3] = n_atoms
            merging.search(self.gram, self.slots["members"], inverse, times, self.offers, self.counters, share)

    def learn(self, P: sparse.csr_array) -> None:
        """Learn a block of documents.

        Equation `merging` of docs/method.md.
        """
        documents = self.numbers.rows(P)
        new = likeness.inverted(documents, self.numbers.count)
        self.early, self.late = (likeness.with_terms(lists, self.numbers.count) for lists in (self.early, self.late))
        first, before = len(self.owner), len(self.owner) + self.n_late
        owner = np.concatenate([self.owner, np.arange(self.n_late), np.empty(P.shape[0], dtype=np.int64)])
        lists, slots = (*documents, *self.early, *self.late, *new), (self.gram, *self.slots.values())
        numbers = first, before, self.seen, *self.settings
        work = *self.times, *self.offers, np.empty(merging.BLOCK), np.empty_like(self.times[0]), self.counters

        def compare(begin, end, since, room):
            kernels.products(begin, end, since, *lists, first, before, *room)

        def learn(begin, end, ahead, room):
            kernels.learn(begin, end, ahead, *lists, owner, *room, *slots, *work, *numbers)

        if self.share.pool:
            self._side_by_side(P.shape[0], len(owner), compare, learn)
        else:
            learn(0, P.shape[0], 0, (np.empty((1, len(owner))), np.empty(1)))
        self.seen += P.shape[0]
        self.owner, owner = owner[:first], owner[first:]
        self.late = likeness.combine(self.late, new, self.n_late, owner, len(self.slots["members"]))
        self.n_late = int(self.counters[0])
        # So that the work on both, a document, grows with the root of what the early ones have.
        if len(self.late.rows) ** 2 > len(self.early.rows) * len(new.rows):
            self._join()

    def _side_by_side(self, count, width, compare, learn):
        """Compare the next documents with all pieces, whoever owns them, while those before them are learned."""
        rooms = [(np.empty((AHEAD, width)), np.empty(AHEAD)) for _ in range(2)]

        def begin(first, room):
            parts = min(max(self.share.count, 2), AHEAD + 1)
            cuts = np.linspace(first, min(first + AHEAD, count), parts).astype(int).tolist()
            return [self.share.pool.submit(compare, *part, first, room) for part in pairwise(cuts)]

        coming = begin(0, rooms[0])
        for first in range(0, count, AHEAD):
            for part in coming:
                part.result()
            now, following = rooms[first // AHEAD % 2], first + AHEAD
            coming = begin(following, rooms[following // AHEAD % 2]) if following < count else []
            learn(first, min(following, count), 1, now)

    def _join(self):
        """Put late sums and early ones together."""
        if not self.n_late:
            return
        owner = np.concatenate([self.owner, np.arange(self.n_late)])
        self.early = likeness.combine(self.early, self.late, len(self.owner), owner, len(self.slots["members"]))
        self.owner, self.n_late, self.late = np.arange(self.n_late), 0, likeness.NOTHING

    def dictionary(self, most: int) -> tuple[sparse.csc_array, np.ndarray]:
        """Return atoms of at most so many terms as columns of unit norm, and their norms."""
        self._join()
        return likeness.heaviest(self.early, self.numbers, int(self.counters[0]), self.n_terms, most)


def _padded(values, length):
    """Return a copy with zeros up to the length."""
    padded = np.zeros(length, dtype=values.dtype)
    padded[: len(values)] = values
    return padded
