"""Comparison of the stored headlines with those that other settings give, as text and JSON."""

import json
from typing import NamedTuple

from odl.alerts import maps, show, views
from odl.alerts.model import JSON_VERSION, Headline, Period
from odl.files import terminal
from odl.files.documents import NO_TIME
from odl.files.terminal import table_lines, width, widths

MAX_SHIFT = 4  # periods by which a headline may be earlier or later and still be the same
MAX_SPANS = 40  # if the table of periods has more rows, periods are summed by month or year
KINDS = ("gained", "lost", "earlier", "later")
COLUMNS = ("change", *(name for name in views.COLUMNS if name != "event"))
COUNT_COLUMNS = ("settings", "headlines", "in periods", *KINDS)
MIN_NAME_COLUMNS = 20  # smallest width to which the names in a table of counts are cut


class Change(NamedTuple):
    """A headline that only one of two lists has, or that they have in different periods.

    Attributes
    ----------
    kind : str
        One of `KINDS`. "earlier" means that the second list has the headline in an earlier period
        than the first list, "later" in a later one.
    period, headline : odl.alerts.model.Period, odl.alerts.model.Headline
        Period and headline in the second list; for "lost" in the first list.
    other : odl.alerts.model.Period or None
        For "earlier" and "later", the period in the first list.
    """

    kind: str
    period: Period
    headline: Headline
    other: Period | None = None

    @property
    def date(self):
        """Date of the period as text, with "(was DATE)" if the first list has another period."""
        date = views.day_of(self.period)
        return f"{date} (was {views.day_of(self.other)})" if self.other else date

    @property
    def cells(self):
        """Texts of the columns of a table, by the names in `COLUMNS`."""
        rows, documents = self.headline.examples[:1], self.period.documents_of
        stored = [documents[row] for row in rows if row in documents]
        examples = tuple(views.DocumentView(document, self.period) for document in stored)
        view = views.HeadlineView(self.period, self.headline, examples=examples)
        cells = view.cells | {"change": self.kind, "date": self.date}
        return {name: cells[name] for name in COLUMNS}


class Alternative(NamedTuple):
    """Headlines of a stream under other settings, and how they differ from the stored headlines.

    Attributes
    ----------
    name : str
        Changed settings as text, such as "level 0.02"; the column heading in tables.
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
    def named_settings(self):
        """Settings in the name as a list of texts, such as ["level 0.02", "budget 5"]."""
        return self.name.split(", ")

    @property
    def counts(self):
        """Number of changes of each kind, in the order of `KINDS`."""
        return [sum(change.kind == kind for change in self.changes) for kind in KINDS]

    @property
    def title(self):
        """Name and counts as text, such as "level 0.02: 3 gained, 1 lost"."""
        pairs = zip(KINDS, self.counts, strict=True)
        counts = ", ".join(f"{n:,} {kind}" for kind, n in pairs if n)
        return f"{self.name}: {counts or 'the headlines are the same'}"


def compare(before, after):
    """Return the changes from one list of headlines to another, by period.

    Two headlines of the same period are the same if they share at least half as many documents as
    the larger one has. A remaining headline of the second list is earlier or later if the first
    list has one with the same strongest word at most `MAX_SHIFT` periods away; else it is gained.

    Parameters
    ----------
    before, after : sequence of odl.alerts.model.Period
        The same periods with the headlines of each list.

    Returns
    -------
    list of Change
    """
    lost, gained = [], []  # pairs (period, headline)
    for period_before, period_after in zip(before, after, strict=True):
        unmatched = [*period_after.headlines]
        for headline in period_before.headlines:
            match = next((other for other in unmatched if _are_same(headline, other)), None)
            if match is None:
                lost.append((period_before, headline))
            else:
                unmatched.remove(match)
        gained += [(period_after, headline) for headline in unmatched]
    changes = []
    for period, headline in gained:
        strongest = headline.words[:1]
        same_word = [pair for pair in lost if strongest and pair[1].words[:1] == strongest]
        nearest = min(same_word, key=lambda pair: abs(pair[0].t - period.t), default=None)
        if nearest and abs(nearest[0].t - period.t) <= MAX_SHIFT:
            lost.remove(nearest)
            kind = "earlier" if period.t < nearest[0].t else "later"
            changes.append(Change(kind, period, headline, other=nearest[0]))
        else:
            changes.append(Change("gained", period, headline))
    changes += [Change("lost", period, headline) for period, headline in lost]
    return sorted(changes, key=lambda change: (change.period.t, KINDS.index(change.kind)))


def _are_same(headline, other):
    """Return whether two headlines of a period are about the same documents."""
    if (headline.gate == "volume") != (other.gate == "volume"):
        return False
    if headline.gate == "volume":
        return headline.name == other.name
    return 2 * len({*headline.rows} & {*other.rows}) >= max(headline.size, other.size)


def count_rows(before, alternatives):
    """Return the rows of the table of settings (`COUNT_COLUMNS`), the stored list first."""
    return [
        ("as stored", *_headline_counts(before), *[""] * len(KINDS)),
        *(
            (
                alternative.name,
                *_headline_counts(alternative.periods),
                *(f"{n:,}" for n in alternative.counts),
            )
            for alternative in alternatives
        ),
    ]


def _headline_counts(periods):
    """Return the numbers of headlines, and of periods that have headlines, as ("5", "3 of 12")."""
    numbers = [len(period.headlines) for period in periods]
    return f"{sum(numbers):,}", f"{sum(map(bool, numbers)):,} of {len(numbers):,}"


def span_rows(before, alternatives):
    """Return the rows of the table of periods.

    A row is a tuple of texts: a span of time, its document count, and its headline count under the
    stored settings and under each alternative. A span is a period, or a month or a year if there
    are more than `MAX_SPANS` periods.
    """
    spans = _span_names(before)
    lists = [before, *(alternative.periods for alternative in alternatives)]
    rows = []
    for span in dict.fromkeys(spans):
        inside = [index for index, name in enumerate(spans) if name == span]
        n = sum(before[index].documents for index in inside)
        numbers = [sum(len(periods[index].headlines) for index in inside) for periods in lists]
        rows.append((span, *(f"{number:,}" for number in (n, *numbers))))
    return rows


def _span_names(periods):
    """Return the name of each period's span: first day, month or year, or "periods from 100"."""
    days = [views.day_of(period) for period in periods]
    if all(period.first != NO_TIME for period in periods):
        names = [[day[:n] for day in days] for n in (10, 7, 4)]
    else:
        names = [days, [f"periods from {period.t // 100 * 100}" for period in periods]]
    return next((spans for spans in names if len(set(spans)) <= MAX_SPANS), names[-1])


def as_text(watch, before, alternatives):
    """Return the comparison as text: a table of settings, a table of periods, and the changes.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    before : sequence of odl.alerts.model.Period
        Periods with the stored headlines.
    alternatives : sequence of Alternative
    """
    names = [alternative.name for alternative in alternatives]
    parts = [[views.list_heading(watch, before), *settings_lines(alternatives)]]
    if sum(map(width, names)) > show.terminal_width() // 2:  # too wide: number the columns
        alternatives = [
            alternative._replace(name=f"{number}: {alternative.name}")
            for number, alternative in enumerate(alternatives, 1)
        ]
        names = [f"{number + 1}" for number in range(len(names))]
    parts.append(_count_table([COUNT_COLUMNS, *count_rows(before, alternatives)]))
    spans = [("period", "documents", "as stored", *names), *span_rows(before, alternatives)]
    parts.append(_count_table(spans))
    for alternative in alternatives:
        changes = [change.cells for change in alternative.changes]
        if changes:
            table = show.table_of(changes, show.terminal_width())
            parts.append([f"{alternative.title}:", table])
        else:
            parts.append([f"{alternative.title}."])
    return terminal.for_stream("\n\n".join("\n".join(lines) for lines in parts))


def settings_lines(alternatives):
    """Return lines such as "alerts.level: 0.02 instead of 0.01" about changed settings.

    A single alternative has a line for each changed setting. Several alternatives have lines only
    for settings that their names do not contain.
    """
    lines = [
        f"alerts.{name}: {new} instead of {old}"
        for alternative in alternatives
        for name, (old, new) in alternative.settings.items()
        if len(alternatives) == 1 or f"{name} {new}" not in alternative.named_settings
    ]
    return list(dict.fromkeys(lines))


def _count_table(rows):
    """Return the lines of a table with names in its first column and counts in the others.

    If the terminal is too narrow, names are cut, but counts never are.
    """
    names, *counts = widths(rows)
    room = show.terminal_width() - sum(size + 2 for size in counts)
    sizes = [min(names, max(MIN_NAME_COLUMNS, room)), *counts]
    return table_lines(rows, sizes, right={*range(1, len(sizes))})


def as_json(watch, before, alternatives):
    """Return the stored headlines, and each alternative with its changes, as a JSON text.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    before : sequence of odl.alerts.model.Period
        Periods with the stored headlines.
    alternatives : sequence of Alternative
    """
    others = []
    for alternative in alternatives:
        changes = [
            {
                "change": kind,
                "was": other.t if other else None,
                **maps.headlines_map(period, headline),
            }
            for kind, period, headline, other in alternative.changes
        ]
        settings = {f"alerts.{name}": new for name, (_, new) in alternative.settings.items()}
        others.append(
            {
                "settings": settings,
                "periods": _headline_maps(alternative.periods),
                "changes": changes,
            }
        )
    document = {"version": JSON_VERSION, "stream": watch.corpus, "periods": len(before)}
    return json.dumps(
        document | {"stored": _headline_maps(before), "others": others},
        ensure_ascii=False,
        indent=1,
    )


def _headline_maps(periods):
    """Return the periods that have headlines as dicts."""
    return [maps.headlines_map(period) for period in periods if period.headlines]
