"""TF-IDF over a stream: earlier documents only, constant ids, and equality with scikit-learn."""

import numpy as np
import pytest
from letters import batch

from odl.errors import ParameterError, StorageError
from odl.files import documents, storage
from odl.stream import features, terms


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
            part.frequencies_after()[: part.counts.shape[1]],
            part.frequencies + (part.counts[:] != 0).sum(axis=0),
        )
        whole[: part.counts.shape[1]] = part.frequencies_after()
    assert [part.n_before for part in chain] == [0, 12, 24]


def test_labels_need_all_topics_new(chain):
    assert list(chain[1].novel[:4]) == [1, -1, 0, 0]
    assert list(chain[1].novel_dominant[:4]) == [1, -1, 0, 1]
    assert not chain[2].novel.any()


def test_a_bounded_vocabulary_has_no_weights_of_the_corpus(rng):
    bounded = features.follow(batch(rng, "abcdef"), max_terms=4)
    with pytest.raises(ParameterError, match="idf is 'corpus' and max_terms"):
        bounded.weighed(idf="corpus", corpus=bounded)
    for wrong in (-3, "x"):
        with pytest.raises(ParameterError, match="max_terms is"):
            features.follow(batch(rng, "abcdef"), max_terms=wrong)


def test_the_chain_in_memory_is_that_of_the_files(chain, tmp_path, rng):
    """Equal documents give equal bytes, whether the earlier batch is open or a path."""
    parts = [
        batch(np.random.default_rng(1), "abc"),
        batch(rng, "qhz", start=50, topics=[("é", "b"), ()] * 6),
    ]
    first = features.follow(parts[0], output=tmp_path / "0.h5")
    features.follow(parts[1], first, tmp_path / "1.h5")
    documents.write(tmp_path / "batch.h5", parts[1], "batch", t=1)
    features.advance(tmp_path / "again.h5", tmp_path / "batch.h5", tmp_path / "0.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "1.h5").read_bytes()
    alone = features.follow(parts[1], features.follow(parts[0]))
    assert alone.base is None and features.read(tmp_path / "1.h5").base.file == "0.h5"
    assert features.read(tmp_path / "1.h5").vocabulary == alone.vocabulary
    found = features.read(tmp_path / "1.h5")
    assert (
        found.topics == parts[1].topics
        and found.ids == parts[1].ids
        and found.titles == parts[1].titles
    )
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


def test_words_are_stored_once_in_many_timesteps(tmp_path, monkeypatch):
    """Files between two complete vocabularies store new words; another chain is refused."""
    monkeypatch.setattr(terms, "FULL_INTERVAL", 3)
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
        assert held.vocabulary == words and held.numbers == {
            word: number for number, word in enumerate(words)
        }
    features.follow(part, output=tmp_path / "6.h5")
    with pytest.raises(StorageError, match=r"6\.h5 is of another chain"):
        _ = features.read(tmp_path / "7.h5").vocabulary
    (tmp_path / "6.h5").unlink()
    with pytest.raises(StorageError, match=r"6\.h5"):
        _ = features.read(tmp_path / "7.h5").vocabulary


def test_one_past_may_be_followed_twice(rng):
    """New words of one batch have no column in the other."""
    first, other, last = (
        batch(rng, "abcd"),
        batch(rng, "cdxy", start=12),
        batch(rng, "bdyz", start=24),
    )
    past = features.follow(first)
    features.follow(other, past)
    again, alone = features.follow(last, past), features.follow(last, features.follow(first))
    assert again.vocabulary == alone.vocabulary and (again.counts[:] != alone.counts[:]).nnz == 0
