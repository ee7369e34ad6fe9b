"""Emerging topics: planted ones are recovered, clusters follow their definition, files and command say the same."""

import json
import shutil

import numpy as np
import pytest
import studies
from called import odl
from fuzzing import edited
from scipy import sparse

from odl.coding import sparse_code
from odl.errors import DataError, ParameterError, StorageError
from odl.evaluation.scorefiles import read_scores
from odl.papers import emerging, emergingfiles
from odl.papers.emerging import SmallDictionary, find_in_files


def planted(rng, sizes=(12, 9, 6), known=60, words=12, common=20, n=15):
    """Documents of planted topics with words of their own, then others; scores put the planted ones first."""
    n_terms = words * len(sizes) + common + known
    rows = []
    for topic, size in enumerate(sizes):
        for _ in range(size):
            counts = np.zeros(n_terms)
            np.add.at(counts, topic * words + rng.choice(words, n), 1.0)
            np.add.at(counts, words * len(sizes) + rng.choice(common, 3), 1.0)
            rows.append(counts)
    for document in range(known):
        counts = np.zeros(n_terms)
        counts[words * len(sizes) + common + document] = 5.0
        rows.append(counts)
    P = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    truth = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(known, -1)])
    score = np.where(truth >= 0, 0.9, 0.2) + 0.05 * rng.random(len(truth))
    order = rng.permutation(len(truth))
    return sparse.csr_array(P[order]), score[order], truth[order]


@pytest.mark.parametrize("seed", range(4))
def test_planted_topics_are_recovered(seed):
    P, score, truth = planted(np.random.default_rng(seed))
    found = emerging.find(P, score, SmallDictionary(share=27 / 87, atoms=3))
    assert len(found.rows) == 27 and (truth[found.rows] >= 0).all()
    names = [(f"t{topic}",) for topic in truth[found.rows]]
    assert emergingfiles.purity(found.cluster, names) == 1
    assert emergingfiles.majorities(found.cluster, names) == {"t0", "t1", "t2"}
    assert emergingfiles.b_cubed(found.cluster, names)[2] > 0.85
    # A cluster's words are those of its topic, its representative is one of it.
    for number, row in enumerate(found.representative):
        top = found.atoms[:, [number]].toarray().ravel().argsort()[::-1][:5]
        assert {int(term) // 12 for term in top} == {int(truth[row])}


def test_the_result_is_what_is_defined(rng):
    P, score, _ = planted(rng)
    settings = SmallDictionary(share=0.5, atoms=6, min_support=2)
    found = emerging.find(P, score, settings)
    again = emerging.find(P, score, settings)
    for first, second in zip(found, again, strict=True):
        if sparse.issparse(first):
            assert (first != second).nnz == 0
        else:
            assert np.array_equal(first, second)
    assert len(found.rows) == int(np.ceil(0.5 * P.shape[0]))
    assert (np.diff(score[found.rows]) <= 0).all() and score[found.rows].min() >= np.delete(
        score, found.rows
    ).max()
    sizes = np.bincount(found.cluster[found.cluster >= 0])
    assert len(sizes) == len(found.representative) == found.atoms.shape[1] > 0
    assert sizes.min() >= 2 and (np.diff(sizes) <= 0).all()
    assert (found.atoms.data >= 0).all() and found.atoms.sum(axis=0).max() <= 1 + 1e-12
    for number, row in enumerate(found.representative):
        members = found.cluster == number
        assert row in found.rows[members]
        assert found.residual[found.rows == row] == found.residual[members].min()


def test_the_objective_never_rises(rng):
    P, _, _ = planted(rng, known=0)
    B = emerging.choose_initial_atoms(P, SmallDictionary(atoms=5))
    values = [emerging.alternate(P, B, 0.1, rounds)[2].sum() for rounds in range(6)]
    assert (np.diff(values) <= 1e-12).all() and values[-1] < 0.99 * values[0]
    B, Z, objective = emerging.alternate(P, B, 0.1, 5)
    direct = np.abs(P.toarray() - Z.toarray() @ B.toarray().T).sum(axis=1) + 0.1 * Z.toarray().sum(
        axis=1
    )
    assert np.allclose(objective, direct)
    assert np.allclose(objective, sparse_code(P, B, 0.1)[1])


def test_the_start_is_greedy(rng):
    """Each atom is the best next one, by looking at all."""
    P, _, _ = planted(rng, sizes=(5, 4), known=3)
    settings = SmallDictionary(atoms=4, start_terms=4, min_support=2)
    candidates = sparse.csc_array(emerging.short_atoms(P, 4, 2).T)
    cost = np.array([sparse_code(P, candidates[:, [j]], 0.1)[1] for j in range(P.shape[0])])
    chosen = emerging.choose_initial_atoms(P, settings).toarray()
    best = np.ones(P.shape[0])
    for step in range(chosen.shape[1]):
        totals = np.minimum(best, cost).sum(axis=1)
        j = int(np.argmin(totals.round(12)))
        assert np.array_equal(chosen[:, step], candidates[:, [j]].toarray().ravel())
        best = np.minimum(best, cost[j])
    assert 1 < chosen.shape[1] <= 4 and ((chosen > 0).sum(axis=0) <= 4).all()
    assert np.allclose(chosen.sum(axis=0), 1)


def test_short_atoms_hold_shared_terms_only():
    Q = sparse.csr_array([[0.4, 0.3, 0.3, 0.0], [0.5, 0.0, 0.0, 0.5], [0.1, 0.9, 0.0, 0.0]])
    assert np.allclose(
        emerging.short_atoms(Q, 0, 2).toarray(),
        [[4 / 7, 3 / 7, 0, 0], [1, 0, 0, 0], [0.1, 0.9, 0, 0]],
    )
    assert np.allclose(
        emerging.short_atoms(Q, 1, 1).toarray(), [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
    )
    assert emerging.short_atoms(Q, 0, 4).nnz == 0


def test_equal_scores_in_the_order_of_the_stream():
    P = sparse.csr_array(np.eye(8))
    score = np.array([0.5, 1.0, 0.2, 1.0, 0.5, 1.0, 0.5, 0.5])
    assert emerging.most_novel(score, P, 0.5).tolist() == [1, 3, 5, 0]
    assert emerging.most_novel(score, P, 1.0).tolist() == [1, 3, 5, 0, 4, 6, 7, 2]
    P = sparse.csr_array(np.diag([1.0, 0, 1, 1, 1, 1, 1, 0]))
    P.eliminate_zeros()
    assert emerging.most_novel(score, P, 0.5).tolist() == [3, 5, 0]  # two have no known term


def test_clusters_of_codes():
    Z = np.zeros((9, 4))
    Z[[0, 1, 2], 2] = 0.5
    Z[3, [1, 2]] = 0.3  # equal codes: the lower atom
    Z[4, [0, 1]] = 0.1, 0.4
    Z[5, 0] = 0.2
    Z[[6, 7], 3] = 0.2
    cluster, atoms = emerging.group(sparse.csr_array(Z), 2)
    assert atoms.tolist() == [2, 1, 3]  # by size, equal sizes by atom
    assert cluster.tolist() == [0, 0, 0, 1, 1, -1, 2, 2, -1]
    cluster, atoms = emerging.group(sparse.csr_array(Z), 3)
    assert atoms.tolist() == [2] and (cluster == -1).sum() == 6
    cluster, atoms = emerging.group(sparse.csr_array((3, 0)), 1)
    assert atoms.tolist() == [] and cluster.tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    "P", [sparse.csr_array((0, 5)), sparse.csr_array((4, 5)), sparse.csr_array([[0.5, 0.5, 0.0]])]
)
def test_little_gives_no_cluster(P):
    """No document, empty ones, one only."""
    found = emerging.find(P, np.ones(P.shape[0]), SmallDictionary(share=1.0))
    assert len(found.rows) == np.count_nonzero(np.diff(P.indptr))
    assert len(found.representative) == 0 and found.atoms.shape == (P.shape[1], 0)
    assert (found.cluster == -1).all() and found.objective == pytest.approx(P.sum())


def test_one_document_may_be_a_cluster_if_that_is_asked_for():
    found = emerging.find(
        sparse.csr_array([[0.5, 0.5, 0.0]]), np.ones(1), SmallDictionary(share=1.0, min_support=1)
    )
    assert found.cluster.tolist() == [0] and found.representative.tolist() == [0]
    assert found.atoms.toarray().ravel() == pytest.approx([0.5, 0.5, 0.0])
    assert found.objective == pytest.approx(0.1) and found.residual[0] == pytest.approx(0)


def test_where_all_codes_are_zero():
    P = sparse.csr_array(np.eye(6))  # nothing shared
    found = emerging.find(P, np.ones(6), SmallDictionary(share=1.0))
    assert (found.cluster == -1).all() and found.objective == pytest.approx(6)
    # A heavy penalty leaves every code at zero, whatever is shared.
    P = sparse.csr_array(np.full((6, 3), 1 / 3))
    found = emerging.find(P, np.ones(6), SmallDictionary(share=1.0, lam=1.5, min_support=1))
    assert (found.cluster == -1).all() and (found.residual == pytest.approx(1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 0}, "share is 0"),
        ({"share": 1.5}, "at most 1"),
        ({"share": float("nan")}, "share is nan"),
        ({"atoms": 0}, "atoms is 0"),
        ({"atoms": 2.0}, "an integer"),
        ({"lam": -1}, "lam is -1"),
        ({"lam": True}, "lam is True"),
        ({"min_support": 0}, "min_support is 0"),
        ({"terms": "x"}, "terms is 'x'"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ParameterError, match=message):
        SmallDictionary(**settings)


def test_wrong_scores_are_refused():
    P = sparse.csr_array(np.eye(3))
    with pytest.raises(ParameterError, match="a finite score for each document"):
        emerging.find(P, np.ones(2))
    with pytest.raises(ParameterError, match="with nan"):
        emerging.find(P, np.array([1.0, np.nan, 0.0]))


# Files and command


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Features and scores of two timesteps of an invented stream, the second with a new topic."""
    folder = tmp_path_factory.mktemp("made")
    chain = studies.chain_of(0, 2, 80, folder=folder)
    for batch in chain:
        skill = {
            "run": "da",
            "corpus": "wires",
            "seed": 0,
            "k": 5,
            "skill": 0.4,
            "rng": np.random.default_rng(0),
        }
        studies.write_scores(folder / f"s{batch.t}.h5", batch, **skill)
    return folder


def test_a_file_reads_as_it_was_written(made, tmp_path):
    found, batch = find_in_files(
        made / "s1.h5", made / "f1.h5", settings=SmallDictionary(share=0.4)
    )
    assert found.run == {
        "corpus": "wires",
        "seed": 0,
        "run": "da",
        "atoms": 5,
        "algorithm": "dual_averaging",
    }
    assert len(found.words) >= 2 and found.settings["share"] == 0.4
    for name in ("a.h5", "b.h5"):
        emergingfiles.write(tmp_path / name, found)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    back = emergingfiles.read_emerging(tmp_path / "a.h5")
    for name, value in vars(found).items():
        held = getattr(back, name)
        assert np.array_equal(held, value) if isinstance(value, np.ndarray) else held == value, name
    row = emergingfiles.judge(found, batch)
    assert (row["novel_topics"], row["reachable"], row["found"]) == (1, 1, 1) and row[
        "purity"
    ] > 0.7
    assert row["clustered"] == (found.cluster >= 0).sum()
    (tmp_path / "a.h5").write_bytes((tmp_path / "a.h5").read_bytes()[:-50])
    with pytest.raises(StorageError, match="was changed"):
        emergingfiles.read_emerging(tmp_path / "a.h5")


def test_nothing_found_is_written_and_read(made, tmp_path):
    found, batch = find_in_files(
        made / "s1.h5", made / "f1.h5", settings=SmallDictionary(share=0.01)
    )
    emergingfiles.write(tmp_path / "a.h5", found)
    back = emergingfiles.read_emerging(tmp_path / "a.h5")
    assert len(back.rows) == 1 and back.words == [] and len(back.representative) == 0
    row = emergingfiles.judge(back, batch)
    assert np.isnan(row["purity"]) and row["found"] == 0 and row["found_share"] == 0


def test_documents_are_weighed_as_the_run_did(made, tmp_path, capsys):
    """The score file says how."""
    from odl import cli

    shutil.copy(made / "s1.h5", tmp_path / "s1.h5")
    with edited(tmp_path / "s1.h5") as file:
        file.attrs["weighting"] = json.dumps({"tf": "log", "idf": "none"})
    chosen = {"settings": SmallDictionary(share=0.4)}
    found = [
        find_in_files(path, made / "f1.h5", **chosen)[0].objective
        for path in (made / "s1.h5", tmp_path / "s1.h5")
    ]
    assert found[0] != found[1]
    for text, message in (("[1]", "damaged"), ('{"norm": "l2"}', "damaged")):
        with edited(tmp_path / "s1.h5") as file:
            file.attrs["weighting"] = text
        with pytest.raises(StorageError, match=message):
            find_in_files(tmp_path / "s1.h5", made / "f1.h5")
    with edited(tmp_path / "s1.h5") as file:
        del file.attrs["weighting"]
    words = [
        "step",
        "topics",
        str(tmp_path / "s1.h5"),
        str(made / "f1.h5"),
        "--output",
        str(tmp_path / "t.h5"),
    ]
    assert cli.main(words) == 1
    assert (
        "has no attribute weighting; expected a score file of a learner" in capsys.readouterr().err
    )


def test_files_of_different_documents_are_refused(made, tmp_path):
    with pytest.raises(DataError, match="timestep 0"):
        find_in_files(made / "s1.h5", made / "f0.h5")
    found, _ = find_in_files(made / "s0.h5", made / "f0.h5")
    emergingfiles.write(tmp_path / "a.h5", found)
    with pytest.raises(DataError, match="have different documents"):
        emergingfiles.table([(tmp_path / "a.h5", made / "s1.h5")])


def test_the_command_writes_what_is_described(made, tmp_path):
    files = (made / "s1.h5", made / "f1.h5")
    done = odl(
        "step", "topics", *files, "--output", tmp_path / "t.h5", "--settings", '{"share": 0.4}'
    )
    assert done.returncode == 0, done.stderr
    found, batch = emergingfiles.read_emerging(tmp_path / "t.h5"), read_scores(made / "s1.h5")
    clusters = emergingfiles.describe(found, batch)
    assert [" ".join(cluster["words"]) for cluster in clusters] == found.words
    assert [cluster["representative"] for cluster in clusters] == [
        batch.ids[row] for row in found.representative
    ]
    done = odl(
        "step",
        "emerging",
        tmp_path / "e.tsv",
        "--files",
        tmp_path / "t.h5",
        "--scores",
        made / "s1.h5",
    )
    assert done.returncode == 0, done.stderr
    header, line = (tmp_path / "e.tsv").read_text().splitlines()
    assert header.split("\t") == [*emergingfiles.EMERGING_COLUMNS, "digest"] and line.startswith(
        "da\t1\t"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["s1.h5", "f0.h5"], "features and scores of the same documents"),
        (["f1.h5", "f1.h5"], "kind 'features'"),
        (["absent.h5", "f1.h5"], "does not exist"),
        (["s1.h5", "f1.h5", "--settings", '{"share": 2}'], "share is 2"),
        (["s1.h5", "f1.h5", "--settings", '{"shares": 0.2}'], "'--settings.shares' is not a key"),
    ],
)
def test_mistakes_are_one_sentence(made, arguments, message, capsys):
    from odl import cli

    words = [str(made / word) if word.endswith(".h5") else word for word in arguments]
    assert cli.main(["step", "topics", *words, "--output", str(made / "x.h5")]) == 1
    printed = capsys.readouterr()
    assert (
        message in printed.err
        and "expected" in printed.err
        and len(printed.err.strip().splitlines()) == 1
    )
    assert printed.out == ""


def test_a_file_for_every_score_file(made, capsys):
    from odl import cli

    assert cli.main(["step", "emerging", str(made / "x.tsv"), "--scores", str(made / "s1.h5")]) == 1
    assert "one file of each kind for every timestep" in capsys.readouterr().err
