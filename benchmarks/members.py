"""Which event a document joins: precision and recall of the members of events where labels exist.

    ODL_MIRROR=... python benchmarks/members.py [--streams posts tdt2] [--seeds 0 1 2] [--documents 500] [--output FILE]

`posts` are those of benchmarks/newsposts.py, cleaned as `odl init` does; the other streams are those of
config/quality.yaml. The learner is `levels`, alerts are those of `odl init`, a batch has so many documents. The label
of an event is that of most of its documents in its first period. Of the documents of later periods: how many joined an
event, how many of these have its label (precision), how many of those that have an event's label joined such an event
(recall).
About 40 CPU seconds for a stream and seed.
"""

import argparse
import os
import tempfile
from collections import Counter
from pathlib import Path

import levels
import newsposts

from odl import corpora
from odl.alerts import periods
from odl.config.sections import Alerts
from odl.files import tables
from odl.jobs import alerts, runs, update
from odl.stream import features

RAW = {"columns": {"time": "sent", "text": "message", "id": "name"}, "min_words": 5}
RAW["clean"] = ["headers", "encoded", "quotes", "signatures"]
ENTRY = {"held_back": 0.5, "first": 1, "last": 24}
FEATURES = {"tf": "log", "idf": "past", "min_df": 0, "vocabulary": "growing"}


def stream(name, seed, size):
    """Return the batches of a stream, and of each kind of label those of the documents by id (None: no label)."""
    if name == "posts":
        return raw(seed, size)
    held = levels.stream(name, seed).cut(size)
    documents = held.made_of[0]
    rows = {name: row for row, name in enumerate(documents.ids)}
    batches = [documents.select([rows[name] for name in batch.ids]) for batch in held.batches]
    return batches, {"topic": {key: next(iter(documents.topics[row]), None) for key, row in rows.items()}}


def raw(seed, size):
    """Return raw posts with topic entry in batches, and their groups and threads."""
    posts = newsposts.entering(newsposts.read(Path(os.environ["ODL_MIRROR"])), seed, size, ENTRY)
    with tempfile.TemporaryDirectory() as place:
        newsposts.write(path := f"{place}/posts.jsonl", posts)
        documents = corpora.read("documents", [path], RAW)
    batches = [
        documents.select(range(at, min(at + size, len(documents.ids)))) for at in range(0, len(documents.ids), size)
    ]
    groups = {post.id: post.group for post in posts}
    return batches, {"group": groups, "thread": {post.id: thread(post.text) for post in posts}}


def thread(text):
    """Return the subject of a post without its "Re:"; None without one."""
    lines = text.partition("\n\n")[0].splitlines()
    subject = (
        next((line.partition(":")[2] for line in lines if line.lower().startswith("subject:")), "").strip().lower()
    )
    while subject.startswith("re:"):
        subject = subject[3:].strip()
    return subject or None


def members(name, seed, batches):
    """Return ids and events of the documents of every period."""
    learner = {"algorithm": "levels", "recency": 0.5}
    run = runs.parse(
        {"corpus": name, "seed": seed, "run": "levels", "atoms": 1, "learner": learner, "features": FEATURES}
    )
    found, past, settings = [], None, Alerts(gates=True)
    with tempfile.TemporaryDirectory() as place:
        for t, batch in enumerate(batches):
            data, state, scores, output = (f"{place}/{t}.{part}" for part in ("features", "h5", "scores", "alerts"))
            known, previous = (f"{place}/{t - 1}.{part}" if t else None for part in ("h5", "alerts"))
            past, before = features.follow(batch, past, data), runs.Before(previous, known=known)
            update.update(data, state, scores, f"{place}/timings.tsv", run=run, before=runs.Before(known))
            alerts.follow(alerts.Written(data, scores, state), output, run=run, settings=settings, before=before)
            found.append((past.ids, periods.read(output).event.tolist()))
    return found


def judged(found, labels):
    """Return events, documents that joined one, and their precision and recall.

    Parameters
    ----------
    found : list of (list of str, list of int)
        Ids of the documents of every period, and numbers of their events, 0 for none.
    labels : dict of str to str
    """
    label, joined, right, due = {}, 0, 0, 0
    for ids, events in found:
        names, first = [labels[name] for name in ids], {}
        known = set(label.values())
        for name, number in zip(names, events, strict=True):
            if name is None:
                continue
            due += name in known
            if number in label:
                joined, right = joined + 1, right + (label[number] == name)
            elif number:
                first.setdefault(number, Counter())[name] += 1
        label |= {number: min(counts, key=lambda name: (-counts[name], name)) for number, counts in first.items()}
    share = {"precision": right / joined if joined else float("nan"), "recall": right / due if due else float("nan")}
    return {"events": len(label), "joined": joined, "right": right, **share}


def main():
    """Measure streams and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["posts", "tdt2"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--documents", type=int, default=500)
    words.add_argument("--output", default="members.tsv")
    given, rows = words.parse_args(), []
    for name in given.streams:
        for seed in given.seeds:
            batches, kinds = stream(name, seed, given.documents)
            found = members(name, seed, batches)
            for kind, labels in kinds.items():
                rows.append({"stream": name, "seed": seed, "label": kind, **judged(found, labels)})
                print(*rows[-1].values(), sep="\t", flush=True)
    tables.write_table(given.output, rows)


if __name__ == "__main__":
    main()
