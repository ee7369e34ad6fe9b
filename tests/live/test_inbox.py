"""The inbox of a folder: files of accepted documents, whole periods only, each line once."""

import glob
import gzip
import json
import resource

import pytest

from odl.errors import ConfigError
from odl.live import inbox


def test_a_cut_line_was_never_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = inbox.Inbox()
    first.append({"2026-01-26": [b'{"a": 1}\n']})
    with open(tmp_path / "inbox" / ".2026-01-26-0001.jsonl", "ab") as file:
        file.write(b'{"a": 2')
    again = inbox.Inbox()
    again.append({"2026-01-26": [b'{"a": 3}\n']})
    assert list(again.lines("2026-01-26")) == [{"a": 1}, {"a": 3}]
    again.publish("2026-01-26")
    assert again.labels() == [] and not (tmp_path / "inbox" / ".2026-01-26-0001.jsonl").exists()
    again.append({"2026-01-26": [b'{"a": 4}\n']})
    again.publish("2026-01-26")
    assert sorted(path.name for path in (tmp_path / "inbox").glob("[!.]*")) == [
        "2026-01-26-0001.jsonl",
        "2026-01-26-0002.jsonl",
    ]


def test_a_run_takes_up_what_was_left_unless_a_watch_is_at_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odl.yaml").write_text('sources: ["posts"]\n')
    inbox.Inbox().append({"2026-01-26": [b"{}\n"]})
    with inbox.alone():
        inbox.settle()
        assert inbox.Inbox().labels() == ["2026-01-26"]
        assert inbox.SOURCE not in (tmp_path / "odl.yaml").read_text()
    inbox.settle()
    assert (tmp_path / "inbox" / "2026-01-26-0001.jsonl").read_bytes() == b"{}\n"
    assert (tmp_path / "odl.yaml").read_text() == f'sources: ["posts", "{inbox.SOURCE}"]\n'


def test_documents_in_a_folder_of_that_name_are_no_inbox(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "posts.jsonl").write_text("{}\n")
    (tmp_path / "odl.yaml").write_text('sources: ["inbox/*.jsonl"]\n')
    inbox.settle()
    assert (tmp_path / "odl.yaml").read_text() == 'sources: ["inbox/*.jsonl"]\n'


@pytest.mark.parametrize("again", [False, True])
def test_a_full_disk_leaves_what_was_stored_before(tmp_path, monkeypatch, again):
    """A limit of the size of files, as a full disk, takes a part of what is written."""
    monkeypatch.chdir(tmp_path)
    box = inbox.Inbox()
    box.append({"2026-01-26": [b'{"a": 1}\n']})
    box = inbox.Inbox() if again else box
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            box.append({"2026-01-26": [b'{"a": 2}\n'] * 9})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(box.lines("2026-01-26")) == [{"a": 1}]
    box.append({"2026-01-26": [b'{"a": 3}\n']})
    assert list(box.lines("2026-01-26")) == [{"a": 1}, {"a": 3}]


def answered(identity):
    return json.dumps({"text": identity, "odl": {"answer": {"id": identity}}}).encode() + b"\n"


def test_a_period_is_read_by_a_run_once_it_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    box = inbox.Inbox()
    box.append({"2026-02-02": [b'{"a": 2}\n', b'{"a": 3}\n'], "2026-01-26": [b'{"a": 1}\n']})
    assert box.labels() == ["2026-01-26", "2026-02-02"] and not glob.glob(inbox.SOURCE)
    box.publish("2026-01-26")
    assert glob.glob(inbox.SOURCE) == ["inbox/2026-01-26-0001.jsonl"]
    assert box.labels() == ["2026-02-02"] and list(box.lines("2026-01-26")) == [{"a": 1}]
    assert box.periods() == ["2026-01-26", "2026-02-02"]


def test_a_period_without_a_document_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    box = inbox.Inbox()
    box.append({"2026-01-26": []})
    box.publish("2026-01-26")
    assert not list((tmp_path / "inbox").iterdir())


@pytest.mark.parametrize("packed", [False, True])
def test_a_document_that_is_removed_leaves_the_others(tmp_path, monkeypatch, packed):
    monkeypatch.chdir(tmp_path)
    inbox.remove("a")
    assert not (tmp_path / "inbox").exists()
    (tmp_path / "inbox").mkdir()
    opened, end = (gzip.open, ".gz") if packed else (open, "")
    for day, names in (("26", "abc"), ("27", "dc")):
        with opened(tmp_path / "inbox" / f"2026-01-{day}-0001.jsonl{end}", "wb") as file:
            file.writelines(map(answered, names))
    other, cut = (
        tmp_path / "inbox" / f"2026-01-27-0001.jsonl{end}",
        tmp_path / "inbox" / ".2026-01-28-0001.jsonl",
    )
    before = other.read_bytes()
    cut.write_bytes(answered("e") + b'{"text": "f')  # by a kill
    inbox.remove("b")
    assert cut.read_bytes() == answered("e")
    with opened(tmp_path / "inbox" / f"2026-01-26-0001.jsonl{end}", "rb") as file:
        assert file.read() == answered("a") + answered("c")
    assert other.read_bytes() == before


def test_the_inbox_is_written_into_the_sources_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odl.yaml").write_text('sources: ["posts"]  # \nperiod: week\n')
    with pytest.raises(
        ConfigError, match="does not read the inbox, and its sources are not a list in one line"
    ):
        inbox.enlist()
    (tmp_path / "odl.yaml").write_text('sources: ["posts"]\nperiod: week\n')
    for _ in range(2):
        inbox.enlist()
        assert (
            tmp_path / "odl.yaml"
        ).read_text() == f'sources: ["posts", "{inbox.SOURCE}"]\nperiod: week\n'
