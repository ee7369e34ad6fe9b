"""Words that no document before a period has, as a list: text of a terminal, JSON lines."""

import json

from odl.alerts import show
from odl.alerts.model import VERSION
from odl.files.columns import shortened
from odl.files.documents import NO_TIME
from odl.files.escaping import isolated

SPANS = ((7 * 86_400_000, "week"), (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"))
TITLES, LONGEST = 3, 80  # documents of a word that are named, columns of a title
PHRASES = 6  # of the same documents that are named


def facts(one):
    """Return where a word was seen, since when and how fast, and how many such words chance brings."""
    parts = [f"{one.items:,} documents", f"of {one.sources:,} files" * (one.sources > 1)]
    if one.first != NO_TIME:
        parts += [f"since {show.date_of(one.first)},", f"half of them within {span(one.half)}"]
    return f"{' '.join(filter(None, parts))}; an earlier period had {one.expected:.1f} such words"


def span(milliseconds):
    """Return a span of time in its largest whole unit, rounded up.

    Examples
    --------
    >>> from odl.alerts.wordlist import span
    >>> span(0), span(86_400_000), span(90_000_000)
    ('a minute', 'a day', '2 days')
    """
    length, unit = next(((length, unit) for length, unit in SPANS if milliseconds >= length), SPANS[-1])
    count = max(-(-milliseconds // length), 1)
    return f"{count:,} {unit}s" if count > 1 else f"a{'n' * (unit == 'hour')} {unit}"


def together(words):
    """Return (phrases, word): the phrases of words that the same documents have, and the first of these words."""
    groups: dict = {}
    for one in words:
        groups.setdefault((one.items, one.documents), []).append(one)
    named = []
    for group in groups.values():
        phrases = [f" {one.phrase} " for one in group]
        longest = [one.strip() for one in phrases if sum(one in other for other in phrases) == 1]
        named.append((longest[:PHRASES] + ["…"] * (len(longest) > PHRASES), group[0]))
    return named


def as_text(watch, periods):
    """Return the words of periods, those beyond chance with their documents."""
    least = watch.settings["unseen"]
    if not least:
        return "Words never seen before are not listed here: write unseen: 3 into alerts of odl.yaml."
    lines = []
    for period in periods:
        lines += [show.heading(watch, [period]), ""]
        beyond = together([one for one in period.unseen if one.beyond])
        for names, one in beyond:
            lines += [f"{', '.join(map(isolated, names))}  ({facts(one)})"]
            lines += [
                f"    {isolated(shortened(title or ident, LONGEST))}  (id: {ident})"
                for ident, title in one.documents[:TITLES]
            ]
            lines += [f"    and {one.items - TITLES} more"] * (one.items > TITLES) + [""]
        others = [f"{isolated(one.phrase)} ({one.items})" for one in period.unseen if not one.beyond]
        if period.unproven:
            lines += ["Unproven: too little came before to tell which words are new."]
        elif not beyond:
            lines += ["No word was seen for the first time in more documents than chance brings."]
        if others:
            lines += [f"As many as chance brings, from {least} documents on: {', '.join(others)}"]
        lines += [""]
    return "\n".join(lines).rstrip("\n")


def as_jsonl(watch, periods):
    """Return a line of JSON for each word of periods."""
    return "\n".join(
        json.dumps({"version": VERSION, "period": period.t, **_map(one)}, ensure_ascii=False)
        for period in periods
        for one in period.unseen
    )


def _map(one):
    documents = [{"id": ident, "title": title} for ident, title in one.documents]
    first = show.date_of(one.first, exact=True) or None
    return {**vars(one), "first": first, "half": one.half if first else None, "documents": documents}
