"""Excerpt of a text around the words that tell why it is flagged, and where these stand in it."""

import re

LONGEST = 300  # characters
STEP = 10  # characters between the excerpts that are compared
PHRASE = re.compile(r"[_\s]+")


def marks(text, words):
    """Return where words stand in a text, as spans that rise and do not overlap.

    Parameters
    ----------
    text : str
    words : sequence of str
        As they are counted: a ``_`` stands for a blank of a phrase. Case is no matter.

    Returns
    -------
    list of (int, int)

    Examples
    --------
    >>> from odl.alerts.excerpts import marks
    >>> marks("Crude oil, OIL and oilseed", ["oil"])
    [(6, 9), (11, 14)]
    """
    forms = [r"[\W_]+".join(map(re.escape, filter(None, PHRASE.split(word)))) for word in words]
    forms = sorted(filter(None, forms), key=len, reverse=True)
    if not forms:
        return []
    whole = [match.span() for match in re.finditer(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)", text, re.IGNORECASE)]
    # Scripts without blanks have words inside runs of letters.
    wide = [form for form in forms if not form.isascii()]
    spans = whole + [match.span() for form in wide for match in re.finditer(form, text, re.IGNORECASE)]
    found, end = [], 0
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if span[0] >= end:
            found.append(span)
            end = span[1]
    return found


def excerpt(text, words, longest=LONGEST):
    """Return the part of a text that has most of the words, of several the first; ``…`` where something is cut off.

    Examples
    --------
    >>> from odl.alerts.excerpts import excerpt
    >>> excerpt("a long way before " * 3 + "the rocket lifts off " + "and after " * 9, ["rocket", "lifts"], 30)
    '…a long way before the rocket lifts…'
    """
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    found = marks(text, words)
    starts = range(0, len(text) - longest + STEP, STEP)

    def told(start):
        inside = [text[a:b].lower() for a, b in found if start <= a and b <= start + longest]
        return len(set(inside)), len(inside)

    best = max(starts, key=told)
    inside = [span for span in found if best <= span[0] and span[1] <= best + longest]
    if inside:  # in the middle
        best = min(max((inside[0][0] + inside[-1][1] - longest) // 2, 0), len(text) - longest)
    end = min(best + longest, len(text))
    return ("…" if best else "") + _whole(text, best, end) + ("…" if end < len(text) else "")


def _whole(text, start, end):
    """Return a part of a text without the words that are cut at its ends, where that leaves enough."""
    part = text[start:end]
    first = part.find(" ") if start and text[start - 1] != " " else -1
    last = part.rfind(" ") if end < len(text) and text[end] != " " else len(part)
    short = part[first + 1 : last].strip()
    return short if len(short) > len(part) // 2 else part


def marked(text, words, mark):
    """Return a text whose words went through `mark`, everything else through ``mark(text, False)``.

    Parameters
    ----------
    text : str
    words : sequence of str
    mark : callable
        Of a piece of the text, and whether it is one of the words; returns a string.
    """
    pieces, end = [], 0
    for first, last in marks(text, words):
        pieces += [mark(text[end:first], False), mark(text[first:last], True)]
        end = last
    return "".join([*pieces, mark(text[end:], False)])
