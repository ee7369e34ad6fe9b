"""Comparison of two lists of headlines for the same periods, such as those from two settings."""

import json
from typing import NamedTuple

from odl.alerts import maps, show
from odl.alerts.model import JSON_VERSION, Headline, Period
from odl.files.columns import padded, shortened, width

MAX_SHIFT = 4  # periods by which a headline may be earlier or later and still be the same
KINDS = ("gained", "lost", "earlier", "later")
COLUMNS = ("change", "date", "headline", "documents", "usually", "by chance")
NUMERIC_COLUMNS = {3, 4}  # numbers of the columns that are aligned to the right


class Change(NamedTuple):
    """A headline that is in only one of two lists, or in different periods of them.

    Attributes
    ----------
    kind : str
        One of `KINDS`; "earlier" if it is in an earlier period of the second list than of the
        first.
    period, headline : odl.alerts.model.Period, odl.alerts.model.Headline
        From the second list; for "lost" from the first.
    other : odl.alerts.model.Period or None
        For "earlier" and "later", the period in the first list.
    """

    kind: str
    period: Period
    headline: Headline
    other: Period | None = None

    @property
    def date(self):
        """Date of the period, and of the period in the first list if it differs."""
        date = _first_day(self.period)
        return f"{date} (was {_first_day(self.other)})" if self.other else date


def compare(before, after):
    """Return the changes from one list of headlines to another, by period.

    Headlines of one period are the same if they share half of the documents of the larger one.
    Other headlines with the same strongest word, at most `MAX_SHIFT` periods apart, are one
    headline that comes earlier or later.

    Parameters
    ----------
    before, after : sequence of odl.alerts.model.Period
        The same periods with the headlines of each list.

    Returns
    -------
    list of Change
    """
    lost, gained = [], []
    for one, two in zip(before, after, strict=True):
        rest = [*two.headlines]
        for headline in one.headlines:
            same = next((other for other in rest if _are_same(headline, other)), None)
            if same is None:
                lost.append((one, headline))
            else:
                rest.remove(same)
        gained += [(two, headline) for headline in rest]
    changes = []
    for period, headline in gained:
        moved = [
            pair for pair in lost if headline.words[:1] and pair[1].words[:1] == headline.words[:1]
        ]
        nearest = min(moved, key=lambda pair: abs(pair[0].t - period.t), default=None)
        if nearest and abs(nearest[0].t - period.t) <= MAX_SHIFT:
            lost.remove(nearest)
            kind = "earlier" if period.t < nearest[0].t else "later"
            changes.append(Change(kind, period, headline, nearest[0]))
        else:
            changes.append(Change("gained", period, headline))
    changes += [Change("lost", period, headline) for period, headline in lost]
    return sorted(changes, key=lambda one: (one.period.t, KINDS.index(one.kind)))


def _are_same(one, other):
    """Return whether two headlines of a period are about the same documents."""
    if (one.gate == "volume") != (other.gate == "volume"):
        return False
    if one.gate == "volume":
        return one.name == other.name
    return 2 * len({*one.rows} & {*other.rows}) >= max(one.size, other.size)


def as_text(watch, before, after, settings):
    """Return counts of both lists and a table of the changes as text.

    Parameters
    ----------
    watch : odl.alerts.model.Watch
    before, after : sequence of odl.alerts.model.Period
    settings : sequence of str
        One line for each setting that differs, such as ``"alerts.level: 0.02 instead of 0.01"``.
    """
    columns, changes = show.terminal_width(), compare(before, after)
    lines = [show.heading(watch, after), *settings, ""]
    lines += [f"stored:  {_counts(before)}", f"instead: {_counts(after)}", ""]
    if not changes:
        return "\n".join([*lines, "The headlines are the same."])
    counts = [(kind, sum(one.kind == kind for one in changes)) for kind in KINDS]
    lines.append(", ".join(f"{n:,} {kind}" for kind, n in counts if n) + ":")
    table = [COLUMNS]
    for one in changes:
        _, _, name, n, usual, chance, _ = show.HeadlineView(one.period, one.headline).cells
        table.append((one.kind, one.date, name, n, usual, chance))
    sizes = [max(map(width, cells)) for cells in zip(*table, strict=True)]
    sizes[2] = max(20, min(sizes[2], columns - sum(sizes) + sizes[2] - 2 * (len(COLUMNS) - 1)))
    for cells in table:
        cells = [shortened(cell, size) for cell, size in zip(cells, sizes, strict=True)]
        texts = [
            padded(cell, size, at in NUMERIC_COLUMNS)
            for at, (cell, size) in enumerate(zip(cells, sizes, strict=True))
        ]
        lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)


def _first_day(period):
    """Return the first day of a period, or its number if its documents have no dates."""
    return show.date_of(period.first) or f"period {period.t}"


def _counts(periods):
    """Return "N headlines in K of M periods" as text."""
    speaking = [period for period in periods if period.headlines]
    n = sum(len(period.headlines) for period in speaking)
    return f"{show.plural(n, 'headline')} in {len(speaking):,} of {show.plural(len(periods), 'period')}"


def as_json(watch, before, after, settings):
    """Return counts, changes and all headlines of the second list as JSON; see `as_text` for the arguments."""
    stored, instead = (
        [maps.headlines_map(one) for one in periods if one.headlines] for periods in (before, after)
    )
    changes = [
        {"change": kind, "was": other.t if other else None, **maps.headlines_map(period, headline)}
        for kind, period, headline, other in compare(before, after)
    ]
    found = {
        "version": JSON_VERSION,
        "stream": watch.corpus,
        "settings": settings,
        "periods": len(after),
    }
    found |= {"stored": stored, "instead": instead, "changes": changes}
    return json.dumps(found, ensure_ascii=False, indent=1)
