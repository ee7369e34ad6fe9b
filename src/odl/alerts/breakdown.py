"""Breakdown of a document's score into the parts that lists print.

A part is a named word or phrase, a sum over other words, the vectors (meaning), or the context.
"""

import math
from typing import NamedTuple

from odl.alerts import phrasing
from odl.alerts.excerpts import UNSPACED
from odl.files.escaping import isolated

NAMED_SHARE = 0.5  # words are named until they explain this share of a score
NAMED_WORDS = 12  # largest number of words that are named
NAMED_OWN_WORDS = 3  # largest number of named words that no other document has
# If the stored words explain this share of `Document.own`, all words that contribute to it are
# stored; the tolerance is for rounding.
OWN_SHARE_KNOWN = 0.999
LEAST_SHARE = 0.01  # smallest share of a score that a named word has
# Smallest share of the score at which a single remaining word is named; below it, "1 more word".
LEAST_LAST_SHARE = 0.05


class ScorePart(NamedTuple):
    """A part of a score as lists print it.

    Attributes
    ----------
    kind : str
        "word" (a named word or phrase), "more" (shared words without a name), "own" (words of no
        other document), "meaning" (vectors), "down" (words that lower the score) or "context".
    label : str
        Word, phrase or description of the part.
    percent : int
        Percentage of the score. All parts add up to 100 if the score is above 0.
    note : str
        Text in parentheses, or empty.
    """

    kind: str
    label: str
    percent: int
    note: str = ""

    def text(self, space=" "):
        """Return label, share and note as one line, with `space` before the percent sign."""
        return f"{isolated(self.label)} {self.share(space)}"

    def share(self, space=" "):
        """Return share and note as text."""
        note = f" ({isolated(self.note.replace(' %', f'{space}%'))})" if self.note else ""
        return f"{self.percent}{space}%{note}"


def named(alert, max_words=NAMED_WORDS):
    """Return the leading reasons of an alert among words that other documents have too.

    The reasons explain at least half of the score if `max_words` permits (`leading`).
    """
    return leading(alert.reasons[: min(max_words, alert.led)], alert.score)


def leading(reasons, score):
    """Return the first reasons that together explain half of a score.

    Reasons that explain less than 1 % of the score are left out, so the sum may be below half.
    """
    total, words, sum_of = abs(score), [], 0.0
    for reason in reasons:
        if sum_of >= NAMED_SHARE * total or reason.share < LEAST_SHARE * total:
            break
        words.append(reason)
        sum_of += reason.share
    return words


def group_by_phrase(alert, words):
    """Return (phrase, words in the phrase) for the phrases that contain the given words.

    Phrases stored with the alert are used. For words that no stored phrase contains, phrases are
    searched in the alert's text.
    """
    stored = [
        (phrase, inside) for phrase, inside in alert.phrases if not {*inside}.isdisjoint(words)
    ]
    missing = [word for word in words if all(word not in inside for _, inside in stored)]
    return stored + phrasing.phrases([alert.text], missing)


def named_words(alert, max_words=NAMED_WORDS):
    """Return the reasons that a breakdown names.

    These are the leading reasons (`named`) and the other words in their phrases. If a single
    shared word remains, and has at least `LEAST_LAST_SHARE` of the score, the word is named too.
    """
    reason_words = [reason.word for reason in named(alert, max_words)]
    inside = {word for _, words in group_by_phrase(alert, reason_words) for word in words}
    shared = alert.reasons[: alert.led]
    unnamed = [reason.share for reason in shared if reason.word not in inside]
    is_single = alert.rest and len(unnamed) + alert.rest.words == 1
    if is_single and sum(unnamed) >= LEAST_LAST_SHARE * abs(alert.score):
        return [*shared]
    return [reason for reason in shared if reason.word in inside]


def phrases(alert, max_words=NAMED_WORDS):
    """Return (phrase, share) for the named words, largest first, spelled as in the item's text."""
    shares = {reason.word: reason.share for reason in named_words(alert, max_words)}
    names = group_by_phrase(alert, list(shares))
    summed = [(phrase, sum(shares.get(word, 0.0) for word in words)) for phrase, words in names]
    return sorted(summed, key=lambda phrase: -phrase[1])


def near(alert, words):
    """Return the words of an atom of the dictionary as phrases, spelled as in the alert's text."""
    return phrasing.join_pieces(phrase for phrase, _ in phrasing.phrases([alert.text], words))


def opening(alert):
    """Return the headline's words in an alert as different phrases, spelled as in its text.

    Single characters of scripts without spaces are left out: they remain when a grammatical
    particle is removed from a pair of characters.
    """
    unique = dict.fromkeys(
        phrase for phrase, _ in group_by_phrase(alert, alert.opening[:NAMED_WORDS])
    )
    return [phrase for phrase in unique if len(phrase) > 1 or not phrasing.is_unspaced(phrase)]


def parts(alert):
    """Return the parts of a score; parts that lower it and the context come last.

    Parameters
    ----------
    alert : odl.alerts.model.Document

    Returns
    -------
    list of ScorePart
        Parts that round to 0 % are left out.
    """
    heads, total = named_words(alert), abs(alert.score) or 1.0
    shares = [("word", phrase, share, "") for phrase, share in phrases(alert)]
    down = alert.rest.down if alert.rest else 0.0
    of_heads = sum(reason.share for reason in heads)
    unnamed = alert.score - alert.context - alert.meaning - alert.own - down - of_heads
    shares.append(_further(alert, heads, unnamed, total))
    shares.append(("own", "words of its own", alert.own, " ".join(_own(alert))))
    if alert.rest:
        verb = "lowers" if alert.rest.low == 1 else "lower"
        label = f"{_words(alert.rest.low)} that {verb} the score"
        shares.append(("down", label, down, ""))
    shares += [("meaning", "meaning", alert.meaning, ""), ("context", "context", alert.context, "")]
    if not heads and alert.own > alert.score > 0:
        shares = _net(shares)
    shares.sort(key=lambda part: part[0] in ("down", "context"))  # positive parts first
    percentages = apportion([100 * share / total for _, _, share, _ in shares])
    rows = zip(shares, percentages, strict=True)
    return [
        ScorePart(kind, label, percent, note) for (kind, label, _, note), percent in rows if percent
    ]


def _own(alert):
    """Return phrases of the first words that no other document has, spelled as in the text."""
    shares = {
        reason.word: reason.share for reason in alert.reasons[alert.led :] if reason.share > 0
    }
    words, shared_words = [*shares], [reason.word for reason in alert.reasons[: alert.led]]
    if not any(map(UNSPACED.search, words)):
        words = words[:NAMED_OWN_WORDS]
    is_incomplete = sum(shares.values()) < OWN_SHARE_KNOWN * alert.own
    spelled = phrasing.spell_remaining(alert.text, words, shared_words, is_incomplete)
    return spelled[:NAMED_OWN_WORDS]


def _net(shares):
    """Return parts (kind, label, share, note) with negative shares added to the part "own".

    Used if only words that no other document has raise the score.
    """
    pulls = sum(share for _, _, share, _ in shares if share < 0)
    raised = [part for part in shares if part[2] >= 0]
    return [
        (kind, label, share + pulls * (kind == "own"), note) for kind, label, share, note in raised
    ]


def _words(count, kind=""):
    """Return a number of words as text, such as "3 more words"."""
    return f"{count:,} {kind}word{'s' * (count != 1)}"


def _further(alert, heads, share, total):
    """Return the part (kind, label, share, note) for all shared words that are not named.

    `heads` are the named reasons, `share` is the sum of the other words' shares, and `total` is the
    absolute score.
    """
    if share < 0:
        return "down", "other words that lower the score", share, ""
    # Reasons are sorted, so the first share that is not named is the largest.
    stored = [reason.share for reason in alert.reasons[: alert.led] if reason not in heads]
    if not alert.rest:
        label = "other words" if heads else "shared words"
        bound = max([LEAST_SHARE * total, *stored[:1]])
    else:
        count = len(stored) + alert.rest.words
        label = (
            f"and {_words(count, 'more ')}"
            if heads
            else f"{_words(count)} of other documents as well"
        )
        bound = stored[0] if stored else alert.rest.largest
        if count == 1:
            return "more", label, share, ""
    note = f"none above {_small(100 * bound / total)} %" if bound < share else ""
    return "more", label, share, note


def _small(percent):
    """Return a percentage as text, rounded up to an integer, or to one decimal up to 0.9.

    The text is printed as an upper bound.
    """
    if percent >= 1:
        return f"{math.ceil(percent - 1e-9)}"
    return (
        f"{max(math.ceil(10 * percent - 1e-9), 1) / 10:.1f}".removeprefix("0")
        if percent <= 0.9
        else "1"
    )


def apportion(values):
    """Round values to integers that add up to their rounded sum (method of largest remainders).

    Parameters
    ----------
    values : sequence of float

    Returns
    -------
    list of int

    Examples
    --------
    >>> from odl.alerts.breakdown import apportion
    >>> apportion([33.4, 33.4, 33.2]), apportion([70.5, 40.0, -10.5])
    ([34, 33, 33], [71, 40, -11])
    """
    integers = [math.floor(value) for value in values]
    missing = round(sum(values)) - sum(integers)
    order = sorted(range(len(values)), key=lambda i: (integers[i] - values[i], i))
    for i in order[:missing]:
        integers[i] += 1
    return integers


def line(alert, space=" ", short=False):
    """Return the parts of a score as one line.

    With `short`, only words and meaning are included, unless they exceed 100 % or another part
    comes first.
    """
    shown = parts(alert)
    words = [part for part in shown if part.kind in ("word", "own", "meaning")]
    short = short and words[:1] == shown[:1] and sum(part.percent for part in words) <= 100
    return ", ".join(part.text(space) for part in (words if short else shown))
