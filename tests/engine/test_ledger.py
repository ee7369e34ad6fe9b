"""What is remembered of files outlives what the disk may forget."""

import os

from odl.engine.ledger import Ledger


def test_after_a_power_loss_nothing_is_trusted_that_the_disk_has_not(tmp_path, monkeypatch):
    """Files are forced to the disk before the note about them, and that before it has its name."""
    paths, note, events = [str(tmp_path / name) for name in "ab"], str(tmp_path / "note.json"), []
    ledger = Ledger(note)
    for path in paths:
        with open(path, "w") as file:
            file.write(path)
        ledger.put(path, "digest")
    real = os.replace
    monkeypatch.setattr(os, "fsync", lambda number: events.append(os.readlink(f"/proc/self/fd/{number}")))
    monkeypatch.setattr(os, "replace", lambda source, target: [events.append(target), real(source, target)])
    ledger.save()
    assert sorted(events[:2]) == paths and ".note.json" in events[2] and events[3:] == [note]
    assert Ledger(note).digest(paths[0]) == "digest"
    ledger.save()
    assert len(events) == 4  # nothing came anew
