"""The agents of a rank that own one atom each, with a squared residual: dual variables in the span of a few columns.

The columns are x and dual variables psi_k that an agent has sent (`odl.kernels.rank_span`); no atom and no code is in a
message. Other agents, and other residuals, have `odl.distributed.ranks.Agents`, of which this does the same.
"""

import numpy as np
from scipy import sparse

from odl.distributed.inference import CHECK
from odl.distributed.messages import DUAL
from odl.distributed.ranks import BLOCK, ROOM, Agents, Inferred
from odl.kernels import native, shared

rank_rounds = native.Kernels("rank_rounds")
SMALL = 16, 4096, 4096  # columns of a document, entries of a block, floats of a message that there is room for at first
CACHED = 150_000  # terms of a block, so that its columns stay near the core
NEEDS = shared.COLUMNS, shared.ENTRIES, shared.MESSAGES


def agents_of(ranks, model, owner, A, **settings):
    """Return the agents of a rank, as `odl.distributed.ranks.Agents` takes them."""
    few = model.residual.name == "squared residual" and len(owner) == ranks.network.n_agents
    return (SpanAgents if few else Agents)(ranks, model, owner, A, **settings)


class SpanAgents(Agents):
    """The agents of one rank with an atom each."""

    def _prepare(self):
        self.room = list(SMALL)
        super()._prepare()
        ranks, shares = self.ranks, self.shares
        self.rank = shared.Rank(
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
        most = min(ROOM // (8 * ranks.network.n_agents**2), CACHED // self.n_terms)
        self.block = int(np.clip(most, 1, BLOCK))  # all ranks find the same

    def _shapes(self, n):
        """Return the kind and shape of everything that an iteration touches, for n documents side by side."""
        n_own, n_heard, n_neighbours = len(self.ranks.agents), len(self.ranks.heard), len(self.ranks.hears)
        c, entries, floats = self.room
        return {
            "state": (np.int64, (shared.PLACES,)),
            **dict.fromkeys(("active", "used", "n", "n_kept"), (np.int64, (n,))),
            **dict.fromkeys(("key", "order", "first", "length"), (np.int64, (n, c))),
            **dict.fromkeys(("coefficients", "old", "base", "gram"), (float, (n, n_own, c))),
            "sent": (float, (n, n_heard, c)),
            **dict.fromkeys(("kept", "column"), (np.int64, (n, n_own))),
            **dict.fromkeys(("answers", "reference"), (float, (n, n_own))),
            **dict.fromkeys(("known", "told", "heard"), (np.int64, (n, n_neighbours, c))),
            **dict.fromkeys(("n_told", "fresh", "n_heard"), (np.int64, (n, n_neighbours))),
            "heads": (np.int64, (n_neighbours, shared.HEAD)),
            "mine": (float, (2 * n_own * n,)),
            "everyone": (float, (2 * self.ranks.network.n_agents * n,)),
            "products": (float, (n, c, c)),
            "filled": (np.int64, (1,)),
            **dict.fromkeys(("out", "into"), (float, (n_neighbours, floats))),
            "term": (np.int32, (entries,)),
            "value": (float, (entries,)),
            "dense": (float, (self.n_terms,)),
            "where": (np.int32, (self.n_terms,)),
        }

    def _allocate(self, n, keep=False):
        """Make room for n documents side by side, in one piece of memory: many small ones cost half of an iteration."""
        before = self.held if keep else {}
        shapes, at = self._shapes(n), 0
        sizes = {name: int(np.prod(shape)) * np.dtype(kind).itemsize for name, (kind, shape) in shapes.items()}
        memory, self.held = np.zeros(sum(-(-size // 64) * 64 for size in sizes.values()), np.uint8), {}
        for name, (kind, shape) in shapes.items():
            self.held[name] = memory[at : at + sizes[name]].view(kind).reshape(shape)
            at += -(-sizes[name] // 64) * 64
        self.held["where"][:] = -1
        for name, array in before.items():
            self.held[name][tuple(slice(size) for size in array.shape)] = array
        self.columns = shared.Columns(**{name: self.held[name] for name in shared.Columns._fields})

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
        need, fixed = None, self._fixed(P)
        while need != shared.DONE:  # Python handles a signal
            held = [self.held[name] for name in ("active", "used", "heads", "out", "into", "mine", "everyone")]
            need, self.atoms = rank_rounds.advance(
                *[self.held["state"], fixed[0], self.atoms, self.rank, self.settings, self.columns],
                *[(block, *held[:2]), tuple(held[2:]), *fixed[1:], learning, duals, results],
            )
            self._meet(need, block)
        state = self.held["state"]
        self.ranks.count(int(state[shared.EXCHANGES]), int(state[shared.FLOATS]))
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
            ranks.shared_with(others) or (np.zeros(0), 0, np.zeros(4, np.int64), none, none)
            for others in (ranks.hears, range(ranks.size))
        ]

    def _meet(self, need, block):
        """Do what the kernel asked for."""
        state = self.held["state"]
        if need in NEEDS:
            place = NEEDS.index(need)
            self.room[place] = max(int(state[shared.NEED]), 2 * self.room[place])
            self._allocate(block, keep=True)
        elif need == shared.EXCHANGE:
            self._exchange(block)
        elif need == shared.GATHER:
            n = int(state[shared.ACTIVE])
            everyone = self.ranks.gather(self.held["mine"][: 2 * n * len(self.own)].reshape(-1, 2 * n))
            self.held["everyone"][: everyone.size] = everyone.ravel()

    def _exchange(self, block):
        """Let MPI carry the messages."""
        out, order = self.held["out"], {rank: place for place, rank in enumerate(self.ranks.hears)}
        lengths = self.held["heads"][:, 0]

        def receive(rank, message):
            if len(message) > self.room[2]:
                self.room[2] = len(message)
                self._allocate(block, keep=True)
            self.held["into"][order[rank], : len(message)] = message

        self.ranks.exchange({rank: out[place, : lengths[place]] for rank, place in order.items()}, DUAL, receive)

    def warm_up(self):
        """Nothing beside `infer` and `learn` is to be compiled."""
