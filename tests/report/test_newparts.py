"""Texts, links and pictures of the page about what is new."""

import re
from dataclasses import replace

import newpages
import pytest

from odl.alerts import views
from odl.files.documents import NO_TIME
from odl.report import newpage, newparts


@pytest.fixture
def watch():
    return newpages.watch()


def view(watch, row=0, **changes):
    """A document of the last period as a reader sees it."""
    period = watch.periods[-1]
    return views.DocumentView(replace(period.documents_of[row], **changes), period)


@pytest.mark.parametrize("url", ["https://a.org/x?y=1", "HTTP://a.org", "mailto:a@b.org"])
def test_these_addresses_become_links(watch, url):
    assert newparts.safe_address(url) == url and f'href="{url}"' in newparts.linked_title(
        view(watch, url=url)
    )


@pytest.mark.parametrize("url", [
    "javascript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x",
    "file:///etc/passwd", "vbscript:x", "//a.org/x", "/x", "x", "", "http:", "https:a", "http://[", "http://a b",
    "http://a\\b", "https://a.org/\x01", "blob:https://a.org/1",
])  # fmt: skip
def test_these_do_not(watch, url):
    assert newparts.safe_address(url) == "" and "href" not in newparts.linked_title(
        view(watch, url=url)
    )


def test_reason_words_are_marked_in_title_and_excerpt(watch):
    one = view(watch, title="A dod & more", text="Of RENDER <b> here")
    assert newparts.linked_title(one) == '<span dir="auto">A <mark>dod</mark> &amp; more</span>'
    assert (
        newparts.marked_excerpt(one)
        == '<p class="text" dir="auto">Of <mark>RENDER</mark> &lt;b&gt; here</p>'
    )
    assert newparts.marked_excerpt(view(watch)) == ""


def reasons(view):
    """The terms and texts that explain the score of a document, without markup."""
    pairs = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", newpage.page_macros().reasons(view))
    return {term: re.sub("<.*?>", "", text) for term, text in pairs}


def test_what_is_told_of_a_document(watch):
    told = reasons(view(watch, 1))
    assert list(told) == [
        "More than usual",
        "Score",
        "Its parts",
        "Nearest known",
        "Nearly the same (1)",
        "Id",
    ]
    parts = "dod 40\u00a0%, render 20\u00a0%, and 5 more words 30\u00a0% (none above 10\u00a0%), "
    assert told["Its parts"] == f"{parts}words of its own 10\u00a0% (qzx)"
    assert told["Score"] == "1.000, rank 2; as high or higher: 0.1\u00a0% of recent ones"
    unproven = view(watch)._replace(period=watch.periods[0])
    assert reasons(unproven)["Score"].endswith("; unproven")


def test_the_picture_of_an_event_point_by_point(watch):
    """Documents of each period; the periods in which it was new are coloured."""
    event_bars = newpage.page_macros().event_bars
    drawn = event_bars(watch, watch.events[1])
    assert (
        'viewBox="0 0 12 20"' in drawn and '<path class="marked" d="M3 2.0h.8V20h-.8z"/>' in drawn
    )
    assert 'class="plain" d="M4 5.0h.8V20h-.8zM5 8.0h.8V20h-.8zM6 11.0h.8V20h-.8z"' in drawn
    assert 'aria-label="at most 12 documents, 2023-12-04; ended"' in drawn
    late = replace(watch, periods=watch.periods[5:])
    drawn = event_bars(late, watch.events[1])
    assert 'class="plain" d="M0 8.0h.8V20h-.8zM1 11.0h.8V20h-.8z"' in drawn and "period 3" in drawn


def test_the_picture_of_the_stream(watch):
    drawn = newpage.page_macros().volume(watch)
    assert drawn.count("h.8V20") == 12 and "600 documents in 12 periods, 5 with headlines" in drawn
    assert (
        newparts.date_labels(watch)[0] == ("2023-11-13", 100 * 0.5 / 12)
        and len(newparts.date_labels(watch)) == 6
    )
    undated = replace(
        watch, periods=tuple(replace(each, first=NO_TIME) for each in watch.periods[:2])
    )
    assert newparts.date_labels(undated) == [("period 0", 25.0), ("period 1", 75.0)]
    assert newparts.date_labels(replace(watch, periods=watch.periods[:1])) == [("2023-11-13", 50.0)]


def test_the_last_seen_events_come_first(watch):
    events = newparts.recent_events(watch)
    assert [event.number for event in events] == [4, 5, 3, 2, 1]
