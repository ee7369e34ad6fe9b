"""Alarms about a stream whose sources, words, scores or times change in an unusual way."""

from typing import NamedTuple

import numpy as np
from scipy import special

from odl.files.documents import NO_TIME
from odl.files.escaping import visible

ALARM_LEVEL = (
    0.005  # probability of a false alarm of each kind (silence, words, scores) in a period
)
MIN_PAST, MAX_PAST = 8, 50  # smallest and largest number of earlier periods for a comparison
CHANGED_PERIODS = 2  # consecutive periods with changed words or scores before an alarm
# Smallest share of unseen words for an alarm after a single period; news has smaller shares.
MANY_UNSEEN = 0.2
# Smallest and largest pause for an alarm, as multiples of the longest earlier pause.
PAUSE_RATIO, ARCHIVE_RATIO = 2.0, 20.0
DAY_MS = 86_400_000  # milliseconds of a day
FULL_PERIODS = 4  # consecutive periods with a full budget before an alarm
SILENCE_PERIODS = 4  # periods in which the alarm about a silent source is repeated
CHANGES = {
    "scores": (
        "of the documents have scores that few earlier documents had",
        "Check whether the alerts are about another language, markup, a new source or much news.",
    ),
    "words": (
        "of the words were never seen before",
        "Check the texts for another language, encoded blocks, logs or new boilerplate, and clean "
        "them.",
    ),
}


class Alarm(NamedTuple):
    """A warning about a stream that needs attention.

    Attributes
    ----------
    kind : str
        "silence", "words", "scores", "budget", "pause" or "ahead".
    what : str
        Name of a silent source; empty for other kinds.
    text, todo : str
        What was observed, and what to do.
    """

    kind: str
    what: str
    text: str
    todo: str


def find_alarms(watch, now=None):
    """Return the alarms (`Alarm`) about the last period of a stream.

    New events explain a higher share of unseen words, so there is no alarm about words if an event
    began in the last `CHANGED_PERIODS` periods, unless the share reaches `MANY_UNSEEN`.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
        Alerts with the last period, and with earlier periods for comparison.
    now : int, optional
        Current time, ms. By default, neither a pause up to the present nor a last period in the
        future is reported.
    """
    scored = [period for period in watch.periods if not period.unproven and len(period.tail)]
    high_scores = [float(np.mean(period.tail <= watch.settings["tail"])) for period in scored]
    unseen_words = [period.first_seen for period in watch.periods[1:]]
    first_recent = watch.periods[-1].t - CHANGED_PERIODS + 1
    has_new_event = any(event.birth >= first_recent for event in watch.events.values())
    about_words = None
    if unseen_words and unseen_words[-1] >= MANY_UNSEEN:
        about_words = _changed("words", unseen_words, 1)
    if about_words is None and not has_new_event:
        about_words = _changed("words", unseen_words)
    alarms = [
        _pause(watch.periods, now),
        ahead(watch.periods, now),
        _changed("scores", high_scores),
        about_words,
        _budget(watch),
    ]
    names = [set(period.sources) for period in watch.periods[-MAX_PAST:]]
    return [alarm for alarm in alarms if alarm] + _silences(names)


def _changed(kind, shares, lasting=CHANGED_PERIODS):
    """Return an alarm if a share was unusually large in each of the last periods, otherwise None.

    `kind` is a key of `CHANGES`, `shares` has the share of each period, oldest first, and `lasting`
    is the number of last periods.
    """
    if not _beyond(shares, lasting):
        return None
    observation, todo = CHANGES[kind]
    usual = np.median(shares[:-lasting])
    return Alarm(
        kind=kind,
        what="",
        text=f"{shares[-1]:.0%} {observation}; the periods before had {usual:.0%} in the median.",
        todo=todo,
    )


def _beyond(shares, lasting):
    """Return whether each of the last `lasting` shares is above the interval of earlier shares.

    The interval is Student's t for arcsin(sqrt(share)), whose variance is nearly constant.
    """
    values = np.arcsin(np.sqrt(shares[-MAX_PAST - lasting :]))
    past, last = values[:-lasting], values[-lasting:]
    if len(past) < MIN_PAST:
        return False
    spread = past.std(ddof=1) * np.sqrt(1 + 1 / len(past))
    return bool(
        (last > past.mean() + special.stdtrit(len(past) - 1, 1 - ALARM_LEVEL) * spread + 1e-9).all()
    )


def _budget(watch):
    """Return an alarm if the last periods all have as many headlines as the budget allows."""
    last = watch.periods[-FULL_PERIODS:]
    if (
        len(last) < FULL_PERIODS
        or not watch.settings["gates"]
        or any(len(period.headlines) < max(period.budget, 1) for period in last)
    ):
        return None
    return Alarm(
        kind="budget",
        what="",
        text=f"The budget of {last[-1].budget} has been full for {FULL_PERIODS} periods, and more "
        "may be new.",
        todo="Set alerts.budget higher, mute known events, or make periods shorter.",
    )


def _pause(periods, now):
    """Return an alarm if the last pause between periods is much longer than all earlier pauses.

    A pause is the time between the beginnings of two stored periods; periods without documents are
    not stored.
    """
    begins = [period.first for period in periods]
    ends = [*begins[1:], now or NO_TIME]
    pauses = [
        end - begin for begin, end in zip(begins, ends, strict=True) if NO_TIME not in (begin, end)
    ]
    if len(pauses) <= MIN_PAST:
        return None
    last, longest = pauses[-1], max(pauses[:-1])
    if not PAUSE_RATIO < last / max(longest, 1) <= ARCHIVE_RATIO:
        return None
    return Alarm(
        kind="pause",
        what="",
        text=f"No document came for {last / DAY_MS:.1f} days; the longest pause before was "
        f"{longest / DAY_MS:.1f} days.",
        todo="Check that new documents are delivered, then the clock of the program that writes "
        "them.",
    )


def ahead(periods, now):
    """Return an alarm if the last period begins more than a day after `now`, otherwise None."""
    begin = periods[-1].first
    if now is None or begin <= now + DAY_MS:
        return None
    day = np.datetime64(begin, "ms").astype("datetime64[D]")
    return Alarm(
        kind="ahead",
        what="",
        text=f"The last period begins on {day}, which is still to come: it remains the last period "
        "until then.",
        todo="Correct the times of its documents, or list periods by date (odl new --since DATE).",
    )


def _silences(names):
    """Return alarms about sources without documents for improbably many periods.

    Parameters
    ----------
    names : list of set of str
        Sources of each period, oldest first.
    """
    alarms = []
    for name in sorted(set().union(*names)):
        present = [t for t, sources in enumerate(names) if name in sources]
        silent = len(names) - 1 - present[-1]
        share = len(present) / (present[-1] - present[0] + 2)  # of the periods since its first one
        limit = np.ceil(np.log(ALARM_LEVEL) / np.log1p(-share))  # (1 - share)^limit <= ALARM_LEVEL
        if len(present) >= MIN_PAST and limit <= silent < limit + SILENCE_PERIODS:
            alarm = Alarm(
                kind="silence",
                what=visible(name),
                text=f"No document came from {visible(name)} for {silent} periods; before, "
                f"{share:.0%} of the periods had some.",
                todo="Check that the source is still written and read.",
            )
            alarms.append(alarm)
    return alarms
