"""TF-IDF over a stream: the past only, ids that never change, the same as scikit-learn where both apply."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from odl import corpora
from odl.errors import ParameterError, StorageError
from odl.files import documents, storage
from odl.files.documents import NO_TIME, Documents
from odl.stream import features, terms, weighting


def batch(rng, words, n=12, topics=None, start=0):
    counts = sparse.csr_array(rng.poisson(0.7, (n, len(words))))
    ids = [f"d{start + row}" for row in range(n)]
    return Documents(counts, list(words), ids, np.full(n, NO_TIME), topics or [("a",)] * n, [""] * n)


@pytest.fixture
def chain(rng):
    first = features.follow(batch(rng, "abcdef"))
    second = features.follow(batch(rng, "cdefgh", start=12, topics=[("b",), (), ("a", "c"), ("c", "a")] * 3), first)
    third = features.follow(batch(rng, "hgfzy", start=24, topics=[("b",)] * 12), second)
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
            part.frequencies_after()[: part.counts.shape[1]], part.frequencies + (part.counts[:] != 0).sum(axis=0)
        )
        whole[: part.counts.shape[1]] = part.frequencies_after()
    assert [part.n_before for part in chain] == [0, 12, 24]


def test_labels_need_all_topics_new(chain):
    assert list(chain[1].novel[:4]) == [1, -1, 0, 0]
    assert list(chain[1].novel_dominant[:4]) == [1, -1, 0, 1]
    assert not chain[2].novel.any()


def test_weights_equal_scikit_learn(chain):
    P = chain[0].weighed()[:]
    ours = P.toarray()[:, [chain[0].vocabulary.index(word) for word in "abcdef"]]
    counts = chain[0].counts[:].toarray()
    expected = TfidfTransformer(norm="l1", smooth_idf=True).fit(counts).transform(counts).toarray()
    assert np.allclose(ours, expected, atol=1e-15)
    log = TfidfTransformer(norm="l2", smooth_idf=True, sublinear_tf=True).fit(counts).transform(counts).toarray()
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


def test_a_bounded_vocabulary_has_no_weights_of_the_corpus(rng):
    bounded = features.follow(batch(rng, "abcdef"), max_terms=4)
    with pytest.raises(ParameterError, match="idf 'corpus' with max_terms"):
        bounded.weighed(idf="corpus", corpus=bounded)
    for wrong in (-3, "x"):
        with pytest.raises(ParameterError, match="max_terms is"):
            features.follow(batch(rng, "abcdef"), max_terms=wrong)


def test_a_term_enters_at_min_df(chain):
    known = chain[1].frequencies >= 3
    P = chain[1].weighed(min_df=3)[:]
    assert np.array_equal(np.unique(P.indices), np.flatnonzero(known & (chain[1].counts[:].sum(axis=0) > 0)))
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


def test_the_chain_in_memory_is_that_of_the_files(chain, tmp_path, rng):
    """Equal documents give equal bytes, whether the batch before is open or a path."""
    parts = [batch(np.random.default_rng(1), "abc"), batch(rng, "qhz", start=50, topics=[("é", "b"), ()] * 6)]
    first = features.follow(parts[0], output=tmp_path / "0.h5")
    features.follow(parts[1], first, tmp_path / "1.h5")
    documents.write(tmp_path / "batch.h5", parts[1], "batch", t=1)
    features.advance(tmp_path / "again.h5", tmp_path / "batch.h5", tmp_path / "0.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "1.h5").read_bytes()
    alone = features.follow(parts[1], features.follow(parts[0]))
    assert alone.base is None and features.read(tmp_path / "1.h5").base.file == "0.h5"
    assert features.read(tmp_path / "1.h5").vocabulary == alone.vocabulary
    found = features.read(tmp_path / "1.h5")
    assert found.topics == parts[1].topics and found.ids == parts[1].ids and found.titles == parts[1].titles
    assert found.vocabulary[: len(first.vocabulary)] == first.vocabulary
    columns = [found.vocabulary.index(word) for word in parts[1].vocabulary]
    assert np.array_equal(found.counts[:].toarray()[:, columns], parts[1].counts.toarray())
    assert found.seen_after() == ({"a", "é", "b"}, {"a", "é"})


def test_truncated_files_are_refused(rng, tmp_path):
    path = tmp_path / "f.h5"
    features.follow(batch(rng, "abcdef"), output=path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 997):
        path.write_bytes(whole[:size])
        with pytest.raises(StorageError, match=r"f\.h5"):
            features.read(path)


def test_a_term_in_exactly_min_df_documents_is_known():
    counts = sparse.csr_array(np.ones((1, 3), dtype=np.int64))
    assert weighting.weigh(counts, np.array([1, 2, 3]), 3, weighting.Weighting(min_df=2)).indices.tolist() == [1, 2]


def test_a_stop_word_of_the_stream_is_counted_and_not_weighed():
    """It has to be in more than the share of the documents, and in 30 of them: few documents show none."""
    counts, frequencies = sparse.csr_array(np.ones((1, 3), dtype=np.int64)), np.array([29, 30, 31])
    for n_documents, max_share, kept in (
        (100, 0.3, [0, 1]),
        (50, 0.3, [0]),
        (40, 1.0, [0, 1, 2]),
        (1000, 0.3, [0, 1, 2]),
    ):
        assert (
            weighting.weigh(counts, frequencies, n_documents, weighting.Weighting(max_share=max_share)).indices.tolist()
            == kept
        )
    bare = weighting.weigh(
        sparse.csr_array([[0, 1, 1], [1, 0, 1]]), frequencies, 50, weighting.Weighting(max_share=0.3)
    )
    assert bare.indices.tolist() == [1, 2, 0]  # a document without other words keeps them
    corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    data = features.follow(corpus.select(range(40, 80)), features.follow(corpus.select(range(40))))
    gone = np.flatnonzero((data.frequencies > 0.3 * 40) & (data.frequencies >= weighting.COMMON))
    assert len(gone) and set(gone) <= set(data.counts[:].indices)
    assert set(gone).isdisjoint(data.weighed(max_share=0.3)[:].indices)


def test_words_are_stored_once_in_many_timesteps(tmp_path, monkeypatch):
    """Between two files with all words each holds those since; what is read is the same, and another chain refused."""
    monkeypatch.setattr(terms, "WHOLE", 3)
    rng, past, words = np.random.default_rng(2), None, []
    for t in range(8):
        part = batch(rng, "abcdefgh"[t] + "xyz", start=50 * t)
        past = features.follow(part, past, tmp_path / f"{t}.h5")
        words += sorted(set(part.vocabulary) - set(words))
        with storage.reading(tmp_path / f"{t}.h5", "features") as file:
            stored = storage.read_strings(file, "vocabulary")
        held = features.read(tmp_path / f"{t}.h5")
        assert held.base is None if t % 3 == 0 else held.base.file == f"{t - t % 3}.h5"
        assert stored == words[held.base.words if held.base else 0 :]
        assert held.vocabulary == words and held.numbers == {word: number for number, word in enumerate(words)}
    features.follow(part, output=tmp_path / "6.h5")
    with pytest.raises(StorageError, match=r"6\.h5 is of another chain"):
        _ = features.read(tmp_path / "7.h5").vocabulary
    (tmp_path / "6.h5").unlink()
    with pytest.raises(StorageError, match=r"6\.h5"):
        _ = features.read(tmp_path / "7.h5").vocabulary


def test_one_past_may_be_followed_twice(rng):
    """Words that one batch meets first have no column in the other."""
    first, other, last = batch(rng, "abcd"), batch(rng, "cdxy", start=12), batch(rng, "bdyz", start=24)
    past = features.follow(first)
    features.follow(other, past)
    again, alone = features.follow(last, past), features.follow(last, features.follow(first))
    assert again.vocabulary == alone.vocabulary and (again.counts[:] != alone.counts[:]).nnz == 0
