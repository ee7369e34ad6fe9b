"""Account of the documents of a run, whatever befell the files since the run before."""

import pytest
from ownfiles import ROWS, jsonl

from odl import corpora
from odl.cli import lastrun
from odl.files import documents


class TestNews:
    """How many documents are new, whatever befell the files since the run before."""

    def run(self, folder, **files):
        """Read files of (id, text), as a run does; return what it says of them."""
        for name, rows in files.items():
            lines = [{"id": key, "text": text} for key, text in rows]
            jsonl(folder / "posts" / f"{name}.jsonl", lines) if rows else (folder / "posts" / f"{name}.jsonl").unlink()
        read = corpora.read("documents", [str(folder / "posts")], {"min_words": 2})
        documents.write(folder / "documents.h5", read, reader="documents")
        return lastrun.sentence(folder, *lastrun.read(folder / "documents.h5"))

    def ended(self, folder, **files):
        said = self.run(folder, **files)
        lastrun.keep(folder, lastrun.read(folder / "documents.h5")[0])
        return said

    def test_what_came_changed_and_went(self, tmp_path):
        week = [(f"a{n}", f"green words {n}") for n in range(40)]
        assert self.ended(tmp_path, a=week[:30]) == "30 new documents: no run before this one is on record"
        noted = (tmp_path / lastrun.FILE).read_bytes()
        assert self.ended(tmp_path) == "0 new documents since the run before; 30 in all"
        assert (tmp_path / lastrun.FILE).read_bytes() == noted
        said = "10 new documents since the run before; 40 in all"
        assert self.run(tmp_path, a=week) == said  # this one is stopped
        assert self.ended(tmp_path) == said
        assert self.ended(tmp_path, b=[("b", "blue words")]) == "1 new document since the run before; 41 in all"
        week[3:5] = [("a3", "grey words"), ("new", "fresh words")]
        said = "1 new document since the run before; 1 changed; 1 no longer in the files; 41 in all"
        assert self.ended(tmp_path, a=week) == said
        said = "0 new documents since the run before; 1 no longer in the files; 40 in all"
        assert self.ended(tmp_path, b=()) == said
        said = "2 new documents (1 of them too short, left out) since the run before; 42 in all"
        assert self.ended(tmp_path, b=[("b", "blue words"), ("short", "red")]) == said
        said = "0 new documents since the run before; 1 changed; 42 in all"
        assert self.ended(tmp_path, b=[("b", "blue words"), ("short", "red words")]) == said

    def test_rows_that_repeat_are_counted(self, tmp_path):
        week = [(f"a{n}", f"green words {n}") for n in range(40)]
        self.ended(tmp_path, a=week[:30])
        said = "10 new documents since the run before; 40 in all; 20 repeated rows left out"
        assert self.ended(tmp_path, b=week[10:]) == said

    def test_without_a_note_nothing_is_claimed(self, tmp_path):
        self.ended(tmp_path, a=[("a", "green words")])
        (tmp_path / lastrun.FILE).write_bytes(b"damaged")
        assert self.ended(tmp_path) == "1 new document: no run before this one is on record"
        assert self.ended(tmp_path) == "0 new documents since the run before; 1 in all"

    @pytest.mark.parametrize("name", ["mine", "mine[1]"])
    def test_files_that_are_not_read_are_named(self, tmp_path, monkeypatch, name):
        for n in range(6):
            jsonl(tmp_path / "posts" / f"{n}.jsonl", ROWS)
        monkeypatch.chdir(tmp_path)
        corpus = {"sources": ["../posts/[0-1].jsonl"], "options": {}}
        (tmp_path / name).mkdir()
        said = lastrun.unread(name, corpus)
        assert said.startswith("not read: posts/2.jsonl, posts/3.jsonl, posts/4.jsonl and 1 more, of the same kind")
        assert said.endswith(f"beside the sources of {name}/odl.yaml")
        assert lastrun.unread(name, {**corpus, "sources": ["../posts"]}) == ""
        assert lastrun.unread(name, {"sources": [str(tmp_path / "posts")], "options": {"kind": "jsonl"}}) == ""
