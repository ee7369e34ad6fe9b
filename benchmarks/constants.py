"""Figures of headlines, gates and events with other values of their constants.

    python benchmarks/events.py CORPUS --work WORK
    python benchmarks/constants.py CORPUS WORK --streams redis_commits airline_tweets outbreaks

CORPUS is the folder that benchmarks/events.py reads, and WORK the folder that it writes. Nothing is
learned again: each row changes one constant, and all periods are decided again from stored scores.
Columns are those of benchmarks/events.py; `order` is the number of reported events whose headline
is first in the list of their period. The first row has the constants of odl.
"""

import argparse
import contextlib
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import events as study
import numpy as np

from odl.alerts import decision, events, gates, periods, surprise, views
from odl.alerts.calibration import recent_after
from odl.alerts.excerpts import find_title_words
from odl.config.sections import Alerts
from odl.evaluation.scorefiles import read_parts
from odl.files.documents import NO_TIME
from odl.stream import features

COLUMNS = (
    "five",
    "first",
    "told",
    "own",
    "right",
    "headings",
    "members",
    "largest",
    "speak",
    "order",
)


def shares(*values):
    """Return a dict from each of the four gates to its share of the level, in order."""
    return dict(zip(gates.LEVEL_SHARES, values, strict=True))


ROWS = {  # name -> module or "alerts", constant, values
    "shares of the level": (
        gates,
        "LEVEL_SHARES",
        (shares(0.9, 0.05, 0.025, 0.025), shares(0.4, 0.2, 0.2, 0.2)),
    ),
    "periods of volume": (gates, "VOLUME_PERIODS", (14, 56)),
    "t of an own word": (events, "OWN_WORD_T", (3.0, 8.0)),
    "share with an own word": (events, "OWN_WORD_SHARE", (0.05, 0.3)),
    "documents that join by chance": (
        events,
        ("JOIN_RATE", "LARGE_JOIN_RATE"),
        ((0.0005, 0.00125), (0.008, 0.02)),
    ),
    "half-life": (surprise, "HALF_LIFE", (10, 100)),
    "titles double below": (surprise, "FEW", (0, 100)),
    "certain": ("alerts", "certain", (8.0, 12.0)),
    "t at which volume is sorted": (views, "LOG10_WORDS", (0.0, 8.0)),
    "documents of the first batch": ("first", "first", (300, 1000)),
}


class Decided(study.Stream):
    """A stream that was run; its periods can be decided again with other constants.

    Features and scores are read once. `decide` fills `records`, and benchmarks/events.py measures
    them.
    """

    def __init__(self, source, folder):
        self.read(source, folder)
        place, self.given = self.place, []
        for path in periods.paths(place.alerts):
            record, names = periods.read(path), self.names[len(self.given)]
            data = features.read(Path(place.features) / f"{record.t}.h5")
            weighed = data.weighed("l2", tf="log", languages=True, max_share=0.5)
            counts = data.counts[:]
            content_counts = weighed.without_stop_words(counts)
            score, _, _, empty, _ = read_parts(Path(place.run) / "scores" / f"{record.t}.h5")
            n = len(data.ids)
            first, repeats = (
                data.groups.items()
                if data.groups is not None
                else (np.arange(n), np.zeros(n, dtype=bool))
            )
            arrivals = decision.PeriodDocuments(
                record.t, first, repeats, weighed.weigh_words(counts), content_counts,
                find_title_words(data.titles, content_counts, data.vocabulary), data.vocabulary,
                data.frequencies, data.n_before, data.times, names.files, lambda rows: [], None,
            )  # fmt: skip
            self.given.append((arrivals, SimpleNamespace(score=score, empty=empty)))
            self.settings = Alerts(**record.settings)

    def decide(self, settings=None, first=0):
        """Decide on all periods; the first `first` documents count as the first batch."""
        self.records, settings = [], settings or self.settings
        past = decision.StreamHistory.nothing()
        for documents, scored in self.given:
            begun = documents.t > 0 and documents.n_before >= first
            asked = documents if begun else documents._replace(t=0)
            decided, past = decision.decide(asked, scored, past, settings)
            if begun:
                past = past._replace(recent=recent_after(past.recent, scored, settings.window))
            times = documents.times[documents.times != NO_TIME]
            self.records.append(
                SimpleNamespace(
                    t=documents.t,
                    first=int(times.min()),
                    last=int(times.max()),
                    score=scored.score,
                    headlines=decided.headlines,
                    below=decided.below,
                    event=decided.event,
                    born=[(number, ()) for number in decided.born],
                    sizes=sorted(decided.sizes.items()),
                )
            )

    def figures(self, wanted):
        """Return the measures of benchmarks/events.py that depend on the constants, and `order`."""
        figures, order = study.measure(self, wanted, compared=False), 0
        for event in wanted:
            match = study.find_headline(self, event, lambda t: self.strongest(t, own=True))
            if match:
                first = min(self.records[match.t].headlines, key=list_key)
                order += first is match.headline
        return figures | {"order": order}


def list_key(headline):
    """Return the key by which the headlines of a list are sorted."""
    return headline.gate == "lone", -views.evidence(headline)


@contextlib.contextmanager
def changed(module, names, values):
    """Change constants of a module while the block runs (context manager)."""
    names, values = (item if isinstance(item, tuple) else (item,) for item in (names, values))
    before = [getattr(module, name) for name in names]
    for name, value in zip(names, values, strict=True):
        setattr(module, name, value)
    yield
    for name, value in zip(names, before, strict=True):
        setattr(module, name, value)


def figures_with(stream, wanted, module, name, value):
    """Return the figures of a stream with another value of a constant.

    `module` is the module of the constant, "alerts" for a setting of alerts, or "first" for the
    number of documents of the first batch.
    """
    if module == "alerts":
        stream.decide(replace(stream.settings, **{name: value}))
    elif module == "first":
        stream.decide(first=value)
    else:
        with changed(module, name, value):
            stream.decide()
            return stream.figures(wanted)
    return stream.figures(wanted)


def table_row(name, value, figures):
    """Return the Markdown row of a constant with one of its values."""
    if isinstance(value, dict):
        value = tuple(value.values())
    value = re.sub(r"[()]", "", str(value))
    return (
        f"| {name} | {value} | " + " | ".join(f"{round(figures[key], 3)}" for key in COLUMNS) + " |"
    )


def main():
    """Print a table for each stream."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("corpus", type=Path)
    words.add_argument("work", type=Path)
    words.add_argument("--streams", nargs="+", required=True)
    words.add_argument("--only", nargs="+", help="first words of the names of constants")
    options = words.parse_args()
    wanted = study.read_events(options.corpus / "events.tsv")
    for name in options.streams:
        stream = Decided((options.corpus / f"{name}.jsonl.gz").resolve(), options.work / name)
        print(f"\n{name}\n\n| constant | value | {' | '.join(COLUMNS)} |", flush=True)
        print(f"|{' --- |' * (len(COLUMNS) + 2)}", flush=True)
        stream.decide()
        print(table_row("as it is", "", stream.figures(wanted[name])), flush=True)
        for constant, (module, key, values) in ROWS.items():
            if options.only and not any(constant.startswith(one) for one in options.only):
                continue
            for value in values:
                print(
                    table_row(
                        constant, value, figures_with(stream, wanted[name], module, key, value)
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
