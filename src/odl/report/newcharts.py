"""Pictures of the page about what is new, as SVG whose colours follow the page and whose labels are text beside it."""

from typing import Any, NamedTuple

import numpy as np

from odl.report.newtext import day_of, plural
from odl.report.page import Markup, escape

HEIGHT = 100.0
LABELS = 6  # dates below the axis


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

    @property
    def n_warm(self):
        """Periods of the warm-up."""
        return sum(period.warm_up for period in self.periods)

    def spoken(self):
        """Say what the picture shows."""
        alerts = sum(len(period.alerts) for period in self.periods)
        return (
            f"Scores of {plural(sum(period.documents for period in self.periods), 'document')} in "
            f"{plural(len(self.periods), 'period')}: median {self.middle[0][1]:.2f} in the first, "
            f"{self.middle[-1][1]:.2f} in the last; {plural(alerts, 'alert')}. The table below has each."
        )

    def levels(self):
        """Return (score, per cent from the top) of the labels of the axis."""
        return [(self.high, 0), ((self.low + self.high) / 2, 50), (self.low, 100)]

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
