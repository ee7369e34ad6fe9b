"""Links in a stranger's folder do not make odl write elsewhere."""

import os

import pytest
from called import odl

from odl.errors import DataError
from odl.files import atomic

NAMES = [
    "new.html", "new.atom", "new.json", "feedback.csv", "forgotten.txt", ".seen.json", ".notified.txt", "odl.yaml",
    ".vectors.sqlite", "inbox", "inbox/.lock", "inbox/2026-01-26-0001.jsonl", "inbox/.2026-01-26-0001.jsonl",
    "results", "results/news", "results/news/.lock", "results/news/news/documents.h5", ".feedback.csv.lock",
    ".new.html.host-12-34.part", "results/news/.verified.json",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_is_refused(tmp_path, name, dangling):
    outside = tmp_path / "outside"
    if not dangling:
        outside.mkdir() if name in ("inbox", "results", "results/news") else outside.write_text(
            "mine"
        )
    folder = tmp_path / "folder"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    atomic.refuse_links(folder)
    (folder / name).symlink_to(outside)
    with pytest.raises(
        DataError,
        match=r"is a link to .*outside; expected a regular file or a folder, .*delete the link",
    ):
        atomic.refuse_links(folder)


def test_pipes_are_refused_and_what_is_a_persons_own_may_be_a_link(tmp_path):
    (tmp_path / "posts").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "posts").symlink_to(tmp_path / "posts")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    atomic.refuse_links(tmp_path / "link")
    os.mkfifo(tmp_path / "folder" / "new.html")
    with pytest.raises(DataError, match="is not a regular file"):
        atomic.refuse_links(tmp_path / "link")
    with pytest.raises(DataError, match="is a link"):
        atomic.refuse_links(tmp_path, "link")


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "--dry-run"),
        ("watch",),
        ("forget", "a"),
        ("mute", "topic:1"),
        ("unmute", "topic:1"),
    ],
)
def test_commands_that_write_refuse_links(tmp_path, words):
    folder = tmp_path / "news"
    folder.mkdir()
    (folder / "odl.yaml").write_text("sources: [posts.jsonl]\n")
    for name in ("results", "feedback.csv"):
        (folder / name).symlink_to(tmp_path / "outside")
    said = odl(words[0], folder, *words[1:])
    assert said.returncode == 1 and not (tmp_path / "outside").exists()
    if words[0] != "mute":  # which has to find the topic first
        assert "is a link to" in said.stderr


def test_init_replaces_no_link(tmp_path):
    (tmp_path / "news").mkdir()
    (tmp_path / "posts.jsonl").write_text(
        '{"id": "a", "time": "2026-01-01", "text": "some words here"}\n'
        '{"id": "b", "time": "2026-01-02", "text": "some words there"}\n'
    )
    (tmp_path / "news" / "odl.yaml").symlink_to(tmp_path / "outside")
    said = odl("init", tmp_path / "news", tmp_path / "posts.jsonl", "--force")
    assert (
        said.returncode == 1
        and "is a link to" in said.stderr
        and not (tmp_path / "outside").exists()
    )
