"""Facts of the parts of the page about what is new (newparts.jinja): groups of alerts, sentences, rows, pictures."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from odl.alerts import breakdown, show
from odl.alerts.breakdown import LEAST
from odl.files.documents import NO_TIME
from odl.report.newtext import day_of, percent, plural
from odl.report.page import Markup, apart, escape

ORDER = {"new": 0, "returning": 1, "growing": 2, "ongoing": 3, "ended": 4}
ALONE = "alone"  # state of an alert without a topic, in the table
SAID = {"follow": "followed", "muted": "muted", "known": "known"}  # verdicts of feedback.csv, as marks
MOVED = {"new": "Also found, less surprising", "returning": "Back again", "growing": "Growing", "ended": "Ended"}
OPENED = 26  # periods before the latest that list their items
LISTED = 3  # items of a group in them
SHARED = 6  # words that say what the items of a topic have in common
NAMED = 8  # topics that moved without an alert
TITLES, WORDS = 5, 10  # documents of a word never seen before, and words, that are named
DRAWN = 300  # topics at most in the table of topics
HEIGHT = 100.0  # of the picture of scores
LABELS = 6  # dates below its axis


def groups(watch, period):
    """Return (topic or None, alerts) of a period: new topics first, items without one last."""
    pairs = [(watch.topics[number] if number else None, alerts) for number, alerts in show.by_topic([period])]
    return sorted(pairs, key=lambda pair: (pair[0] is None, ORDER[pair[1][0].state] if pair[0] else 0))


def name_words(topic):
    """Return the name of a topic."""
    return Markup(", ".join(apart(part) for part in topic.name)) or f"topic {topic.number}"


def headline(watch, period, groups):
    """Say in a sentence or two what the latest period brought."""
    if period.warm_up:
        return show.closing(watch, [period])[0]
    if not period.alerts:
        return f"Nothing new: none of the {plural(period.documents, 'document')} is more surprising than usual."
    counts = Counter(topic.state_at(period.t) for topic, _ in groups if topic)
    parts = [plural(counts["new"], "new topic")] if "new" in counts else []
    parts += [plural(counts[state], f"{state} topic") for state in ("returning", "growing") if state in counts]
    parts += [plural(counts["ongoing"], "known topic") + " with surprising documents"] if "ongoing" in counts else []
    if lone := sum(len(alerts) for topic, alerts in groups if topic is None):
        parts.append(plural(lone, "surprising document") + (" that stands" if lone == 1 else " that stand") + " alone")
    listed = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    text = f"{listed}, in {plural(len(period.alerts), 'alert')} out of {plural(period.documents, 'document')}"
    if len(period.alerts) < period.budget and period.budget > 0:
        text += f"; there was room for {period.budget}, nothing else was surprising enough"
    return text[0].upper() + text[1:] + "."


def seen(topic, members):
    """Return the days of the first and the last document of a topic, or their periods where no time is known."""
    times = [each.time for each in members if each.time != NO_TIME]
    if times:
        return show.date_of(min(times)), show.date_of(max(times))
    return f"period {topic.birth}", f"period {max(topic.sizes, default=topic.birth)}"


def among(watch, t):
    """Return how many scores those of a period are compared with."""
    return min(watch.scored_before(t), watch.settings["window"])


def shared(alerts):
    """Return the words that explain most of the scores of several items together, those of one item only last."""
    total = sum(alert.score for alert in alerts) or 1.0
    shares, holders = {}, {}
    for alert in alerts:
        for reason in alert.reasons[: alert.led]:
            shares[reason.word] = shares.get(reason.word, 0.0) + reason.share
            holders[reason.word] = holders.get(reason.word, 0) + 1
    few = [word for word in shares if holders[word] > 1 or len(alerts) == 1]
    words = sorted(few, key=lambda word: (-shares[word], word))[:SHARED]
    part = sum(shares[word] for word in words) / total
    part = percent(part) if part >= LEAST else f"less than {percent(LEAST)}"
    told = Markup(", ".join(map(apart, breakdown.usual(alerts, words))))
    return Markup(f"{told} ({part} of the score{'s' * (len(alerts) > 1)})") if words else ""


def moving(watch, period, groups):
    """Yield what else moved (title, topics, how many more): topics without an alert, and those that ended."""
    shown = {topic.number for topic, _ in groups if topic}
    for state, title in MOVED.items():
        moved = [topic for topic in watch.topics.values() if (period.t, state) in topic.history]
        moved = [topic for topic in moved if topic.number not in shown]
        if moved:
            yield title, moved[:NAMED], max(len(moved) - NAMED, 0)


def summary(watch, period):
    """Return what a period brought, in a line."""
    topics = [topic for topic, _ in groups(watch, period) if topic]  # new ones first
    fresh = sum(topic.state_at(period.t) == "new" for topic in topics)
    counts = [(fresh, "new topic"), (len(topics) - fresh, "known topic")]
    told = " and ".join(plural(n, noun) for n, noun in counts if n)
    names = "; ".join(name_words(topic) for topic in topics[:3]) + ("; …" if len(topics) > 3 else "")
    if period.warm_up:
        return f"warm-up, {plural(period.documents, 'document')}"
    if not period.alerts:
        return f"nothing new in {plural(period.documents, 'document')}"
    news = f"{told} ({names}), " if topics else ""
    return Markup(f"{news}{plural(len(period.alerts), 'alert')} of {plural(period.documents, 'document')}")


def by_last(watch):
    """Return the topics of the table, those seen last first, and how many are left out."""
    last = {topic.number: max(topic.sizes, default=topic.birth) for topic in watch.topics.values()}
    order = sorted(watch.topics.values(), key=lambda topic: (-last[topic.number], -topic.size, topic.number))
    return order[:DRAWN], max(len(order) - DRAWN, 0)


def states(watch):
    """Return the states of all alerts."""
    kinds = {alert.state if alert.topic else ALONE for period in watch.periods for alert in period.alerts}
    return sorted(kinds, key=lambda state: ORDER.get(state, len(ORDER)))


class Scores(NamedTuple):
    """The scores over time: a column a period.

    Attributes
    ----------
    periods : list of odl.alerts.model.Period
        Those that have scores.
    low, high : float
        Ends of the axis.
    middle : list of ndarray
        Of each period the quantiles .1, .5 and .9.
    """

    periods: list
    low: float
    high: float
    middle: list[Any]

    @classmethod
    def of(cls, watch):
        """Return those of a watch, None where nothing was scored."""
        periods = [period for period in watch.periods if len(period.scores)]
        if not periods:
            return None
        high = max(float(period.scores.max()) for period in periods)
        least = min(float(period.scores.min()) for period in periods)
        low = max(least, min(float(np.quantile(period.scores, 0.05)) for period in periods))
        low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
        return cls(periods, low, high, [np.quantile(period.scores, (0.1, 0.5, 0.9)) for period in periods])

    def _at(self, score):
        return round(HEIGHT * (self.high - min(max(score, self.low), self.high)) / (self.high - self.low), 2)

    def lines(self):
        """Return (name, path) of the middle 80 % of the documents, the highest, the median, and alerts as dots."""
        ends = [[f"{place + 0.5} {self._at(part[end])}" for place, part in enumerate(self.middle)] for end in range(3)]
        most = [f"{place + 0.5} {self._at(period.scores.max())}" for place, period in enumerate(self.periods)]
        dots = [
            f"M{place + 0.5} {self._at(score)}h0"
            for place, period in enumerate(self.periods)
            for score in sorted({round(alert.score, 3) for alert in period.alerts})
        ]
        band = f"M{' '.join([*ends[2], *reversed(ends[0])])}z"
        median = f"M{' '.join(ends[1])}"
        return [("band", band), ("most", f"M{' '.join(most)}"), ("median", median), ("dots", "".join(dots))]

    def spoken(self):
        """Say what the picture shows."""
        alerts = sum(len(period.alerts) for period in self.periods)
        return (
            f"Scores of {plural(sum(period.documents for period in self.periods), 'document')} in "
            f"{plural(len(self.periods), 'period')}: median {self.middle[0][1]:.2f} in the first, "
            f"{self.middle[-1][1]:.2f} in the last; {plural(alerts, 'alert')}. The table below has each."
        )

    def days(self):
        """Return (day, per cent from the left) of the labels below."""
        n = len(self.periods)
        places = np.unique(np.linspace(0, n - 1, min(LABELS, n)).round().astype(int))
        return [(day_of(self.periods[place]), 100 * (place + 0.5) / n) for place in places]


def course(topic, periods):
    """Return the documents of a topic by period as bars; birth, growth and end are marked."""
    most, n, first = max(topic.sizes.values(), default=1), len(periods), periods[0].t
    states, state, at = {}, "", 0
    for t, size in sorted(topic.sizes.items()):
        while at < len(topic.history) and topic.history[at][0] <= t:
            state = topic.history[at][1]
            at += 1
        states.setdefault({"growing": "growing", "returning": "returning"}.get(state, "plain"), []).append(
            f"M{t - first} {round(20 - 18 * size / most, 1)}h.8V20h-.8z"
        )
    ends = [t - first for t, state in topic.history if state == "ended" and t >= first]
    bars = "".join(f'<path class="{name}" d="{"".join(parts)}"/>' for name, parts in states.items())
    marks = f'<path class="birth" d="M{topic.birth - first + 0.4} 20V0"/>' if topic.birth >= first else ""
    marks += "".join(f'<path class="end" d="M{t + 0.4} 12V20"/>' for t in ends)
    return Markup(
        f'<svg class="course" viewBox="0 0 {n} 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(_course_in_words(topic))}">{bars}{marks}</svg>'
    )


def _course_in_words(topic):
    if not topic.sizes:
        return f"found in period {topic.birth}"
    peak = max(topic.sizes, key=lambda t: (topic.sizes[t], t))
    changes = "; ".join(f"{state} in period {t}" for t, state in topic.history[-6:])
    return f"most in period {peak}: {plural(topic.sizes[peak], 'document')}; {changes}"
