"""The page about what is new: it says what the watch holds, escapes it, and needs nothing else."""

import re
from dataclasses import replace

import newpages
import pytest
import watched
from elements import Checker
from places import ROOT

from odl import cli
from odl.alerts import feedback, read, views
from odl.alerts.alarms import Alarm
from odl.alerts.feedback import FeedbackLine
from odl.alerts.model import Document
from odl.errors import DataError
from odl.files.documents import NO_TIME
from odl.report import newfeeds, newpage


@pytest.fixture(scope="module")
def watch():
    return newpages.watch()


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """The script of the tables, small; the real one is in the tests in a browser and in the last one here."""
    monkeypatch.setattr(newpage, "table_script", lambda: "data:text/javascript;base64,QQ==")


def plain(text):
    """What is read: the body without style, scripts and tags."""
    body = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", text)
    return " ".join(
        re.sub(r"<[^>]*>", " ", body).replace("&amp;", "&").replace("\u00a0", " ").split()
    )


def test_a_long_title_ends_with_a_sign_that_it_was_cut():
    watch = newpages.watch(title="word " * 40)
    watch = replace(
        watch, periods=(*watch.periods, replace(watch.periods[-1], t=12))
    )  # a table of headlines before
    assert f"<summary>{'word ' * 31}word…</summary>" in newpage.render_page(watch)


def test_it_opens_with_a_table_of_the_latest_headlines_then_their_details(watch):
    page = plain(newpage.render_page(watch))
    assert " What is new in posts 2024-01-29 to 2024-02-04 " in page
    table = "1 headline. posts, 2024-01-29 to 2024-02-04: 50 documents, usually 38 date headline documents usually "
    table += "by chance example 2024-01-29 to 2024-02-04 dod, render, jpeg event 5 new 12 &lt;1 1 in 500 Story 11-0 on dod"
    details = "new dod, render, jpeg event 5 Story"
    assert (
        page.index(table)
        < page.index(details)
        < page.index("2 more examples")
        < page.index("Headlines before", 200)
    )
    assert (
        "Held back: 2 documents without a word; 1 headline of event:3 (muted in feedback.csv)."
        in page
    )
    assert "period 11" not in page.lower()


def test_earlier_headlines_are_a_table_newest_first(watch):
    rows = re.findall(r'<tr data-t="(\d+)">.*</tr>', str(newpage.page_macros().before(watch)))
    assert rows == ["9", "7", "5", "3"]


def test_a_quiet_period_is_calm_and_folds_what_is_not_unusual(watch):
    text = newpage.render_page(newpages.until(watch, 11))
    assert 'class="lead calm">Nothing new.' in text and "Not unusual here: 1 headline" in plain(
        text
    )
    assert text.index("<details><summary>Not unusual here") < text.index("bread, butter")
    assert 'class="lead calm"' not in newpage.render_page(watch)


def test_a_colour_is_explained_if_it_occurs(watch):
    quiet = replace(watch, periods=tuple(replace(period, headlines=()) for period in watch.periods))
    assert "Coloured: periods with headlines." in newpage.render_page(watch)
    assert "Coloured" not in newpage.render_page(quiet)


def test_an_unproven_period_is_marked_so(watch):
    page = plain(newpage.render_page(replace(watch, periods=watch.periods[:2], events={})))
    assert (
        "Unproven: alerts begin when 50 documents were scored" in page
        and "Most novel documents" in page
    )
    assert (
        "bread, butter 3 &lt;1 unproven" in page
        and "Events over time" not in page
        and "Headlines before" not in page
    )


def test_a_change_of_form_says_so(watch):
    last = watch.periods[-1]
    formed = replace(last, headlines=(replace(last.headlines[0], form=True),))
    page = plain(newpage.render_page(replace(watch, periods=(*watch.periods[:-1], formed))))
    assert "their form has changed" in page and "new form" in page


def test_table_headers_have_a_scope_and_tables_a_caption(watch):
    text = newpage.render_page(watch)
    assert (
        re.findall(r"<th (?!scope=)", text) == []
        and text.count("<table") == text.count("<caption>") == 3
    )


def test_text_of_documents_is_text():
    evil = newpages.EVIL
    watch = newpages.watch(
        title=evil, id=evil, source=evil, members=(evil, evil), url="https://x.org/?a=1&b='\"<"
    )
    events = {**watch.events, 5: replace(watch.events[5], name=(evil, "x"))}
    text = newpage.render_page(replace(watch, corpus=evil, run=evil, events=events))
    assert "<script>alert" not in text and "<b onclick" not in text
    checker = Checker(re.sub(r"(?s)<style>.*?</style>", "", text))
    assert sum(tag == "script" for tag, _ in checker.found) == 1
    assert all("onclick" not in attributes for _, attributes in checker.found)
    assert evil.split("<b")[0] in "".join(checker.words)


def test_it_is_well_formed_and_asks_for_nothing(watch):
    text = newpage.render_page(watch)
    checker = Checker(text)
    assert not [
        tag for tag, _ in checker.found if tag in ("link", "img", "iframe", "object", "form")
    ]
    assert not [name for name, attributes in checker.found if "src" in attributes]
    assert not [name for name, attributes in checker.found if "url(" in attributes.get("style", "")]
    style = "".join(path.read_text() for path in (ROOT / "src" / "odl" / "report").glob("*.css"))
    assert style and "url(" not in style and "@import" not in style
    ids = [attributes["id"] for _, attributes in checker.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {link["href"][1:] for link in checker.all("a") if link["href"].startswith("#")}
    assert targets <= set(ids)
    headings = [int(tag[1]) for tag, _ in checker.found if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1 and set(headings[1:]) == {2}


def test_labels_are_spoken_of_where_there_are_some(watch):
    words = re.compile(r"label|novel |truth|topics given|AUC|study", re.I)
    assert not words.search(plain(newpage.render_page(watch, study="report.html")))
    assert 'href="report.html"' in newpage.render_page(
        replace(watch, labelled=True), study="report.html"
    )
    assert "report.html" not in newpage.render_page(replace(watch, labelled=True))


def test_without_dates(watch):
    def undated(period):
        documents = {row: replace(one, time=NO_TIME) for row, one in period.documents_of.items()}
        return replace(period, first=NO_TIME, last=NO_TIME, documents_of=documents)

    page = plain(newpage.render_page(replace(watch, periods=tuple(map(undated, watch.periods)))))
    assert "What is new in posts period 11" in page and "1677" not in page


@pytest.mark.slow
def test_a_thousand_headlines_are_of_a_size():
    watch = newpages.watch(n_periods=1400, documents=10)
    text = newpage.render_page(watch)
    assert (
        "199 older headlines not shown" in text and "400 older events not shown" in text
    ) or "older" in text
    assert len(text) < 4e6


class TestFindings:
    """What the page says of the watch itself."""

    def told(self, watch):
        return {entry.what: entry for entry in newpage.health_findings(watch)}

    def changed(self, watch, **changes):
        return replace(watch, periods=tuple(replace(period, **changes) for period in watch.periods))

    def test_an_ordinary_watch_needs_nobody(self, watch):
        assert not any(entry.todo for entry in newpage.health_findings(watch))
        nothing = self.changed(watch, empty=0)
        assert newpage.health_findings(nothing) == [] and "All is well." in plain(
            newpage.render_page(nothing)
        )

    def test_an_alarm_comes_first_on_the_page_and_is_an_entry_of_the_feed(self, watch):
        alarm = Alarm("silence", "a<b.jsonl", "No document came from a<b.jsonl.", "Look.")
        first = newpage.health_findings(watch, sounded=[alarm])[0]
        assert first == ("A source is silent", alarm.text, "Look.")
        entry = next(
            each for each in newfeeds.feed_entries(watch, [alarm]) if ":watch:" in each["id"]
        )
        assert (
            entry["id"] == f"urn:odl:{watch.corpus}:watch:silence%3Aa%3Cb.jsonl"
            and "a&lt;b" in entry["content_html"]
        )
        assert "No document came from a&lt;b.jsonl." in newpage.render_page(watch, sounded=[alarm])

    def test_empty_documents(self, watch):
        first = newpage.health_findings(self.changed(watch, empty=20))[0]
        assert first.what == "Documents without a word" and first.todo
        assert "80 documents of the last 4 periods" in first.text

    def test_the_last_periods_are_the_last(self, watch):
        """Of twelve periods, two of them a warm-up: what is said of the last four is not of the first, nor of all."""
        changed = tuple(replace(p, empty=20) for p in watch.periods)
        told = self.told(replace(watch, periods=watch.periods[:8] + changed[8:]))
        assert told["Documents without a word"].text.startswith(
            "80 documents of the last 4 periods"
        )
        told = self.told(replace(watch, periods=changed[:8] + watch.periods[8:]))
        assert told["Documents without a word"].text.startswith("2 documents of the last 4 periods")

    def test_languages_are_compared_with_the_eight_periods_before(self, watch):
        """Not with those of longer ago, nor with the first ones."""
        mixes = [{"german": 50}] * 3 + [{"english": 50}] * 8 + [{"english": 22, "german": 28}]
        periods = [
            replace(period, languages=mix) for period, mix in zip(watch.periods, mixes, strict=True)
        ]
        told = self.told(replace(watch, periods=tuple(periods)))["Languages"]
        assert told.todo and "German 56\u00a0%, English 44\u00a0%." in told.text
        assert told.text.endswith("The 8 periods before: English 100\u00a0%, German 0\u00a0%.")
        same = (*periods[:-1], replace(periods[-1], languages={"english": 50}))
        assert "Languages" not in self.told(replace(watch, periods=same))
        mixed = [replace(period, languages={"english": 100, "german": 100}) for period in periods]
        told = self.told(replace(watch, periods=mixed))["Languages"]
        assert not told.todo and told.text.endswith("English 50\u00a0%, German 50\u00a0%.")

    def test_what_cleaning_took_out(self, watch):
        said = "cleaned 9 documents: headers of 3 (40 characters)"
        held = {entry.what: entry for entry in newpage.health_findings(watch, taken=said)}
        assert (
            held["Taken out of the texts"].text
            == "Cleaned 9 documents: headers of 3 (40 characters)."
        )
        assert "Taken out of the texts" not in self.told(watch)
        assert "headers of 3 (40 characters)" in plain(newpage.render_page(watch, taken=said))

    def test_what_a_person_holds_back(self, watch):
        entries = [
            ("event:3", "muted"),
            ("event:4", "known", "2030-01-01"),
            ("event:5", "muted", "grows"),
        ]
        text = self.told(replace(watch, feedback=tuple(FeedbackLine(*entry) for entry in entries)))[
            "Held back by users"
        ].text
        said = "event:3, event:4 until 2030-01-01, event:5 in periods in which it is not growing"
        assert text.startswith(
            f"feedback.csv holds back {said}; without an end, until the line is deleted: event:3."
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("new")
    watched.follow(root, watched.run_of(atoms=20), watched.LAUNCHES[:7], {"gates": True})
    return root


def test_the_command_writes_it(made, tmp_path):
    """From files; feedback.csv elsewhere is respected, and feeds are written."""
    watch = read.alerts_of(made)
    paths = [str(tmp_path / name) for name in ("new.html", "new.atom", "new.json")]
    assert (
        cli.main(["step", "newpage", paths[0], str(made), "--atom", paths[1], "--feed", paths[2]])
        == 0
    )
    text = (tmp_path / "new.html").read_text(encoding="utf-8")
    entries = newfeeds.feed_entries(watch)
    assert entries and (tmp_path / "new.atom").read_text() == newfeeds.as_atom(watch, entries)
    assert (tmp_path / "new.json").read_text() == newfeeds.as_json(watch, entries)
    for row in views.rows_of(watch.periods):
        assert all(one.title in plain(text) for one in row.examples[:3])
    number = next(one.event for period in watch.periods for one in period.headlines if one.event)
    feedback.add(tmp_path, FeedbackLine(f"event:{number}", "muted"))
    alerts = read.place_of(made).alerts
    assert cli.main(["step", "newpage", paths[0], alerts, "--home", str(tmp_path)]) == 0
    assert "feedback.csv holds back event:" in plain(
        (tmp_path / "new.html").read_text(encoding="utf-8")
    )


def test_a_long_stream_is_shown_from_its_end(made, tmp_path, monkeypatch):
    """The older periods are counted, and an event of theirs has its first day and its documents."""
    monkeypatch.setattr(read, "PAGE_PERIODS", 3)
    newpage.write_page(tmp_path / "new.html", made)
    watch, text = read.alerts_of(made), (tmp_path / "new.html").read_text(encoding="utf-8")
    page = plain(text)
    assert "7 periods, learner" in page
    rows = re.findall(r'<tr><th [^>]*><details>.*?<div id="event-\d+">.*?</tr>', text)
    assert rows
    for row in rows:
        event = watch.events[int(re.search(r'<div id="event-(\d+)">', row)[1])]
        assert f">{views.date_of(event.first)}</td><td>{event.size}</td>" in row


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(newpage.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match="install it"):
        newpage.table_script()


def test_a_card_has_its_course_documents_and_commands(watch):
    of = [
        Document(
            t=11,
            row=n,
            id=f"id{n}",
            title=f"Title {n}",
            time=NO_TIME,
            source=f"{'ab'[n % 2]}.jsonl",
        )
        for n in range(7)
    ]
    text = newpage.render_page(watch, members={5: of})
    card = text[text.index("<article") :].split("</article>")[0]
    told = plain(card)
    assert 'class="bars"' not in card  # of one period
    later = replace(
        watch.periods[-1], headlines=(replace(watch.periods[-1].headlines[0], event=4),)
    )
    text_later = newpage.render_page(replace(watch, periods=(*watch.periods[:-1], later)))
    assert text_later.split("</article>")[0].count('<svg class="bars"') == 1
    assert "All 7 documents of the event by source a.jsonl (4)" in told and "b.jsonl (3)" in told
    assert all(f"Title {n} id{n}" in told for n in range(7))
    assert "odl mute . event:5" in told and "odl follow . event:5" in told
    assert text.index('class="skip"') < text.index("<h1>") and 'href="#new"' in text
