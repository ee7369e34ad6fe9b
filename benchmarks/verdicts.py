"""Lists of headlines that learn from the verdicts of simulated people, on streams of real events.

    python benchmarks/verdicts.py [FOLDER] [--work FOLDER] [--streams NAME ...] [--seeds 10]

FOLDER and --work are those of benchmarks/events.py.

A stream is divided into visits: successive periods with at least 80 headlines together, those that
are not unusual included. A simulated person begins at each visit for which enough visits follow.
The person wants the headlines of one subject: more than half of the documents have its label. They
judge the first ten headlines of two visits; one of ten verdicts, drawn by the seed, is wrong. Then
the first ten headlines of the next three visits are measured. The subjects of a person are the
labels of 10 to 50 % of the headlines of the judged visits: an airline, topic or disease, or words
of commits. For the kind "source", each label is the source of its documents, which the model sees;
for "subject", no document has a source.

Columns of the output, a row for each stream and kind:

    people            simulated people
    plain             precision without verdicts: share of wanted headlines among the first ten
    gain, sd          gain in precision after 20 verdicts: mean and standard deviation over people
    random            the gain after 20 random verdicts
    hidden            share of the headlines of dated events among the first ten of the list without
                      verdicts that the list with verdicts does not have
    beyond            share of them that the list with verdicts has after its first 20
    beyond, random    the same after random verdicts

The constants of odl.alerts.ranking were chosen on airline_tweets and redis_commits ("tuned").
"""

import argparse
import gzip
import json
import os
import re
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import events
import numpy as np

from odl import cli
from odl.alerts import ranking, read, views

TUNED = ("airline_tweets", "redis_commits")  # streams on which constants were chosen
FIRST = 10  # headlines of a visit that are judged or measured
VISIT = 80  # headlines of a visit
VISITS, NEXT = 2, 3  # visits judged, visits measured after them
WRONG = 0.1  # share of wrong verdicts
SHARES = (0.1, 0.5)  # smallest and largest share of a label among headlines of the judged visits
COMMITS = {
    "cluster": r"cluster|failover|sentinel|slot",
    "tests": r"\btests?\b|\bci\b|travis|valgrind",
    "modules": r"modules?\b",
    "documentation": r"readme|comment|typo|release notes|doc",
    "streams": r"stream|xadd|xread",
    "replication": r"replicat|slave|master|psync",
}  # subject -> pattern of its commits
LABELS = {"airline_tweets": "airline", "firefox_questions": "topic", "outbreaks": "label2"}
DOCUMENTS = {"airline_tweets": 150}  # documents of a period of a stream with few days
COLUMNS = ("people", "plain", "gain", "sd", "random", "hidden", "beyond", "beyond, random")


def labels_of(name, row):
    """Return the labels of a document of a stream."""
    if name not in LABELS:
        text = f"{row.get('title', '')} {row['text']}".casefold()
        return [label for label, pattern in COMMITS.items() if re.search(pattern, text)]
    value = row[LABELS[name]]
    return value if isinstance(value, list) else re.findall(r"'([^']+)'", str(value)) or [value]


class Judged:
    """Periods of a stream in visits, with labels of their headlines, and which are dated events.

    Parameters
    ----------
    periods : sequence of odl.alerts.model.Period
        With all headlines, those that are not unusual included.
    labels, dated : dict of (int, odl.alerts.model.Headline) to set of str, or to bool
        Labels that more than half of the documents of a headline have, by period and headline;
        whether it is the headline of a dated event.
    """

    def __init__(self, periods, labels, dated):
        self.labels, self.dated, self.visits, self.traits = labels, dated, [[]], {}
        for period in periods:
            for one in period.headlines:
                self.traits[period.t, one] = ranking.traits_of(one, period.documents_of)
            if sum(len(earlier.headlines) for earlier in self.visits[-1]) >= VISIT:
                self.visits.append([])
            self.visits[-1].append(period)

    def wanted(self, rows, label):
        """Return which rows of a list have headlines with a label: a boolean array."""
        return np.array([label in self.labels[row.period.t, row.headline] for row in rows])

    def people(self):
        """Yield the first visit of each person, and the label of the headlines that they want."""
        for first in range(len(self.visits) - VISITS - 1):
            label_sets = [
                self.labels[period.t, one]
                for visit in self.visits[first : first + VISITS]
                for period in visit
                for one in period.headlines
            ]
            counts = Counter(label for labels in label_sets for label in labels)
            for label, n in sorted(counts.items()):
                if SHARES[0] <= n / max(len(label_sets), 1) <= SHARES[1]:
                    yield first, label

    def measure(self, first, label, seeds, random=False):
        """Return the figures of one person: means over seeds and measured visits.

        Parameters
        ----------
        first : int
            Visit at which the person begins.
        label : str
            Label of the headlines that the person wants.
        seeds : int
            Number of seeds.
        random : bool
            Whether the verdicts are random.

        Returns
        -------
        ndarray, shape (5,)
            Precision without verdicts, gain in precision, and numbers of headlines of dated events:
            hidden, beyond the first 20, and all among the first ten.
        """
        visits = self.visits[first : first + VISITS + NEXT]
        rows = [row for visit in visits[:VISITS] for row in views.rows_of(visit)[:FIRST]]
        traits = [self.traits[row.period.t, row.headline] for row in rows]
        wanted, figures = self.wanted(rows, label), []
        for seed in range(seeds):
            draws = np.random.default_rng(seed).random(len(wanted))
            yes = draws < 0.5 if random else wanted != (draws < WRONG)
            model = ranking.RidgeOrder(traits, np.where(yes, 1.0, -1.0))
            figures += [self.compare(visit, model, label) for visit in visits[VISITS:]]
        return np.mean(figures, axis=0)

    def compare(self, visit, model, label):
        """Return the figures of `measure` for one visit."""
        plain = views.rows_of(visit)
        moved = views.rows_of([self.with_moves(period, model) for period in visit])
        before, after = (self.wanted(rows[:FIRST], label).mean() for rows in (plain, moved))
        dated = {row.headline for row in plain[:FIRST] if self.dated[row.period.t, row.headline]}
        hidden = len(dated - {row.headline for row in moved})
        beyond = len(dated - {row.headline for row in moved[: 2 * FIRST]})
        return before, after - before, hidden, beyond, len(dated)

    def with_moves(self, period, model):
        """Return a period with the moves of its headlines by a model."""
        moves = {one: model.move(self.traits[period.t, one]) for one in period.headlines}
        return replace(period, moves={one: move for one, move in moves.items() if move})


def read_stream(name, source, folder, dated_events, kind):
    """Return a stream that was run, as `Judged`.

    Parameters
    ----------
    name : str
    source : pathlib.Path
        File of the stream.
    folder : pathlib.Path
        Working folder; it is made and run unless it exists.
    dated_events : list of events.Event
    kind : {"source", "subject"}
        Whether the source of a document is its first label, or empty.
    """
    if name in DOCUMENTS and not (folder / "odl.yaml").exists():
        cli.main(["init", str(folder), str(source)])
        size = DOCUMENTS[name]
        batches = f"batches: {{by: documents, documents: {size}, initial: {size}}}"
        settings = (folder / "odl.yaml").read_text(encoding="utf-8")
        settings = re.sub("(?m)^batches: .*$", batches, settings)
        (folder / "odl.yaml").write_text(settings, encoding="utf-8")
    stream = events.Stream(source, folder)
    with gzip.open(source, "rt", encoding="utf-8") as file:
        label_of = {row["id"]: labels_of(name, row) for row in map(json.loads, file)}
    labels, dated, shown = {}, {}, []
    for period in views.with_below(read.alerts_of(folder).periods):
        ids, headlines = stream.names[period.t].ids, []
        for one in period.headlines:
            if one.gate == "volume" or not period.t:
                continue
            counts = Counter(label for row in one.rows for label in label_of[ids[row]])
            key, headlines = (period.t, one), [*headlines, one]
            labels[key] = {label for label, n in counts.items() if 2 * n > one.size}
            dated[key] = any(
                period.t in stream.in_time(event)
                and np.mean(stream.matches(period.t, one.rows, event.pattern)) > 0.5
                for event in dated_events
            )
        documents = {
            row: replace(one, source=(label_of[one.id] or [""])[0] if kind == "source" else "")
            for row, one in period.documents_of.items()
        }
        shown.append(replace(period, headlines=tuple(headlines), documents_of=documents))
    return Judged(shown, labels, dated)


def row_of(judged, seeds):
    """Return the figures of a stream by the names in `COLUMNS`; None if it has no person."""
    people = [*judged.people()]
    if not people:
        return None
    learned, random = (
        np.array([judged.measure(*person, seeds, chance) for person in people])
        for chance in (False, True)
    )
    plain, gain, hidden, beyond, dated = learned.T
    n_dated = max(dated.sum(), 1e-9)
    shares = hidden.sum() / n_dated, beyond.sum() / n_dated, random[:, 3].sum() / n_dated
    gains = gain.mean(), gain.std(), random[:, 1].mean()
    return dict(zip(COLUMNS, (len(people), plain.mean(), *gains, *shares), strict=True))


def main():
    """Run the streams and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.path.join(os.environ.get("ODL_MIRROR", "."), "events")
    parser.add_argument("folder", nargs="?", default=default)
    parser.add_argument("--work", help="folder that keeps the results")
    parser.add_argument("--streams", nargs="+")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    folder, dated = Path(options.folder), events.read_events(Path(options.folder) / "events.tsv")
    print("stream", "kind", *COLUMNS, sep="\t")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(options.work or temporary)
        for name in options.streams or dated:
            source = (folder / f"{name}.jsonl.gz").resolve()
            for kind in ("subject", "source"):
                if kind == "source" and name not in LABELS:
                    continue
                judged = read_stream(name, source, work / name, dated[name], kind)
                if figures := row_of(judged, options.seeds):
                    texts = [f"{value:.3f}" for value in [*figures.values()][1:]]
                    tuned = " (tuned)" * (name in TUNED)
                    print(name + tuned, kind, figures["people"], *texts, sep="\t", flush=True)


if __name__ == "__main__":
    main()
