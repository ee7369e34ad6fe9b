"""Words never seen before a period: told with counts and documents, beyond chance only where enough items have them."""

import json
import random
from dataclasses import replace
from datetime import datetime, timedelta

import newpages
import numpy as np
import pytest
import streams
from scipy import sparse, stats

from odl.alerts import gates, maps, periods, read, show, surprise, unseen
from odl.alerts.decision import PeriodDocuments
from odl.alerts.model import Unseen
from odl.alerts.periods import Names
from odl.cli import main
from odl.config.sections import Alerts
from odl.files.documents import NO_TIME

SETTINGS = Alerts(unseen=3)


def items(spreads, known=5, n=60, sources=None, words=None):
    """Return a period of n items with known words, and new ones in so many of them each."""
    columns = [
        np.arange(n) < (n if word < known else spreads[word - known])
        for word in range(known + len(spreads))
    ]
    X = sparse.csr_array(np.array(columns).T.astype(np.int32))
    frequencies = np.array([200] * known + [0] * len(spreads))
    words = [f"known{word}" for word in range(known)] + (
        words or [f"new{word}" for word in range(len(spreads))]
    )
    return PeriodDocuments(
        1, np.arange(n), np.zeros(n, dtype=bool), X, X, X, words, frequencies, 400,
        np.arange(n, dtype=np.int64) * 3_600_000, sources or ["posts.csv"] * n,
        lambda rows: [f"a New0 in {row}" for row in rows],
    )  # fmt: skip


def judge(past, documents, settings, unproven=False):
    n = len(documents.times)
    names = Names(
        [f"d{row}" for row in range(n)], [f"T{row}" for row in range(n)], [""] * n, documents.times
    )
    return unseen.judge(past, documents, np.arange(n), names, settings, unproven)


def after(spreads, times):
    past = unseen.SeenWords()
    for _ in range(times):
        _, past = judge(past, items(spreads), SETTINGS)
    return past


def test_what_is_told_of_a_word():
    (told,), past = judge(after([2, 2], 8), items([12, 2]), SETTINGS)
    assert told.words == ("new0",) and told.phrase == "New0" and told.beyond
    assert (told.items, told.sources, told.first, told.half) == (12, 1, 0, 5 * 3_600_000)
    assert told.expected == 0 and told.documents[0] == ("d0", "T0") and len(told.documents) == 12
    assert (
        past.shares[-1, 0] == 12 / 60 and past.largest[-1, 0] < 12
    )  # it hides nothing that comes later


def test_as_many_as_earlier_periods_had_are_no_more_than_chance():
    told, _ = judge(after([6, 5, 4], 8), items([6, 5]), SETTINGS)
    assert [one.items for one in told] == [6, 5] and not any(one.beyond for one in told)
    assert [one.expected for one in told] == [1.0, 2.0]
    assert after([6], 1).expected(0.05) == 1 and unseen.SeenWords().expected(0.05) == 0


def test_words_of_too_few_items_or_sources_are_not_told():
    assert judge(unseen.SeenWords(), items([2]), SETTINGS)[0] == []
    two = ["a.csv", "b.csv"] * 30
    both = Alerts(unseen=3, unseen_sources=2)
    assert judge(unseen.SeenWords(), items([12]), both)[0] == []
    (told,), _ = judge(unseen.SeenWords(), items([12], sources=two), both)
    assert told.sources == 2


def test_a_warm_up_is_silent_and_remembered():
    told, past = judge(unseen.SeenWords(), items([12]), SETTINGS, unproven=True)
    assert told == [] and len(past.largest) == 1


def test_no_more_periods_than_the_gates_are_remembered():
    past = after([2], gates.HISTORY + 3)
    assert len(past.largest) == len(past.shares) == gates.HISTORY


def test_a_word_that_left_a_bounded_vocabulary_is_not_told():
    """What was seen once is never told, however many words there were; few new words are missed."""
    words = [f"word{number}" for number in range(50_000)]
    _, past = unseen.SeenWords().meeting(words)
    before, _ = past.meeting(words)
    assert before.all()
    new, _ = past.meeting([f"other{number}" for number in range(10_000)])
    share = (1 - np.exp(-3 * len(words) / 1_048_576)) ** 3  # 128 KiB in each file of a period
    assert len(past.met) == 131_072 and abs(new.mean() - share) < 0.001
    told, _ = judge(past, items([12, 12], words=["word7", "newest"]), SETTINGS)
    assert [one.words for one in told] == [("newest",)]


def test_from_how_many_items_on_and_how_many_words_are_told():
    told, past = judge(unseen.SeenWords(), items([3, 2]), SETTINGS)
    assert (
        [one.items for one in told] == [3]
        and past.shares.shape == (1, 20)
        and past.shares[0, 1] == 0
    )
    told, past = judge(unseen.SeenWords(), items([3] * 51), SETTINGS)
    assert len(told) == 50 and past.shares[0].tolist() == [3 / 60] * 20


def test_what_is_remembered_is_the_excess_of_new_words_alone():
    """Of two of sixty items, though words that are known are in all."""
    _, past = judge(unseen.SeenWords(), items([2]), SETTINGS)
    a = 0.5 + 401 / 2000
    mean, shape = 60 * a / 401, 1 / (1 / a + surprise.SPREAD)
    law = stats.nbinom(shape, shape / (shape + mean))
    assert np.isclose(past.largest[0, 0], -np.log10(law.sf(1))) and past.largest[0, 1] == 60


def test_since_when_and_how_fast():
    hour = 3_600_000
    later = items([3])._replace(times=np.arange(60, dtype=np.int64) * hour + 7)
    (told,), _ = judge(unseen.SeenWords(), later, SETTINGS)
    assert (told.first, told.half) == (7, hour)
    (told,), _ = judge(unseen.SeenWords(), items([4]), SETTINGS)
    assert told.half == hour  # the second of four
    (told,), _ = judge(unseen.SeenWords(), later._replace(times=np.full(60, NO_TIME)), SETTINGS)
    assert (told.first, told.half) == (NO_TIME, 0)


@pytest.mark.parametrize(
    ("holders", "documents", "phrase"),
    [(2, 40, "New0 old"), (1, 40, "New0"), (2, 41, "New0"), (4, 40, "New0 old")],
)
def test_a_phrase_is_of_words_that_half_of_its_documents_have_and_few_others(
    holders, documents, phrase
):
    X = np.zeros((60, 2), dtype=np.int32)
    X[:4, 0] = X[:holders, 1] = 1
    entering = items([4])._replace(
        counts=sparse.csr_array(X), frequencies=np.array([0, documents]), vocabulary=["new0", "old"],
        texts=lambda rows: ["New0 old" if row < holders else "New0" for row in rows],
    )  # fmt: skip
    (told,), _ = judge(unseen.SeenWords(), entering, SETTINGS)
    assert told.phrase == phrase and told.words == ("new0",)


@pytest.mark.parametrize(
    ("phrase", "other", "word", "tells"),
    [
        ("気象衛星", "衛星", "衛星", True),
        ("気象衛星", "新気象衛星が", "衛星", True),
        ("新気", "新気象衛星", "衛星", False),
        ("新気象衛", "新気象衛星", "衛星", True),
        ("が打", "衛星が打", "衛星", False),
        ("星が", "衛星が打", "衛星", True),
        ("衛星", "衛星が", "衛星", True),
        ("飛行", "衛星", "衛星", False),
        ("衛星", "abc衛星", "衛星", False),
        ("log4j shell", "log4j", "log4j", False),
        ("log4j", "log4j", "shell", True),
    ],
)
def test_a_run_without_spaces_tells_of_each_word_with_a_character_of_it(phrase, other, word, tells):
    one = Unseen(other, (word,), 3, 1, NO_TIME, 0, 0.0, True, ())
    assert unseen._covers(phrase, one) == tells


def test_words_line_by_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    day, watch = 86_400_000, newpages.watch(n_periods=3)
    documents = tuple((f"d{n}", "" if n == 1 else f"T{n} " + "x" * 90 * (n == 2)) for n in range(5))
    first = Unseen("Log4j shell", ("log4j", "shell"), 1200, 2, day, 2 * day, 0.25, True, documents)
    second = Unseen("three", ("three",), 3, 1, NO_TIME, 0, 1.0, True, documents[:3])
    other = Unseen("usual", ("usual",), 4, 1, day, 0, 2.0, False, documents[:1])
    last = replace(
        watch.periods[2], first=day, last=day, score=np.zeros(9), unseen=(first, second, other)
    )
    watch = replace(watch, settings={**watch.settings, "unseen": 3})
    title = f"T2 {'x' * 90}"[:65] + "…"
    assert show.words_as_text(watch, [last]).splitlines() == [
        "posts, 1970-01-02: 9 documents, usually 38",
        "",
        "Log4j shell  (1,200 documents of 2 files since 1970-01-02, half of them within 2",
        "  days; an earlier period had 0.2 such words)",
        "    T0   (id: d0)",
        "    d1  (id: d1)",
        f"    {title}  (id: d2)",
        "    and 1197 more",
        "",
        "three  (3 documents; an earlier period had 1.0 such words)",
        "    T0   (id: d0)",
        "    d1  (id: d1)",
        f"    {title}  (id: d2)",
        "",
        "As expected by chance, in at least 3 documents: usual (4)",
    ]
    beside = tuple(
        replace(second, phrase=name)
        for name in ("three of it", "ثلاثة", "hree", "usual three", *"abcd")
    )
    lines = show.words_as_text(watch, [replace(last, unseen=(first, second, *beside))]).splitlines()
    assert (
        lines[9]
        == "three of it, \u2068ثلاثة\u2069, hree, usual three, a, b, …  (3 documents; an earlier period"
    )
    few = replace(last, unseen=(other,))
    assert show.words_as_text(watch, [few]).splitlines()[2:] == [
        "No unseen word is in more documents than expected by chance.",
        "As expected by chance, in at least 3 documents: usual (4)",
    ]
    unproven = show.words_as_text(watch, [replace(last, unproven=True, unseen=())]).splitlines()
    assert unproven[2:] == [
        "Unproven: there are too few earlier documents to decide which words are new."
    ]
    assert "write unseen: 3" in show.words_as_text(newpages.watch(), [few])
    told = [json.loads(line) for line in maps.words_as_jsonl(watch, [last]).splitlines()]
    assert [(one["phrase"], one["first"], one["half"]) for one in told] == [
        ("Log4j shell", "1970-01-02T00:00:00Z", 2 * day), ("three", None, None), ("usual", "1970-01-02T00:00:00Z", 0),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A stream of ten weeks whose last has a new name in ten posts of two files, and nothing else that is new."""
    place = tmp_path_factory.mktemp("words")
    words = [
        f"{one}{other}"
        for one in ("ba", "ko", "li", "mu", "ra", "ti")
        for other in ("do", "fe", "gu", "ni", "so")
    ]
    for file in "ab":
        with open(place / f"{file}.jsonl", "w", encoding="utf-8") as lines:
            for number in range(400):
                draw = random.Random(f"{file}{number}")
                text = " ".join(draw.choices(words, k=20))
                moment = datetime(2026, 1, 5) + timedelta(hours=4.2 * number)
                if number >= 360 and number % 8 == 0:
                    text += " Log4j shell <b>"
                row = {"id": f"{file}{number}", "time": moment.isoformat(), "text": text}
                lines.write(json.dumps(row) + "\n")
    assert (
        main(
            [
                "init",
                str(place / "it"),
                str(place / "a.jsonl"),
                str(place / "b.jsonl"),
                "--period",
                "week",
            ]
        )
        == 0
    )
    assert main(["run", str(place / "it")]) == 0
    return place / "it"


def test_from_the_files_to_the_reader(folder, capsys):
    watch = read.alerts_of(folder)
    carried = periods.read_carried(
        f"{watch.place.alerts}/8.h5"
    ).unseen  # what a later run goes on from
    assert len(carried.largest) == 8 and carried.met.shape == (0,)
    told = watch.periods[-1].unseen
    assert [(one.phrase, one.items, one.sources, one.beyond) for one in told] == [
        ("Log4j shell", 10, 2, True)
    ]
    assert not any(one.beyond for period in watch.periods[:-1] for one in period.unseen)
    assert main(["new", str(folder), "--words"]) == 0
    text = capsys.readouterr().out
    assert "10 documents of 2 files since 2026-03-" in text and "(id: a360)" in text
    assert main(["new", str(folder), "--words", "--format", "jsonl", "--since", "2026-01-01"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert (
        json.loads(line)["words"] == ["log4j", "shell"] and len(json.loads(line)["documents"]) == 10
    )
    page = (folder / "new.html").read_text(encoding="utf-8")
    assert (
        "Words never seen before</h2>" in page
        and "<b>Log4j shell</b> 10 documents of 2 files" in page
        and "<b>…" not in page
    )
    assert main(["new", str(folder), "--words", "--format", "slack"]) != 0
    assert "expected one of text, jsonl" in capsys.readouterr().err


@pytest.mark.slow
def test_words_of_their_own_make_no_period_speak(folder, tmp_path):
    """The alerts are those of the same stream without the setting, and so is the rest of the record."""
    (place,) = (folder / "results").rglob("alerts")
    with_words = [periods.read(path) for path in sorted(place.glob("*.h5"))]
    said = (folder / "odl.yaml").read_text(encoding="utf-8")
    (folder / "odl.yaml").write_text(said.replace(", unseen: 3", ""), encoding="utf-8")
    assert main(["run", str(folder)]) == 0
    without = [periods.read(path) for path in sorted(place.glob("*.h5"))]
    for one, other in zip(with_words, without, strict=True):
        assert (
            one.headlines == other.headlines
            and one.documents_of == other.documents_of
            and np.array_equal(one.score, other.score)
        )
        assert other.unseen == []
    assert NO_TIME not in [one.first for one in without]


@pytest.mark.slow
def test_words_that_are_not_weighed_yet_are_told_and_stop_words_are_not(tmp_path):
    more = "alerts: {gates: true, warm_up: 50, unseen: 3}\n"
    folder = streams.begin(tmp_path, more=more)
    path = streams.write(tmp_path, 4, ("grain", "oil", "space"))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text(
        "".join(
            json.dumps({**row, "text": f"of the and to be {row['text']}"}) + "\n" for row in rows
        )
    )
    text = (folder / "odl.yaml").read_text()
    (folder / "odl.yaml").write_text(text.replace("languages: true", "languages: true, min_df: 2"))
    assert main(["run", str(folder)]) == 0
    words = {word for one in read.alerts_of(folder).periods[-1].unseen for word in one.words}
    assert words >= {"rocket", "moon"} and words <= {*streams.WORDS["space"].split()}
