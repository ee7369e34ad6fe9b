"""Near-duplicates: shingles and groups against brute force, independent of appending."""

import itertools
import json
import tarfile
import time

import numpy as np
import pytest
from scipy import sparse
from workflows import Study, documents

from odl import corpora as readers
from odl.cli import main
from odl.config.sections import Batches, Order
from odl.errors import DataError, StorageError
from odl.files import checkpoints, storage, tables
from odl.files import documents as docs
from odl.stream import batchfile, batching, duplicates, features
from odl.text.shingles import Shingler


def word(number, start="w"):
    return start + "".join(chr(97 + int(digit)) for digit in str(number))


def text_of(rng, n=60):
    return " ".join(word(number) for number in rng.integers(0, 3000, n))


def reworded(rng, text, n=1):
    words = text.split()
    for place in rng.integers(0, len(words), n):
        words[place] = word(rng.integers(0, 10**6), "other")
    return " ".join(words)


def brute(texts):
    """Return the Jaccard index of the 5-shingles of each pair of texts."""
    sets = [
        {tuple(words[at : at + 5]) for at in range(len(words) - 4)}
        for words in (text.split() for text in texts)
    ]
    return {
        (one, other): len(sets[one] & sets[other]) / len(sets[one] | sets[other])
        for one, other in itertools.combinations(range(len(texts)), 2)
    }


def write_stream(folder, texts, name):
    """Write texts to a file of the corpus, one a day after those of earlier files."""
    day = {"a": 0, "b": 200, "c": 400}[name]
    start = np.datetime64("2026-01-01")
    rows = [
        {"id": f"{name}{row}", "time": str(start + day + row), "text": text}
        for row, text in enumerate(texts)
    ]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(corpus, folder, size=40):
    """Read the corpus and compute missing or changed files; return the features of each timestep."""
    folder.mkdir(exist_ok=True)
    docs.write(folder / "documents.h5", readers.read("documents", [corpus], {"duplicates": True}))
    stream = Order(ties="source", batches=Batches(documents=size, initial=size))
    batching.index(
        folder / "documents.h5", folder / "index.tsv", folder / "order.h5", seed=0, stream=stream
    )
    sums = [row["sha256"] for row in tables.read_table(folder / "index.tsv")]
    found, made = [], False
    for t, digest in enumerate(sums):
        batch, output = folder / "batches" / f"{t}.h5", folder / "features" / f"{t}.h5"
        if not batch.exists() or storage_sum(batch) != digest:
            batchfile.cut(folder / "documents.h5", folder / "order.h5", batch, t)
            made = True
        if made:
            features.advance(output, batch, found[-1] if t else None)
        found.append(features.read(output))
    return found


def storage_sum(path):
    with storage.reading(path, "batch") as file:
        return str(file.attrs["sha256"])


@pytest.fixture
def stream(rng):
    """Return 120 texts with copies, and edited copies in the same, the next and later timesteps."""
    texts = [text_of(rng) for _ in range(120)]
    texts[3], texts[7], texts[50] = texts[1], reworded(rng, texts[1]), reworded(rng, texts[1])
    texts[41], texts[90], texts[110] = texts[0], reworded(rng, texts[45]), texts[5]
    return texts


class TestShingles:
    def test_are_what_the_definition_says(self, rng):
        base = text_of(rng)
        texts = [base, *(reworded(rng, base, n) for n in range(1, 9)), text_of(rng)]
        sets = [Shingler().shingle(text) for text in texts]
        assert all(one.dtype == np.int32 and (np.diff(one) > 0).all() for one in sets)
        for (one, other), index in brute(texts).items():
            assert duplicates.jaccard(sets[one], sets[other]) == pytest.approx(index)

    def test_are_kept_for_each_document_as_a_batch_needs_them(self, tmp_path):
        rows = [
            {"text": "one two three four five six"},
            {"counts": {"one": 1}},
            {"text": "> one two\nsix seven"},
        ]
        (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        options = {"duplicates": True, "clean": ["quotes"], "tokens": {"stop_words": None}}
        found = readers.read("documents", [tmp_path], options)
        assert np.diff(found.shingles.indptr).tolist() == [2, 0, 1]
        assert found.shingles.indices[-1:].tolist() == Shingler().shingle("six seven").tolist()
        docs.write(tmp_path / "d.h5", found)
        order = np.array([2, 0])
        whole = found.select(order)
        digest = batching.fingerprint(whole.digests())
        docs.write(tmp_path / "whole.h5", whole, "batch", t=0, sha256=digest)
        batchfile.write(tmp_path / "d.h5", order, tmp_path / "batch.h5", 0)
        assert (tmp_path / "batch.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
        found.shingles = sparse.csr_array(found.shingles[[1, 0, 2]])
        assert (found.digests() != docs.read(tmp_path / "d.h5").digests()).any(axis=1).tolist() == [
            True,
            True,
            False,
        ]


class TestConnect:
    def test_finds_the_pairs_of_brute_force(self, rng):
        texts = [text_of(rng, 80) for _ in range(30)]
        texts += [
            reworded(rng, texts[row % 30], n) for row, n in enumerate(np.repeat([1, 2, 3, 4], 30))
        ]
        roots = duplicates.connect([Shingler().shingle(text) for text in texts])
        expected = np.arange(len(texts))
        pairs = brute(texts)
        near = [index for index in pairs.values() if index > 0.6]
        assert sum(index >= 0.8 for index in near) > 20 < sum(index < 0.8 for index in near)
        for (one, other), index in pairs.items():
            if index >= 0.8:
                expected[expected == expected[other]] = expected[one]
        assert [(roots == root).tolist() for root in roots] == [
            (expected == root).tolist() for root in expected
        ]

    def test_a_signature_estimates_the_index(self, rng):
        one = np.unique(rng.integers(0, 2**31 - 1, 4000)).astype(np.int32)
        for share in (0.3, 0.6, 0.9):
            other = np.unique(
                np.append(one[: int(share * len(one))], rng.integers(0, 2**31 - 1, 10))
            ).astype(np.int32)
            first, second = duplicates.sign([one, other])
            assert abs((first == second).mean() - duplicates.jaccard(one, other)) < 0.2

    def test_what_shares_too_little_with_all_others_needs_no_signature(self, rng):
        """A set with just enough shared shingles is not excluded."""
        unlike = [np.unique(rng.integers(0, 2**31 - 1, 60)).astype(np.int32) for _ in range(300)]
        alike = [np.arange(40, dtype=np.int32), np.arange(50, dtype=np.int32)]
        assert duplicates.jaccard(*alike) == duplicates.MIN_JACCARD
        enough = duplicates.share_enough([*unlike, *alike])
        assert enough[300:].all() and not enough[:300].any()
        assert duplicates.connect([*unlike, *alike]).tolist() == [*range(301), 300]

    def test_decided_documents_are_not_compared_and_empty_ones_are_like_nothing(self):
        one, none = np.arange(9, dtype=np.int32), np.empty(0, dtype=np.int32)
        assert duplicates.connect([one, one], np.array([0, 1])).tolist() == [0, 1]
        assert duplicates.connect([one, one, none, one, none], np.array([0, 1])).tolist() == [
            0,
            0,
            2,
            0,
            4,
        ]
        assert (
            duplicates.connect([none, none]).tolist() == [0, 1]
            and duplicates.connect([]).tolist() == []
        )

    @pytest.mark.parametrize("shared", [300, pytest.param(200, marks=pytest.mark.slow), 100])
    def test_thousands_that_are_equal_or_share_a_footer(self, rng, shared):
        """A comparison of all pairs takes minutes."""
        foot = np.arange(shared, dtype=np.int32)
        parts = [
            rng.integers(1000, 6000, 300 - shared) for _ in range(2000)
        ]  # each shingle in many of them
        start = time.process_time()
        roots = duplicates.connect(
            [np.unique(np.append(foot, part)).astype(np.int32) for part in parts]
        )
        assert time.process_time() - start < 5
        assert len(set(roots.tolist())) == (1 if shared == 300 else 2000)


class TestChain:
    def test_groups_by_the_first_document(self, tmp_path, stream):
        (tmp_path / "posts").mkdir()
        write_stream(tmp_path / "posts", stream, "a")
        found = [one.groups for one in run(tmp_path / "posts", tmp_path / "results")]
        groups = {
            f"a{40 * t + row}": name
            for t, one in enumerate(found)
            for row, name in enumerate(one.own())
        }
        joined = {"a3": "a1", "a7": "a1", "a50": "a1", "a41": "a0", "a90": "a45", "a110": "a5"}
        assert groups == {f"a{row}": joined.get(f"a{row}", f"a{row}") for row in range(120)}

    def test_the_window_is_kept(self, tmp_path, rng):
        """In ten timesteps of ten documents, a copy is detected for four timesteps."""
        texts = [text_of(rng) for _ in range(100)]
        texts[45], texts[57] = reworded(rng, texts[3]), texts[4]
        texts[88] = texts[45]
        (tmp_path / "posts").mkdir()
        write_stream(tmp_path / "posts", texts, "a")
        found = [one.groups for one in run(tmp_path / "posts", tmp_path / "results", 10)]
        assert [found[4].own()[5], found[5].own()[7], found[8].own()[8]] == ["a3", "a57", "a3"]
        assert [len(one.starts) - 1 for one in found] == [1, 2, 3, 4, 4, 4, 4, 4, 4, 4]
        assert found[8].born[-2].tolist() == [0, 3] and found[8].names[10:20] == found[6].own()

    def test_a_change_of_shingles_changes_the_digest_of_all_after(self, tmp_path, stream):
        """The words have another order; counts and groups are equal."""
        (tmp_path / "posts").mkdir()
        write_stream(tmp_path / "posts", stream, "a")
        first = run(tmp_path / "posts", tmp_path / "results")
        held = [(dict(one.file.attrs), one.counts[:], one.groups.names) for one in first]
        del first
        previous = checkpoints.NO_DIGEST
        stream[30] = " ".join(stream[30].split()[::-1])
        write_stream(tmp_path / "posts", stream, "a")
        for t, one in enumerate(run(tmp_path / "posts", tmp_path / "results")):
            old, counts, names = held[t]
            new = one.file.attrs
            assert (one.counts[:] != counts).nnz == 0 and one.groups.names == names
            assert new["digest"] != old["digest"] and new["batch"] == storage.digest_of(
                tmp_path / "results" / "batches" / f"{t}.h5", "batch"
            )
            assert (new["batch"] == old["batch"]) == (t > 0) and (
                new["previous"] == old["previous"]
            ) == (t == 0)
            assert new["previous"] == previous
            previous = new["digest"]

    def test_features_without_shingles_are_what_they_were(self, tmp_path, stream):
        """They have no further attribute or array; in memory nothing is grouped."""
        (tmp_path / "posts").mkdir()
        write_stream(tmp_path / "posts", stream, "a")
        made = run(tmp_path / "posts", tmp_path / "results")
        plain = features.follow(readers.read("documents", [tmp_path / "posts"]))
        known = readers.read("documents", [tmp_path / "posts"], {"duplicates": True})
        assert known.shingles is not None and plain.groups is None
        assert features.follow(known).file.attrs["digest"] == plain.file.attrs["digest"]
        assert set(made[0].file.attrs) - set(plain.file.attrs) == {"batch", "previous"}
        assert set(made[0].file) - set(plain.file) == {"duplicates"}
        assert features.follow(known, made[0]).groups is None

    @pytest.mark.slow
    def test_appended_or_at_once_gives_the_same_files(self, tmp_path, stream, rng):
        more = [text_of(rng) for _ in range(50)]
        more[0], more[20] = reworded(rng, stream[119]), stream[60]
        for name in ("grows", "whole"):
            (tmp_path / name).mkdir()
        write_stream(tmp_path / "grows", stream[:70], "a")
        run(tmp_path / "grows", tmp_path / "appended")  # the last batch is not full
        kept = (tmp_path / "appended" / "batches" / "0.h5").stat().st_mtime_ns
        write_stream(tmp_path / "grows", stream, "a")
        run(tmp_path / "grows", tmp_path / "appended")
        for folder in (tmp_path / "grows", tmp_path / "whole"):
            write_stream(folder, stream, "a")
            write_stream(folder, more, "b")
        run(tmp_path / "grows", tmp_path / "appended")
        run(tmp_path / "whole", tmp_path / "once")
        assert (tmp_path / "appended" / "batches" / "0.h5").stat().st_mtime_ns == kept
        names = sorted(
            path.relative_to(tmp_path / "once") for path in (tmp_path / "once").rglob("*.h5")
        )
        assert len([name for name in names if name.parent.name == "features"]) == 5
        for name in names:
            assert (tmp_path / "once" / name).read_bytes() == (
                tmp_path / "appended" / name
            ).read_bytes(), name

    def test_a_document_that_connects_two_groups_takes_the_older_name(self, tmp_path, rng):
        words = text_of(rng, 120).split()
        left, right = (
            [word(place, "left") for place in range(10)],
            [word(place, "right") for place in range(10)],
        )
        ends = [[*words[:110], *left], [*right, *words[10:]]]
        texts = [text_of(rng) for _ in range(120)]
        texts[2], texts[42], texts[85] = " ".join(ends[0]), " ".join(ends[1]), " ".join(words)
        texts[100] = " ".join(ends[1])
        pairs = brute([texts[2], texts[42], texts[85]])
        assert pairs[0, 1] < 0.8 < min(pairs[0, 2], pairs[1, 2])
        (tmp_path / "posts").mkdir()
        write_stream(tmp_path / "posts", texts, "a")
        found = [one.groups for one in run(tmp_path / "posts", tmp_path / "results")]
        assert found[1].own()[2] == "a42"  # as it was decided then
        assert [found[2].own()[5], found[2].own()[20]] == ["a2", "a2"]
        assert found[2].names[found[2].starts[1] + 2] == "a2"  # from now on

    def test_what_does_not_fit_is_refused(self, tmp_path, stream):
        (tmp_path / "posts").mkdir()
        write_stream(tmp_path / "posts", stream, "a")
        run(tmp_path / "posts", tmp_path / "results")
        batches, made, output = (
            tmp_path / "results" / name for name in ("batches", "features", "x.h5")
        )
        with pytest.raises(
            DataError, match=r"1\.h5 is of timestep 1; expected timestep 0, after nothing"
        ):
            features.advance(output, batches / "1.h5")
        (batches / "0.h5").rename(tmp_path / "0.h5")
        with pytest.raises(StorageError, match=r"0\.h5 is missing"):
            features.advance(output, batches / "1.h5", made / "0.h5")
        plain = readers.read("documents", [tmp_path / "posts"])
        docs.write(batches / "0.h5", plain, "batch", t=0, sha256="")
        features.advance(tmp_path / "plain.h5", batches / "0.h5")
        with pytest.raises(
            DataError, match=r"plain\.h5 has no near-duplicates, .*1\.h5 has shingles; .*; delete"
        ):
            features.advance(output, batches / "1.h5", tmp_path / "plain.h5")
        assert not output.exists()

    def test_command(self, tmp_path, stream):
        (tmp_path / "posts").mkdir()
        write_stream(tmp_path / "posts", stream, "a")
        run(tmp_path / "posts", tmp_path / "results")
        batches, made = tmp_path / "results" / "batches", tmp_path / "results" / "features"
        assert main(["step", "features", str(tmp_path / "0.h5"), str(batches / "0.h5")]) == 0
        assert (
            main(
                [
                    "step",
                    "features",
                    str(tmp_path / "1.h5"),
                    str(batches / "1.h5"),
                    "--previous",
                    str(tmp_path / "0.h5"),
                ]
            )
            == 0
        )
        for t in range(2):
            digests = {
                storage.digest_of(folder / f"{t}.h5", "features") for folder in (tmp_path, made)
            }
            assert len(digests) == 1  # a step that a rule or a person runs writes a record besides


@pytest.mark.workflow
@pytest.mark.long  # of `odl run`: engine/test_loop.py
def test_the_workflow_runs_new_timesteps_only(tmp_path):
    study = Study.create(tmp_path / "study")
    config = study.config
    config["corpora"]["mine"]["options"]["duplicates"] = True
    study.configure(config)
    study.write("a.jsonl", documents(0, 200))
    made = [study.stream / "features" / f"{t}.h5" for t in range(3)]
    first = study.run(study.target(made[1]))
    steps = {f"{rule} {t}" for rule in ("batch", "features") for t in range(2)}
    assert first.names("t") == {"read", "index"} | steps
    before = [path.read_bytes() for path in made[:2]]
    study.write("b.jsonl", documents(200, 240))
    assert study.run(study.target(made[2])).names("t") == {"read", "index", "batch 2", "features 2"}
    assert [path.read_bytes() for path in made[:2]] == before and features.read(
        made[2]
    ).groups.t == 2
    assert not study.run("-n").names("t") & {f"features {t}" for t in range(3)}


@pytest.mark.slow
@pytest.mark.corpora
def test_of_20_newsgroups_no_pair_is_missed(corpora):
    """Raw posts with quotations, against the products of all pairs of sets."""
    texts = []
    with tarfile.open(corpora / "20news" / "20news-bydate.tar.gz") as archive:
        for number, member in enumerate(archive):
            if member.isfile() and number % 2 == 0:
                texts.append(archive.extractfile(member).read().decode("latin-1"))
    shingler = Shingler()
    for text in texts:
        shingler.add(text)
    matrix = shingler.matrix()
    sets = np.split(matrix.indices, matrix.indptr[1:-1])
    _, columns = np.unique(matrix.indices, return_inverse=True)
    held = sparse.csr_array((np.ones(len(columns), dtype=np.int32), columns, matrix.indptr))
    shared, sizes = sparse.coo_array(held @ held.T), np.diff(matrix.indptr)
    one, other = shared.coords
    near = (shared.data >= 0.8 * (sizes[one] + sizes[other] - shared.data)) & (one < other)
    roots = duplicates.connect(sets)
    assert len(texts) > 9000 and near.sum() > 10
    assert (roots[one[near]] == roots[other[near]]).all()
    assert len(texts) - len(set(roots.tolist())) <= near.sum()
