"""Excerpt of a text around the words that tell why it is flagged, and where these stand in it."""

import re
import unicodedata

from odl.text.words import Words

LONGEST = 300  # characters
STEP = 10  # characters between the excerpts that are compared
MOST = 3  # words of a phrase
SPLIT = Words()
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


def phrases(text, words):
    """Return words as a text spells them; those that stand side by side there, or overlap as pairs do, as one.

    Parameters
    ----------
    text : str
    words : sequence of str
        As of `marks`.

    Returns
    -------
    list of (str, list of str)
        A phrase, of up to three words between blanks, and its words; in their order.

    Examples
    --------
    >>> from odl.alerts.excerpts import phrases
    >>> phrases("Duct Tape, says NASA: duct tape", ["tape", "nasa", "duct"])
    [('Duct Tape', ['tape', 'duct']), ('NASA', ['nasa'])]
    >>> phrases("気象衛星を打上", ["衛星", "象衛", "打上"])
    [('象衛星', ['衛星', '象衛']), ('打上', ['打上'])]
    """
    text, runs = unicodedata.normalize("NFC", text), [(0, -1, [""])]
    for first, last, word in _places(text, words):
        begin, end, inside = runs[-1]
        if first < end or (end > 0 and text[end:first] in (" ", "-")):
            runs[-1] = begin, max(end, last), [*inside, word]
        else:
            runs.append((first, last, [word]))
    spelling: dict[str, str] = {}
    for begin, end, inside in sorted(runs, key=lambda run: -len(run[2])):
        if len(inside) <= MOST or " " not in text[begin:end]:
            spelling = (
                {**dict.fromkeys(inside, text[begin:end]), **spelling}
                if spelling.keys().isdisjoint(inside)
                else spelling
            )
    for first, last, word in _places(text, words):
        spelling.setdefault(word, text[first:last])
    joined: dict[str, list[str]] = {}
    for word in words:
        joined.setdefault(spelling.get(word, word), []).append(word)
    return list(joined.items())


def _places(text, words):
    """Return (first, last, word) where words stand in a text of NFC: whole words however they are folded, or marks."""
    whole = []
    for match in re.finditer(r"\w(?:\S*\w)?", text):
        folded = SPLIT.of(match[0].encode("utf-8", "surrogatepass"))
        if len(folded) == 1 and folded[0] in words:
            whole.append((*match.span(), folded[0]))
    rest = dict.fromkeys(words, ()).keys() - {word for *_, word in whole}
    return sorted(whole + [(*span, word) for word in rest for span in marks(text, [word])])


def excerpt(text, words, longest=LONGEST):
    """Return the part of a text that has most of the words, of several the first; ``…`` where something is cut off.

    Examples
    --------
    >>> from odl.alerts.excerpts import excerpt
    >>> excerpt("a long way before " * 3 + "the rocket lifts off " + "and after " * 9, ["rocket", "lifts"], 30)
    '…the rocket lifts off and…'
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
