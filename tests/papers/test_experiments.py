"""Experiments on small planted data: what was planted is found, what is sent is counted, what is wrong is refused."""

import gzip
import json

import numpy as np
import pytest
from experimented import SMALL, TREES
from fuzzing import sealed_map
from networked import optimum, problem
from places import ROOT

from odl import cli
from odl.distributed import inference, models
from odl.errors import ConfigError, DataError, ParameterError
from odl.papers import experiments
from odl.papers.experiments import biclustering, convergence
from odl.report import studypage


def planted(rng, genes=300):
    """Return expression with two classes, each with genes of its own."""
    classes = ["a"] * 6 + ["b"] * 5
    values = 0.1 * rng.standard_normal((genes, 11))
    values[:60, :6] += 2.0
    values[60:120, 6:] += 2.0
    return biclustering.Expression(values, [f"g{i}" for i in range(genes)], classes)


# The mechanism


def test_settings_are_completed_and_closed():
    held = experiments.complete("convergence", {"agents": 3})
    assert held["agents"] == 3 and held.keys() == convergence.SETTINGS.keys()
    with pytest.raises(ConfigError, match="did you mean 'agents'"):
        experiments.complete("convergence", {"agent": 3})
    with pytest.raises(ConfigError, match="an integer at least 1"):
        experiments.complete("convergence", {"agents": 0})
    with pytest.raises(ConfigError, match="did you mean 'convergence'"):
        experiments.module_of("convergense")


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_an_experiment_runs_is_shown_and_is_repeatable(name, tmp_path):
    for place in ("first", "second"):
        words = [
            "step",
            "experiment",
            name,
            str(tmp_path / place),
            "--settings",
            json.dumps(SMALL[name]),
        ]
        assert cli.main(words) == 0
    first = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    assert first == {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    assert {"settings.json"} < first.keys() and any(name.endswith(".png") for name in first)
    studypage.write(
        tmp_path / "page.html", title="Page", experiments=[experiments.section(tmp_path / "first")]
    )
    page = (tmp_path / "page.html").read_text()
    assert 'id="experiment-first"' in page and experiments.module_of(name).TITLE in page
    assert page.count("<figure>") == sum(name.endswith(".png") for name in first)
    assert name != "convergence" or "ring of degree 2" in page  # as it is in the study


@pytest.mark.slow
def test_parts_make_the_experiment_that_is_run_as_a_whole(tmp_path):
    settings = {**TREES, "seeds": [3, 1]}
    words = ["--settings", json.dumps(settings)]
    assert cli.main(["step", "experiment", "inpainting", str(tmp_path / "whole"), *words]) == 0
    parts = [str(tmp_path / f"{seed}.json") for seed in settings["seeds"]]
    for seed, part in zip(settings["seeds"], parts, strict=True):
        assert (
            cli.main(
                [
                    "step",
                    "measure",
                    "inpainting",
                    part,
                    "--part",
                    str(seed),
                    "--settings",
                    json.dumps(TREES),
                ]
            )
            == 0
        )
    assert (
        cli.main(
            [
                "step",
                "experiment",
                "inpainting",
                str(tmp_path / "parted"),
                *words,
                "--parts",
                *parts,
            ]
        )
        == 0
    )
    whole = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert len(whole) > 8 and whole == {
        path.name: path.read_bytes() for path in (tmp_path / "parted").iterdir()
    }


def edited(**changes):
    return lambda held: json.dumps({**held, **changes})


def resealed(**changes):
    """Return what makes a part of other content whose digest fits."""
    return lambda held: json.dumps(
        sealed_map({key: held[key] for key in held if key != "digest"} | changes)
    )


@pytest.mark.parametrize(
    "change",
    [
        *(lambda held, text=text: text for text in ("", "{}", "[]", "3", "[" * 100_000)),
        lambda held: json.dumps(held)[:-9],
        *(edited(tables=tables) for tables in ({}, [], None, {"test": [3]}, {"../x": []})),
        *(
            resealed(**change)
            for change in (
                {"part": 2},
                {"experiment": "x"},
                {"settings": {}},
                {"code": ""},
                {"more": 1},
            )
        ),
        lambda held: json.dumps(held).replace('"error": ', '"error": 1'),
    ],
)
def test_what_is_no_part_is_refused(change, part, tmp_path, capsys):
    (tmp_path / "1.json").write_text(change(json.loads(part.read_text())))
    words = [
        "step",
        "experiment",
        "inpainting",
        str(tmp_path / "made"),
        "--settings",
        json.dumps({**TREES, "seeds": [1]}),
    ]
    assert cli.main([*words, "--parts", str(tmp_path / "1.json")]) == 1
    printed = capsys.readouterr().err
    assert (
        "1.json is not the expected part; expected part 1 of inpainting" in printed
        and "Traceback" not in printed
    )
    assert [path.name for path in tmp_path.iterdir()] == ["1.json"]


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """Seed 1 of a small inpainting."""
    path = tmp_path_factory.mktemp("part") / "1.json"
    assert (
        cli.main(
            [
                "step",
                "measure",
                "inpainting",
                str(path),
                "--part",
                "1",
                "--settings",
                json.dumps(TREES),
            ]
        )
        == 0
    )
    return path


def test_parts_are_those_of_these_settings_whatever_is_drawn(part, tmp_path, capsys):
    def words(**changes):
        settings = json.dumps({**TREES, "seeds": [1], **changes})
        return [
            "step",
            "experiment",
            "inpainting",
            str(tmp_path / "made"),
            "--settings",
            settings,
            "--parts",
            str(part),
        ]

    assert (
        cli.main(words(missing=[50])) == 1 and "with the same settings" in capsys.readouterr().err
    )
    assert cli.main(words(seeds=[1, 2])) == 1
    assert (
        "1 files of parts of inpainting are given; expected 2 files, one for each of [1, 2]"
        in capsys.readouterr().err
    )
    assert cli.main(words(seeds=[1, 1])) == 1 and "names 1 twice" in capsys.readouterr().err
    assert (
        cli.main(words(drawn_patch=500)) == 1 and "positions; expected" in capsys.readouterr().err
    )
    assert cli.main(words(drawn_lam=50)) == 1 and "at most 20" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert cli.main(words(drawn_lam=-3)) == 0 and (tmp_path / "made" / "dictionary.png").exists()


def test_an_experiment_without_parts_says_so(tmp_path, capsys):
    assert (
        cli.main(["step", "measure", "convergence", str(tmp_path / "part.json"), "--part", "0"])
        == 1
    )
    assert "'convergence' has no parts" in capsys.readouterr().err
    assert (
        cli.main(
            [
                "step",
                "experiment",
                "convergence",
                str(tmp_path / "made"),
                "--parts",
                str(tmp_path / "part.json"),
            ]
        )
        == 1
    )
    assert "has no parts" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_an_unfinished_experiment_is_refused(tmp_path):
    with pytest.raises(DataError, match="no finished experiment"):
        experiments.section(tmp_path)


def test_a_plan_needs_its_tables(tmp_path, capsys):
    assert cli.main(["step", "page", str(tmp_path / "page.html"), "plan.json"]) == 1
    assert "PLAN TABLES FIGURES" in capsys.readouterr().err


# Convergence


@pytest.fixture(scope="module")
def followed():
    settings = {**experiments.complete("convergence", {}), "documents": 1, "steps": 400}
    return convergence.measure(settings, [])


def test_optima_agree_with_strong_duality():
    settings = experiments.complete("convergence", {})
    model = models.task("nmf", gamma=0.1, delta=1.0)
    held = convergence.synthetic(model, settings)
    for x, nu, score in zip(held.documents, held.optima, held.scores, strict=True):
        assert model.dual(x, held.atoms, nu) == pytest.approx(score, rel=1e-9)


def test_floats_are_counted_and_clocks_agree(followed):
    terms, agents = (
        convergence.SETTINGS["terms"]["default"],
        convergence.SETTINGS["agents"]["default"],
    )
    for row in followed[0]:
        neighbours = {"fully_connected": agents - 1, "ring": 2}[row["network"]]
        assert row["floats"] == row["exchanges"] * neighbours * terms
        inner = int(row["method"].split()[1]) if row["method"].startswith("ADMM") else 1
        assert row["inner"] == inner * row["exchanges"]


@pytest.mark.slow
@pytest.mark.parametrize("name", models.TASKS)
@pytest.mark.parametrize("seen_by", [1.0, 0.0])
def test_consensus_admm_ends_at_the_optimum(name, seen_by, rng):
    model, x, blocks, network = problem(name, rng, seen_by=seen_by)
    share = inference.share_all(model, network, blocks)
    inferred = convergence.consensus_admm(share, x, iterations=300, inner=10)
    assert np.abs(inferred.nu - optimum(model, x, np.concatenate(blocks, axis=1))).max() < 3e-5
    with pytest.raises(ParameterError, match="penalty"):
        convergence.consensus_admm(share, x, penalty=0.0)


@pytest.mark.slow
def test_where_methods_end(followed):
    last = {(row["network"], row["method"]): row["distance"] for row in followed[0]}
    assert last["fully_connected", "diffusion"] < 1e-10
    assert last["ring", "ADMM, 1 inner"] < 1e-6 < last["ring", "diffusion"]
    assert last["ring", convergence.SMALL] < last["ring", "diffusion"]


def test_squared_distance_of_the_fixed_point_is_of_the_square_of_mu(followed):
    assert convergence.slope(followed[1]) == pytest.approx(2.0, abs=0.15)


def test_convergence_takes_one_file():
    with pytest.raises(ParameterError, match="2 files"):
        convergence.measure(experiments.complete("convergence", {}), ["a", "b"])


# Bi-clustering


@pytest.mark.slow
def test_planted_bi_clusters_are_recovered(rng, monkeypatch):
    monkeypatch.setattr(biclustering, "DICTIONARY_STEP", 0.02)
    monkeypatch.setattr(biclustering, "MU", 0.05)
    settings = {"atoms": 2, "betas": [0.02], "seeds": [0], "iterations": 300}
    rows, shown = biclustering.measure(planted(rng), settings)
    assert {row["method"] for row in rows} == {"singular vectors", "all genes", "diffusion"}
    for row in rows:
        assert row["ari"] == 1.0, row
    atoms, codes = shown[0.02]
    strongest = np.argsort(-np.abs(codes).max(axis=1))[:60]
    assert np.mean(strongest < 120) > 0.95 and atoms.shape == (11, 2)


def test_recovery_of_noise_is_poor(rng):
    classes = ["a", "b", "c", "d"] * 15
    assert abs(biclustering.recovery(rng.standard_normal((60, 3)), classes)) < 0.15


def test_the_table_of_expression_is_read_or_refused(tmp_path):
    path = tmp_path / biclustering.LUNG_FILE
    with gzip.open(path, "wt") as file:
        file.write("gene,a,b\ng1,1.5,-1.5\ng2,0,2\n")
    found = biclustering.parse_expression(path)
    assert found.classes == ["a", "b"] and found.genes == ["g1", "g2"]
    assert np.array_equal(found.values, [[1.5, -1.5], [0.0, 2.0]])
    with pytest.raises(DataError, match="as its number of genes"):
        biclustering.read_expression([path])
    with gzip.open(path, "wt") as file:
        file.write("gene,a,b\ng1,1.5\n")
    for wrong in (path, ROOT / "README.md"):
        with pytest.raises(DataError) as caught:
            biclustering.parse_expression(wrong)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="0 source files"):
        biclustering.read_expression([])


def test_the_real_matrix(corpora):
    found = biclustering.read_expression([corpora / "lung" / biclustering.LUNG_FILE])
    assert found.values.shape == (5000, 56) and np.abs(found.values.mean(axis=1)).max() < 1e-9
