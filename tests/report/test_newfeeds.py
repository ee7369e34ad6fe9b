"""The feeds about what is new: valid, one story a topic, dates of the stream only, hostile text as text."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import feedparser
import newpages
import pytest
import watched

from odl.alerts import read, show
from odl.files.documents import NO_TIME
from odl.report import newfeeds

NS = "{http://www.w3.org/2005/Atom}"
ITEM = {"id", "url", "title", "content_html", "date_published", "date_modified"}


@pytest.fixture(scope="module")
def watch():
    return newpages.watch()


def check_atom(text):
    """Hold a feed to RFC 4287, and to a parser that readers use."""
    parsed = feedparser.parse(text.encode())
    assert not parsed.bozo and parsed.version == "atom10", parsed.get("bozo_exception")
    feed = ElementTree.fromstring(text.encode())
    assert feed.tag == NS + "feed"
    for node in [feed, *feed.iter(NS + "entry")]:
        assert all(len(node.findall(NS + name)) == 1 for name in ("id", "title", "updated"))
    assert feed.find(f"{NS}author/{NS}name") is not None
    ids = [node.findtext(NS + "id") for node in feed.iter(NS + "entry")]
    assert len(ids) == len({*ids})
    return parsed


def check_json(text):
    """Hold a feed to the rules of JSON Feed 1.1."""
    feed = json.loads(text)
    assert feed["version"] == "https://jsonfeed.org/version/1.1" and isinstance(feed["title"], str)
    for item in feed["items"]:
        assert item.keys() <= ITEM and isinstance(item["id"], str) and item["id"]
        assert "content_html" in item or "content_text" in item
    ids = [item["id"] for item in feed["items"]]
    assert len(ids) == len({*ids})
    return feed


def feeds(watch):
    """Return both feeds of a stream, checked: the JSON feed, and the Atom feed as feedparser reads it."""
    entries = newfeeds.entries(watch)
    return check_json(newfeeds.as_json(watch, entries)), check_atom(newfeeds.atom(watch, entries))


def test_an_entry_a_topic_and_one_a_lone_alert(watch):
    told = [alert for period in watch.periods for alert in period.alerts if not alert.folded]
    topics = {f"urn:odl:posts:topic:{alert.topic}" for alert in told if alert.topic}
    alone = {show.urn(watch, "document", alert.id) for alert in told if not alert.topic}
    feed, parsed = feeds(watch)
    assert {item["id"] for item in feed["items"]} == topics | alone and len(topics) > 5
    assert [entry.id for entry in parsed.entries] == [item["id"] for item in feed["items"]]
    times = [item["date_modified"] for item in feed["items"]]
    assert times == sorted(times, reverse=True) and times[0] > times[-1]


def test_a_topic_is_one_story_that_changes_its_state(tmp_path):
    """Of a made stream: the entry of its topic after period 3, 6 and 12 has one id, another state and a later time."""
    folder, seen = watched.follow(tmp_path, watched.run_of()), []
    records = list(read.records(read.place_of(folder)))
    for n in (4, 7, 13):
        watch = read.watch(records[:n], (), None, read.place_of(folder), read.Earlier(read.place_of(folder), 0))
        (number,) = [number for number, topic in watch.topics.items() if topic.birth == 3]
        (entry,) = [each for each in newfeeds.entries(watch) if each.id == f"urn:odl:made:topic:{number}"]
        seen.append((entry.title.split("[")[1], entry.published, entry.updated))
    assert [state for state, _, _ in seen] == ["new]", "growing]", "returning]"]
    assert len({published for _, published, _ in seen}) == 1
    assert seen[0][2] < seen[1][2] < seen[2][2]


def test_hostile_text_stays_text():
    watch = newpages.watch(title=newpages.EVIL + "\ufffe", text=newpages.EVIL, url="javascript:alert(1)")
    feed, parsed = feeds(watch)
    text = newfeeds.atom(watch, newfeeds.entries(watch))
    assert "<script" not in text and "javascript:" not in text
    for item in feed["items"]:
        assert "<script" not in item["content_html"] and "<b onclick" not in item["content_html"]
    assert any(
        "</noscript>" in entry.content[0].value or "&lt;/noscript" in entry.content[0].value for entry in parsed.entries
    )


def test_without_times_the_order_stays(watch):
    periods = tuple(replace(each, first=NO_TIME, last=NO_TIME) for each in watch.periods)
    plain = replace(watch, periods=periods, topics={n: replace(one, first=NO_TIME) for n, one in watch.topics.items()})
    _, parsed = feeds(plain)
    assert parsed.entries[0].updated == "1970-01-01T00:00:11Z"


def test_a_quiet_stream_has_a_feed(watch):
    quiet = replace(watch, periods=tuple(replace(each, alerts=()) for each in watch.periods))
    feed, parsed = feeds(quiet)
    assert parsed.entries == [] and feed["items"] == []


def test_newsboat_shows_one_story_that_changes_its_state(watch, tmp_path):
    """A reader that people use takes the Atom feed from a file: as many articles as entries, also after a change."""
    if not shutil.which("newsboat"):
        pytest.skip("newsboat is not installed")
    names = [f"--{name}-file={tmp_path / name}" for name in ("url", "cache", "config")]
    (tmp_path / "config").write_text("")
    (tmp_path / "url").write_text(f"file://{tmp_path}/new.atom\n")
    number = next(entry.id for entry in newfeeds.entries(watch) if ":topic:" in entry.id).rpartition(":")[2]
    topic = watch.topics[int(number)]
    for state in ("growing", "returning"):
        topics = watch.topics | {topic.number: replace(topic, history=[*topic.history, (watch.periods[-1].t, state)])}
        entries = newfeeds.entries(replace(watch, topics=topics))
        (tmp_path / "new.atom").write_text(newfeeds.atom(watch, entries))
        done = subprocess.run(
            ["newsboat", *names, "-x", "reload", "print-unread"], capture_output=True, text=True, timeout=60
        )
        assert done.stdout.split()[0] == str(len(entries)), done.stdout + done.stderr
        with contextlib.closing(sqlite3.connect(tmp_path / "cache")) as cache:
            kept = dict(cache.execute("select guid, title from rss_item"))
        assert kept == {entry.id: entry.title for entry in entries}
        assert kept[f"urn:odl:posts:topic:{number}"].endswith(f"[{state}]")
