"""Shares of a person's own files: which files are read again, and that joined they are what reading at once gives."""

import json
from pathlib import Path

import pytest

from odl import corpora
from odl.config import shares_of
from odl.config.corpora import ALONE, SMALLEST
from odl.corpora import portions
from odl.errors import DataError
from odl.files import documents, storage

MAIL = "From a@b Fri Jul  8 12:08:34 2011\nMessage-ID: <{}@x>\nDate: Fri, 8 Jul 2011 12:08:34 +0200\n\n{} rain\n\n"


def made(folder, names, size):
    """Return the paths of files of a size, which hold nothing."""
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with open(path, "wb") as file:
            file.truncate(size)
    return [str(folder / name) for name in names]


def rows(first, last, **more):
    return [{"id": f"d{number}", "text": f"> said\nword{chr(97 + number % 26)} wind {number}", **more}
            for number in range(first, last)]  # fmt: skip


def write(folder, tables):
    folder.mkdir(exist_ok=True)
    for name, held in tables.items():
        text = held if isinstance(held, str) else "".join(json.dumps(row) + "\n" for row in held)
        (folder / name).write_text(text)
    return [str(path) for path in sorted(folder.iterdir())]


def joined(folder, tables, options):
    """Read every file as a share and join them; return what was written, and the path of what is read at once."""
    paths = write(folder / "docs", tables)
    sources, made = [str(folder / "docs" / "*")], []
    for number, path in enumerate(paths):
        made.append(folder / f"{number}.h5")
        portions.write(made[-1], sources, options, path, path)
    return made, sources, paths


def both(folder, tables, options):
    """Return the documents joined of shares, and whether reading at once writes the same bytes."""
    made, sources, _ = joined(folder, tables, options)
    found = portions.join(folder / "joined.h5", made, sources, options)
    documents.write(folder / "once.h5", corpora.read("documents", sources, options), reader="documents")
    return found, (folder / "joined.h5").read_bytes() == (folder / "once.h5").read_bytes()


class TestShares:
    def test_one_share_is_none(self, tmp_path):
        assert shares_of(made(tmp_path, ["a", "b"], SMALLEST // 2)) == {}
        assert shares_of(["missing", "gone"]) == {}

    def test_a_large_file_that_is_alone_is_not_read_again_when_another_comes(self, tmp_path):
        assert shares_of(made(tmp_path, ["c"], ALONE)) == {}
        paths = made(tmp_path, ["a", "b"], ALONE + 1)
        (name,) = alone = shares_of(paths[:1])
        assert alone[name] == paths[:1] == shares_of(paths)[name]

    def test_a_large_file_is_a_share_of_its_own(self, tmp_path):
        paths = [*made(tmp_path, ["a", "b"], 10), *made(tmp_path, ["c", "d"], SMALLEST + 1), *made(tmp_path, ["e"], 1)]
        assert list(shares_of(paths).values()) == [paths[:2], paths[2:3], paths[3:4], paths[4:]]

    def test_small_files_make_few_shares(self, tmp_path):
        paths = made(tmp_path, [f"{number:04d}" for number in range(3000)], SMALLEST // 10)
        found = shares_of(paths)
        assert [path for files in found.values() for path in files] == paths
        assert 60 < len(found) <= 256 and max(map(len, found.values())) <= 40

    @pytest.mark.parametrize("at", [0, 150, 300])
    def test_a_file_that_comes_changes_the_shares_near_it_only(self, tmp_path, monkeypatch, at):
        monkeypatch.chdir(tmp_path)  # where a share may end is drawn from the paths
        names = [f"{number:04d}" for number in range(300)]
        before = shares_of(made(Path("files"), names, SMALLEST // 10))
        names.insert(at, f"{at:04d}a")
        after = shares_of(made(Path("files"), names, SMALLEST // 10))
        changed = [name for name, files in after.items() if before.get(name) != files]
        assert 1 <= len(changed) <= 12 < len(after)
        assert at < 300 or len(changed) == 1


OPTIONS = {"clean": ["quotes", "headers", "encoded"], "min_words": 2, "duplicates": True}


class TestJoining:
    def test_the_bytes_of_reading_at_once(self, tmp_path):
        tables = {
            "a.jsonl": rows(0, 40),
            "b.jsonl": [{"id": "short", "text": "one"}],  # a share with nothing left
            "c.jsonl": rows(40, 60, url="https://x.org/", topics=["t"], time="2020-01-01", title="T"),
            "d.mbox": MAIL.format(1, "autumn fog") + MAIL.format(2, "x"),
            "e.mbox": MAIL.format(1, "again nowhere") + MAIL.format(2, "y") + MAIL.format(3, "winter") * 2,
        }
        made, sources, _ = joined(tmp_path, tables, OPTIONS)
        found = portions.join(tmp_path / "joined.h5", made, sources, OPTIONS)
        once = corpora.read("documents", sources, OPTIONS)
        documents.write(tmp_path / "once.h5", once, reader="documents")
        assert (tmp_path / "joined.h5").read_bytes() == (tmp_path / "once.h5").read_bytes()
        assert found.repeats == once.repeats == (1, 2)
        assert "nowhere" not in found.vocabulary and len(found) == 62 and len(found.dropped.ids) == 2

    @pytest.mark.parametrize("clean", [["boilerplate"], ["headers", "quotes", "encoded", "boilerplate"]])
    def test_the_bytes_of_reading_at_once_with_passages_and_vectors(self, tmp_path, clean):
        foot = "\nThis list is kept by the weather office. Write at any time!\nUnsubscribe at the door below."
        tables = {
            "a.jsonl": [{"id": "short", "text": "one", "vector": [9, 9]}],  # shares with nothing left
            **{f"{name}.jsonl": [{**row, "text": row["text"] + foot, "vector": [number, at / 3]} for number, row
                                 in enumerate(rows(at, at + 20))] for at, name in ((0, "b"), (20, "d"))},
            "c.jsonl": [{"id": "shorter", "text": "", "vector": "[0, 1]"}],
            "e.jsonl": [{"id": "counts", "counts": {"zephyr": 3, "wind": 2}, "vector": [0, 0]}],
        }  # fmt: skip
        options = {"clean": clean, "min_words": 2, "duplicates": True, "columns": {"vector": "vector"}}
        found, once = both(tmp_path, tables, options)
        assert len(found) == 41 and found.vectors.shape == (41, 2) and len(found.dropped.ids) == 2
        assert found.passages.words.sum() == 40 * 8 and found.passages.words.shape[1] == len(found.vocabulary)
        assert once

    def test_the_bytes_of_reading_at_once_with_an_encoder(self, tmp_path):
        pytest.importorskip("wordllama")
        tables = {"a.jsonl": rows(0, 300), "b.jsonl": [{"id": "short", "text": "one"}], "c.jsonl": rows(300, 320)}
        found, once = both(tmp_path, tables, {"min_words": 2, "vectors": "wordllama", "clean": ["boilerplate"]})
        assert found.vectors.shape == (320, 256) and once

    def test_vectors_of_two_lengths_are_refused_with_the_line(self, tmp_path):
        tables = {"a.jsonl": rows(0, 3, vector=[1, 2]), "b.jsonl": rows(3, 5, vector=[1, 2, 3])}
        options = {"columns": {"vector": "vector"}}
        made, sources, _ = joined(tmp_path, tables, options)
        with pytest.raises(DataError, match=r"b\.jsonl line 1: .*3"):
            portions.join(tmp_path / "joined.h5", made, sources, options)
        assert not (tmp_path / "joined.h5").exists()

    def test_files_between_the_first_and_the_last(self, tmp_path):
        paths = write(
            tmp_path / "docs", {f"{name}.jsonl": rows(at, at + 2) for at, name in ((0, "a"), (2, "b"), (4, "c"))}
        )
        found = portions.write(tmp_path / "s.h5", [str(tmp_path / "docs")], {}, paths[0], paths[1])
        assert found.ids == ["d0", "d1", "d2", "d3"]
        with storage.reading(tmp_path / "s.h5", "share") as file:
            assert len(storage.read_array(file, "contents", "u", ndim=2)) == 4

    @pytest.mark.parametrize("changed", ["keep", "new"])
    @pytest.mark.parametrize("clean", [[], ["quotes", "boilerplate"]])
    def test_rows_that_occur_again_changed_or_not(self, tmp_path, changed, clean):
        other = [{**row, "text": f"{row['text']} fog and rain"} for row in rows(1, 4)]
        tables = {
            "a.jsonl": [*rows(0, 3), *rows(0, 1)],
            "b.jsonl": [*other, *rows(2, 5), {"id": "d0", "text": "one"}],  # d3: the changed one comes first
            "c.jsonl": [*other, {"id": "d0", "text": "one"}, {"id": "d0", "text": "green fog"}, *rows(3, 4)],
        }
        options = {"min_words": 2, "changed": changed, "clean": clean}
        found, once = both(tmp_path, tables, options)
        assert once and [identity for identity in found.ids if "~" not in identity] == ["d0", "d1", "d2", "d3", "d4"]
        assert len(found) == (5 if changed == "keep" else 9)
        assert found.repeats == ((3, 9) if changed == "keep" else (7, 0))
        assert len(found.dropped.ids) == (changed == "new")
        assert documents.read(tmp_path / "joined.h5").repeats == found.repeats

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
        paths = write(tmp_path / "docs", {"a.jsonl": rows(0, 3)})
        with pytest.raises(DataError, match=r"b\.jsonl is not among"):
            portions.write(
                tmp_path / "s.h5", [str(tmp_path / "docs")], {}, paths[0], str(tmp_path / "docs" / "b.jsonl")
            )

    def test_shares_of_files_no_longer_read_are_forgotten(self, tmp_path):
        made, _, _ = joined(tmp_path, {"a.jsonl": rows(0, 3), "b.jsonl": rows(3, 5)}, {})
        portions.forget(made[1:])
        assert sorted(path.name for path in tmp_path.glob("*.h5")) == ["1.h5"]
