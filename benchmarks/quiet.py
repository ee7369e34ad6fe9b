"""Rate of periods with alerts in shuffled streams, and how soon topics that enter are shown.

    ODL_MIRROR=... python benchmarks/quiet.py [--streams posts arxiv-cs reuters tickets ...]
    [--seeds 0 1] [--documents 250] [--periods 60] [--calm | --planted] [--output FILE]

A stream is shuffled, so that nothing is new, and cut into periods of equal size. Posts are cleaned
as by `odl init`; the streams of tests/helpers/recipes.py (six languages, tickets, logs) have all
settings of `odl init`. For `--planted`, documents with some words that occur in 40 to 120 documents
are removed first. From period 12 on, a topic (documents with one of these words) enters every sixth
period, with 3, 6, 12 or 30 documents in each of three periods. The learner is `levels`, and alerts
have their defaults. Periods are scored in memory and decided by `odl.alerts.decision`, as in `odl
run`. The table counts, after the warm-up: quiet periods with alerts, by gates and by level alone;
topics shown in their first, second or third period; documents of topics among all shown ones; and,
from period 10 on, quiet periods with an alarm about words or scores. At the end it prints, for each
stream and size, the share of quiet periods with alerts with its upper 95 % bound, and the share of
topics shown. 60 periods of 250 take about 6 CPU seconds.
"""

import argparse
import itertools
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import material
import newsposts
import numpy as np
from measure import ROOT
from scipy import sparse, stats

from odl import corpora, novelty
from odl.alerts import alarms, calibration, decision, excerpts
from odl.alerts.model import Event, Period, StreamAlerts
from odl.cli.init import survey
from odl.config.sections import Alerts
from odl.files import tables
from odl.files.documents import NO_TIME
from odl.jobs import runs
from odl.stream.duplicates import near_duplicates
from odl.stream.weighting import Weighed

sys.path.insert(0, str(ROOT / "tests/helpers"))
import recipes

SETTINGS = Alerts(gates=True)
RAW = {  # options of the reader of posts
    "columns": {"time": "sent", "text": "message", "id": "name"},
    "min_words": 5,
    "clean": ["headers", "encoded", "quotes", "signatures"],
}
FEATURES = {"tf": "log", "idf": "past", "min_df": 0, "vocabulary": "growing"}
FIRST = 12  # first period with a topic
SIZES = (3, 6, 12, 30)  # documents of a topic in a period
EVERY, LASTING = 6, 3  # periods from one topic to the next, and periods of a topic
FEWEST, MOST = 40, 120  # smallest and largest number of documents with the word of a topic
GROUPS = 40  # number of words of topics
MADE = 15000  # documents of a synthetic stream


class Batch(NamedTuple):
    """A period of a stream in memory, with the attributes that `Weighed` needs."""

    t: int
    counts: sparse.csr_array
    vocabulary: list
    frequencies: np.ndarray
    n_before: int
    terms: np.ndarray | None = None

    def frequencies_after(self):
        """Return the number of documents with each term, including those of the period."""
        return self.frequencies + np.bincount(self.counts.indices, minlength=self.counts.shape[1])


class DecidedPeriod(NamedTuple):
    """Decision on a period after the warm-up.

    Attributes
    ----------
    t : int
        Number of the period.
    shown : list of int
        Rows of the stream that have an alert.
    by_level : int
        Number of documents whose tail probability is at most `alerts.tail`.
    alarms : list
        Alarms about words or scores.
    """

    t: int
    shown: list
    by_level: int
    alarms: list


@lru_cache(maxsize=1)
def read_documents(name):
    """Return the documents of a stream and the settings of its features.

    A stream of tests/helpers/recipes.py is made; one of `events` has the settings of `odl init`.
    """
    with tempfile.TemporaryDirectory() as place:
        if name in recipes.MADE:
            recipes.write(Path(place), name, recipes.made(name, MADE, 0, quiet=True))
            report = survey([f"{place}/{name}/*"], {})
            return corpora.read(
                "documents", report.sources, report.options
            ), FEATURES | report.features
        dated = os.path.join(os.environ.get("ODL_MIRROR", "."), "events", f"{name}.jsonl.gz")
        if os.path.exists(dated):
            report = survey([dated], {})
            return corpora.read(
                "documents", report.sources, report.options
            ), FEATURES | report.features
        if name == "posts":
            newsposts.write(
                path := f"{place}/posts.jsonl", newsposts.read(Path(os.environ["ODL_MIRROR"]))
            )
            return corpora.read("documents", [path], RAW), FEATURES
    return material.read_stream(name), FEATURES


def quiet_rows(rows, size, n_periods):
    """Return the rows of each period of a stream without topics."""
    return [rows[at * size : (at + 1) * size] for at in range(min(n_periods, len(rows) // size))]


def planted_rows(counts, rows, size, n_periods, rng):
    """Return the rows of each period, and the rows of topics for each period that has one.

    All documents with some words are removed. From period `FIRST` on, documents with one of these
    words return every `EVERY` periods and stay for `LASTING` periods.
    """
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    words = rng.choice(
        np.flatnonzero((frequencies >= FEWEST) & (frequencies <= MOST)), GROUPS, replace=False
    )
    columns = counts.tocsc()
    groups = [columns.indices[columns.indptr[word] : columns.indptr[word + 1]] for word in words]
    parts = quiet_rows(rows[~np.isin(rows, np.concatenate(groups))], size, n_periods)
    entering, used = {}, set()
    for number, first in enumerate(range(FIRST, len(parts) - LASTING + 1, EVERY)):
        k = SIZES[number % len(SIZES)]
        free = [row for row in groups[number % GROUPS].tolist() if row not in used][: k * LASTING]
        used |= set(free)
        for t, at in enumerate(range(0, len(free), k), start=first):
            entering[t] = free[at : at + k]
            parts[t] = rng.permutation(
                np.concatenate([parts[t][: size - len(entering[t])], entering[t]])
            )
    return parts, entering


def batches(documents, parts):
    """Yield the periods of a stream; terms are numbered by first appearance."""
    counts, ends = documents.counts[np.concatenate(parts)], np.cumsum([0, *map(len, parts)])
    terms, first = np.unique(counts.indices, return_index=True)
    terms = terms[np.argsort(first)]
    column_of = np.zeros(counts.shape[1], dtype=np.int64)
    column_of[terms] = np.arange(len(terms))
    words = [documents.vocabulary[term] for term in terms.tolist()]
    frequencies = np.zeros(0, dtype=np.int64)
    for t, (low, high) in enumerate(itertools.pairwise(ends)):
        columns = column_of[counts.indices[slice(*counts.indptr[[low, high]])]]
        n_terms = max(len(frequencies), int(columns.max(initial=-1)) + 1)
        entries = (
            counts.data[slice(*counts.indptr[[low, high]])],
            columns,
            counts.indptr[low : high + 1],
        )
        entries = *entries[:2], entries[2] - entries[2][0]
        X = sparse.csr_array(entries, shape=(high - low, n_terms)).sorted_indices()
        frequencies = np.pad(frequencies, (0, n_terms - len(frequencies)))
        batch = Batch(t, X, words[:n_terms], frequencies, int(low))
        yield batch
        frequencies = batch.frequencies_after()


def score_periods(name, seed, documents, parts):
    """Score a stream; yield the `PeriodDocuments`, scores and rows of each period."""
    learner = {"algorithm": "levels", "recency": 0.5}
    run = runs.parse(
        {
            "corpus": name,
            "seed": seed,
            "run": "levels",
            "atoms": 1,
            "learner": learner,
            "features": read_documents(name)[1],
        }
    )
    learner, state = run.learner, None
    for batch, part in zip(batches(documents, parts), parts, strict=True):
        weighed = Weighed(batch, run.weighting, learner.norm)
        P = weighed[:]
        if state is None:
            state = learner.fit_terms(
                learner.start(P, 1, novelty.generator(seed, "start")), P.shape[1]
            )
            scores = novelty.score(learner, state, P)
        else:
            scores, state = novelty.score_and_learn(
                learner, learner.fit_terms(state, P.shape[1]), P
            )
        counts = batch.counts[:]
        Q, content_counts = weighed.weigh_words(counts), weighed.without_stop_words(counts)
        titles = [documents.titles[row] for row in part.tolist()]
        yield decision.PeriodDocuments(
            batch.t, near_duplicates(Q), np.zeros(len(part), dtype=bool), Q, content_counts,
            excerpts.find_title_words(titles, content_counts, batch.vocabulary), batch.vocabulary,
            batch.frequencies, batch.n_before, np.full(len(part), NO_TIME), [""] * len(part),
        ), scores, part.tolist()  # fmt: skip


def decide_periods(periods):
    """Decide all periods; return `DecidedPeriod` of each one after the warm-up."""
    judgements, past = [], decision.StreamHistory.nothing()
    watch = StreamAlerts("", "", 1, 0, vars(SETTINGS), (), {})
    for documents, scores, ids in periods:
        decided, past = decision.decide(documents, scores, past, SETTINGS)
        if documents.t:
            past = past._replace(
                recent=calibration.recent_after(past.recent, scores, SETTINGS.window)
            )
        watch = add_to_watch(watch, documents, scores, decided)
        if decided.unproven or not documents.t:
            continue
        new = [headline for headline in decided.headlines if not headline.repeated]
        rows = sorted({row for headline in new for row in headline.rows})
        by_level = int((decided.tail <= SETTINGS.tail).sum())
        judgements.append(
            DecidedPeriod(
                documents.t, [ids[row] for row in rows], by_level, alarms.find_alarms(watch)
            )
        )
    return judgements


def add_to_watch(watch, documents, scores, decided):
    """Add a period to a watch, with the fields that alarms about words and scores use."""
    unseen = np.mean(documents.frequencies[documents.counts.indices] == 0) if documents.t else 1.0
    n = len(documents.first)
    period = Period(documents.t, {}, {}, NO_TIME, NO_TIME, float(unseen), False, decided.unproven,
                    0, 0, decided.p, 0.0, scores.score, decided.tail, np.zeros(n), documents.first,
                    decided.event, np.full((n, 2), -1), np.zeros((n, 2)))  # fmt: skip
    born = {number: Event(number, (), (), 0.0, documents.t) for number in decided.born}
    return replace(watch, periods=(*watch.periods, period), events=watch.events | born)


def row_of(name, seed, size, options):
    """Return the row of a stream, seed and period size, for the quiet and the planted stream."""
    documents, rng, row = read_documents(name)[0], np.random.default_rng(seed), {}
    order = rng.permutation(len(documents.ids))
    if not options.planted:
        calm = decide_periods(
            score_periods(name, seed, documents, quiet_rows(order, size, options.periods))
        )
        row = {"quiet": len(calm), "speak": sum(bool(one.shown) for one in calm)}
        row["speak by level"] = sum(one.by_level > 0 for one in calm)
        row["looked at"] = sum(one.t >= 10 for one in calm)
        row["alarms"] = sum(bool(one.alarms) for one in calm)
    if options.calm:
        return row
    parts, entering = planted_rows(documents.counts, order, size, options.periods, rng)
    return row | count_topics(decide_periods(score_periods(name, seed, documents, parts)), entering)


def count_topics(judgements, entering):
    """Return counts of quiet periods with alerts, and of topics that are shown.

    A topic of k documents counts as "k, after n" if an alert has one of its documents within n
    periods after its first one.
    """
    quiet_ones = [period for period in judgements if period.t not in entering]
    row = {
        "quiet between": len(quiet_ones),
        "speak between": sum(bool(period.shown) for period in quiet_ones),
    }
    counts, right, shown = Counter(), 0, 0
    of_period = {period.t: set(period.shown) for period in judgements}
    for first in range(FIRST, max(of_period, default=0) + 1, EVERY):
        topic = [set(entering[t]) for t in range(first, first + LASTING) if t in entering]
        if not topic or first not in of_period:
            continue
        k = len(topic[0])
        hits = [
            bool(part & of_period.get(first + after, set())) for after, part in enumerate(topic)
        ]
        counts[k, "topics"] += 1
        for after in range(LASTING):
            counts[k, after] += any(hits[: after + 1])
        right += sum(
            len(part & of_period.get(first + after, set())) for after, part in enumerate(topic)
        )
        shown += sum(len(of_period.get(first + after, ())) for after in range(len(topic)))
    for k in SIZES:
        row |= {f"topics of {k}": counts[k, "topics"]} | {
            f"{k}, after {n}": counts[k, n] for n in range(LASTING)
        }
    return row | {"shown": shown, "shown of topics": right}


def share_and_bound(speak, n_quiet):
    """Return (share of quiet periods with alerts, its upper 95 % bound).

    The bound is the larger of those over shuffles and over periods.

    Parameters
    ----------
    speak, n_quiet : ndarray of int
        Numbers of quiet periods with alerts, and of all quiet periods, for each shuffle.
    """
    shares, total, n = speak / n_quiet, int(speak.sum()), int(n_quiet.sum())
    of_periods = float(stats.beta.ppf(0.95, total + 1, n - total))
    spread = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else 0.0
    of_shuffles = float(shares.mean() + stats.t.ppf(0.95, max(len(shares) - 1, 1)) * spread)
    return total / n, max(of_periods, of_shuffles)


def measure(words, row_of, output):
    """Compute and write a table with one row for each stream, size and seed of the command line.

    Parameters
    ----------
    words : argparse.ArgumentParser
    row_of : callable
        Returns further columns for (name, seed, documents per period, options).
    output : str
        Default file of the table.
    """
    words.add_argument("--streams", nargs="+", default=["posts", "arxiv-cs", "reuters"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    words.add_argument("--documents", nargs="+", type=int, default=[250])
    words.add_argument("--periods", type=int, default=60)
    words.add_argument("--output", default=output)
    options, rows = words.parse_args(), []
    for name in options.streams:
        for seed in options.seeds:
            for size in options.documents:
                cell = {"stream": name, "seed": seed, "documents": size}
                rows.append(cell | row_of(name, seed, size, options))
                print(*rows[-1].values(), sep="\t", flush=True)
                tables.write_table(options.output, rows)
    return rows


def main():
    """Measure streams, write the table and print the shares."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    only = words.add_mutually_exclusive_group()
    only.add_argument("--calm", action="store_true", help="only streams in which nothing enters")
    only.add_argument("--planted", action="store_true", help="only streams in which topics enter")
    rows = measure(words, row_of, "quiet.tsv")
    for cell in dict.fromkeys((row["stream"], row["documents"]) for row in rows):
        for line in summary([row for row in rows if (row["stream"], row["documents"]) == cell]):
            print(*cell, line)


def summary(rows):
    """Return a summary of all shuffles of a stream and size, in lines."""
    names, lines = [name for name in rows[0] if name not in ("stream", "documents")], []
    sums = {name: sum(row[name] for row in rows) for name in names}
    if "quiet" in sums:
        speak, n_quiet = (np.array([row[name] for row in rows]) for name in ("speak", "quiet"))
        rate = "{:.3f} (at most {:.3f})".format(*share_and_bound(speak, n_quiet))
        lines.append(
            f"{len(rows)} shuffles: {sums['speak']} of {sums['quiet']} quiet periods speak: {rate}"
        )
        lines.append(f"{sums['alarms']} of {sums['looked at']} have an alarm about words or scores")
    for k in SIZES if "shown" in sums else ():
        soon = ", ".join(str(sums[f"{k}, after {n}"]) for n in range(LASTING))
        lines.append(
            f"topics of {k}: of {sums[f'topics of {k}']} shown within 1 to {LASTING} periods: "
            f"{soon}"
        )
    if "shown" in sums:
        right = f"{sums['shown of topics']} of {sums['shown']} that are shown are of the topic"
        lines.append(
            f"{right}; {sums['speak between']} of {sums['quiet between']} periods between speak"
        )
    return lines


if __name__ == "__main__":
    main()
