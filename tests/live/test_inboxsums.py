"""Damage of the inbox is named, its other documents go on, and a kill at any moment loses nothing."""

import gzip
import json
import os
import re

import pytest

from odl.files import atomic
from odl.live import inbox, inboxsums

LABEL = "2026-01-26"
FILE, SUMS = f"inbox/{LABEL}-0001.jsonl", f"inbox/.{LABEL}-0001.sums"


def line(number):
    return (
        json.dumps(
            {"n": number, "text": "some words", "odl": {"answer": {"id": f"d{number}"}}}
        ).encode()
        + b"\n"
    )


LINES = [line(number) for number in range(10)]


@pytest.fixture(params=["published", "hidden", "packed"])
def box(request, tmp_path, monkeypatch):
    """The path of a file of ten documents, of a period that has ended or not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odl.yaml").write_text(f'sources: ["{inbox.SOURCE}"]\n')
    first = inbox.Inbox()
    first.append({LABEL: LINES[:4]})
    first.append({LABEL: LINES[4:]})
    if request.param == "hidden":
        return f"inbox/.{LABEL}-0001.jsonl"
    first.publish(LABEL)
    if request.param == "packed":
        (tmp_path / f"{FILE}.gz").write_bytes(gzip.compress((tmp_path / FILE).read_bytes()))
        os.unlink(FILE)
        return f"{FILE}.gz"
    return FILE


def content(path):
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        return file.readlines()


def damage(path, change):
    lines = change(content(path))
    with gzip.open(path, "wb") if path.endswith(".gz") else open(path, "wb") as file:
        file.writelines(lines)


DAMAGES = {
    "flipped": (
        lambda lines: [*lines[:3], lines[3].replace(b"3", b"7", 1), *lines[4:]],
        "1 of 10 .*line 4",
        9,
    ),
    "cut in half": (
        lambda lines: [*lines[:5], lines[5][:9]],
        r"5 of 10 documents .*lines 6, 7, 8, 9, 10\)",
        5,
    ),
    "cut between lines": (lambda lines: lines[:7], r"3 of 10 .*lines 8, 9, 10\)", 7),
    "emptied": (lambda lines: [], "10 of 10", 0),
    "deleted": (lambda lines: [*lines[:2], *lines[3:]], r"1 of 10 .*\(line 3\)", 9),
    "doubled": (
        lambda lines: [*lines[:2], lines[1], *lines[2:]],
        "line 3 changed or repeated.*nothing is lost",
        10,
    ),
    "reordered": (lambda lines: lines[::-1], "another order.*nothing is lost", 10),
    "bytes": (lambda lines: [*lines[:9], b"\xff\x00\n"], "1 of 10", 9),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_named_and_the_other_documents_stay(box, kind, capsys):
    change, said, n_left = DAMAGES[kind]
    before = content(box)
    damage(box, change)
    (sentence,) = inboxsums.check(mend=False)
    assert re.search(said, sentence), sentence
    inbox.settle()
    assert re.search(said, capsys.readouterr().err)
    published = box.replace("/.", "/")
    assert (
        content(published) == [one for one in before if one in change(before)]
        and len(content(published)) == n_left
    )
    again = inboxsums.check(mend=False)
    assert ("missing" in "".join(again)) == (
        n_left < 10
    )  # named at each run until it is restored or accepted
    damage(published, lambda lines: before)
    assert inboxsums.check(mend=False) == []


def test_a_loss_may_be_accepted(box):
    damage(box, lambda lines: lines[:7])
    assert inboxsums.check()
    os.unlink(SUMS)
    assert inboxsums.check() == [] and inboxsums.check(mend=False) == []
    inbox.settle()
    damage(box.replace("/.", "/"), lambda lines: lines[:6])
    assert "1 of 7" in inboxsums.check()[0]  # it has digests again


def test_a_file_that_is_gone_or_cannot_be_unpacked_is_named(box):
    with open(box, "r+b") as file:
        file.truncate(os.path.getsize(box) - 20)
    assert "missing" in inboxsums.check()[0]
    os.unlink(box)
    assert f"{FILE} with 10 documents is missing" in inboxsums.check()[0]


@pytest.mark.parametrize(
    "change",
    [lambda text: text.replace("1", "2", 1), lambda text: text[: len(text) // 2], str.upper],
)
def test_damaged_digests_cost_no_document(box, change):
    with open(SUMS, "r+") as file:
        text = file.read()
        file.seek(0)
        file.truncate()
        file.write(change(text))
    before = content(box)
    said = inboxsums.check()
    inbox.settle()
    assert content(box.replace("/.", "/")) == before
    if not os.path.basename(box).startswith("."):
        assert f"delete {SUMS}" in said[0]
        assert "was changed" in said[0] or "is truncated" in said[0]


def test_files_of_an_earlier_version_get_digests(box):
    os.unlink(SUMS)
    before = content(box)
    assert inboxsums.check() == []
    inbox.settle()
    assert content(box.replace("/.", "/")) == before and os.path.exists(SUMS)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("at", range(6))
def test_a_removal_that_is_killed_can_be_repeated(box, at, monkeypatch):
    """Before each replacement of a file, and nothing that was removed comes back or stays in a copy."""
    damage(box, lambda lines: [*lines[:3], lines[0], *lines[3:]])
    inboxsums.check()
    replace, calls = os.replace, []

    def replacing(*paths):
        calls.append(paths)
        if len(calls) == at + 1:
            raise Killed
        replace(*paths)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replacing)
        try:
            inbox.remove("d4")
        except Killed:
            atomic._cleared.clear()
    inbox.remove("d4")
    assert len(content(box)) == 9 and b'"d4"' not in b"".join(content(box))
    assert inboxsums.check(mend=False) == [] and inboxsums.check() == []
    for name in os.listdir("inbox/damaged") if os.path.exists("inbox/damaged") else ():
        assert b'"d4"' not in b"".join(content(f"inbox/damaged/{name}"))


@pytest.mark.parametrize("torn", [b"", b'{"n": 11'])
def test_lines_whose_digests_were_not_written_are_accepted(tmp_path, monkeypatch, torn):
    """A kill after the disk had the lines: their answers may have been printed."""
    monkeypatch.chdir(tmp_path)
    first = inbox.Inbox()
    first.append({LABEL: LINES[:4]})
    with open(f"inbox/.{LABEL}-0001.jsonl", "ab") as file:
        file.write(b"".join(LINES[4:6]) + torn)
    with open(SUMS, "ab") as file:
        file.write(b"00ff")
    again = inbox.Inbox()
    again.append({LABEL: LINES[6:7]})
    again.publish(LABEL)
    assert content(FILE) == LINES[:7] and inboxsums.check(mend=False) == []
