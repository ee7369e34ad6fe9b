"""Lists of words that no earlier document has, as text for a terminal and as JSON lines."""

import json
import sys

from odl.alerts import show
from odl.alerts.model import JSON_VERSION
from odl.files import terminal
from odl.files.documents import NO_TIME

WORD_TITLES = 3  # documents of a word that are named
WORD_PHRASES = 6  # phrases of the same documents that are named
MIN_SPAN = 60_000  # shortest time that is printed, ms


def describe(word):
    """Return a text about an unseen word: number of documents, time span, expected number."""
    text = f"{word.items:,} documents"
    if word.sources > 1:
        text += f" of {word.sources:,} files"
    if word.first != NO_TIME:
        half = terminal.duration(max(word.half, MIN_SPAN) / 1000)
        text += f" since {show.date_of(word.first)}, half of them within {half}"
    expected = f"{word.expected:.1f}" if word.expected >= 0.05 else "less than 0.1"
    return f"{text}; an earlier period had {expected} such words"


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
    text = show.render("wordlist.jinja", "words", watch, periods, wordlist=sys.modules[__name__])
    return terminal.for_stream(text)


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
