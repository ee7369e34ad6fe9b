"""Text in columns of a terminal: width, wrapping and cutting of text in any script."""

import textwrap
import unicodedata
from bisect import bisect
from itertools import accumulate

JOINER, EMOJI = "\u200d", "\ufe0f"  # joins pictures to one; asks for the picture of the sign before it
PRIVATE = 0x100000  # first sign of the last plane of private use


def width(text):
    """Return how many columns of a terminal a text takes."""
    return sum(_columns(text))


def padded(text, n, right=False):
    """Return a text with spaces up to n columns, cut if it is longer."""
    text = shortened(text, n)
    space = " " * (n - width(text))
    return space + text if right else text + space


def wrapped(text, width, **options):
    """Return a text in lines of at most so many columns of a terminal."""
    clusters: list[list] = []  # a sign with those that take no column of their own, and the columns of all
    lead = ""  # such signs at the beginning of a word
    for sign, columns in zip(text, _columns(text), strict=True):
        if columns and not (sign == EMOJI and clusters):
            clusters.append([lead + sign, columns])
            lead = ""
        elif clusters and not clusters[-1][0].isspace():
            clusters[-1] = [clusters[-1][0] + sign, clusters[-1][1] + columns]
        else:
            lead += sign
    clusters += [[lead, 1]] * bool(lead)
    # One sign of private use stands for a cluster of several, and zeros for its further columns.
    marks = {cluster: chr(PRIVATE + place) for place, cluster in enumerate(
        dict.fromkeys(cluster for cluster, _ in clusters if len(cluster) > 1 or cluster >= chr(PRIVATE))
    )}  # fmt: skip
    wide = "".join(marks.get(cluster, cluster) + "\0" * (columns - 1) for cluster, columns in clusters)
    back = str.maketrans({"\0": "", **{mark: cluster for cluster, mark in marks.items()}})
    return [line.translate(back) for line in textwrap.wrap(wide, width, **options)]


def _columns(text):
    """Return how many columns of a terminal each sign takes.

    An East Asian one has two; a mark that is put on the sign before it, and what only joins or selects forms, has none.
    An emoji with a skin colour, or joined to another, has the columns of the first; so has a pair of flag letters.
    """
    if text.isascii():
        return [1] * len(text)
    columns, joined, flag = [], False, False
    for sign in text:
        width = _width(sign)
        is_flag = "\U0001f1e6" <= sign <= "\U0001f1ff"
        if (joined and unicodedata.category(sign) == "So") or "\U0001f3fb" <= sign <= "\U0001f3ff":
            width = 0
        elif is_flag:
            width = 0 if flag else 2
        if sign == EMOJI and columns and sum(columns[-1:]) == 1:  # the sign before it is shown as a picture
            width = 1
        joined, flag = sign == JOINER, is_flag and not flag
        columns.append(width)
    return columns


def _width(sign):
    """Return how many columns of a terminal a sign takes by itself."""
    category = unicodedata.category(sign)
    if category in ("Mn", "Me", "Cf") or "\u1160" <= sign <= "\u11ff":  # also vowels and ends of a syllable of Hangul
        return sign == "\xad"  # a soft hyphen is printed
    return 1 + (unicodedata.east_asian_width(sign) in "WF")


def shortened(text, width):
    """Return a text in at most so many columns of a terminal, cut between words where more than half of it is left."""
    ends = [*accumulate(_columns(text), initial=0)]
    if ends[-1] <= width:
        return text
    room = bisect(ends, width - 1)  # one more than the letters that leave a column for the sign of the cut
    last = text.rfind(" ", 0, room)
    cut = text[: last if 2 * last > room else room - 1].rstrip()
    return cut + "…" + "\u2069" * (cut.count("\u2068") - cut.count("\u2069"))


def duration(seconds):
    """Return seconds as a person says them."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
