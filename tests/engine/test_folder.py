"""A folder as the loop takes it: names, files and stamps of its one chain, and what needs more than one."""

import os

import pytest
import streams

from odl.config.steps import STEPS
from odl.engine import folder as folders
from odl.errors import ConfigError


@pytest.fixture
def news(tmp_path, monkeypatch):
    """The working folder, with a function that adds to its settings and opens it."""
    place = streams.begin(tmp_path, weeks=2)
    monkeypatch.chdir(place)
    said = (place / "odl.yaml").read_text()

    def opened(more="", but=""):
        (place / "odl.yaml").write_text(said.replace(but, "") + more)
        return folders.opened()

    return opened


def test_files_of_timesteps(news):
    folder = news()
    assert folder.names | {"k": 0} == {
        "root": "results/news",
        "corpus": "news",
        "seed": 0,
        "run": "levels",
        "k": 0,
    }
    assert (
        folder.path("{root}/x/{t}.h5", 3) == "results/news/x/3.h5"
        and folder.path("{corpus}") == "news"
    )
    assert [folder.path("{before}.h5", t) for t in range(3)] == ["", "0.h5", "1.h5"]
    assert folder.path("{t}", 0) == "0"
    assert folder.folder_of("batch") == os.path.dirname(
        folder.path(STEPS["batch"].writes["output"], 7)
    )
    (last, path), *_ = files = sorted(folders.files_of(folder)[0], reverse=True)
    assert (
        len(files) == 2
        and last == "01.jsonl"
        and path.endswith("posts/01.jsonl")
        and os.path.exists(path)
    )


def test_a_source_that_is_named_by_another_path_keeps_its_name(news):
    folder = news()
    (source,) = {os.path.dirname(path) for _, path in folders.files_of(folder)[0]}
    for sources in ([f"{source}/../posts/01.jsonl"], [f"{source}//"]):
        folder.stream["sources"] = sources
        assert "01.jsonl" in [name for name, _ in folders.files_of(folder)[0]]


def test_stamps_follow_the_code_that_a_step_needs(news):
    folder = news()
    other = folder._replace(chain={"learner": {"algorithm": "adaptive"}})
    assert [name for name in STEPS if folder.code(name) != other.code(name)] == ["update", "alerts"]
    before = {name: folder.code(name) for name in STEPS}
    assert before["read"] == before["share"] and len({*before.values()}) == len(before) - 1
    folder.stream["options"]["tokens"] = {"segment": "jieba"}
    assert [name for name in STEPS if folder.code(name) != before[name]] == ["share", "read"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("runs: [levels, adaptive]\n", "runs"),
        ("seeds: [0, 1]\n", "seeds"),
        ("baselines: {enabled: true}\n", "baselines"),
        ("regret: {enabled: true}\n", "regret"),
        ("runs: [nobody]\n", "nobody"),
        ("atoms: -3\n", "atoms"),
    ],
)
def test_what_needs_more_than_one_chain_is_refused(news, more, said):
    with pytest.raises(ConfigError, match=said):
        news(more)


def test_a_folder_is_a_study_of_its_own_name(news):
    assert news("study: other\n", "study: news\n").names["root"] == "results/other"
    assert news("", "study: news\n").names["root"] == "results/news"


def test_a_folder_that_names_no_recency_has_none(news):
    """Though the default study has it: what such a folder wrote before stays as it is."""
    line = "learners: {levels: {recency: 0.5}}\n"
    assert (
        news().chain["learner"]["recency"] == 0.5
        and "recency" not in news("", line).chain["learner"]
    )
    assert news("learners: {levels: {merged: 9}}\n", line).chain["learner"]["merged"] == 9
    assert "recency" not in folders.opened().chain["learner"]
