"""Lists of what is new: a table first, details below, by evidence; the same in CSV, JSON, Markdown and Slack."""

import csv
import io
import json
import re
from dataclasses import replace

import newpages
import pytest

from odl.alerts import maps, show, spans, views
from odl.errors import ParameterError
from odl.files.documents import NO_TIME
from odl.files.terminal import width


@pytest.fixture
def watch():
    return newpages.watch()


@pytest.fixture(autouse=True)
def columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")


def last(watch, **changes):
    """The watch with another last period."""
    return replace(watch, periods=(*watch.periods[:-1], replace(watch.periods[-1], **changes)))


def headline_of(watch, **changes):
    return replace(watch.periods[-1].headlines[0], **changes)


def test_one_period_line_by_line(watch):
    lines = show.as_text(watch, watch.periods[-1:]).splitlines()
    assert lines[0] == "posts, 2024-01-29 to 2024-02-04: 50 documents, usually 38"
    assert lines[2].split() == [
        "date",
        "event",
        "headline",
        "documents",
        "usually",
        "by",
        "chance",
        "example",
    ]
    assert lines[3].split("  ")[0] == "2024-01-29"
    assert (
        "dod, render, jpeg" in lines[3]
        and "12       <1  1 in 500" in lines[3]
        and "Story" in lines[3]
    )
    assert lines[5:11] == [
        "2024-01-29 to 2024-02-04  dod, render, jpeg (event 5, new)",
        "    Story 11-0 on dod",
        "      more than usual: dod, render",
        "      because: dod 40 %, render 20 %, words of its own 10 % (qzx)",
        "      id: posts.jsonl:11000  (2024-01-29)",
        "    Story 11-1 on dod (+ 1 alike)",
    ]
    assert "    9 more: odl explain FOLDER 5" in lines
    assert lines[-3:] == [
        "1 headline.",
        "Held back: 2 documents without a word.",
        "Held back: 1 headline of event:3 (muted in feedback.csv).",
    ]


def test_several_periods_are_one_list_by_evidence_with_dates(watch):
    text = show.as_text(watch, watch.periods)
    rows = text.split("\n\n")[1].splitlines()[1:]
    assert [row.split()[0] for row in rows] == [
        "2024-01-29",
        "2024-01-15",
        "2024-01-01",
        "2023-12-18",
        "2023-12-04",
    ]
    assert "period 1" not in text.lower() and "Headlines in 5 of 10 periods." in text
    assert "Unproven and without alerts: the first 2 periods." in text
    assert (
        "Not unusual here (all of them: odl new FOLDER --below):\n- bread, butter: 3 documents, usually <1 (2"
        in text
    )


def test_an_event_is_one_row_whatever_its_days(watch):
    """Its strongest headline leads; the others are lines of its details."""
    again = headline_of(watch, t=99.0, event=4, state="growing")
    rows = views.rows_of(last(watch, headlines=(again,)).periods)
    (row,) = [row for row in rows if row.headline.event == 4]
    assert row is rows[0] and row.headline is again and len(row.others) == 1
    assert "  also 2024-01-15 to 2024-01-21, " in show.as_text(
        watch, last(watch, headlines=(again,)).periods
    )


def test_what_is_below_the_bar_is_listed_where_asked(watch):
    quiet = watch.periods[-2:-1]
    assert "bread" not in show.as_text(watch, quiet).split("Not unusual")[0]
    text = show.as_text(watch, views.with_below(quiet))
    assert "bread, butter" in text.split("\n\n")[1] and "1 in 5" in text
    assert (
        maps.as_jsonl(watch, quiet) == ""
        and len(maps.as_jsonl(watch, views.with_below(quiet)).splitlines()) == 3
    )


def test_other_headlines_say_what_they_are(watch):
    def told(**changes):
        one = replace(headline_of(watch), **changes)
        return show.as_text(watch, last(watch, headlines=(one,)).periods[-1:])

    volume = told(
        name=("volume",),
        words=(),
        gate="volume",
        event=0,
        state="",
        rows=tuple(range(256)),
        usual=38.0,
    )
    assert (
        re.search("  volume +256 +38  1 in 500", volume) and volume.count("2024-01-29") == 2
    )  # no document stands for it
    lone = told(
        name=(), words=(), t=0.0, gate="lone", event=0, state="", rows=(2,), examples=(2,), p=1e-9
    )
    assert "2024-01-29 to 2024-02-04  a document that stands alone\n    Story 11-2 on dod\n" in lone
    assert re.search("document +1 +1 in 1,000[+] +Story 11-2 on dod", lone)
    assert views.FORM_NOTE in told(form=True) and "  certain  " in told(gate="certain", p=0.5)


def test_documents_that_stand_alone_come_last(watch):
    lone = headline_of(
        watch, name=(), t=0.0, gate="lone", event=0, rows=(2,), examples=(2,), p=1e-99
    )
    volume = replace(lone, name=("volume",), gate="volume", p=1e-5)
    rows = views.rows_of([replace(watch.periods[-1], headlines=(lone, headline_of(watch), volume))])
    assert [row.headline.gate for row in rows] == ["volume", "words", "lone"]


def test_an_unproven_period_has_its_strongest_words_and_most_novel_documents(watch):
    text = show.as_text(watch, watch.periods[1:2])
    assert "Most novel documents\n    Story 1-0 on bread" in text and "bread, butter" in text
    assert "unproven" in text.split("\n\n")[1] and maps.as_jsonl(watch, watch.periods[:2]) == ""
    assert "alerts begin when 50 documents were scored, and 0 were scored before this." in text


def test_without_gates_the_alerts_are_documents():
    watch = newpages.watch(settings={"gates": False})
    watch = replace(
        watch, periods=tuple(replace(each, headlines=(), below=()) for each in watch.periods)
    )
    text = show.as_text(watch, watch.periods[-1:])
    assert "Most novel documents\n    Story 11-0" in text and "5 documents." in text
    assert len(maps.as_jsonl(watch, watch.periods[-1:]).splitlines()) == 5


@pytest.mark.parametrize("n", [40, 60, 72, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(watch, monkeypatch, n):
    monkeypatch.setenv("COLUMNS", str(n))
    wide = newpages.watch(title="東京で大きな地震がありました " * 5, text="文章 " * 80)
    lines = [line for one in (watch, wide) for line in show.as_text(one, one.periods).splitlines()]
    assert max(
        width(line) for line in lines if "posts.jsonl:" not in line and "odl " not in line
    ) <= min(n, show.TEXT_COLUMNS)


def test_names_get_the_columns_that_are_too_few_for_an_example(watch):
    name = ("functions admirably", "arrangements", "discovering")
    period = replace(watch.periods[-1], headlines=(headline_of(watch, name=name, p=1e-9),))
    row = show.as_text(watch, [watch.periods[-2], period]).split("\n\n")[1].splitlines()[1]
    assert row.endswith(
        "functions admirably, arrangements, discovering         12       <1  1 in 1,000+"
    )


def test_a_document_as_json_has_the_fields_of_version_1_and_new_ones(watch):
    lines = [json.loads(line) for line in maps.as_jsonl(watch, watch.periods[-1:]).splitlines()]
    assert [line["folded"] for line in lines] == [False] * 3 + [True] * 2
    first = lines[0]
    assert first["version"] == 1 and first["period"] == 11 and first["topic"] == first["event"] == 5
    assert (
        first["topic_name"] == first["headline"] == "dod, render, jpeg" and first["state"] == "new"
    )
    assert (first["p"], first["usual"], first["gate"]) == (0.002, 0.4, "words")
    assert first["source"] == {"file": "posts.jsonl", "line": 11000} and first["rest"]["words"] == 4
    assert first["nearest"][0]["topic"] is None and first["parts"][0] == ["word", "dod", 40]
    assert {
        "rank",
        "members",
        "time",
        "url",
        "tail",
        "reasons",
        "own",
        "context",
        "opening",
        "text",
    } <= first.keys()


def test_a_document_is_told_once_whatever_its_headlines(watch):
    twice = last(watch, headlines=(headline_of(watch), headline_of(watch, event=4)))
    assert len(maps.as_jsonl(twice, twice.periods[-1:]).splitlines()) == 5


def test_a_period_and_an_event_as_maps(watch):
    told = maps.period_map(watch, watch.periods[-1])
    assert (
        told["documents"] == 50
        and told["usual"] == 38.0
        and len(told["alerts"]) == 5
        and not told["warm_up"]
    )
    assert (
        told["headlines"][0]["event"] == 5
        and told["headlines"][0]["documents"] == 12
        and told["below"] == []
    )
    event = maps.event_map(watch, 4)
    assert (
        event["topic"] == event["event"] == 4
        and event["alerts"] == {"9": 5}
        and event["sizes"]["9"] == 12
    )
    assert event["words"][0] == {"word": watch.events[4].name[0], "inside": 0.9, "before": 0.01}


def test_csv_is_safe_to_open():
    watch = newpages.watch(title="=1+1", id="@x")
    first = next(csv.DictReader(io.StringIO(maps.as_csv(watch, watch.periods[-1:]))))
    assert (
        first["title"] == "'=1+1"
        and first["id"] == "'@x"
        and first["event"] == "5"
        and first["usual"] == "0.4"
    )
    assert list(first) == list(maps.CSV_COLUMNS)


def test_markdown_is_a_table_and_hostile_text_is_text():
    watch = newpages.watch(title="[x](http://evil) | @all <b>", url="https://a.org/1")
    text = show.as_markdown(watch, watch.periods[-1:])
    (row,) = [line for line in text.splitlines() if line.startswith("| 2024")]
    assert (
        row.count(" | ") == 5
        and r"\[x\]\(http://evil\) \| @&#8203;all \<b\>" in row
        and "](<https://a.org/1>)" in row
    )
    assert "**dod, render, jpeg** (event 5, new)" in row
    assert show.escape_markdown("2012-03-02, a-b - c") == r"2012-03-02, a-b \- c"


def test_slack_takes_the_message_however_much_is_new():
    watch = newpages.watch(title="<!channel> *x*" + "w" * 3000, url="https://a.org/1")
    period = watch.periods[-1]
    many = tuple(replace(period.headlines[0], event=number) for number in range(100, 300))
    message = json.loads(show.as_slack(watch, (replace(period, headlines=many),)))
    blocks = message["blocks"]
    assert len(blocks) <= 50 and all(len(block["text"]["text"]) <= 3000 for block in blocks[:-1])
    assert "more: odl new" in blocks[-2]["text"]["text"] and "<!channel>" not in json.dumps(message)


def test_days_of_periods(watch):
    def days(*spans):
        spans = [(first * newpages.DAY, last * newpages.DAY) for first, last in spans]
        return views.days_of(
            [replace(watch.periods[0], first=first, last=last) for first, last in spans]
        )

    undated = [replace(period, first=NO_TIME, last=NO_TIME) for period in watch.periods[3:5]]
    assert days((0, 0)) == "1970-01-01" and days((0, 6)) == "1970-01-01 to 1970-01-07"
    assert days((0, 6), (7, 9)) == "1970-01-01 to 1970-01-10"
    assert (
        views.days_of(undated) == "period 3 to period 4"
        and views.days_of(undated[:1]) == "period 3"
    )
    assert views.days_of([undated[0], watch.periods[0]]) == views.days_of(watch.periods[:1])


def test_a_span_needs_dates_and_an_end_behind_its_begin(watch):
    assert [one.t for one in spans.periods_between(watch.periods, "2024-01-15")] == [9, 10, 11]
    assert [one.t for one in spans.periods_between(watch.periods, "2024-01-10", "2024-01-20")] == [
        8,
        9,
    ]
    assert [one.t for one in spans.periods_between(watch.periods, None, "2024-01-20")] == [
        9
    ] and spans.periods_between(watch.periods)[0].t == 11
    with pytest.raises(ParameterError, match="not before the begin"):
        spans.periods_between(watch.periods, "2024-01-10", "2023")
    undated = replace(
        watch, periods=tuple(replace(each, first=NO_TIME, last=NO_TIME) for each in watch.periods)
    )
    with pytest.raises(ParameterError, match="without dates"):
        spans.periods_between(undated.periods, "2024")


def test_what_is_held_back_is_counted_over_periods(watch):
    held = {("event:3", "muted"): 2, ("", "repeated"): 1}
    told = views.withheld_phrases([replace(each, withheld=held) for each in watch.periods[:2]])
    assert told[0] == "4 headlines of event:3 (muted in feedback.csv)" and told[1].startswith(
        "2 documents nearly"
    )


def test_a_title_that_a_text_continues_is_not_told_twice(watch):
    period = watch.periods[-1]
    one = replace(
        period.documents_of[0], title="The quick brown fox", text="The quick brown fox jumps over"
    )
    assert views.DocumentView(one, period).texts() == ("The quick brown fox", "jumps over")
    assert views.DocumentView(one, period).texts(11) == ("The quick…", "…brown fox jumps over")
    for text in ("..... The quick brown fox jumps over", "* The  quick, brown fox jumps over"):
        assert views.DocumentView(replace(one, text=text), period).texts() == (
            "The quick brown fox",
            "jumps over",
        )
    same = replace(one, title="They waited", text="..... They .....waited")
    assert views.DocumentView(same, period).texts() == ("They waited", "")


def test_what_goes_without_saying_is_left_out(watch):
    """The day of a period of one day, and the file of a stream of one."""
    period = replace(watch.periods[-1], sources=("a.jsonl",))
    one = replace(period.documents_of[0], source="a.jsonl")
    assert views.DocumentView(one, period).origin == ["2024-01-29"]
    day = replace(period, last=period.first, sources=("a.jsonl", "b.jsonl"))
    assert views.DocumentView(one, day).origin == ["a.jsonl"]
    named = views.DocumentView(replace(one, id="a.jsonl:3"), day)
    assert named.document.line == 3 and named.origin == []  # the id names file and line


def test_a_document_is_an_example_of_one_headline(watch):
    """The second headline shows its next documents; one whose documents all stand above shows its own again."""
    first = headline_of(watch, t=9.0, examples=(0, 1, 2, 3))
    second, third = (
        headline_of(watch, event=4, t=8.0, examples=(1, 3, 4)),
        headline_of(watch, event=3, examples=(0,)),
    )
    rows = views.rows_of(
        [replace(watch.periods[-1], headlines=(first, second, replace(third, t=7.0)))]
    )
    assert [[view.document.row for view in row.examples] for row in rows] == [
        [0, 1, 2, 3],
        [3, 4],
        [0],
    ]


def test_a_merged_request_is_one_example(watch):
    """Its title comes back with further numbers, as where it was merged into several branches."""
    titles = ("Fix A (#8006)", "Fix A (#8006) (#8010)", "Fix B", "fix a (#7)", "Fix B")
    documents = {
        row: replace(document, title=title)
        for (row, document), title in zip(
            watch.periods[-1].documents_of.items(), titles, strict=True
        )
    }
    one = headline_of(watch, examples=(0, 1, 2, 3, 4))
    other = headline_of(watch, event=4, t=1.0, examples=(3, 4))
    rows = views.rows_of(
        [replace(watch.periods[-1], headlines=(one, other), documents_of=documents)]
    )
    shown = [[view.document.row for view in row.examples] for row in rows]
    assert shown == [
        [0, 2, 4],
        [3, 4],
    ]  # all of the second are shown above, so it has its own again
