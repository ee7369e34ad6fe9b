"""Breakdown of a score into printed parts: words by name, further words, words of its own, words that pull down."""

import math
from typing import NamedTuple

from odl.alerts import phrasing
from odl.alerts.excerpts import UNSPACED
from odl.files.escaping import isolated

NAMED_SHARE = 0.5  # words are named until they explain this share of a score
NAMED_WORDS, NAMED_OWN_WORDS = 12, 3  # most words that are named; most of those that no document had before
OWN_SHARE_KNOWN = 0.999  # if stored words explain this share of `Document.own`, they are all such words
LEAST_SHARE = 0.01  # smallest share of a score of a word that is named
LEAST_LAST_SHARE = 0.05  # smallest share of a single remaining word that is named instead of "1 more word"


class ScorePart(NamedTuple):
    """A part of a score as it is read.

    Attributes
    ----------
    kind : str
        "word", "more", "own", "meaning", "down" or "context".
    label : str
    percent : int
        Of the score. Those of all parts add up to 100, where the score is above 0.
    note : str
        What else is known of it, empty for nothing.
    """

    kind: str
    label: str
    percent: int
    note: str = ""

    def text(self, space=" "):
        """Return label, share and note in a line; `space` stands before the sign of the share."""
        return f"{isolated(self.label)} {self.share(space)}"

    def share(self, space=" "):
        """Return share and note."""
        note = f" ({isolated(self.note.replace(' %', f'{space}%'))})" if self.note else ""
        return f"{self.percent}{space}%{note}"


def named(alert, most=NAMED_WORDS):
    """Return the words of an alert that are named (`leading`)."""
    return leading(alert.reasons[: min(most, alert.led)], alert.score)


def leading(reasons, score):
    """Return of words of other documents those that are named: each 1 % of the score or more, up to half of it."""
    total, words, sum_of = abs(score), [], 0.0
    for reason in reasons:
        if sum_of >= NAMED_SHARE * total or reason.share < LEAST_SHARE * total:
            break
        words.append(reason)
        sum_of += reason.share
    return words


def joined(alert, words):
    """Return words as (phrase, its words), as they are kept with an alert; those that are not, as its text has them."""
    kept = [(phrase, inside) for phrase, inside in alert.phrases if not {*inside}.isdisjoint(words)]
    others = [word for word in words if all(word not in inside for _, inside in kept)]
    return kept + phrasing.phrases([alert.text], others)


def named_words(alert, most=NAMED_WORDS):
    """Return the words that are named and the others of their phrases; if a single word remains, that one too."""
    inside = {word for _, words in joined(alert, [reason.word for reason in named(alert, most)]) for word in words}
    shared = alert.reasons[: alert.led]
    left = [reason.share for reason in shared if reason.word not in inside]
    if alert.rest and len(left) + alert.rest.words == 1 and sum(left) >= LEAST_LAST_SHARE * abs(alert.score):
        return [*shared]
    return [reason for reason in shared if reason.word in inside]


def phrases(alert, most=NAMED_WORDS):
    """Return the words that are named as (phrase, share), largest first, spelled and joined as in the item's text."""
    shares = {reason.word: reason.share for reason in named_words(alert, most)}
    names = joined(alert, list(shares))
    summed = [(phrase, sum(shares.get(word, 0.0) for word in words)) for phrase, words in names]
    return sorted(summed, key=lambda phrase: -phrase[1])


def near(alert, words):
    """Return words of an atom as the item's text spells and joins them; of others, pieces that overlap are one."""
    return phrasing.chained(phrase for phrase, _ in phrasing.phrases([alert.text], words))


def opening(alert):
    """Return the phrases of the words that opened the gate of words, spelled and joined as in the item's text."""
    return [phrase for phrase, _ in joined(alert, alert.opening[:NAMED_WORDS])]


def parts(alert):
    """Return the parts of a score, those of words first.

    Parameters
    ----------
    alert : odl.alerts.model.Document

    Returns
    -------
    list of ScorePart
        A part that is less than half a per cent after rounding is left out: the others add up even so.
    """
    heads, total = named_words(alert), abs(alert.score) or 1.0
    shares = [("word", phrase, share, "") for phrase, share in phrases(alert)]
    down = alert.rest.down if alert.rest else 0.0
    more = alert.score - alert.context - alert.meaning - alert.own - down - sum(reason.share for reason in heads)
    shares.append(_further(alert, heads, more, total))
    shares.append(("own", "words of its own", alert.own, " ".join(_own(alert))))
    if alert.rest:
        shares.append(("down", f"{_words(alert.rest.low)} that pull{'s' * (alert.rest.low == 1)} down", down, ""))
    shares += [("meaning", "meaning", alert.meaning, ""), ("context", "context", alert.context, "")]
    if not heads and alert.own > alert.score > 0:
        shares = _net(shares)
    shares.sort(key=lambda part: part[0] in ("down", "context"))  # what explains comes first
    whole = apportioned([100 * share / total for _, _, share, _ in shares])
    rows = zip(shares, whole, strict=True)
    return [ScorePart(kind, label, percent, note) for (kind, label, _, note), percent in rows if percent]


def _own(alert):
    """Return the first of the words that no other document has, spelled and joined as in the item's text."""
    shares = {reason.word: reason.share for reason in alert.reasons[alert.led :] if reason.share > 0}
    words, others = [*shares], [reason.word for reason in alert.reasons[: alert.led]]
    if not any(map(UNSPACED.search, words)):
        words = words[:NAMED_OWN_WORDS]
    some = sum(shares.values()) < OWN_SHARE_KNOWN * alert.own
    return phrasing.spell_remaining(alert.text, words, others, whole=some)[:NAMED_OWN_WORDS]


def _net(shares):
    """Return the parts of a document that only words of its own raise: what pulls these down is taken off them."""
    pulls = sum(share for _, _, share, _ in shares if share < 0)
    raised = [part for part in shares if part[2] >= 0]
    return [(kind, label, share + pulls * (kind == "own"), note) for kind, label, share, note in raised]


def _words(count, kind=""):
    return f"{count:,} {kind}word{'s' * (count != 1)}"


def _further(alert, heads, share, total):
    """Return the part of the words that no name stands for."""
    if share < 0:
        return "down", "other words that pull down", share, ""
    stored = [reason.share for reason in alert.reasons[: alert.led] if reason not in heads]  # the largest is the first
    if not alert.rest:
        label = "other words" if heads else "shared words"
        bound = max([LEAST_SHARE * total, *stored[:1]])
    else:
        count = len(stored) + alert.rest.words
        label = f"and {_words(count, 'more ')}" if heads else f"{_words(count)} of other documents as well"
        bound = stored[0] if stored else alert.rest.largest
        if count == 1:
            return "more", label, share, ""
    return "more", label, share, f"none above {_small(100 * bound / total)} %" * (bound < share)


def _small(percent):
    """Return a bound in per cent: rounded up, with a digit where it is below 1."""
    if percent >= 1:
        return f"{math.ceil(percent - 1e-9)}"
    return f"{max(math.ceil(10 * percent - 1e-9), 1) / 10:.1f}".removeprefix("0") if percent <= 0.9 else "1"


def apportioned(values):
    """Return whole numbers near these that add up to their rounded sum (largest remainders).

    Parameters
    ----------
    values : sequence of float

    Returns
    -------
    list of int

    Examples
    --------
    >>> from odl.alerts.breakdown import apportioned
    >>> apportioned([33.4, 33.4, 33.2]), apportioned([70.5, 40.0, -10.5])
    ([34, 33, 33], [71, 40, -11])
    """
    whole = [math.floor(value) for value in values]
    left = round(sum(values)) - sum(whole)
    order = sorted(range(len(values)), key=lambda at: (whole[at] - values[at], at))
    for at in order[:left]:
        whole[at] += 1
    return whole


def line(alert, space=" ", short=False):
    """Return the parts of a score in a line; a short one names words and meaning alone, if they are at most 100 %."""
    shown = parts(alert)
    words = [part for part in shown if part.kind in ("word", "own", "meaning")]
    short = short and words[:1] == shown[:1] and sum(part.percent for part in words) <= 100
    return ", ".join(part.text(space) for part in (words if short else shown))
