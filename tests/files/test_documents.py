"""`Documents` and their files."""

import os
import re

import h5py
import numpy as np
import pytest
from fuzzing import edited
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from odl.errors import DataError, StorageError
from odl.files import documents as store
from odl.files import storage
from odl.files.documents import NO_TIME, Documents, one_line
from odl.files.passages import Passages

VOCABULARY = ["storm", "lima", "caf\u00e9", "day", "never"]
COUNTS = np.array([[1, 0, 2, 0, 0], [0, 3, 0, 1, 0], [0, 0, 0, 0, 0], [5, 1, 0, 0, 0]])


def make(columns=None, **changed):
    """Return four documents with the columns in the given order."""
    columns = list(range(5)) if columns is None else columns
    fields = {
        "counts": sparse.csr_array(COUNTS[:, columns]),
        "vocabulary": [VOCABULARY[column] for column in columns],
        "ids": ["a", "b", "c", "d \u2603"],
        "times": np.array([1000, 0, NO_TIME, -5]),
        "topics": [("x",), ("x", "y z"), (), ("y",)],
        "titles": ["First", "", "Third", "Fourth \u2603"],
        "files": ["1.csv", "1.csv", "2.csv", "2.csv"],
    }
    return Documents(**fields | changed)


def same(one, other):
    """Return whether two corpora are equal in every field and column."""
    fields = ("vocabulary", "ids", "topics", "titles", "files")
    return (
        all(getattr(one, name) == getattr(other, name) for name in fields)
        and np.array_equal(one.times, other.times)
        and np.array_equal(one.counts.toarray(), other.counts.toarray())
    )


# Documents


@settings(max_examples=30)
@given(st.permutations(range(5)))
def test_digests_do_not_depend_on_the_order_of_columns(columns):
    assert np.array_equal(make(columns).digests(), make().digests())


def test_digests_do_not_depend_on_other_documents_or_unused_terms():
    whole = make().digests()
    assert np.array_equal(make().select([3, 1]).digests(), whole[[3, 1]])
    assert np.array_equal(make([0, 1, 2, 3]).digests(), whole)


def test_digests_do_not_depend_on_how_counts_are_stored():
    rows, columns, data = (
        [0, 0, 0, 1, 1, 3, 3, 3, 2],
        [2, 0, 2, 3, 1, 0, 1, 0, 4],
        [1, 1, 1, 1, 3, 2, 1, 3, 0],
    )
    scattered = sparse.coo_array((np.array(data, dtype=np.int64), (rows, columns)), shape=(4, 5))
    assert np.array_equal(make(counts=scattered).digests(), make().digests())


@pytest.mark.parametrize(
    "changed",
    [
        {"ids": ["a", "B", "c", "d \u2603"]},
        {"times": np.array([1000, 1, NO_TIME, -5])},
        {"topics": [("x",), ("y z", "x"), (), ("y",)]},
        {"titles": ["First", "!", "Third", "Fourth \u2603"]},
        {"files": ["1.csv", "3.csv", "2.csv", "2.csv"]},
        {"counts": COUNTS + np.eye(4, 5, 0, dtype=int) * [[0], [1], [0], [0]]},
        {"vocabulary": ["storm", "cusco", "caf\u00e9", "day", "never"]},
    ],
)
def test_digest_changes_with_what_a_document_holds_and_only_with_that(changed):
    differs = (make(**changed).digests() != make().digests()).any(axis=1)
    expected = [
        False,
        True,
        False,
        "vocabulary" in changed,
    ]  # the fourth document has the renamed word too
    assert differs.tolist() == expected


def passages(*keys):
    """Return one passage for each document."""
    return Passages(
        np.arange(5),
        np.array(keys, dtype=np.uint64),
        np.full(4, 9, np.int32),
        sparse.csr_array(COUNTS),
    )


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("urls", ["u"] * 4, ["u", "v", "u", "u"]),
        ("authors", ["a"] * 4, ["a", "b", "a", "a"]),
        ("sources", ["a"] * 4, ["a", "b", "a", "a"]),
        ("texts", ["t"] * 4, ["t", "s", "t", "t"]),
        ("vectors", np.eye(4), np.eye(4)[[0, 0, 2, 3]]),
        ("removed", {"quotes": np.zeros(4, int)}, {"quotes": np.array([0, 7, 0, 0])}),
        ("shingles", sparse.csr_array(COUNTS), sparse.csr_array(COUNTS[[0, 0, 2, 3]])),
        ("passages", passages(1, 2, 3, 4), passages(1, 5, 3, 4)),
    ],
)
def test_digest_changes_with_the_parts_that_only_some_corpora_have(name, one, other):
    before, after = (make(**{name: part}).digests() for part in (one, other))
    assert (before != after).any(axis=1).tolist() == [False, True, False, False]
    assert (before != make().digests()).any()


def test_select_keeps_the_terms_that_occur_sorted():
    part = make().select([3, 0])
    assert part.ids == ["d \u2603", "a"] and part.files == ["2.csv", "1.csv"]
    assert part.topics == [("y",), ("x",)] and part.times.tolist() == [-5, 1000]
    assert part.vocabulary == ["caf\u00e9", "lima", "storm"]
    assert part.counts.toarray().tolist() == [[0, 1, 5], [2, 0, 1]]


@pytest.mark.parametrize("rows", [[], [2]])
def test_select_of_nothing(rows):
    part = make().select(rows)
    assert len(part) == len(rows) and part.vocabulary == [] and part.counts.shape == (len(rows), 0)
    assert part.digests().shape == (len(rows), 32)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ids": ["a", "b", "c"]}, "3 ids for 4 documents"),
        ({"times": np.zeros(5, dtype=np.int64)}, "5 times for 4 documents"),
        ({"topics": [()]}, "1 topics for 4 documents"),
        ({"files": ["f"]}, "1 files for 4 documents"),
        ({"vocabulary": ["x"]}, "1 words for 5 terms"),
        ({"ids": ["a", "b", "a", "c"]}, "the document id 'a' occurs twice"),
    ],
)
def test_fields_that_do_not_fit_are_refused(changed, said):
    with pytest.raises(DataError, match=said):
        make(**changed)


def test_one_line():
    assert one_line("  a\n\tb \r c  ") == "a b c"
    assert one_line("word " * 100) == ("word " * 40)[:200]


# Round trip


@pytest.mark.parametrize("kind", ["documents", "batch"])
def test_round_trip(tmp_path, kind):
    store.write(tmp_path / "d.h5", make(), kind=kind, t=3)
    assert same(store.read(tmp_path / "d.h5", kind), make())
    with h5py.File(tmp_path / "d.h5") as file:
        assert file.attrs["t"] == 3
        assert np.array_equal(file["digests"][:], make().digests())


@pytest.mark.parametrize(("n", "ids"), [(2, ["a", "b"]), (None, make().ids)])
def test_the_list_of_the_first_documents(tmp_path, n, ids):
    store.write(tmp_path / "d.h5", make())
    with storage.reading(tmp_path / "d.h5", "documents") as file:
        listed = store.read_list(file, n)
    assert listed.ids == ids and len(listed.titles) == len(ids) == listed.counts.shape[0]


def test_round_trip_of_no_documents(tmp_path):
    store.write(tmp_path / "d.h5", make().select([]))
    assert len(store.read(tmp_path / "d.h5")) == 0


def test_equal_documents_give_equal_bytes(tmp_path):
    store.write(tmp_path / "1.h5", make())
    unsorted = sparse.csr_array(COUNTS[:, ::-1])[:, ::-1]  # indices not sorted
    store.write(tmp_path / "2.h5", make(counts=unsorted.astype(np.int64)))
    assert (tmp_path / "1.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_strings_come_back(strings):
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        storage.write_strings(file, "s", strings)
        assert storage.read_strings(file, "s") == strings


def test_line_break_in_a_string_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"the titles entry 'two\\nlines' contains a line break"):
        store.write(tmp_path / "d.h5", make(titles=["", "two\nlines", "", ""]))
    assert list(tmp_path.iterdir()) == []


# Damage


def test_truncated_file_is_refused_by_name(tmp_path):
    path = tmp_path / "d.h5"
    store.write(path, make())
    whole = path.read_bytes()
    for length in sorted(
        {0, 1, 7, 8, 100, *range(0, len(whole), len(whole) // 40), len(whole) - 1}
    ):
        path.write_bytes(whole[:length])
        with pytest.raises(StorageError, match=re.escape(str(path))) as caught:
            store.read(path)
        assert f"delete {path} and run the same command again" in str(caught.value)


def test_overwritten_bytes_are_refused_or_harmless(tmp_path, rng):
    """Reading returns the documents or raises StorageError, never another error."""
    path = tmp_path / "d.h5"
    store.write(path, make())
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    refused = 0
    for begin in range(0, len(whole) - 64, 97):
        damaged = whole.copy()
        damaged[begin : begin + 64] = rng.integers(0, 256, 64)
        path.write_bytes(damaged.tobytes())
        try:
            store.read(path)
        except (StorageError, DataError):
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("content", [b"", b"not HDF5 at all", b"\x89HDF\r\n\x1a\n" + b"\x00" * 100])
def test_foreign_file_is_refused(tmp_path, content):
    (tmp_path / "f.h5").write_bytes(content)
    with pytest.raises(StorageError, match=r"f\.h5 is damaged"):
        store.read(tmp_path / "f.h5")


def test_foreign_hdf5_kind_and_format_are_refused(tmp_path):
    path = tmp_path / "f.h5"
    with h5py.File(path, "w") as file:
        file["x"] = 1
    with pytest.raises(StorageError, match=r"is damaged \(it has no digests"):
        store.read(path)
    store.write(path, make(), kind="batch")
    with pytest.raises(StorageError, match="is of kind 'batch'"):
        store.read(path)
    with edited(path) as file:
        file.attrs["format"] = 99
    with pytest.raises(StorageError, match="format 99"):
        store.read(path, "batch")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(StorageError, match=r"none\.h5 does not exist"):
        store.read(tmp_path / "none.h5")
    with pytest.raises(StorageError, match="is a folder"):
        store.read(tmp_path)


@pytest.mark.parametrize("name", ["counts", "ids", "times", "vocabulary"])
def test_missing_part_is_refused(tmp_path, name):
    store.write(tmp_path / "d.h5", make())
    with h5py.File(tmp_path / "d.h5", "a") as file:
        del file[name]
    with pytest.raises(StorageError, match=r"d\.h5 was changed"):
        store.read(tmp_path / "d.h5")
    with edited(tmp_path / "d.h5"):
        pass
    with pytest.raises(StorageError, match=r"d\.h5 is damaged"):
        store.read(tmp_path / "d.h5")


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [("indices", 0, 5), ("indices", 0, -1), ("indptr", -1, 99), ("indptr", 0, 1), ("indptr", 1, 9)],
)
def test_edited_matrix_is_refused(tmp_path, name, position, value):
    """Kernels never receive indices out of range."""
    store.write(tmp_path / "d.h5", make())
    with h5py.File(tmp_path / "d.h5", "a") as file:
        values = file["counts"][name][:]
        values[position] = value
        file["counts"][name][:] = values
    with pytest.raises(StorageError, match=r"d\.h5 was changed after it was written; .*delete"):
        store.read(tmp_path / "d.h5")
    with edited(tmp_path / "d.h5"):
        pass
    with pytest.raises(StorageError, match=r"counts: (row pointers|indices out of range)"):
        store.read(tmp_path / "d.h5")


# Atomic writing


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("existing", [False, True])
def test_nothing_half_written_when_the_block_raises(tmp_path, error, existing):
    path = tmp_path / "d.h5"
    if existing:
        store.write(path, make())
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    with pytest.raises(error), storage.writing(path, "documents") as file:
        storage.write_array(file, "x", np.arange(1000))
        raise error
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before


def test_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "folder" / "d.h5"
    with storage.writing(path, "documents") as file:
        storage.write_array(file, "x", np.arange(10))
        assert not path.exists()
    assert path.exists() and os.listdir(path.parent) == ["d.h5"]


def test_replaced_file_has_ordinary_permissions(tmp_path):
    umask = os.umask(0o027)
    try:
        with storage.replacing(tmp_path / "f") as temporary, open(temporary, "w") as file:
            file.write("x")
    finally:
        os.umask(umask)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


def test_sha256_of_a_file(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    assert (
        storage.sha256_of(tmp_path / "f")
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_matrix_with_a_value_that_is_no_number_is_refused(tmp_path, value):
    with storage.writing(tmp_path / "m.h5", "test") as file:
        storage.write_csr(file, "matrix", sparse.csr_array([[1.0, value], [0.0, 2.0]]))
    refused = pytest.raises(
        StorageError, match=r"m\.h5 is damaged \(matrix: a value is not finite\)"
    )
    with refused, storage.reading(tmp_path / "m.h5", "test") as file:
        storage.read_csr(file, "matrix")


def test_vectors_come_back_as_they_were(tmp_path):
    vectors = np.arange(12, dtype=np.float32).reshape(4, 3)
    store.write(tmp_path / "d.h5", make(vectors=vectors), reader="csv")
    np.testing.assert_array_equal(store.read(tmp_path / "d.h5").vectors, vectors)
