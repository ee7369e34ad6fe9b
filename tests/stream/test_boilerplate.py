"""Boilerplate is removed, copies and titles are not; results do not depend on appending."""

import json

import numpy as np
import pytest
from ownfiles import FOOTER, jsonl, own

from odl import corpora
from odl.config.sections import Batches, Order
from odl.errors import ConfigError
from odl.files import documents as docs
from odl.files import storage
from odl.stream import batchfile, batching, boilerplate, features


def rows(numbers, footer=FOOTER, title="A title of it"):
    return [
        {
            "id": f"d{n}",
            "time": f"2026-01-{1 + n // 40:02d}",
            "text": f"{title}\n{own(n)}\n{footer}",
        }
        for n in numbers
    ]


def stream(folder, given, tokens=None):
    """Read documents, compute the features of each day, and return them."""
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    options = {"clean": ["boilerplate"], "tokens": {"stop_words": None} | (tokens or {})}
    docs.write(
        folder / "documents.h5", corpora.read("documents", [str(folder / "a.jsonl")], options)
    )
    stream = Order(ties="source", batches=Batches(by="period", period="day", initial=30))
    batching.index(
        folder / "documents.h5", folder / "index.tsv", folder / "order.h5", seed=0, stream=stream
    )
    steps = len((folder / "index.tsv").read_text().splitlines()) - 1
    made = []
    for t in range(steps):
        batch, output = folder / "batches" / f"{t}.h5", folder / "features" / f"{t}.h5"
        for path in (batch, output):
            path.parent.mkdir(exist_ok=True)
        batchfile.cut(folder / "documents.h5", folder / "order.h5", batch, t)
        features.advance(output, batch, folder / "features" / f"{t - 1}.h5" if t else None)
        made.append(features.read(output))
    return made


def words_left(one):
    used = np.unique(one.counts[:].indices)
    return {one.vocabulary[term] for term in used}


def tally(*documents, before=None):
    """Count documents given as lists of (key, size)."""
    starts = np.cumsum([0, *map(len, documents)])
    pairs = [pair for document in documents for pair in document]
    keys = np.array([key for key, _ in pairs], dtype=np.uint64)
    sizes = np.array([size for _, size in pairs], dtype=np.int32)
    return boilerplate.tally(starts, keys, sizes, before or boilerplate.add_counts([]))


class TestTally:
    def test_a_document_counts_by_what_is_new_in_it(self):
        one = tally([(1, 30), (9, 10)], [(2, 30), (9, 10)], [(1, 30), (9, 10)], [(3, 10), (1, 30)])
        assert dict(zip(one.keys.tolist(), one.counts.tolist(), strict=True)) == {
            1: 1250,
            2: 750,
            3: 250,
            9: 1750,
        }
        again = tally([(1, 30), (9, 10)], before=one)
        assert again.counts.tolist() == [0, 0]
        both = boilerplate.add_counts([one, again])
        assert (both.keys.tolist(), both.counts.tolist(), both.n_documents) == (
            [1, 2, 3, 9],
            [1250, 750, 250, 1750],
            5,
        )

    def test_copies_are_no_boilerplate_however_many(self):
        assert not boilerplate.find_boilerplate(
            tally(*[[(1, 50), (2, 50)]] * 500), boilerplate.add_counts([])
        ).any()

    def test_number_and_share_both_count(self):
        def found(n, others, before=0):
            documents = [[(9, 10), (100 + number, 990)] for number in range(n)]
            earlier = tally(*[[(9, 1), (10**6 + number, 999)] for number in range(before)])
            one = tally(
                *documents, *[[(10**4 + number, 9)] for number in range(others)], before=earlier
            )
            return one.keys[boilerplate.find_boilerplate(one, earlier)].tolist() == [9]

        assert found(12, 0) and not found(9, 0) and not found(12, 2000)
        assert found(12, 100, before=1) and not found(5, 100, before=1)

    def test_what_no_timestep_before_has_needs_more_documents_to_be_no_event(self):
        earlier = tally(*[[(5 + number, 9)] for number in range(100)])
        for n, new in ((15, False), (25, True)):
            one = tally(*[[(1, 1), (1000 + number, 999)] for number in range(n)],
                        *[[(2000 + number, 9)] for number in range(200 - n)], before=earlier)  # fmt: skip
            assert boilerplate.find_boilerplate(one, earlier).any() == new


class TestStream:
    def test_footers_go_titles_stay(self, tmp_path):
        made = stream(tmp_path, rows(range(120)))
        assert len(made) == 3
        for one in made:
            left = words_left(one)
            assert "member" not in left and "list" not in left and "title" in left
            assert len(left) >= 24 * 40
            assert {"member", "list"} & set(
                one.vocabulary
            ) == set()  # a word that never counts is no term
            with storage.reading(one.file.filename, "features") as file:
                taken = storage.read_array(file["boilerplate"], "taken", "i")
            assert (taken == len(FOOTER) - 1).all()

    @pytest.mark.parametrize(
        ("footer", "there"),
        [
            ("版权所有，未经许可不得转载。", "版权"),
            ("無断転載を禁じます。", "転載"),
            ("สงวนลิขสิทธิ์ห้ามทำซ้ำโดยไม่ได้รับอนุญาต", "สงว"),
        ],
    )
    def test_footers_without_spaces_go_within_a_line(self, tmp_path, footer, there):
        given = [
            {**row, "text": row["text"].rstrip() + "。 " + footer} for row in rows(range(80), "")
        ]
        tokens = {"tokeniser": "words"}
        for name, left in (("with", False), ("without", True)):
            kept = (
                given
                if not left
                else [{**row, "text": row["text"].replace("。 ", "")} for row in given]
            )
            made = stream(tmp_path / name, kept, tokens)
            assert [there in words_left(one) for one in made] == [left, left]

    def test_copies_stay(self, tmp_path):
        given = [{**row, "text": f"Title {n}\n{own(1)}"} for n, row in enumerate(rows(range(120)))]
        assert all(len(words_left(one)) >= 24 for one in stream(tmp_path, given))

    def test_a_footer_that_begins_goes_from_the_next_timestep_or_at_once_where_most_have_it(
        self, tmp_path, monkeypatch
    ):
        def left(name, n):
            later = [
                row
                for number in range(40, 120)
                for row in rows([number], FOOTER if number % 40 < n else "")
            ]
            return [
                "member" in words_left(one)
                for one in stream(tmp_path / name, rows(range(40), "") + later)
            ]

        assert left("many", 20) == [False, False, False]
        monkeypatch.setattr(boilerplate, "MIN_PASSAGE_DOCUMENTS", 3)
        assert left("some", 4) == [False, True, False]

    @pytest.mark.slow
    def test_appended_or_at_once_the_same_bytes(self, tmp_path):
        given = rows(range(160))
        stream(tmp_path / "a", given[:80])
        before = (tmp_path / "a" / "features" / "1.h5").read_bytes()
        stream(tmp_path / "a", given)
        stream(tmp_path / "b", given)
        assert before == (tmp_path / "a" / "features" / "1.h5").read_bytes()
        for part in ("batches", "features"):
            for t in range(4):
                assert (tmp_path / "a" / part / f"{t}.h5").read_bytes() == (
                    tmp_path / "b" / part / f"{t}.h5"
                ).read_bytes()

    def test_features_say_what_they_were_made_from(self, tmp_path):
        """A change of passages in a timestep changes the features of all later ones."""
        previous = "0" * 64
        for t, one in enumerate(stream(tmp_path, rows(range(120)))):
            batch = storage.digest_of(tmp_path / "batches" / f"{t}.h5", "batch")
            assert (one.file.attrs["batch"], one.file.attrs["previous"]) == (batch, previous)
            previous = one.file.attrs["digest"]

    def test_a_window_goes_back_to_enough_documents(self, tmp_path, monkeypatch):
        stream(tmp_path, rows(range(240)))
        assert boilerplate.window(tmp_path / "features", 6).n_documents == 240
        monkeypatch.setattr(boilerplate, "WINDOW_DOCUMENTS", 10)
        assert boilerplate.window(tmp_path / "features", 6).n_documents == 160
        monkeypatch.setattr(boilerplate, "MAX_WINDOW_FILES", 2)
        assert boilerplate.window(tmp_path / "features", 6).n_documents == 80

    def test_it_takes_counts_as_they_are_and_refuses_what_it_does_not_know(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"counts": {"a": 2}}\n{"text": "one two three"}\n')
        found = corpora.read(
            "documents", [str(tmp_path / "a.jsonl")], {"clean": {"boilerplate": True}}
        )
        assert len(found.passages) == 2 and not len(found.passages.keys)
        with pytest.raises(ConfigError, match="did you mean 'boilerplate'"):
            corpora.read("documents", [str(tmp_path / "a.jsonl")], {"clean": ["boilerplates"]})


def test_a_document_may_have_no_passages(tmp_path):
    path = tmp_path / "documents.h5"
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"id": "a", "text": "Rain"}) + "\n" + json.dumps(rows([1])[0]) + "\n"
    )
    docs.write(
        path, corpora.read("documents", [str(tmp_path / "a.jsonl")], {"clean": ["boilerplate"]})
    )
    starts = docs.read(path).passages.starts
    assert starts[:2].tolist() == [0, 0] and starts[2] > 0


def test_what_a_run_took_out_is_one_line(tmp_path):
    rows = [{"id": f"p-{n}", "text": f"{own(n)}\n-- \nSome Body"} for n in range(5)] + [
        {"id": "short", "text": "a"}
    ]
    options = {"clean": ["headers", "signatures"], "min_words": 5, "tokens": {"stop_words": None}}
    docs.write(
        tmp_path / "documents.h5",
        corpora.read("documents", [jsonl(tmp_path / "a.jsonl", rows)], options),
    )
    said = "cleaned 5 documents: signatures of 5 (70 characters)"
    places = tmp_path / "documents.h5", tmp_path / "seed0" / "features" / "1.h5"
    assert boilerplate.sentence(*places).startswith(f"{said}; 1 document with too few")
    (tmp_path / "seed0" / "features").mkdir(parents=True)
    for t in (0, 1):
        with storage.writing(tmp_path / "seed0" / "features" / f"{t}.h5", "features", t=t) as file:
            file.create_group("boilerplate").attrs["sums"] = np.array([1 + t, 1200 * (1 + t)])
    assert boilerplate.sentence(*places).startswith(
        f"{said}, boilerplate of 2 (2,400 characters); "
    )
    assert boilerplate.sentence(tmp_path / "absent", tmp_path) == ""
