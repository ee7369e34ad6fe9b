"""A batch in shards: the bytes of the batch in one piece, whatever the cut; shards that do not fit are refused."""

import json
import tracemalloc

import h5py
import numpy as np
import pytest
from contract import ALL, quick
from scipy import sparse
from studies import batch_of

from odl import cli, learners, novelty
from odl.config import chains, consistency
from odl.errors import ConfigError, DataError, StorageError
from odl.files import rows, storage
from odl.jobs import runs, shards, update
from odl.learners.batches import InMemory
from odl.stream import features

WEIGHTING = {"tf": "raw", "idf": "past", "min_df": 0, "vocabulary": "growing"}
SIZES = (60, 1300, 90)


def run_of(algorithm, **settings):
    learner = {"algorithm": algorithm, **quick(algorithm), **settings}
    return {"corpus": "wires", "seed": 0, "run": "it", "atoms": 6, "learner": learner, "features": WEIGHTING}


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Three feature files, the second of a large batch."""
    folder, rng, before = tmp_path_factory.mktemp("stream"), np.random.default_rng(3), None
    for t, size in enumerate(SIZES):
        batch = batch_of(rng, t, size, ["harvest", "currency", "tanker", "merger"][: 3 + t])
        before = features.follow(batch, before, folder / f"{t}.h5")
    return folder


def chain(stream, folder, run, shard=0, last=1):
    """Run timesteps 0 to `last`, the later ones in shards of so many documents."""
    run = runs.parse(run)
    for t in range(last + 1):
        previous = folder / f"{t - 1}.h5" if t else None
        corpus = stream / "2.h5" if run.weighting.idf == "corpus" else None
        cuts = range(0, SIZES[t], shard) if shard and t else []
        paths = [folder / f"shard{t}-{first}.h5" for first in cuts]
        for first, path in zip(cuts, paths, strict=True):
            span = (first, first + shard)
            shards.score(stream / f"{t}.h5", previous, path, rows=span, run=run, corpus_features=corpus)
        update.update(
            stream / f"{t}.h5",
            folder / f"{t}.h5",
            folder / f"scores{t}.h5",
            folder / f"timings{t}.tsv",
            run=run,
            before=update.Before(previous, stream, corpus),
            shards=paths,
        )
    return [(folder / f"{name}{t}.h5").read_bytes() for t in range(last + 1) for name in ("", "scores")]


SETTINGS = {
    "with the coder of the papers": ("online_admm", {"solver": "admm", "iterations": 10}, {}),
    "with all of the dual": ("online_admm", {"dual_terms": 0}, {}),
    "divided by the documents": ("dual_averaging", {"per_document": True}, {"idf": "corpus", "tf": "log"}),
    "with few words": ("projected_gradient", {}, {"vocabulary": "fixed", "min_df": 2}),
    "opening many atoms": ("adaptive", {"same": 0.95, "half_life": 200}, {}),
    "dropping atoms": ("adaptive", {"full": "retire"}, {}),
    "over a ring": ("diffusion", {"network": "ring", "degree": 2, "iterations": 5, "rounds": 0}, {}),
}


@pytest.mark.parametrize("name", [*ALL, *SETTINGS])
def test_shards_change_no_byte(stream, tmp_path, monkeypatch, name):
    algorithm, settings, weighting = SETTINGS.get(name, (name, {}, {}))
    run = run_of(algorithm, **settings)
    run["features"] = {**WEIGHTING, **weighting}
    whole = chain(stream, tmp_path / "whole", run)
    monkeypatch.setattr(rows, "PART", 512)  # runs of documents within a shard, and what is a long array
    assert chain(stream, tmp_path / "few", run, 1024) == whole
    if name in ("dual_averaging", "adaptive"):
        assert chain(stream, tmp_path / "many", run, 512) == whole


def test_a_short_batch_after_a_long_one(stream, tmp_path, monkeypatch):
    """The dual of the long batch is read by rows, also where the batch itself is held."""
    run = run_of("online_admm")
    whole = chain(stream, tmp_path / "whole", run, last=2)
    monkeypatch.setattr(rows, "PART", 256)
    assert chain(stream, tmp_path / "rows", run, last=2) == whole
    with h5py.File(tmp_path / "whole" / "2.h5", locking=False) as file:
        assert file["arrays/dual"].attrs["shape"][0] == SIZES[1], "the rows that were not reached are lost"


class Cut(InMemory):
    """A batch that comes in runs of 512 documents, and counts how often it is gone through."""

    in_memory, passes = False, []

    def parts(self):
        self.passes.append(1)
        for first in range(0, self.P.shape[0], 512):
            yield self.P[first : first + 512], self.codes[first : first + 512]


@pytest.mark.parametrize("name", [name for name in ALL if not learners.learner_class(name).whole])
def test_no_learner_holds_a_batch(rng, name):
    """Arrays alive at any time while a batch of many short documents is learned are far below the batch."""
    learner = learners.make(name, **quick(name))
    P = sparse.random_array((60_000, 50), density=0.2, format="csr", rng=rng)
    sizes = P.sum(axis=1) if learner.norm == "l1" else np.sqrt((P * P).sum(axis=1))
    P.data /= np.repeat(sizes, np.diff(P.indptr))
    state = learner.start(P[:100], 4, rng)
    X = learner.score(state, P).codes

    def peak(batch):
        tracemalloc.start()
        after = learner.learn_parts(state, batch)
        for value in after.arrays.values():
            for _ in value.parts() if hasattr(value, "parts") else []:
                pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few = peak(Cut(P[:2048], X[:2048]))
    many = peak(Cut(P, X))
    assert many < few + 0.1 * (P.data.nbytes + P.indices.nbytes), f"{few} bytes for 2048 documents, {many} for 60,000"


class TestFiles:
    def matrix(self, rng):
        return sparse.random_array((5000, 300), density=0.1, format="csr", rng=rng)

    def test_pieces_have_the_bytes_of_the_whole(self, rng, tmp_path):
        P, words = self.matrix(rng), [f"word{number}" for number in range(200_000)]
        numbers = rng.integers(0, 9, 300_000).astype(np.int32)
        with storage.writing(tmp_path / "whole.h5", "test") as file:
            storage.write_csr(file, "matrix", P)
            storage.write_array(file, "numbers", numbers)
            storage.write_strings(file, "words", words)
            storage.write_csr(file, "nothing", P[:0])
        with storage.reading(tmp_path / "whole.h5", "test") as source:
            held = rows.Matrix(source, "matrix")
            assert (held[:] != P).nnz == 0 and (held[4000:4100] != P[4000:4100]).nnz == 0
            assert (held.take([7, 4999, 7]) != P[[7, 4999, 7]]).nnz == 0
            assert storage.read_strings(source, "words") == words
            with storage.writing(tmp_path / "pieces.h5", "test") as file:
                rows.write_csr(file, "matrix", (part for _, part in held.parts(700)), P.shape, P.dtype)
                rows.write_array(file, "numbers", len(numbers), numbers.dtype, lambda low, high: numbers[low:high])
                rows.copy_array(source, file, "words")
                rows.write_csr(file, "nothing", [], (0, 300), np.float64)
        assert (tmp_path / "pieces.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
        assert len(list(tmp_path.iterdir())) == 2

    def test_what_does_not_fit_is_refused(self, rng, tmp_path):
        with storage.writing(tmp_path / "bad.h5", "test") as file:
            storage.write_csr(file, "matrix", self.matrix(rng))
            file["matrix/indices"][0] = 300
            file["matrix/indptr"][3000] = 7
        with storage.reading(tmp_path / "bad.h5", "test") as file:
            held = rows.Matrix(file, "matrix")
            assert held[100:200].shape == (100, 300)
            for span in (slice(0, 5), slice(2999, 3002)):
                with pytest.raises(StorageError, match=r"bad\.h5 is damaged .* delete"):
                    held[span]


@pytest.fixture(scope="module")
def made(stream, tmp_path_factory):
    """A folder with a run in three shards."""
    folder = tmp_path_factory.mktemp("made")
    chain(stream, folder, run_of("projected_gradient"), 512)
    return folder


class TestRefusals:
    def gathered(self, stream, made, paths, t=1, previous=None, **settings):
        step = runs.open_timestep(stream / "1.h5", runs.parse(run_of("projected_gradient")), made / "0.h5")
        return shards.gather(paths, step.P, run_of("projected_gradient", **settings), t, previous or step.previous)

    def test_the_shards_of_a_batch_are_taken(self, stream, made):
        paths = [made / f"shard1-{first}.h5" for first in (0, 512, 1024)]
        found, batch, seconds = self.gathered(stream, made, paths)
        assert len(found.score) == SIZES[1] and batch.shape[0] == SIZES[1] and seconds > 0
        assert [P.shape[0] for P, _ in batch.parts()] == [512, 512, 276]

    @pytest.mark.parametrize("firsts", [(0, 512), (512, 0, 1024), (0, 0, 512), (0, 1024), (512, 1024)])
    def test_shards_that_do_not_make_the_batch(self, stream, made, firsts):
        with pytest.raises(DataError, match=r"shard1-\d+\.h5 is of other documents.* delete"):
            self.gathered(stream, made, [made / f"shard1-{first}.h5" for first in firsts])

    def test_shards_that_are_cut_within_a_block(self, stream, made, tmp_path):
        """They make the batch, but its sums would be taken over other blocks."""
        run = runs.parse(run_of("projected_gradient"))
        step = runs.open_timestep(stream / "1.h5", run, made / "0.h5")
        paths = [tmp_path / "a.h5", tmp_path / "b.h5"]
        for path, first, last in zip(paths, (0, 500), (500, SIZES[1]), strict=True):
            found = novelty.score(run.learner, step.state, step.P[first:last])
            of = {"t": step.data.t, "chain": run.chain, "previous": step.previous}
            shards.write(path, found, first=first, seconds=0.0, **of)
        with pytest.raises(DataError, match=r"b\.h5 is of other documents"):
            self.gathered(stream, made, paths)

    @pytest.mark.parametrize("change", [{"t": 2}, {"previous": "f" * 64}, {"lam": 0.2}])
    def test_shards_of_another_dictionary(self, stream, made, change):
        with pytest.raises(DataError, match="another dictionary"):
            self.gathered(stream, made, [made / f"shard1-{first}.h5" for first in (0, 512, 1024)], **change)

    @pytest.mark.parametrize("span", [(100, 700), (1536, 2048), (512, 512)])
    def test_a_range_that_is_none(self, stream, made, span):
        with pytest.raises(DataError, match="starts at a multiple of 512"):
            run = runs.parse(run_of("projected_gradient"))
            shards.score(stream / "1.h5", made / "0.h5", made / "no.h5", rows=span, run=run)
        assert not (made / "no.h5").exists()

    def test_the_range_on_the_command_line(self, capsys):
        for text in ("5", "5:", "a:b", "9:5", "-1:5"):
            with pytest.raises(SystemExit):
                cli.main(["step", "score", "f.h5", "o.h5", f"--rows={text}", "--run", "{}"])
            assert "FIRST:END" in capsys.readouterr().err

    def test_scores_that_depend_on_the_batch(self, stream, tmp_path):
        run = run_of("adaptive", context=0.3)
        chain(stream, tmp_path, run, last=0)
        with pytest.raises(DataError, match="depend on the whole batch"):
            shards.score(stream / "1.h5", tmp_path / "0.h5", tmp_path / "s.h5", rows=(0, 512), run=runs.parse(run))

    @pytest.mark.parametrize("key", ["context", "contrast"])
    def test_such_scores_in_a_configuration(self, key):
        given = {"runs": ["it"], "learners": {"it": {"algorithm": "adaptive", key: 0.3}}, "shards": {"documents": 0}}
        consistency._check_shards(given)
        given["shards"]["documents"] = 100
        with pytest.raises(ConfigError, match=f"run 'it' has {key} 0.3"):
            consistency._check_shards(given)


def test_shards_are_whole_blocks():
    sizes = [chains.shard_of({"shards": {"documents": number}}) for number in (0, 1, 512, 513, 50_000)]
    assert sizes == [0, 512, 512, 1024, 50_176]


def test_documents_without_known_terms_and_codes(stream, tmp_path):
    """What a shard says of empty documents is kept."""
    learner, P = learners.make("projected_gradient", rounds=0), sparse.csr_array(np.eye(4)[[0, 1, 2]] * [1, 1, 0, 1])
    P.eliminate_zeros()
    state = learner.fresh(sparse.csc_array(np.eye(4)[:, :1]))
    found = novelty.score(learner, state, P)
    shards.write(tmp_path / "s.h5", found, first=0, t=1, chain={"a": 1}, previous="0", seconds=0.5)
    again, batch, seconds = shards.gather([tmp_path / "s.h5"], P, {"a": 1}, 1, "0")
    assert again.score.tolist() == found.score.tolist() and again.empty.tolist() == [False, False, True]
    assert again.uncoded == found.uncoded == pytest.approx(2 / 3) and seconds == 0.5
    assert (batch.together()[1] != found.codes).nnz == 0
    assert json.loads(h5py.File(tmp_path / "s.h5", locking=False).attrs["chain"]) == {"a": 1}
