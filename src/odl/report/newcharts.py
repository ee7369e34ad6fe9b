"""Pictures of the page about what is new, as SVG whose colours follow the page and whose labels are text beside it."""

import numpy as np

from odl.report.newtext import day_of, name_of, plural
from odl.report.page import Markup, element, escape

HEIGHT = 100.0
LABELS = 6  # dates below the axis


def scores(watch):
    """Return the scores over time, with the handles that choose periods; empty where nothing was scored.

    A column a period: the middle 80 % of its documents, their median, the highest, and its alerts as dots.
    """
    periods = [period for period in watch.periods if len(period.scores)]
    if not periods:
        return Markup("")
    low, high = _limits(periods)

    def at(score):
        return round(HEIGHT * (high - min(max(score, low), high)) / (high - low), 2)

    middle = [np.quantile(period.scores, (0.1, 0.5, 0.9)) for period in periods]
    upper = " ".join(f"{place + 0.5} {at(part[2])}" for place, part in enumerate(middle))
    lower = " ".join(f"{place + 0.5} {at(part[0])}" for place, part in reversed(list(enumerate(middle))))
    line = " ".join(f"{place + 0.5} {at(part[1])}" for place, part in enumerate(middle))
    most = " ".join(f"{place + 0.5} {at(period.scores.max())}" for place, period in enumerate(periods))
    dots = "".join(
        f"M{place + 0.5} {at(score)}h0"
        for place, period in enumerate(periods)
        for score in sorted({round(alert.score, 3) for alert in period.alerts})
    )
    drawn = (
        f'<svg viewBox="0 0 {len(periods)} {HEIGHT:g}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(_spoken(periods, middle))}">'
        f"{_warm(periods)}"
        f'<path class="band" d="M{upper} {lower}z"/><path class="most" d="M{most}"/>'
        f'<path class="median" d="M{line}"/><path class="dots" d="{dots}"/></svg>'
    )
    return element(
        "div",
        element("div", _levels(low, high), Markup(drawn), element("div", class_="brush", hidden="hidden"),
                class_="plot", id="plot", data_first=periods[0].t, data_last=periods[-1].t),
        _axis(periods),
        _key(),
        _handles(periods),
        class_="chart",
    )  # fmt: skip


def _limits(periods):
    low = min(float(period.scores.min()) for period in periods)
    high = max(float(period.scores.max()) for period in periods)
    tenth = min(float(np.quantile(period.scores, 0.05)) for period in periods)
    low = max(low, tenth)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _spoken(periods, middle):
    alerts = sum(len(period.alerts) for period in periods)
    return (
        f"Scores of {plural(sum(period.documents for period in periods), 'document')} in "
        f"{plural(len(periods), 'period')}: median {middle[0][1]:.2f} in the first, {middle[-1][1]:.2f} in the last; "
        f"{plural(alerts, 'alert')}. The table below has each."
    )


def _warm(periods):
    count = sum(period.warm_up for period in periods)
    return f'<rect class="warm" x="0" y="0" width="{count}" height="{HEIGHT:g}"/>' if count else ""


def _levels(low, high):
    labels = [(high, 0), ((low + high) / 2, 50), (low, 100)]
    return element(
        "div",
        *[element("span", f"{value:.2f}", style=f"top:{place}%") for value, place in labels],
        class_="levels",
        aria_hidden="true",
    )


def _axis(periods):
    places = np.unique(np.linspace(0, len(periods) - 1, min(LABELS, len(periods))).round().astype(int))
    marks = [
        element("span", day_of(periods[place]), style=f"left:{100 * (place + 0.5) / len(periods):.2f}%")
        for place in places
    ]
    return element("div", *marks, class_="axis", aria_hidden="true")


def _key():
    parts = [("dots", "alert"), ("most", "highest score"), ("median", "median"), ("band", "middle 80 % of documents")]
    return element("p", *[element("span", text, class_=f"key {name}") for name, text in parts], class_="note keys")


def _handles(periods):
    first, last = periods[0].t, periods[-1].t
    common = {"type": "range", "min": first, "max": last, "step": 1}
    attributes = " ".join(f'{key}="{value}"' for key, value in common.items())
    options = Markup("".join(f'<option value="{p.t}" label="{escape(name_of(p))}"></option>' for p in periods))
    return element(
        "fieldset",
        element("legend", "Choose periods: drag over the picture, or move the two handles"),
        element("label", "From ", Markup(f'<input id="from" {attributes} value="{first}">')),
        element("label", "to ", Markup(f'<input id="to" {attributes} value="{last}">')),
        element("button", "All periods", type="button", id="all"),
        element("output", "", id="chosen", for_="from to"),
        element("datalist", options, id="names"),
        class_="needs-script",
    )


def course(topic, periods):
    """Return the documents of a topic by period as bars; birth, growth and end are marked."""
    most, n, first = max(topic.sizes.values(), default=1), len(periods), periods[0].t
    states, held, at = {}, "", 0
    for t, size in sorted(topic.sizes.items()):
        while at < len(topic.history) and topic.history[at][0] <= t:
            held = topic.history[at][1]
            at += 1
        states.setdefault({"growing": "growing", "returning": "returning"}.get(held, "plain"), []).append(
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
