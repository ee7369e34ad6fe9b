"""Headlines and events of `odl run` on streams with dated events that really happened.

    python benchmarks/events.py [FOLDER] [--work FOLDER] [--streams redis_commits ...] [--initial N]
    [--list] [--quiet]

FOLDER (`events` below ODL_MIRROR) has events.tsv (stream, period, first, pattern, note) and
{stream}.jsonl.gz. Each stream is run with the settings that `odl init` writes. --work names a
folder for the results, so that a second run only measures. --list prints each period with
headlines. --quiet measures the share of quiet periods with headlines in shuffled streams of 20, 50
and 250 documents per period.

A headline is of an event if more than half of its documents match the pattern. It is in time in the
period in which the event begins and the next one: within 2 days, 14 days or 62 days for periods of
days, weeks or months, where `first` is a day or a month in which the event begins. A period speaks
if a headline of it is reported. For each stream these figures are printed:

    five, first    events among the five strongest headlines of a period, and as the strongest
    told           events among the five strongest headlines of a period that speaks
    own            events with a reported headline
    named          share of events whose pattern is in the name of their headline
    right          share of the documents of their headline that match the pattern
    headings       reported headlines of the event in its period
    old            events whose headline belongs to an event that began earlier
    numbers        events that odl found, and `largest`, the largest as a share of all documents
    members        share of the documents of the found event that match the pattern
    periods        number of periods, and `speak`, the number of those that speak

Two baselines are measured too. `sixty lines` ranks the words of a period by the tail of a negative
binomial distribution given all earlier documents; words whose documents overlap by half are one
headline, and the first five count. The other is five random words of the period.
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
STRONGEST = 5  # headlines of a period among which an event is looked for
TRIALS = 20  # draws of five random words
# Options of benchmarks/quiet.py: shuffled streams of 60 periods without planted topics.
QUIET_OPTIONS = argparse.Namespace(calm=True, planted=False, periods=60)
QUIET_STREAMS = ("firefox_questions", "redis_commits", "posts", "reuters", "arxiv-cs")


class Event(NamedTuple):
    """A dated event of a stream.

    It begins between `first` and `last` (ms); `pattern` matches its documents.
    """

    stream: str
    first: int
    last: int
    pattern: re.Pattern


class Match(NamedTuple):
    """The highest ranked headline of an event, over the periods in which it is in time.

    `rank` is its position in its period, from 0; `t` is the period; `share` is the share of its
    documents that match the pattern of the event.
    """

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
        """Return for each row whether the document matches a pattern."""
        return [bool(pattern.search(self.texts[self.names[t].ids[row]])) for row in rows]

    def in_time(self, event):
        """Return the periods in which a headline of an event is in time."""
        length, tolerance = TOLERANCE[self.period]
        until = event.last + (tolerance - length) * DAY
        return [one.t for one in self.records[1:] if one.last >= event.first and one.first < until]

    def strongest(self, t, own=False):
        """Return the strongest headlines of words of a period; with `own`, all reported ones."""
        record = self.records[t]
        headlines_of_words = [one for one in record.headlines if one.gate not in ("lone", "volume")]
        if not own:
            headlines_of_words += record.below
        headlines_of_words.sort(key=lambda one: -one.t)
        return headlines_of_words if own else headlines_of_words[:STRONGEST]

    def speaks(self, t):
        """Return whether a headline of a period is reported."""
        return any(not one.repeated for one in self.records[t].headlines)


def find_headline(stream, event, choose):
    """Return the highest ranked headline of an event as a `Match`, or None.

    ``choose(t)`` returns the headlines of period t, best first.
    """
    matches = []
    for t in stream.in_time(event):
        for rank, headline in enumerate(choose(t)):
            share = mean(stream.matches(t, headline.rows, event.pattern))
            if share > 0.5:
                matches.append(Match(rank, t, share, headline))
    return min(matches, key=lambda match: match[:2], default=None)


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
    """Return the figures of a stream by name; with `compared`, also those of the baselines."""

    def reported_strongest(t):
        return stream.strongest(t) if stream.speaks(t) else []

    def reported(t):
        return stream.strongest(t, own=True)

    strongest = [find_headline(stream, event, stream.strongest) for event in events]
    told = [find_headline(stream, event, reported_strongest) for event in events]
    own = [find_headline(stream, event, reported) for event in events]
    named, right, headings, members, n_old = [], [], [], [], 0
    births = {number: record.t for record in stream.records for number, _ in record.born}
    for event, own_match, strongest_match in zip(events, own, strongest, strict=True):
        if match := own_match or strongest_match:
            named.append(bool(event.pattern.search(" ".join(match.headline.name).casefold())))
            right.append(match.share)
        if own_match:
            number, new = own_match.headline.event, 0
            for headline in reported(own_match.t):
                share = mean(stream.matches(own_match.t, headline.rows, event.pattern))
                new += not headline.repeated and share > 0.5
            headings.append(max(1, new))
            n_old += number in births and births[number] not in stream.in_time(event)
            members.append(share_of_members(stream, number, event.pattern))
    sizes = np.zeros(max(births, default=0) + 1, dtype=np.int64)
    for record in stream.records:
        for number, size in record.sizes:
            sizes[number] += size
    figures = {
        "events": len(events),
        "five": sum(match is not None for match in strongest),
        "first": sum(match is not None and match.rank == 0 for match in strongest),
        "told": sum(match is not None for match in told),
        "own": sum(match is not None for match in own),
        "named": mean(named),
        "right": mean(right),
        "headings": mean(headings),
        "old": n_old,
        "numbers": len(births),
        "largest": float(sizes.max()) / sum(len(record.score) for record in stream.records),
        "members": mean(members),
        "periods": len(stream.records),
        "speak": sum(stream.speaks(t) for t in range(len(stream.records))),
    }
    return figures | (baselines(stream, events) if compared else {})


def share_of_members(stream, number, pattern):
    """Return the share of an event's documents that match a pattern."""
    matches = []
    for record in stream.records:
        rows = np.flatnonzero(record.event == number).tolist()
        matches += stream.matches(record.t, rows, pattern)
    return mean(matches)


class WordHeadline(NamedTuple):
    """Headline of a baseline: the documents that have a word, as rows of their period."""

    rows: list


def baselines(stream, events):
    """Return the numbers of events that the sixty lines, and five random words, find in time."""
    lines, random, rng = {}, {}, np.random.default_rng(0)
    for t in sorted({t for event in events for t in stream.in_time(event)}):
        data = features.read(os.path.join(stream.place.features, f"{t}.h5"))
        X = sparse.csc_array(data.counts[:] > 0)
        lines[t] = sixty_lines(X, data.frequencies, data.n_before, data.vocabulary)
        nameable = data.frequencies <= headlines.MAX_DOCUMENT_SHARE * data.n_before
        terms = np.flatnonzero((np.diff(X.indptr) > 0) & nameable)
        for trial in range(TRIALS):
            drawn = rng.choice(terms, min(STRONGEST, len(terms)), replace=False)
            random[trial, t] = [WordHeadline(rows_with(X, term)) for term in drawn]
    sixty = [find_headline(stream, event, lines.get) for event in events]
    by_chance = []
    for trial in range(TRIALS):
        matches = [
            find_headline(stream, event, lambda t, trial=trial: random[trial, t])
            for event in events
        ]
        by_chance.append(sum(match is not None for match in matches))
    return {
        "sixty lines": sum(match is not None for match in sixty),
        "sixty first": sum(match is not None and match.rank == 0 for match in sixty),
        "random words": mean(by_chance),
    }


def rows_with(X, term):
    """Return the rows of a `csc_array` that have an entry in a column, as a list."""
    return X.indices[X.indptr[term] : X.indptr[term + 1]].tolist()


def sixty_lines(X, frequencies, n_before, vocabulary):
    """Return the first five headlines of the baseline `sixty lines`.

    Words are ranked by the tail of a negative binomial distribution given all earlier documents. A
    word whose documents overlap by half with those of a better one gets no headline.
    """
    n, x = X.shape[0], np.diff(X.indptr)
    terms = np.flatnonzero((x >= 2) & (frequencies <= headlines.MAX_DOCUMENT_SHARE * n_before))
    a = frequencies[terms] + 0.5 + (n_before + 1) / 2000
    shape, expected = 1 / (1 / a + 0.04), n * a / (n_before + 1)
    tail = special.betainc(x[terms], shape, expected / (shape + expected))
    lines, row_sets = [], []
    for term in terms[np.argsort(tail, kind="stable")].tolist():
        rows = {*rows_with(X, term)}
        if all(2 * len(rows & other) < min(len(rows), len(other)) for other in row_sets):
            row_sets.append(rows)
            lines.append(WordHeadline(sorted(rows)))
        if len(lines) == STRONGEST:
            break
    return lines


def mean(values):
    """Return the mean of values; nan without values."""
    values = list(values)
    return float(np.mean(values)) if values else float("nan")


def speaking_lines(stream):
    """Return a line for each period with reported headlines: date, size and the headlines."""
    lines = []
    for record in stream.records:
        parts = []
        for headline in record.headlines:
            if not headline.repeated:
                name = ", ".join(headline.name) or "a document"
                parts.append(f"{name} ({headline.size}, {headline.gate})")
        if parts:
            day = np.datetime64(record.first, "ms").astype("datetime64[D]")
            lines.append(f"{day}  {len(record.score)} documents  {' | '.join(parts)}")
    return lines


def main():
    """Run the streams, print the table and the last line."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument(
        "folder", nargs="?", default=os.path.join(os.environ.get("ODL_MIRROR", "."), "events")
    )
    words.add_argument("--work", help="folder for the results")
    words.add_argument("--streams", nargs="+")
    words.add_argument(
        "--initial", type=int, help="documents of the first batch, instead of those of odl init"
    )
    words.add_argument("--list", action="store_true", help="print each period that speaks")
    words.add_argument("--quiet", action="store_true", help="measure shuffled streams as well")
    options = words.parse_args()
    folder, total = Path(options.folder), {}
    events = read_events(folder / "events.tsv")
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
            if options.list:
                print(*speaking_lines(stream), sep="\n", flush=True)
            for key in ("events", "five", "first", "told", "own", "sixty lines"):
                total[key] = total.get(key, 0) + figures[key]
    if options.quiet:
        print_quiet_shares()
    print(
        f"first {total['first']}, own headline {total['own']}, sixty lines {total['sixty lines']}"
    )
    print(f"{total['five']} of {total['events']} in the first five, {total['told']} told")


def print_quiet_shares():
    """Print the share of periods that speak in shuffled streams, for three sizes of periods."""
    import quiet

    for size in (20, 50, 250):
        rows = [
            quiet.row_of(name, seed, size, QUIET_OPTIONS)
            for name in QUIET_STREAMS
            for seed in range(6)
        ]
        speak, n_quiet = (np.array([row[key] for row in rows]) for key in ("speak", "quiet"))
        share, bound = quiet.share_and_bound(speak, n_quiet)
        print(
            f"periods of {size}: {speak.sum()} of {n_quiet.sum()} quiet periods speak: "
            f"{share:.3f} (at most {bound:.3f})"
        )


if __name__ == "__main__":
    main()
