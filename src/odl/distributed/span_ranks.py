"""The agents of a rank that own one atom each, with a squared residual: dual variables in the span of a few columns.

The columns are x and dual variables psi_k that an agent has sent (`odl.kernels.rank_span`); no atom and no code is in a
message. Other agents, and other residuals, have `odl.distributed.ranks.Agents`, of which this does the same.
"""

import numpy as np
from scipy import sparse

from odl.distributed.inference import CHECK
from odl.distributed.messages import DUAL
from odl.distributed.ranks import BLOCK, ROOM, Agents, Inferred
from odl.kernels import rank_messages, rank_rounds, rank_span

SMALL = 16, 4096  # columns of a document, entries of a block and floats of a message that there is room for at first


def agents_of(ranks, model, owner, A, **settings):
    """Return the agents of a rank, as `odl.distributed.ranks.Agents` takes them."""
    few = model.residual.name == "squared residual" and len(owner) == ranks.network.n_agents
    return (SpanAgents if few else Agents)(ranks, model, owner, A, **settings)


class SpanAgents(Agents):
    """The agents of one rank with an atom each."""

    def _prepare(self):
        super()._prepare()
        ranks, shares = self.ranks, self.shares
        self.rank = rank_span.Rank(
            n_agents=ranks.network.n_agents,
            first=int(ranks.agents[0]),
            own=self.own.astype(np.int64),
            rows=self.rows,
            shares=shares,
            sees=bool(shares.any()),
            scale=float(self.scale),
            mu=self.mu,
            w_start=self.mixing[0],
            w_row=self.mixing[1],
            w_value=self.mixing[2],
            told_starts=self.told_starts,
            told_rows=self.told_rows,
            their_starts=self.their_starts,
            their_rows=self.their_rows,
        )
        self.block = int(np.clip(ROOM // (8 * ranks.network.n_agents**2), 1, BLOCK))  # all ranks find the same

    def _allocate(self, n):
        """Make room for n documents side by side."""
        n_own, n_heard, n_neighbours = len(self.ranks.agents), len(self.ranks.heard), len(self.ranks.hears)
        c, entries = SMALL
        shapes = {
            **dict.fromkeys(("n", "n_kept"), (n,)),
            **dict.fromkeys(("key", "order", "first", "length"), (n, c)),
            **dict.fromkeys(("term", "value"), (entries,)),
            "filled": (1,),
            **dict.fromkeys(("coefficients", "old", "base", "gram"), (n, n_own, c)),
            "sent": (n, n_heard, c),
            "products": (n, c, c),
            **dict.fromkeys(("kept", "answers", "column", "reference"), (n, n_own)),
            **dict.fromkeys(("known", "told", "heard"), (n, n_neighbours, c)),
            **dict.fromkeys(("n_told", "fresh", "n_heard"), (n, n_neighbours)),
            **dict.fromkeys(("dense", "where"), (self.n_terms,)),
        }
        numbers = {"value", "coefficients", "old", "base", "gram", "sent", "products", "answers", "reference", "dense"}
        kinds = dict.fromkeys(numbers, float) | dict.fromkeys(("term", "where"), np.int32)
        self.columns = rank_span.Columns(
            **{name: np.zeros(shapes[name], kinds.get(name, np.int64)) for name in rank_span.Columns._fields}
        )
        self.columns.where[:] = -1
        ends = np.zeros((n_neighbours, rank_messages.HEAD), np.int64)
        sizes = np.zeros(2 * n_own * n), np.zeros(2 * self.ranks.network.n_agents * n)
        self.boxes = [ends, np.zeros((n_neighbours, entries)), np.zeros((n_neighbours, entries)), *sizes]
        self.places = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def infer(self, P):
        """Code a batch (eqs 31, 37, 42); see `odl.distributed.ranks.Agents.infer`."""
        found = self._go(P, False, 0.0)
        return Inferred(sparse.csr_array(found[0]), *found[1:])

    def learn(self, P, step):
        """Go through a batch once, one document at a time: each agent learns from its own nu_k and y_k."""
        self._go(P, True, float(step))

    def _go(self, P, learns, step):
        n_documents, n_own = P.shape[0], len(self.own)
        block = 1 if learns else max(1, min(self.block, n_documents))
        self._allocate(block)
        results = np.zeros((n_documents, n_own)), np.zeros((n_own, n_documents)), np.zeros((n_own, n_documents))
        results += (np.zeros(n_documents, np.int64),)
        learning = (learns, step, float(self.model.dictionary.beta))
        duals = (np.zeros(self.n_terms, np.int32), np.zeros((n_own, self.n_terms if learns else 1)), self.mark)
        state = np.zeros(rank_rounds.PLACES, np.int64)
        need, fixed = None, self._fixed(P)
        while need != rank_rounds.DONE:  # Python handles a signal
            need, self.atoms = rank_rounds.advance(
                *[state, fixed[0], self.atoms, self.rank, self.settings, self.columns, (block, *self.places)],
                *[tuple(self.boxes), *fixed[1:], learning, duals, results],
            )
            self._meet(need, state)
        here = self._windows()[0][1] > 0
        self.ranks.count(int(state[rank_rounds.EXCHANGES]) * here, int(state[rank_rounds.FLOATS]))
        self._allocate(1)
        return results

    def _fixed(self, P):
        """Return documents, windows and limits as the kernel takes them."""
        starts = P.indptr.astype(np.int64)
        documents = (starts if self.rank.sees else np.zeros_like(starts), P.indices.astype(np.int32), P.data)
        limit = self.tolerance * self.mu * self.model.residual.curvature / self.ranks.network.n_agents
        near, far = self._windows()
        return documents, (near, far, self.ranks.starts.astype(np.int64)), (int(self.iterations), CHECK, float(limit))

    def _windows(self):
        """Return the memory shared with the neighbours, and with all ranks."""
        ranks, none = self.ranks, np.zeros(0, np.int64)
        return [
            ranks.shared_with(others) or (np.zeros(0), 0, np.zeros(3, np.int64), none, none)
            for others in (ranks.hears, range(ranks.size))
        ]

    def _meet(self, need, state):
        """Do what the kernel asked for."""
        asked = int(state[rank_rounds.NEED])
        if need == rank_rounds.COLUMNS:
            self._widen(max(asked, 2 * self.columns.key.shape[1]))
        elif need == rank_rounds.ENTRIES:
            room = max(asked, 2 * len(self.columns.term))
            grown = {name: np.resize(getattr(self.columns, name), room) for name in ("term", "value")}
            self.columns = self.columns._replace(**grown)
        elif need == rank_rounds.MESSAGES:
            self._lengthen(max(asked, 2 * min(box.shape[1] for box in self.boxes[1:3])))
        elif need == rank_rounds.EXCHANGE:
            self._exchange()
        elif need == rank_rounds.GATHER:
            n = int(state[rank_rounds.ACTIVE])
            own = self.boxes[3][: 2 * n * len(self.own)].reshape(-1, 2 * n)
            everyone = self.ranks.gather(own)
            self.boxes[4][: everyone.size] = everyone.ravel()

    def _widen(self, columns):
        """Make room for more columns."""
        had = self.columns.key.shape[1]
        by_column = ("key", "order", "first", "length", "coefficients", "old", "base", "gram", "sent", "products")
        grown = {}
        for name in (*by_column, "known", "told", "heard"):
            before = getattr(self.columns, name)
            shape = tuple(columns if size == had and axis else size for axis, size in enumerate(before.shape))
            if name != "products":
                shape = (*before.shape[:-1], columns)
            grown[name] = np.zeros(shape, before.dtype)
            grown[name][tuple(slice(size) for size in before.shape)] = before
        self.columns = self.columns._replace(**grown)

    def _lengthen(self, floats):
        for place in (1, 2):
            before = self.boxes[place]
            if before.shape[1] < floats:
                self.boxes[place] = np.zeros((len(before), floats))
                self.boxes[place][:, : before.shape[1]] = before

    def _exchange(self):
        """Let MPI carry the messages."""
        heads, out = self.boxes[:2]
        order = {rank: place for place, rank in enumerate(self.ranks.hears)}

        def receive(rank, message):
            self._lengthen(len(message))
            self.boxes[2][order[rank], : len(message)] = message

        self.ranks.exchange({rank: out[place, : heads[place, 0]] for rank, place in order.items()}, DUAL, receive)

    def warm_up(self):
        """Nothing beside `infer` and `learn` is to be compiled."""
