"""Words hashed to buckets: hashes that never change, constant size, the words that are shown, learners' promises."""

import copy
from collections import Counter

import h5py
import numpy as np
import pytest
import watched
import yaml
from contract import ALL, quick
from fuzzing import edited
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from scipy import sparse
from test_terms import chain, documents_of

from odl import config
from odl.alerts import explain, periods, read
from odl.config import consistency
from odl.errors import CheckpointError, ConfigError, DataError, ParameterError, StorageError
from odl.evaluation import baselines
from odl.evaluation.scorefiles import read_scores
from odl.files import checkpoints, documents, rows, verify
from odl.files.documents import Documents
from odl.jobs import runs
from odl.papers import emerging, regrettables
from odl.stream import buckets, features, losses

WEIGHTING = {"tf": "raw", "idf": "past", "min_df": 0, "vocabulary": "growing"}
FEW, STEPS, SIZE = 50, 4, 90  # buckets of some 150 words
PINNED = {
    "oil": 4621355,
    "tanker": 15122484,
    "größe": 14809332,
    "нефть": 1247420,
    "石油": 16349664,
    "🛢": 16365973,
    "": 10528484,
}


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Features in few buckets, in many, and without; the third batch is of more than one block."""
    folder = tmp_path_factory.mktemp("stream")
    for name, number in (("few", FEW), ("many", 1 << 16), ("plain", 0)):
        before = None
        for t in range(STEPS):
            (folder / name).mkdir(exist_ok=True)
            documents = documents_of(t, 600 if t == 2 else SIZE)
            before = features.follow(documents, before, folder / name / f"{t}.h5", hash_terms=number)
    return folder


def run_of(algorithm, number=FEW, **settings):
    learner = {"algorithm": algorithm, **quick(algorithm), **settings}
    named = {"corpus": "wires", "seed": 0, "run": "it", "atoms": 6, "learner": learner, "features": WEIGHTING}
    return runs.parse({**named, "hash_terms": number} if number else named)


def test_the_bucket_of_a_word_never_changes():
    """Of BLAKE2b (RFC 7693) in eight bytes; another value would mix up the columns of streams that exist."""
    assert dict(zip(PINNED, buckets.buckets_of(PINNED, 1 << 24).tolist(), strict=True)) == PINNED
    assert buckets.buckets_of(["oil"], 1000).tolist() == [827]
    assert buckets.buckets_of([], 8).tolist() == []


def test_buckets_fill_evenly():
    found = np.bincount(buckets.buckets_of([f"word{number}" for number in range(64_000)], 64), minlength=64)
    assert abs(found - 1000).max() < 5 * 1000**0.5


def test_counts_of_a_bucket_are_added_and_nothing_grows(stream):
    seen = Counter()
    for t in range(STEPS):
        data, batch = features.read(stream / "few" / f"{t}.h5"), documents_of(t, 600 if t == 2 else SIZE)
        wanted = np.zeros((len(batch.ids), FEW))
        np.add.at(wanted.T, buckets.buckets_of(batch.vocabulary, FEW), batch.counts.toarray().T)
        assert np.array_equal(data.counts[:].toarray(), wanted) and data.counts[:].has_canonical_format
        assert data.counts.shape[1] == len(data.vocabulary) == len(data.frequencies) == FEW == data.n_initial
        assert data.frequencies.tolist() == [seen[bucket] for bucket in range(FEW)]
        assert data.terms is None and data.hash_terms == FEW
        seen.update(Counter(np.nonzero(wanted)[1].tolist()))
    assert (features.read(stream / "few" / "3.h5").lead > 0).any()


def test_a_document_has_the_same_row_whatever_came_before(stream):
    later = features.read(stream / "few" / "3.h5")
    alone = features.follow(documents_of(3).select([5, 80]), hash_terms=FEW)
    assert np.array_equal(alone.counts[:].toarray(), later.counts.take([5, 80]).toarray())


def test_the_bytes_do_not_depend_on_how_a_batch_is_cut(stream, tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "PART", 7)
    monkeypatch.setattr(rows, "ENTRIES", 64)
    for t in range(STEPS):
        batch, previous = documents_of(t, 600 if t == 2 else SIZE), tmp_path / f"{t - 1}.h5" if t else None
        documents.write(tmp_path / "batch.h5", batch, "batch", t=t)
        features.advance(tmp_path / f"{t}.h5", tmp_path / "batch.h5", previous, hash_terms=FEW)
        assert (tmp_path / f"{t}.h5").read_bytes() == (stream / "few" / f"{t}.h5").read_bytes()


def test_as_many_buckets_as_words_need_change_no_score(stream, tmp_path):
    """Where no two words share a bucket only the order of the columns is another."""
    words = features.read(stream / "plain" / "3.h5").vocabulary
    assert len({*buckets.buckets_of(words, 1 << 16).tolist()}) == len(words)
    for name in ("adaptive", "levels"):  # what other learners start from depends on the order where words tie
        chain(stream / "plain", tmp_path / name, run_of(name, 0), range(STEPS))
        chain(stream / "many", tmp_path / f"{name}-hashed", run_of(name, 1 << 16), range(STEPS))
        for t in range(STEPS):
            one, other = (read_scores(tmp_path / folder / f"scores{t}.h5") for folder in (name, f"{name}-hashed"))
            assert np.allclose(one.scores["it"], other.scores["it"], atol=1e-6), (name, t)
            assert [*map(shares_of, one.top)] == [*map(shares_of, other.top)]


def shares_of(shown):
    """Return the row, and the shares of its words: words of the same share may come in another order."""
    return shown[0], [word.rpartition(":")[2] for word in shown[1].split()]


@pytest.mark.parametrize("name", ALL)
def test_a_run_resumed_and_one_in_shards_have_the_same_bytes(stream, tmp_path, name, monkeypatch):
    run, steps = run_of(name), range(STEPS)
    whole = chain(stream / "few", tmp_path / "whole", run, steps)
    first = chain(stream / "few", tmp_path / "parts", run, range(2))
    assert first + chain(stream / "few", tmp_path / "parts", run, range(2, STEPS)) == whole
    assert {checkpoints.read_checkpoint(tmp_path / "whole" / f"{t}.h5").dictionary.shape[0] for t in steps} == {FEW}
    monkeypatch.setattr(rows, "PART", 512)
    assert chain(stream / "few", tmp_path / "shards", run, steps, shard=512) == whole


# --- The words that are shown


def voted(batches):
    """Return the word and the lead of one bucket after batches of documents by word."""
    held, order = buckets.Buckets(None, 1), []
    for batch in batches:
        words = sorted(batch)
        held._vote(words, np.arange(len(words)), np.zeros(len(words), int), np.array([batch[word] for word in words]))
        order.append((held.words[0], int(held.lead[0])))
    return order[-1]


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1), min_size=1, max_size=8))
def test_a_word_with_more_than_half_of_a_bucket_is_the_one_shown(batches):
    total = Counter()
    for batch in batches:
        total.update(batch)
    word, lead = voted(batches)
    assert 0 <= lead <= total[word] and total[word] > 0
    most, documents = total.most_common(1)[0]
    assert word == most or 2 * documents <= total.total()
    assert (len(total) == 1) == (lead == total.total())


def test_ties_go_to_the_word_that_was_there_then_to_the_first_by_spelling():
    assert voted([{"b": 2, "a": 2}]) == ("a", 0)
    assert voted([{"b": 2}, {"a": 2}]) == ("b", 0)
    assert voted([{"b": 2}, {"a": 3}]) == ("a", 1)
    assert voted([{"b": 2, "a": 1}, {"b": 2, "a": 1}]) == ("b", 2)


def test_a_word_is_marked_unless_more_than_half_of_the_documents_are_its_own():
    words = buckets.shown(["a", "b", "c", ""], np.array([4, 3, 5, 0]), np.array([8, 5, 5, 0]))
    assert words == ["a+", "b", "c", ""]


def test_the_words_of_a_document_are_those_that_it_has(stream):
    """Exactly, whichever word its buckets show; words of one bucket in one document are joined."""
    joined = others = 0
    for t in range(STEPS):
        data, batch = features.read(stream / "few" / f"{t}.h5"), documents_of(t, 600 if t == 2 else SIZE)
        columns = buckets.buckets_of(batch.vocabulary, FEW)
        for row in range(0, len(batch.ids), 7):
            found, wanted = data.words_of(row), {}
            for place in batch.counts[[row]].indices.tolist():
                wanted.setdefault(int(columns[place]), set()).add(batch.vocabulary[place])
            assert {term: set(found[term].split("|")) for term in wanted} == wanted and found.keys() == wanted.keys()
            joined += any("|" in word for word in found.values())
            others += any(found[term] != data.vocabulary[term].rstrip("+") for term in wanted)
    assert joined and others
    free = next(term for term in range(FEW) if term not in found)
    assert found[free] == data.vocabulary[free]


def test_words_of_a_bucket_without_others_are_plain(stream):
    data, plain = features.read(stream / "many" / "3.h5"), features.read(stream / "plain" / "3.h5")
    assert {word for word in data.vocabulary if word} == set(plain.vocabulary)
    row = int(np.argmax(np.diff(data.counts[:].indptr)))
    assert sorted(data.words_of(row).values()) == sorted(
        plain.vocabulary[term] for term in plain.counts.take([row]).indices
    )
    assert plain.words_of(row) is plain.vocabulary


def test_boilerplate_counts_for_no_word(tmp_path):
    """Words that are taken out of all documents of a batch lead no bucket."""
    counts = sparse.csr_array(np.array([[1, 2], [0, 2]]))

    class Cut:
        def without(self, counts):
            yield 0, sparse.csr_array(np.array([[1, 0], [0, 0]]))

    held = buckets.Buckets(None, 4)
    batch = documents_of(0).select([0, 1])
    documents.write(tmp_path / "b.h5", Documents(counts, ["gas", "oil"], *fields(batch)), "batch", t=0)
    with h5py.File(tmp_path / "b.h5") as file, h5py.File(tmp_path / "f.h5", "w") as made:
        held.write_counts(made, rows.Matrix(file, "counts"), held.columns(["gas", "oil"]), ["gas", "oil"], Cut())
    assert [word for word in held.words if word] == ["gas"] and held.lead.sum() == 1


def fields(batch):
    return batch.ids, batch.times, batch.topics, batch.titles


@pytest.fixture(scope="module")
def watch(tmp_path_factory):
    """Alerts of a made stream in buckets, some of them of several words."""
    root = tmp_path_factory.mktemp("watch")
    watched.follow(root, {**watched.run_of(atoms=20), "hash_terms": 400}, hash_terms=400)
    return root


def test_alerts_name_the_words_of_their_documents(watch):
    found = read.alerts_of(watch)
    place = read.place_of(watch)
    names = {word.rstrip("+") for topic in found.topics.values() for word in topic.name}
    assert {"rocket", "launch", "mission", "orbit", "satellite"} & names
    several = 0
    for t in (4, 12):
        record = periods.read(f"{place.alerts}/{t}.h5", shares=True)
        batch = watched.batch_of(t, watched.LAUNCHES[t])
        for row in map(int, np.argsort(-record.score)[:10]):
            alert, _ = explain.document(place, t, row, found)
            assert sum(reason.share for reason in alert.reasons) + alert.context == pytest.approx(alert.score, abs=1e-5)
            own = {batch.vocabulary[term] for term in batch.counts[[row]].indices}
            said = [word for reason in alert.reasons for word in reason.word.split("|")]
            assert sorted(said) == sorted(own)
            several += any("|" in reason.word for reason in alert.reasons)
        for item in record.pool:
            own = {batch.vocabulary[term] for term in batch.counts[[item.row]].indices}
            assert {word for name, _ in item.words for word in name.split("|")} <= own
    assert several
    assert verify.verify(watch)[1] == []


def test_the_most_novel_documents_and_topics_are_shown_by_words(stream, tmp_path):
    run = run_of("dual_averaging")
    chain(stream / "few", tmp_path, run, range(STEPS))
    data, batch = features.read(stream / "few" / "3.h5"), documents_of(3)
    held = read_scores(tmp_path / "scores3.h5")
    for row, words in held.top:
        own = {batch.vocabulary[term] for term in batch.counts[[row]].indices}
        assert {word for pair in words.split() for word in pair.rpartition(":")[0].split("|")} <= own
    assert {word for words, *_ in held.atoms for word in words.split()} <= set(data.vocabulary)
    found, _ = emerging.of_timestep(tmp_path / "scores3.h5", stream / "few" / "3.h5")
    assert {word for words in found.words for word in words.split()} <= set(data.vocabulary)


def test_how_many_buckets_words_share_is_said(stream, tmp_path):
    seen = {word for t in range(STEPS) for word in documents_of(t, 600 if t == 2 else SIZE).vocabulary}
    held = Counter(buckets.buckets_of(sorted(seen), FEW).tolist())
    wanted = f"{len(held)} of {FEW} buckets are used, {sum(n > 1 for n in held.values())} of them by several words"
    documents.write(tmp_path / "documents.h5", documents_of(0), "documents")
    assert wanted == losses.sentence(tmp_path / "documents.h5", stream / "few")


# --- What is refused


def test_another_number_of_buckets_along_a_chain_is_refused(stream, tmp_path):
    for kind, number in (("few", FEW + 1), ("few", 0), ("plain", FEW)):
        with pytest.raises(DataError, match="one bound along a stream"):
            features.follow(documents_of(1), features.read(stream / kind / "0.h5"), tmp_path / "x.h5", 0, number)
    for number in (-1, 1, (1 << 24) + 1):
        with pytest.raises(ParameterError, match=f"hash_terms is {number}"):
            features.follow(documents_of(0), None, tmp_path / "x.h5", hash_terms=number)
    for name, number in (("hash_terms", 2.5), ("hash_terms", "50"), ("max_terms", 7.5), ("max_terms", None)):
        with pytest.raises(ParameterError, match=f"{name} is {number!r}; expected an integer"):
            features.follow(documents_of(0), None, tmp_path / "x.h5", **{name: number})
    with pytest.raises(ParameterError, match=r"hash_terms is 50 and features\.max_terms is 7"):
        features.follow(documents_of(0), None, tmp_path / "x.h5", 7, FEW)
    assert not (tmp_path / "x.h5").exists()


def test_a_run_of_other_features_and_its_checkpoints_are_refused(stream, tmp_path):
    chain(stream / "few", tmp_path, run_of("dual_averaging"), range(1))
    for kind, number in (("few", 0), ("plain", FEW), ("many", FEW)):
        with pytest.raises(DataError, match="one hash_terms along a chain"):
            runs.open_documents(stream / kind / "1.h5", run_of("dual_averaging", number))
    for kind, number in (("plain", 0), ("many", 1 << 16)):
        with pytest.raises(CheckpointError, match="belongs to another chain: hash_terms=50"):
            runs.open_timestep(stream / kind / "1.h5", run_of("dual_averaging", number), tmp_path / "0.h5")


def test_the_fixed_vocabulary_is_refused_and_the_rest_is_not(stream, tmp_path):
    data, last = (features.read(stream / "few" / f"{t}.h5") for t in (1, 3))
    with pytest.raises(ParameterError, match="vocabulary 'fixed' with hash_terms 50"):
        data.weighed(vocabulary="fixed")
    assert data.weighed(idf="corpus", corpus=last)[:].shape == data.weighed(min_df=2)[:].shape == (SIZE, FEW)
    found = baselines.score(last, [features.read(stream / "few" / f"{t}.h5") for t in range(3)])
    assert all(np.isfinite(values).all() for values in found.values())
    chain(stream / "few", tmp_path, run_of("dual_averaging"), range(3))
    files = [tmp_path / f"{t}.h5" for t in range(3)], [stream / "few" / f"{t}.h5" for t in range(3)]
    assert len(regrettables.read_steps(*files)[0]) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": {"vocabulary": "fixed"}}, "run 'levels' has vocabulary 'fixed'"),
        ({"learners": {"admm": {"features": {"vocabulary": "fixed"}}}}, "run 'admm' has vocabulary 'fixed'"),
        ({"features": {"max_terms": 5}}, "features.hash_terms is 100 and features.max_terms is 5"),
        ({"features": {"hash_terms": 1}}, "features.hash_terms is 1 and"),
        ({"features": {"hash_terms": -1}}, "features.hash_terms is -1"),
        ({"features": {"hash_terms": 1 << 25}}, "features.hash_terms is 33554432"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(change, said):
    defaults = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    config.fill(defaults)
    schema = config.load_schema(ROOT / "workflow" / "schemas" / "config.schema.json")
    hashed = copy.deepcopy(change)
    hashed["features"] = {"hash_terms": 100, **hashed.get("features", {})}
    with pytest.raises(ConfigError, match=said):
        consistency.check_config(config.merge(hashed, defaults), schema)
    fine = config.merge({"features": {"hash_terms": 100}}, defaults)
    consistency.check_config(fine, schema)
    run = config.run_of(fine, "admm")
    assert run["hash_terms"] == 100 and run["features"] == WEIGHTING
    assert "hash_terms" not in config.run_of(defaults, "admm")


@pytest.mark.parametrize("damage", ["lead", "others/counts/indptr", "others/words", "hash_terms"])
def test_words_that_do_not_fit_are_refused(stream, tmp_path, damage):
    path = tmp_path / "f.h5"
    path.write_bytes((stream / "few" / "2.h5").read_bytes())
    with edited(path) as file:
        if damage == "hash_terms":
            file.attrs[damage] = FEW + 1
        elif damage == "lead":
            file[damage][5] = 1_000_000
        elif damage == "others/words":
            file[damage].attrs["length"] = 3
        else:
            file["others/counts"].attrs["shape"] = [599, file["others/counts"].attrs["shape"][1]]
    with pytest.raises(StorageError, match=r"f\.h5 is damaged"):
        features.read(path)
