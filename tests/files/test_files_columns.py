"""Texts for a terminal: durations, and texts that are cut."""

import pytest

from odl.files.terminal import duration, shortened, wrapped


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"),
        (-1, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (600, "10 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (172_799, "48.0 h"),
        (172_800, "2 days"),
    ],
)
def test_durations_change_their_unit_at_90_seconds_90_minutes_and_2_days(seconds, text):
    assert duration(seconds) == text


def test_a_text_that_is_cut_closes_the_isolates_that_it_opened():
    """An unclosed U+2068 would reverse the text that follows."""
    opened, closed = "\u2068", "\u2069"
    text = f"{opened}one{closed} and {opened}two hundred words{closed}"
    assert shortened(text, 14) == f"{opened}one{closed} and {opened}two…{closed}"
    assert shortened(text, 5) == f"{opened}one{closed}…"
    assert shortened(text, 80) == text


def test_a_combining_character_takes_no_column_of_a_line():
    text = "\u65e5\u672c " + 10 * "e\u0301"  # two characters of two columns, a space, ten of one
    assert wrapped(text, 15) == [text]
    assert len(wrapped(text, 14)) == 2
