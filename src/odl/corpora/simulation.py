"""The reader ``simulation``: a synthetic stream whose new topics are known.

Topics enter, return, drift or split, as in Christophe, Velcin, Boumghar and others, How to detect
novelty in textual data streams?, arXiv 1909.05099. That paper mixes real documents of known topics;
here the words are synthetic too.
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
FREQUENT_TERMS = 100  # most frequent words of the language, which are never words of a topic
DAY_MS, START_MS = 86_400_000, 946_684_800_000  # milliseconds in a day, and from 1970 to 2000-01-01


def read(sources: Sequence, options: Mapping[str, Any]) -> Documents:
    """Generate the stream. It has no source.

    Parameters
    ----------
    sources : list
        Empty.
    options : dict
        - ``documents``: number of documents.
        - ``days``: number of days; each has the same number of documents.
        - ``words``: mean number of words of a document.
        - ``own``: expected share of the words that are drawn from the topic of the document.
        - ``seed``: seed of the random numbers.

    Returns
    -------
    Documents
        In the order of days, with ids such as ``sim-000001``. The terms are ``w00001``, ``w00002``,
        ..., from the most to the least frequent word of the language. Topics are named by their
        kind:

        - ``steady-01`` occurs every day.
        - ``entering-01`` occurs from a random day on, the second at the earliest.
        - ``returning-01`` occurs on the first day, is absent for a third of the days, and returns.
          The topic is not novel when it returns.
        - ``drifting-01`` occurs every day. From day to day, an equal number of its words is
          replaced, until all are. The topic is not novel.
        - ``splitting-01`` occurs up to a random day. Then the topics ``splitting-01-a`` and
          ``splitting-01-b`` replace it, each with half of its words and as many new words. The
          second topic of their documents is ``splitting-01``: the documents are novel by the
          dominant topic, but known by all topics.

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
    topics = []
    for kind, number in TOPICS_BY_KIND.items():
        topics += _topics(rng, kind, number, settings["days"])
    language, local = _cumulative_shares(LANGUAGE_TERMS), _cumulative_shares(TOPIC_TERMS)
    per_day = -(-settings["documents"] // settings["days"])
    days = np.arange(settings["documents"]) // per_day
    lengths, columns, names = [], [], []
    for day in days:
        present_topics = [topic for topic in topics if topic["is_present"][day]]
        topic = present_topics[rng.integers(len(present_topics))]
        length = 1 + rng.poisson(settings["words"] - 1)
        n_own = rng.binomial(length, settings["own"])
        own_words = topic["words"][day][_draw_ranks(rng, local, n_own)]
        columns += [own_words, _draw_ranks(rng, language, length - n_own)]
        lengths.append(length)
        names.append(topic["names"])
    rows, columns = np.repeat(np.arange(len(days)), lengths), np.concatenate(columns)
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


def _cumulative_shares(n_words):
    """Return the cumulative frequencies of words under Zipf's law, the most frequent word first."""
    frequencies = 1.0 / np.arange(1, n_words + 1)
    return np.cumsum(frequencies / frequencies.sum())


def _draw_ranks(rng, cumulative_shares, n):
    """Draw n words; return the position of each in a result of `_cumulative_shares`."""
    ranks = np.searchsorted(cumulative_shares, rng.random(n))
    return np.minimum(ranks, len(cumulative_shares) - 1)  # the last share may be rounded below 1


def _draw_words(rng):
    """Draw the words of a topic: different words, which other topics may have too."""
    return rng.choice(np.arange(FREQUENT_TERMS, LANGUAGE_TERMS), TOPIC_TERMS, replace=False)


def _topics(rng, kind, number, days):
    """Draw topics of one kind; return a list of dicts.

    The keys of a dict are ``names``, ``is_present`` (whether the topic occurs on each day) and
    ``words`` (the words of the topic on each day).
    """
    topics = []
    for position in range(1, number + 1):
        name, words = f"{kind}-{position:02d}", _draw_words(rng)
        is_present = np.ones(days, dtype=bool)
        daily = [words] * days
        if kind == "entering":
            is_present[: 1 + rng.integers(days - 1)] = False
        elif kind == "returning":
            n_absent = max(1, days // 3)
            first = 1 + rng.integers(days - n_absent - 1)
            is_present[first : first + n_absent] = False
        elif kind == "drifting":
            other, order = _draw_words(rng), rng.permutation(TOPIC_TERMS)
            n_replaced = TOPIC_TERMS * np.arange(days) / (days - 1)
            daily = [np.where(order < n, other, words) for n in n_replaced]
        elif kind == "splitting":
            split = days // 3 + rng.integers(days // 3)
            is_present[split:] = False
            halves = rng.permutation(TOPIC_TERMS) % 2
            for half, letter in enumerate("ab"):
                own = np.where(halves == half, words, _draw_words(rng))
                names = f"{name}-{letter}", name
                topics.append({"names": names, "is_present": ~is_present, "words": [own] * days})
        topics.append({"names": (name,), "is_present": is_present, "words": daily})
    return topics
