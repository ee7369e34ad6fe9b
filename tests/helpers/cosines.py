"""Drawn batches of documents, and their cosines with the past by the definition."""

import numpy as np
from scipy import sparse

from odl.files.documents import Documents
from odl.stream import features


def make_documents(rng, first, n, words=60, growth=10):
    """A batch whose words drift upwards with `first`, some documents empty."""
    lengths = rng.integers(0, 25, size=n)
    rows = np.repeat(np.arange(n), lengths)
    columns = rng.integers(0, words + growth * first, size=lengths.sum())
    counts = sparse.csr_array(
        (np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(n, words + growth * first)
    )
    return Documents(
        counts=counts,
        vocabulary=[f"w{column:03d}" for column in range(counts.shape[1])],
        ids=[f"b{first}d{row}" for row in range(n)],
        times=np.arange(n) + 1000 * first,
        topics=[
            (f"topic{(row + first) % (4 + first)}", "second") if row % 9 else () for row in range(n)
        ],
        titles=[""] * n,
    ).select(list(range(n)))


def make_chain(rng, sizes):
    chain = []
    for first, n in enumerate(sizes):
        chain.append(features.follow(make_documents(rng, first, n), chain[-1] if chain else None))
    return chain


def dense_cosines(batch, past, form):
    """All cosines with the past, from dense arrays and the definition."""
    n_terms = batch.counts.shape[1]
    idf = np.log((1 + batch.n_before) / (1 + batch.frequencies)) + 1

    def weighted(counts):
        dense = np.zeros((counts.shape[0], n_terms))
        dense[:, : counts.shape[1]] = counts.toarray()
        if form == "log":
            dense = np.where(dense > 0, 1 + np.log(np.maximum(dense, 1)), 0)
        dense = dense * idf
        sizes = np.linalg.norm(dense, axis=1, keepdims=True)
        return np.divide(dense, sizes, out=np.zeros_like(dense), where=sizes > 0)

    return (
        weighted(batch.counts[:]) @ np.vstack([weighted(earlier.counts[:]) for earlier in past]).T
    )
