"""Times as people name them."""

from datetime import UTC, datetime

import pytest

from odl.alerts import spans
from odl.errors import ParameterError

NOW = datetime(2026, 3, 31, 15, 20, 30, tzinfo=UTC).timestamp()  # a Tuesday


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("today", "2026-03-31", "2026-04-01"),
        ("Yesterday", "2026-03-30", "2026-03-31"),
        ("0d", "2026-03-31", "2026-04-01"),
        ("7d", "2026-03-24", "2026-03-25"),
        ("7 days ago", "2026-03-24", "2026-03-25"),
        ("1 day", "2026-03-30", "2026-03-31"),
        ("2w", "2026-03-17", "2026-03-18"),
        ("1mo", "2026-02-28", "2026-03-01"),
        ("13 months", "2025-02-28", "2025-03-01"),
        ("2y", "2024-03-31", "2024-04-01"),
        ("12h", "2026-03-31T03:20:30", "2026-03-31T04:20:30"),
        ("2019", "2019-01-01", "2020-01-01"),
        ("2019-01", "2019-01-01", "2019-02-01"),
        ("2019-12", "2019-12-01", "2020-01-01"),
        ("2026-W10", "2026-03-02", "2026-03-09"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("20240229", "2024-02-29", "2024-03-01"),
        ("2024-02-29T10", "2024-02-29T10:00", "2024-02-29T11:00"),
        ("2024-02-29 10:30", "2024-02-29T10:30", "2024-02-29T10:31"),
        ("2024-02-29T10:30:05", "2024-02-29T10:30:05", "2024-02-29T10:30:06"),
        ("2024-02-29T10:30Z", "2024-02-29T10:30", "2024-02-29T10:31"),
        ("2024-02-29T10:30-01:00", "2024-02-29T11:30", "2024-02-29T11:31"),
    ],
)
def test_spans(text, first, end):
    expected = (int(datetime.fromisoformat(f"{one}+00:00" if "T" in one else f"{one}T00:00+00:00").timestamp() * 1000)
                for one in (first, end))  # fmt: skip
    assert spans.parse(text, "--since", NOW) == (*expected,)


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "",
        "7",
        "7x",
        "2019-13",
        "2019-02-30",
        "9999",
        "0000",
        "99999y",
        "-7d",
        "03/04/2026",
        "2026-W60",
        "\0",
    ],
)
def test_what_names_no_span_is_one_sentence(text):
    with pytest.raises(
        ParameterError, match=r"--until .*; expected a date or time: today, .*; correct the date"
    ):
        spans.parse(text, "--until", NOW)
