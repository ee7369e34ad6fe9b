"""Texts for a terminal: durations."""

import pytest

from odl.files.columns import duration


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
    ],
)
def test_durations_change_their_unit_at_90_seconds_and_90_minutes(seconds, text):
    assert duration(seconds) == text
