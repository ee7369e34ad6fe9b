"""Atomic files, and the files that an interrupted writer leaves."""

import errno
import os
import platform
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from odl.files import atomic

HOST = platform.node() or "host"


def test_a_file_is_there_when_it_is_whole_and_not_before(tmp_path):
    path = tmp_path / "new" / "a.tsv"
    with atomic.replacing(path) as temporary:
        Path(temporary).write_text("first")
        assert not path.exists() and Path(temporary).parent == path.parent
    with pytest.raises(KeyError), atomic.replacing(path) as temporary:
        Path(temporary).write_text("half")
        raise KeyError
    assert path.read_text() == "first" and list(path.parent.iterdir()) == [path]


def test_a_link_goes_on_pointing_and_a_pipe_or_device_is_written_into(tmp_path, capfd):
    target, link, pipe = tmp_path / "other" / "new.html", tmp_path / "new.html", tmp_path / "pipe"
    link.symlink_to(target)
    for content in ("made", "made again"):
        with atomic.replacing(link) as temporary:
            Path(temporary).write_text(content)
        assert (
            link.is_symlink()
            and target.read_text() == content
            and list(target.parent.iterdir()) == [target]
        )
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    places = [pipe, "/dev/stdout", "/dev/fd/2"]
    with suppress(PermissionError):  # only root makes devices, and not everywhere
        os.mknod(tmp_path / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        (tmp_path / "null").write_text("")
        places.append(tmp_path / "null")
    before = [os.lstat(place).st_ino for place in places]
    for place in places:
        with atomic.replacing(place) as temporary:
            Path(temporary).write_text("whole")
        with pytest.raises(KeyError), atomic.replacing(place) as temporary:
            Path(temporary).write_text("half")
            raise KeyError
    assert os.read(reader, 99) == b"whole" and tuple(capfd.readouterr()) == ("whole", "whole")
    os.close(reader)
    assert [os.lstat(place).st_ino for place in places] == before
    assert {path.name for path in tmp_path.iterdir()} - {"null"} == {"other", "new.html", "pipe"}
    with (
        pytest.raises(IsADirectoryError, match="other"),
        atomic.replacing(target.parent) as temporary,
    ):
        Path(temporary).write_text("whole")


@pytest.mark.parametrize("place", ["/dev/full", "/dev/fd/63"])
def test_a_full_device_and_a_closed_descriptor_are_named(place):
    with suppress(OSError):
        os.close(63)
    with pytest.raises(OSError) as told, atomic.replacing(place) as temporary:
        Path(temporary).write_text("whole")
    assert told.value.filename == place


@pytest.mark.parametrize("number", atomic.DISK_ERRORS)
def test_a_full_disk_names_the_file(tmp_path, number):
    with pytest.raises(OSError) as told, atomic.replacing(tmp_path / "a.tsv"):
        raise OSError(number, "of an open file, which says no name")
    assert told.value.filename == str(tmp_path / "a.tsv")


def test_other_faults_keep_the_name_that_they_have(tmp_path):
    for fault, name in (
        (OSError(errno.EPERM, "x"), None),
        (OSError(errno.ENOSPC, "x", "other"), "other"),
    ):
        with pytest.raises(OSError) as told, atomic.replacing(tmp_path / "a.tsv"):
            raise fault
        assert told.value.filename == name


def test_a_folder_is_filled_at_once_or_not_at_all(tmp_path):
    folder = tmp_path / "out"
    with pytest.raises(KeyError), atomic.filling(folder) as temporary:
        (Path(temporary) / "a").write_text("half")
        raise KeyError
    assert not list(tmp_path.iterdir())
    folder.mkdir()
    (folder / "a").write_text("old")
    (folder / "other").write_text("stays")
    with atomic.filling(f"{folder}/") as temporary:
        (Path(temporary) / "a").write_text("new")
        assert (folder / "a").read_text() == "old"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "a": "new",
        "other": "stays",
    }
    assert list(tmp_path.iterdir()) == [folder]


def test_what_is_left_by_a_process_whose_number_was_given_again_is_removed(tmp_path):
    host, living = platform.node() or "host", os.getppid()
    for began in ("1", atomic._start_time(living)):
        (tmp_path / f".x.h5.{host}-{living}-{began}.part").touch()
        (tmp_path / f".y.{host}-{living}-{began}.part" / "inner").mkdir(parents=True)
    with atomic.replacing(tmp_path / "x.h5") as temporary:
        Path(temporary).touch()
    # Only what the living process may still be writing stays.
    kept = {f".{name}.{host}-{living}-{began}.part" for name in ("x.h5", "y")}
    assert {path.name for path in tmp_path.iterdir()} == {"x.h5", *kept}


def test_what_a_killed_process_left_is_removed_and_nothing_of_other_machines(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    for host in (HOST, f"other-{HOST}"):
        (tmp_path / f".x.h5.{host}-{ended.pid}-0.part").touch()
    (tmp_path / f".x.h5.{HOST}-{ended.pid}-0.partly").touch()
    with atomic.replacing(tmp_path / "y.h5") as temporary:
        Path(temporary).touch()
    kept = {"y.h5", f".x.h5.other-{HOST}-{ended.pid}-0.part", f".x.h5.{HOST}-{ended.pid}-0.partly"}
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_files_of_a_process_that_ended_unnoticed_by_its_parent_are_removed(tmp_path):
    """Its number still exists, as that of a killed job whose parent was killed with it."""
    with subprocess.Popen(["sleep", "600"]) as ended:
        began = atomic._start_time(ended.pid)
        (tmp_path / f".x.h5.{HOST}-{ended.pid}-{began}.part").touch()
        ended.kill()
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        os.kill(ended.pid, 0)
        with atomic.replacing(tmp_path / "y.h5") as temporary:
            Path(temporary).touch()
    assert [path.name for path in tmp_path.iterdir()] == ["y.h5"]


@pytest.mark.slow
def test_one_process_at_a_time_changes_a_file(tmp_path):
    """The second waits until the first has written; what it reads is what the first wrote."""
    code = "import sys; from odl.files import atomic\nwith atomic.locked(sys.argv[1]): print(open(sys.argv[1]).read())"
    path = tmp_path / "table.csv"
    path.write_text("old")
    with atomic.locked(path) as alone:
        other = subprocess.Popen(
            [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True
        )
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1)
        path.write_text("new")
    assert alone and other.communicate(timeout=60) == ("new\n", None)
    assert sorted(os.listdir(tmp_path)) == [".table.csv.lock", "table.csv"]
