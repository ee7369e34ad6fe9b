"""The reader ``simulation``: a synthetic stream whose new topics are known.

Topics enter, return, drift or split, as in Christophe, Velcin, Boumghar and others, How to detect
novelty in textual data streams?, arXiv 1909.05099. They mix real documents of known topics; here
the words are synthetic too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from odl.files.documents import Documents

READER = "simulation"
FILES = ()
DEFAULTS = {"documents": 10000, "days": 10, "words": 40, "own": 0.2, "seed": 0}
OPTIONS = {
    **{
        name: {"type": "integer", "minimum": least}
        for name, least in (("documents", 1), ("days", 6), ("words", 1))
    },
    "own": {"type": "number", "minimum": 0, "maximum": 1},
    "seed": {"type": "integer", "minimum": 0},
}
TOPICS_BY_KIND = {  # kind -> number of topics
    "steady": 12,
    "entering": 10,
    "returning": 6,
    "drifting": 6,
    "splitting": 4,
}
LANGUAGE_TERMS, TOPIC_TERMS = 12000, 150  # vocabulary size of the language, and of one topic
DAY_MS, START_MS = 86_400_000, 946_684_800_000  # milliseconds of a day, and from 1970 to 2000-01-01


def read(sources: Sequence, options: Mapping[str, Any]) -> Documents:
    """Generate the stream. It has no source.

    Parameters
    ----------
    sources : list
        Empty.
    options : dict
        ``documents``: number of documents; ``days``: number of days, with equal numbers of
        documents; ``words``: mean number of words of a document; ``own``: share of the words from
        its topic; ``seed``.

    Returns
    -------
    Documents
        In the order of days; ids ``sim-000001``, terms ``w00001`` in the order of their frequency
        in the language. Topics are named by their kind:

        - ``steady-01``: every day.
        - ``entering-01``: from a day, the second at the earliest, to the end.
        - ``returning-01``: on the first day, absent for a third of the days, then again. Not new
          when it returns.
        - ``drifting-01``: every day; an equal share of its words is replaced from day to day, until
          all are. Not new.
        - ``splitting-01``: up to a day in the middle; then two topics, ``-a`` and ``-b``, take its
          place, each with half of its words and as many new words. Their second topic is
          ``splitting-01``, so they are new by the dominant topic and known by all topics.

    Examples
    --------
    >>> from odl import corpora
    >>> documents = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> sorted({topics[0].split("-")[0] for topics in documents.topics})
    ['drifting', 'entering', 'returning', 'splitting', 'steady']
    """
    settings = {**DEFAULTS, **options}
    return _drawn_stream(np.random.default_rng(settings["seed"]), settings)


def _drawn_stream(rng, settings):
    """Draw topics, then documents day by day; return the `Documents`.

    A document has one topic, drawn among those present on its day. Its length is 1 plus a Poisson
    number. A binomial number of its words are words of the topic, the others of the language. Words
    of both follow Zipf's law. `settings` contains the values in `DEFAULTS`.
    """
    topics = [
        topic
        for kind, number in TOPICS_BY_KIND.items()
        for topic in _topics(rng, kind, number, settings["days"])
    ]
    # Cumulative shares of the words in the language and in a topic, the most frequent word first.
    zipf = 1.0 / np.arange(1, LANGUAGE_TERMS + 1)
    language = np.cumsum(zipf / zipf.sum())
    zipf = 1.0 / np.arange(1, TOPIC_TERMS + 1)
    # The last share is replaced by 1, so that the last sum is at least 1 despite rounding.
    local = np.cumsum(np.concatenate([(zipf / zipf.sum())[:-1], [1.0]]))
    per_day = -(-settings["documents"] // settings["days"])
    days = np.arange(settings["documents"]) // per_day
    rows, columns, names = [], [], []
    for row, day in enumerate(days):
        present_topics = [topic for topic in topics if topic["is_present"][day]]
        topic = present_topics[rng.integers(len(present_topics))]
        length = 1 + rng.poisson(settings["words"] - 1)
        n_own = rng.binomial(length, settings["own"])
        own_words = topic["words"][day][np.searchsorted(local, rng.random(n_own))]
        other_words = np.searchsorted(language, rng.random(length - n_own))
        columns.append(np.concatenate([own_words, other_words]))
        rows.append(np.full(length, row))
        names.append(topic["names"])
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    columns = np.minimum(columns, LANGUAGE_TERMS - 1)
    ones = np.ones(len(rows), dtype=np.int64)
    counts = sparse.csr_array((ones, (rows, columns)), shape=(len(days), LANGUAGE_TERMS))
    return Documents(
        counts=counts,
        vocabulary=[f"w{column:05d}" for column in range(1, LANGUAGE_TERMS + 1)],
        ids=[f"sim-{row:06d}" for row in range(1, len(days) + 1)],
        times=START_MS + DAY_MS * days,
        topics=names,
        titles=[f"{name}, day {day + 1}" for (name, *_), day in zip(names, days, strict=True)],
    )


def _drawn(rng, number=TOPIC_TERMS):
    """Return different random words, without the 100 most frequent ones. Topics may share words."""
    return rng.choice(np.arange(100, LANGUAGE_TERMS), number, replace=False)


def _topics(rng, kind, number, days):
    """Draw topics of one kind; return a list of dicts.

    The keys are ``names``; ``is_present``, which says for each day whether the topic occurs; and
    ``words``, the words of the topic for each day.
    """
    topics = []
    for position in range(1, number + 1):
        name, words = f"{kind}-{position:02d}", _drawn(rng)
        is_present = np.ones(days, dtype=bool)
        daily = [words] * days
        if kind == "entering":
            is_present[: 1 + rng.integers(days - 1)] = False
        elif kind == "returning":
            n_absent = max(1, days // 3)
            first = 1 + rng.integers(days - n_absent - 1)
            is_present[first : first + n_absent] = False
        elif kind == "drifting":
            other, order = _drawn(rng), rng.permutation(TOPIC_TERMS)
            daily = [
                np.where(order < TOPIC_TERMS * day / (days - 1), other, words)
                for day in range(days)
            ]
        elif kind == "splitting":
            split = days // 3 + rng.integers(days // 3)
            is_present[split:] = False
            halves = rng.permutation(TOPIC_TERMS) % 2
            for half, letter in enumerate("ab"):
                own = np.where(halves == half, words, _drawn(rng))
                topics.append(
                    {
                        "names": (f"{name}-{letter}", name),
                        "is_present": ~is_present,
                        "words": [own] * days,
                    }
                )
        topics.append({"names": (name,), "is_present": is_present, "words": daily})
    return topics
