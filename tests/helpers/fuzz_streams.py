"""Whole streams of odd documents through every reader: `odl init` and `odl run` end well, and the counts add up.

python tests/helpers/fuzz_streams.py --seconds 60 --first 0      streams of the seeds from 0 on, for a minute
"""

import argparse
import base64
import contextlib
import csv
import gzip
import io
import json
import random
import re
import tempfile
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from xml.sax.saxutils import escape

from oddtexts import odd_text

from odl import cli
from odl.files import documents, setaside, storage

WORDS = (
    "backup",
    "disk",
    "volume",
    "tape",
    "login",
    "session",
    "key",
    "shell",
    "water",
    "sensor",
    "pump",
    "valve",
)
TIMES = (None, "", "soon", 20, True, "0001-01-01", "9999-12-31T23:59:59Z", "32 Jan 2026", -1, 1e300)
IDS = (None, "a/b", "../x", "a\tb\x1b[31m", "\u202eabc", "x" * 5000, " ", 17, True, ["a"], "d3")
ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML


class Stream:
    """A folder of files that were drawn by a seed, and how many documents were written into them."""

    def __init__(self, folder, seed, n=24):
        self.draw, self.folder, self.n, self.given = random.Random(seed), Path(folder), n, 0
        for kind in ("jsonl", "csv", "mbox", "rss", "log", "txt"):
            rows = [self.row(f"{kind[0]}{number}", number) for number in range(n)]
            getattr(self, kind)(rows)
            self.given += n
        log = (self.folder / "e.log").read_bytes()
        (self.folder / "e.log.1.gz").write_bytes(
            gzip.compress(log)
        )  # the same lines in another file are others
        self.given += n
        (self.folder / "empty.jsonl").touch()

    def row(self, name, number):
        """Return a document: its text is odd, and now and then its time, its id, or the kind of its text."""
        draw, moment = self.draw, datetime(2026, 1, 5, tzinfo=UTC) + timedelta(hours=7 * number)
        text = " ".join(
            [*draw.choices(WORDS, k=6), odd_text(draw), *draw.choices(WORDS, k=3), odd_text(draw)]
        )
        row = {"id": name, "time": moment, "text": text, "title": odd_text(draw, 4)}
        if draw.random() < 0.1:
            row["odd"] = draw.choice(["id", "time", "text"])
        return row

    def jsonl(self, rows):
        lines = []
        for row in rows:
            values = {**row, "time": row["time"].isoformat()}
            odd = values.pop("odd", "")
            choice = {
                "id": IDS,
                "time": TIMES,
                "text": (None, 3, {"a": "b"}, [], "", " ", "w" * 100_000),
            }
            values |= {odd: self.draw.choice(choice[odd])} if odd else {}
            lines.append(
                json.dumps(values, allow_nan=True) if self.draw.random() < 0.97 else '{"torn": '
            )
        (self.folder / "a.jsonl").write_text("\n".join(lines) + "\n")

    def csv(self, rows):
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(("id", "time", "text", "title"))
        for row in rows:
            odd = row.get("odd")
            values = {
                **row,
                "time": self.draw.choice(TIMES[1:4]) if odd == "time" else row["time"].isoformat(),
            }
            writer.writerow(
                [str(values[name]).replace("\r", " ") for name in ("id", "time", "text", "title")]
            )
        (self.folder / "b.csv").write_bytes(text.getvalue().encode("utf-8", "replace"))

    def mbox(self, rows):
        parts = []
        for row in rows:
            text = row["text"].encode("utf-8", "replace")
            packed = self.draw.random() < 0.5
            body = (
                base64.encodebytes(text)
                if packed
                else text.replace(b"\r", b" ").replace(b"\nFrom ", b"\n>From ")
            )
            head = [
                f"Message-ID: <{row['id']}@x>",
                "Subject: " + " ".join(row["title"].split()),
                "MIME-Version: 1.0",
            ]
            head += ["Content-Type: text/plain; charset=utf-8"] + [
                "Content-Transfer-Encoding: base64"
            ] * packed
            head += [] if row.get("odd") == "time" else [f"Date: {format_datetime(row['time'])}"]
            parts.append(
                b"From a@b\n" + "\n".join(head).encode("utf-8", "replace") + b"\n\n" + body + b"\n"
            )
        (self.folder / "c.mbox").write_bytes(b"\n".join(parts))

    def rss(self, rows):
        items = []
        for row in rows:
            text, title = (escape(ILLEGAL.sub("?", row[name])) for name in ("text", "title"))
            when = (
                ""
                if row.get("odd") == "time"
                else f"<pubDate>{format_datetime(row['time'])}</pubDate>"
            )
            items.append(
                f"<item><guid>{row['id']}</guid>{when}<title>{title}</title><description>{text}</description></item>"
            )
        feed = f"<rss version='2.0'><channel><title>x</title>{''.join(items)}</channel></rss>"
        (self.folder / "d.rss").write_text(feed, encoding="utf-8")

    def log(self, rows):
        lines = [
            f"{row['time']:%Y-%m-%d %H:%M:%S} INFO {' '.join(row['text'].split())}\n"
            for row in rows
        ]
        (self.folder / "e.log").write_bytes("".join(lines).encode("utf-8", "replace"))

    def txt(self, rows):
        for row in rows:
            day = "" if row.get("odd") == "time" else f"{row['time']:%Y-%m-%d}-"
            (self.folder / f"{day}{row['id']}.txt").write_bytes(
                row["text"].encode("utf-8", "replace")
            )


def check(folder, seed, n=24):
    """Make a stream and run it; raise AssertionError if a command fails or a document is lost."""
    folder = Path(folder)
    (folder / "docs").mkdir()
    stream, news = Stream(folder / "docs", seed, n), folder / "news"
    _type("init", news, folder / "docs", "--encoding", "utf-8")
    _type("run", news)
    (path,) = news.glob("results/*/*/documents.h5")
    with storage.reading(path, "documents") as file:
        entries, repeats = setaside.read(file), sum(documents.read_repeats(file))
        dropped = documents.read_dropped(file)
        ids = storage.read_strings(file, "ids")
        found = len(ids) + repeats + (len(dropped.ids) if dropped else 0)
    whole = [entry for entry in entries if not entry.place]
    assert [entry.file for entry in whole] == ["empty.jsonl"], str(whole)
    assert not [entry for entry in entries if entry.place.startswith(setaside.REST_PREFIX)], str(
        entries
    )
    n_aside = len(entries) - 1
    assert found + n_aside == stream.given, f"{found} + {n_aside} of {stream.given}: {entries}"
    _type("new", news, "--since", "0001-01-01")
    for name in stream.draw.sample(ids, 4):
        for command in ("show", "explain"):
            _type(command, news, *["--"] * name.startswith("-"), name)


def _type(*words):
    """Run a command in this process."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        status = cli.main(list(map(str, words)))
    assert status == 0, f"odl {' '.join(map(ascii, words))}: {status} {error.getvalue()}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    end, seed, wrong = time.monotonic() + args.seconds, args.first, 0
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(folder, seed)
            except Exception as error:
                wrong += 1
                place = traceback.extract_tb(error.__traceback__)[-1]
                print(
                    f"seed {seed}: {type(error).__name__} {place.name}: {str(error)[:600]}",
                    flush=True,
                )
        seed += 1
    print(f"{seed - args.first} streams, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
