"""Documents whose words are letters, and three batches of them one after the other."""

import numpy as np
from scipy import sparse

from odl.files.documents import NO_TIME, Documents
from odl.stream import features


def batch(rng, words, n=12, topics=None, start=0):
    """Return documents with a Poisson number of each word."""
    counts = sparse.csr_array(rng.poisson(0.7, (n, len(words))))
    ids = [f"d{start + row}" for row in range(n)]
    return Documents(
        counts, list(words), ids, np.full(n, NO_TIME), topics or [("a",)] * n, [""] * n
    )


def three_batches(rng):
    """Return the features of three batches, of which two bring new words."""
    first = features.follow(batch(rng, "abcdef"))
    second = features.follow(
        batch(rng, "cdefgh", start=12, topics=[("b",), (), ("a", "c"), ("c", "a")] * 3), first
    )
    third = features.follow(batch(rng, "hgfzy", start=24, topics=[("b",)] * 12), second)
    return [first, second, third]
