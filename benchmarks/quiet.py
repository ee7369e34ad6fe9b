"""How often a period speaks in which nothing is new, and when what enters is shown: the gates on shuffled streams.

    ODL_MIRROR=... python benchmarks/quiet.py [--streams posts arxiv-cs reuters tickets ...] [--seeds 0 1]
                                              [--documents 250] [--periods 60] [--calm | --planted] [--output FILE]

A stream is shuffled, so that nothing enters; it is cut into periods of so many documents. Posts are read as `odl init`
cleans them, the streams of tests/helpers/recipes.py (six languages, tickets, logs) with all that it sets. In a second
run all documents with some words that 40 to 120 documents of the stream have are kept out. From period 12 on a topic,
the documents of one of these words, enters every sixth period: 3, 6, 12 or 30 of them in each of three periods. The
learner is `levels`, alerts have their defaults and gates. A period is scored once, in memory and without files, and
decided by `odl.alerts.decision`, as `odl run` decides it. Counted are periods after the warm-up: those without such
documents that speak, by the gates and by the level alone; topics one of whose documents is shown in the period in which
they enter, one later and two later; their documents among all that are shown in their periods. Shown are the most novel
of the items that open a gate, as many as the budget; what folding spares is not counted.
Of quiet periods from 10 on those are counted, too, in which the watch raises an alarm about its words or scores.
At the end stands of each stream and size the share of quiet periods that speak, with an upper 95 % bound, and the share
of topics of each size that are shown so soon. About 6 CPU seconds for a run of 60 periods of 250.
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
RAW = {"columns": {"time": "sent", "text": "message", "id": "name"}, "min_words": 5}  # options of the reader of posts
RAW["clean"] = ["headers", "encoded", "quotes", "signatures"]
FEATURES = {"tf": "log", "idf": "past", "min_df": 0, "vocabulary": "growing"}
FIRST, EVERY, SIZES = 12, 4, (3, 6, 12, 30)  # planted periods and the documents that enter in them
RARELY, LASTING = 6, 3  # where a topic has documents in some periods in a row: periods between topics, and these
FEWEST, MOST, GROUPS = 40, 120, 40  # documents of a word that may be planted, and words kept out
MADE = 15000  # documents of a made stream


class Batch(NamedTuple):
    """A period of a stream in memory, with what `odl.stream.weighting.Weighed` asks of features."""

    t: int
    counts: sparse.csr_array
    vocabulary: list
    frequencies: np.ndarray
    n_before: int
    terms: np.ndarray | None = None

    def frequencies_after(self):
        """Return how many documents have each term, those of the period included."""
        return self.frequencies + np.bincount(self.counts.indices, minlength=self.counts.shape[1])


class Judged(NamedTuple):
    """A period after the warm-up: its number, the rows that are shown by the gates and by level, and alarms."""

    t: int
    shown: list
    by_level: int
    alarms: list


@lru_cache(maxsize=1)
def stream(name):
    """Return the documents of a stream, and what its features are made by."""
    with tempfile.TemporaryDirectory() as place:
        if name in recipes.MADE:
            recipes.write(Path(place), name, recipes.made(name, MADE, 0, quiet=True))
            report = survey([f"{place}/{name}/*"], {})
            return corpora.read("documents", report.sources, report.options), FEATURES | report.features
        dated = os.path.join(os.environ.get("ODL_MIRROR", "."), "events", f"{name}.jsonl.gz")
        if os.path.exists(dated):
            report = survey([dated], {})
            return corpora.read("documents", report.sources, report.options), FEATURES | report.features
        if name == "posts":
            newsposts.write(path := f"{place}/posts.jsonl", newsposts.read(Path(os.environ["ODL_MIRROR"])))
            return corpora.read("documents", [path], RAW), FEATURES
    return material.read_stream(name), FEATURES


def quiet(rows, size, n_periods):
    """Return the rows of each period of a stream in which nothing enters."""
    return [rows[at * size : (at + 1) * size] for at in range(min(n_periods, len(rows) // size))]


def planted(counts, rows, size, n_periods, rng, every=EVERY, lasting=1):
    """Return the rows of each period, and of each planted one the rows that enter."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    words = rng.choice(np.flatnonzero((frequencies >= FEWEST) & (frequencies <= MOST)), GROUPS, replace=False)
    columns = counts.tocsc()
    groups = [columns.indices[columns.indptr[word] : columns.indptr[word + 1]] for word in words]
    parts = quiet(rows[~np.isin(rows, np.concatenate(groups))], size, n_periods)
    entering, taken = {}, set()
    for number, first in enumerate(range(FIRST, len(parts) - lasting + 1, every)):
        k = SIZES[number % len(SIZES)]
        free = [row for row in groups[number % GROUPS].tolist() if row not in taken][: k * lasting]
        taken |= set(free)
        for t, at in enumerate(range(0, len(free), k), start=first):
            entering[t] = free[at : at + k]
            parts[t] = rng.permutation(np.concatenate([parts[t][: size - len(entering[t])], entering[t]]))
    return parts, entering


def batches(documents, parts):
    """Yield the periods of a stream; its terms are numbered as they come, as in a growing vocabulary."""
    counts, ends = documents.counts[np.concatenate(parts)], np.cumsum([0, *map(len, parts)])
    terms, first = np.unique(counts.indices, return_index=True)
    terms = terms[np.argsort(first)]
    place = np.zeros(counts.shape[1], dtype=np.int64)
    place[terms] = np.arange(len(terms))
    words, frequencies = [documents.vocabulary[term] for term in terms.tolist()], np.zeros(0, dtype=np.int64)
    for t, (low, high) in enumerate(itertools.pairwise(ends)):
        columns = place[counts.indices[slice(*counts.indptr[[low, high]])]]
        n_terms = max(len(frequencies), int(columns.max(initial=-1)) + 1)
        entries = counts.data[slice(*counts.indptr[[low, high]])], columns, counts.indptr[low : high + 1]
        entries = *entries[:2], entries[2] - entries[2][0]
        X = sparse.csr_array(entries, shape=(high - low, n_terms)).sorted_indices()
        frequencies = np.pad(frequencies, (0, n_terms - len(frequencies)))
        batch = Batch(t, X, words[:n_terms], frequencies, int(low))
        yield batch
        frequencies = batch.frequencies_after()


def scored(name, seed, documents, parts):
    """Yield of each period of a stream its documents, as alerts look at them, and their scores."""
    learner = {"algorithm": "levels", "recency": 0.5}
    run = runs.parse(
        {"corpus": name, "seed": seed, "run": "levels", "atoms": 1, "learner": learner, "features": stream(name)[1]}
    )
    learner, state = run.learner, None
    for batch, part in zip(batches(documents, parts), parts, strict=True):
        weighed = Weighed(batch, run.weighting, learner.norm)
        P = weighed[:]
        if state is None:
            state = learner.fit_terms(learner.start(P, 1, novelty.generator(seed, "start")), P.shape[1])
            scores = novelty.score(learner, state, P)
        else:
            scores, state = novelty.score_and_learn(learner, learner.fit_terms(state, P.shape[1]), P)
        counts = batch.counts[:]
        Q, looked = weighed.weigh_words(counts), weighed.without_stop_words(counts)
        titles = [documents.titles[row] for row in part.tolist()]
        yield decision.PeriodDocuments(
            batch.t, near_duplicates(Q), np.zeros(len(part), dtype=bool), Q, looked,
            excerpts.titled(titles, looked, batch.vocabulary), batch.vocabulary, batch.frequencies, batch.n_before,
            np.full(len(part), NO_TIME), [""] * len(part),
        ), scores, part.tolist()  # fmt: skip


def judged(periods):
    """Return `Judged` of every period that is proven."""
    told, past, kept = [], decision.StreamHistory.nothing(), StreamAlerts("", "", 1, 0, vars(SETTINGS), (), {})
    for documents, scores, ids in periods:
        decided, past = decision.decide(documents, scores, past, SETTINGS)
        if documents.t:
            past = past._replace(recent=calibration.recent_after(past.recent, scores, SETTINGS.window))
        kept = watched(kept, documents, scores, decided)
        if decided.unproven or not documents.t:
            continue
        rows = {row for one in decided.headlines if not one.repeated for row in one.rows}
        by_level = int((decided.tail <= SETTINGS.tail).sum())
        told.append(Judged(documents.t, [ids[row] for row in sorted(rows)], by_level, alarms.find_alarms(kept)))
    return told


def watched(watch, documents, scores, decided):
    """Return a watch with one more period, as far as alarms about its words and scores look at it."""
    unseen = np.mean(documents.frequencies[documents.counts.indices] == 0) if documents.t else 1.0
    n = len(documents.first)
    period = Period(documents.t, {}, {}, NO_TIME, NO_TIME, float(unseen), False, decided.unproven, 0, 0, decided.p, 0.0,
                    scores.score, decided.tail, np.zeros(n), documents.first, decided.event, np.full((n, 2), -1),
                    np.zeros((n, 2)))  # fmt: skip
    born = {number: Event(number, (), (), 0.0, documents.t) for number in decided.born}
    return replace(watch, periods=(*watch.periods, period), events=watch.events | born)


def row_of(name, seed, size, options):
    """Return a row of the table: what a quiet and a planted stream were told."""
    documents, rng, row = stream(name)[0], np.random.default_rng(seed), {}
    order = rng.permutation(len(documents.ids))
    if not options.planted:
        calm = judged(scored(name, seed, documents, quiet(order, size, options.periods)))
        row = {"quiet": len(calm), "speak": sum(bool(one.shown) for one in calm)}
        row["speak by level"] = sum(one.by_level > 0 for one in calm)
        row["looked at"] = sum(one.t >= 10 for one in calm)
        row["alarms"] = sum(bool(one.alarms) for one in calm)
    if options.calm:
        return row
    parts, entering = planted(documents.counts, order, size, options.periods, rng, RARELY, LASTING)
    return row | found(judged(scored(name, seed, documents, parts)), entering)


def found(told, entering):
    """Return how often periods between topics speak, topics of each size, and those shown in each period of theirs."""
    still = [one for one in told if one.t not in entering]
    row = {"quiet between": len(still), "speak between": sum(bool(one.shown) for one in still)}
    counts, right, shown = Counter(), 0, 0
    of_period = {one.t: set(one.shown) for one in told}
    for first in range(FIRST, max(of_period, default=0) + 1, RARELY):
        topic = [set(entering[t]) for t in range(first, first + LASTING) if t in entering]
        if not topic or first not in of_period:
            continue
        k = len(topic[0])
        hits = [bool(part & of_period.get(first + after, set())) for after, part in enumerate(topic)]
        counts[k, "topics"] += 1
        for after in range(LASTING):
            counts[k, after] += any(hits[: after + 1])
        right += sum(len(part & of_period.get(first + after, set())) for after, part in enumerate(topic))
        shown += sum(len(of_period.get(first + after, ())) for after in range(len(topic)))
    for k in SIZES:
        row |= {f"topics of {k}": counts[k, "topics"]} | {f"{k}, after {n}": counts[k, n] for n in range(LASTING)}
    return row | {"shown": shown, "shown of topics": right}


def share(values):
    """Return the share of values that hold, nan of none."""
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def bounded(speak, n_quiet):
    """Return the share of quiet periods that speak, and its upper 95 % bound: of shuffles, or of periods if larger.

    Parameters
    ----------
    speak, n_quiet : ndarray of int
        One for each shuffle.
    """
    shares, total, n = speak / n_quiet, int(speak.sum()), int(n_quiet.sum())
    of_periods = float(stats.beta.ppf(0.95, total + 1, n - total))
    spread = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else 0.0
    of_shuffles = float(shares.mean() + stats.t.ppf(0.95, max(len(shares) - 1, 1)) * spread)
    return total / n, max(of_periods, of_shuffles)


def measure(words, row_of, output):
    """Return the rows of a table, one for each stream, size and seed that is asked for, and write it.

    Parameters
    ----------
    words : argparse.ArgumentParser
    row_of : callable
        Of name, seed, documents a period and options what a row holds beside these.
    output : str
        File of the table, if no other one is named.
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
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    only = words.add_mutually_exclusive_group()
    only.add_argument("--calm", action="store_true", help="only streams in which nothing enters")
    only.add_argument("--planted", action="store_true", help="only streams in which topics enter")
    rows = measure(words, row_of, "quiet.tsv")
    for cell in dict.fromkeys((row["stream"], row["documents"]) for row in rows):
        for line in summary([row for row in rows if (row["stream"], row["documents"]) == cell]):
            print(*cell, line)


def summary(rows):
    """Return what the shuffles of a stream and size say together, in lines."""
    lines, sums = [], {name: sum(row[name] for row in rows) for name in rows[0] if name not in ("stream", "documents")}
    if "quiet" in sums:
        speak, n_quiet = (np.array([row[name] for row in rows]) for name in ("speak", "quiet"))
        told = "{:.3f} (at most {:.3f})".format(*bounded(speak, n_quiet))
        lines.append(f"{len(rows)} shuffles: {sums['speak']} of {sums['quiet']} quiet periods speak: {told}")
        lines.append(f"{sums['alarms']} of {sums['looked at']} have an alarm about words or scores")
    for k in SIZES if "shown" in sums else ():
        soon = ", ".join(str(sums[f"{k}, after {n}"]) for n in range(LASTING))
        lines.append(f"topics of {k}: of {sums[f'topics of {k}']} shown within 1 to {LASTING} periods: {soon}")
    if "shown" in sums:
        right = f"{sums['shown of topics']} of {sums['shown']} that are shown are of the topic"
        lines.append(f"{right}; {sums['speak between']} of {sums['quiet between']} periods between speak")
    return lines


if __name__ == "__main__":
    main()
