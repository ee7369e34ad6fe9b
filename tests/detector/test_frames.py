"""The table of events as a notebook shows it: the newest first, escaped, coloured, the same for equal tables."""

import re

import pandas

from odl.detector.frames import SHOWN_EVENTS, EventTable

STATES = ("new", "ongoing", "growing", "returning", "ended")


def table(n):
    rows = [
        {
            "name": f"name {k}",
            "words": "<b>orbit</b>, pad",
            "state": STATES[k % 5],
            "birth": k,
            "documents": 1000 * k,
        }
        for k in range(1, n + 1)
    ]
    return EventTable(rows, index=pandas.Index(range(1, n + 1), name="event"))


def test_the_newest_events_are_shown_with_a_caption():
    html = table(SHOWN_EVENTS + 10)._repr_html_()
    numbers = [int(number) for number in re.findall(r"<th [^>]*row_heading[^>]*>(\d+)</th>", html)]
    assert numbers == [*range(SHOWN_EVENTS + 10, 10, -1)]
    assert f"<caption>60 events, the newest {SHOWN_EVENTS}</caption>" in html
    assert "<caption>1 event</caption>" in table(1)._repr_html_() and ">60,000<" in html


def test_texts_are_escaped_and_states_and_sizes_are_drawn():
    html = table(5)._repr_html_()
    assert "<b>orbit" not in html and "&lt;b&gt;orbit&lt;/b&gt;" in html
    assert html.count("linear-gradient") == 5 and "color: #1a7f37" in html


def test_equal_tables_have_equal_html_and_others_their_own_styles():
    one, other = table(3)._repr_html_(), table(4)._repr_html_()
    assert one == table(3)._repr_html_()
    assert re.findall(r"T_\w{8}", one)[0] != re.findall(r"T_\w{8}", other)[0]


def test_selected_rows_are_shown_alike_and_selected_columns_plainly():
    events = table(10)
    assert "linear-gradient" in events[events["state"] == "new"]._repr_html_()
    assert "linear-gradient" not in events[["name"]]._repr_html_()
    assert "linear-gradient" not in events[:0]._repr_html_()
