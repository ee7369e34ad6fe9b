"""The page about what is new: it says what the watch holds, escapes it, and needs nothing else."""

import re
from dataclasses import replace

import newpages
import numpy as np
import pytest
import watched
from elements import Checker
from places import ROOT

from odl import cli
from odl.alerts import breakdown, explain, feedback, read
from odl.alerts.alarms import Alarm
from odl.alerts.feedback import Entry
from odl.alerts.model import Withheld
from odl.errors import DataError
from odl.files.documents import NO_TIME
from odl.report import newfeeds, newpage, newparts, newtext


@pytest.fixture(scope="module")
def watch():
    return newpages.watch()


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """The script of the tables, small; the real one is in the tests in a browser and in the last one here."""
    monkeypatch.setattr(newpage, "library", lambda: "data:text/javascript;base64,QQ==")


def plain(text):
    """What is read: the body without style, scripts and tags."""
    body = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", text)
    return " ".join(re.sub(r"<[^>]*>", " ", body).replace("&amp;", "&").replace("\u00a0", " ").split())


def test_it_opens_on_the_latest_period(watch):
    text = newpage.text(watch)
    last, page = watch.periods[-1], plain(text)
    new = [topic for topic, _ in newparts.groups(watch, last) if topic and topic.birth == last.t]
    assert new and page.index(newparts.headline(watch, last, newparts.groups(watch, last))) < 600
    for topic in new:
        assert page.index(", ".join(topic.name)) < page.index("Periods before", page.index("documents this period"))
    for alert in last.alerts:
        assert alert.title in page
    assert (
        f"{newtext.dates(last)} (period {last.t})" in page and "Held back: 2 documents without a word; 4 items" in page
    )


def test_new_topics_come_first_and_lone_items_last(watch):
    for period in watch.periods[2:]:
        ranks = [newparts.ORDER[alerts[0].state] if topic else 9 for topic, alerts in newparts.groups(watch, period)]
        assert ranks == sorted(ranks)


def test_the_headline_counts_what_is_there(watch):
    last = watch.periods[-1]
    held = newparts.groups(watch, last)
    text = newparts.headline(watch, last, held)
    fresh = sum(topic is not None and topic.state_at(last.t) == "new" for topic, _ in held)
    assert text.startswith(f"{fresh} new topic") and f"{len(last.alerts)} alerts out of 200 documents" in text
    assert "there was room for 10" in text
    assert "room" not in newparts.headline(watch, replace(last, budget=len(last.alerts)), held)
    quiet = newparts.headline(watch, replace(last, alerts=()), [])
    assert quiet == "Nothing new: none of the 200 documents is more surprising than usual."
    warming = newparts.headline(watch, replace(last, alerts=(), warm_up=True), [])
    assert "2,000 documents scored before this period" in warming and "alerts need 300" in warming


def test_every_alert_is_a_row_with_its_reasons(watch):
    text = str(newpage.parts().alerts(watch))
    rows = re.findall(r"(?m)^<tr.*</tr>$", text)
    shown = [alert for period in reversed(watch.periods) for alert in period.alerts]
    assert len(rows) == len(shown) == 80
    for row, alert in zip(rows, shown, strict=True):
        assert row.count("<td") == row.count("</td>") == 6
        assert alert.title in row and f">{alert.score:.3f}<" in row and f'data-order="{alert.tail:.3g}"' in row
        assert row.startswith("<tr class=f>") == alert.folded
        for part in breakdown.parts(alert):
            assert part.text("\u00a0") in row
    assert (
        "The other documents of its batch: context 20\u00a0%" in rows[0]
        and "Nearest known: market, price (alike 31\u00a0%), as in" in rows[0]
    )


def test_a_row_is_one_line():
    """The script takes the rows for lines."""
    watch = newpages.watch(title="a\nb\r\nc\u2028d", id="x\ny")
    rows = str(newpage.parts().alerts(watch)).split("<tbody>\n")[1].split("\n</tbody>")[0].split("\n")
    assert len(rows) == 80 and all(row.startswith("<tr") and row.endswith("</td></tr>") for row in rows)


def test_text_of_documents_is_text():
    evil = newpages.EVIL
    watch = newpages.watch(title=evil, id=evil, source=evil, members=(evil, evil), url="https://x.org/?a=1&b='\"<")
    held = watch.periods[-1].alerts[0].topic
    topics = {**watch.topics, held: replace(watch.topics[held], name=(evil, "x"))}
    text = newpage.text(replace(watch, corpus=evil, run=evil, topics=topics))
    assert "<script>alert" not in text and "<b onclick" not in text
    checker = Checker(re.sub(r"(?s)<style>.*?</style>", "", text))
    assert sum(tag == "script" for tag, _ in checker.found) == 2
    assert all("onclick" not in attributes for _, attributes in checker.found)
    assert evil.split("<b")[0] in "".join(checker.words)


@pytest.mark.parametrize("url", ["https://a.org/x?y=1", "HTTP://a.org", "mailto:a@b.org"])
def test_these_addresses_become_links(url):
    assert newtext.address(url) == url and f'href="{url}"' in newpage.text(newpages.watch(url=url))


@pytest.mark.parametrize("url", [
    "javascript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x",
    "file:///etc/passwd", "vbscript:x", "//a.org/x", "/x", "x", "", "http:", "https:a", "http://[", "http://a b",
    "http://a\\b", "https://a.org/\x01", "blob:https://a.org/1",
])  # fmt: skip
def test_these_do_not(url):
    assert newtext.address(url) == ""
    links = [attributes["href"] for attributes in Checker(newpage.text(newpages.watch(url=url))).all("a")]
    assert all(link.startswith(("#", "https://example.org/")) for link in links)


def test_it_is_well_formed_and_asks_for_nothing(watch):
    text = newpage.text(watch)
    checker = Checker(text)
    assert not [tag for tag, _ in checker.found if tag in ("link", "img", "iframe", "object", "form")]
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
    assert not words.search(plain(newpage.text(watch, study="report.html")))
    assert 'href="report.html"' in newpage.text(replace(watch, labelled=True), study="report.html")
    assert "report.html" not in newpage.text(replace(watch, labelled=True))


def test_a_stream_that_has_just_begun(watch):
    for n in (1, 2):
        short = replace(watch, periods=watch.periods[:n], topics={})
        page = plain(newpage.text(short))
        assert "Warm-up: " in page and "All alerts" not in page and "Topics over time" not in page
    quiet = replace(watch, periods=tuple(replace(period, alerts=()) for period in watch.periods), topics={})
    assert "Nothing new: none of" in plain(newpage.text(quiet))


def test_without_dates(watch):
    unknown = np.iinfo(np.int64).min
    periods = tuple(
        replace(period, first=unknown, last=unknown, alerts=tuple(replace(a, time=unknown) for a in period.alerts))
        for period in watch.periods
    )
    page = plain(newpage.text(replace(watch, periods=periods)))
    assert "What is new in posts period 11" in page and "1677" not in page


def test_a_period_before_names_its_topics_new_ones_first(watch):
    """Also where none of them is new: what "20 alerts" are of."""
    period = watch.periods[-1]
    (one, alerts), *others = [pair for pair in newparts.groups(watch, period) if pair[0]]
    other, more = next((topic, alerts) for topic, alerts in others if topic.birth < period.t)
    named, known = (", ".join(topic.name) for topic in (one, other))
    for shown, text in (
        ((*more, *alerts), f"1 new topic and 1 known topic ({named}; {known}), "),
        (alerts, f"1 new topic ({named}), "),
        (more, f"1 known topic ({known}), "),
        ((), ""),
    ):
        told = newparts.summary(watch, replace(period, alerts=tuple(shown)))
        n = len(shown)
        assert told == f"{text}{n} alert{'s' * (n != 1)} of 200 documents" or (not n and told.startswith("nothing new"))


def test_many_periods_stay_short():
    """Twenty-six periods list their items, the earlier ones are a line each."""
    watch = newpages.watch(n_periods=60, per=3, documents=20)
    text = str(newpage.parts().before(watch))
    assert text.count("<details>") == 27 and "33 earlier periods" in text
    assert all(f"Period {t}, " in text for t in range(59))


def test_ten_thousand_alerts_are_of_a_size():
    watch = newpages.watch(n_periods=502, per=20, documents=40, n_topics=310, budget=20)
    text = newpage.text(watch)
    assert "10 older topics not shown" in text and text.split('id="topic-table"')[1].count('<svg class="course"') == 300
    assert text.count("\n<tr") >= 10_000 and len(text) < 12e6
    # Until the script takes them, the rows are one text: elements of their own are the rest of the page.
    rest = re.sub(r"(?s)<noscript.*?</noscript>", "", text)
    assert rest.count("<") < 25_000


class TestFindings:
    """What the page says of the watch itself."""

    def told(self, watch):
        return {entry.what: entry for entry in newpage.findings(watch)}

    def changed(self, watch, **changes):
        return replace(watch, periods=tuple(replace(period, **changes) for period in watch.periods))

    def test_an_ordinary_watch_needs_nobody(self, watch):
        assert not any(entry.todo for entry in newpage.findings(watch))
        nothing = self.changed(watch, withheld=())
        assert newpage.findings(nothing) == [] and "All is well." in plain(newpage.text(nothing))

    def test_an_alarm_comes_first_on_the_page_and_is_an_entry_of_the_feed(self, watch):
        alarm = Alarm("silence", "a<b.jsonl", "No document came from a<b.jsonl.", "Look.")
        first = newpage.findings(watch, sounded=[alarm])[0]
        assert first == ("A source is silent", alarm.text, "Look.")
        entry = next(each for each in newfeeds.entries(watch, [alarm]) if ":watch:" in each.id)
        assert entry.id == f"urn:odl:{watch.corpus}:watch:silence%3Aa%3Cb.jsonl" and "a&lt;b" in entry.body
        assert "No document came from a&lt;b.jsonl." in newpage.text(watch, sounded=[alarm])

    def test_empty_documents(self, watch):
        first = newpage.findings(self.changed(watch, withheld=(Withheld("", "empty", 20),)))[0]
        assert first.what == "Documents without a word" and first.todo
        assert "80 documents of the last 4 periods" in first.text

    def test_the_last_periods_are_the_last(self, watch):
        """Of twelve periods, two of them a warm-up: what is said of the last four is not of the first, nor of all."""
        held = (Withheld("", "empty", 20),)
        changed = tuple(replace(p, withheld=held) for p in watch.periods)
        told = self.told(replace(watch, periods=watch.periods[:8] + changed[8:]))
        assert told["Documents without a word"].text.startswith("80 documents of the last 4 periods")
        told = self.told(replace(watch, periods=changed[:8] + watch.periods[8:]))
        assert told["Documents without a word"].text.startswith("2 documents of the last 4 periods")

    def test_languages_are_compared_with_the_eight_periods_before(self, watch):
        """Not with those of longer ago, nor with the first ones."""
        mixes = [{"german": 200}] * 3 + [{"english": 200}] * 8 + [{"english": 90, "german": 110}]
        periods = [replace(period, languages=mix) for period, mix in zip(watch.periods, mixes, strict=True)]
        told = self.told(replace(watch, periods=tuple(periods)))["Languages"]
        assert told.todo and "German 55\u00a0%, English 45\u00a0%." in told.text
        assert told.text.endswith("The 8 periods before: English 100\u00a0%, German 0\u00a0%.")
        same = (*periods[:-1], replace(periods[-1], languages={"english": 200}))
        assert "Languages" not in self.told(replace(watch, periods=same))
        mixed = [replace(period, languages={"english": 100, "german": 100}) for period in periods]
        told = self.told(replace(watch, periods=mixed))["Languages"]
        assert not told.todo and told.text.endswith("English 50\u00a0%, German 50\u00a0%.")

    def test_what_cleaning_took_out(self, watch):
        said = "cleaned 9 documents: headers of 3 (40 characters)"
        held = {entry.what: entry for entry in newpage.findings(watch, taken=said)}
        assert held["Taken out of the texts"].text == "Cleaned 9 documents: headers of 3 (40 characters)."
        assert "Taken out of the texts" not in self.told(watch)
        assert "headers of 3 (40 characters)" in plain(newpage.text(watch, taken=said))

    def test_what_a_person_holds_back(self, watch):
        entries = [("topic:3", "muted"), ("topic:4", "known", "2030-01-01"), ("topic:5", "muted", "grows")]
        text = self.told(replace(watch, feedback=tuple(Entry(*entry) for entry in entries)))[
            "Held back by a person"
        ].text
        said = "topic:3, topic:4 until 2030-01-01, topic:5 in periods in which it is not growing"
        assert text.startswith(f"feedback.csv holds back {said}; without an end, until its line is deleted: topic:3.")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("new")
    watched.follow(root, watched.run_of(atoms=20), watched.LAUNCHES[:7])
    return root


def test_the_command_writes_it(made, tmp_path):
    """From files; feedback.csv elsewhere is respected."""
    assert cli.main(["step", "newpage", str(tmp_path / "new.html"), str(made)]) == 0
    page = plain((tmp_path / "new.html").read_text(encoding="utf-8"))
    watch = read.alerts_of(made)
    last = watch.periods[-1]
    assert newparts.headline(watch, last, newparts.groups(watch, last)) in page
    assert all(alert.title in page for period in watch.periods for alert in period.alerts)
    number = next(alert.topic for alert in last.alerts if alert.topic)
    feedback.add(tmp_path, Entry(f"topic:{number}", "muted"))
    alerts = read.place_of(made).alerts
    assert cli.main(["step", "newpage", str(tmp_path / "new.html"), alerts, "--home", str(tmp_path)]) == 0
    assert f"of topic:{number} (muted in feedback.csv)" in plain((tmp_path / "new.html").read_text(encoding="utf-8"))


def test_a_long_stream_is_shown_from_its_end(made, tmp_path, monkeypatch):
    """The older periods are counted, and a topic of theirs keeps its first day and its documents."""
    newpage.write(tmp_path / "whole.html", made, atom=tmp_path / "new.atom", feed=tmp_path / "new.json")
    entries = newfeeds.entries(read.alerts_of(made))
    assert entries and (tmp_path / "new.atom").read_text() == newfeeds.atom(read.alerts_of(made), entries)
    assert (tmp_path / "new.json").read_text() == newfeeds.as_json(read.alerts_of(made), entries)
    monkeypatch.setattr(newpage, "SHOWN", 3)
    newpage.write(tmp_path / "new.html", made)
    whole, text = ((tmp_path / name).read_text(encoding="utf-8") for name in ("whole.html", "new.html"))
    watch, page = read.alerts_of(made), plain(text)
    assert "4 older periods not shown: odl new FOLDER --since DATE lists them." in page
    assert "older periods" not in plain(whole) and "7 periods, learner" in page and "7 periods, learner" in plain(whole)
    shown = {alert.id for period in watch.periods[4:] for alert in period.alerts}
    assert all(alert.title in page for period in watch.periods[4:] for alert in period.alerts)
    assert shown and not any(re.search(rf"<td[^>]*>{t}<div", text) for t in range(4))
    rows = re.findall(r'<tr id="topic-(\d+)">.*?</tr>', text)
    assert rows
    for number in rows:
        topic = watch.topics[int(number)]
        row = re.search(rf'<tr id="topic-{number}">.*?</tr>', text)[0]
        assert f"<td>{newtext.since(topic)}</td><td>{topic.size}</td>" in row
        assert ('class="birth"' in row) == (topic.birth >= 4)


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(newpage.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match="install it"):
        newpage.library()


def test_a_card_has_course_members_and_commands(watch):
    topic = next(topic for topic, _ in newparts.groups(watch, watch.periods[-1]) if topic)
    sources, times = ("a.jsonl", "b.jsonl"), [NO_TIME, *(86_400_000 * day for day in (9, 4, 5, 7, 12, 6))]
    of = [explain.Member(11, f"id{n}", f"Title {n}", sources[n % 2], time) for n, time in enumerate(times)]
    text = newpage.text(watch, members={topic.number: of})
    card = text[text.index("<article") :].split("</article>")[0]
    told = plain(card)
    assert card.count('<svg class="course"') == 1 and "First seen 1970-01-05, last 1970-01-13." in told
    assert newparts.seen(topic, of[:1]) == ("period 11", "period 11")
    assert "Who else: all 7 documents by source a.jsonl (4)" in told and "b.jsonl (3)" in told
    assert all(f"Title {n} id{n}" in told for n in range(7))
    assert f"odl mute . topic:{topic.number}" in told and f"odl follow . topic:{topic.number}" in told
    assert text.index('class="skip"') < text.index("<h1>") and 'href="#new"' in text


@pytest.mark.parametrize(
    ("higher", "of", "said"),
    [
        (1, 1361, "higher than all but 1 of the last 1,361"),
        (0, 300, "higher than all of the last 300"),
        (1000, 2000, "higher than all but 1,000 of the last 2,000"),
        (1200, 2000, "higher than 40\u00a0% of the last 2,000"),
        (0, 0, "not compared with any"),
    ],
)
def test_a_score_beside_those_before(higher, of, said):
    assert newtext.chance((1 + higher) / (1 + of), of) == said


def test_nothing_new_is_calm(watch):
    quiet = replace(watch, periods=(*watch.periods[:-1], replace(watch.periods[-1], alerts=())))
    assert 'class="lead calm"' in newpage.text(quiet) and 'class="lead calm"' not in newpage.text(watch)
