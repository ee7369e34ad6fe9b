"""The schemas are plain JSON Schema: the package jsonschema refuses what odl refuses, at the same key."""

import copy

import jsonschema
import pytest
import yaml
from called import odl
from configurations import DEFAULT, SCHEMA, merged
from places import ROOT

from odl.config import project
from odl.config.schema import check_map, load_schema
from odl.errors import ConfigError

FOLDER_SCHEMA = load_schema(project.SCHEMA)
FOLDER_LINES = """\
sources: [posts/*.jsonl]
options: {kind: jsonl, clean: [html], tokens: {tokeniser: words}, columns: {text: [title, body]}}
batches: {by: period, period: day}
learners: {levels: {recency: 0.5}, other: {algorithm: adaptive, same: 0.4}}
alerts: {gates: true, budget: 0.5}
atoms: 100
notify: ./tell.sh
"""


def wrong_places(value, schema):
    """Return the dotted keys at which the package jsonschema refuses a value, sorted."""
    validator = jsonschema.validators.validator_for(schema)
    errors = validator(schema).iter_errors(value)
    return sorted({".".join(map(str, error.absolute_path)) for error in errors})


def changed(config, keys, value):
    """Return a copy of a configuration with another value of a key; `None` removes the key."""
    config = copy.deepcopy(config)
    node = config
    for key in keys[:-1]:
        node = node.setdefault(key, {})
    if value is None:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    return config


@pytest.mark.parametrize("schema", [SCHEMA, FOLDER_SCHEMA], ids=["study", "folder"])
def test_a_schema_is_one_of_its_draft(schema):
    jsonschema.validators.validator_for(schema).check_schema(schema)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem
)
def test_example_configurations_are_valid_for_others_too(path):
    assert wrong_places(merged(path), SCHEMA) == []


@pytest.mark.parametrize(
    ("keys", "value", "place"),
    [
        (["atms"], [3], ""),
        (["learners", "admm", "bta"], 3.0, "learners.admm"),
        (["learners", "admm", "algorithm"], "online_adm", "learners.admm.algorithm"),
        (["learners", "admm", "algorithm"], None, "learners.admm"),
        (["learners", "admm", "beta"], "3", "learners.admm.beta"),
        (["learners", "levels", "beta"], 3.0, "learners.levels"),
        (["learners", "admm", "atoms"], [0], "learners.admm.atoms.0"),
        (["learners", ".."], {"algorithm": "online_admm"}, "learners"),
        (["evaluate", "topics"], "dominan", "evaluate.topics"),
        (["corpora", "scipydocs", "reader"], "scipydoc", "corpora.scipydocs.reader"),
        (["corpora", "scipydocs", "options", "clean"], [], "corpora.scipydocs.options"),
        (
            ["corpora", "scipydocs", "batches", "documents"],
            0,
            "corpora.scipydocs.batches.documents",
        ),
        (["corpora", "mine"], {"reader": "documents"}, "corpora.mine"),
        (["seeds"], [], "seeds"),
        (["seeds"], ["a"], "seeds.0"),
        (["seeds"], None, ""),
        (["features", "min_df"], True, "features.min_df"),
        (["study"], "My study", "study"),
        (["experiments", "one"], {"experiment": "quality"}, "experiments.one"),
    ],
)
def test_both_refuse_the_same_key(keys, value, place):
    config = changed(DEFAULT, keys, value)
    assert wrong_places(config, SCHEMA) == [place]
    with pytest.raises(ConfigError) as caught:
        check_map(config, SCHEMA)
    named = place.removesuffix(".0") + "[0]" * place.endswith(".0")
    assert (named or "the configuration") in str(caught.value) or keys[0] in str(caught.value)


def test_a_wrong_key_of_a_variant_is_answered_with_the_keys_it_has():
    config = changed(DEFAULT, ["learners", "admm", "bta"], 3.0)
    with pytest.raises(
        ConfigError, match=r"'learners.admm.bta' is not a key .*one of .*beta"
    ) as one:
        check_map(config, SCHEMA)
    assert "did you mean 'beta'?" in str(one.value)
    with pytest.raises(ConfigError, match=r"has no 'algorithm'; expected 'algorithm' .text."):
        check_map(changed(DEFAULT, ["learners", "admm", "algorithm"], None), SCHEMA)


@pytest.mark.parametrize(
    ("keys", "value", "place"),
    [
        (["sources"], None, ""),
        (["budget"], 3, ""),
        (["alerts", "budgt"], 3, "alerts"),
        (["alerts", "level"], 2, "alerts.level"),
        (["options", "kind"], "xml", "options.kind"),
        (["batches", "period"], "decade", "batches.period"),
        (["learners", "levels", "eta"], 1, "learners.levels"),
        (["learners", "other", "memory"], 1, "learners.other"),
        (["driver"], "make", "driver"),
    ],
)
def test_a_wrong_line_of_a_folder_is_refused(keys, value, place):
    config = yaml.safe_load(FOLDER_LINES)
    assert wrong_places(config, FOLDER_SCHEMA) == []
    assert wrong_places(changed(config, keys, value), FOLDER_SCHEMA) == [place]


def test_odl_init_writes_the_schema_that_the_first_line_names(tmp_path):
    rows = "".join(
        f'{{"id": {n}, "time": "2026-03-{n:02}", "text": "a b"}}\n' for n in range(1, 20)
    )
    (tmp_path / "posts.jsonl").write_text(rows)
    assert odl("init", tmp_path / "own", tmp_path / "posts.jsonl").returncode == 0
    first = (tmp_path / "own" / project.FILE).read_text(encoding="utf-8").splitlines()[0]
    copied = tmp_path / "own" / first.removeprefix("# yaml-language-server: $schema=")
    assert copied.read_bytes() == project.SCHEMA.read_bytes()
    assert wrong_places(project.read(tmp_path / "own"), load_schema(copied)) == []


def test_only_an_older_copy_of_the_schema_is_replaced(tmp_path):
    copied = tmp_path / project.SCHEMA_COPY
    project.refresh_schema(tmp_path)
    assert not copied.exists()  # who deleted it does not want it
    copied.write_text("{}")
    project.refresh_schema(tmp_path)
    assert copied.read_bytes() == project.SCHEMA.read_bytes()
    changed_at = copied.stat().st_mtime_ns
    project.refresh_schema(tmp_path)
    assert copied.stat().st_mtime_ns == changed_at
