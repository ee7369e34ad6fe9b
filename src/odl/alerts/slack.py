"""What is new as the blocks of a Slack message."""

import json
import re

from odl.alerts import breakdown, show

BLOCKS, CHARACTERS = 50, 2900  # of a message, and of a text in it; Slack takes 3000


def as_slack(watch, periods):
    """Return the alerts as JSON for an incoming webhook: a heading, a block a topic or lone alert, and what else is."""
    if not periods:
        return ""
    sections = []
    for number, alerts in show.by_topic(periods):
        shown = [alert for alert in alerts if not alert.folded]
        if number:
            lines = [f"*{escaped(show.topic_line(watch.topics[number], periods))}*", *map(_line, shown[: show.FOLDED])]
            sections.append("\n".join(lines))
        else:
            sections += map(_line, shown)
    more, sections = len(sections) - (BLOCKS - 3), sections[: BLOCKS - 3]
    blocks = [_section(f"*{escaped(show.heading(watch, periods))}*"), *map(_section, sections)]
    blocks += [_section(f"and {more} more: odl new")] if more > 0 else []
    closing = escaped("\n".join(show.closing(watch, periods)))
    blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": closing[:CHARACTERS]}]})
    return json.dumps({"text": show.heading(watch, periods), "blocks": blocks}, ensure_ascii=False)


def escaped(text):
    """Return text in which Slack finds no link and no mention, nor stars, underlines and quotes that would mark it."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([*_~`])", "\\1\u200b", text)


def _line(alert):
    title = escaped(alert.title or alert.id)
    if re.fullmatch(r"https?://[^\s<>|]+", alert.url):
        title = f"<{alert.url}|{title}>"
    return f"• {title}\n   because: {escaped(breakdown.line(alert))}\n   {escaped(alert.id)}"


def _section(text):
    return {"type": "section", "text": {"type": "mrkdwn", "text": text[:CHARACTERS]}}
