"""Comparison of the stored headlines with those for other settings, as text, JSON and rows of tables."""

import json
from typing import NamedTuple

from odl.alerts import maps, show
from odl.alerts.model import JSON_VERSION, Headline, Period
from odl.files.columns import table_lines, width, widths
from odl.files.documents import NO_TIME

MAX_SHIFT = 4  # periods by which a headline may be earlier or later and still be the same
MAX_SPANS = 40  # rows of the table of periods; more periods are summed by month or year
KINDS = ("gained", "lost", "earlier", "later")
COLUMNS = ("change", "date", "headline", "documents", "usually", "by chance", "example")
COUNT_COLUMNS = ("settings", "headlines", "in periods", *KINDS)
MIN_TEXT_COLUMNS = 20  # smallest width of a text that is cut in a table of a terminal


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
        date = show.day_of(self.period)
        return f"{date} (was {show.day_of(self.other)})" if self.other else date

    @property
    def cells(self):
        """Texts of the columns of a table, as `COLUMNS` names them."""
        rows, known = self.headline.examples, self.period.documents_of
        views = [show.DocumentView(known[row], self.period) for row in rows[:1] if row in known]
        view = show.HeadlineView(self.period, self.headline, (), tuple(views))
        _, _, *cells = view.cells.values()
        return (self.kind, self.date, *cells)


class Alternative(NamedTuple):
    """The periods of a stream decided with other settings, and the changes from the stored headlines.

    Attributes
    ----------
    name : str
        Settings by which it is named in tables, such as "level 0.02".
    settings : dict of str to (value, value)
        Settings that differ from the stored ones: name -> (stored value, other value).
    periods : sequence of odl.alerts.model.Period
    changes : list of Change
    """

    name: str
    settings: dict
    periods: tuple
    changes: list

    @property
    def counts(self):
        """Number of its changes of each of `KINDS`."""
        return [sum(one.kind == kind for one in self.changes) for kind in KINDS]

    @property
    def title(self):
        """Its name and the numbers of its changes in words."""
        pairs = zip(KINDS, self.counts, strict=True)
        counts = ", ".join(f"{n:,} {kind}" for kind, n in pairs if n)
        return f"{self.name}: {counts or 'the headlines are the same'}"


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


def count_rows(before, alternatives):
    """Return the rows of the table of settings (`COUNT_COLUMNS`): the stored list, then the alternatives."""
    return [
        ("as stored", *_counts(before), *[""] * len(KINDS)),
        *(
            (one.name, *_counts(one.periods), *(f"{n:,}" for n in one.counts))
            for one in alternatives
        ),
    ]


def _counts(periods):
    """Return the number of headlines, and the number of periods with headlines of all periods, as text."""
    numbers = [len(period.headlines) for period in periods]
    return f"{sum(numbers):,}", f"{sum(map(bool, numbers)):,} of {len(numbers):,}"


def span_rows(before, alternatives):
    """Return the rows of the table of periods: span, documents, and the headlines of each list.

    A row is a period; if there are more than `MAX_SPANS`, a month or a year.
    """
    spans = _spans(before)
    lists = [before, *(one.periods for one in alternatives)]
    rows = []
    for span in dict.fromkeys(spans):
        inside = [at for at, name in enumerate(spans) if name == span]
        n = sum(before[at].documents for at in inside)
        numbers = [sum(len(periods[at].headlines) for at in inside) for periods in lists]
        rows.append((span, *(f"{number:,}" for number in (n, *numbers))))
    return rows


def _spans(periods):
    """Return the name of the span of each period: its first day, its month or its year, or its hundred if undated."""
    days = [show.day_of(period) for period in periods]
    if all(period.first != NO_TIME for period in periods):
        names = [[day[:n] for day in days] for n in (10, 7, 4)]
    else:
        names = [days, [f"periods from {period.t // 100 * 100}" for period in periods]]
    return next((each for each in names if len(set(each)) <= MAX_SPANS), names[-1])


def as_text(watch, before, alternatives):
    """Return the tables of settings and of periods, and the changes to each alternative, as text.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    before : sequence of odl.alerts.model.Period
        Periods with the stored headlines.
    alternatives : sequence of Alternative
    """
    names = [one.name for one in alternatives]
    parts = [[show.heading(watch, before), *settings_lines(alternatives)]]
    if sum(map(width, names)) > show.terminal_width() // 2:  # columns have numbers instead
        alternatives = [
            one._replace(name=f"{number}: {one.name}") for number, one in enumerate(alternatives, 1)
        ]
        names = [f"{number + 1}" for number in range(len(names))]
    parts.append(_table([COUNT_COLUMNS, *count_rows(before, alternatives)], {0}))
    spans = [("period", "documents", "as stored", *names), *span_rows(before, alternatives)]
    parts.append(_table(spans, {0}))
    for one in alternatives:
        table = [COLUMNS, *(change.cells for change in one.changes)]
        parts.append([f"{one.title}{':' if one.changes else '.'}"])
        parts[-1] += _table(table, {0, 1, 2, 5, 6}) if one.changes else []
    return "\n\n".join("\n".join(lines) for lines in parts)


def settings_lines(alternatives):
    """Return a line for each setting of an alternative that differs from the stored one and is not in its name."""
    lines = [
        f"alerts.{name}: {new} instead of {old}"
        for one in alternatives
        for name, (old, new) in one.settings.items()
        if len(alternatives) == 1 or f"{name} {new}" not in one.name.split(", ")
    ]
    return list(dict.fromkeys(lines))


def _table(rows, left):
    """Return the rows of a table as lines; columns in `left` are aligned to the left, long texts are cut."""
    columns = show.terminal_width()
    sizes = widths(rows)
    for at in reversed(range(len(sizes))):  # the last columns are cut first
        excess = sum(sizes) + 2 * (len(sizes) - 1) - columns
        if at in left and excess > 0 and sizes[at] > MIN_TEXT_COLUMNS:
            sizes[at] = max(MIN_TEXT_COLUMNS, sizes[at] - excess)
    return table_lines(rows, sizes, {*range(len(sizes))} - left)


def as_json(watch, before, alternatives):
    """Return settings, headlines and changes as JSON; see `as_text` for the arguments."""
    others = []
    for one in alternatives:
        changes = [
            {
                "change": kind,
                "was": other.t if other else None,
                **maps.headlines_map(period, headline),
            }
            for kind, period, headline, other in one.changes
        ]
        settings = {f"alerts.{name}": new for name, (_, new) in one.settings.items()}
        others.append(
            {"settings": settings, "periods": _headlines(one.periods), "changes": changes}
        )
    found = {"version": JSON_VERSION, "stream": watch.corpus, "periods": len(before)}
    return json.dumps(
        found | {"stored": _headlines(before), "others": others}, ensure_ascii=False, indent=1
    )


def _headlines(periods):
    """Return the periods that have headlines as maps."""
    return [maps.headlines_map(one) for one in periods if one.headlines]
