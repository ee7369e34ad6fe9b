"""Hashtags: "#oscars" and "oscars" are one word for headlines and events, under the number of the one met first."""

import numpy as np
from scipy import sparse


def same_words(vocabulary):
    """Return for each term the term that it counts as, or None if no word is there with and without a "#".

    Examples
    --------
    >>> from odl.alerts.hashtags import same_words
    >>> same_words(["rain", "#oscars", "#rain", "oscars", "#snow"]).tolist(), same_words(["rain", "#snow"])
    ([0, 1, 0, 1, 4], None)
    """
    tags = [lines.partition("\n")[0] for lines in "\n".join(["", *vocabulary]).split("\n#")[1:]]  # one word a line
    number = dict(zip(vocabulary, range(len(vocabulary)), strict=True)) if tags else {}
    pairs = np.array([(number[word], number[f"#{word}"]) for word in tags if word in number])
    if not len(pairs):
        return None
    terms = np.arange(len(vocabulary))
    terms[pairs.max(axis=1)] = pairs.min(axis=1)
    return terms


def with_bare(words):
    """Return a set of words, and those that have a "#" without it."""
    return {*words, *(word.removeprefix("#") for word in words)}


def joined(documents):
    """Return documents (`odl.alerts.decision.PeriodDocuments`) in which words with and without a "#" are the same.

    The earlier term counts for both, so that what was counted of it before stays where it is; it is called without "#".
    """
    terms = same_words(documents.vocabulary)
    if terms is None:
        return documents
    later = np.flatnonzero(terms != np.arange(len(terms)))
    vocabulary, frequencies = list(documents.vocabulary), documents.frequencies.copy()
    for term, first in zip(later.tolist(), terms[later].tolist(), strict=True):
        vocabulary[first] = vocabulary[first].removeprefix("#")
        frequencies[first] += frequencies[term]
    return documents._replace(
        counts=_moved(documents.counts, terms),
        titled=_moved(documents.titled, terms),
        vocabulary=vocabulary,
        frequencies=frequencies,
    )


def _moved(X, terms):
    """Return a matrix under other numbers of terms; those that have the same are added."""
    moved = sparse.csr_array((X.data.copy(), terms[X.indices], X.indptr.copy()), shape=X.shape)  # changed in place
    moved.sum_duplicates()
    return moved
