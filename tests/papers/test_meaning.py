"""Words and vectors together: the weight chosen from the past, the neighbours by both."""

import numpy as np
import pytest
from cosines import dense_cosines, make_documents
from scipy import sparse

from odl.evaluation import metrics
from odl.papers import rivals
from odl.papers.rivals import meaning as meaning_weight
from odl.papers.rivals.meaning import FusedRanks, Joined, NearestMeaning
from odl.stream import features


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def made(rng, clear_words, clear_vectors, n=300, topics=12):
    """Documents of topics whose words, or vectors, tell the topics apart more or less clearly."""
    topic = rng.integers(topics, size=n)
    centres = rng.random((topics, 80)) ** 4, rng.normal(size=(topics, 16))
    words = np.where(rng.random((n, 80)) < 0.15, rng.random((n, 80)), 0) + clear_words * centres[0][topic] * (
        rng.random((n, 80)) < 0.3
    )
    vectors = rng.normal(size=(n, 16)) + clear_vectors * centres[1][topic]
    return sparse.csr_array(unit(words)), unit(vectors), topic


def quality(P, E, topic):
    """AUC of each weight, for each topic in turn held out of the past."""
    words, meaning, found = (P @ P.T).toarray(), E @ E.T, np.zeros(11)
    for name in range(12):
        past = topic != name
        for number, weight in enumerate(meaning_weight.WEIGHTS):
            cosines = (1 - weight) * words + weight * meaning - 9 * np.eye(len(topic))
            found[number] += metrics.auc(five(cosines[:, past]), (topic == name).astype(int)) / 12
    return found


@pytest.mark.parametrize("clear", [(3, 0), (1, 1), (2, 1)])
def test_the_weight_from_the_past_loses_little(rng, clear):
    P, E, topic = made(rng, *clear)
    weight = meaning_weight.weight_of(
        [meaning_weight.separation(P, E, np.random.default_rng(seed)) for seed in range(3)]
    )
    found = quality(P, E, topic)
    chosen = found[np.flatnonzero(weight == meaning_weight.WEIGHTS)[0]]
    assert chosen >= found.max() - 0.03 and chosen > min(found[0], found[-1]) + 0.02
    assert (weight == 0) == (clear == (3, 0))  # vectors that say nothing


def test_nothing_is_chosen_where_nothing_is_known(rng):
    assert meaning_weight.weight_of([]) == 0.0
    assert not meaning_weight.separation(*made(rng, 1, 1, n=20)[:2], rng).any()


def test_joint_rows_have_the_weighted_cosine(rng):
    P, E, _ = made(rng, 1, 1, n=30)
    joined = meaning_weight.joined(P, E, 0.3)
    assert np.allclose((joined @ joined.T).toarray(), 0.7 * (P @ P.T).toarray() + 0.3 * E @ E.T)


def test_separation_by_one_pseudo_topic_at_a_time(rng, monkeypatch):
    same_twice = 2 * [np.eye(9) + 0.1 * rng.random((9, 9))]
    assert np.isclose(meaning_weight._agreement(*same_twice), np.mean([7.5, 6.5, 5.5, 4.5, 3.5]) / 8)
    for name, value in {"AGREEMENT": 0, "TOPICS": 2, "MEMBERS": 6, "OTHERS": 9, "NEAREST": 2}.items():
        monkeypatch.setattr(meaning_weight, name, value)
    P, E, _ = made(rng, 1, 1, n=40)
    found, same = meaning_weight.separation(P, E, np.random.default_rng(1)), np.random.default_rng(1)
    words, meaning, expected = (P @ P.T).toarray(), E @ E.T, np.zeros(11)
    for share, by in ((0.25, "w"), (0.25, "v"), (0.5, "wv")):
        for _ in range(2):
            first = same.integers(40)
            place = np.zeros(40)
            for view in by:
                order = sorted(range(40), key=lambda row: -{"w": words, "v": meaning}[view][first, row])
                place[order] += np.arange(40)
            members = sorted(range(40), key=lambda row: place[row])[:6]
            others = same.choice([row for row in range(40) if row not in members], 9, replace=False)
            for number in range(11):
                cosines = (1 - number / 10) * words + number / 10 * meaning
                scores = []
                for row in [*members, *others]:
                    rest = [cosines[row, other] for other in range(40) if other not in members and other != row]
                    scores.append(-np.mean(sorted(rest)[-2:]))
                expected[number] += share / 2 * metrics.auc(scores, [1] * 6 + [0] * 9)
    assert np.allclose(found, expected)


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


def test_neighbours_by_vectors_by_ranks_and_joined(chain):
    made = {}
    for one in (NearestMeaning, FusedRanks, Joined):
        made[one.NAME] = one(3)
        for batch in chain[:-1]:
            made[one.NAME].learn(batch)
    words, meaning = cosines_of(chain)
    scores = {name: rival.score(chain[-1]) for name, rival in made.items()}
    assert np.allclose(scores["nearest5-vectors"], five(meaning))

    def ranks(values):
        values = values.round(10)
        return np.array([np.mean(values < value) + np.mean(values == value) / 2 for value in values])

    assert np.allclose(scores["nearest5-ranks"], (ranks(five(words)) + ranks(five(meaning))) / 2)
    weight = made["nearest5-joined"].weight
    assert len(made["nearest5-joined"].found) == 2 and weight in meaning_weight.WEIGHTS
    assert np.allclose(scores["nearest5-joined"], five((1 - weight) * words + weight * meaning))
    made["nearest5-joined"].found = [np.arange(11.0)]
    assert np.allclose(made["nearest5-joined"].score(chain[-1]), five(meaning))
    numbers = 70 * 5, 70 * 5 + sum(batch.counts.nnz for batch in chain[:-1])
    assert [rival.stored for rival in made.values()] == [numbers[0], numbers[1], numbers[1]]
    inside = (made["nearest5-ranks"].rows(chain[-1]) @ made["nearest5-ranks"].rows(chain[-1]).T).toarray()
    P, E = chain[-1].weighed(norm="l2", tf="log")[:].toarray(), chain[-1].vectors
    assert np.allclose(inside, (P @ P.T + E @ E.T) / 2)
    assert set(rivals.names(False, "vectors")) == set(made)
