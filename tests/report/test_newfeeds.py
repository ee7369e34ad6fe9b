"""The feeds about what is new: valid, one story for each event, dates of the stream only, hostile text as text."""

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
    entries = newfeeds.feed_entries(watch)
    return check_json(newfeeds.as_json(watch, entries)), check_atom(
        newfeeds.as_atom(watch, entries)
    )


def test_an_entry_an_event_a_document_that_stands_alone_and_a_volume(watch):
    last = watch.periods[-1]
    lone = newpages.headline((), (3,), name=(), gate="lone", event=0, t=0.0)
    volume = newpages.headline(
        (), tuple(range(50)), name=("volume",), gate="volume", event=0, usual=38.0, t=0.0
    )
    more = replace(last, headlines=(*last.headlines, lone, volume))
    feed, parsed = feeds(replace(watch, periods=(*watch.periods[:-1], more)))
    events = {f"urn:odl:posts:event:{number}" for number in watch.events}
    assert {item["id"] for item in feed["items"]} == events | {
        "urn:odl:posts:document:posts.jsonl%3A11003", "urn:odl:posts:volume:11"
    }  # fmt: skip
    assert [entry.id for entry in parsed.entries] == [item["id"] for item in feed["items"]]
    times = [item["date_modified"] for item in feed["items"]]
    assert times == sorted(times, reverse=True) and times[0] > times[-1]
    titles = {item["title"] for item in feed["items"]}
    assert {
        "volume: 50 documents, usually 38",
        "dod, render, jpeg [new]",
        "wheat, tonnes, yen [ended]",
    } <= titles


def test_an_event_is_one_story_that_changes_its_state(watch):
    """After its birth and at its end: one id, the same begin, another state and a later time."""
    seen = []
    for n in (4, 5, 9):
        (entry,) = [
            each
            for each in newfeeds.feed_entries(newpages.until(watch, n))
            if each["id"] == "urn:odl:posts:event:1"
        ]
        title, *times = (entry[key] for key in ("title", "date_published", "date_modified"))
        seen.append((title.split("[")[1], *times))
    assert [state for state, _, _ in seen] == ["new]", "ongoing]", "ended]"]
    assert (
        len({published for _, published, _ in seen}) == 1 and seen[0][2] < seen[1][2] < seen[2][2]
    )


def test_hostile_text_stays_text():
    watch = newpages.watch(
        title=newpages.EVIL + "\ufffe", text=newpages.EVIL, url="javascript:alert(1)"
    )
    feed, parsed = feeds(watch)
    text = newfeeds.as_atom(watch, newfeeds.feed_entries(watch))
    assert "<script" not in text and "javascript:" not in text
    for item in feed["items"]:
        assert "<script" not in item["content_html"] and "<b onclick" not in item["content_html"]
    assert any(
        "</noscript>" in entry.content[0].value or "&lt;/noscript" in entry.content[0].value
        for entry in parsed.entries
    )


def test_without_times_the_order_stays(watch):
    periods = tuple(replace(each, first=NO_TIME, last=NO_TIME) for each in watch.periods)
    plain = replace(
        watch,
        periods=periods,
        events={n: replace(one, first=NO_TIME) for n, one in watch.events.items()},
    )
    _, parsed = feeds(plain)
    assert parsed.entries[0].updated == "1970-01-01T00:00:11Z"


def test_a_quiet_stream_has_a_feed(watch):
    quiet = replace(watch, periods=tuple(replace(each, headlines=()) for each in watch.periods))
    feed, parsed = feeds(quiet)
    assert parsed.entries == [] and feed["items"] == []


def test_newsboat_shows_one_story_that_changes_its_state(watch, tmp_path):
    """A reader that people use takes the Atom feed from a file: as many articles as entries, also after a change."""
    if not shutil.which("newsboat"):
        pytest.skip("newsboat is not installed")
    names = [f"--{name}-file={tmp_path / name}" for name in ("url", "cache", "config")]
    (tmp_path / "config").write_text("")
    (tmp_path / "url").write_text(f"file://{tmp_path}/new.atom\n")
    event = watch.events[5]
    for state in ("growing", "returning"):
        events = watch.events | {
            5: replace(event, history=[*event.history, (watch.periods[-1].t, state)])
        }
        entries = newfeeds.feed_entries(replace(watch, events=events))
        (tmp_path / "new.atom").write_text(newfeeds.as_atom(watch, entries))
        done = subprocess.run(
            ["newsboat", *names, "-x", "reload", "print-unread"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout.split()[0] == str(len(entries)), done.stdout + done.stderr
        with contextlib.closing(sqlite3.connect(tmp_path / "cache")) as cache:
            kept = dict(cache.execute("select guid, title from rss_item"))
        assert kept == {entry["id"]: entry["title"] for entry in entries}
        assert kept["urn:odl:posts:event:5"].endswith(f"[{state}]")
