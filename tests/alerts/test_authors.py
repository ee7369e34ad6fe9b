"""Authors count once, and names of accounts and sources name nothing."""

import numpy as np
from scipy import sparse

from odl.alerts import authors
from odl.alerts.decision import PeriodDocuments

WORDS = ["flood", "@ada", "ada", "lovelace", "bbc", "may"]


def arrivals(X, written=(), sources=()):
    n = len(X)
    X = sparse.csr_array(np.array(X, dtype=float))
    nothing = np.zeros(n, dtype=np.int64)
    sources = list(sources) or [""] * n
    return PeriodDocuments(
        1, np.arange(n), nothing > 0, X, X, X, WORDS, nothing, n, nothing, sources, authors=written
    )


def barred(X, written=(), sources=()):
    return authors.barred_words(arrivals(X, written, sources), np.arange(len(X)))


def test_documents_of_one_author_have_one_row():
    numbers = authors.author_numbers(["Ada <ada@x.org>", "Bo", "ADA@x.org", "", "bo", ""])
    assert numbers.tolist() == [0, 1, 0, 3, 1, 5]
    X = sparse.csr_array(np.array([[2, 0], [0, 1], [1, 1], [1, 0], [0, 0], [1, 0]], dtype=float))
    assert authors.join_by_author(X, numbers).toarray().tolist() == [[1, 1], [0, 1], [1, 0], [1, 0]]
    assert authors.join_by_author(X[:0], numbers[:0]).shape == (0, 2)


def test_a_word_behind_an_at_is_the_name_of_an_account():
    has = {word: term for term, word in enumerate(WORDS)}
    once = np.eye(len(WORDS), dtype=int)
    assert barred([once[has["@ada"]], once[has["ada"]]]) == {"ada"}
    assert not barred([once[has["@ada"]], once[has["ada"]], once[has["ada"]]])


def test_words_of_the_name_of_an_author_name_nothing_unless_many_others_have_them():
    X = np.zeros((6, len(WORDS)), dtype=int)
    X[:3, 2:4] = 1  # three documents with the name
    X[:, 5] = 1  # and six with a word that is the name of another author
    written = ["Ada Lovelace <ada@bbc.com>", "", "", "May", "", ""]
    assert barred(X, written) == {"ada", "lovelace"}
    assert barred(X) == frozenset()


def test_the_name_of_a_file_that_has_most_documents_with_it_names_nothing():
    X = np.zeros((10, len(WORDS)), dtype=int)
    X[:5, 4] = 1
    files = ["feeds/bbc.xml"] * 5 + ["feeds/flood.xml"] * 5
    assert barred(X, sources=files) == {"bbc"}
    X[5:, 4] = 1
    assert barred(X, sources=files) == frozenset()
    assert barred(X, sources=["feeds/bbc.xml"] * 10) == frozenset()
