"""Vectors beside words: nearest by signs, both scores on one scale, the weight by length, what is remembered."""

import numpy as np
import pytest
from scipy import sparse

from odl import novelty
from odl.errors import CheckpointError
from odl.learners import vectors as module
from odl.learners.vectors import VectorMemory, on_scale
from odl.stream import dense


def rows_of(rng, n, width=19):
    return dense.unit(rng.normal(size=(n, width)))


def remembered(rng, n=40, width=19, room=1 << 20, scores=400):
    """A memory of two batches, of which the second made the scales."""
    first = VectorMemory.empty(width).after(
        np.ones(n), np.ones(n), rows_of(rng, n, width), np.full(n, 16), room
    )
    lengths = np.full(scores, 48)
    return first.after(
        rng.random(scores), rng.random(scores), rows_of(rng, scores, width), lengths, room
    )


def scored(words):
    n = len(words)
    codes = sparse.csr_array((n, 1))
    parts = codes, words, np.zeros(n), 0.0
    return novelty.Novelty(*parts, score=words, empty=np.zeros(n, dtype=bool))


def test_distance_is_to_the_five_nearest_signs(rng):
    memory, rows = remembered(rng), rows_of(rng, 30)
    signs = np.unpackbits(memory.signs, axis=1, count=19) * 2.0 - 1
    cosines = np.sort(rows @ signs.T / np.sqrt(19), axis=1)[:, -5:]
    assert np.allclose(memory.distances(rows), 1 - cosines.mean(axis=1), atol=1e-4)


def test_a_document_alone_has_the_score_that_it_has_among_others(rng, monkeypatch):
    """To the bit: scales are those of the past, and sums are exact however many documents are compared at once."""
    memory, rows, words = remembered(rng, width=256), rows_of(rng, 70, 256), rng.random(70)
    together = novelty.with_vectors(scored(words), memory, memory.distances(rows))
    assert 0 < memory.weight() < 1 and np.ptp(together.meaning) > 0
    monkeypatch.setattr(module, "PRODUCT_BLOCK", 7)
    for row in range(0, 70, 9):
        few = slice(row, row + 1)
        alone = novelty.with_vectors(scored(words[few]), memory, memory.distances(rows[few]))
        assert alone.score[0] == together.score[row] and alone.meaning[0] == together.meaning[row]


def test_both_views_are_on_the_scale_of_their_recent_scores(rng):
    memory, n = remembered(rng), 2000
    words, vectors = memory.combine_scores(rng.random(n), rng.random(n), weight=0.25)
    for part, weight in ((words, 0.75), (vectors, 0.25)):
        assert part.min() >= 0 and part.max() <= weight and abs(part.mean() - weight / 2) < 0.02
    ordered = on_scale(np.linspace(-0.5, 1.5, 5000), memory.words)
    assert np.all(np.diff(ordered) > 0), "no two scores become equal"


def test_too_few_recent_scores_are_filled_up_with_the_batch(rng):
    memory = VectorMemory.empty(3).after(
        np.zeros(5), np.zeros(5), rows_of(rng, 5, 3), np.full(5, 4), 100
    )
    assert len(memory.words) == 0, (
        "the first batch starts the dictionary: its scores are no others'"
    )
    words, _ = memory.combine_scores(np.array([0.3, 0.1, 0.2]), np.ones(3), weight=0.0)
    assert np.allclose(words, [5 / 6, 1 / 6, 1 / 2])


@pytest.mark.parametrize(
    ("lengths", "weight"),
    [
        ([16], 0.5),
        ([4, 8, 300], 2 / 3),
        ([8, 24], 0.5),
        ([900], 16 / 271),
        ([3, 5], 2 / 3),
        ([4, 40, 40, 40], 16 / 56),
        ([4, 4, 8, 40, 40, 40], 16 / 40),
    ],
)
def test_the_weight_is_that_of_the_median_length(lengths, weight, rng):
    n = len(lengths)
    memory = VectorMemory.empty(3).after(
        np.zeros(n), np.zeros(n), rows_of(rng, n, 3), np.array(lengths), 100
    )
    assert np.isclose(memory.weight(), weight) and memory.weight(0.3) == 0.3
    assert VectorMemory.empty(3).weight() == 2 / 3


def test_the_last_documents_that_fit_are_remembered(rng):
    memory, later = remembered(rng, width=19, room=60), rows_of(rng, 4)
    assert memory.signs.shape == (20, 3)
    later[1] = 0
    after = memory.after(
        np.array([0.1, 0.2, np.nan, 0.4]), np.zeros(4), later, np.array([1, 2, 0, 4]), 60
    )
    assert np.array_equal(
        after.signs, np.concatenate([memory.signs[3:], np.packbits(later[[0, 2, 3]] > 0, axis=1)])
    )
    assert (
        after.words[-3:].tolist() == [0.1, 0.2, 0.4]
        and len(after.words) == len(after.vectors) == 403
    )
    assert after.lengths.sum() == 444


def test_shares_and_meaning_add_up_to_the_score(rng):
    from odl import learners

    P = sparse.csr_array(
        dense.unit(np.where(rng.random((60, 20)) < 0.3, rng.random((60, 20)), 0.0))
    )
    for name in ("levels", "dual_averaging"):
        learner = learners.make(name)
        state = learner.start(P[:30], 3, np.random.default_rng(0))
        by_words = novelty.score(learner, state, P[30:])
        both = novelty.with_vectors(
            by_words, memory := remembered(rng), memory.distances(rows_of(rng, 30)), 0.4
        )
        words, context = novelty.shares(learner, state, P[30:], both)
        assert np.allclose(
            np.asarray(words.sum(axis=1)).ravel() + context + both.meaning, both.score, atol=1e-12
        )
        assert 0 < both.meaning.max() <= 0.4 and np.allclose(both.residual, by_words.residual)


def test_a_checkpoint_of_something_else_is_refused(rng):
    memory = remembered(rng)
    arrays = memory._asdict()
    assert all(
        np.array_equal(one, other)
        for one, other in zip(VectorMemory.from_arrays(arrays, 19, "3.h5"), memory, strict=True)
    )
    for wrong in ({}, arrays | {"more": np.zeros(1)}, arrays | {"signs": memory.signs[:, :1]},
                  arrays | {"words": memory.words[1:]}, arrays | {"vectors": memory.vectors - 9},
                  arrays | {"words": np.full(400, np.nan)}, arrays | {"lengths": memory.lengths[1:]}):  # fmt: skip
        with pytest.raises(
            CheckpointError,
            match=r"3\.h5 has invalid arrays of vectors; expected signs of vectors with 19",
        ):
            VectorMemory.from_arrays(wrong, 19, "3.h5")
