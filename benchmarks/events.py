"""Headlines and events on streams with dated events that really happened, as `odl init` and `odl run` make them.

    python benchmarks/events.py [FOLDER] [--work FOLDER] [--streams redis_commits ...] [--initial N]
    [--list] [--quiet]

FOLDER (`events` below ODL_MIRROR) has events.tsv (stream, period, first, pattern, note) and
{stream}.jsonl.gz. Each stream is run with what `odl init` writes; one setting for all. --work keeps
the folders, so that a second run only measures. A headline is of an event if more than half of its
documents meet the pattern. It is in time in the period in which the event begins and the next one:
within 2 days, 14 days or 62 days for periods of days, weeks or months, where `first` names a day or
a month in which the event begins. Printed of each stream: events among the five strongest headlines
of a period (first: as the strongest); told: in a period that speaks; own: by a headline that
speaks; named: the pattern is in its name; right: share of its documents that meet the pattern (both
of the headline that speaks, if there is one); headings: headlines of the event in the period that
tells it; old: filed under an event that began earlier; events, and the largest one as a share of
all documents; members of told events that meet the pattern; periods that speak. Beside it: the
sixty lines (words of a period by the tail of a negative binomial against all documents before,
words whose documents overlap by half are one headline, the first five), and five random words of
the period. --list prints each period that speaks. --quiet measures the share of quiet periods that
speak in shuffled streams of 20, 50 and 250 documents a period.
"""

import argparse
import csv
import gzip
import json
import os
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from odl import cli
from odl.alerts import headlines, periods, read
from odl.stream import features

DAY = 86_400_000  # ms
TOLERANCE = {
    "day": (1, 2),
    "week": (7, 14),
    "month": (31, 62),
    "quarter": (92, 184),
    "year": (366, 732),
}  # days
STRONGEST = 5
TRIALS = 20  # draws of five random words
CALM = argparse.Namespace(calm=True, planted=False, periods=60)  # options of benchmarks/quiet.py
QUIET = ("firefox_questions", "redis_commits", "posts", "reuters", "arxiv-cs")


class Event(NamedTuple):
    """A dated event of a stream. It begins between `first` and `last` (ms); `pattern` matches its documents."""

    stream: str
    first: int
    last: int
    pattern: re.Pattern


class Found(NamedTuple):
    """The best headline of an event: its rank from 0, its period, the share of its documents that meet the pattern."""

    rank: int
    t: int
    share: float
    headline: object


class Stream:
    """A stream that was run: its records, texts and periods."""

    def __init__(self, source, folder, initial=None):
        if not (folder / "odl.yaml").exists():
            cli.main(["init", str(folder), str(source)])
        if initial:
            settings = (folder / "odl.yaml").read_text(encoding="utf-8")
            settings = re.sub(r"initial: \d+", f"initial: {initial}", settings)
            (folder / "odl.yaml").write_text(settings, encoding="utf-8")
        cli.main(["run", str(folder)])
        self.read(source, folder)

    def read(self, source, folder):
        """Read what a run has written, and the texts."""
        self.place = read.place_of(folder)
        with gzip.open(source, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.texts = {
            row["id"]: f"{row.get('title', '')}\n{row['text']}".casefold() for row in rows
        }
        self.records = [*read.records(self.place)]
        self.names = [periods.read_names(path) for path in periods.paths(self.place.alerts)]
        settings = (folder / "odl.yaml").read_text(encoding="utf-8")
        period = re.search(r"period: (day|week|month|quarter|year)", settings)
        self.period = period.group(1) if period else "day"  # shorter ones, of a number of documents

    def matches(self, t, rows, pattern):
        """Return which documents of a period meet a pattern."""
        return [bool(pattern.search(self.texts[self.names[t].ids[row]])) for row in rows]

    def in_time(self, event):
        """Return the periods in which an event is in time: those in which it may begin, and the next one."""
        length, tolerance = TOLERANCE[self.period]
        until = event.last + (tolerance - length) * DAY
        return [one.t for one in self.records[1:] if one.last >= event.first and one.first < until]

    def strongest(self, t, own=False):
        """Return the strongest headlines of words of a period; own: those that speak."""
        record = self.records[t]
        found = record.headlines + ([] if own else record.below)
        found = [one for one in found if one.gate not in ("lone", "volume")]
        return sorted(found, key=lambda one: -one.t)[: None if own else STRONGEST]

    def speaks(self, t):
        """Return whether something of a period is told."""
        return any(not one.repeated for one in self.records[t].headlines)


def best(stream, event, choose):
    """Return the best headline of an event among those that `choose` returns of each period in time, None for none."""
    found = []
    for t in stream.in_time(event):
        for rank, headline in enumerate(choose(t)):
            share = float(np.mean(stream.matches(t, headline.rows, event.pattern)))
            if share > 0.5:
                found.append(Found(rank, t, share, headline))
    return min(found, key=lambda one: one[:2], default=None)


def read_events(path):
    """Return the events of a table by stream."""
    events = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            unit = "D" if row["period"] == "day" else "M"
            begin = np.datetime64(row["first"]).astype(f"datetime64[{unit}]")
            span = (
                int(each.astype("datetime64[ms]").astype(np.int64)) for each in (begin, begin + 1)
            )
            event = Event(row["stream"], *span, re.compile(row["pattern"]))
            events.setdefault(row["stream"], []).append(event)
    return events


def measure(stream, events, compared=True):
    """Return the figures of a stream, a map; `compared`: those of the baselines as well."""
    figures, named, right, headings, members = {"events": len(events)}, [], [], [], []
    five = [best(stream, event, stream.strongest) for event in events]
    speaking = [
        best(stream, event, lambda t: stream.strongest(t) if stream.speaks(t) else [])
        for event in events
    ]
    own = [best(stream, event, lambda t: stream.strongest(t, own=True)) for event in events]
    born = {number: record.t for record in stream.records for number, _ in record.born}
    for event, *either in zip(events, own, five, strict=True):
        if found := next(filter(None, either), None):
            named.append(bool(event.pattern.search(" ".join(found.headline.name).casefold())))
            right.append(found.share)
    old = 0
    for event, found in zip(events, own, strict=True):
        if found:
            told = [one for one in stream.strongest(found.t, own=True) if not one.repeated]
            shares = [np.mean(stream.matches(found.t, one.rows, event.pattern)) for one in told]
            headings.append(max(1, sum(share > 0.5 for share in shares)))
            number = found.headline.event
            old += number in born and born[number] not in stream.in_time(event)
            members.append(share_of_members(stream, number, event.pattern))
    sizes = np.zeros(max(born, default=0) + 1, dtype=np.int64)
    for record in stream.records:
        for number, size in record.sizes:
            sizes[number] += size
    n = sum(len(record.score) for record in stream.records)
    figures |= {
        "five": sum(map(bool, five)),
        "first": sum(one is not None and one.rank == 0 for one in five),
    }
    figures |= {"told": sum(map(bool, speaking)), "own": sum(map(bool, own))}
    figures |= {"named": mean(named), "right": mean(right), "headings": mean(headings), "old": old}
    figures |= {
        "numbers": len(born),
        "largest": float(sizes.max(initial=0)) / n,
        "members": mean(members),
    }
    figures |= {
        "periods": len(stream.records),
        "speak": sum(map(stream.speaks, range(len(stream.records)))),
    }
    return figures | (baselines(stream, events) if compared else {})


def share_of_members(stream, number, pattern):
    """Return the share of an event's documents that match a pattern."""
    found = []
    for record in stream.records:
        found += stream.matches(record.t, np.flatnonzero(record.event == number).tolist(), pattern)
    return mean(found)


class Words(NamedTuple):
    """A headline of a baseline: the rows of its documents."""

    rows: list


def baselines(stream, events):
    """Return how many events the sixty lines, and five random words, have among the headlines of a period in time."""
    wanted = sorted({t for event in events for t in stream.in_time(event)})
    lines, random, rng = {}, {t: [] for t in wanted}, np.random.default_rng(0)
    for t in wanted:
        data = features.read(os.path.join(stream.place.features, f"{t}.h5"))
        X = sparse.csc_array(data.counts[:] > 0)
        lines[t] = sixty_lines(X, data.frequencies, data.n_before, data.vocabulary)
        terms = np.flatnonzero(
            (np.diff(X.indptr) > 0)
            & (data.frequencies <= headlines.MAX_DOCUMENT_SHARE * data.n_before)
        )
        for _ in range(TRIALS):
            drawn = rng.choice(terms, min(STRONGEST, len(terms)), replace=False)
            random[t].append(
                [Words(X.indices[X.indptr[term] : X.indptr[term + 1]].tolist()) for term in drawn]
            )
    sixty = [best(stream, event, lines.get) for event in events]
    by_chance = [
        sum(
            best(stream, event, lambda t, trial=trial: random[t][trial]) is not None
            for event in events
        )
        for trial in range(TRIALS)
    ]
    first = sum(one is not None and one.rank == 0 for one in sixty)
    return {
        "sixty lines": sum(map(bool, sixty)),
        "sixty first": first,
        "random words": mean(by_chance),
    }


def sixty_lines(X, frequencies, n_before, vocabulary):
    """Return the headlines of the sixty lines, the first five."""
    n, x = X.shape[0], np.diff(X.indptr)
    terms = np.flatnonzero((x >= 2) & (frequencies <= headlines.MAX_DOCUMENT_SHARE * n_before))
    a = frequencies[terms] + 0.5 + (n_before + 1) / 2000
    shape, expected = 1 / (1 / a + 0.04), n * a / (n_before + 1)
    tail = special.betainc(x[terms], shape, expected / (shape + expected))
    found, taken = [], []
    for term in terms[np.argsort(tail, kind="stable")].tolist():
        rows = {*X.indices[X.indptr[term] : X.indptr[term + 1]].tolist()}
        if all(2 * len(rows & other) < min(len(rows), len(other)) for other in taken):
            taken.append(rows)
            found.append(Words(sorted(rows)))
        if len(found) == STRONGEST:
            break
    return found


def mean(values):
    """Return the mean of values, nan of none."""
    values = list(values)
    return float(np.mean(values)) if values else float("nan")


def spoken(stream):
    """Return a line for each period that speaks."""
    lines = []
    for record in stream.records:
        told = [one for one in record.headlines if not one.repeated]
        day = np.datetime64(record.first, "ms").astype("datetime64[D]")
        parts = [f"{', '.join(one.name) or 'a document'} ({one.size}, {one.gate})" for one in told]
        lines += [f"{day}  {len(record.score)} documents  {' | '.join(parts)}"] if told else []
    return lines


def main():
    """Run the streams, print the table and the last line."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument(
        "folder", nargs="?", default=os.path.join(os.environ.get("ODL_MIRROR", "."), "events")
    )
    words.add_argument("--work", help="folder that keeps the results")
    words.add_argument("--streams", nargs="+")
    words.add_argument(
        "--initial", type=int, help="documents of the first batch, instead of those of odl init"
    )
    words.add_argument("--list", action="store_true", help="print each period that speaks")
    words.add_argument("--quiet", action="store_true", help="measure shuffled streams as well")
    options = words.parse_args()
    events, folder, total = (
        read_events(Path(options.folder) / "events.tsv"),
        Path(options.folder),
        {},
    )
    with tempfile.TemporaryDirectory() as place:
        work = Path(options.work or place)
        for name in options.streams or events:
            stream = Stream((folder / f"{name}.jsonl.gz").resolve(), work / name, options.initial)
            figures = measure(stream, events[name])
            print(
                name,
                *(f"{key} {round(value, 3)}" for key, value in figures.items()),
                sep="\n  ",
                flush=True,
            )
            print(*spoken(stream) if options.list else (), sep="\n", flush=True)
            for key in ("events", "five", "first", "told", "own", "sixty lines"):
                total[key] = total.get(key, 0) + figures[key]
    if options.quiet:
        shuffled()
    print(
        f"first {total['first']}, own headline {total['own']}, sixty lines {total['sixty lines']}"
    )
    print(f"{total['five']} of {total['events']} in the first five, {total['told']} told")


def shuffled():
    """Print the share of quiet periods that speak, of shuffled streams."""
    import quiet

    for size in (20, 50, 250):
        rows = [quiet.row_of(name, seed, size, CALM) for name in QUIET for seed in range(6)]
        speak, n = (np.array([row[key] for row in rows]) for key in ("speak", "quiet"))
        share, bound = quiet.bounded(speak, n)
        print(
            f"periods of {size}: {speak.sum()} of {n.sum()} quiet periods speak: {share:.3f} (at most {bound:.3f})"
        )


if __name__ == "__main__":
    main()
