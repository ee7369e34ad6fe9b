"""Verdicts of users on headlines (`odl judge`): statistics, and effect on the order of lists."""

import math
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from odl.alerts import explain, feedback, periods, ranking, read, views
from odl.alerts.model import Headline
from odl.config import project
from odl.errors import ParameterError
from odl.files.escaping import visible

VALUES = {"yes": 1.0, "known": 0.0, "no": -1.0}
MAX_JUDGED = 200  # newest judged headlines, which determine the order of lists
NORMAL_95 = 1.959964  # .975 quantile of the standard normal distribution, for 95 % intervals
PERIOD_NUMBER = r"[0-9]{1,9}"
SOURCES_NAMED = 5  # sources whose share of yes is printed


class JudgedHeadline(NamedTuple):
    """A headline and the verdicts of users on this headline.

    Attributes
    ----------
    what : str
        "event:12", or the id of the most central document of the headline.
    name : str
        Name as lists print it.
    lines : tuple of odl.alerts.feedback.FeedbackLine
    traits : odl.alerts.ranking.Traits
    """

    what: str
    name: str
    lines: tuple
    traits: ranking.Traits

    @property
    def value(self):
        """Mean verdict, from -1 (no) to 1 (yes)."""
        return sum(VALUES[line.judged] for line in self.lines) / len(self.lines)

    @property
    def yes(self):
        """Share of the verdicts that are yes."""
        return sum(line.judged == "yes" for line in self.lines) / len(self.lines)

    @property
    def text(self):
        """Event, name and verdicts as text: "event 3 (sync, account) yes"."""
        answers = ", ".join(dict.fromkeys(sorted(line.judged for line in self.lines)))
        event = self.what.replace("event:", "event ") if self.what.startswith("event:") else ""
        return f"{event} ({self.name}) {answers}" if event else f"{self.name}: {answers}"


def wilson(yes, n):
    """Return the 95 % interval of Wilson for a share.

    The interval consists of all p with (yes / n - p)^2 <= z^2 p (1 - p) / n.

    Examples
    --------
    >>> from odl.alerts.verdicts import wilson
    >>> [round(end, 3) for end in wilson(14, 20)]
    [0.481, 0.855]
    """
    z2, share = NORMAL_95**2, yes / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def describe_yes(judged):
    """Return a text with the share of judged headlines that users want, and its 95 % interval.

    A headline on which users disagree counts by its share of the verdict yes.
    """
    n, yes = len(judged), math.fsum(headline.yes for headline in judged)
    share, low, high = (f"{100 * value:.0f}" for value in (yes / n, *wilson(yes, n)))
    return f"{yes:g} of {n} ({share} %, 95 % interval {low} to {high} %)"


def summary_lines(judged, lost):
    """Return lines with the share of verdicts yes, this share by source, and the number `lost`.

    `judged` is a sequence of `JudgedHeadline`, and `lost` the number of verdicts without effect.
    """
    lines = []
    if judged:
        lines.append(f"Judged headlines with the verdict yes: {describe_yes(judged)}.")
    by_source: dict[str, list] = {}
    for headline in judged:
        by_source.setdefault(headline.traits.source, []).append(headline)
    if len(by_source) > 1:
        ordered = sorted(by_source.items(), key=lambda item: (-len(item[1]), item[0]))
        named = [
            f"{source or 'no file'} {describe_yes(group)}"
            for source, group in ordered[:SOURCES_NAMED]
        ]
        if len(ordered) > SOURCES_NAMED:
            named.append(views.plural(len(ordered) - SOURCES_NAMED, "more source"))
        lines.append(f"By source: {'; '.join(named)}.")
    if lost:
        count = views.plural(lost, "verdict")
        lines.append(f"{count} in feedback.csv without effect: no such headline is stored now.")
    return lines


def with_verdicts(watch, home=None):
    """Return alerts whose headlines are ordered by the verdicts in feedback.csv.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
        Result of `odl.alerts.read.watch` with its place.
    home : path-like, optional
        Folder of odl.yaml, in which `order_by_verdicts` may be false; by default the stream's.

    Returns
    -------
    odl.alerts.model.StreamAlerts
        `watch` itself if feedback.csv has no verdicts.

    Raises
    ------
    StorageError
        If the file of a period is damaged.
    """
    judged, lost = read_judged(watch)
    if not judged and not lost:
        return watch
    shown = watch.periods
    if judged and project.orders_by_verdicts(watch.place.home if home is None else home):
        values = [headline.value for headline in judged]
        model = ranking.RidgeOrder([headline.traits for headline in judged], values)
        shown = tuple(_with_moves(period, model, judged) for period in shown)
    lines = tuple(summary_lines(judged, lost))
    return replace(watch, periods=shown, judged=judged, verdict_lines=lines)


def _with_moves(period, model, judged):
    """Return a period with the moves of its headlines and the judged headlines that cause them."""
    moves = {}
    for headline in (*period.headlines, *period.below):
        move = model.move(ranking.traits_of(headline, period.documents_of))
        if move:
            causes = tuple((judged[index], share) for index, share in move.parts)
            moves[headline] = move._replace(parts=causes)
    return replace(period, moves=moves)


def read_judged(watch):
    """Return the judged headlines of a stream, at most the newest `MAX_JUDGED`, oldest first.

    A verdict is about the headline in the period that its line names. A line about an event without
    a period is about the headline with which the event began.

    Returns
    -------
    judged : tuple of JudgedHeadline
    lost : int
        Number of verdicts whose headline is not stored.

    Raises
    ------
    StorageError
        If the file of a period is damaged.
    """
    lines_of: dict[str, list] = {}
    for line in sorted(line for line in watch.feedback if line.judged):
        lines_of.setdefault(f"event:{line.event}" if line.event else line.what, []).append(line)
    period_of = {}  # name -> newest period in its lines, -1 if no line has a period
    for name, lines in lines_of.items():
        numbers = [int(line.period) for line in lines if re.fullmatch(PERIOD_NUMBER, line.period)]
        period_of[name] = max(numbers, default=-1)
    if -1 in period_of.values():
        for number, event in periods.read_events(_last_path(watch))[1].items():
            if period_of.get(f"event:{number}") == -1:
                period_of[f"event:{number}"] = event.birth
    judged, lost, period = [], 0, None
    for t, name in sorted((t, name) for name, t in period_of.items())[-MAX_JUDGED:]:
        if period is None or period.t != t:  # each period is read once, since names are sorted by t
            period = next(read.records(watch.place, t), None) if t >= 0 else None
        headline = _headline_of(period, name) if period else None
        if headline is None:
            lost += len(lines_of[name])
        else:
            traits = ranking.traits_of(headline, period.documents_of)
            title = views.name_of(headline, period)
            judged.append(JudgedHeadline(name, title, tuple(lines_of[name]), traits))
    return tuple(judged), lost


def _headline_of(period, what):
    """Return the headline of a period that a verdict is about, or None.

    `what` is "event:12" or the id of a document. With `gates: false` documents have no headlines,
    so a headline about the single document is returned.
    """
    number = feedback.FeedbackLine(what, "").event
    if number:
        candidates = (*period.headlines, *period.below)
        return next((item for item in candidates if item.event == number), None)
    documents = period.documents_of
    row = next((row for row, item in documents.items() if what in item.members), None)
    if row is None:
        return None
    headline = _headline_over(period, row)
    if headline is None and not period.settings["gates"]:
        return Headline(
            name=(), words=(), t=0.0, t_all=0.0, t_recent=0.0, rows=(row,), usual=math.nan, p=1.0,
            gate="lone", examples=(row,),
        )  # fmt: skip
    return headline


def _headline_over(period, row):
    """Return the headline of a period in which a document is most central, or None."""
    headlines = (*period.headlines, *period.below)
    containing = [headline for headline in headlines if row in headline.rows and headline.examples]
    return min(containing, key=lambda found: (*found.examples, row).index(row), default=None)


def judge(folder, watch, what, judged, by, note=""):
    """Write, replace or delete the verdict of a user in feedback.csv of a folder.

    Parameters
    ----------
    folder : path-like
    watch : odl.alerts.model.StreamAlerts
        Alerts of at least the last period.
    what : str
        Number of an event, or the id of a document under a headline.
    judged : str
        One of `odl.alerts.model.ANSWERS`; empty to delete the verdict.
    by, note : str

    Returns
    -------
    line : odl.alerts.feedback.FeedbackLine
    changed : bool
        Whether the file was changed; false if there was no verdict to delete.

    Raises
    ------
    ParameterError
        If there is no such event or document, or the document is under no headline.
    DataError
        If a line of the file is invalid.
    """
    name, t = _judged_headline(watch, what)
    who, reason = (visible(" ".join(text.split())) for text in (by, note))
    line = feedback.FeedbackLine(
        name,
        "",
        note=reason,
        judged=judged,
        by=who or feedback.NOBODY,
        time=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        period=str(t),
    )
    if judged:
        feedback.add(folder, line)
        return line, True
    return line, bool(feedback.remove(folder, name, line.by))


def _judged_headline(watch, what):
    """Return the name in feedback.csv and the period of the headline that a user named.

    Raises
    ------
    ParameterError
        If there is no such event or document, or the document is under no headline.
    """
    events = periods.read_events(_last_path(watch))[1]
    document, number = explain.find_named(replace(watch, events=events), what)
    if document is None and not number:
        raise ParameterError(
            f"{what} is no event and no document of the stream",
            "the number of an event or the id of a document",
            "type odl new to list them",
        )
    if document:
        t, row = document
        period = next(read.records(watch.place, t))
        number = int(period.event[row])
    if number:
        t = events[number].birth if number in events else t
        name = f"event:{number}"
    else:
        headline = _headline_over(period, row)
        if headline is None and (period.settings["gates"] or row not in period.documents_of):
            raise ParameterError(
                f"{what} is under no headline",
                "an event, or a document under a headline",
                "type odl new --below to list them",
            )
        first = headline.examples[0] if headline else row
        name = period.documents_of[first].id
    return name, t


def _last_path(watch):
    """Return the path of the last period's file, which contains all events."""
    return os.path.join(watch.place.alerts, f"{watch.periods[-1].t}.h5")
