"""Alarms about the watch itself: what a stream's own past does not explain of its sources, words, scores and times."""

from typing import NamedTuple

import numpy as np
from scipy import special

from odl.files.documents import NO_TIME
from odl.files.escaping import visible

LEVEL = 0.005  # chance of each kind to sound in a quiet period; there are four beside the budget
LEAST, PAST = 8, 50  # periods that are compared with, at least and at most
LASTING = 2  # periods that words or scores have to be changed
MANY = 0.2  # share of unseen words that is told at once: no news have so many, boilerplate and another language do
PAUSE, ARCHIVE = 2.0, 20.0  # times the longest pause so far, from which on it is told, and is told no more
DAY_MS = 86_400_000
FULL = 4  # periods that the budget has to be full
FRESH = 4  # periods that a silence is told
CHANGES = {
    "scores": (
        "of the documents score as high as few before",
        "Compare the words of the alerts with the texts: another language, markup, a new source, or very much news?",
    ),
    "words": (
        "of the words were never seen before",
        "Check for another language, encoded blocks, logs or new boilerplate, and clean them.",
    ),
}


class Alarm(NamedTuple):
    """A sentence about the watch that a person should act on.

    Attributes
    ----------
    kind : str
        "silence", "words", "scores", "budget", "pause" or "ahead".
    what : str
        Of which source; else empty.
    text, todo : str
        What is the matter; what to do.
    """

    kind: str
    what: str
    text: str
    todo: str


def find_alarms(watch, now=None):
    """Return the alarms of a watch in its last period.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
        With the periods that the last one is compared with.
    now : int, optional
        Time of the clock, ms: a pause that lasts until then is told, too, and a last period that is to come.
    """
    scored = [period for period in watch.periods if not period.unproven and len(period.tail)]
    level = watch.settings["tail"]
    high = [float(np.mean(period.tail <= level)) for period in scored]
    fresh = [period.first_seen for period in watch.periods[1:]]
    born = any(event.birth > watch.periods[-1].t - LASTING for event in watch.events.values())
    sounded = [
        _pause(watch.periods, now),
        ahead(watch.periods, now),
        _changed("scores", high),
        (fresh and fresh[-1] >= MANY and _changed("words", fresh, 1)) or (None if born else _changed("words", fresh)),
        _budget(watch),
    ]
    names = [set(period.sources) for period in watch.periods[-PAST:]]
    return [alarm for alarm in sounded if alarm] + _silences(names)


def _changed(kind, shares, lasting=LASTING):
    """Tell of scores or words that have changed, by the share of what is new among them in each period."""
    if not _beyond(shares, lasting):
        return None
    what, todo = CHANGES[kind]
    usual = np.median(shares[:-lasting])
    return Alarm(kind, "", f"{shares[-1]:.0%} {what}; the periods before had {usual:.0%} in the median.", todo)


def _beyond(shares, lasting):
    """Return whether each of the last shares is above what those before predict, by a t-interval of arcsin(sqrt)."""
    values = np.arcsin(np.sqrt(shares[-PAST - lasting :]))
    past, last = values[:-lasting], values[-lasting:]
    if len(past) < LEAST:
        return False
    spread = past.std(ddof=1) * np.sqrt(1 + 1 / len(past))
    return bool((last > past.mean() + special.stdtrit(len(past) - 1, 1 - LEVEL) * spread + 1e-9).all())


def _budget(watch):
    last = watch.periods[-FULL:]
    if (
        len(last) < FULL
        or not watch.settings["gates"]
        or any(len(each.headlines) < max(each.budget, 1) for each in last)
    ):
        return None
    text = f"The budget of {last[-1].budget} has been full for {FULL} periods, and more may be new."
    return Alarm("budget", "", text, "Set alerts.budget higher, mute what is known, or make periods shorter.")


def _pause(periods, now):
    """Tell of a pause that is longer than any before: periods without documents have no files."""
    begins = [period.first for period in periods]
    ends = [*begins[1:], now or NO_TIME]
    steps = [end - begin for begin, end in zip(begins, ends, strict=True) if NO_TIME not in (begin, end)]
    if len(steps) <= LEAST or not PAUSE < steps[-1] / max(*steps[:-1], 1) <= ARCHIVE:
        return None
    pause, longest = (f"{step / DAY_MS:.1f} days" for step in (steps[-1], max(steps[:-1])))
    text = f"No document came for {pause}; from one period to the next it was {longest} at most."
    return Alarm("pause", "", text, "Look at what brings the documents, then at the clock of what writes them.")


def ahead(periods, now):
    """Tell of a last period that begins after tomorrow: no other comes behind it until then."""
    begin = periods[-1].first
    if now is None or begin <= now + DAY_MS:
        return None
    day = np.datetime64(begin, "ms").astype("datetime64[D]")
    text = f"The last period begins on {day}, which is still to come: until then it stays the last one."
    return Alarm("ahead", "", text, "Correct the times of its documents, or look from a date on (--since DATE).")


def _silences(names):
    """Tell of sources that are silent for longer than chance leaves one that is there as often as they were."""
    alarms = []
    for name in sorted(set().union(*names)):
        there = [t for t, each in enumerate(names) if name in each]
        silent, share = len(names) - 1 - there[-1], len(there) / (there[-1] - there[0] + 2)
        enough = np.ceil(np.log(LEVEL) / np.log1p(-share))
        if len(there) >= LEAST and enough <= silent < enough + FRESH:
            text = f"No document came from {visible(name)} for {silent} periods; before, {share:.0%} of them had some."
            alarms.append(Alarm("silence", visible(name), text, "Look whether it is still written and read."))
    return alarms
