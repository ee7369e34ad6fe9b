"""The configuration is refused at the first wrong key or value, in one sentence."""

import contextlib
import copy
import hashlib
import os
import sys

import pytest
from configurations import DEFAULT, SCHEMA, merged
from places import ROOT

from odl import learners
from odl.config import chains, consistency
from odl.config.schema import check_map
from odl.config.sections import Weighting
from odl.config.setting import merge
from odl.errors import ConfigError

REGRET = {**DEFAULT["regret"], "enabled": True, "runs": ["admm"]}


def broken(keys, value):
    changed = copy.deepcopy(DEFAULT)
    node = changed
    for key in keys[:-1]:
        node = node[key]
    if value is None:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    return changed


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem
)
def test_committed_configurations_are_valid(path):
    consistency.check_config(merged(path), SCHEMA)


def test_only_the_default_study_follows_alerts():
    """A plain `snakemake` makes new.html; a study of papers asks for none of its files."""
    followed = {
        path.stem for path in (ROOT / "config").glob("*.yaml") if chains.alerts_of(merged(path))
    }
    assert followed == {"config"} and chains.alerts_of(DEFAULT)[0] == "levels"


def test_studies_have_results_of_their_own():
    names = [merged(path)["study"] for path in (ROOT / "config").glob("*.yaml")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["atms"], [3], "did you mean 'atoms'?"),
        (["learners", "admm", "bta"], 3.0, "did you mean 'beta'?"),
        (["learners", "admm", "algorithm"], "online_adm", "did you mean 'online_admm'?"),
        (["runs"], ["adm"], "did you mean 'admm'?"),
        (["streams"], ["scipydoc"], "did you mean 'scipydocs'?"),
        (["evaluate", "topics"], "dominan", "did you mean 'dominant'?"),
        (["corpora", "scipydocs", "reader"], "scipydoc", "did you mean 'scipydocs'?"),
        (["corpora", "scipydocs", "batches", "documents"], 0, "an integer at least 1"),
        (["corpora", "scipydocs", "batches", "documents"], True, "an integer at least 1"),
        (["seeds"], [], "a list, not empty"),
        (["seeds"], ["a"], "seeds[0] is 'a'"),
        (["seeds"], None, "has no 'seeds'"),
        (["features", "min_df"], "2", "an integer at least 0"),
        (["learners", "admm", "lam"], float("nan"), "a number"),
        (["study"], "My study", "matching"),
        (["atoms"], [2000], "lower atoms or raise batches.initial"),
        (["seeds"], [0, 0], "seeds names 0 twice"),
        (["atoms"], [200, 200], "atoms names 200 twice"),
        (["learners", ".."], {"algorithm": "online_admm"}, "matching"),
        (["learners", "admm", "beta"], float("inf"), "a number"),
        (["report", "runs"], ["other"], "report.runs names 'other'"),
        (["report", "run"], "other", "report.run names 'other'"),
        (["report", "atoms"], 3, "report.atoms names 3; expected one of 2000"),
        (
            ["learners", "levels", "atoms"],
            [100],
            "levels.atoms is [100]; expected [2000], which follows from memory and terms",
        ),
        (
            ["learners", "levels", "memory"],
            74,
            "learners.levels.memory is 74; expected at least 75",
        ),
        (["regret"], {**REGRET, "runs": []}, "regret is enabled and regret.runs is empty"),
        (["regret"], {**REGRET, "runs": ["other"]}, "regret.runs names 'other'"),
        (["regret"], {**REGRET, "runs": ["admm", "admm"]}, "regret.runs names 'admm' twice"),
        (["regret"], {**REGRET, "sizes": [3]}, "regret.sizes names 3; expected one of 200"),
        (["regret", "tolerance"], 0, "a number above 0"),
        (["report", "seed"], 9, "report.seed names 9; expected one of 0, 1, 2"),
        (
            ["corpora", "scipydocs", "topic_entry", "first"],
            7,
            "a first batch that is not after the last",
        ),
        (["learners", 3], {"algorithm": "online_admm"}, "write it in quotes: '3'"),
    ],
)
def test_wrong_values_are_named(keys, value, message):
    with pytest.raises(ConfigError) as caught:
        consistency.check_config(broken(keys, value), SCHEMA)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("folder", ["a{b}", "a\nb", "a\x1bb", "-a", "s3://a", " a", "a "])
def test_a_folder_that_cannot_work_is_refused(folder):
    with pytest.raises(ConfigError, match="expected a path without braces") as caught:
        consistency.check_config(broken(["results"], folder), SCHEMA)
    assert str(caught.value).isprintable()
    consistency.check_config(broken(["results"], "../r $(id) ü 'q\" -/x"), SCHEMA)


def test_what_is_left_out_is_filled_in():
    """Maps are merged, lists and values stay, and the two share nothing afterwards."""
    defaults = {"seeds": [0, 1], "a": {"b": 1, "c": {"d": [{"e": 2}]}}, "f": 3, "g": {"h": 4}}
    before = copy.deepcopy(defaults)
    held = {"seeds": [5], "a": {"b": 6}, "g": None}
    assert merge(held, defaults) is held
    assert held == {"seeds": [5], "a": {"b": 6, "c": {"d": [{"e": 2}]}}, "f": 3, "g": None}
    held["a"]["c"]["d"][0]["e"] = 7
    assert defaults == before


def test_atoms_opened_on_demand_may_outnumber_the_first_batch():
    for run, wrong in (("adaptive", False), ("admm", True)):
        changed = broken(["learners", run, "atoms"], [2000])
        changed["report"]["atoms"] = None
        with (
            pytest.raises(ConfigError, match=f"run '{run}' has 2000")
            if wrong
            else contextlib.nullcontext()
        ):
            consistency.check_config(changed, SCHEMA)


def test_atoms_of_a_memory_are_what_the_learner_has():
    for changes in ({}, {"memory": 6000}, {"terms": 20}, {"memory": 900, "terms": 10}):
        changed = broken(["learners", "levels"], {"algorithm": "levels", **changes})
        changed["report"]["atoms"] = None
        consistency.check_config(changed, SCHEMA)
        assert chains.atoms_of(changed, "levels") == [learners.make("levels", **changes).limit]


@pytest.mark.parametrize("name", ["baselines", "features", "seed0"])
def test_names_of_folders_are_no_runs(name):
    changed = copy.deepcopy(DEFAULT)
    changed["learners"][name] = {"algorithm": "online_admm"}
    changed["runs"].append(name)
    with pytest.raises(ConfigError, match="rename the run"):
        consistency.check_config(changed, SCHEMA)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            "10,2",
            "run 'admm': the tree '10,2' has 31 nodes and the dictionary 200 atoms; expected one node for each",
        ),
        ("bianry", "run 'admm': the tree is 'bianry'; expected 'binary', branching factors"),
        ("parents 1,0", "run 'admm': the nodes 0, 1 are in a cycle or below a cycle"),
    ],
)
def test_trees_have_a_node_for_each_atom(tree, message):
    changed = broken(["learners", "admm"], {"algorithm": "hierarchical", "tree": tree})
    with pytest.raises(ConfigError) as caught:
        consistency.check_config(changed, SCHEMA)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    consistency.check_config(
        broken(["learners", "admm"], {"algorithm": "hierarchical", "tree": "3,33", "atoms": [103]}),
        SCHEMA,
    )


def test_what_follows_from_a_run():
    changed = copy.deepcopy(DEFAULT)
    changed["learners"]["small"] = {
        "algorithm": "projected_gradient",
        "eta": 5.0,
        "atoms": [7],
        "features": {"tf": "log"},
    }
    changed["runs"].append("small")
    consistency.check_config(changed, SCHEMA)
    assert chains.atoms_of(changed, "small") == [7]
    assert chains.atoms_of(changed, "admm") == changed["atoms"]
    settings = chains.run_of(changed, "small", seed=3)
    assert (
        settings["learner"] == {"algorithm": "projected_gradient", "eta": 5.0}
        and settings["seed"] == 3
    )
    others = {"max_terms", *Weighting.earlier()}
    weighting = {key: value for key, value in changed["features"].items() if key not in others}
    assert settings["features"] == {**weighting, "tf": "log"}
    changed["features"]["max_share"] = 0.3
    assert chains.run_of(changed, "small")["features"]["max_share"] == 0.3


def test_seeds_share_batches_when_nothing_is_drawn():
    changed = copy.deepcopy(DEFAULT)
    assert chains.order_seed(changed, "scipydocs", "2") == 2
    changed["corpora"]["scipydocs"] |= {"protocol": "by-date", "ties": "source"}
    assert chains.order_seed(changed, "scipydocs", "2") == 0


def test_own_files_are_found_or_refused(tmp_path):
    for name in ("B.JSONL", "a.jsonl", ".hidden.jsonl", "notes.txt"):
        (tmp_path / name).write_text("")
    settings = {"corpora": {"mine": {"reader": "documents", "sources": [str(tmp_path)]}}}
    assert chains.sources_of(settings, "mine", [], "data") == [
        str(tmp_path / "B.JSONL"),
        str(tmp_path / "a.jsonl"),
    ]
    settings["corpora"]["mine"]["sources"] = [str(tmp_path / "absent")]
    with pytest.raises(ConfigError, match="does not exist"):
        chains.sources_of(settings, "mine", [], "data")


def test_names_that_no_configuration_or_snakemake_takes_are_refused(tmp_path):
    settings = {"corpora": {"mine": {"reader": "documents", "sources": [str(tmp_path)]}}}
    (tmp_path / os.fsdecode(b"caf\xe9.jsonl")).write_text("")
    with pytest.raises(
        ConfigError,
        match=r"the name of .*/caf\\xe9\.jsonl is not UTF-8; expected .*; rename the file",
    ):
        chains.sources_of(settings, "mine", [], "data")
    for name in ("a{t}.jsonl", "{ corpus }/a", "a{t,\\d+}", "a{t,[0-9]{4}}"):
        chains.refuse_names(["café.jsonl", name])
        with pytest.raises(ConfigError, match="which is a wildcard of Snakemake"):
            chains.refuse_names(["café.jsonl", name], wildcards=True)
    chains.refuse_names(["a{}.jsonl", "a{b-c}", "a{t", "t}"], wildcards=True)


def test_a_folder_that_cannot_be_read_is_one_sentence(tmp_path, monkeypatch):
    def listdir(folder):
        raise PermissionError(13, "Permission denied", folder)

    settings = {"corpora": {"mine": {"reader": "documents", "sources": [str(tmp_path)]}}}
    monkeypatch.setattr(os, "listdir", listdir)
    with pytest.raises(
        ConfigError, match=r"which cannot be read \(Permission denied\); expected .* permissions"
    ):
        chains.sources_of(settings, "mine", [], "data")


def test_what_files_hold_is_told_apart_and_what_cannot_be_read_is_left_to_its_job(tmp_path):
    path = tmp_path / "a.jsonl"
    told = [chains.contents_of([str(path)])]
    for content in (b"one", b"two", b"three"):
        path.write_bytes(content)
        told.append(chains.contents_of([str(path)]))
    assert len(set(told)) == 4
    assert told[1] == hashlib.sha256(f"{path}:3;one".encode()).hexdigest()
    if sys.platform == "linux":
        path.unlink()
        path.symlink_to("/proc/self/mem")
        assert len(chains.contents_of([str(path)])) == 64


def test_the_environment_names_the_mirror_first(monkeypatch):
    monkeypatch.delenv("ODL_MIRROR", raising=False)
    assert chains.mirror_of({"mirror": "there"}) == "there"
    monkeypatch.setenv("ODL_MIRROR", "here")
    assert chains.mirror_of({"mirror": "there"}) == "here"


@pytest.mark.parametrize(("value", "fits"), [(0, True), (0.99, True), (1, False), (-0.1, False)])
def test_a_weight_of_pieces_is_below_1(value, fits):
    refusal = pytest.raises(
        ConfigError, match=f"is {value}; expected a number at least 0 and below 1"
    )
    with contextlib.nullcontext() if fits else refusal:
        Weighting.from_map({"pieces": value})


def test_a_learner_without_an_entry_is_told_what_to_run():
    settings = {"algorithm": "zzzz"}
    with pytest.raises(ConfigError, match="if it is new, run `odl step schema --write`"):
        check_map({**DEFAULT, "learners": {**DEFAULT["learners"], "new": settings}}, SCHEMA)
