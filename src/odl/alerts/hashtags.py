"""Count a hashtag and its word, such as "#oscars" and "oscars", as one word."""

import numpy as np
from scipy import sparse


def same_words(vocabulary):
    """Return the term that each term is counted as, the smaller number of a word and its hashtag.

    The result is None if no word occurs both with and without a "#".

    Examples
    --------
    >>> from odl.alerts.hashtags import same_words
    >>> same_words(["rain", "#oscars", "#rain", "oscars", "#snow"]).tolist()
    [0, 1, 0, 1, 4]
    >>> same_words(["rain", "#snow"])
    """
    lines = "\n".join(["", *vocabulary])  # one word per line
    tags = [after.partition("\n")[0] for after in lines.split("\n#")[1:]]
    wanted = {*tags, *(f"#{tag}" for tag in tags)}
    number = {word: term for term, word in enumerate(vocabulary) if word in wanted} if tags else {}
    pairs = np.array([(number[word], number[f"#{word}"]) for word in tags if word in number])
    if not len(pairs):
        return None
    terms = np.arange(len(vocabulary))
    terms[pairs.max(axis=1)] = pairs.min(axis=1)
    return terms


def with_bare(words):
    """Return the set of some words, extended by the words of hashtags without "#"."""
    return {*words, *(word.removeprefix("#") for word in words)}


def join_hashtags(documents):
    """Return a copy of documents in which a hashtag and its word are one term, without "#".

    The term with the smaller number is used for both, so counts of earlier periods remain valid.

    Parameters
    ----------
    documents : odl.alerts.decision.PeriodDocuments
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
        counts=_move_columns(documents.counts, terms),
        titled=_move_columns(documents.titled, terms),
        vocabulary=vocabulary,
        frequencies=frequencies,
    )


def _move_columns(X, terms):
    """Return a matrix with column j moved to terms[j]; columns with the same target are added."""
    # Copy the arrays, because `sum_duplicates` changes them in place.
    result = sparse.csr_array((X.data.copy(), terms[X.indices], X.indptr.copy()), shape=X.shape)
    result.sum_duplicates()
    return result
