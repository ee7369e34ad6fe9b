"""Document counts by author, and words that name accounts or sources, which headlines omit."""

import os
import re
from collections import Counter

import numpy as np
from scipy import sparse

from odl.alerts.surprise import presence, rows_with, take_rows

ADDRESS = re.compile(r"<?([\w.+%'-]+@[\w.-]+)>?")
DOMAIN, PART = re.compile(r"@[\w.-]+"), re.compile(r"[^\W_]+")
# Largest ratio of documents with a word to documents by an author whose name contains the word.
MAX_NAME_RATIO = 4
MAX_NAMED_SOURCES = 100  # largest number of sources, by documents, whose names are barred
# A word names a source if at least this share of the documents with the word come from the source.
SOURCE_SHARE = 0.8


def author_numbers(authors):
    """Return the row of the first document by the same author, for each document.

    Authors are compared by mail address, or by name if they have none. A document without an author
    gets its own row.

    Examples
    --------
    >>> from odl.alerts.authors import author_numbers
    >>> author_numbers(["Ada <ada@x.org>", "", "ada@x.org (A. L.)", "", "Bo"]).tolist()
    [0, 1, 0, 3, 4]
    """
    first: dict[str, int] = {}
    numbers = []
    for row, author in enumerate(authors):
        address = ADDRESS.search(author)
        key = (address[1] if address else author).casefold()
        numbers.append(first.setdefault(key, row) if key else row)
    return np.array(numbers, dtype=np.int64)


def join_by_author(X, numbers):
    """Return a matrix that is 1 where a document by an author (row) contains a word (column)."""
    _, row = np.unique(numbers, return_inverse=True)
    shape = int(row.max(initial=-1)) + 1, len(row)
    members = sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=shape)
    return presence(sparse.csr_array(members @ X))


def barred_words(documents, rows):
    """Return the words of a period that name accounts or sources, so that headlines omit them.

    A word names an account in two cases. First, at least as many documents contain "@word" as
    "word". Second, an author has the word in the name, and wrote at least a quarter as many
    documents as contain the word. A word names a source if a file name contains the word, and at
    least 80 % of the documents with the word come from this file. Sources are only considered if
    several have more than one document in the period.

    Parameters
    ----------
    documents : odl.alerts.decision.PeriodDocuments
    rows : ndarray of int64
        Rows of the documents that are counted.

    Returns
    -------
    frozenset of str
    """
    X, vocabulary = take_rows(documents.counts, rows), documents.vocabulary
    authors, sources = (
        [values[row] for row in rows.tolist()] if any(values) else []
        for values in (documents.authors, documents.sources)
    )
    counts = np.bincount(X.indices)
    term_of = {vocabulary[term]: term for term in np.flatnonzero(counts).tolist()}
    barred = set()
    for handle in [word for word in term_of if word.startswith("@")]:
        name = handle.removeprefix("@")
        if name in term_of and counts[term_of[handle]] >= counts[term_of[name]]:
            barred.add(name)
    written: Counter = Counter()  # documents by authors with a word in the name
    for author, n in Counter(filter(None, authors)).items():
        name_words = PART.findall(DOMAIN.sub("", author.casefold()))
        written.update(dict.fromkeys(name_words, n))
    for word, n in written.items():
        if word in term_of and counts[term_of[word]] <= MAX_NAME_RATIO * n:
            barred.add(word)
    names = [name for name, n in Counter(sources).most_common(MAX_NAMED_SOURCES) if name and n > 1]
    if len(names) < 2:
        return frozenset(barred)
    for name in names:
        from_source = np.array([source == name for source in sources])
        stem = os.path.basename(name).casefold().split(".")[0]
        for word in {*PART.findall(stem)} & term_of.keys():
            if from_source[rows_with(X, term_of[word])].mean() >= SOURCE_SHARE:
                barred.add(word)
    return frozenset(barred)
