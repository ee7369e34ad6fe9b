"""A document is shown from its file, and forgotten: nothing of it stays in what is stored, whichever driver runs."""

import json
import re
import shutil

import h5py
import numpy as np
import pytest
import streams
from called import odl

from odl import corpora
from odl.alerts import decision, maps, periods, read
from odl.config import project
from odl.corpora import collection
from odl.errors import StorageError

SECRET = "zyxwvut"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of four weeks that was run; one post of the third has a word of its own."""
    place = tmp_path_factory.mktemp("originals")
    for week in range(4):
        streams.write(place, week)
    path = place / "posts" / "02.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[7]["text"] = f"Dear {SECRET},\n\n{rows[7]['text']}"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    odl("init", place / "news", f"{place}/posts/*.jsonl", "--period", "week")
    assert odl("run", place / "news").returncode == 0
    return place / "news"


def stored(folder):
    """Return all bytes of a folder, those of arrays as they are read."""
    parts = []
    for path in folder.rglob("*"):
        if path.suffix == ".h5":
            with h5py.File(path) as file:
                file.visititems(
                    lambda name, item: (
                        parts.append(item[()]) if isinstance(item, h5py.Dataset) else None
                    )
                )
        elif path.is_file():
            parts.append(path.read_bytes())
    return b"".join(part.tobytes() if hasattr(part, "tobytes") else part for part in parts)


def test_the_whole_text_by_file_and_line(folder):
    said = odl("show", folder, "w2-7").stdout.splitlines()
    assert said[0].endswith("posts/02.jsonl line 8") and said[1].startswith("2026-01-19T")
    assert said[2:6] == ["", f"Dear {SECRET},", "", said[5]] and len(said[5].split()) == 15
    assert "no row of the sources of" in odl("show", folder, "w9-9").stderr


def test_of_a_row_that_changed_each_text_is_shown(tmp_path):
    rows = [
        {"id": "a", "text": "\u202agrain oil\u202c"},
        {"id": "a", "text": "green grass"},
        {"id": "b", "text": "grey fog"},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "odl.yaml").write_text("sources: [a.jsonl]\noptions: {changed: new}\n")
    assert odl("show", tmp_path, "a").stdout.endswith("a.jsonl line 1\n\ngrain oil\n")
    changed = corpora.read("documents", [tmp_path / "a.jsonl"], {"changed": "new"}).ids[1]
    assert odl("show", tmp_path, changed).stdout.endswith("a.jsonl line 2\n\ngreen grass\n")


@pytest.mark.slow
def test_nothing_of_a_forgotten_document_stays(folder):
    assert SECRET.encode() in stored(folder) and odl("mute", folder, "w2-7").returncode == 0
    said = odl("forget", folder, "w2-7", "--dry-run").stdout
    assert (
        "posts/02.jsonl line 8) would be removed from all results: 2 of 4 periods are learned again."
        in said
    )
    assert SECRET.encode() in stored(folder)
    said = odl("forget", folder, "w2-7").stdout
    assert (
        "w2-7 is forgotten, 2 of 4 periods are learned again. Its row remains in your file: "
        in said
    )
    assert "1 document fewer than in the last run" in said
    held = stored(folder)
    assert SECRET.encode() not in held and b"w2-7" not in held
    assert len(project.forgotten(folder)) == 1
    assert (
        odl("show", folder, "w2-7")
        .stdout.splitlines()[1]
        .startswith("forgotten: odl no longer reads this row")
    )
    assert "nothing has changed since the last run" in odl("run", folder).stdout


@pytest.mark.slow
def test_alerts_are_as_if_a_forgotten_document_had_never_come(tmp_path):
    """Headlines, events and examples; what later periods carry on of them too."""
    folder = streams.begin(tmp_path, weeks=4)
    streams.write(tmp_path, 4, ("grain", "oil", "space"), n=30)
    assert odl("run", folder).returncode == 0
    period = read.alerts_of(folder).periods[3]
    (headline,) = [one for one in period.headlines if one.event == 1]
    first, second = [period.documents_of[row].id for row in headline.examples[:2]]
    assert first.encode() in stored(folder) and second.encode() in stored(folder)
    for ident in (first, second):
        assert odl("forget", folder, ident).returncode == 0
    assert not re.search(
        rb"w3-(%s|%s)\b" % (first[3:].encode(), second[3:].encode()), stored(folder)
    )
    other = streams.copy(folder, tmp_path / "other")
    shutil.rmtree(other / "results")
    (other / project.FORGOTTEN).unlink()
    path = other.parent / "posts" / "03.jsonl"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows if json.loads(row)["id"] not in (first, second)))
    assert odl("run", other).returncode == 0
    forgot, never = read.alerts_of(folder), read.alerts_of(other)
    assert forgot.events == never.events and forgot.events[1].birth == 3
    assert maps.as_jsonl(forgot, forgot.periods) == maps.as_jsonl(never, never.periods)
    last = [
        periods.read_carried(f"{read.place_of(one).alerts}/4.h5").past for one in (folder, other)
    ]
    ours, theirs = map(decision.as_arrays, last)
    for name, value in ours.items():
        assert np.array_equal(
            *(one.toarray() if hasattr(one, "toarray") else one for one in (value, theirs[name]))
        )


@pytest.mark.slow
def test_both_drivers_leave_out_what_is_forgotten(folder, tmp_path, monkeypatch):
    project.forget(tmp_path, "00ff" * 8)
    project.forget(tmp_path, "00ff" * 8)
    monkeypatch.chdir(tmp_path)
    config = project.expand({"sources": ["a.jsonl"], "options": {"min_words": 2}})
    (stream,) = config["corpora"].values()
    assert {"min_words": 2, "forgotten": ["00ff" * 8]}.items() <= stream["options"].items()


def test_what_was_said_is_taken_back(folder):
    assert odl("mute", folder, "w1-3").returncode == 0
    assert (
        odl("unmute", folder, "w1-3").stdout
        == "odl unmute: w1-3 was muted; its line is gone from feedback.csv.\n"
    )
    said = odl("unmute", folder, "w1-3")
    assert (
        said.returncode == 1
        and "says nothing about w1-3; expected a name that is muted or followed" in said.stderr
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(text[3], "0" if text[3] != "0" else "1", 1), r"line \d"),
        (lambda text: text[: len(text) // 2], "was truncated"),
        (lambda text: text.split("\n")[0] + "\n", "was truncated"),
        (lambda text: "\n".join(text.split("\n")[1:]), "line 1"),
        (lambda text: "\n".join(text.split("\n")[:1] * 2 + text.split("\n")[1:]), "line 2"),
        (lambda text: "\n".join([*text.split("\n")[1::-1], *text.split("\n")[2:]]), "line 1"),
        (lambda text: "", "was truncated"),
        (lambda text: "\0" * len(text), "was truncated|line 1"),
    ],
)
def test_a_damaged_list_brings_no_forgotten_document_back(tmp_path, change, said):
    for name in ("a", "b", "c"):
        project.forget(tmp_path, collection.forgotten_as(name))
    path = tmp_path / project.FORGOTTEN
    assert len(project.forgotten(tmp_path)) == 3
    path.write_text(change(path.read_text()))
    with pytest.raises(StorageError, match=said):
        project.forgotten(tmp_path)
    with pytest.raises(StorageError, match="restore it from a backup"):
        project.forget(tmp_path, "00" * 16)


def test_a_list_of_an_earlier_version_is_read_and_gets_digests(tmp_path):
    digests = sorted(map(collection.forgotten_as, "ab"))
    (tmp_path / project.FORGOTTEN).write_text("".join(f"{digest}\n" for digest in digests))
    assert project.forgotten(tmp_path) == digests
    project.forget(tmp_path, collection.forgotten_as("c"))
    assert (
        len((tmp_path / project.FORGOTTEN).read_text().splitlines()) == 4
        and len(project.forgotten(tmp_path)) == 3
    )
    (tmp_path / project.FORGOTTEN).write_text(digests[0][:20])
    with pytest.raises(StorageError):
        project.forgotten(tmp_path)


@pytest.mark.slow
def test_a_list_that_is_gone_is_missed_and_verify_reads_it(folder):
    assert odl("forget", folder, "w1-55").returncode == 0
    assert odl("verify", folder).returncode == 0
    text = (folder / project.FORGOTTEN).read_text()
    (folder / project.FORGOTTEN).write_text(text[:-3])
    said = odl("verify", folder)
    assert said.returncode == 1 and "forgotten.txt was truncated" in said.stdout
    assert odl("run", folder).returncode == 1
    (folder / project.FORGOTTEN).unlink()
    said = odl("run", folder)
    assert said.returncode == 1 and re.search(
        r"forgotten.txt lacks \d forgotten documents", said.stderr
    )
    (folder / project.FORGOTTEN).write_text(
        said.stderr.split("the lines ")[1].split(";")[0].replace(", ", "\n") + "\n"
    )
    assert odl("run", folder).returncode == 0 and b"w1-55" not in stored(folder)


@pytest.mark.slow
def test_a_forget_that_was_killed_can_be_repeated(folder, monkeypatch):
    """At each of its parts; the row of the inbox may be gone already."""
    from odl.alerts import feedback
    from odl.cli import run
    from odl.live import inbox

    class Killed(BaseException):
        pass

    def kill(*args, **options):
        raise Killed

    for module, name in ((inbox, "remove"), (feedback, "remove"), (run, "run")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, kill)
            with pytest.raises(Killed):
                odl("forget", folder, "w3-44")
    (row,) = [
        line
        for line in (folder.parent / "posts" / "03.jsonl").read_text().splitlines()
        if '"w3-44"' in line
    ]
    path = folder.parent / "posts" / "03.jsonl"
    path.write_text(path.read_text().replace(row + "\n", ""))
    said = odl("forget", folder, "w3-44")
    assert (
        said.returncode == 0
        and "w3-44 is forgotten" in said.stdout
        and b"w3-44" not in stored(folder)
    )
    assert odl("forget", folder, "w2-9999").returncode == 1
