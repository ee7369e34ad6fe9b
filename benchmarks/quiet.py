"""How often a period speaks in which nothing is new, and whether what enters is shown: the gates on shuffled streams.

    ODL_MIRROR=... python benchmarks/quiet.py [--streams posts arxiv-cs reuters tickets ...] [--seeds 0 1]
                                              [--documents 250] [--periods 60] [--calm] [--output FILE]

A stream is shuffled, so that nothing enters; it is cut into periods of so many documents. Posts are read as `odl init`
cleans them, the streams of tests/helpers/recipes.py (six languages, tickets, logs) with all that it sets. In a second
run all documents with some words that 40 to 120 documents of the stream have are kept out, and from period 12 on every
fourth period has 3, 6, 12 or 30 of the documents of one of these words. The learner is `levels`, alerts have their
defaults and gates. Counted are periods after the warm-up: those without such documents that speak, by the gates and by
the level alone; planted ones in which a planted document is shown; planted documents among all that are shown in these.
At the end stands of each stream and size the share of quiet periods that speak, with an upper 95 % bound.
About 20 CPU seconds for a run of 60 periods of 250.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import levels
import newsposts
import numpy as np
from members import FEATURES, RAW
from scipy import stats

from odl import corpora
from odl.alerts import periods, read
from odl.cli.survey import survey
from odl.config.sections import Alerts
from odl.files import tables
from odl.jobs import alerts, runs, update
from odl.stream import features

sys.path.insert(0, str(levels.HERE / "tests/helpers"))
import recipes

SETTINGS = Alerts(gates=True)
FIRST, EVERY, SIZES = 12, 4, (3, 6, 12, 30)  # planted periods and the documents that enter in them
FEWEST, MOST, GROUPS = 40, 120, 40  # documents of a word that may be planted, and words kept out
MADE = 15000  # documents of a made stream


class Judged(NamedTuple):
    """A period after the warm-up: documents planted, and of those shown by the gates all and planted ones."""

    planted: int
    shown: int
    right: int
    by_level: int


@lru_cache(maxsize=1)
def stream(name):
    """Return the documents of a stream, and what its features are made by."""
    with tempfile.TemporaryDirectory() as place:
        if name in recipes.MADE:
            recipes.write(Path(place), name, recipes.made(name, MADE, 0, quiet=True))
            report = survey([f"{place}/{name}/*"], {})
            return corpora.read("documents", report.sources, report.options), FEATURES | report.features
        if name == "posts":
            newsposts.write(path := f"{place}/posts.jsonl", newsposts.read(Path(os.environ["ODL_MIRROR"])))
            return corpora.read("documents", [path], RAW), FEATURES
    return levels.corpus(name)[2], FEATURES


def quiet(rows, size, n_periods):
    """Return the rows of each period of a stream in which nothing enters."""
    return [rows[at * size : (at + 1) * size] for at in range(min(n_periods, len(rows) // size))]


def planted(counts, rows, size, n_periods, rng):
    """Return the rows of each period, and of each planted one the rows that enter."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    words = rng.choice(np.flatnonzero((frequencies >= FEWEST) & (frequencies <= MOST)), GROUPS, replace=False)
    columns = counts.tocsc()
    groups = [columns.indices[columns.indptr[word] : columns.indptr[word + 1]] for word in words]
    parts = quiet(rows[~np.isin(rows, np.concatenate(groups))], size, n_periods)
    entering, taken = {}, set()
    for number, t in enumerate(range(FIRST, len(parts), EVERY)):
        free = [row for row in groups[number % GROUPS].tolist() if row not in taken][: SIZES[number % len(SIZES)]]
        taken |= set(free)
        entering[t] = free
        parts[t] = rng.permutation(np.concatenate([parts[t][: size - len(free)], free]))
    return parts, entering


def judged(name, seed, batches, entering):
    """Return `Judged` of every period after the warm-up."""
    learner = {"algorithm": "levels"}
    run = runs.parse(
        {"corpus": name, "seed": seed, "run": "levels", "atoms": 1, "learner": learner, "features": stream(name)[1]}
    )
    told, past, learned, carried = [], None, None, None
    with tempfile.TemporaryDirectory() as place:
        for t, batch in enumerate(batches):
            data, state, scores, output = (f"{place}/{t}.{part}" for part in ("features", "h5", "scores", "alerts"))
            known, previous = (f"{place}/{t - 1}.{part}" if t else None for part in ("h5", "alerts"))
            past = features.follow(batch, past, data)
            before = update.Before(known, checkpoint=learned and learned.after)
            learned = update.update(past, state, scores, run=run, before=before)
            chain = alerts.Before(known, previous, carried=carried)
            carried = alerts.follow(learned, output, run=run, settings=SETTINGS, before=chain)
            record = periods.read(output)
            if not record.facts["warm_up"]:
                shown, by_level = ids_of(record), ids_of(replace(record, settings=record.settings | {"gates": False}))
                right = len(shown & entering.get(t, set()))
                told.append(Judged(len(entering.get(t, ())), len(shown), right, len(by_level)))
    return told


def ids_of(record):
    """Return the ids of the documents that are shown of a period by itself."""
    record = replace(record, topic=np.zeros_like(record.topic), **{name: [] for name in periods.CHANGES})
    return {alert.id for alert in read.watch([record]).periods[0].alerts}


def row_of(name, seed, size, options):
    """Return a row of the table: what a quiet and a planted stream were told."""
    rows, rng = stream(name)[0], np.random.default_rng(seed)
    order = rng.permutation(len(rows.ids))
    calm = judged(name, seed, [rows.select(part) for part in quiet(order, size, options.periods)], {})
    row = {"quiet": len(calm), "speak": sum(one.shown > 0 for one in calm)}
    row["speak by level"] = sum(one.by_level > 0 for one in calm)
    if options.calm:
        return row
    parts, entering = planted(rows.counts, order, size, options.periods, rng)
    entering = {t: {rows.ids[at] for at in group} for t, group in entering.items()}
    entered = judged(name, seed, [rows.select(part) for part in parts], entering)
    still = [one for one in entered if not one.planted]
    plants = [one for one in entered if one.planted]
    row |= {"quiet between plants": len(still), "speak between plants": sum(one.shown > 0 for one in still)}
    row["planted"] = len(plants)
    for k in SIZES:
        row[f"found of {k}"] = share(one.right > 0 for one in plants if one.planted == k)
    return row | {"precision": sum(one.right for one in plants) / max(sum(one.shown for one in plants), 1)}


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
    words.add_argument("--calm", action="store_true", help="only streams in which nothing enters")
    rows = measure(words, row_of, "quiet.tsv")
    for cell in dict.fromkeys((row["stream"], row["documents"]) for row in rows):
        counts = [(row["speak"], row["quiet"]) for row in rows if (row["stream"], row["documents"]) == cell]
        speak, n_quiet = np.array(counts).T
        told = "{:.3f} (at most {:.3f})".format(*bounded(speak, n_quiet))
        print(*cell, f"{speak.sum()} of {n_quiet.sum()} quiet periods speak: {told}")


if __name__ == "__main__":
    main()
