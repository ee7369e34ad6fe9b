"""Count a hashtag and its word, such as "#oscars" and "oscars", as one word."""

import numpy as np
from scipy import sparse

NO_TERMS = np.zeros(0, dtype=np.int64)


def same_words(terms, vocabulary, numbers):
    """Find terms that are the same word with and without "#"; return {larger: smaller term}.

    Parameters
    ----------
    terms : iterable of int
        Terms for which the other spelling is looked up.
    vocabulary : sequence of str
    numbers : dict of str to int
        Term of each word.

    Examples
    --------
    >>> from odl.alerts.hashtags import same_words
    >>> words = ["rain", "#oscars", "#rain", "oscars", "#snow"]
    >>> same_words([1, 2, 4], words, {word: term for term, word in enumerate(words)})
    {3: 1, 2: 0}
    """
    pairs = {}
    for term in terms:
        word = vocabulary[term]
        other = numbers.get(word[1:] if word.startswith("#") else f"#{word}")
        if other is not None:
            pairs[max(term, other)] = min(term, other)
    return pairs


def with_bare(words):
    """Return the set of the words, and of the hashtags among them without "#"."""
    return {*words, *(word.removeprefix("#") for word in words)}


def join_hashtags(documents, more_terms=NO_TERMS):
    """Return a copy of the documents in which "#oscars" and "oscars" are one term, "oscars".

    The term with the smaller number is used for both, so counts of earlier periods remain valid.
    Only terms of the documents and `more_terms` are joined.

    Parameters
    ----------
    documents : odl.alerts.decision.PeriodDocuments
    more_terms : ndarray of int
        Further terms whose frequencies are needed: the terms of events.
    """
    numbers = documents.numbers
    if numbers is None:
        numbers = {word: term for term, word in enumerate(documents.vocabulary)}
    used = np.zeros(len(documents.vocabulary), dtype=bool)
    for terms in (documents.counts.indices, documents.titled.indices, more_terms):
        used[terms] = True
    pairs = same_words(np.flatnonzero(used).tolist(), documents.vocabulary, numbers)
    if not pairs:
        return documents
    terms = np.arange(len(used))
    terms[[*pairs.keys()]] = [*pairs.values()]
    vocabulary, frequencies = list(documents.vocabulary), documents.frequencies.copy()
    for term, first in pairs.items():
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
