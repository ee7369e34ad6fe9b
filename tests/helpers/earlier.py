"""A folder that an earlier version learned, `earlier.tar.xz`, and how it is made.

To make it again (200 made documents, two minutes):

    git worktree add OLD deb4e0c9
    PYTHONPATH=OLD/src python -P tests/helpers/earlier.py
"""

import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from datetime import date, timedelta
from pathlib import Path

ARCHIVE = Path(__file__).with_name("earlier.tar.xz")
SUBJECTS = {
    "garden": "soil seed water plant leaf root bed prune compost sun",
    "kitchen": "pan salt bread oven butter dough bake flour knife soup",
    "bicycle": "wheel chain brake tyre saddle gear pedal pump spoke lamp",
}
COMMON = "today question answer help small large morning evening"
EVENTS = {
    (28, 30): "server outage router timeout",
    (49, 49): "pipe leak flood cellar",
}  # first and last day
SETTINGS = "alerts: {gates: true, rest: true, unseen: 3, warm_up: 60}\ncheckpoints: {keep: 0}\n"
LEFT_OUT = ("new.html", "new.atom", "new.json", ".lock", ".verified.json", "batches")


def unpack(folder):
    """Unpack the folder into another one; return its path."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder)  # made by this project; Python before 3.11.4 has no `filter`
    return os.path.join(folder, "stream")


def documents():
    """Yield lines of JSON: four documents a day for fifty days."""
    draw = random.Random(7)
    for n in range(200):
        day = n // 4
        words = draw.sample(SUBJECTS[draw.choice(sorted(SUBJECTS))].split(), 6) + draw.sample(
            COMMON.split(), 3
        )
        for (first, last), new in EVENTS.items():
            if first <= day <= last and n % 4 < 3:
                words = new.split() + words[:4]
        draw.shuffle(words)
        time = f"{date(2026, 3, 2) + timedelta(day)}T{n % 4 + 8:02d}:00:00Z"
        yield json.dumps({"id": f"made-{n}", "time": time, "text": " ".join(words)}) + "\n"


def make():
    """Write the archive with the version of odl that is imported."""
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder, "stream")
        stream.mkdir()
        (stream / "made.jsonl").write_text("".join(documents()))
        _odl(folder, "init", "stream", "--period", "week")
        lines = (stream / "odl.yaml").read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith("alerts:")]
        (stream / "odl.yaml").write_text(
            "".join(kept).replace("initial: 40", "initial: 28") + SETTINGS
        )
        for words in (["run", "stream"], ["follow", "stream", "1"], ["mute", "stream", "2"]):
            _odl(folder, *words)
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            for path in sorted(path for path in stream.rglob("*") if path.is_file()):
                if not set(path.relative_to(stream).parts) & {*LEFT_OUT}:
                    entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
                    entry.size = path.stat().st_size
                    archive.addfile(entry, io.BytesIO(path.read_bytes()))


def _odl(folder, *words):
    subprocess.run([sys.executable, "-P", "-m", "odl", *words], cwd=folder, check=True)


if __name__ == "__main__":
    make()
