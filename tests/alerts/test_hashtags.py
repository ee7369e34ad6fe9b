"""Words with and without a "#" count as one."""

import numpy as np
from scipy import sparse

from odl.alerts import hashtags
from odl.alerts.decision import PeriodDocuments

WORDS = ["rain", "#oscars", "#rain", "oscars", "#snow"]


def test_documents_with_either_spelling_are_counted_together():
    X = sparse.csr_array(np.array([[1, 1, 0, 2, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0.0]]))
    nothing, before = np.zeros(3, dtype=np.int64), X.copy()
    given = PeriodDocuments(
        1, nothing, nothing > 0, X, X, X, WORDS, np.array([5, 4, 3, 2, 1]), 9, nothing, [""] * 3
    )
    found = hashtags.join_hashtags(given)
    assert found.counts.toarray().tolist() == [[1, 3, 0, 0, 0], [1, 0, 0, 0, 1], [0, 1, 0, 0, 0]]
    assert np.bincount(found.titled.indices, minlength=5).tolist() == [2, 2, 0, 0, 1]
    assert found.vocabulary == ["rain", "oscars", "#rain", "oscars", "#snow"]
    assert found.frequencies.tolist() == [8, 6, 3, 2, 1]
    assert (
        (given.counts != before).nnz == 0
        and given.vocabulary is WORDS
        and given.frequencies[0] == 5
    )
    plain = given._replace(vocabulary=["a", "#b", "c", "d", "#e"])
    assert hashtags.join_hashtags(plain) is plain


def test_words_of_a_document_are_found_by_both_spellings():
    assert hashtags.with_bare({"#rain", "snow"}) == {"#rain", "rain", "snow"}
