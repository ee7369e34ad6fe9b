"""How often a period speaks in which nothing is new, and whether what enters is shown: the gates on shuffled streams.

    ODL_MIRROR=... python benchmarks/quiet.py [--streams posts arxiv-cs reuters] [--seeds 0 1] [--documents 250]
                                              [--periods 60] [--output FILE]

A stream is shuffled, so that nothing enters; it is cut into periods of so many documents. In a second run all documents
with some words that 40 to 120 documents of the stream have are kept out, and from period 12 on every fourth period has
3, 6, 12 or 30 of the documents of one of these words. The learner is `levels`, alerts have their defaults and gates.
Counted are periods after the warm-up: those without such documents that speak, by the gates and by the level alone;
planted ones in which a planted document is shown; planted documents among all that are shown in these.
About 20 CPU seconds for a run of 60 periods of 250.
"""

import argparse
import os
import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import levels
import newsposts
import numpy as np
from members import FEATURES, RAW

from odl import corpora
from odl.alerts import periods, read
from odl.config.sections import Alerts
from odl.files import tables
from odl.jobs import alerts, runs, update
from odl.stream import features

SETTINGS = Alerts(gates=True)
FIRST, EVERY, SIZES = 12, 4, (3, 6, 12, 30)  # planted periods and the documents that enter in them
FEWEST, MOST, GROUPS = 40, 120, 40  # documents of a word that may be planted, and words kept out


class Judged(NamedTuple):
    """A period after the warm-up: documents planted, and of those shown by the gates all and planted ones."""

    planted: int
    shown: int
    right: int
    by_level: int


@lru_cache(maxsize=1)
def documents(name):
    """Return the documents of a stream: of config/quality.yaml, or raw posts as `odl init` cleans them."""
    if name != "posts":
        return levels.corpus(name)[2]
    with tempfile.TemporaryDirectory() as place:
        newsposts.write(path := f"{place}/posts.jsonl", newsposts.read(Path(os.environ["ODL_MIRROR"])))
        return corpora.read("documents", [path], RAW)


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
        {"corpus": name, "seed": seed, "run": "levels", "atoms": 1, "learner": learner, "features": FEATURES}
    )
    told, past, carried = [], None, None
    with tempfile.TemporaryDirectory() as place:
        for t, batch in enumerate(batches):
            data, state, scores, output = (f"{place}/{t}.{part}" for part in ("features", "h5", "scores", "alerts"))
            known, previous = (f"{place}/{t - 1}.{part}" if t else None for part in ("h5", "alerts"))
            past = features.follow(batch, past, data)
            update.update(data, state, scores, f"{place}/timings.tsv", run=run, previous=known)
            chain = {"run": run, "settings": SETTINGS, "known": known, "previous": previous, "carried": carried}
            carried = alerts.follow(data, scores, state, output, **chain)
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


def row_of(name, seed, size, calm, entered):
    """Return a row of the table: what a quiet and a planted stream were told."""
    still = [one for one in entered if not one.planted]
    plants = [one for one in entered if one.planted]
    shares = {
        f"found of {k}": np.mean([one.right > 0 for one in plants if one.planted == k])
        for k in SIZES
        if any(one.planted == k for one in plants)
    }
    return {
        "stream": name,
        "seed": seed,
        "documents": size,
        "quiet": len(calm),
        "speak": sum(one.shown > 0 for one in calm),
        "speak by level": sum(one.by_level > 0 for one in calm),
        "quiet between plants": len(still),
        "speak between plants": sum(one.shown > 0 for one in still),
        "planted": len(plants),
        **{f"found of {k}": shares.get(f"found of {k}", float("nan")) for k in SIZES},
        "precision": sum(one.right for one in plants) / max(sum(one.shown for one in plants), 1),
    }


def main():
    """Measure streams and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["posts", "arxiv-cs", "reuters"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    words.add_argument("--documents", nargs="+", type=int, default=[250])
    words.add_argument("--periods", type=int, default=60)
    words.add_argument("--calm", action="store_true", help="only streams in which nothing enters")
    words.add_argument("--output", default="quiet.tsv")
    options, rows = words.parse_args(), []
    for name in options.streams:
        held = documents(name)
        for seed in options.seeds:
            for size in options.documents:
                rng = np.random.default_rng(seed)
                order = rng.permutation(len(held.ids))
                parts = quiet(order, size, options.periods)
                calm = judged(name, seed, [held.select(part) for part in parts], {})
                entered = []
                if not options.calm:
                    parts, entering = planted(held.counts, order, size, options.periods, rng)
                    entering = {t: {held.ids[row] for row in group} for t, group in entering.items()}
                    entered = judged(name, seed, [held.select(part) for part in parts], entering)
                rows.append(row_of(name, seed, size, calm, entered))
                print(*rows[-1].values(), sep="\t", flush=True)
                tables.write_table(options.output, rows)


if __name__ == "__main__":
    main()
