"""Batches of a corpus, and the chain of features over batches."""

import h5py
import numpy as np
import pytest
from studies import batch_of

from odl.errors import DataError, StorageError
from odl.files import documents
from odl.files.documents import Documents
from odl.stream import batchfile, batching, features


@pytest.fixture
def corpus(rng, tmp_path):
    """Write a corpus of 700 documents, some without words, topics or titles."""
    found = batch_of(rng, 0, 700, ["harvest", "merger", "strike"])
    found.titles[3], found.titles[-1] = "", "of é and ü"
    documents.write(tmp_path / "documents.h5", found, reader="documents")
    return found


@pytest.mark.parametrize(("size", "span"), [(700, 40_000), (300, 80), (1, 80), (40, 9)])
def test_a_batch_in_any_order(corpus, rng, tmp_path, monkeypatch, size, span):
    monkeypatch.setattr(batchfile, "MATRIX_ROWS", span)
    order = rng.permutation(700)[:size]
    whole = corpus.select(order)
    digest = batching.fingerprint(whole.digests())
    documents.write(tmp_path / "whole.h5", whole, kind="batch", t=4, sha256=digest)
    batchfile.write(tmp_path / "documents.h5", order, tmp_path / "parts.h5", 4)
    assert (tmp_path / "parts.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
    again = documents.read(tmp_path / "parts.h5", "batch")
    assert again.ids == [corpus.ids[row] for row in order] and again.titles == whole.titles


def test_the_chain_of_features(rng, tmp_path):
    """Novelty labels depend on earlier batches; matrix rows equal those of the corpus."""
    previous = None
    for t, topics in enumerate((["harvest"], ["harvest", "merger"], ["strike"])):
        documents.write(
            tmp_path / f"batch{t}.h5", batch_of(rng, t, 100, topics), kind="batch", t=t, sha256=""
        )
        features.advance(tmp_path / f"{t}.h5", tmp_path / f"batch{t}.h5", previous)
        previous = tmp_path / f"{t}.h5"
    stored = features.read(previous)
    assert (stored.novel == 1).any() and (stored.novel == -1).any()
    whole = stored.weighed(tf="log", norm="l2", min_df=2, vocabulary="fixed")
    assert whole[:].nnz and (whole[37:61] != whole[:][37:61]).nnz == 0


def test_a_batch_out_of_turn(corpus, tmp_path):
    documents.write(tmp_path / "batch.h5", corpus, kind="batch", t=1, sha256="")
    with pytest.raises(
        DataError, match=r"batch\.h5 is of timestep 1; expected timestep 0, after nothing"
    ):
        features.advance(tmp_path / "0.h5", tmp_path / "batch.h5")
    assert not (tmp_path / "0.h5").exists()


def test_a_batch_without_words(tmp_path):
    empty = Documents(
        np.zeros((2, 1), dtype=int), ["a"], ["x", "y"], np.zeros(2), [(), ()], ["", ""]
    )
    documents.write(tmp_path / "documents.h5", empty)
    batchfile.write(tmp_path / "documents.h5", np.array([1, 0]), tmp_path / "batch.h5", 0)
    found = documents.read(tmp_path / "batch.h5", "batch")
    assert found.ids == ["y", "x"] and found.counts.shape == (2, 0) and found.titles == ["", ""]


def test_a_batch_costs_what_its_own_documents_do(rng, tmp_path):
    """Other documents are not read: their damage is detected only in their own batches."""
    path = tmp_path / "documents.h5"
    found = batch_of(rng, 0, 6000, ["harvest", "merger"])
    found.titles[:] = [f"{title} {rng.random()} {rng.random()}" for title in found.titles]
    documents.write(path, found, reader="documents")
    first, last = np.arange(50), np.arange(1000, 5950)
    batchfile.write(path, first, tmp_path / "before.h5", 0)
    with h5py.File(path) as file:
        titles = file["titles"].id
        chunk = titles.get_chunk_info(titles.get_num_chunks() // 2)
    damaged = bytearray(path.read_bytes())
    damaged[chunk.byte_offset] ^= 1
    path.write_bytes(damaged)
    batchfile.write(path, first, tmp_path / "after.h5", 0)
    assert (tmp_path / "after.h5").read_bytes() == (tmp_path / "before.h5").read_bytes()
    with pytest.raises(StorageError, match="was changed"):
        batchfile.write(path, last, tmp_path / "last.h5", 0)


def test_another_corpus_under_the_same_name(corpus, rng, tmp_path):
    batchfile.write(tmp_path / "documents.h5", np.arange(5), tmp_path / "0.h5", 0)
    other = batch_of(rng, 1, 30, ["strike"])
    documents.write(tmp_path / "documents.h5", other, reader="documents")
    batchfile.write(tmp_path / "documents.h5", np.arange(30), tmp_path / "1.h5", 1)
    again = documents.read(tmp_path / "1.h5", "batch")
    assert (again.ids, again.titles, again.vocabulary) == (
        other.ids,
        other.titles,
        other.vocabulary,
    )
