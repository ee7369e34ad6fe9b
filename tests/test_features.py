"""TF-IDF over a stream: the past only, ids that never change, the same as scikit-learn where both apply."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from odl.errors import ParameterError, StorageError
from odl.files.documents import NO_TIME, Documents
from odl.stream import features


def batch(rng, words, n=12, topics=None, start=0):
    counts = sparse.csr_array(rng.poisson(0.7, (n, len(words))))
    ids = [f"d{start + row}" for row in range(n)]
    return Documents(counts, list(words), ids, np.full(n, NO_TIME), topics or [("a",)] * n, [""] * n)


@pytest.fixture
def chain(rng):
    first = features.advance(batch(rng, "abcdef"))
    second = features.advance(batch(rng, "cdefgh", start=12, topics=[("b",), (), ("a", "c"), ("c", "a")] * 3), first)
    third = features.advance(batch(rng, "hgfzy", start=24, topics=[("b",)] * 12), second)
    return [first, second, third]


def test_ids_never_change(chain):
    assert chain[0].vocabulary == list("abcdef")
    assert chain[1].vocabulary == list("abcdefgh")
    assert chain[2].vocabulary == list("abcdefghzy")


def test_frequencies_are_of_the_past(chain):
    assert not chain[0].frequencies.any()
    whole = np.zeros(10, dtype=int)
    for part in chain:
        assert np.array_equal(part.frequencies, whole[: len(part.vocabulary)])
        assert np.array_equal(
            part.frequencies_after()[: part.counts.shape[1]], part.frequencies + (part.counts != 0).sum(axis=0)
        )
        whole[: part.counts.shape[1]] = part.frequencies_after()
    assert [part.n_before for part in chain] == [0, 12, 24]


def test_labels_need_all_topics_new(chain):
    assert list(chain[1].novel[:4]) == [1, -1, 0, 0]
    assert list(chain[1].novel_dominant[:4]) == [1, -1, 0, 1]
    assert not chain[2].novel.any()


def test_weights_equal_scikit_learn(chain):
    P = chain[0].weigh()
    ours = P.toarray()[:, [chain[0].vocabulary.index(word) for word in "abcdef"]]
    counts = chain[0].counts.toarray()
    expected = TfidfTransformer(norm="l1", smooth_idf=True).fit(counts).transform(counts).toarray()
    assert np.allclose(ours, expected, atol=1e-15)
    log = TfidfTransformer(norm="l2", smooth_idf=True, sublinear_tf=True).fit(counts).transform(counts).toarray()
    assert np.allclose(chain[0].weigh(tf="log", norm="l2").toarray(), log, atol=1e-15)


def test_past_corpus_and_no_idf_differ(chain):
    past = chain[1].weigh().toarray()
    corpus = chain[1].weigh(idf="corpus", corpus=chain[2]).toarray()
    none = chain[1].weigh(idf="none").toarray()
    counts = chain[1].counts.toarray()
    assert np.allclose(none, counts / counts.sum(axis=1, keepdims=True))
    total = chain[2].frequencies_after()[: counts.shape[1]]
    weights = counts * (np.log((1 + 36) / (1 + total)) + 1)
    assert np.allclose(corpus, weights / weights.sum(axis=1, keepdims=True))
    assert not np.allclose(past, corpus)
    with pytest.raises(ParameterError, match="last feature file"):
        chain[1].weigh(idf="corpus")


def test_a_term_enters_at_min_df(chain):
    known = chain[1].frequencies >= 3
    P = chain[1].weigh(min_df=3)
    assert np.array_equal(np.unique(P.indices), np.flatnonzero(known & (chain[1].counts.sum(axis=0) > 0)))
    assert chain[1].weigh(min_df=0).nnz == chain[1].counts.nnz


def test_fixed_vocabulary_is_that_of_the_first_batch(chain):
    P = chain[2].weigh(vocabulary="fixed")
    assert P.indices.max() < 6
    assert P.shape == chain[2].counts.shape
    empty = np.diff(P.indptr) == 0
    assert np.allclose(np.asarray(P.sum(axis=1))[~empty], 1.0)


def test_a_document_of_unknown_terms_is_an_empty_row(rng):
    first = features.advance(batch(rng, "abc"))
    new = Documents(sparse.csr_array([[2, 1]]), ["x", "y"], ["new"], [NO_TIME], [()], [""])
    P = features.advance(new, first).weigh(min_df=1)
    assert P.nnz == 0 and P.shape == (1, 5)


def test_round_trip_and_bytes(chain, tmp_path):
    for part in chain:
        features.write(tmp_path / "one.h5", part)
        found = features.read(tmp_path / "one.h5")
        features.write(tmp_path / "two.h5", found)
        assert (tmp_path / "one.h5").read_bytes() == (tmp_path / "two.h5").read_bytes()
        assert found.topics == part.topics and found.seen == part.seen
        assert (found.counts != part.counts).nnz == 0


def test_the_chain_does_not_depend_on_the_file(chain, tmp_path, rng):
    features.write(tmp_path / "f.h5", chain[1])
    new = batch(rng, "qhz", start=50)
    one, two = features.advance(new, chain[1]), features.advance(new, features.read(tmp_path / "f.h5"))
    assert one.vocabulary == two.vocabulary and np.array_equal(one.frequencies, two.frequencies)


def test_truncated_files_are_refused(chain, tmp_path):
    path = tmp_path / "f.h5"
    features.write(path, chain[0])
    whole = path.read_bytes()
    for size in range(0, len(whole), 997):
        path.write_bytes(whole[:size])
        with pytest.raises(StorageError, match=r"f\.h5"):
            features.read(path)


def test_a_term_in_exactly_min_df_documents_is_known():
    counts = sparse.csr_array(np.ones((1, 3), dtype=np.int64))
    assert features.weigh(counts, np.array([1, 2, 3]), 3, min_df=2).indices.tolist() == [1, 2]
