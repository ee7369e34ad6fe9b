"""Shares of user files: which files are read again, and equality with reading all files at once."""

import json
from pathlib import Path

import numpy as np
import pytest

from odl import corpora
from odl.config.chains import MIN_SHARE_BYTES, MIN_SPLIT_BYTES, shares_of
from odl.corpora import portions
from odl.errors import DataError, StorageError
from odl.files import documents, provenance, storage
from odl.stream import batchfile

MAIL = "From a@b Fri Jul  8 12:08:34 2011\nMessage-ID: <{}@x>\nDate: Fri, 8 Jul 2011 12:08:34 +0200\n\n{} rain\n\n"


def made(folder, names, size):
    """Create empty files of a given size and return their paths."""
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with open(path, "wb") as file:
            file.truncate(size)
    return [str(folder / name) for name in names]


def texts(first, last, **more):
    return [{"id": f"d{number}", "text": f"> said\nword{chr(97 + number % 26)} wind {number}", **more}
            for number in range(first, last)]  # fmt: skip


def write(folder, tables):
    folder.mkdir(exist_ok=True)
    for name, held in tables.items():
        text = held if isinstance(held, str) else "".join(json.dumps(row) + "\n" for row in held)
        (folder / name).write_text(text)
    return [str(path) for path in sorted(folder.iterdir())]


def joined(folder, tables, options):
    """Write every file as a share; return the paths of the shares, the sources and the paths of files."""
    paths = write(folder / "docs", tables)
    sources, made = [str(folder / "docs" / "*")], []
    for number, path in enumerate(paths):
        made.append(folder / "shares" / f"{number}.h5")
        portions.write(made[-1], portions.members(sources, options, path, path), options)
    return made, sources, paths


def both(folder, tables, options):
    """Return the documents read at once, and whether those of the shares are equal."""
    made, sources, _ = joined(folder, tables, options)
    listed = portions.join(folder / "joined.h5", made, sources, options)
    once = corpora.read("documents", sources, options)
    documents.write(folder / "once.h5", once, reader="documents")
    same = [
        listed.ids == once.ids,
        listed.repeats == once.repeats == documents.read(folder / "joined.h5").repeats,
    ]
    removed = [
        {name: taken.tolist() for name, taken in each.removed.items()} for each in (listed, once)
    ]
    same += [removed[0] == removed[1]]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(once))[: (1 + seed) * len(once) // 3]
        for name in ("joined", "once"):
            batchfile.write(folder / f"{name}.h5", order, folder / f"{name}-batch.h5", 0)
        same.append(
            (folder / "joined-batch.h5").read_bytes() == (folder / "once-batch.h5").read_bytes()
        )
    return once, all(same)


class TestShares:
    def test_one_share_is_none(self, tmp_path):
        assert shares_of(made(tmp_path, ["a", "b"], MIN_SHARE_BYTES // 2)) == {}
        assert shares_of(["missing", "gone"]) == {}

    def test_a_large_file_that_is_alone_is_not_read_again_when_another_comes(self, tmp_path):
        assert shares_of(made(tmp_path, ["c"], MIN_SPLIT_BYTES)) == {}
        paths = made(tmp_path, ["a", "b"], MIN_SPLIT_BYTES + 1)
        (name,) = alone = shares_of(paths[:1])
        assert alone[name] == paths[:1] == shares_of(paths)[name]

    def test_a_large_file_is_a_share_of_its_own(self, tmp_path):
        paths = [
            *made(tmp_path, ["a", "b"], 10),
            *made(tmp_path, ["c", "d"], MIN_SHARE_BYTES + 1),
            *made(tmp_path, ["e"], 1),
        ]
        assert list(shares_of(paths).values()) == [paths[:2], paths[2:3], paths[3:4], paths[4:]]

    def test_small_files_make_few_shares(self, tmp_path):
        paths = made(tmp_path, [f"{number:04d}" for number in range(3000)], MIN_SHARE_BYTES // 10)
        found = shares_of(paths)
        assert [path for files in found.values() for path in files] == paths
        assert 60 < len(found) <= 256 and max(map(len, found.values())) <= 40

    @pytest.mark.parametrize("at", [0, 150, 300])
    def test_a_file_that_comes_changes_the_shares_near_it_only(self, tmp_path, monkeypatch, at):
        monkeypatch.chdir(tmp_path)  # where a share may end is drawn from the paths
        names = [f"{number:04d}" for number in range(300)]
        before = shares_of(made(Path("files"), names, MIN_SHARE_BYTES // 10))
        names.insert(at, f"{at:04d}a")
        after = shares_of(made(Path("files"), names, MIN_SHARE_BYTES // 10))
        changed = [name for name, files in after.items() if before.get(name) != files]
        assert 1 <= len(changed) <= 12 < len(after)
        assert at < 300 or len(changed) == 1


OPTIONS = {"clean": ["quotes", "headers", "encoded"], "min_words": 2, "duplicates": True}


class TestJoining:
    @pytest.mark.parametrize("span", [batchfile.MATRIX_ROWS, 9])
    def test_the_bytes_of_reading_at_once(self, tmp_path, monkeypatch, span):
        monkeypatch.setattr(batchfile, "MATRIX_ROWS", span)
        tables = {
            "a.jsonl": texts(0, 40),
            "b.jsonl": [{"id": "short", "text": "one"}],  # a share with nothing left
            "c.jsonl": texts(
                40, 60, url="https://x.org/", topics=["t"], time="2020-01-01", title="T"
            ),
            "d.mbox": MAIL.format(1, "autumn fog") + MAIL.format(2, "x"),
            "e.mbox": MAIL.format(1, "again nowhere")
            + MAIL.format(2, "y")
            + MAIL.format(3, "winter") * 2,
        }
        found, same = both(tmp_path, tables, OPTIONS)
        assert same and found.repeats == (1, 2)
        assert (
            "nowhere" not in found.vocabulary and len(found) == 62 and len(found.dropped.ids) == 2
        )

    @pytest.mark.parametrize(
        "clean", [["boilerplate"], ["headers", "quotes", "encoded", "boilerplate"]]
    )
    def test_the_bytes_of_reading_at_once_with_passages_and_vectors(self, tmp_path, clean):
        foot = "\nThis list is kept by the weather office. Write at any time!\nUnsubscribe at the door below."
        tables = {
            # shares with nothing left
            "a.jsonl": [{"id": "short", "text": "one", "vector": [9, 9]}],
            **{f"{name}.jsonl": [{**row, "text": row["text"] + foot, "vector": [number, at / 3]} for number, row
                                 in enumerate(texts(at, at + 20))] for at, name in ((0, "b"), (20, "d"))},
            "c.jsonl": [{"id": "shorter", "text": "", "vector": "[0, 1]"}],
            "e.jsonl": [{"id": "counts", "counts": {"zephyr": 3, "wind": 2}, "vector": [0, 0]}],
        }  # fmt: skip
        options = {
            "clean": clean,
            "min_words": 2,
            "duplicates": True,
            "columns": {"vector": "vector"},
        }
        found, once = both(tmp_path, tables, options)
        assert len(found) == 41 and found.vectors.shape == (41, 2) and len(found.dropped.ids) == 2
        assert found.passages.words.sum() == 40 * 8 and found.passages.words.shape[1] == len(
            found.vocabulary
        )
        assert once

    def test_the_bytes_of_reading_at_once_with_an_encoder(self, tmp_path):
        pytest.importorskip("wordllama")
        tables = {
            "a.jsonl": texts(0, 300),
            "b.jsonl": [{"id": "short", "text": "one"}],
            "c.jsonl": texts(300, 320),
        }
        found, once = both(
            tmp_path, tables, {"min_words": 2, "vectors": "wordllama", "clean": ["boilerplate"]}
        )
        assert found.vectors.shape == (320, 256) and once

    def test_a_share_with_vectors_of_another_length_is_set_aside(self, tmp_path):
        tables = {"a.jsonl": texts(0, 4, vector=[1, 2, 3]), "b.jsonl": texts(4, 7, vector=[1, 2])}
        tables |= {"c.jsonl": texts(7, 9, vector=[1, 2, 3])}
        options = {"columns": {"vector": "vector"}, "strict": False}
        shares, sources, _ = joined(tmp_path, tables, options)
        for appended in (True, True, False):  # also resumed from its own list
            found = portions.join(
                tmp_path / "joined.h5", shares, sources, options, appended=appended
            )
            assert found.ids == ["d0", "d1", "d2", "d3", "d7", "d8"]
            once = corpora.read("documents", sources, options)
            assert once.ids == found.ids and len(once.aside) == len(found.aside) == 3
            assert found.aside[0] == (
                "b.jsonl",
                "document d4",
                "the vector has 2 numbers, earlier vectors 3",
            )
        portions.join(tmp_path / "part.h5", shares[:2], sources, options)
        whole = portions.join(tmp_path / "part.h5", shares, sources, options)
        assert (whole.ids, whole.aside) == (found.ids, found.aside)

    def test_vectors_of_two_lengths_are_refused_with_the_line(self, tmp_path):
        tables = {"a.jsonl": texts(0, 3, vector=[1, 2]), "b.jsonl": texts(3, 5, vector=[1, 2, 3])}
        options = {"columns": {"vector": "vector"}}
        made, sources, _ = joined(tmp_path, tables, options)
        with pytest.raises(DataError, match=r"b\.jsonl line 1: .*3"):
            portions.join(tmp_path / "joined.h5", made, sources, options)
        assert not (tmp_path / "joined.h5").exists()

    def test_files_between_the_first_and_the_last(self, tmp_path):
        paths = write(
            tmp_path / "docs",
            {f"{name}.jsonl": texts(at, at + 2) for at, name in ((0, "a"), (2, "b"), (4, "c"))},
        )
        found = portions.write(
            tmp_path / "s.h5", portions.members([str(tmp_path / "docs")], {}, *paths[:2]), {}
        )
        assert found.ids == ["d0", "d1", "d2", "d3"]
        with storage.reading(tmp_path / "s.h5", "share") as file:
            assert len(storage.read_array(file, "contents", "u", ndim=2)) == 4

    @pytest.mark.parametrize("changed", ["keep", "new"])
    @pytest.mark.parametrize("clean", [[], ["quotes", "boilerplate"]])
    def test_rows_that_occur_again_changed_or_not(self, tmp_path, changed, clean):
        other = [{**row, "text": f"{row['text']} fog and rain"} for row in texts(1, 4)]
        tables = {
            "a.jsonl": [*texts(0, 3), *texts(0, 1)],
            "b.jsonl": [
                *other,
                *texts(2, 5),
                {"id": "d0", "text": "one"},
            ],  # d3: the changed one comes first
            "c.jsonl": [
                *other,
                {"id": "d0", "text": "one"},
                {"id": "d0", "text": "green fog"},
                *texts(3, 4),
            ],
        }
        options = {"min_words": 2, "changed": changed, "clean": clean}
        found, once = both(tmp_path, tables, options)
        assert once and [identity for identity in found.ids if "~" not in identity] == [
            "d0",
            "d1",
            "d2",
            "d3",
            "d4",
        ]
        assert len(found) == (5 if changed == "keep" else 9)
        assert found.repeats == ((3, 9) if changed == "keep" else (7, 0))
        assert len(found.dropped.ids) == (changed == "new")

    @pytest.mark.parametrize("changed", ["keep", "new"])
    @pytest.mark.parametrize(("last", "code", "n_read"), [
        (texts(5, 8), "a", 2),
        # among themselves
        ([*texts(5, 8), *texts(6, 7), {"id": "d6", "text": "green fog"}], "a", 2),
        (texts(5, 8), "b", 4),
        ([*texts(5, 8), *texts(1, 2)], "a", 4),
        ([*texts(5, 8), {"id": "short", "text": "green fog"}], "a", 4),
    ])  # fmt: skip
    def test_a_list_goes_on_as_if_made_at_once(
        self, tmp_path, monkeypatch, changed, last, code, n_read
    ):
        """Shares in the list are not read again unless their rows or the code changed."""
        options, listed, n = (
            {"min_words": 2, "changed": changed, "clean": ["quotes"]},
            portions._read_new_documents,
            [],
        )
        monkeypatch.setattr(
            portions, "_read_new_documents", lambda *arguments: n.append(1) or listed(*arguments)
        )
        tables = {
            "a.jsonl": [*texts(0, 3), *texts(0, 1), {"id": "short", "text": "one"}],
            "b.jsonl": [{"id": "d0", "text": "green fog"}, *texts(3, 5)],
            "c.jsonl": texts(5, 7),
        }
        record = {"step": "read", "code": "a", "settings": {}, "inputs": {}}
        made, sources, _ = joined(tmp_path, tables, options)
        with provenance.recording(record):
            portions.join(tmp_path / "joined.h5", made, sources, options)
        made, sources, _ = joined(
            tmp_path, {**tables, "c.jsonl": last, "d.jsonl": texts(9, 10)}, options
        )
        n.clear()
        with provenance.recording({**record, "code": code}):
            again = portions.join(tmp_path / "joined.h5", made, sources, options)
            assert (
                len(n) == n_read + (n_read == 4 and code == "a") * 2
            )  # two are read before the repeated id is seen
        with provenance.recording({**record, "code": code}):
            once = portions.join(tmp_path / "once.h5", made, sources, options)
        assert again.repeats == once.repeats
        assert (tmp_path / "joined.h5").read_bytes() == (tmp_path / "once.h5").read_bytes()

    @pytest.mark.parametrize(("text", "options"), [("one", {"min_words": 2}), ("2 3", {})])
    def test_nothing_left_is_said_as_of_all_at_once(self, tmp_path, text, options):
        tables = {f"{name}.jsonl": [{"id": name, "text": text}] for name in "ab"}
        made, sources, _ = joined(tmp_path, tables, options)
        with pytest.raises(DataError) as once:
            corpora.read("documents", sources, options)
        with pytest.raises(DataError) as now:
            portions.join(tmp_path / "joined.h5", made, sources, options)
        assert str(now.value) == str(once.value)

    def test_a_file_that_is_gone_meanwhile(self, tmp_path):
        paths = write(tmp_path / "docs", {"a.jsonl": texts(0, 3)})
        with pytest.raises(DataError, match=r"b\.jsonl is no longer among"):
            portions.members(
                [str(tmp_path / "docs")], {}, paths[0], str(tmp_path / "docs" / "b.jsonl")
            )

    def test_shares_of_files_no_longer_read_are_forgotten(self, tmp_path):
        made, _, _ = joined(tmp_path, {"a.jsonl": texts(0, 3), "b.jsonl": texts(3, 5)}, {})
        portions.forget(made[1:])
        assert sorted(path.name for path in (tmp_path / "shares").glob("*.h5")) == ["1.h5"]

    def test_a_share_that_is_gone_or_another_is_said(self, tmp_path):
        made, sources, _ = joined(tmp_path, {"a.jsonl": texts(0, 3), "b.jsonl": texts(3, 5)}, {})
        portions.join(tmp_path / "documents.h5", made, sources, {})
        made[1].rename(made[0])
        for number, fault in ((0, r"0\.h5 has changed"), (4, r"1\.h5 does not exist")):
            with pytest.raises(
                StorageError,
                match=rf"{fault}; expected the share that .* lists; delete .*documents\.h5",
            ):
                batchfile.write(
                    tmp_path / "documents.h5", np.array([number]), tmp_path / "batch.h5", 0
                )
            assert not (tmp_path / "batch.h5").exists()
