"""Passages of documents."""

import numpy as np
from scipy import sparse

from odl.files.passages import Passages


def test_select_takes_the_passages_of_documents_in_their_order():
    words = sparse.csr_array(np.arange(12).reshape(4, 3))
    keys, sizes = np.array([7, 8, 9, 6], np.uint64), np.array([30, 40, 50, 60], np.int32)
    all_passages = Passages(np.array([0, 1, 1, 4]), keys, sizes, words)
    some = all_passages.select([2, 1, 0], [2, 0])
    assert some.starts.tolist() == [0, 3, 3, 4] and some.keys.tolist() == [8, 9, 6, 7]
    assert some.sizes.tolist() == [40, 50, 60, 30]
    assert some.words.toarray().tolist() == [[5, 3], [8, 6], [11, 9], [2, 0]]
