"""The bound on the vocabulary: forgotten terms, unique ids, and learners with a bound."""

import copy

import numpy as np
import pytest
import watched
import yaml
from contract import EACH, quick
from places import ROOT
from ranks_program import Alone
from scipy import sparse
from studies import batch_of

from odl import learners
from odl.alerts import explain, periods, read
from odl.config import chains, consistency
from odl.config.schema import load_schema
from odl.config.setting import merge
from odl.errors import CheckpointError, ConfigError, DataError
from odl.evaluation import baselines, scorefiles
from odl.files import agentfiles, checkpoints, documents, storage, verify
from odl.files.documents import Documents
from odl.jobs import mpi, runs, update
from odl.learners.sparse_atoms import renumber_terms
from odl.papers import hindsight
from odl.stream import boilerplate, features, terms, weighting

WEIGHTING = {"tf": "raw", "idf": "past", "min_df": 0, "vocabulary": "growing"}
MOST, STEPS, SIZE = 45, 5, 90


def documents_of(t, size=SIZE):
    """Return documents of topics that enter; every third leaves and returns."""
    rng = np.random.default_rng(t)
    batch = batch_of(rng, t, size, ["harvest", "currency", "tanker", "merger"][: 2 + t % 3])
    words = [f"only{t}x{number}" for number in range(25)]
    words += [f"again{number}" for number in range(5 if t % 3 == 0 else 0)]
    more = sparse.csr_array((rng.random((size, len(words))) < 0.06).astype(np.int64))
    counts = sparse.csr_array(sparse.hstack([batch.counts, more]))
    fields = batch.ids, batch.times, batch.topics, batch.titles
    return Documents(counts, batch.vocabulary + words, *fields).select(list(range(size)))


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Return features with and without a bound; the third batch has several blocks."""
    folder = tmp_path_factory.mktemp("stream")
    for name, most in (("bounded", MOST), ("wide", 10_000), ("plain", 0)):
        before = None
        for t in range(STEPS):
            (folder / name).mkdir(exist_ok=True)
            before = features.follow(
                documents_of(t, 600 if t == 2 else SIZE), before, folder / name / f"{t}.h5", most
            )
    return folder


def run_of(algorithm, weights=WEIGHTING, **settings):
    learner = {"algorithm": algorithm, **quick(algorithm), **settings}
    chain = {
        "corpus": "wires",
        "seed": 0,
        "run": "it",
        "atoms": 6,
        "learner": learner,
        "features": weights,
    }
    return runs.parse(chain)


def chain(stream, folder, run, steps=range(STEPS)):
    """Run timesteps; return the bytes of checkpoints and scores."""
    for t in steps:
        source, previous = stream / f"{t}.h5", folder / f"{t - 1}.h5" if t else None
        files = folder / f"{t}.h5", folder / f"scores{t}.h5", folder / f"timings{t}.tsv"
        update.update(source, *files, run=run, before=runs.Before(previous, stream))
    return [(folder / f"{name}{t}.h5").read_bytes() for t in steps for name in ("", "scores")]


def test_those_unseen_for_longest_leave_then_the_rarest_then_the_oldest(rng):
    for n_terms, most in ((40, 25), (40, 40), (40, 0), (3, 10), (0, 5)):
        ids = np.sort(rng.choice(1000, n_terms, replace=False))
        frequencies, last = rng.integers(1, 4, n_terms), rng.integers(0, 4, n_terms)
        order = sorted(
            range(n_terms), key=lambda place: (last[place], frequencies[place], ids[place])
        )
        kept = sorted(order[max(0, n_terms - most) if most else 0 :])
        assert terms.staying(ids, frequencies, last, most).tolist() == kept


def test_a_chain_keeps_to_the_bound_and_no_id_is_used_again(stream):
    """Against a model of dicts from word to id, documents and last timestep."""
    known, numbered, owner = {}, 0, {}
    for t in range(STEPS):
        data = features.read(stream / "bounded" / f"{t}.h5")
        leaving = sorted(known, key=lambda word: (known[word][2], known[word][1], known[word][0]))
        leaving = leaving[: max(0, len(known) - MOST)]
        for word in leaving:
            del known[word]
        batch = documents_of(t, 600 if t == 2 else SIZE)
        for word in batch.vocabulary:
            if word not in known:
                known[word], numbered = [numbered, 0, terms.NEVER], numbered + 1
        held = sorted(known, key=lambda word: known[word][0])
        assert data.vocabulary == held and data.terms.tolist() == [known[word][0] for word in held]
        assert data.frequencies.tolist() == [known[word][1] for word in held]
        assert data.last.tolist() == [known[word][2] for word in held]
        assert (data.n_numbered, data.n_left, data.max_terms) == (numbered, len(leaving), MOST)
        assert len(held) <= MOST + len(batch.vocabulary) and (t == 0 or data.n_left > 0)
        columns = [held.index(word) for word in batch.vocabulary]
        assert np.array_equal(data.counts[:].toarray()[:, columns], batch.counts.toarray())
        assert data.counts[:].has_sorted_indices
        for word, count in zip(
            batch.vocabulary, (batch.counts.toarray() > 0).sum(axis=0).tolist(), strict=True
        ):
            known[word] = [known[word][0], known[word][1] + count, t]
        for word in held:
            assert owner.setdefault(known[word][0], word) == word, "an id was given to another word"
    again = [number for number, word in owner.items() if word == "again0"]
    assert len(again) == 2, "a word that left and came back has to have two ids"


def test_the_fixed_vocabulary_is_what_is_left_of_the_first_batch(stream):
    first = set(features.read(stream / "bounded" / "0.h5").vocabulary)
    data = features.read(stream / "bounded" / "4.h5")
    held = {
        data.vocabulary[column] for column in np.unique(data.weighed(vocabulary="fixed")[:].indices)
    }
    assert held and held <= first and data.n_initial < len(first)
    assert {data.vocabulary[column] for column in range(data.n_initial)} == {
        word
        for word, number in zip(data.vocabulary, data.terms, strict=True)
        if number < len(first)
    }


@pytest.mark.parametrize("name", EACH)
def test_a_bound_that_is_never_reached_changes_no_result(stream, tmp_path, name):
    run = run_of(name)
    plain = chain(stream / "plain", tmp_path / "plain", run)
    wide = chain(stream / "wide", tmp_path / "wide", run)
    assert len(plain) == len(wide)
    for t in range(STEPS):
        one, other = (
            checkpoints.read_checkpoint(tmp_path / kind / f"{t}.h5") for kind in ("plain", "wide")
        )
        assert one.terms is None and np.array_equal(other.terms, np.arange(len(other.terms)))
        for key in one.arrays:
            assert np.array_equal(dense(one.arrays[key]), dense(other.arrays[key])), key
        assert np.array_equal(one.dictionary.toarray(), other.dictionary.toarray())
        assert np.array_equal(one.codes.toarray(), other.codes.toarray())


def dense(value):
    return value.toarray() if sparse.issparse(value) else value


@pytest.mark.parametrize("name", EACH)
def test_a_run_resumed_has_the_same_bytes(stream, tmp_path, name):
    run = run_of(name)
    whole = chain(stream / "bounded", tmp_path / "whole", run)
    first = chain(stream / "bounded", tmp_path / "parts", run, range(3))
    assert first + chain(stream / "bounded", tmp_path / "parts", run, range(3, STEPS)) == whole


@pytest.mark.parametrize("name", EACH)
def test_a_checkpoint_holds_the_terms_known_and_no_others(stream, tmp_path, name):
    """Atoms retain their numbers; only forgotten words are removed from them."""
    run = run_of(name)
    chain(stream / "bounded", tmp_path, run)
    for t in range(STEPS):
        data = features.read(stream / "bounded" / f"{t}.h5")
        held = checkpoints.read_checkpoint(tmp_path / f"{t}.h5")
        assert np.array_equal(held.terms, data.terms) and held.dictionary.shape[0] == len(
            data.terms
        )
        for key, spec in run.learner.array_specs.items():
            if "terms" in spec.shape:
                assert held.arrays[key].shape[spec.shape.index("terms")] == len(data.terms)
        if t == 0:
            continue
        before = checkpoints.read_checkpoint(tmp_path / f"{t - 1}.h5")
        state = runs.open_timestep(
            stream / "bounded" / f"{t}.h5", run, tmp_path / f"{t - 1}.h5"
        ).state
        assert set(before.terms) - set(data.terms), "nothing left"
        wanted = by_id(before.dictionary, before.terms, data.terms)
        if "size" in before.arrays:
            scale = np.linalg.norm(wanted, axis=0)
            wanted = wanted / np.where(scale > 0, scale, 1.0)
            assert np.allclose(state.arrays["size"], before.arrays["size"] * scale, atol=1e-12)
        assert np.allclose(state.dictionary.toarray(), wanted, atol=1e-12)
        for key, spec in run.learner.array_specs.items():
            if spec.shape == ("terms", "atoms"):
                assert np.array_equal(
                    dense(state.arrays[key]), by_id(before.arrays[key], before.terms, data.terms)
                )
            elif spec.shape == ("positions", "terms"):
                wanted = by_id(before.arrays[key].T, before.terms, data.terms).T
                assert np.array_equal(dense(state.arrays[key][:]), wanted)


def by_id(matrix, held, wanted):
    """Return the rows of a matrix in the order of the ids of the terms."""
    matrix, place = dense(matrix), {number: row for row, number in enumerate(held.tolist())}
    zero = np.zeros(matrix.shape[1])
    return np.array(
        [matrix[place[number]] if number in place else zero for number in wanted.tolist()]
    )


@pytest.mark.parametrize("name", ["adaptive", "levels"])
def test_an_atom_whose_words_have_all_left_makes_room(name, rng):
    P = sparse.random_array((40, 30), density=0.3, format="csr", rng=rng)
    P.data /= np.repeat(np.sqrt(np.asarray((P * P).sum(axis=1)).ravel()), np.diff(P.indptr))
    learner = learners.make(name, **({"memory": 600, "terms": 70} if name == "levels" else {}))
    state = learner.start(P, 8, rng)
    places = np.where(np.isin(np.arange(30), state.dictionary[:, [3]].indices), -1, 0)
    places[places == 0] = np.arange((places == 0).sum())
    n_terms = int(places.max()) + 1
    after = learner.move_terms(state, places, n_terms)
    assert after.dictionary.shape == (n_terms, state.dictionary.shape[1])
    assert after.arrays["size"][3] == 0 and after.arrays["members"][3] < 1e-6
    fresh = sparse.csr_array(
        (np.full(10, 10**-0.5), (np.zeros(10, int), n_terms + np.arange(10))), (1, n_terms + 10)
    )
    learned = learner.learn(learner.fit_terms(after, n_terms + 10), fresh, None)
    assert all(
        np.isfinite(dense(value)).all() for value in [learned.dictionary, *learned.arrays.values()]
    )
    assert np.allclose(learned.dictionary[:, [3]].toarray().ravel()[n_terms:], 10**-0.5), (
        "its place was not given on"
    )


def test_terms_of_any_layout_move(rng):
    matrix, places = (
        sparse.random_array((6, 4), density=0.6, format="csr", rng=rng),
        np.array([0, -1, 1, -1, 2, 3]),
    )
    wanted = matrix.toarray()[places >= 0]
    for value in (matrix, matrix.tocsc()):
        found = renumber_terms(value, ("terms", "atoms"), places, 5)
        assert found.format == value.format and np.array_equal(found.toarray()[:4], wanted)
        found = renumber_terms(value.T, ("positions", "terms"), places, 5)
        assert found.format == value.T.format and np.array_equal(found.toarray()[:, :4], wanted.T)
    array = np.ones(3)
    assert renumber_terms(array, ("atoms",), places, 5) is array


def test_documents_of_the_past_keep_the_words_that_have_left(stream):
    """Nearest neighbours by words; a word that was forgotten and returns is another term."""
    data = [features.read(stream / "bounded" / f"{t}.h5") for t in range(STEPS)]
    batch, total = data[4], data[4].n_numbered
    known = np.zeros(total)
    known[batch.terms] = batch.frequencies
    idf = np.log((1 + batch.n_before) / (1 + known)) + 1

    def weighed(part):
        wide = np.zeros((part.counts.shape[0], total))
        wide[:, part.terms] = part.counts[:].toarray()
        wide *= idf
        return wide / np.maximum(np.linalg.norm(wide, axis=1), 1e-300)[:, None]

    cosines = weighed(batch) @ np.vstack([weighed(part) for part in data[:4]]).T
    found = baselines.nearest(batch, data[:4], {"tfidf": "raw"})
    assert np.allclose(found["nearest-tfidf"], 1 - cosines.max(axis=1), atol=1e-12)
    assert np.allclose(
        found["nearest5-tfidf"], 1 - np.sort(cosines, axis=1)[:, -5:].mean(axis=1), atol=1e-12
    )


def test_learners_of_the_past_see_what_is_left_of_it(stream):
    run = run_of("batch")
    step = runs.open_documents(stream / "bounded" / "3.h5", run)
    past = update._past(step, stream / "bounded", run)
    for t, P in enumerate(past):
        data = features.read(stream / "bounded" / f"{t}.h5")
        wanted = by_id(data.weighed(norm="l1")[:].toarray().T, data.terms, step.data.terms).T
        assert np.array_equal(P.toarray(), wanted)
    assert any(P.sum() < P.shape[0] - 1e-6 for P in past)


@pytest.mark.slow
def test_agents_on_ranks_hold_the_terms_that_one_process_does(stream, tmp_path):
    run = run_of("diffusion", network="ring", degree=2, agents=6, rounds=1, iterations=10)
    chain(stream / "bounded", tmp_path, run, range(3))
    for t in range(3):
        source, state = stream / "bounded" / f"{t}.h5", tmp_path / "ranks" / f"{t}.h5"
        previous = tmp_path / "ranks" / f"{t - 1}.h5" if t else None
        mpi.work(Alone(), source, state, tmp_path / "timings.tsv", run=run, previous=previous)
        mpi.collect(source, state, tmp_path / f"collected{t}.h5", run=run, previous=previous)
        one, other = checkpoints.read_checkpoint(tmp_path / f"{t}.h5"), agentfiles.read_whole(state)
        assert np.array_equal(one.terms, other.terms)
        assert np.allclose(one.dictionary.toarray(), other.dictionary.toarray(), atol=1e-10)
        found = [
            scorefiles.read_parts(tmp_path / f"{name}{t}.h5")[0] for name in ("scores", "collected")
        ]
        assert np.allclose(*found, atol=1e-10)


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    """Return alerts of a stream with a bound, in which each period has words of its own."""
    root = tmp_path_factory.mktemp("watch")
    watched.follow(root, watched.run_of(atoms=20), settings={"gates": True}, max_terms=200)
    return root


@pytest.mark.slow
def test_alerts_go_on_with_the_terms_that_are_left(watch, tmp_path):
    found = read.alerts_of(watch)
    (event,) = [
        event
        for event in found.events.values()
        if {"rocket", "launch", "mission"} & set(event.name)
    ]
    assert event.birth == 3 and event.size > 25 and event.state == "returning"
    place = read.place_of(watch)
    carried = periods.read_carried(f"{place.alerts}/12.h5")
    data = features.read(f"{place.features}/12.h5")
    assert np.array_equal(carried.terms, data.terms) and carried.past.events.weight.shape[1] == len(
        data.terms
    )
    assert data.n_numbered > len(data.terms) and data.n_left
    for t in (4, 12):
        record = periods.read(f"{place.alerts}/{t}.h5", shares=True)
        row = int(np.argmax(record.score))
        alert, earlier, _ = explain.explain_document(place, t, row)
        assert sum(reason.share for reason in alert.reasons) + alert.context == pytest.approx(
            alert.score, abs=1e-5
        )
        words = set(features.read(f"{place.features}/{t}.h5").vocabulary)
        assert {reason.word for reason in alert.reasons} <= words and (
            earlier is None or earlier[1] <= 1 + 1e-9
        )
    assert verify.verify(watch)[1] == []


@pytest.mark.slow
def test_the_counts_are_said(stream, watch, tmp_path):
    data = features.read(stream / "bounded" / "4.h5")
    gone = data.n_numbered - data.counts.shape[1]
    assert data.n_left > 0
    documents.write(tmp_path / "documents.h5", documents_of(0), "documents")
    said = boilerplate.sentence(tmp_path / "documents.h5", stream / "bounded" / "4.h5")
    assert said == f"{gone} words, unseen for the longest time, were forgotten (max_terms {MOST})"
    assert boilerplate.sentence(tmp_path / "documents.h5", stream / "plain" / "4.h5") == ""


def test_another_bound_along_a_chain_is_refused(stream, tmp_path):
    for kind, most in (("bounded", MOST + 1), ("bounded", 0), ("plain", MOST)):
        with pytest.raises(DataError, match="the same max_terms for the entire stream"):
            features.follow(
                documents_of(1), features.read(stream / kind / "0.h5"), tmp_path / "x.h5", most
            )
        assert not (tmp_path / "x.h5").exists()
    chain(stream / "plain", tmp_path / "plain", run_of("dual_averaging"), range(2))
    with pytest.raises(CheckpointError, match="is unbounded, unlike that of the features"):
        runs.open_timestep(
            stream / "bounded" / "2.h5", run_of("dual_averaging"), tmp_path / "plain" / "1.h5"
        )
    with pytest.raises(DataError, match="appended"):
        terms.aligned(
            features.read(stream / "bounded" / "0.h5"), features.read(stream / "plain" / "1.h5")
        )


def test_what_needs_terms_that_have_left_is_refused(stream, tmp_path):
    assert weighting.Weighting(idf="none")
    chain(stream / "bounded", tmp_path, run_of("dual_averaging"), range(2))
    with pytest.raises(DataError, match="has a bounded vocabulary"):
        hindsight.read_steps(
            [tmp_path / f"{t}.h5" for t in (0, 1)], [stream / "bounded" / f"{t}.h5" for t in (0, 1)]
        )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": {"idf": "corpus"}}, "run 'levels' has idf 'corpus'"),
        ({"learners": {"admm": {"features": {"idf": "corpus"}}}}, "run 'admm' has idf 'corpus'"),
        ({"regret": {"enabled": True}}, "regret is enabled"),
        ({"features": {"max_terms": -1}}, "features.max_terms is -1"),
    ],
)
def test_a_configuration_that_needs_them_is_refused(change, said):
    defaults = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    schema = load_schema(ROOT / "workflow" / "schemas" / "config.schema.json")
    bounded = copy.deepcopy(change)
    bounded["features"] = {"max_terms": 100, **bounded.get("features", {})}
    with pytest.raises(ConfigError, match=said):
        consistency.check_config(merge(bounded, defaults), schema)
    fine = merge({"features": {"max_terms": 100}}, defaults)
    consistency.check_config(fine, schema)
    run = chains.run_of(fine, "admm")
    assert run["features"] == WEIGHTING, "the bound is no setting of a run"


class TestMatrix:
    """Row ranges of a matrix in a file."""

    def matrix(self, rng):
        return sparse.random_array((5000, 300), density=0.1, format="csr", rng=rng)

    def test_ranges_of_rows_are_those_of_the_whole(self, rng, tmp_path):
        P, words = self.matrix(rng), [f"word{number}" for number in range(200)]
        with storage.writing(tmp_path / "whole.h5", "test") as file:
            storage.write_csr(file, "matrix", P)
            storage.write_strings(file, "words", words)
        with storage.reading(tmp_path / "whole.h5", "test") as source:
            held = terms.Matrix(source, "matrix")
            assert (held[:] != P).nnz == 0 and (held[4000:4100] != P[4000:4100]).nnz == 0
            with storage.writing(tmp_path / "again.h5", "test") as file:
                storage.copy_array(source, file, "words")
                assert storage.read_strings(file, "words") == words
