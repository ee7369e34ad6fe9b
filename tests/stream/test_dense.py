"""Vectors of documents, from the column to the features, centred by earlier documents only."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from odl import corpora
from odl.errors import DataError
from odl.files import documents as docs
from odl.stream import batchfile, batching, dense, features

COLUMNS = {"columns": {"vector": "meaning"}}


def rows_of(rng, n=12, width=3):
    vectors = rng.normal(size=(n, width)).round(3)
    vectors[4] = 0
    return [
        {"id": f"d{i}", "text": f"word number {i}", "meaning": vectors[i].tolist()}
        for i in range(n)
    ], vectors


@pytest.fixture
def source(rng, tmp_path):
    rows, vectors = rows_of(rng)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "a.jsonl", vectors


def test_a_column_of_every_kind_of_table(source, tmp_path):
    path, vectors = source
    held = [json.loads(line) for line in path.read_text().splitlines()]
    parquet.write_table(pa.Table.from_pylist(held), tmp_path / "a.parquet")
    lines = ["id,text,meaning", *(f'{row["id"]},{row["text"]},"{row["meaning"]}"' for row in held)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        found = corpora.read("documents", [tmp_path / name], COLUMNS)
        assert found.vectors.dtype == np.float32 and np.allclose(found.vectors, vectors)
    assert corpora.read("documents", [path]).vectors is None
    few = corpora.read("documents", [path], {**COLUMNS, "min_words": 2})
    assert len(few.vectors) == len(few)


def test_a_row_without_a_vector_is_refused(source):
    path, _ = source
    with open(path, "a") as file:
        file.write('{"id": "last", "text": "no vector"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl line 13: it has no vector"):
        corpora.read("documents", [path], COLUMNS)


def test_files_keep_vectors_and_digests_know_them(source, tmp_path):
    documents = corpora.read("documents", [source[0]], COLUMNS)
    docs.write(tmp_path / "documents.h5", documents)
    again = docs.read(tmp_path / "documents.h5")
    assert np.array_equal(again.vectors, documents.vectors)
    order = np.array([3, 0, 11, 4])
    batchfile.write(tmp_path / "documents.h5", order, tmp_path / "cut.h5", 0)
    digests = documents.digests()[order]
    part = documents.select(order)
    docs.write(tmp_path / "written.h5", part, "batch", t=0, sha256=batching.fingerprint(digests))
    assert (tmp_path / "cut.h5").read_bytes() == (tmp_path / "written.h5").read_bytes()
    documents.vectors = documents.vectors.copy()
    documents.vectors[0, 0] += 1
    changed = np.any(documents.digests()[order] != digests, axis=1)
    assert changed.tolist() == [False, True, False, False]
    documents.vectors = None
    assert np.any(documents.digests()[order] != digests, axis=1).all()


def test_the_mean_is_that_of_the_past(source):
    documents, vectors = (
        corpora.read("documents", [source[0]], COLUMNS),
        source[1].astype(np.float32),
    )
    chain, first = [], 0
    for size in (5, 4, 3):
        part = documents.select(range(first, first + size))
        chain.append(features.follow(part, chain[-1] if chain else None))
        first += size
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled = np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0)
    for batch, past, own in zip(
        chain, (slice(5), slice(5), slice(9)), (slice(5), slice(5, 9), slice(9, 12)), strict=True
    ):
        expected = scaled[own] - scaled[past].mean(axis=0)
        expected[np.arange(len(expected))[lengths[own, 0] == 0]] = 0
        sizes = np.linalg.norm(expected, axis=1, keepdims=True)
        assert np.allclose(
            batch.vectors, np.divide(expected, sizes, out=np.zeros_like(expected), where=sizes > 0)
        )
    assert not chain[0].vectors[4].any()
    assert np.allclose(dense.total(vectors), scaled.sum(axis=0))


def test_batches_with_and_without_vectors_do_not_follow_each_other(source):
    documents = corpora.read("documents", [source[0]], COLUMNS)
    plain = corpora.read("documents", [source[0]])
    assert features.follow(plain.select([0, 1])).vectors is None
    with pytest.raises(DataError, match="a batch without vectors follows a batch with"):
        features.follow(plain.select([2]), features.follow(documents.select([0, 1])))
    with pytest.raises(DataError, match="a batch with vectors follows a batch without"):
        features.follow(documents.select([2]), features.follow(plain.select([0, 1])))
    other = documents.select([2])
    other.vectors = np.ones((1, 2), dtype=np.float32)
    with pytest.raises(DataError, match="vectors of 2 numbers follow vectors of 3"):
        features.follow(other, features.follow(documents.select([0, 1])))
