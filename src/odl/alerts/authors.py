"""Counts of documents by author, and names of accounts and sources, which headlines leave out."""

import os
import re
from collections import Counter

import numpy as np
from scipy import sparse

from odl.alerts.surprise import presence, rows_with

ADDRESS = re.compile(r"<?([\w.+%'-]+@[\w.-]+)>?")
DOMAIN, PART = re.compile(r"@[\w.-]+"), re.compile(r"[^\W_]+")
# Largest ratio of documents with a word to documents by an author with this name.
MAX_NAME_RATIO = 4
MAX_NAMED_SOURCES = 100  # largest sources of a period whose names are barred
# Smallest share of the documents with a word that come from the source with this name.
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
    """Return a matrix with 1 where an author (row) has a document with a word (column)."""
    _, row = np.unique(numbers, return_inverse=True)
    shape = int(row.max(initial=-1)) + 1, len(row)
    members = sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=shape)
    return presence(sparse.csr_array(members @ X))


def barred_words(documents, rows):
    """Return the words of a period that name accounts or sources; headlines leave them out.

    A word names an account in two cases: an author with this word in the name wrote at least a
    quarter as many documents as contain it, or at least as many documents contain it with an @ as
    without. If a period has several source files, a word names a source if it is part of the file
    name and at least 80 % of the documents with the word come from this file.

    Parameters
    ----------
    documents : odl.alerts.decision.PeriodDocuments
    rows : ndarray of int64
        Rows of the documents that are counted.

    Returns
    -------
    frozenset of str
    """
    X, vocabulary = documents.counts[rows], documents.vocabulary
    authors, sources = (
        [values[row] for row in rows.tolist()] if any(values) else []
        for values in (documents.authors, documents.sources)
    )
    holders = np.bincount(X.indices, minlength=len(vocabulary))
    here = {vocabulary[term]: term for term in np.flatnonzero(holders).tolist()}
    handles = {word[1:]: holders[term] for word, term in here.items() if word.startswith("@")}
    barred = {word for word, n in handles.items() if word in here and n >= holders[here[word]]}
    written: Counter = Counter()
    for author, count in Counter(filter(None, authors)).items():
        written.update(dict.fromkeys(PART.findall(DOMAIN.sub("", author.casefold())), count))
    barred.update(
        word
        for word, n in written.items()
        if word in here and holders[here[word]] <= MAX_NAME_RATIO * n
    )
    names = [name for name, n in Counter(sources).most_common(MAX_NAMED_SOURCES) if name and n > 1]
    for name in names if len(names) > 1 else ():
        inside = np.array([source == name for source in sources])
        for word in {*PART.findall(os.path.basename(name).casefold().split(".")[0])} & here.keys():
            if inside[rows_with(X, here[word])].mean() >= SOURCE_SHARE:
                barred.add(word)
    return frozenset(barred)
