"""Words never seen before a period: told with counts and documents, beyond chance only where enough items have them."""

import json
import random
from datetime import datetime, timedelta

import numpy as np
import pytest
from scipy import sparse

from odl.alerts import gates, periods, read, unseen, wordlist
from odl.cli import main
from odl.config.sections import Alerts
from odl.files.documents import NO_TIME

SETTINGS = Alerts(unseen=3)


def items(spreads, known=5, n=60, sources=None, bounded=False, words=None):
    """Return a period of n items with known words, and new ones in so many of them each."""
    columns = [np.arange(n) < (n if word < known else spreads[word - known]) for word in range(known + len(spreads))]
    X = sparse.csr_array(np.array(columns).T.astype(np.int32))
    frequencies = np.array([200] * known + [0] * len(spreads))
    words = [f"known{word}" for word in range(known)] + (words or [f"new{word}" for word in range(len(spreads))])
    files = sources or ["posts.csv"] * n
    return unseen.Items(
        X, frequencies, 400, words, [f"d{row}" for row in range(n)], [f"T{row}" for row in range(n)],
        np.arange(n, dtype=np.int64) * 3_600_000, bounded, lambda rows: [files[row] for row in rows],
        lambda rows: [f"a New0 in {row}" for row in rows],
    )  # fmt: skip


def after(spreads, times):
    past = unseen.Past()
    for _ in range(times):
        _, past = unseen.judge(past, items(spreads), SETTINGS)
    return past


def test_what_is_told_of_a_word():
    (told,), past = unseen.judge(after([2, 2], 8), items([12, 2]), SETTINGS)
    assert told.words == ("new0",) and told.phrase == "New0" and told.beyond
    assert (told.items, told.sources, told.first, told.half) == (12, 1, 0, 5 * 3_600_000)
    assert told.expected == 0 and told.documents[0] == ("d0", "T0") and len(told.documents) == 12
    assert past.shares[-1, 0] == 12 / 60 and past.largest[-1, 0] < 12  # it hides nothing that comes later


def test_as_many_as_earlier_periods_had_are_no_more_than_chance():
    told, _ = unseen.judge(after([6, 5, 4], 8), items([6, 5]), SETTINGS)
    assert [one.items for one in told] == [6, 5] and not any(one.beyond for one in told)
    assert [one.expected for one in told] == [1.0, 2.0]


def test_words_of_too_few_items_or_sources_are_not_told():
    assert unseen.judge(unseen.Past(), items([2]), SETTINGS)[0] == []
    two = ["a.csv", "b.csv"] * 30
    both = Alerts(unseen=3, unseen_sources=2)
    assert unseen.judge(unseen.Past(), items([12]), both)[0] == []
    (told,), _ = unseen.judge(unseen.Past(), items([12], sources=two), both)
    assert told.sources == 2


def test_a_warm_up_is_silent_and_remembered():
    told, past = unseen.judge(unseen.Past(), items([12]), SETTINGS, warm_up=True)
    assert told == [] and len(past.largest) == 1


def test_no_more_periods_than_the_gates_are_remembered():
    past = after([2], gates.PERIODS + 3)
    assert len(past.largest) == len(past.shares) == gates.PERIODS


def test_a_word_that_left_a_bounded_vocabulary_is_not_told():
    """What was seen once is never told, however many words there were; few new words are missed."""
    words = [f"word{number}" for number in range(50_000)]
    _, past = unseen.Past().meeting(words)
    before, _ = past.meeting(words)
    assert before.all()
    new, _ = past.meeting([f"other{number}" for number in range(10_000)])
    share = (1 - np.exp(-3 * len(words) / 1_048_576)) ** 3  # 128 KiB in each file of a period
    assert len(past.met) == 131_072 and abs(new.mean() - share) < 0.001
    told, _ = unseen.judge(past, items([12, 12], bounded=True, words=["word7", "newest"]), SETTINGS)
    assert [one.words for one in told] == [("newest",)]


def test_a_span_of_time():
    assert [wordlist.span(value) for value in (0, 3_600_000, 5 * 86_400_000)] == ["a minute", "an hour", "5 days"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A stream of ten weeks whose last has a new name in ten posts of two files, and nothing else that is new."""
    place = tmp_path_factory.mktemp("words")
    words = [
        f"{one}{other}" for one in ("ba", "ko", "li", "mu", "ra", "ti") for other in ("do", "fe", "gu", "ni", "so")
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
    assert main(["init", str(place / "it"), str(place / "a.jsonl"), str(place / "b.jsonl"), "--period", "week"]) == 0
    assert main(["run", str(place / "it")]) == 0
    return place / "it"


def test_from_the_files_to_the_reader(folder, capsys):
    watch = read.alerts_of(folder)
    carried = periods.read_carried(f"{watch.place.alerts}/8.h5").unseen  # what a later run goes on from
    assert len(carried.largest) == 8 and carried.met.shape == (0,)
    told = watch.periods[-1].unseen
    assert [(one.phrase, one.items, one.sources, one.beyond) for one in told] == [("Log4j shell", 10, 2, True)]
    assert not any(one.beyond for period in watch.periods[:-1] for one in period.unseen)
    assert main(["new", str(folder), "--words"]) == 0
    text = capsys.readouterr().out
    assert "10 items of 2 files since 2026-03-" in text and "(id: a360)" in text
    assert main(["new", str(folder), "--words", "--format", "jsonl", "--since", "2026-01-01"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["words"] == ["log4j", "shell"] and len(json.loads(line)["documents"]) == 10
    page = (folder / "new.html").read_text(encoding="utf-8")
    assert (
        "Words never seen before</h2>" in page
        and "<b>Log4j shell</b> 10 items of 2 files" in page
        and "<b>…" not in page
    )
    assert main(["new", str(folder), "--words", "--format", "slack"]) != 0
    assert "expected one of text, jsonl" in capsys.readouterr().err


def test_words_of_their_own_make_no_period_speak(folder, tmp_path):
    """The alerts are those of the same stream without the setting, and so is the rest of the record."""
    (place,) = (folder / "results").rglob("alerts")
    with_words = [periods.read(path) for path in sorted(place.glob("*.h5"))]
    said = (folder / "odl.yaml").read_text(encoding="utf-8")
    (folder / "odl.yaml").write_text(said.replace(", unseen: 3", ""), encoding="utf-8")
    assert main(["run", str(folder)]) == 0
    without = [periods.read(path) for path in sorted(place.glob("*.h5"))]
    for one, other in zip(with_words, without, strict=True):
        assert one.pool == other.pool and one.names == other.names and np.array_equal(one.score, other.score)
        assert other.unseen == []
    assert NO_TIME not in [one.facts["first"] for one in without]
