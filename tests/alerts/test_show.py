"""Alerts as a person reads them in a terminal."""

import csv
import io
import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import newpages
import pytest
from places import ROOT

from odl.alerts import show
from odl.alerts.model import Near, Reason, Withheld
from odl.errors import ParameterError
from odl.files.documents import NO_TIME


def test_of_one_period_all_items_are_shown_and_of_several_the_first():
    watch = newpages.watch(n_periods=4, per=60, n_topics=1)
    assert {alert.topic for alert in watch.periods[2].alerts} == {0}
    one, two = (show.as_text(watch, watch.periods[first:]) for first in (2, 1))
    of_one = show.as_text(watch, watch.periods[2:3])
    assert of_one.count("\n      id:") == 60 and "--format jsonl" not in of_one
    for text, first in ((one, 2), (two, 1)):
        alone = [alert for period in watch.periods[first:] for alert in period.alerts if not alert.topic]
        part = text[text.index("\nAlone\n") :]
        assert part.count("\n      id:") == show.MOST
        assert f"    and {len(alone) - show.MOST} more (--format jsonl has all)" in part


@pytest.mark.parametrize(
    ("title", "text", "passage"),
    [
        ("Fix a buf", "Fix a buffer overflow", "…buffer overflow"),
        ("Fix a buffer", "Fix a buffer overflow", "overflow"),
        ("Fix", "…buffer overflow", "…buffer overflow"),
        ("Fix a buffer", "Fix a…", ""),
        ("", "Fix a buffer", "Fix a buffer"),
        ("気" * 40, "気" * 40 + "象", "象"),
    ],
)
def test_a_passage_goes_on_where_the_title_ends_with_whole_words(title, text, passage):
    alert = newpages.watch().periods[-1].alerts[0]
    assert show.titled(replace(alert, title=title, text=text))[1] == passage


@pytest.mark.parametrize(("t", "need", "todo"), [(0, 300, "shorter periods"), (2, 900, "warm_up: 100")])
def test_what_helps_in_a_warm_up_is_told(t, need, todo):
    watch = newpages.watch()
    before = watch.scored_before(t)
    watch = replace(watch, settings={**watch.settings, "warm_up": need})
    (line,) = show.closing(watch, [replace(watch.periods[t], warm_up=True)])
    assert (
        line.startswith(f"Warm-up: {before} documents scored before this period; alerts need {need}.") and todo in line
    )


def test_slack_has_a_block_a_topic_and_one_a_lone_alert():
    watch = newpages.watch()
    message = json.loads(show.as_slack(watch, watch.periods[-1:]))
    texts = [block["text"]["text"] for block in message["blocks"][:-1]]
    last = watch.periods[-1]
    topics = {alert.topic for alert in last.alerts if alert.topic}
    assert len(texts) == 1 + len(topics) + sum(not alert.topic for alert in last.alerts)
    assert all(any(f"Topic {number} " in text for text in texts) for number in topics)
    assert message["text"] == show.heading(watch, watch.periods[-1:])
    assert "alerts of 200 items" in message["blocks"][-1]["elements"][0]["text"]


def test_limits_of_slack():
    watch = newpages.watch(n_periods=30, per=30, n_topics=3, budget=40)
    message = json.loads(show.as_slack(watch, watch.periods))
    n_told = sum(1 if number else len(alerts) for number, alerts in show.by_topic(watch.periods))
    *blocks, last = message["blocks"]
    texts = [block["text"]["text"] for block in blocks]
    assert 20 < len(blocks) < 50 and texts[-1] == f"and {n_told - (len(blocks) - 2)} more: odl new"
    assert all(0 < len(text) <= 3000 for text in texts) and 8000 < sum(map(len, texts)) < 11_000
    assert 0 < len(last["elements"][0]["text"]) <= 3000


def test_hostile_text_stays_text_in_slack():
    watch = newpages.watch(title="<!channel> *bold* <https://evil|x> & `code`", url="javascript:x")
    text = show.as_slack(watch, watch.periods[-1:])
    assert "<!channel>" not in text and "<https://evil" not in text and "javascript" not in text
    assert "&lt;!channel&gt; *\u200bbold*\u200b" in text


def test_slack_of_nothing():
    assert show.as_slack(newpages.watch(), ()) == ""


def test_a_text_goes_on_where_its_title_is_cut():
    """Where the title is the beginning of the text; nothing of it is printed twice, or lost."""
    words = " ".join(f"word{number}" for number in range(40))
    (alert, *_) = newpages.watch().periods[-1].alerts
    own = replace(alert, title=words[:200], text=words + "…")
    title, rest = show.titled(own, 50)
    assert len(title) <= 50 and title.endswith("…") and rest.startswith("…")
    assert f"{title[:-1]} {rest[1:]}" == own.text
    assert show.titled(own) == (own.title, "…" + own.text[own.title.rindex(" ") + 1 :])
    short = replace(alert, title=words[:100], text=words[:100])
    title, rest = show.titled(short, 50)
    assert f"{title[:-1]} {rest[1:]}" == short.text and show.titled(short) == (short.text, "")
    column = replace(alert, title="A title that is another one", text=words)
    assert show.titled(column, 11) == ("A title…", words) and show.titled(replace(own, text=""), 50)[1] == ""


@pytest.mark.parametrize(
    ("members", "room"), [(("a",), show.WIDTH - 6), (("a", "b"), show.WIDTH - 6 - len(" (+ 1 alike)"))]
)
def test_a_title_fills_its_line(members, room):
    watch = newpages.watch()
    for n, shown in ((room, "x" * room), (room + 1, "x" * (room - 1) + "…")):
        alert = replace(watch.periods[-1].alerts[0], title="x" * n, members=members, topic=0)
        lines = show.as_text(watch, [replace(watch.periods[-1], alerts=(alert,))]).splitlines()
        (line,) = (line for line in lines if "xxx" in line)
        assert line == f"   1  {shown}{' (+ 1 alike)' * (len(members) > 1)}" and len(line) == show.WIDTH


def test_a_text_without_blanks_is_cut_anywhere():
    assert show.shortened("x" * 30, 10) == "x" * 9 + "…" and show.shortened("a " + "x" * 30, 10) == "a xxxxxxx…"
    assert show.shortened("気象衛星" * 5, 10) == "気象衛星…" and show.shortened("気象衛星", 8) == "気象衛星"
    assert show.shortened("word another", 12) == "word another" and show.shortened("another word", 11) == "another…"


def test_lines_of_arabic_keep_their_direction_and_phrases_their_line():
    """A line that begins with a product is no English; a share does not change sides where a phrase is cut."""
    (alert, *_) = newpages.watch().periods[-1].alerts
    phrase, text = "طابعة الملصقات الجديدة", "تعلّق الورق في الطابعة منذ الأمس ثم " * 2 + "LaserJet " * 9 + "لا تعمل."
    reasons = tuple(Reason(f"{phrase} {number}", alert.score / 6) for number in range(6))
    own = replace(alert, text=text, reasons=reasons, led=6, opening=tuple(f"{phrase} {n}" for n in range(6)), topic=0)
    watch = newpages.watch()
    lines = show.as_text(watch, [replace(watch.periods[-1], alerts=(own,))]).splitlines()
    passage = [line.strip() for line in lines if "LaserJet" in line or "الورق" in line]
    assert len(passage) > 1 and all(line[0] == "\u2067" and line[-1] == "\u2069" for line in passage)
    assert all(line.count("\u2068") + line.count("\u2067") == line.count("\u2069") for line in lines)
    because = lines[next(at for at, line in enumerate(lines) if "because" in line) :][:-1]
    assert sum(line.count(phrase) for line in because[:3]) >= 3 and not any("\xa0" in line for line in lines)
    assert not any(line.lstrip().startswith("%") for line in because)
    assert show.passage(own, "He says شكرا", 0) == ["\u2066He says شكرا\u2069"]


def test_words_are_marked_that_the_reasons_name():
    """Not all that raise the score, which in a short text are nearly all of it; those of its own, and of the gate."""
    (alert, *_) = newpages.watch().periods[-1].alerts
    words = ("headset", "regards", "tel", "noah", "mic", "usb", "cable")
    shares = (0.6, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05)
    reasons = tuple(Reason(word, share * alert.score) for word, share in zip(words, shares, strict=True))
    told = replace(alert, reasons=reasons, led=3, opening=("tel",))
    assert show.reason_words(told) == ["headset", "noah", "mic", "usb", "tel"]
    watch, text = newpages.watch(), replace(told, title="Regards from noah, tel", url="")
    period = replace(watch.periods[-1], alerts=(text,))
    assert "Regards from **noah**, **tel**" in show.as_markdown(watch, [period])


def test_an_alert_as_json_has_the_fields_that_are_documented_and_what_is_not_known_is_null():
    watch = newpages.watch()
    period = watch.periods[-1]
    alert = replace(
        period.alerts[0], url="https://example.org/1", source="a.jsonl", line=7, gate="words", opening=("orbit",)
    )
    told = show.as_map(alert, period, "before")
    table = (ROOT / "docs/alerts.md").read_text(encoding="utf-8").split("## An alert as JSON")[1].split("\n## ")[0]
    rows = [re.sub(r"\(.*?\)", "", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]
    assert told.keys() == {name for row in rows for name in re.findall("`(\\w+)`", row)}
    assert told["source"] == {"file": "a.jsonl", "line": 7} and told["url"] == alert.url and told["earlier"] == "before"
    assert (told["id"], told["score"], told["tail"], told["rank"]) == (alert.id, alert.score, alert.tail, alert.rank)
    assert (
        told["topic"] == alert.topic and told["topic_name"] == ", ".join(alert.topic_name) and told["gate"] == "words"
    )
    assert told["nearest"][0]["id"] == alert.nearest[0].id and told["nearest"][0]["topic"] is None
    blank = {"url": "", "source": "", "line": 0, "topic": 0, "topic_name": (), "text": "", "gate": "", "time": NO_TIME}
    bare = show.as_map(replace(alert, **blank), period)
    assert bare["source"] == {"file": None, "line": None} and not bare["folded"]
    assert {name for name in bare if bare[name] is None} >= {
        "url",
        "topic",
        "topic_name",
        "text",
        "gate",
        "time",
        "earlier",
    }
    assert json.loads(json.dumps(told))["members"] == list(alert.members)


def test_a_topic_as_json():
    watch = newpages.watch()
    number, topic = next(iter(watch.topics.items()))
    told = json.loads(json.dumps(show.topic_map(watch, number)))
    assert told["topic"] == number and told["state"] == topic.state and told["feedback"] is None
    assert told["sizes"] == {str(t): n for t, n in topic.sizes.items()} and told["topic_name"] == ", ".join(topic.name)
    assert told["history"] == [list(change) for change in topic.history] and told["birth"] == topic.birth


def test_what_is_followed_says_so_and_json_is_the_text_itself():
    watch = newpages.watch()
    first, second = (
        replace(alert, topic=0, title=f"Köln {at}") for at, alert in enumerate(watch.periods[-1].alerts[:2])
    )
    period = replace(
        watch.periods[-1], alerts=(replace(first, feedback="follow", members=("a",)), replace(second, members=("b",)))
    )
    text = show.as_text(watch, [period])
    assert "Köln 0 [followed]\n" in text and "Köln 1\n" in text and show.as_jsonl(watch, [period]).count('"Köln') == 2


@pytest.fixture
def small():
    """A watch of four periods of a day: a warm-up, one with a topic and lone items, a quiet one, one held back."""
    watch = newpages.watch(n_periods=4, per=5, n_topics=1)
    day, topic = 86_400_000, replace(watch.topics[1], name=("duct tape", "nasa"), sizes={1: 4, 2: 1}, birth=1)
    topic = replace(topic, history=[(1, "new"), (2, "ongoing")], earlier=2, feedback="")
    first, second, third, fourth = watch.periods[2].alerts[:4]
    bare = {"text": "", "url": "", "source": "", "line": 0, "nearest": (), "context": 0.0, "own": 0.0, "score": 0.5}
    bare |= {
        "time": 1,
        "members": ("d",),
        "topic": 1,
        "state": "new",
        "topic_name": topic.name,
        "folded": False,
        "t": 1,
    }
    bare |= {"reasons": (Reason("tape", 0.5),), "led": 1}
    alerts = [
        replace(first, **bare | {"id": "d1", "title": "One", "rank": 1, "members": ("d1", "d2", "d3")}),
        replace(second, **bare | {"id": "d4", "title": "Two", "rank": 2, "topic": 0, "opening": ("tape",)}),
        replace(third, **bare | {"id": "d5", "title": "", "rank": 4, "source": "a.csv", "line": 7, "url": "http://a"}),
        replace(fourth, **bare | {"id": "d6", "title": "Four", "rank": 5, "folded": True}),
    ]
    values = {"documents": 1000, "items": 998, "budget": 9, "withheld": (), "topics": (1,)}
    periods = [replace(watch.periods[t], first=t * day, last=t * day + 5, warm_up=t == 0, alerts=(), **values)
               for t in range(4)]  # fmt: skip
    periods[1] = replace(periods[1], alerts=tuple(alerts))
    withheld = (Withheld("", "empty", 1), Withheld("", "repeated", 1200), Withheld("topic:1", "muted", 2),
                Withheld("d9", "copies", 12))  # fmt: skip
    periods[3] = replace(periods[3], withheld=withheld, topics=())
    return replace(watch, periods=tuple(periods), topics={1: topic})


def test_a_period_line_by_line(small):
    assert show.as_text(small, small.periods[1:2]).splitlines() == [
        "posts, period 1, 1970-01-02: 1,000 documents",
        "",
        "Topic 1 [new] duct tape, nasa (4 documents, 2 before)",
        "   1  One (+ 2 alike)",
        "      because: tape 100 %",
        "      id: d1  (1970-01-01)",
        "   4  d5",
        "      because: tape 100 %",
        "      id: d5  (1970-01-01, a.csv:7, http://a)",
        "    and 1 more (odl explain FOLDER 1)",
        "",
        "Alone",
        "   2  Two",
        "      because: tape 100 %",
        "      more than usual: tape",
        "      id: d4  (1970-01-01)",
        "",
        "4 alerts of 998 items (near-duplicates counted once), 1 of them folded under topics and items of their kind; "
        "room for 9.",
    ]
    assert show.as_markdown(small, small.periods[1:2]).splitlines() == [
        r"### posts, period 1, 1970-01-02: 1,000 documents",
        "",
        r"**Topic 1 \[new\] duct tape, nasa \(4 documents, 2 before\)**",
        "",
        "1. One (+ 2 alike)  ",
        "   because: tape 100 %  ",
        r"   d1 (1970-01-01)",
        "4. [d5](<http://a>)  ",
        "   because: tape 100 %  ",
        r"   d5 (1970-01-01, a.csv:7, http://a)",
        "   and 1 more",
        "",
        "2. Two  ",
        "   because: tape 100 %  ",
        "   more than usual: tape  ",
        "   d4 (1970-01-01)",
        "",
        r"4 alerts of 998 items \(near-duplicates counted once\), 1 of them folded under topics and items of their "
        "kind; room for 9.  ",
    ]


def test_several_periods_line_by_line(small):
    lines = show.as_text(small, small.periods).splitlines()
    assert lines[0] == "posts, periods 0 to 3, 1970-01-01 to 1970-01-04: 4,000 documents"
    assert lines[2] == "Topic 1 [new, ongoing] duct tape, nasa (5 documents, 2 before)"
    assert lines[-6:] == [
        "4 alerts, in 1 of 3 periods.",
        "Warm-up before them: 1 of the periods (alerts.warm_up).",
        "Held back: 1 document without a word.",
        "Held back: 1,200 documents nearly the same as one of an earlier period.",
        "Held back: 2 items of topic:1 (muted in feedback.csv).",
        "Held back: 12 documents nearly the same as one another, unusual but within chance: d9.",
    ]
    assert show.as_text(small, small.periods[2:]).splitlines()[2:3] == ["Nothing new in 2 periods."]
    assert show.as_text(small, small.periods[2:3]).splitlines()[2:] == ["Nothing new."]


def test_what_is_next_in_line_is_told_where_a_gate_was_silent(small):
    gated = replace(small, settings={**small.settings, "gates": True})
    told = [bool(show.next_in_line(gated, gated.periods[at : at + 1])) for at in range(4)]
    assert told == [False, False, True, True] and not show.next_in_line(small, small.periods[2:3])
    assert show.next_in_line(gated, gated.periods[2:]) and not show.next_in_line(gated, gated.periods)


def test_since_a_date(small):
    def periods(text):
        return [period.t for period in show.since(small, text)]

    assert periods(None) == [3] and periods("1970-01-02") == [1, 2, 3] and periods("1970-01-04T00:00:00.006") == []
    assert periods("1970-01-03T01:00+01:00") == [2, 3] and periods("1970-01-03T01:00") == [3]
    assert show.date_of(86_399_999) == "1970-01-01" and show.date_of(61_000, exact=True) == "1970-01-01T00:01:01Z"
    undated = replace(small.periods[2], first=NO_TIME, last=NO_TIME)
    some = replace(small, periods=(undated, small.periods[3]))
    assert [period.t for period in show.since(some, "1960-01-01")] == [3]
    assert show.heading(some, some.periods) == "posts, periods 2 to 3, 1970-01-04: 2,000 documents"
    assert show.heading(some, some.periods[:1]) == "posts, period 2: 1,000 documents"
    for text, watch in (("soon", small), ("1970-01-01", replace(some, periods=(undated,)))):
        with pytest.raises(ParameterError, match=text):
            show.since(watch, text)
    assert show.urn(small) == "urn:odl:posts" and show.urn(small, "topic", 1) == "urn:odl:posts:topic:1"


def test_a_line_of_the_table_has_lists_as_text(small):
    two, *_ = csv.DictReader(io.StringIO(show.as_csv(small, small.periods[1:2])))
    assert (two["period"], two["rank"], two["members"], two["reasons"]) == ("1", "1", "d1\td2\td3", "tape:0.5000")
    assert two["source"] == two["line"] == two["url"] == two["nearest"] == "" and two["first"] == "1970-01-02T00:00:00Z"
    near = replace(small.periods[1].alerts[1], nearest=(Near(1, ("oil", "gas"), 0.5), Near(2, ("x",), 0.1)), line=7)
    (row,) = csv.DictReader(io.StringIO(show.as_csv(small, [replace(small.periods[1], alerts=(near,))])))
    assert (row["nearest"], row["opening"], row["line"]) == ("oil gas", "tape", "7")


def test_words_are_bold_on_a_terminal_alone(small, monkeypatch):
    alert = replace(small.periods[1].alerts[1], text="the tape of")
    period = replace(small.periods[1], alerts=(alert,))
    assert "      the tape of" in show.as_text(small, [period]).splitlines()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert "      the \x1b[1mtape\x1b[22m of" in show.as_text(small, [period]).splitlines()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in show.as_text(small, [period])


def test_file_and_line_stand_once_where_they_are_the_id():
    (alert, *_) = newpages.watch().periods[-1].alerts
    alert = replace(alert, id="posts.csv:7", source="posts.csv", line=7, time=0, url="")
    assert show.place(alert) == "1970-01-01"
    assert show.place(replace(alert, id="p-7")) == "1970-01-01, posts.csv:7"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("plain", 5),
        ("東京", 4),
        ("ที่นี่มีน้ำท่วม", 8),  # Thai: vowels and tones above take no column
        ("cafe\u0301", 4),
        ("हिन्दी", 5),
        ("\u1112\u1161\u11ab", 2),  # a syllable of Hangul in parts
        ("👩\u200d👩\u200d👧", 2),
        ("👍🏽", 2),
        ("🇯🇵🇫🇷", 4),
        ("❤\ufe0f", 2),
        ("a\u200bb\u2068c\u2069", 3),
        ("שָׁלוֹם", 4),
    ],
)
def test_texts_are_cut_and_wrapped_by_the_columns_of_a_terminal(text, columns):
    assert sum(show._columns(text)) == columns
    words = " ".join([text] * 60)
    width = 3 * columns + 2
    assert show.wrapped(words, width) == [" ".join([text] * 3)] * 20
    assert show.shortened(words, width) == " ".join([text] * 2) + "…" and show.shortened(text, columns) == text
    assert "".join(show.wrapped(text * 40, width)) == text * 40


def test_signs_of_private_use_stay():
    text = "\U00100000\U00100001e\u0301 " * 30
    assert " ".join(show.wrapped(text, 10)) == text.strip()


def test_periods_between_two_spans(small):
    def periods(*names):
        return [period.t for period in show.since(small, *names)]

    assert periods("1970") == [0, 1, 2, 3] and periods("7d") == []
    assert periods("1970-01-02", "1970-01-03") == [1, 2] and periods("1970-01-02", "1970-01-02") == [1]
    assert periods(None, "1970-01-02") == [1] and periods(None, "1970") == [3] and periods(None, "1969") == []
    with pytest.raises(ParameterError, match="--since 1970-01-03 --until 1970-01-02; expected an end"):
        periods("1970-01-03", "1970-01-02")
