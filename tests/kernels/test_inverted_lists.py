"""Inverted lists and sums of rows, against dense arrays."""

import numpy as np
import pytest

from odl.kernels import inverted_lists


def compressed(dense):
    """Return starts, terms and weights of the rows of a dense array."""
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    return starts, np.nonzero(dense)[1].astype(np.uint32), dense[dense != 0]


@pytest.fixture
def dense(rng):
    return rng.random((5, 9)) * (rng.random((5, 9)) < 0.5)


def test_lists_have_the_entries_of_each_term(dense):
    starts, terms, weights = compressed(dense)
    lists = (
        np.zeros(10, np.int64),
        np.empty(len(terms), np.uint32),
        np.empty(len(terms), np.float32),
        np.empty(len(terms), np.float32),
    )
    inverted_lists.invert((starts, terms, weights, weights**0.5), lists)
    for term in range(9):
        place = slice(lists[0][term], lists[0][term + 1])
        assert lists[1][place].tolist() == np.flatnonzero(dense[:, term]).tolist()
        expected = dense[dense[:, term] != 0, term]
        assert np.array_equal(lists[2][place], expected.astype(np.float32))
        assert np.array_equal(lists[3][place], (expected**0.5).astype(np.float32))


@pytest.mark.parametrize("most", [9, 2])
def test_sums_are_the_heaviest_terms_of_weighted_rows(dense, rng, most):
    other = rng.random((3, 9)) * (rng.random((3, 9)) < 0.7)
    families = []
    for rows in (dense, other):
        starts, terms, weights = compressed(rows)
        families.append((np.stack([starts[:-1], starts[1:]], axis=1), terms, weights))
    owner, source = (
        np.array([1, 0, -1, 2, 0, 1, 2]),
        np.array([0, 5, 1, 7, 3, 4, 2]),
    )  # 5 and 7 are rows of `other`
    factors, changed = rng.random(7) + 0.5, np.array([4, 0, 2])
    entries = np.zeros(60, np.uint32), np.zeros(60), np.zeros(60)
    work, spans, sizes = np.zeros(9), np.full((5, 2), -1), np.zeros(3)
    end = inverted_lists.sums(
        changed, owner, source, factors, tuple(families), most, 0.6, entries, work, 3, spans, sizes
    )
    everything = np.concatenate([dense, other])
    for column, row in enumerate(changed):
        summands = owner == column
        total = factors[summands] @ everything[source[summands]]
        total[np.argsort(-total)[most:]] = 0.0
        first, last = spans[row]
        assert entries[0][first:last].tolist() == np.flatnonzero(total).tolist()
        assert sizes[column] == pytest.approx(np.linalg.norm(total))
        np.testing.assert_allclose(entries[1][first:last] * sizes[column], total[total != 0.0])
        flat = total[total != 0.0] ** 0.6
        np.testing.assert_allclose(entries[2][first:last], flat / np.linalg.norm(flat))
    assert spans[changed[0], 0] == 3 and end == spans[changed[2], 1] and not work.any()
    assert (spans[[1, 3]] == -1).all()  # columns that have not changed


def test_sums_that_have_too_little_room(dense):
    starts, terms, weights = compressed(dense)
    family = np.stack([starts[:-1], starts[1:]], axis=1), terms, weights
    entries = np.zeros(len(terms) - 1, np.uint32), np.zeros(len(terms)), np.zeros(len(terms))
    numbers, spans = np.arange(5), np.zeros((5, 2), np.int64)
    rule = np.zeros(5, np.int64), numbers, np.ones(5), (family, family), 9, 1.0
    assert (
        inverted_lists.sums(numbers[:1], *rule, entries, np.zeros(9), 0, spans, np.zeros(1)) == -1
    )
