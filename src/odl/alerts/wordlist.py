"""Lists of words that no document before a period has, as text of a terminal and as JSON lines."""

import json

from odl.alerts import show
from odl.alerts.model import JSON_VERSION
from odl.files.documents import NO_TIME

SPANS = ((7 * 86_400_000, "week"), (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"))
WORD_TITLES = 3  # documents of a word that are named
WORD_PHRASES = 6  # phrases of the same documents that are named


def describe(one):
    """Return in how many documents a word is, since when, and how many such words an earlier period had."""
    parts = [f"{one.items:,} documents", f"of {one.sources:,} files" * (one.sources > 1)]
    if one.first != NO_TIME:
        parts += [f"since {show.date_of(one.first)},", f"half of them within {span(one.half)}"]
    expected = f"{one.expected:.1f}" if one.expected >= 0.05 else "less than 0.1"
    return f"{' '.join(filter(None, parts))}; an earlier period had {expected} such words"


def span(milliseconds):
    """Return a span of time as text in its largest unit, rounded up.

    Examples
    --------
    >>> from odl.alerts.wordlist import span
    >>> span(0), span(86_400_000), span(90_000_000)
    ('a minute', 'a day', '2 days')
    """
    length, unit = next(
        ((length, unit) for length, unit in SPANS if milliseconds >= length), SPANS[-1]
    )
    count = max(-(-milliseconds // length), 1)
    return f"{count:,} {unit}s" if count > 1 else f"a{'n' * (unit == 'hour')} {unit}"


def group_phrases(words):
    """Group words that the same documents have; return (phrases of the group, its first word) of each group."""
    groups: dict = {}
    for one in words:
        groups.setdefault((one.items, one.documents), []).append(one)
    named = []
    for group in groups.values():
        phrases = [f" {one.phrase} " for one in group]
        longest = [one.strip() for one in phrases if sum(one in other for other in phrases) == 1]
        named.append((longest[:WORD_PHRASES] + ["…"] * (len(longest) > WORD_PHRASES), group[0]))
    return named


def as_text(watch, periods):
    """Return the words of periods as text for a terminal; words above the chance level have their first documents."""
    if not watch.settings["unseen"]:
        return (
            "Words never seen before are not listed here: write unseen: 3 into alerts of odl.yaml."
        )
    names = {"group_phrases": group_phrases, "describe": describe, "WORD_TITLES": WORD_TITLES}
    return show.printed("wordlist.jinja", names, "words", watch, periods)


def as_jsonl(watch, periods):
    """Return a line of JSON for each word of periods."""
    lines = []
    for period, one in ((each, one) for each in periods for one in each.unseen):
        first = show.date_of(one.first, exact=True) or None
        values = {
            "version": JSON_VERSION,
            "period": period.t,
            **vars(one),
            "first": first,
            "half": first and one.half,
        }
        values["documents"] = [{"id": ident, "title": title} for ident, title in one.documents]
        lines.append(json.dumps(values, ensure_ascii=False))
    return "\n".join(lines)
