"""Excerpts of texts around the words of their reasons: bounded, of the place that tells most, words marked."""

import json

import newpages
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odl import cli
from odl.alerts import excerpts, read, show, views
from odl.files import documents
from odl.report import page

WORDS = st.lists(st.sampled_from(["oil", "new_york", "Öl", "石油", "c++", "_", ""]), max_size=5)


@pytest.mark.slow
@given(st.text(max_size=900), WORDS)
def test_an_excerpt_is_bounded(text, words):
    part = excerpts.excerpt(text, words)
    assert (
        len(part.strip("…")) <= excerpts.EXCERPT_CHARACTERS
        and len(part) <= excerpts.EXCERPT_CHARACTERS + 2
    )
    assert part.strip("…") in " ".join(text.split())
    assert excerpts.mark_words(text, words, str) == text


@given(st.text("ab ", max_size=400), st.text("ab ", max_size=400))
def test_it_is_where_the_words_are(before, after):
    assert "the tanker" in excerpts.excerpt(f"{before} the tanker {after}", ["tanker"])


def test_it_begins_and_ends_with_whole_words():
    text = " ".join(["harbour"] * 100 + ["tanker"] + ["harbour"] * 100)
    part = excerpts.excerpt(text, ["tanker"])
    assert part[0] == part[-1] == "…" and {*part.strip("…").split()} == {"harbour", "tanker"}
    before, after = part.split("tanker")
    assert abs(len(before) - len(after)) <= 2 * len("harbour ")  # in the middle


def test_words_stand_where_they_are_counted():
    text = "New  York: the OIL of oilseeds; 中国石油公司"
    found = [text[first:last] for first, last in excerpts.marks(text, ["new_york", "oil", "石油"])]
    assert found == ["New  York", "OIL", "石油"]


@pytest.mark.slow
def test_from_the_file_to_the_reader(tmp_path, capsys):
    """With a title of its own the text is shown, escaped and marked."""
    rows = []
    for week in range(5):
        for n in range(60):
            odd = week == 4 and n < 6
            text = " ".join(
                [
                    "launch <b>rocket</b> *orbit* capsule"
                    if odd
                    else f"wheat grain harvest crop{n % 5}"
                ]
                * 3
            )
            rows.append(
                {
                    "id": f"{week}-{n}",
                    "time": f"2026-01-{1 + 7 * week:02d}" if week < 5 else "",
                    "title": f"T{n}",
                }
            )
            rows[-1]["text"] = f"{'filler ' * 60 if odd else ''}{text} word{n}"
    for row in rows:
        if row["time"] == "2026-01-29":
            row["time"] = "2026-02-02"
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (
        cli.main(["init", str(tmp_path / "it"), str(tmp_path / "posts.jsonl"), "--period", "week"])
        == 0
    )
    said = (tmp_path / "it" / "odl.yaml").read_text()
    assert "keep_text: 2000" in said
    said = said.replace("gates: true", "gates: true, warm_up: 50")
    (tmp_path / "it" / "odl.yaml").write_text(said)
    assert cli.main(["run", str(tmp_path / "it")]) == 0
    watch = read.alerts_of(tmp_path / "it")
    headline = watch.periods[-1].headlines[0]
    alert = watch.periods[-1].documents_of[headline.examples[0]]
    assert alert.text.startswith("…") and len(alert.text) <= excerpts.EXCERPT_CHARACTERS + 2
    page = (tmp_path / "it" / "new.html").read_text()
    assert "&lt;b&gt;<mark>rocket</mark>&lt;/b&gt;" in page and "<b>rocket</b> *orbit" not in page
    text = show.as_text(watch, watch.periods[-1:])
    assert "<b>rocket</b>" in text and "\x1b" not in text
    capsys.readouterr()
    assert cli.main(["explain", str(tmp_path / "it"), alert.id]) == 0
    assert "<b>rocket</b>" in capsys.readouterr().out
    (found,) = (tmp_path / "it" / "results").rglob("documents.h5")
    assert documents.read(found).texts[0].endswith(rows[0]["text"])


def test_without_the_option_nothing_is_kept(tmp_path):
    from odl import corpora

    (tmp_path / "a.jsonl").write_text(
        '{"text": "From: a@b.org\\nSubject: Late tankers\\nLines: 1\\n\\nSeven ships wait"}\n'
    )
    plain = corpora.read("documents", [tmp_path / "a.jsonl"], {"clean": ["headers"]})
    kept = corpora.read("documents", [tmp_path / "a.jsonl"], {"clean": ["headers"], "keep_text": 9})
    assert (
        plain.texts == []
        and kept.texts == ["Late tank"]
        and kept.titles == ["Late tankers"] != plain.titles
    )
    assert (kept.digests() != plain.digests()).any() and kept.select([0]).texts == kept.texts


def test_what_is_written_from_right_to_left_stands_by_itself():
    """A name among English words is isolated in the terminal and on the page; nothing else is."""
    assert (
        views.name_of(newpages.headline(("duct tape", "القمر"), (0,)))
        == "duct tape, \u2068القمر\u2069"
    )
    assert (
        page.apart("القمر") == "<bdi>القمر</bdi>"
        and page.apart("duct <tape>") == "duct &lt;tape&gt;"
    )


def test_marks_that_overlap_are_one_wherever_they_stand():
    assert excerpts.marks("oil 気象衛星", ["oil", "気象", "象衛"]) == [(0, 3), (4, 7)]


NUMBERED = " ".join(f"w{number:03d}" for number in range(100))  # a word every five characters


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        (["w050"], 21, 79),
        (["w040", "w060"], 21, 79),
        (["w010", "w090"], 0, 59),  # of two that are too far apart the first
        (["w000"], 0, 59),
        (["w099"], 40, 99),
        (["w090", "w091", "w005"], 40, 99),  # most of the words
        (["absent"], 0, 59),
    ],
)
def test_an_excerpt_has_the_words_in_its_middle(words, first, last):
    part = " ".join(f"w{number:03d}" for number in range(first, last + 1))
    assert excerpts.excerpt(NUMBERED, words) == "…" * (first > 0) + part + "…" * (last < 99)


def test_an_excerpt_has_different_words_rather_than_one_often():
    text = f"{'oil ' * 9}{'x' * 290} oil gas {'x' * 200}"
    assert " oil gas " in excerpts.excerpt(text, ["oil", "gas"])
    assert (
        excerpts.excerpt(text, ["oil"]).startswith("oil oil")
        and excerpts.excerpt("a  b", ["c"], 3) == "a b"
    )


def test_an_excerpt_of_a_word_longer_than_it_has_all_characters():
    assert (
        excerpts.excerpt("a" * 9, ["b"], 5) == "aaaaa…"
        and excerpts.excerpt("a" * 9, ["a" * 9], 5) == "aaaaa…"
    )


def test_words_of_another_tokeniser_stand_in_runs_and_between_letters():
    assert excerpts.places("中国石油公司", ["国石油"]) == [(1, 4, "国石油")]
    assert excerpts.places("oilseeds, xoil", ["oil"]) == []
    assert excerpts.places("New York oil", ["oil", "new_york"]) == [
        (0, 8, "new_york"),
        (9, 12, "oil"),
    ]
    assert excerpts.places("the oil price of oil", ["oil", "oil_price", "_"])[-1] == (17, 20, "oil")


def test_marks_that_overlap_are_one_wherever_they_stand_among_several():
    assert excerpts.marks("oil and oil 気象衛星 oil", ["oil", "気象", "象衛", "衛星"]) == [
        (0, 3), (8, 11), (12, 16), (17, 20),
    ]  # fmt: skip
    assert excerpts.marks("気象衛星", ["気象", "衛星"]) == [(0, 2), (2, 4)]  # side by side
    assert excerpts.mark_words("an oil", ["oil"], "<{}>".format, "{};".format) == "an ;<oil>;"


def test_a_vowel_before_its_letter_goes_with_it():
    assert excerpts.places("ของเชิงไทย", ["ชิง"]) == [(3, 7, "ชิง")] and excerpts.places(
        "กินไก่", ["ินไ"]
    ) == [(0, 3, "ินไ")]


def test_a_thai_run_begins_with_a_syllable():
    assert excerpts.places("การจัด", ["ารจ"]) == [(0, 5, "ารจ")] and excerpts.places(
        "หาคำ", ["าคำ"]
    ) == [(0, 4, "าคำ")]
    assert excerpts.places("ซอร์อยู่", ["ร์อ"]) == [(1, 5, "ร์อ")]


def test_words_of_short_chunks_are_remembered():
    """The memory is bounded: long chunks, as of texts without spaces, are cut again each time."""
    for text in ["気象衛星", "a rocket", "気象" * 9, "気象衛星", "気" * 300, "a 気象"] * 3:
        assert excerpts.marks(text, ["気象"]) == [
            (first, first + 2) for first in range(len(text)) if text[first : first + 2] == "気象"
        ]
    before = excerpts._cut_short.cache_info()
    excerpts.marks("気" * 300, ["気象"])
    assert excerpts._cut_short.cache_info() == before and before.maxsize == excerpts.CACHED_CHUNKS
