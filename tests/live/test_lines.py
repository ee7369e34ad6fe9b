"""Files of a directory as the source of a watch: they appear, grow, move and are begun anew."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
import streams
from called import odl

from odl.errors import StorageError
from odl.live import lines


@pytest.fixture(autouse=True)
def incoming(tmp_path):
    (tmp_path / "incoming").mkdir()


def text(week, numbers):
    """Return lines of posts."""
    return "".join(json.dumps(streams.post(week, number, "sea")) + "\n" for number in numbers)


def start(folder, *options):
    command = [
        sys.executable,
        "-m",
        "odl",
        "watch",
        str(folder),
        "--follow",
        str(folder.parent / "incoming"),
        *options,
    ]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **pipes)


def ids(process, n):
    """Return the ids of the next answers."""
    return [json.loads(process.stdout.readline())["id"] for _ in range(n)]


def end(process, number=signal.SIGTERM):
    process.send_signal(number)
    rest, said = process.communicate(timeout=60)
    return [json.loads(line)["id"] for line in rest.splitlines()], said


@pytest.mark.slow
def test_files_that_appear_grow_and_move_are_read_once(news):
    incoming, expected = news.parent / "incoming", [f"w3-{number}" for number in range(9)]
    (incoming / "a.jsonl").write_text(text(3, range(3)))
    (incoming / ".hidden.jsonl").write_text(text(3, [50]))
    process = start(news)
    assert ids(process, 3) == expected[:3]
    whole = text(3, [3])
    with open(incoming / "a.jsonl", "a") as file:
        file.write("no json\n" + whole[:20])
    (incoming / "b.jsonl").write_text(text(3, [4]))
    assert ids(process, 1) == expected[4:5]  # half a line waits
    with open(incoming / "a.jsonl", "a") as file:
        file.write(whole[20:])
    assert ids(process, 1) == expected[3:4]
    rest, said = end(process)
    assert rest == [] and process.returncode == 0 and "line 4 of a.jsonl: Expecting value" in said
    (incoming / "a.jsonl").rename(incoming / "z.jsonl")
    with open(incoming / "z.jsonl", "a") as file:
        file.write(text(3, [5]))
    process = start(news)
    assert ids(process, 1) == expected[5:6]
    (incoming / "b.jsonl").write_text(text(3, [6]))  # begun anew, as rotation by copying does
    assert ids(process, 1) == expected[6:7]
    process.kill()
    process.wait()
    (news / "inbox" / ".followed.json").unlink()  # at worst a kill comes before it is written
    process = start(news)
    assert sorted(ids(process, 6)) == sorted([*expected[:4], *expected[5:7]])
    end(process)
    stored = [
        json.loads(line)["id"] for path in (news / "inbox").glob("*.jsonl") for line in path.open()
    ]
    assert sorted(stored) == expected[:7]


def test_a_file_that_moves_while_another_is_read_is_not_read_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "incoming")
    files = lines.Files(".")
    for name, numbers in (("a", range(2)), ("b", range(2, 4))):
        (tmp_path / "incoming" / f"{name}.jsonl").write_text(text(3, numbers))
    files.read |= {key: place for _, key, place in files._grown()}
    for name, number in (("a", 4), ("b", 5)):
        with open(f"{name}.jsonl", "a") as file:
            file.write(text(3, [number]))
    look = files._grown()
    first, *places = next(look)
    (tmp_path / "incoming" / "b.jsonl").rename("c.jsonl")
    assert len(first) == 1 and not list(look)
    files.read |= [places]
    (rows,) = (rows for rows, *_ in files._grown())
    assert [json.loads(line)["id"] for _, line in rows] == ["w3-5"]


def test_a_line_that_is_too_long_is_one_fault_also_while_it_grows(tmp_path, monkeypatch):
    """What comes of it later, or after a restart, is no other line; those behind it keep their numbers."""
    monkeypatch.chdir(tmp_path / "incoming")
    path, files = tmp_path / "incoming" / "a.jsonl", lines.Files(".")

    def look():
        told = []
        for rows, *place in files._grown():
            files.read |= [place]
            told += [(number, len(line)) for (_, number), line in rows]
        return told

    first = text(3, [0])
    path.write_text(first + "x" * (2 * lines.MAX_LINE_SIZE + 5))
    assert look() == [(1, len(first)), (2, lines.MAX_LINE_SIZE)] and look() == []
    before, files = files.read, lines.Files(".")
    files.read = before
    with open(path, "a") as file:
        file.write(last := "x" * lines.MAX_LINE_SIZE + "\n" + text(3, [1]))
    assert look() == [(3, len(last) - lines.MAX_LINE_SIZE - 1)] and look() == []


def test_a_file_that_is_rotated_is_read_to_its_end(tmp_path, monkeypatch):
    """Whatever it is called then, before the one after it: its writer may go on a while. What was no source is none."""
    monkeypatch.chdir(tmp_path / "incoming")
    files, log, old = (
        lines.Files("."),
        tmp_path / "incoming" / "a.jsonl",
        tmp_path / "incoming" / "a.jsonl.1",
    )

    def look():
        told = []
        for rows, *place in files._grown():
            files.read |= [place]
            told += [json.loads(line)["id"] for _, line in rows]
        return told

    (tmp_path / "incoming" / "notes.txt").write_text(text(3, [50]))
    log.write_text(text(3, [0]))
    assert look() == ["w3-0"]
    with open(log, "a", buffering=1) as file:
        file.write(text(3, [1]))
        log.rename(old)
        log.write_text(text(3, [2]))
        assert look() == ["w3-1", "w3-2"]
        file.write(text(3, [3]))
    assert look() == ["w3-3"] and look() == []
    old.write_text(text(3, [4]))  # another file that has its number
    assert look() == []
    for name, first in (
        ("b", ""),
        ("c", text(3, [6])[:9]),
    ):  # no whole line was there at the last look
        log = tmp_path / "incoming" / f"{name}.jsonl"
        log.write_text(first)
        assert look() == []
        log.write_text(text(3, [6]))
        log.rename(f"{log}.1")
        assert look() == ["w3-6"] and look() == []


def looked(files):
    """Return the ids of what came since the last look."""
    told = []
    for rows, *place in files._grown():
        files.read |= [place]
        told += [
            json.loads(line.strip(lines.BLANK_BYTES).decode("utf-8-sig"))["id"] for _, line in rows
        ]
    return told


def test_odd_entries_of_a_directory_stop_nobody_and_are_named_once(tmp_path, monkeypatch, capsys):
    incoming = tmp_path / "incoming"
    monkeypatch.chdir(incoming)
    files = lines.Files(str(incoming))
    (incoming / "sub.jsonl").mkdir()
    (incoming / "sub").mkdir()
    os.mkfifo(incoming / "pipe.jsonl")
    (incoming / "loop.jsonl").symlink_to("loop.jsonl")
    (incoming / "nothing.jsonl").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket.jsonl")
    for name in ("a.log", "b.json", "c.jsonl.gz", "d\x1b[31m\u202e.txt"):
        (incoming / name).write_text(text(3, [50]))
    (incoming / "first.jsonl").write_text(text(3, [0]))
    (incoming / "last.NDJSON").write_text(text(3, [1]))
    (incoming / "UPPER.JSONL").write_text(text(3, [2]))
    with open(os.fsencode(incoming) + b"/bytes\xff.jsonl", "w") as file:
        file.write(text(3, [3]))
    assert looked(files) == ["w3-2", "w3-3", "w3-0", "w3-1"] and looked(files) == []
    said = capsys.readouterr().err
    assert sorted(said.splitlines()) == sorted([
        "odl watch: a.log, b.json, c.jsonl.gz, d\\u001b[31m\\u202e.txt, sub not read: " + lines.WRONG_SUFFIX,
        "odl watch: nothing.jsonl not read: No such file or directory",
        "odl watch: loop.jsonl not read: Too many levels of symbolic links",
        "odl watch: pipe.jsonl, socket.jsonl, sub.jsonl not read: it is not a regular file",
    ])  # fmt: skip
    (incoming / "nowhere").write_text(text(3, [4]))
    (incoming / "loop.jsonl").unlink()
    (incoming / "loop.jsonl").write_text(text(3, [5]))
    assert looked(files) == ["w3-5", "w3-4"] and "nowhere not read" in capsys.readouterr().err


def test_a_directory_that_vanishes_and_comes_back_is_read_on(tmp_path, monkeypatch, capsys):
    incoming = tmp_path / "incoming"
    monkeypatch.chdir(tmp_path)
    (incoming / "a.jsonl").write_text(text(3, [0]))
    files = lines.Files("incoming")
    assert looked(files) == ["w3-0"]
    for _ in range(2):
        incoming.rename(tmp_path / "away")
        assert looked(files) == looked(files) == []
        assert (
            capsys.readouterr().err == "odl watch: incoming not read: No such file or directory\n"
        )
        (tmp_path / "away").rename(incoming)
        assert looked(files) == []
    with open(incoming / "a.jsonl", "a") as file:
        file.write(text(3, [1]))
    assert looked(files) == ["w3-1"]


def test_a_file_that_cannot_be_read_for_a_while_is_read_on(tmp_path, monkeypatch, capsys):
    """Also after a restart in between."""
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "incoming" / "a.jsonl"
    log.write_text(text(3, [0]))
    (tmp_path / "incoming" / "b.jsonl").write_text(text(3, [1]))
    before = lines.Files("incoming")
    assert looked(before) == ["w3-0", "w3-1"]

    def refused(path, *more, opened=os.open):
        if path.endswith("a.jsonl"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *more)

    with monkeypatch.context() as patched:  # root may read all files
        patched.setattr(os, "open", refused)
        files = lines.Files("incoming")
        files.read = before.read
        assert looked(files) == looked(files) == []
        assert capsys.readouterr().err == "odl watch: a.jsonl not read: Permission denied\n"
    with open(log, "a") as file:
        file.write(text(3, [2]))
    assert looked(files) == ["w3-2"]


def test_marks_holes_and_a_last_line_without_a_break(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "incoming")
    log, files = tmp_path / "incoming" / "a.jsonl", lines.Files(".")
    log.write_bytes(b"\xef\xbb\xbf" + text(3, [0, 1]).replace("\n", "\r\n").encode())
    assert looked(files) == ["w3-0", "w3-1"]
    with open(log, "r+b") as file:  # truncated while its writer goes on where it was
        file.truncate(0)
        assert looked(files) == []
        file.seek(lines.MAX_LINE_SIZE + 300)
        file.write(text(3, [2, 3]).encode())
    assert looked(files) == ["w3-2", "w3-3"]
    log = tmp_path / "incoming" / "b.jsonl"
    log.write_text(text(3, [4]) + text(3, [5])[:-1])
    assert looked(files) == ["w3-4"] and looked(files) == ["w3-5"] and looked(files) == []
    for more in ("\n", text(3, [6]), text(3, [7])[:20]):
        with open(log, "a") as file:
            file.write(more)
    assert looked(files) == ["w3-6"] and looked(files) == [] and [*files.read.values()][-1][1] == 3
    with open(log, "a") as file:
        file.write(text(3, [7])[20:])
    assert looked(files) == ["w3-7"]
    (tmp_path / "incoming" / "c.jsonl").write_text(text(3, [8])[:-1])
    assert looked(files) == [] and looked(files) == ["w3-8"]
    with open("c.jsonl", "a") as file:
        file.write("\n" + text(3, [9]))
    assert looked(files) == ["w3-9"]


def test_what_cannot_be_followed_is_said(news):
    for directory, fault in (
        (news.parent / "posts", "odl run reads 00.jsonl in it"),
        (news / "none", "a directory"),
    ):
        done = odl("watch", news, "--follow", directory)
        assert done.returncode != 0 and fault in done.stderr and "Traceback" not in done.stderr
    done = odl("watch", news, "--follow", news, "--http", "127.0.0.1:0")
    assert done.returncode != 0 and "leave --http or --follow out" in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("[10", "[11"),
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"count": 2', '"count": 3'),
        lambda text: text.replace("1 1", "1 2"),
        lambda text: '{"1 1": ["a", 2]}',
    ],
)
def test_a_damaged_record_of_places_is_one_sentence(change, tmp_path, monkeypatch):
    """It would leave documents out, or store them twice; a record of an earlier version has no digests."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inbox").mkdir()
    assert lines.read_offsets() == {}
    files, places = lines.Files("incoming"), {"1 1": [10, 2], "2 7": [99, 20]}
    files._store(places)
    assert lines.read_offsets() == places
    path = tmp_path / lines.OFFSETS_PATH
    path.write_text(change(path.read_text()))
    with pytest.raises(
        StorageError, match=r"delete inbox/\.followed\.json to read all files again"
    ):
        lines.read_offsets()
    path.write_text(json.dumps(places))
    assert lines.read_offsets() == places


@pytest.mark.slow
def test_periods_are_lines_of_text_without_answers(news):
    """A week of a new topic speaks, a quiet one says so; the lines are those of `odl new`."""
    week = text(3, range(40)) + text(4, range(2))
    said = odl("watch", news, "--format", "text", given=week)
    assert said.returncode == 0 and "42 documents accepted" in said.stderr
    last, *more = said.stdout.splitlines()[::-1]
    assert last.endswith("Nothing new. 2 documents.")
    learned = map(
        json.loads,
        odl("new", news, "--format", "jsonl", "--since", "2026-01-01").stdout.splitlines(),
    )
    names = {row["headline"] for row in learned if row["period"] >= 3}
    assert names and {line.split("  ")[1].split(" (")[0] for line in more} == names
    assert all("; by chance 1 in " in line or "; certain" in line for line in more)
