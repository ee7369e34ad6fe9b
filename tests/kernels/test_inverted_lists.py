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


def spanned(dense):
    """Return spans, terms and weights of the rows of a dense array."""
    starts, terms, weights = compressed(dense)
    return np.stack([starts[:-1], starts[1:]], axis=1), terms, weights


def test_lists_have_the_entries_of_each_term(dense):
    starts, terms, weights = compressed(dense)
    lists = (
        np.zeros(10, np.int64),
        np.empty(len(terms), np.uint32),
        np.empty(len(terms), np.float32),
    )
    inverted_lists.invert((starts, terms, weights), lists)
    for term in range(9):
        place = slice(lists[0][term], lists[0][term + 1])
        assert lists[1][place].tolist() == np.flatnonzero(dense[:, term]).tolist()
        expected = dense[dense[:, term] != 0, term]
        assert np.array_equal(lists[2][place], expected.astype(np.float32))


@pytest.mark.parametrize("room", [2, 1])
def test_rebuilt_lists_are_those_of_some_columns(dense, room):
    """Terms get numbers as they occur; lists without room for as many more entries are not filled."""
    spans, terms, weights = spanned(dense)
    owner = np.array([1, 2, 4])  # columns 0 and 3 are no pieces, as they are empty
    spans[[0, 3], 1] = spans[[0, 3], 0]
    used, size = dense[owner], int((dense[owner] != 0).sum())
    place, counters = np.zeros(10, np.int32), np.zeros(3, np.int64)
    piece, owners = np.full(5, 7), np.full(5, 7)
    weights_of_lists = (np.empty(room * size, np.float32) for _ in range(2))
    lists = np.full(40, 7), np.empty(room * size, np.uint32), *weights_of_lists
    columns, limits = (True, spans, (terms, weights, weights**0.6)), np.full(20, 7)
    filled = inverted_lists.rebuild(*columns, piece, owners, place, lists, limits, counters)
    assert filled == (room == 2) and counters.tolist() == [(used != 0).any(axis=0).sum(), size, 3]
    assert piece.tolist() == [-1, 0, 1, -1, 2] and owners[:3].tolist() == owner.tolist()
    seen = terms[np.concatenate([np.arange(*spans[column]) for column in owner])]
    order = seen[np.sort(np.unique(seen, return_index=True)[1])]
    assert place[order].tolist() == list(range(len(order))) and (place >= 0).sum() == len(order)
    for number, term in enumerate(order if filled else []):
        first, end = lists[0][2 * number : 2 * number + 2]
        pieces = np.flatnonzero(used[:, term])
        assert lists[1][first:end].tolist() == pieces.tolist() and limits[number] == end
        assert np.array_equal(lists[2][first:end], used[pieces, term].astype(np.float32))
        assert np.array_equal(lists[3][first:end], (used[pieces, term] ** 0.6).astype(np.float32))
    if filled:
        assert not lists[0][2 * len(order) :].any() and not limits[len(order) :].any()


@pytest.mark.parametrize("power", [0.25, 0.6, 1.0, 1.7])
def test_flattened_rows_are_powers_of_unit_norm(power, rng):
    weights = np.concatenate([10.0 ** rng.uniform(-20, 20, 999), [0.0, 0.0, 0.7]])
    starts, values = np.array([0, *range(1, 1000), 999, 1001, 1002]), np.empty(len(weights))
    inverted_lists.flatten(starts, weights, power, values, np.empty(0))
    np.testing.assert_allclose(values, [*np.ones(999), 0.0, 0.0, 1.0], rtol=1e-15)
    whole = np.array([0, len(weights)])
    inverted_lists.flatten(whole, weights, power, values, np.empty(0))
    expected = weights**power
    np.testing.assert_allclose(values, expected / np.linalg.norm(expected), rtol=2e-14)


@pytest.mark.parametrize("most", [9, 2])
def test_sums_are_the_heaviest_terms_of_weighted_rows(dense, rng, most):
    other = rng.random((3, 9)) * (rng.random((3, 9)) < 0.7)
    owner, changed = np.array([1, 0, -1, 2, 0, 1, 2, -1]), np.array([4, 0, 2])
    factors, entries = rng.random(5) + 0.5, (np.zeros(60, np.uint32), np.zeros(60), np.zeros(60))
    spans, sizes = np.full((5, 2), -1), np.zeros(3)
    rule = (spanned(dense), spanned(other)), most, 0.6, 9
    end = inverted_lists.sums(
        changed, owner, factors, 0.8, *rule, entries, 3, spans, sizes, np.empty(0)
    )
    everything = np.concatenate([dense * factors[:, None], 0.8 * other])
    for column, row in enumerate(changed):
        total = everything[owner == column].sum(axis=0)
        total[np.argsort(-total)[most:]] = 0.0
        first, last = spans[row]
        assert entries[0][first:last].tolist() == np.flatnonzero(total).tolist()
        assert sizes[column] == pytest.approx(np.linalg.norm(total))
        np.testing.assert_allclose(entries[1][first:last] * sizes[column], total[total != 0.0])
        flat = total[total != 0.0] ** 0.6
        np.testing.assert_allclose(entries[2][first:last], flat / np.linalg.norm(flat))
    assert spans[changed[0], 0] == 3 and end == spans[changed[2], 1]
    assert (spans[[1, 3]] == -1).all()  # columns that have not changed


def test_sums_scaled_by_powers_of_two_keep_the_weights_of_unchanged_terms(dense):
    """Their lengths are the norms of the flattened weights; an empty sum has length 1."""
    entries, spans = (
        (np.zeros(99, np.uint32), np.zeros(99), np.zeros(99)),
        np.zeros((3, 2), np.int64),
    )
    owner, sizes, lengths = np.array([0, 1, 0, -1, 1]), np.zeros(3), np.zeros(3)
    nothing = spans[:0], np.empty(0, np.uint32), np.empty(0)
    rule = np.ones(5), 1.0, (spanned(dense), nothing), 9, 0.6, 9
    inverted_lists.sums(np.arange(3), owner, *rule, entries, 0, spans, sizes, lengths)
    for column, (first, last) in enumerate(spans):
        total = dense[owner == column].sum(axis=0)
        total = total[total > 0]
        scale = 2.0 ** np.floor(np.log2(sizes[column])) if len(total) else 1.0
        assert np.array_equal(entries[1][first:last] * scale, total)
        np.testing.assert_allclose(entries[2][first:last], (total / scale) ** 0.6)
        expected = np.linalg.norm((total / scale) ** 0.6) if len(total) else 1.0
        assert lengths[column] == pytest.approx(expected)


def test_sums_that_have_too_little_room(dense):
    family = spanned(dense)
    size, spans = len(family[1]), np.zeros((5, 2), np.int64)
    entries = np.zeros(size - 1, np.uint32), np.zeros(size), np.zeros(size)
    rule = np.zeros(5, np.int64), np.ones(5), 1.0, (family, (spans[:0], *family[1:])), 9, 1.0, 9
    end = inverted_lists.sums(np.array([0]), *rule, entries, 0, spans, np.zeros(1), np.empty(0))
    assert end == -1
