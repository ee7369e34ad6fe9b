"""Matrices of Deng Cai: counts, topics and dates of known files; other files are refused."""

import numpy as np
import pytest
from places import ROOT
from scipy import sparse
from scipy.io import savemat

from odl import corpora
from odl.corpora import download, reuters21578_cai, tdt2
from odl.errors import ConfigError, DataError
from odl.files.documents import NO_TIME
from odl.files.storage import sha256_of


def milliseconds(day):
    return int(np.datetime64(day, "ms").astype(np.int64))


@pytest.mark.parametrize("packed", [True, False])
def test_matrices_are_those_of_the_known_file(tmp_path, packed):
    dense = np.array([[2, 0, 1], [0, 3, 12]], dtype=float)
    path = tmp_path / "f.mat"
    savemat(path, {"fea": sparse.csc_array(dense), "gnd": [[1], [2]]}, do_compression=packed)
    counts, classes = reuters21578_cai.matrices(path, "f.mat", sha256_of(path), ["fea", "gnd"])
    assert counts.toarray().tolist() == dense.tolist() and counts.dtype == np.int32
    assert classes.toarray().tolist() == [[1], [2]]


@pytest.mark.parametrize("name", ["tdt2", "reuters21578-cai"])
def test_another_file_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    monkeypatch.setattr("scipy.io.loadmat", None)
    savemat(tmp_path / "f.mat", {"fea": np.ones((2, 4))})
    with pytest.raises(
        DataError, match=r"f\.mat is another file, with sha256 .*; expected .*\.mat with sha256"
    ):
        corpora.read(name, [tmp_path / "f.mat"])


@pytest.mark.parametrize("name", ["tdt2", "reuters21578-cai"])
def test_the_known_files_are_those_of_the_registry(name):
    (row,) = download.files_of(name, ROOT / "data" / "corpora.csv")
    reader = corpora.readers()[name]
    assert (row["file"], row["sha256"]) == (*reader.FILES, reader.SHA256)


def test_tdt2_columns_are_counts_topic_and_date():
    fea = np.array([[2, 0, 1, 104], [0, 3, 12, 630], [0, 0, 30, 1231]], dtype=np.int32)
    documents = tdt2.from_matrix(sparse.csr_array(fea))
    assert documents.counts.toarray().tolist() == [[2, 0], [0, 3], [0, 0]]
    assert documents.vocabulary == ["t00001", "t00002"]
    assert documents.ids == ["tdt2-00001", "tdt2-00002", "tdt2-00003"]
    assert documents.topics == [("topic01",), ("topic12",), ("topic30",)]
    assert documents.times.tolist() == [
        milliseconds(day) for day in ("1998-01-04", "1998-06-30", "1998-12-31")
    ]


def test_tdt2_terms_of_few_documents_are_left_out_if_asked():
    """Documents are counted, not occurrences; terms retain their names."""
    fea = np.array(
        [[9, 1, 0, 1, 1, 104], [0, 1, 2, 1, 1, 104], [0, 1, 3, 1, 1, 104]], dtype=np.int32
    )
    documents = tdt2.from_matrix(sparse.csr_array(fea))
    for least, columns in ((0, [0, 1, 2, 3]), (1, [0, 1, 2, 3]), (2, [1, 2, 3]), (3, [1, 3])):
        frequent = tdt2.drop_rare_terms(documents, least)
        assert frequent.vocabulary == [f"t{column + 1:05d}" for column in columns]
        assert np.array_equal(frequent.counts.toarray(), documents.counts.toarray()[:, columns])
        assert frequent.ids == documents.ids and frequent.topics == documents.topics
    with pytest.raises(ConfigError, match="did you mean 'min_documents'"):
        corpora.read("tdt2", [], {"min_document": 5})


def test_cai_counts_and_classes():
    counts = sparse.csr_array(np.array([[0, 2], [1, 0]], dtype=np.int32))
    documents = reuters21578_cai.from_matrices(counts, sparse.csr_array([[65], [1]]))
    assert documents.topics == [("topic65",), ("topic01",)]
    assert documents.ids == ["reuters-cai-0001", "reuters-cai-0002"]
    assert (documents.times == NO_TIME).all()
    assert documents.counts.toarray().tolist() == [[0, 2], [1, 0]] and documents.vocabulary == [
        "t00001",
        "t00002",
    ]
