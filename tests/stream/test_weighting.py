"""Weights of term counts: earlier documents only, and equality with scikit-learn."""

import numpy as np
import pytest
from letters import batch
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from odl import corpora
from odl.config.sections import Weighting
from odl.errors import ParameterError
from odl.files.documents import NO_TIME, Documents
from odl.stream import features, pieces, weighting


def test_weights_equal_scikit_learn(chain):
    P = chain[0].weighed()[:]
    ours = P.toarray()[:, [chain[0].vocabulary.index(word) for word in "abcdef"]]
    counts = chain[0].counts[:].toarray()
    expected = TfidfTransformer(norm="l1", smooth_idf=True).fit(counts).transform(counts).toarray()
    assert np.allclose(ours, expected, atol=1e-15)
    log = (
        TfidfTransformer(norm="l2", smooth_idf=True, sublinear_tf=True)
        .fit(counts)
        .transform(counts)
        .toarray()
    )
    assert np.allclose(chain[0].weighed(tf="log", norm="l2")[:].toarray(), log, atol=1e-15)


def test_past_corpus_and_no_idf_differ(chain):
    past = chain[1].weighed()[:].toarray()
    corpus = chain[1].weighed(idf="corpus", corpus=chain[2])[:].toarray()
    none = chain[1].weighed(idf="none")[:].toarray()
    counts = chain[1].counts[:].toarray()
    assert np.allclose(none, counts / counts.sum(axis=1, keepdims=True))
    total = chain[2].frequencies_after()[: counts.shape[1]]
    weights = counts * (np.log((1 + 36) / (1 + total)) + 1)
    assert np.allclose(corpus, weights / weights.sum(axis=1, keepdims=True))
    assert not np.allclose(past, corpus)
    with pytest.raises(ParameterError, match="last feature file"):
        chain[1].weighed(idf="corpus")
    with pytest.raises(ParameterError, match="of timestep 0, before 1"):
        chain[1].weighed(idf="corpus", corpus=chain[0])


def test_a_term_enters_at_min_df(chain):
    known = chain[1].frequencies >= 3
    P = chain[1].weighed(min_df=3)[:]
    assert np.array_equal(
        np.unique(P.indices), np.flatnonzero(known & (chain[1].counts[:].sum(axis=0) > 0))
    )
    assert chain[1].weighed(min_df=0)[:].nnz == chain[1].counts.nnz


def test_fixed_vocabulary_is_that_of_the_first_batch(chain):
    P = chain[2].weighed(vocabulary="fixed")[:]
    assert P.indices.max() < 6
    assert P.shape == chain[2].counts.shape
    empty = np.diff(P.indptr) == 0
    assert np.allclose(np.asarray(P.sum(axis=1))[~empty], 1.0)


def test_a_document_of_unknown_terms_is_an_empty_row(rng):
    first = features.follow(batch(rng, "abc"))
    new = Documents(sparse.csr_array([[2, 1]]), ["x", "y"], ["new"], [NO_TIME], [()], [""])
    P = features.follow(new, first).weighed(min_df=1)[:]
    assert P.nnz == 0 and P.shape == (1, 5)


def test_a_term_in_exactly_min_df_documents_is_known():
    counts = sparse.csr_array(np.ones((1, 3), dtype=np.int64))
    assert weighting.weigh(
        counts, np.array([1, 2, 3]), 3, weighting.Weighting(min_df=2)
    ).indices.tolist() == [1, 2]


def test_a_stop_word_of_the_stream_is_counted_and_not_weighed():
    """It must be in more than the share of the documents, and in at least 30 documents."""
    counts, frequencies = sparse.csr_array(np.ones((1, 3), dtype=np.int64)), np.array([29, 30, 31])
    for n_documents, max_share, kept in (
        (100, 0.3, [0, 1]),
        (50, 0.3, [0]),
        (40, 1.0, [0, 1, 2]),
        (1000, 0.3, [0, 1, 2]),
    ):
        assert (
            weighting.weigh(
                counts, frequencies, n_documents, weighting.Weighting(max_share=max_share)
            ).indices.tolist()
            == kept
        )
    bare = weighting.weigh(
        sparse.csr_array([[0, 1, 1], [1, 0, 1]]),
        frequencies,
        50,
        weighting.Weighting(max_share=0.3),
    )
    assert bare.indices.tolist() == [1, 2, 0]  # a document without other words keeps them
    corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    data = features.follow(corpus.select(range(40, 80)), features.follow(corpus.select(range(40))))
    gone = np.flatnonzero(
        (data.frequencies > 0.3 * 40) & (data.frequencies >= weighting.MIN_STOP_WORD_DOCUMENTS)
    )
    assert len(gone) and set(gone) <= set(data.counts[:].indices)
    assert set(gone).isdisjoint(data.weighed(max_share=0.3)[:].indices)


def test_the_weight_of_a_word_is_its_equation():
    counts, frequencies = sparse.csr_array([[3, 1, 0], [0, 0, 2]]), np.array([4, 0, 9])
    idf = np.log(10 / (1 + frequencies)) + 1
    raw = weighting.weigh(counts, frequencies, 9, norm=None).toarray()
    assert np.allclose(raw, counts.toarray() * idf)
    logs = weighting.weigh(counts, frequencies, 9, Weighting(tf="log"), None).toarray()
    assert np.allclose(logs[0, :2], [(1 + np.log(3)) * idf[0], idf[1]])
    assert np.allclose(
        weighting.weigh(counts, frequencies, 9, norm="l1").toarray().sum(axis=1), 1.0
    )
    assert np.allclose(
        np.linalg.norm(weighting.weigh(counts, frequencies, 9, norm="l2").toarray(), axis=1), 1.0
    )


def test_counts_of_earlier_documents_are_weighed_as_the_batch_is(chain):
    weighed = chain[1].weighed(vocabulary="fixed", tf="log", min_df=2)
    assert np.array_equal(weighed.weigh(chain[1].counts[2:5]).toarray(), weighed[2:5].toarray())
    assert weighed[2:5].shape == (3, 8) and np.array_equal(
        weighed[2:5].toarray(), weighed[:].toarray()[2:5]
    )


def test_the_first_batch_has_its_own_frequencies_and_later_ones_those_before(chain):
    first, second = (part.weighed() for part in chain[:2])
    assert (
        np.array_equal(first.frequencies, (chain[0].counts[:] != 0).sum(axis=0))
        and first.n_documents == 12
    )
    assert np.array_equal(second.frequencies[:6], first.frequencies) and second.n_documents == 12


def test_a_norm_is_one_of_three(chain):
    with pytest.raises(ParameterError, match="norm is 'max'; expected 'l1', 'l2' or None"):
        chain[0].weighed(norm="max")


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_pieces_have_their_share_beside_the_words(norm):
    """With the l2 norm, the cosine is the weighted mean of those of pieces and words."""
    words, counts = (
        ["flooding", "floods", "harvest"],
        sparse.csr_array([[2, 0, 0], [0, 1, 1], [0, 0, 3]]),
    )
    frequencies, both = np.array([1, 2, 3]), weighting.Pieces(words, np.array([1, 2, 3]), 5, 0.3)
    P = weighting.weigh(counts, frequencies, 5, norm=norm, pieces=both).toarray()
    ours, theirs = P[:, pieces.BUCKETS :], P[:, : pieces.BUCKETS]
    plain = weighting.weigh(counts, frequencies, 5, norm=norm).toarray()
    if norm == "l1":
        assert np.allclose(ours, 0.7 * plain) and np.allclose(theirs.sum(axis=1), 0.3)
    else:
        assert np.allclose(ours @ ours.T, 0.7 * plain @ plain.T) and np.allclose(
            (theirs**2).sum(axis=1), 0.3
        )
    assert theirs[0] @ theirs[1] > 0 and plain[0] @ plain[1] == 0  # floods are like flooding
    assert both.frequencies.max() <= 5


def test_a_share_of_a_piece_goes_to_the_words_that_it_is_in():
    words, counts = ["flooding", "floods", "harvest"], sparse.csr_array([[2, 1, 0], [0, 0, 3]])
    both = weighting.Pieces(words, np.array([1, 2, 3]), 5, 0.3)
    P = weighting.weigh(counts, np.array([1, 2, 3]), 5, pieces=both)
    folded = both.folded(P, counts)
    assert np.allclose(folded.sum(axis=1), P.sum(axis=1)) and folded.indices.tolist() == [0, 1, 2]
    table, parts = both.table.toarray(), P.toarray()[:, : pieces.BUCKETS]
    borne = parts[0] * table[0] * 2 / np.maximum(table[0] * 2 + table[1], 1)
    assert np.isclose(folded.toarray()[0, 0], P.toarray()[0, pieces.BUCKETS] + borne.sum())
