"""Folding of items under their topic, or under an item of their kind, within the budget of a period."""

import re
from collections import defaultdict
from typing import NamedTuple

from odl.alerts import breakdown

REPLY = re.compile(r"^\s*(?:(?:re|fwd?|aw|wg)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)  # before a subject
FOLDED = 3  # items of one topic that are shown by themselves


class Kind(NamedTuple):
    """What an item without a topic is told by: its subject and the words that explain half of its score."""

    subject: str
    words: frozenset

    @classmethod
    def of(cls, alert):
        """Return the kind of an alert."""
        return cls(subject_of(alert.title), frozenset(reason.word for reason in breakdown.named(alert)))

    def resembles(self, other):
        """Tell whether two items have one subject, or one has half of the words that explain half of the other."""
        if self.is_of_thread(other):
            return True
        return 2 * len(self.words & other.words) >= max(min(len(self.words), len(other.words)), 1)

    def is_of_thread(self, other):
        """Tell whether two items have one subject."""
        return bool(self.subject) and self.subject == other.subject


class Room:
    """The budget of a period as its items take it, the most novel first.

    Parameters
    ----------
    most : int
        Items that are shown by themselves.
    """

    def __init__(self, most):
        self.most, self.spent, self.shown = most, 0, defaultdict(list)

    def take(self, topic, kind, novel, following=False):
        """Return whether an item is an alert, and whether it is folded under its topic or under another item.

        Parameters
        ----------
        topic : int
            0 for none.
        kind : Kind
        novel : bool
            Whether it may be an alert.
        following : bool
            Whether it is one even so.
        """
        novel = novel and self.spent < self.most
        if not (novel or following):
            return False, False
        shown = self.shown[topic]
        if topic:
            folded = len(shown) >= FOLDED or any(map(kind.is_of_thread, shown))
        else:
            folded = any(map(kind.resembles, shown))
        shown += [kind] * (not folded)
        self.spent += novel and not folded
        return True, folded


def subject_of(title):
    """Return a title without what marks a reply, its numbers all one; empty where it has no letter.

    Examples
    --------
    >>> from odl.alerts.folding import subject_of
    >>> subject_of("Re: Fwd: Sample 12 positive"), subject_of("sample 7  POSITIVE"), subject_of("2026-01-05")
    ('sample 0 positive', 'sample 0 positive', '')
    """
    text = " ".join(re.sub(r"\d+", "0", REPLY.sub("", title, count=1)).casefold().split())
    return text if re.search(r"[^\W\d_]", text) else ""
