"""What is remembered of files: read once, by size, time and inode; it outlives what the disk may forget."""

import hashlib
import json
import os

import numpy as np
import pytest

from odl.engine import ledger as ledgers
from odl.engine.ledger import Ledger
from odl.errors import StorageError
from odl.files import provenance, storage


@pytest.fixture
def reads(monkeypatch):
    """The paths that are read, in their order."""
    paths = []
    monkeypatch.setattr(
        ledgers, "read", lambda path, read=ledgers.read: paths.append(path) or read(path)
    )
    return paths


@pytest.fixture
def note(tmp_path):
    return str(tmp_path / "note.json")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one")
    return str(path)


def test_after_a_power_loss_nothing_is_trusted_that_the_disk_has_not(tmp_path, monkeypatch):
    """Files are forced to the disk before the note about them, and that before it has its name."""
    paths, note, events = [str(tmp_path / name) for name in "ab"], str(tmp_path / "note.json"), []
    ledger = Ledger(note)
    for path in paths:
        with open(path, "w") as file:
            file.write(path)
        ledger.put(path, "digest")
    real = os.replace
    sizes = {}

    def fsync(number):
        events.append(os.readlink(f"/proc/self/fd/{number}"))
        sizes[events[-1]] = os.fstat(number).st_size

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(
        os, "replace", lambda source, target: [events.append(target), real(source, target)]
    )
    ledger.save()
    assert sorted(events[:2]) == paths and ".note.json" in events[2] and events[3:] == [note]
    assert sizes[events[2]] == os.path.getsize(note)
    assert Ledger(note).digest(paths[0]) == "digest"
    ledger.save()
    assert len(events) == 4  # nothing came anew
    ledger.set_fact("a", 1)
    ledger.save()
    assert len(events) == 6 and not {*events[4:]} & {*paths}  # the files are on the disk


def test_a_file_is_read_once_until_it_changes(reads, note, path):
    ledger, (one, two) = (
        Ledger(note),
        (hashlib.sha256(text).hexdigest() for text in (b"one", b"two")),
    )
    assert ledger.digest(path) == one and ledger.changed
    assert ledger.entry(path).origin == "" and reads == [path]
    ledger.save()
    again = Ledger(note)
    assert again.digest(path) == one and reads == [path] and not again.changed
    assert Ledger(note, check=True).digest(path) == one and len(reads) == 2
    with open(path, "wb") as file:
        file.write(b"two")
    os.utime(path, (1, 1))
    assert (
        again.before(path) == one
        and again.digest(path) == two
        and len(reads) == 3
        and again.changed
    )
    assert again.before(path) == two


def test_of_what_is_not_there_nothing_is_known(note, path, tmp_path):
    ledger = Ledger(note)
    assert (
        ledger.digest(str(tmp_path / "b.txt")) is None
        and ledger.before(path) == ""
        and not ledger.changed
    )
    (tmp_path / "b.h5").write_bytes(b"no HDF5")
    assert ledger.entry(str(tmp_path / "b.h5")) is None
    ledger.forget(str(tmp_path / "b.txt"))
    assert not ledger.changed
    ledger.digest(path)
    ledger.save()
    ledger.forget(path)
    assert not os.path.exists(path) and ledger.changed and ledger.before(path) == ""
    ledger.forget(path)  # another process was first
    assert ledger.changed
    ledger.save()
    assert Ledger(note).entries == {}


def test_a_text_that_follows_from_files_is_kept(note):
    ledger = Ledger(note)
    ledger.set_fact("times", {"a": 1})
    ledger.save()
    again = Ledger(note)
    again.set_fact("times", {"a": 1})
    assert again.facts == {"times": {"a": 1}} and not again.changed
    with open(note) as file:
        stored = json.load(file)
    assert stored["form"] == 1  # a note of another form is no note
    for text in (json.dumps(stored | {"form": 2}), "{", "[]", "7"):
        with open(note, "w") as file:
            file.write(text)
        assert Ledger(note).facts == {}


def test_what_a_file_was_made_from(note, tmp_path):
    record = {"step": "batch", "settings": {"t": 1}, "inputs": {}, "code": "abc"}
    paths = [str(tmp_path / name) for name in ("a.h5", "b.h5")]
    with provenance.recording(record):
        for path in paths:
            with storage.writing(path, "scores") as file:
                file["score"] = np.arange(1e5)
    first, second = map(Ledger(note).entry, paths)
    assert first.origin == second.origin == ledgers.origin_of(record) != "" and second.code == "abc"
    assert list(first.earlier_outputs) == [] and list(second.earlier_outputs) == [first.digest]
    assert ledgers.entry_of("d", {**record, "beside": ["e"]}) == ("d", first.origin, "abc", ("e",))
    content = bytearray((tmp_path / "a.h5").read_bytes())
    content[content.index(np.arange(9e4, 9e4 + 5).tobytes())] ^= 1
    (tmp_path / "a.h5").write_bytes(content)
    with pytest.raises(StorageError):
        ledgers.read(paths[0])
