"""Atoms with inverted lists and lazy searches, against a reference with full searches."""

import numpy as np
import pytest
from scipy import optimize, sparse

from odl import learners
from odl.errors import ParameterError
from odl.kernels import ward_merging
from odl.learners import clusters, likeness
from odl.learners.sparse_atoms import largest_per_row

MERGE, JOIN, RETIRE = "merge", "join", "retire"


class Reference:
    """Atoms as dense sums; every merge searches all pairs."""

    def __init__(self, k, n_terms, same, full):
        self.k, self.same, self.full, self.seen = k, same, full, 0
        self.S, self.n = np.zeros((0, n_terms)), np.zeros(0)
        self.birth, self.used = np.zeros(0, int), np.zeros(0, int)
        self.worth, self.merges = 1.0, []

    def cheapest(self):
        """Return the smallest squared cost in single precision and its first pair."""
        G, inverse = self.S @ self.S.T, 1.0 / np.sqrt((self.S**2).sum(axis=1))
        G, inverse, n = (value.astype(np.float32) for value in (G, inverse, self.n))
        apart = np.maximum(np.float32(0.0), np.float32(1.0) - G * (inverse[:, None] * inverse))
        cost = apart * apart * (n[:, None] * n / (n[:, None] + n))
        cost[np.tril_indices(len(G))] = np.inf
        pair = np.unravel_index(np.argmin(cost), cost.shape)
        return cost[pair], *pair

    def learn(self, P):
        for p in P.toarray():
            self.one(p)
            self.seen += 1

    def one(self, p):
        if not p.any():
            return
        cosines = (self.S @ p) * (1.0 / np.sqrt((self.S**2).sum(axis=1)))
        near = int(np.argmax(cosines)) if len(cosines) else -1
        slot = near
        if near < 0 or cosines[near] < self.same:
            if len(self.S) < self.k:
                self.S, self.n = np.vstack([self.S, np.zeros_like(p)]), np.append(self.n, 0.0)
                self.birth, self.used = np.append(self.birth, 0), np.append(self.used, 0)
                slot = len(self.S) - 1
            else:
                slot = self.room(near, cosines[near])
            if slot < 0:
                slot = near
            else:
                self.S[slot], self.n[slot], self.birth[slot] = 0.0, 0.0, self.seen
        self.S[slot] += self.worth * p
        self.n[slot] += self.worth
        self.used[slot] = self.seen

    def room(self, near, cosine):
        if self.full == JOIN:
            return -1
        if self.full == RETIRE:
            return int(np.lexsort((np.arange(len(self.n)), self.used, self.n))[0])
        price, gone, kept = self.cheapest()
        joining = (1.0 - cosine) ** 2 * (self.n[near] * self.worth / (self.n[near] + self.worth))
        if not price < np.float32(joining):
            return -1
        if (-self.n[gone], self.birth[gone], gone) < (-self.n[kept], self.birth[kept], 0):
            gone, kept = kept, gone
        self.S[kept] += self.S[gone]
        self.n[kept] += self.n[gone]
        self.used[kept] = max(self.used[kept], self.used[gone])
        self.merges.append((self.seen, gone, kept))
        return gone

    def begin(self, count, half_life):
        """Double the weight of new documents after each half-life; at 2, halve all weights."""
        if half_life:
            halvings = (self.seen + count) // half_life - self.seen // half_life
            self.S *= 0.5**halvings
            self.n *= 0.5**halvings
            self.worth = 2.0 ** ((self.seen + count) / half_life % 1.0)


def topics(rng, n, m, spread=0.3):
    """Return documents of drifting topics, some twice, some empty."""
    centre = rng.gamma(0.2, size=(8, m))
    X = rng.poisson(3.0 * centre[rng.integers(0, 8, n)] + spread * rng.gamma(0.1, size=(n, m)))
    X[rng.integers(0, n, n // 20)] = X[rng.integers(0, n, n // 20)]
    X[rng.integers(0, n, n // 50)] = 0
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return sparse.csr_array(X / np.where(norms > 0, norms, 1.0))


def check(learner, state, reference):
    assert np.array_equal(state.arrays["birth"], reference.birth)
    assert np.array_equal(state.arrays["used"], reference.used)
    assert np.allclose(state.arrays["members"], reference.n, rtol=1e-12)
    assert state.arrays["seen"][0] == reference.seen
    sums = state.dictionary.toarray().T * state.arrays["size"][:, None]
    assert np.allclose(sums, reference.S, atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("full", [MERGE, JOIN, RETIRE])
def test_every_decision_is_that_of_a_full_search(seed, full):
    """Several batches with forgetting; one has more than two blocks."""
    rng = np.random.default_rng(seed)
    m, k, same = 60, int(rng.integers(2, 40)), float(rng.choice([0.3, 0.6, 0.8, 0.95]))
    half_life = int(rng.choice([0, 300]))
    learner = learners.make("adaptive", terms=m, same=same, full=full, half_life=half_life)
    reference, state = Reference(k, m, same, full), None
    for n in (70, 1100, 5, 130):
        # Documents of which the lightest words were left out have a norm below 1.
        P = sparse.csr_array(topics(rng, n, m) * (0.7 if seed % 2 else 1.0))
        state = learner.learn(state, P, None) if state else learner.start(P, k, None)
        reference.begin(n, half_life)
        reference.learn(P)
        check(learner, state, reference)
    if full == MERGE:
        assert len(reference.merges) > 50 or same < 0.9, "nothing was merged"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_among_equal_pairs_the_first_is_merged(seed):
    """Four words of weight one half give products without rounding, many of them equal."""
    rng = np.random.default_rng(seed)
    X = np.zeros((560, 120))
    for row in X:
        row[rng.choice(120, 4, replace=False)] = 0.5
    k, same = int(rng.integers(25, 80)), float(rng.choice([0.8, 1.0]))
    reference = Reference(k, 120, same, MERGE)
    reference.learn(sparse.csr_array(X))
    learner = learners.make("adaptive", terms=120, same=same, half_life=0)
    check(learner, learner.start(sparse.csr_array(X), k, None), reference)
    assert len(reference.merges) > 10


def test_there_may_be_more_atoms_than_first_documents(rng):
    learner = learners.make("adaptive", same=1.0, half_life=0)
    state = learner.start(topics(rng, 10, 40), 60, None)
    assert state.dictionary.shape[1] <= 10 and state.arrays["limit"][0] == 60
    for _ in range(3):
        state = learner.learn(state, topics(rng, 40, 40), None)
    assert state.dictionary.shape[1] == 60
    with pytest.raises(ParameterError, match="60 atoms for 0 documents"):
        learner.start(sparse.csr_array((3, 40)), 60, None)


def test_forgotten_atoms_do_no_harm(rng):
    """Atoms whose weight became 0 by forgetting are never the nearest."""
    learner = learners.make("adaptive", half_life=1)
    state = learner.start(topics(rng, 30, 40), 6, None)
    state = learner.learn(state, topics(rng, 1100, 40), None)
    state = learner.learn(state, topics(rng, 1100, 40), None)
    assert state.dictionary.shape[1] == 6 and np.isfinite(state.dictionary.data).all()
    assert np.isfinite(learner.score(state, topics(rng, 9, 40)).residual).all()


def lying(P):
    """Return the positions of the entries of each row, and the entries."""
    starts, *entries = likeness.as_rows(P)
    return likeness.spans_of(starts), *entries


def summed(owner, factors, late_factor, rows, n_rows, n_terms, most=1 << 62):
    """Return sums as the rows of a matrix, and their sizes."""
    index = likeness.Index(likeness.NO_COLUMNS, n_terms)
    sizes = index.set_sums(
        np.arange(n_rows), (owner, factors, late_factor), rows, (most, 0.6), (n_terms, n_rows)
    )
    return sparse.csr_array(index.columns.matrix(n_terms).T), sizes


def renewed(index, changed, columns, n_columns):
    """Replace some columns of an index by those of a CSC matrix."""
    places, rows = np.arange(len(changed)), (lying(columns.T[:0]), lying(columns))
    rule, shape = (1 << 62, 0.6), (columns.shape[0], n_columns)
    return index.set_sums(changed, (places, np.empty(0), 2.0), rows, rule, shape)


@pytest.mark.parametrize("most", [1, 3, 10, 200])
def test_the_heaviest_of_equal_weights_are_the_first(rng, most):
    X = rng.integers(0, 4, (30, 90)) / 2.0
    X[4] = 0.0
    expected = largest_per_row(sparse.csr_array(X), most)
    X = sparse.csr_array(X)
    found, sizes = summed(np.arange(30), np.empty(0), 1.0, (lying(X[:0]), lying(X)), 30, 90, most)
    assert np.allclose(found.toarray() * sizes[:, None], expected.toarray())
    assert found.has_sorted_indices and found.nnz == expected.nnz
    assert np.allclose(sizes, np.linalg.norm(expected.toarray(), axis=1))


@pytest.mark.parametrize("name", ["levels", "adaptive"])
def test_documents_are_learned_by_their_heaviest_words(name, rng):
    """Their other words have no effect, and the weights are not scaled."""
    P, learner = topics(rng, 300, 60, 2.0), learners.make(name, terms=8)
    short = largest_per_row(P, 8)
    assert np.diff(P.indptr).max() > 8
    for one in (P, short):
        starts, terms, weights = clusters.cut_rows(one, 8)
        assert np.array_equal(starts, short.indptr) and np.array_equal(terms, short.indices)
        assert np.allclose(weights, short.data, rtol=1e-15, atol=0)
    state, other = (learner.start(one, 40, None) for one in (P, short))
    assert np.allclose(state.dictionary.toarray(), other.dictionary.toarray(), rtol=1e-12, atol=0)
    assert np.allclose(state.arrays["size"], other.arrays["size"], rtol=1e-12)
    alone = np.flatnonzero(state.arrays["members"] == state.arrays["members"].min())
    expected = (
        state.arrays["members"][alone]
        * np.sqrt(short.power(2).sum(axis=1))[state.arrays["birth"][alone]]
    )
    assert (
        np.allclose(state.arrays["size"][alone], expected)
        and expected.min() < state.arrays["members"].min()
    )


def test_sums_are_those_of_columns_and_documents(rng):
    """Some entries have no owner; zeros are omitted."""
    A, P = topics(rng, 20, 50), topics(rng, 15, 50)
    owner, factors = rng.integers(-1, 7, 35), rng.random(20)
    factors[rng.integers(0, 20, 5)] = 0.0
    found, sizes = summed(owner, factors, 0.7, (lying(A), lying(P)), 8, 50)
    expected, rows = np.zeros((8, 50)), np.vstack([A.toarray(), P.toarray()])
    for one, row, factor in zip(owner, rows, [*factors, *np.full(15, 0.7)], strict=True):
        expected[one] += factor * row if one >= 0 else 0.0
    assert (
        np.allclose(found.toarray() * sizes[:, None], expected)
        and np.count_nonzero(found.data) == found.nnz
    )
    assert (
        found.has_canonical_format
        and sizes[7] == 0.0
        and np.allclose(sizes, np.linalg.norm(expected, axis=1))
    )


def test_the_nearest_are_those_of_the_dense_product(rng):
    P, A = topics(rng, 70, 50), topics(rng, 40, 50)
    index, scale = likeness.build_index(A.T.tocsc(), 0.6), rng.random(40) + 0.5
    chosen, best = likeness.nearest(P, index, 4, scale)
    dense = (P @ A.T).toarray() * scale
    order = np.argsort(-dense, axis=1, kind="stable")[:, :4]
    expected = np.take_along_axis(dense, order, axis=1)
    assert np.allclose(best, expected)
    assert np.all((chosen == -1) == (best == 0))
    kept = (chosen >= 0) & (np.abs(np.diff(expected, axis=1, append=-1)) > 1e-12)
    kept[:, 1:] &= np.abs(np.diff(expected, axis=1)) > 1e-12
    assert np.array_equal(chosen[kept], order[kept])


def test_among_equal_products_the_first_owners_are_the_nearest():
    """In any order of the pieces; terms without atoms have no effect."""
    A = sparse.csc_array(np.array([[1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0]]))
    index, ones = likeness.build_index(A, 1.0), np.ones(7)
    wider = sparse.csr_array(np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 1.0]]))
    rows, best = likeness.nearest(wider, index, 5, ones)
    assert rows.tolist() == [[1, 4, 0, 2, 3], [-1] * 5] and best.tolist() == [
        [2.0, 2.0, 1.0, 1.0, 1.0],
        [0.0] * 5,
    ]
    index.owner = np.array([6, 3, 5, 0, 4, 2, 1], dtype=index.owner.dtype)
    index.columns.spans[index.owner] = index.columns.spans.copy()
    assert likeness.nearest(wider, index, 5, ones)[0][0].tolist() == [
        3,
        4,
        0,
        1,
        2,
    ]


def test_codes_are_non_negative_least_squares(rng):
    """On the atoms before the first -1, for each document."""
    P, A = topics(rng, 20, 50), sparse.csc_array(topics(rng, 9, 50).T)
    neighbours = np.array([rng.permutation(9)[:4] for _ in range(20)])
    neighbours[3:6, 2:], neighbours[7] = -1, -1
    X = likeness.codes(P, likeness.build_index(A, 1.0).columns, 50, neighbours).toarray()
    for x, p, chosen in zip(X, P.toarray(), neighbours, strict=True):
        expected, named = np.zeros(9), chosen[chosen >= 0]
        expected[named] = optimize.nnls(A.toarray()[:, named], p)[0] if len(named) else 0.0
        assert np.allclose(x, expected, atol=1e-6)


@pytest.mark.parametrize("sums", [False, True])
def test_an_index_that_followed_changes_is_a_new_one(sums, rng):
    """A few columns change at a time, some to zero, and columns are added."""
    A, P = topics(rng, 60, 50).T.tocsc(), topics(rng, 90, 53)
    index = likeness.build_index(A, 0.6, sums)
    makes, kept = [], [(index.columns, A)]
    index._rebuild = lambda *parts: (
        makes.append(len(kept)),
        likeness.Index._rebuild(index, *parts),
    )
    for step, more in enumerate([0, 0, 1, 0, 2, *[0] * 100, 9, 0]):
        k, n_terms = A.shape[1] + more, 50 + step // 40
        changed = np.sort(
            [*rng.choice(A.shape[1], 3 * max(1, more), replace=False), *range(A.shape[1], k)]
        )
        columns, expected = topics(rng, len(changed), n_terms).T.tocsc(), np.zeros((n_terms, k))
        columns.data[slice(*columns.indptr[:2])] = 0.0
        columns.eliminate_zeros()
        if step % 2 and not more:  # the same terms with other weights, but for one
            columns = sparse.csc_array(
                A[:, changed] * rng.random((A.shape[0], 1)), shape=(n_terms, len(changed))
            )
            columns.resize((n_terms, len(changed)))
            columns.data[-1:] = 0.0
            columns.eliminate_zeros()
        sizes = renewed(index, changed, columns, k)
        assert np.allclose(sizes, 2.0 * np.sqrt((columns.power(2)).sum(axis=0)))
        expected[: A.shape[0], : A.shape[1]] = A.toarray()
        divisors = np.where(sizes > 0, sizes, 1.0)
        divisors = 2.0 ** np.floor(np.log2(divisors)) if sums else divisors
        expected[:, changed] = 2.0 * columns.toarray() / divisors
        A = index.columns.matrix(n_terms)
        kept.append((index.columns, A))
        assert np.allclose(A.toarray(), expected, atol=1e-15) and A.has_canonical_format
        new, scale = likeness.build_index(A, 0.6, sums), rng.random(k) + 0.5
        assert np.array_equal(*(likeness.compact(one.columns).flat for one in (index, new)))
        for flat in (False, True):
            first, second = (
                likeness.nearest(P, one, 4, scale[one.owner], flat) for one in (index, new)
            )
            assert np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1])
    assert 106 in makes and len(makes) < 10  # for many changes at once
    for columns, earlier in kept:
        assert np.array_equal(columns.matrix(earlier.shape[0]).toarray(), earlier.toarray())


def test_columns_of_which_there_are_ever_more_are_those_of_a_new_index(rng):
    """Lists are rebuilt if they have no room, or for more terms."""
    P, makes, n_terms = topics(rng, 400, 90), [], 40
    rows = [
        P[:20, :40],
        *(P[first : first + 2, : min(90, 40 + first // 4)] for first in range(20, 400, 2)),
    ]
    index = likeness.build_index(rows[0].T.tocsc(), 1.0)
    index._rebuild = lambda *parts: (
        makes.append(len(index.owner)),
        likeness.Index._rebuild(index, *parts),
    )
    for number, part in enumerate(rows[1:]):
        first, n_terms = 20 + 2 * number, part.shape[1]
        parts = likeness.as_rows(sparse.csr_array(part))
        index.set_columns(
            np.arange(first, first + 2),
            likeness.FlattenedRows(*parts, parts.weights),
            first + 2,
            n_terms,
        )
        new = likeness.build_index(index.columns.matrix(n_terms), 1.0)
        first, second = (likeness.nearest(P, one, 4, np.ones(first + 2)) for one in (index, new))
        assert np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1])
    assert 2 <= len(makes) < 40 and n_terms == 90
    found = index.columns.matrix(90).T.toarray()
    assert all(
        np.array_equal(found[20 + 2 * i : 22 + 2 * i, : part.shape[1]], part.toarray())
        for i, part in enumerate(rows[1:])
    )


def test_products_of_atoms_that_changed_are_those_of_all(rng):
    """Rows of some atoms are updated several times before all rows are complete."""
    sizes, members = rng.random(60) + 0.5, np.ones(60)
    index = likeness.build_index(topics(rng, 60, 50).T.tocsc(), 0.6)
    atoms = clusters.to_merging({"size": sizes, "members": members}, index, 60)
    for step in range(12):
        changed = np.sort(rng.choice(60, 5, replace=False))
        sizes[changed] = renewed(index, changed, topics(rng, 5, 50).T.tocsc(), 60)
        clusters.renew_products(changed, sizes, index, atoms)
        if step % 3 < 2:
            continue
        A = index.columns.matrix(50)
        new = likeness.build_index(A, 0.6)
        expected = clusters.to_merging({"size": sizes, "members": members}, new, 60)
        ward_merging.prepare(atoms)
        assert np.array_equal(atoms.gram, expected.gram)
        assert np.array_equal(atoms.gram, atoms.gram.T)
        assert np.array_equal(atoms.squares, expected.squares)
        sums = A.toarray() * sizes
        assert np.allclose(atoms.gram, sums.T @ sums)
