"""The parts of the page about what is new: the latest period, those before, topics over time, the table of alerts."""

from odl.alerts import excerpts
from odl.alerts.breakdown import LEAST
from odl.alerts.model import NONE
from odl.report.newcharts import course
from odl.report.newtext import (
    badge,
    chance,
    dates,
    day_of,
    item,
    leading,
    name_of,
    percent,
    plural,
    reasons,
    since,
    title_of,
    where,
)
from odl.report.page import Markup, apart, details, element, escape

ORDER = {"new": 0, "returning": 1, "growing": 2, "ongoing": 3, "ended": 4}
SAID = {"follow": "followed", "muted": "muted", "known": "known"}  # verdicts of feedback.csv, as marks
OPENED = 26  # periods before the latest that list their items
LISTED = 3  # items of a group in them
SHARED = 6  # words that say what the items of a topic have in common
DRAWN = 300  # topics at most in the table of topics


def groups(watch, period):
    """Return (topic or None, alerts) of a period: new topics first, items without one last."""
    found = {}
    for alert in period.alerts:
        found.setdefault(alert.topic, []).append(alert)
    order = sorted(found, key=lambda number: (
        number == NONE, ORDER[found[number][0].state] if number else 0, found[number][0].rank
    ))  # fmt: skip
    return [(watch.topics[number] if number else None, found[number]) for number in order]


def name_words(topic):
    """Return the name of a topic."""
    return Markup(", ".join(apart(part) for part in topic.name)) or f"topic {topic.number}"


def _said(topic):
    return element("span", f" {SAID[topic.feedback]}", class_="mark") if topic.feedback else Markup("")


def latest(watch, members):
    """Return what is new in the latest period: the first screen."""
    period = watch.periods[-1]
    held = groups(watch, period)
    calm = " calm" * (not period.alerts and not period.warm_up)
    return element(
        "section",
        element("p", headline(watch, period, held), class_=f"lead{calm}"),
        element(
            "div",
            *[_topic(topic, alerts, watch, members) for topic, alerts in held if topic],
            *[_alone(alerts, len(held) > 1, watch) for topic, alerts in held if topic is None],
            class_="cards",
        ),
        _moving(watch, period, {topic.number for topic, _ in held if topic}),
        _withheld(period),
        id="new",
        aria_label="The latest period",
    )


def headline(watch, period, held):
    """Say in a sentence or two what the latest period brought."""
    if period.warm_up:
        seen, need = watch.scored_before(period.t), watch.settings["warm_up"]
        return (
            f"Still warming up: {plural(seen, 'document')} scored before this period, where alerts need {need:,} "
            "(those of the first batch do not count). Add periods and run again, or lower alerts.warm_up."
        )
    if not period.alerts:
        return f"Nothing new: none of the {plural(period.documents, 'document')} is more surprising than usual."
    counts = {}
    for topic, _ in held:
        key = topic and topic.state_at(period.t)
        counts[key] = counts.get(key, 0) + 1
    parts = [plural(counts["new"], "new topic")] if "new" in counts else []
    parts += [plural(counts[state], f"{state} topic") for state in ("returning", "growing") if state in counts]
    parts += [plural(counts["ongoing"], "known topic") + " with surprising documents"] if "ongoing" in counts else []
    lone = sum(len(alerts) for topic, alerts in held if topic is None)
    parts += [plural(lone, "surprising document") + (" that stands alone" if lone == 1 else " that stand alone")] * (
        lone > 0
    )
    text = f"{_listed(parts)}, in {plural(len(period.alerts), 'alert')} out of {plural(period.documents, 'document')}"
    if len(period.alerts) < period.budget and period.budget > 0:
        text += f"; there was room for {period.budget}, nothing else was surprising enough"
    return text[0].upper() + text[1:] + "."


def _listed(parts):
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _topic(topic, alerts, watch, members):
    period, of = watch.periods[-1], among(watch, watch.periods[-1].t)
    now, past = topic.sizes.get(period.t, 0), topic.before(period.t)
    facts = plural(now, "document") + " this period"
    if past:
        facts += f", {past:,} before, known since {since(topic)}"
    words = shared(alerts)
    heading = element(
        "h2",
        badge(topic.state_at(period.t)),
        " ",
        element("a", name_words(topic), href=f"#topic-{topic.number}"),
        element("span", f" topic {topic.number}", class_="number"),
        _said(topic),
    )
    return element(
        "article",
        heading,
        element("p", facts, "." * bool(words), *([element("b", " Why: "), words] if words else []), class_="facts"),
        course(topic, watch.periods),
        element("p", seen(topic, watch), class_="facts"),
        *_items(alerts, of, "more of it"),
        _members(members.get(topic.number, ())),
        _commands(f"topic:{topic.number}"),
        class_="topic",
    )


def seen(topic, watch):
    """Say when a topic was seen first and last."""
    days = {period.t: day_of(period) for period in watch.periods}
    last = max(topic.sizes, default=topic.birth)
    return f"First seen {since(topic)}, last {days.get(last, last)}."


def among(watch, t):
    """Return how many scores those of a period are compared with."""
    return min(watch.scored_before(t), watch.settings["window"])


def _members(members):
    """Return all documents of a topic by source, folded away; nothing where they are not known."""
    sources = {}
    for each in members:
        sources.setdefault(each.source or "documents", []).append(each)
    parts = []
    for source, held in sorted(sources.items()):
        lines = [
            element("li", each.title or each.id, element("span", f" {each.id}", class_="number"), dir="auto")
            for each in held
        ]
        parts += [element("h3", f"{source} ({len(held)})"), element("ul", *lines)]
    return details(f"Who else: all {plural(len(members), 'document')} by source", *parts) if parts else Markup("")


def _commands(what):
    """Return what holds a topic back and what always shows it, to be copied; the folder is that of the page."""
    codes = []
    for line in (f"odl {verb} . {what}" for verb in ("mute", "follow")):
        button = element("button", "copy", type="button", class_="copy needs-script", aria_label=f"Copy {line}")
        codes.append(element("span", element("code", line), " ", button))
    return details("Mute or follow: commands for the folder of this page", element("p", *codes, class_="commands"))


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
    texts = list(filter(None, (alert.text for alert in alerts)))
    joined = excerpts.phrases(texts, words, min(2, len(texts)))
    told = Markup(", ".join(apart(phrase) for phrase, _ in joined))
    return Markup(f"{told} ({part} of the score{'s' * (len(alerts) > 1)})") if words else ""


def _alone(alerts, others, watch):
    heading = "Alone" if others else "Surprising documents"
    note = "Surprising, but not (yet) several of a kind."
    return element(
        "article",
        element("h2", heading, element("span", f" {plural(len(alerts), 'item')}", class_="number")),
        element("p", note, class_="facts"),
        *_items(alerts, among(watch, watch.periods[-1].t), "more that share a subject or rare words with one of these"),
        class_="topic alone",
    )


def _items(alerts, of, more):
    """Return items as a list, those that are folded behind a line that says how many there are."""
    shown, folded = ([item(alert, of) for alert in alerts if alert.folded == fold] for fold in (False, True))
    return [element("ol", *shown), *([details(f"{len(folded)} {more}", element("ol", *folded))] if folded else [])]


def _moving(watch, period, shown):
    """Say what else moved: topics of the period without an alert, and those that ended."""
    lines = []
    for state, text in (("new", "Also found, less surprising"), ("returning", "Back again"), ("growing", "Growing"),
                        ("ended", "Ended")):  # fmt: skip
        moved = [topic for topic in watch.topics.values() if (period.t, state) in topic.history]
        names = [
            element("a", name_words(topic), href=f"#topic-{topic.number}")
            + (f" ({topic.sizes[period.t]})" if topic.sizes.get(period.t) else "")
            for topic in moved
            if topic.number not in shown
        ]
        if names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            lines.append(element("li", element("b", f"{text}: "), Markup(", ".join(map(str, names[:8])) + more)))
    return element("ul", *lines, class_="moving") if lines else Markup("")


def _withheld(period):
    lines = []
    for entry in period.withheld:
        if entry.verdict == "empty":
            lines.append(f"{plural(entry.items, 'document')} without a word")
        elif entry.verdict == "repeated":
            lines.append(f"{plural(entry.items, 'document')} nearly the same as one of an earlier period")
        else:
            lines.append(f"{plural(entry.items, 'item')} of {entry.what} ({entry.verdict} in feedback.csv)")
    return element("p", f"Held back: {'; '.join(lines)}.", class_="note") if lines else Markup("")


def before(watch):
    """Return the periods before the latest, newest first, folded away; empty where there are none."""
    earlier = watch.periods[-2::-1]
    if not earlier:
        return Markup("")
    blocks = [_period(watch, period) for period in earlier[:OPENED]]
    if rest := earlier[OPENED:]:
        lines = [element("li", _summary(watch, period)) for period in rest]
        blocks.append(details(f"{plural(len(rest), 'earlier period')}", element("ul", *lines)))
    if first := watch.periods[0].t:
        note = f"{plural(first, 'older period')} not shown: odl new FOLDER --since DATE lists them."
        blocks.append(element("p", note, class_="note"))
    return element("section", element("h2", "Periods before", id="before"), *blocks)


def _summary(watch, period):
    fresh = [topic for topic, _ in groups(watch, period) if topic and topic.state_at(period.t) == "new"]
    names = "; ".join(name_words(topic) for topic in fresh[:3]) + ("; …" if len(fresh) > 3 else "")
    if period.warm_up:
        text = f"warm-up, {plural(period.documents, 'document')}"
    elif not period.alerts:
        text = f"nothing new in {plural(period.documents, 'document')}"
    else:
        news = f"{plural(len(fresh), 'new topic')} ({names}), " if fresh else ""
        text = f"{news}{plural(len(period.alerts), 'alert')} of {plural(period.documents, 'document')}"
    return element("span", element("b", name_of(period).capitalize()), Markup(f": {text}"))


def _period(watch, period):
    if not period.alerts:
        return element("p", _summary(watch, period), class_="quiet", data_t=period.t)
    lines = []
    for topic, alerts in groups(watch, period):
        head = [badge(topic.state_at(period.t)), " ", element("b", name_words(topic)), ": "] if topic else [
            element("b", "Alone: ")
        ]  # fmt: skip
        parts = [str(title_of(alert)) for alert in alerts[:LISTED]]
        more = f" and {len(alerts) - LISTED} more" if len(alerts) > LISTED else ""
        lines.append(element("li", *head, Markup("; ".join(parts) + more)))
    folded = details(_summary(watch, period), element("ul", *lines), _withheld(period))
    return element("div", folded, data_t=period.t, data_alerts=len(period.alerts))


def topics(watch):
    """Return the table of topics with their courses; empty where none was found."""
    if not watch.topics:
        return Markup("")
    last = {topic.number: max(topic.sizes, default=topic.birth) for topic in watch.topics.values()}
    order = sorted(watch.topics.values(), key=lambda topic: (-last[topic.number], -topic.size, topic.number))
    rows = [_topic_row(topic, watch) for topic in order[:DRAWN]]
    heads = ["topic", "state", "since", "documents", "alerts"]
    head = [element("th", name, scope="col", class_="" if place else "text") for place, name in enumerate(heads)]
    span = f"{day_of(watch.periods[0])} to {day_of(watch.periods[-1])}"
    head.append(element("th", f"documents a period, {span}", scope="col", class_="text"))
    left = len(order) - len(rows)
    note = f" {plural(left, 'older topic')} not shown; odl new lists them." if left else ""
    caption = "A bar is a period; a tall thin line marks the first, a short one the end." + note
    table = element("table", element("caption", caption), element("thead", element("tr", *head)),
                    element("tbody", *rows), id="topic-table")  # fmt: skip
    box = element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Topics over time")
    return element("section", element("h2", "Topics over time", id="topics"), box)


def _topic_row(topic, watch):
    name = element("th", element("span", name_words(topic), class_="name"),
                   element("span", f" {topic.number}", class_="number"),
                   _said(topic),
                   scope="row", class_="text")  # fmt: skip
    cells = [badge(topic.state), since(topic), f"{topic.size}", f"{sum(topic.alerts.values())}"]
    cells = [element("td", cell) for cell in cells] + [element("td", course(topic, watch.periods))]
    return element("tr", name, *cells, id=f"topic-{topic.number}")


def alerts(watch):
    """Return the table of all alerts, newest first."""
    rows = [
        _alert_row(alert, period, watch.topics.get(alert.topic), among(watch, period.t))
        for period in reversed(watch.periods)
        for alert in period.alerts
    ]
    if not rows:
        return Markup("")
    heads = ["period", "document, and why", "topic", "state", "score", "chance"]
    head = [Markup(f'<th scope="col"{" class=text" * (name not in heads[4:])}>{name}</th>') for name in heads]
    states = {_kind(alert) for period in watch.periods for alert in period.alerts}
    states = sorted(states, key=lambda state: ORDER.get(state, len(ORDER)))
    options = [Markup('<option value="">all</option>'), *[element("option", state) for state in states]]
    controls = element(
        "div",
        element("label", "State ", element("select", *options, id="state")),
        Markup('<label><input type="checkbox" id="lead"> at most three of a topic</label>'),
        class_="controls needs-script",
    )
    caption = "Chance: how many of the documents before scored as high. A line unfolds to all reasons."
    table = Markup(
        f'<table id="alerts"><caption>{escape(caption)}</caption><thead><tr>{"".join(head)}</tr></thead>\n'
        f"<tbody>\n{chr(10).join(rows)}\n</tbody></table>"
    )
    # Ten thousand rows are no elements until they are looked at: a browser that runs scripts takes them for text.
    box = element("div", element("noscript", table, id="alerts-text"), class_="scroll", id="alerts-box")
    return element("section", element("h2", "All alerts", id="all-alerts"), controls, box)


def _kind(alert):
    return alert.state if alert.topic else "alone"


def _alert_row(alert, period, topic, of):
    """Return an alert as a row; written by hand, since there may be ten thousand."""
    more = f' <span class="mark">+ {len(alert.members) - 1} alike</span>' if len(alert.members) > 1 else ""
    more += ' <span class="mark">followed</span>' if alert.feedback else ""
    place = f'<div class="meta">{escape(where(alert))}</div>' if where(alert) else ""
    label = f'<a href="#topic-{topic.number}">{escape(name_words(topic))}</a>' if topic else ""
    days = dates(period)
    lines = "<br>".join(f"{term}: {escape(text)}" for term, text in reasons(alert, of))
    row = (
        f'<tr{" class=f" if alert.folded else ""}><td data-order="{alert.t}">{alert.t}'
        f"{f'<div class=meta>{days[:10]}</div>' if days else ''}</td>"
        f"<td>{title_of(alert)}{more}{place}<details><summary>{escape(leading(alert))}</summary>"
        f"<p>{lines}</p></details></td>"
        f"<td>{label}</td><td>{_kind(alert)}</td><td>{alert.score:.3f}</td>"
        f'<td data-order="{alert.tail:.3g}">{escape(chance(alert.tail, of))}</td></tr>'
    )
    return row.replace("\n", " ")  # the script takes a line for a row
