"""Words and vectors together: the weight by length, the neighbours by both."""

import numpy as np
import pytest
from cosines import dense_cosines, make_documents
from scipy import sparse

from odl.papers import rivals
from odl.papers.rivals.meaning import FusedRanks, NearestMeaning, join_views
from odl.stream import features


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def made(rng, clear_words, clear_vectors, n=300, topics=12):
    """Documents of topics whose words, or vectors, tell the topics apart more or less clearly."""
    topic = rng.integers(topics, size=n)
    centres = rng.random((topics, 80)) ** 4, rng.normal(size=(topics, 16))
    words = np.where(rng.random((n, 80)) < 0.15, rng.random((n, 80)), 0) + clear_words * centres[0][
        topic
    ] * (rng.random((n, 80)) < 0.3)
    vectors = rng.normal(size=(n, 16)) + clear_vectors * centres[1][topic]
    return sparse.csr_array(unit(words)), unit(vectors), topic


def test_joint_rows_have_the_weighted_cosine(rng):
    P, E, _ = made(rng, 1, 1, n=30)
    rows = join_views(P, E, 0.3)
    assert np.allclose((rows @ rows.T).toarray(), 0.7 * (P @ P.T).toarray() + 0.3 * E @ E.T)


@pytest.fixture
def chain(rng):
    found = []
    for first, n in enumerate((40, 30, 50)):
        documents = make_documents(rng, first, n)
        documents.vectors = rng.normal(size=(n, 5)).astype(np.float32) + 1
        documents.vectors[3] = 0
        found.append(features.follow(documents, found[-1] if found else None))
    return found


def cosines_of(chain):
    """Cosines of the last batch to all before, by words and by vectors, from dense arrays."""
    raw = [unit(batch.raw_vectors.astype(float)) for batch in chain]
    past = np.concatenate(raw[:-1])
    mean = past.mean(axis=0)

    def centred(rows):
        return unit(np.where(rows.any(axis=1, keepdims=True), rows - mean, 0))

    return dense_cosines(chain[-1], chain[:-1], "log"), centred(raw[-1]) @ centred(past).T


def five(cosines):
    return 1 - np.sort(cosines, axis=1)[:, -5:].mean(axis=1)


def test_neighbours_by_vectors_and_by_both(chain):
    made = {}
    for one in (NearestMeaning, FusedRanks):
        made[one.NAME] = one(3)
        for batch in chain[:-1]:
            made[one.NAME].learn(batch)
    words, meaning = cosines_of(chain)
    scores = {name: rival.score(chain[-1]) for name, rival in made.items()}
    assert np.allclose(scores["nearest5-vectors"], five(meaning))

    def ranks(values):
        values = values.round(10)
        return np.array(
            [np.mean(values < value) + np.mean(values == value) / 2 for value in values]
        )

    lengths = np.concatenate([(batch.counts[:].toarray() > 0).sum(axis=1) for batch in chain[:-1]])
    weight = min(2 / 3, 16 / (16 + np.median(lengths)))
    assert np.allclose(
        scores["nearest5-ranks"], (1 - weight) * ranks(five(words)) + weight * ranks(five(meaning))
    )
    numbers = 70 * 5, 70 * 5 + sum(batch.counts.nnz for batch in chain[:-1])
    assert [rival.stored for rival in made.values()] == list(numbers)
    inside = (
        made["nearest5-ranks"].rows(chain[-1]) @ made["nearest5-ranks"].rows(chain[-1]).T
    ).toarray()
    P, E = chain[-1].weighed(norm="l2", tf="log")[:].toarray(), chain[-1].vectors
    assert np.allclose(inside, (1 - weight) * P @ P.T + weight * E @ E.T)
    assert set(rivals.names("vectors")) == set(made)
