"""Tables of batches of several sizes: `levels` and `adaptive` beside windows, half-lives and recency, and regrets.

    python benchmarks/recency.py results/quality/experiments/*-more       # what config/quality.yaml measured
    python benchmarks/recency.py --made drift stories --seeds 0 1 2 3 4   # two made streams, measured here

In `drift` topics change their words; in `stories` a fourth of the documents are of short stories, the others of topics
that stay. Cells are means over seeds, the AUC of all documents after the first batch together and the mean AUC of
batches, plain and using the batch. A regret is the best of windows and half-lives, chosen for the mean after the fact,
less the run. About 20 CPU seconds for one seed of the made streams in four sizes.
"""

import argparse
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import yaml
from scipy import sparse

from odl.evaluation.averages import grouped
from odl.files import tables
from odl.files.documents import Documents
from odl.papers import qualitystudy
from odl.papers.experiments import quality

RUNS = {
    "levels": "`levels`", "adaptive": "`adaptive`", "nearest5-logtf": "five nearest",
    "nearest5-logtf-recency": "five nearest by recency",
}  # fmt: skip
DAY = 86_400_000


def made(name, seed, n=8000):
    """Return a made stream; two words of three are from a language of 6000, the others of the document's topic.

    Of `drift` 40 topics live at a time, each for 4000 documents, in which each of its words is replaced once. Of
    `stories` a fourth of the documents are of one of six that live for 800, the others of 40 topics that stay.
    """
    rng, language = np.random.default_rng([seed, len(name)]), 1.0 / (np.arange(6000) + 10.0)
    drift, own, live, staying, columns, topics = name == "drift", 60, [], [], [], []
    most, life, pool = (40, 4000, 6000) if drift else (6, 800, 1000)
    language /= language.sum()
    if not drift:
        staying = [(f"s{number}", 0, rng.choice(6000, own, replace=False)) for number in range(40)]
    for row in range(n):
        while len(live) < most or rng.random() < most / life:
            parts = rng.choice(pool, own, replace=False), rng.choice(pool, own), rng.permutation(own)
            live = [*live[1 - most :], (f"t{row}-{len(live)}", row, *parts)]
        among = live if drift or rng.random() < 0.25 else staying
        topic, birth, words, *others = among[rng.integers(len(among))]
        if drift:
            words = np.where(others[1] < own * (row - birth) / life, others[0], words)
        columns += [words[rng.integers(own, size=12)], rng.choice(6000, 24, p=language)]
        topics.append((topic,))
    rows = np.repeat(np.arange(n), 36)
    counts = sparse.csr_array((np.ones(len(rows), dtype=np.int64), (rows, np.concatenate(columns))), shape=(n, 6000))
    ids = [f"{name}{row}" for row in range(n)]
    documents = Documents(
        counts, [f"w{word:04d}" for word in range(6000)], ids, DAY + 60_000 * np.arange(n), topics, ids
    )
    setting = {
        "protocol": "by-date", "ties": "source", "timesteps": [],
        "topic_entry": {"held_back": 0.0, "first": 1, "last": 1},
        "batches": {"by": "documents", "documents": 1000, "period": "month", "initial": 1000, "flush": True},
    }  # fmt: skip
    rule = {"topics": "all", "min_novel": 0, "min_known": 0, "bootstrap": 10, "seed": 0}
    return quality.Stream(name, documents, setting, rule, seed)


def measure(name, seed, sizes):
    """Return the rows of a made stream, by the learners of config/quality.yaml."""
    path = Path(__file__).resolve().parent.parent / "config" / "quality.yaml"
    named = yaml.safe_load(path.read_text(encoding="utf-8"))["learners"]
    names = ["levels", "levels-context", "adaptive", "adaptive-context"]
    chosen = {run: {"learner": named[run], "features": {"tf": "log"}} for run in names}
    rows = qualitystudy.resize(made(name, seed), chosen, {"sizes": sizes, "runs": names, "k": 500})["sizes"]
    return [{"stream": name, "seed": seed, **row} for row in rows]


def cells(rows, column):
    """Return (stream, size, using the batch) -> run -> array of values, one for each seed."""
    found = defaultdict(dict)
    for (stream, size, run), part in grouped(rows, ("stream", "size", "run")):
        around = run.endswith("-context")
        name = run.removesuffix("-context").removesuffix("-levels") if around else run
        found[stream, size, around][name] = np.array([row[column] for row in part])
    return found


def best_of(runs):
    """Return the name of the best window or half-life in the mean."""
    fixed = [run for run in runs if run.startswith("nearest5") and not run.endswith("-recency")]
    return max(fixed, key=lambda run: runs[run].mean())


def told(run):
    """Say what a window is; nothing of the whole past."""
    kind = run.removeprefix("nearest5-logtf").removeprefix("-")
    return kind.replace("window", "last ").replace("half-life", "half-life ").replace("10000", "10,000")


def shown(rows, column):
    """Print the table of one AUC, and its regrets with standard errors over cells."""
    found, regrets = cells(rows, column), defaultdict(list)
    print(
        f"\n{column}: plain / using the batch\n\n| stream, batch, seeds | {' | '.join(RUNS.values())} | best window |"
    )
    print("|" + " --- |" * (len(RUNS) + 2))
    for stream, size in dict.fromkeys((stream, size) for stream, size, _ in found):
        both = [found[stream, size, around] for around in (False, True)]
        best = [best_of(runs) for runs in both]
        for around, runs, name in zip((0, 1), both, best, strict=True):
            for run in RUNS:
                regrets[run, around].append((runs[name] - runs[run]).mean())
        parts = [" / ".join(f"{runs[run].mean():.3f}"[1:] for runs in both) for run in RUNS]
        last = " / ".join(f"{runs[name].mean():.3f}"[1:] for runs, name in zip(both, best, strict=True))
        kinds = " / ".join(dict.fromkeys(told(name) for name in best)).strip()
        named = f" ({kinds})" if kinds else ""
        seeds = len(both[0]["levels"])
        print(f"| {stream}, {size:g}, {seeds} | {' | '.join(parts)} | {last}{named} |")
        for around, runs, name in zip((0, 1), both, best, strict=True):
            behind = runs[name] - runs["levels"]
            if behind.mean() > 0.005:
                spread = behind.std(ddof=1) / len(behind) ** 0.5 if len(behind) > 1 else float("nan")
                print(
                    f"  behind by {behind.mean():.3f}, se {spread:.3f}, of {len(behind)} ({('plain', 'batch')[around]})"
                )
    for around, run in product((0, 1), RUNS):
        values = np.array(regrets[run, around])
        spread = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        kind = "using the batch" if around else "plain"
        print(f"regret, {kind}, {run}: mean {values.mean():.4f} se {spread:.4f}, largest {values.max():.3f}")


def main():
    """Read or measure, and print."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folders", nargs="*", type=Path)
    words.add_argument("--made", nargs="+", default=[], choices=("drift", "stories"))
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--sizes", nargs="+", type=int, default=[50, 250, 1000, 2000])
    words.add_argument("--output", type=Path, help="of the rows of made streams")
    options, rows = words.parse_args(), []
    for folder in options.folders:
        rows += tables.read_table(folder / "sizes.tsv")
    measured = [
        row for name, seed in product(options.made, options.seeds) for row in measure(name, seed, options.sizes)
    ]
    if options.output:
        tables.write_table(options.output, measured)
    for column in ("pooled", "single"):
        shown(rows + measured, column)


if __name__ == "__main__":
    main()
