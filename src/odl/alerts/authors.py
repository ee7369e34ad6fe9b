"""Authors of documents: each counts once in a period, and names of accounts and of sources name no headline."""

import os
import re
from collections import Counter

import numpy as np
from scipy import sparse

from odl.alerts.surprise import presence

ADDRESS = re.compile(r"<?([\w.+%'-]+@[\w.-]+)>?")
DOMAIN, PART = re.compile(r"@[\w.-]+"), re.compile(r"[^\W_]+")
QUOTED = 4  # times the documents of an author that his name may be in, and still be taken for his name
SOURCES = 100  # of a period whose names are looked for
OF_SOURCE = 0.8  # share of the documents with a word that are of one source, from which on the word is its name


def author_numbers(authors):
    """Return a number for each document, the same for documents of one author: by mail address, else by name.

    Documents of unknown authors have numbers of their own.

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


def joined(X, numbers):
    """Return which words the documents of each author have, as a matrix with one row for an author."""
    _, row = np.unique(numbers, return_inverse=True)
    shape = int(row.max(initial=-1)) + 1, len(row)
    members = sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=shape)
    return presence(sparse.csr_array(members @ X))


def barred_words(documents, rows):
    """Return the words of a period that are names of accounts or sources: they name no headline.

    A word is the name of an account if it is part of the name of an author who wrote at least a quarter as many
    documents as have the word, or if at least as many documents have it behind an @. It is the name of a source if it
    is part of the name of a file, one of several, that has four fifths of the documents with this word.

    Parameters
    ----------
    documents : odl.alerts.decision.PeriodDocuments
    rows : ndarray of int64
        Documents that count.

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
    found = {word for word, n in handles.items() if word in here and n >= holders[here[word]]}
    written: Counter = Counter()
    for author, count in Counter(filter(None, authors)).items():
        written.update(dict.fromkeys(PART.findall(DOMAIN.sub("", author.casefold())), count))
    found.update(word for word, n in written.items() if word in here and holders[here[word]] <= QUOTED * n)
    names = [name for name, n in Counter(sources).most_common(SOURCES) if name and n > 1]
    for name in names if len(names) > 1 else ():
        inside = np.array([source == name for source in sources])
        for word in {*PART.findall(os.path.basename(name).casefold().split(".")[0])} & here.keys():
            has = (X[:, [here[word]]] > 0).toarray().ravel()
            if inside[has].mean() >= OF_SOURCE:
                found.add(word)
    return frozenset(found)
