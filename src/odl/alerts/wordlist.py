"""Lists of words that no earlier document has, as text for a terminal and as JSON lines."""

import json

from odl.alerts import show
from odl.alerts.model import JSON_VERSION
from odl.files.documents import NO_TIME

# Milliseconds of each unit of time.
SPANS = ((7 * 86_400_000, "week"), (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"))
WORD_TITLES = 3  # documents of a word that are named
WORD_PHRASES = 6  # phrases of the same documents that are named


def describe(word):
    """Return a text about an unseen word: number of documents, time span, expected number."""
    parts = [f"{word.items:,} documents"]
    if word.sources > 1:
        parts.append(f"of {word.sources:,} files")
    if word.first != NO_TIME:
        parts += [f"since {show.date_of(word.first)},", f"half of them within {span(word.half)}"]
    expected = f"{word.expected:.1f}" if word.expected >= 0.05 else "less than 0.1"
    return f"{' '.join(parts)}; an earlier period had {expected} such words"


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
    if count > 1:
        return f"{count:,} {unit}s"
    return "an hour" if unit == "hour" else f"a {unit}"


def group_phrases(words):
    """Group unseen words that the same documents have; return (phrases, first word) of groups."""
    groups: dict = {}
    for word in words:
        groups.setdefault((word.items, word.documents), []).append(word)
    named = []
    for group in groups.values():
        phrases = [f" {word.phrase} " for word in group]
        longest = [
            phrase.strip() for phrase in phrases if sum(phrase in other for other in phrases) == 1
        ]
        if len(longest) > WORD_PHRASES:
            longest[WORD_PHRASES:] = ["…"]
        named.append((longest, group[0]))
    return named


def as_text(watch, periods):
    """Return the words of periods as text for a terminal.

    Words above the chance level are listed with their first documents.
    """
    if not watch.settings["unseen"]:
        return (
            "Words never seen before are not listed here: write unseen: 3 into alerts of odl.yaml."
        )
    names = {"group_phrases": group_phrases, "describe": describe, "WORD_TITLES": WORD_TITLES}
    return show.render_macro("wordlist.jinja", names, "words", watch, periods)


def as_jsonl(watch, periods):
    """Return a line of JSON for each word of periods."""
    lines = []
    for period, word in ((each, word) for each in periods for word in each.unseen):
        first = show.date_of(word.first, exact=True) or None
        values = {
            "version": JSON_VERSION,
            "period": period.t,
            **vars(word),
            "first": first,
            "half": first and word.half,
        }
        values["documents"] = [{"id": ident, "title": title} for ident, title in word.documents]
        lines.append(json.dumps(values, ensure_ascii=False))
    return "\n".join(lines)
