"""Pieces of words, the choice of their weight, and their shares of words."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from odl import TextNovelty, corpora, learners, novelty
from odl.errors import ParameterError
from odl.stream import features, pieces, weighting
from odl.text.tokens import count_words

WORDS = ["oil", "in", "tanker", "tankers", "東京", "京都", "タワー", "банками", "𝄞𝄞𝄞𝄞𝄞", "a"]


def letters_of(word):
    if word in ("東京", "京都"):
        return {*word}
    return {f" {word} "[at : at + 4] for at in range(max(1, len(word) - 1))}


def test_pieces_are_runs_of_four_characters_and_those_of_pairs_single_ones():
    table = pieces.table(WORDS)
    assert np.diff(table.indptr).tolist() == [len(letters_of(word)) for word in WORDS]
    shared = (table.astype(bool).astype(int) @ table.astype(bool).astype(int).T).toarray()
    assert shared.tolist() == [
        [len(letters_of(one) & letters_of(other)) for other in WORDS] for one in WORDS
    ]
    assert sorted(pieces.table(["aaaaaa"]).data.tolist()) == [1, 1, 3]
    assert pieces.table([]).shape == (0, pieces.BUCKETS)
    assert (
        pieces.table(WORDS[::-1])[::-1] != table
    ).nnz == 0  # the column of a piece depends on it alone


def sentences(forms, documents=600):
    rng = np.random.default_rng(0)
    texts = [
        " ".join(f"{rng.choice(forms[0])}{rng.choice(forms[1])}" for _ in range(8))
        for _ in range(documents)
    ]
    return count_words(texts, {"tokeniser": "words", "stop_words": None})


@pytest.mark.slow
def test_the_weight_is_large_where_words_are_inflected():
    stems = ["".join(part) for part in np.random.default_rng(1).choice(list("aeiknst"), (300, 5))]
    endings = ["".join(part) for part in np.random.default_rng(2).choice(list("aeiou"), (100, 3))]
    assert pieces.weight(*sentences((stems, [""]))) == 0
    assert pieces.weight(*sentences((stems, endings))) == pieces.MAX_WEIGHT
    names = [f"name{number}" for number in range(500)]
    for common, told in (
        (7, 0.75),
        (9, 0.5),
        (12, 0.25),
        (14, 0),
    ):  # 500 of 500 * (1 + common) running words
        once = csr_array(np.hstack([np.eye(500), np.ones((500, common))]))
        often = [f"w{number}" for number in range(common)]
        assert pieces.weight(once, [*names, *often]) == told
        assert pieces.weight(
            once, [*(f"東{chr(0x4E00 + number)}" for number in range(500)), *often]
        ) == min(told, 0.4)
        for other in (
            [f"{number:x}"[-2:] for number in range(500)],
            [f"กา{chr(0xE01 + number % 46)}" for number in range(500)],
        ):
            assert pieces.weight(once, [*other, *often]) == 0  # too short, parts of runs
    pairs = [
        "".join(part) for part in np.random.default_rng(3).choice(list("日本語文字人大"), (40, 2))
    ]
    assert pieces.weight(*sentences((pairs, [""]))) == 0


@pytest.fixture(scope="module")
def stream():
    corpus = corpora.read("simulation", options={"documents": 240, "days": 6})
    past = features.follow(corpus.select(range(120)))
    return past, features.follow(corpus.select(range(120, 180)), past)


def test_the_cosine_is_the_mix(stream):
    _, batch = stream
    words, both = (
        batch.weighed(norm="l2", tf="log")[:],
        batch.weighed(norm="l2", tf="log", pieces=0.3),
    )
    P = both[:]
    assert P.shape == both.shape == (60, pieces.BUCKETS + words.shape[1])
    own = P[:, : pieces.BUCKETS] / np.sqrt(0.3)
    mix = 0.3 * (own @ own.T) + 0.7 * (words @ words.T)
    np.testing.assert_allclose((P @ P.T).toarray(), mix.toarray(), atol=1e-12)
    np.testing.assert_allclose(batch.weighed(norm="l1", pieces=0.3)[:].sum(axis=1), 1.0)
    np.testing.assert_array_equal(both[7:9].toarray(), P[7:9].toarray())


def test_a_piece_counts_once_for_each_of_its_words():
    table = weighting.Pieces(["tanker", "tankers", "oil"], np.array([2, 3, 9]), 10, 0.5)
    # oil_, _oil; ers_, kers; ker_; _tan, tank, anke, nker
    assert sorted(table.frequencies[table.frequencies > 0].tolist()) == [2, 3, 3, 5, 5, 5, 5, 9, 9]


@pytest.mark.parametrize("max_share", [1.0, 0.2])
def test_shares_of_pieces_go_to_their_words(stream, max_share):
    past, batch = stream
    learner = learners.make("levels")
    start, now = (
        data.weighed(norm="l2", tf="log", pieces=0.4, max_share=max_share) for data in (past, batch)
    )
    state = learner.start(start[:], 1, np.random.default_rng(0))
    P = now[:]
    state = learner.fit_terms(state, P.shape[1])
    found = novelty.score(learner, state, P)
    shares, _ = novelty.shares(learner, state, P, found)
    words = now.pieces.folded(shares, batch.counts[:])
    np.testing.assert_allclose(words.sum(axis=1), shares.sum(axis=1), atol=1e-12)
    # by hand: one document, one word after another
    row, n, table, of = (
        5,
        pieces.BUCKETS,
        pieces.table(batch.vocabulary),
        shares[[5]].toarray().ravel(),
    )
    kept, counted = P[[row]].indices - n, batch.counts[:][[row]].toarray().ravel()
    counts = {term: counted[term] for term in kept[kept >= 0].tolist()}
    for term in list(counts)[:5]:
        expected = of[n + term]
        for column, times in zip(
            table[[term]].indices.tolist(), table[[term]].data.tolist(), strict=True
        ):
            whole = sum(counts[other] * table[other, column] for other in counts)
            expected += of[column] * counts[term] * times / whole
        assert words[row, term] == pytest.approx(expected)


def test_forms_of_known_words_are_no_news(tmp_path):
    stems, endings = (
        ("banka", "laiva", "metsä", "hinta", "tanko"),
        ("ssa", "sta", "lla", "lta", "lle", "ksi", "na"),
    )
    texts = [
        " ".join(stems[(row + at) % 5] + endings[(row * at) % 3] for at in range(4))
        for row in range(60)
    ]
    new = ["bankana laivaksi metsälle hintalta", "raketti kiertää kuuta hitaasti"]
    scores = {}
    for share in (0.0, 0.6):
        stream = TextNovelty(pieces=share, tokens={"stop_words": None})
        stream.update(texts)
        stream.save(tmp_path / "stream.h5")
        scores[share] = stream.judge(new).score.tolist()
        again = TextNovelty.load(tmp_path / "stream.h5")
        assert again.judge(new).score.tolist() == scores[share] and again.pieces == share
        (why, other) = again.explain(new)
        assert set(why.words) == set(new[0].split()) and set(other.words) == set(new[1].split())
        assert sum(why.words.values()) + why.context == pytest.approx(why.score)
        assert {word for atom in why.atoms for word, _ in atom.words} <= set(
            " ".join(texts).split()
        )
        assert again.update(new).reasons.tolist()[1].split(", ")[0] in new[1]
    assert scores[0.0] == [1, 1]
    assert scores[0.6][0] < 0.9 < scores[0.6][1]


def test_pieces_are_for_learners_that_open_atoms():
    with pytest.raises(ParameterError, match="learners levels and adaptive"):
        TextNovelty("dual_averaging", 2, pieces=0.5).update(["oil tanker", "crude oil"])
