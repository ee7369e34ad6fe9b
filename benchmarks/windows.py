"""`levels` and `adaptive` against nearest documents in windows of the past, on the same entries of topics.

    ODL_MIRROR=... python benchmarks/windows.py [--streams arxiv-cs] [--seeds 0 1] [--windows 10000 0] [--last 80]

Streams, orders and timesteps are those of config/quality.yaml; `--last` lets the topics that are held back enter up to
another timestep. A window of 0 is the whole past. One row for each stream, seed and run: average AUC, that of the
timesteps with more than `--late` documents before them, and CPU seconds (neighbours: of the evaluated timesteps;
learners: of all, for the first of those that share their atoms); then, for each stream, means and the differences of
`levels` and `adaptive` to all others of their kind. Two to four CPU minutes for one seed of all of arXiv.
"""

import argparse
import time

import numpy as np
from levels import stream

from odl.evaluation import metrics
from odl.files import tables
from odl.papers import qualitystudy
from odl.papers.qualitystudy import contexts, in_batch, judged

LEARNERS = {
    "levels": {"algorithm": "levels", "recency": 0.5},
    "levels-context": {"algorithm": "levels", "recency": 0.5, "context": 0.5, "peers": 10},
    "adaptive": {"algorithm": "adaptive"},
    "adaptive-context": {"algorithm": "adaptive", "contrast": 0.3, "context": 0.5, "peers": 10},
}
ATOMS = 500  # of `adaptive`


def runs_of(half_lives):
    """Return the learners, and those of `levels` that forget otherwise."""
    runs = dict(LEARNERS)
    for half_life in half_lives:
        runs |= {
            f"{name}, half-life {half_life}": {**LEARNERS[name], "half_life": half_life}
            for name in ("levels", "levels-context")
        }
    return {name: {"learner": learner, "features": {"tf": "log"}} for name, learner in runs.items()}


def measure(held, windows, half_lives, late):
    """Return the rows of a stream; what was found is kept in it for the differences."""
    chosen, seconds, kinds = runs_of(half_lives), {}, {"plain": {}, "context": {}}
    around = contexts(chosen, LEARNERS)
    for runs in qualitystudy.groups(chosen, chosen):
        began = time.process_time()
        found, _ = qualitystudy.learn(held, runs, ATOMS)
        seconds |= dict.fromkeys(found, time.process_time() - began)
        for name, scores in found.items():
            kinds["context" if in_batch(chosen[name]["learner"]) else "plain"][name] = scores
    for window in windows:
        began = time.process_time()
        found = qualitystudy.neighbours(held, {"logtf": "log"}, window)
        spent = time.process_time() - began
        for name, scores in found.items():
            label = f"{name}-last{window}" if window else f"{name}-all"
            kinds["plain"][label], seconds[label] = scores, spent
            kinds["context"] |= judged(held, around, label, scores)
    far = [t for t in held.listed if held.batches[t].n_before > late]
    rows = []
    for kind, runs in kinds.items():
        for name, (average, _) in held.judge(kind, runs).items():
            aucs = [metrics.auc(runs[name][t], held.labels[t]) for t in far]
            row = {"run": name, "kind": kind, "average": average, "late": float(np.mean(aucs)) if far else float("nan")}
            rows.append(row | {"timesteps": len(held.listed), "cpu_s": seconds.get(name, float("nan"))})
    return rows


def differences(streams):
    """Yield kind, run, other, and their means, difference, its spread over seeds and its interval."""
    for kind in ("plain", "context"):
        held = [stream.judged[kind] for stream in streams]
        for run in (name for name in held[0] if name in LEARNERS):
            for other in (name for name in held[0] if name not in LEARNERS):
                values = np.array([found[run][0] - found[other][0] for found in held])
                low, high = metrics.interval(np.mean([found[run][1] - found[other][1] for found in held], axis=0))
                means = (np.mean([found[name][0] for found in held]) for name in (run, other))
                spread = values.std(ddof=1) if len(values) > 1 else float("nan")
                yield (kind, run, other, *means, values.mean(), spread, low, high)


def main():
    """Measure streams and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=["arxiv-cs"])
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--windows", nargs="+", type=int, default=[10000, 0])
    words.add_argument("--half-lives", nargs="*", type=int, default=[])
    words.add_argument("--last", type=int, help="timestep up to which topics enter; default: that of the study")
    words.add_argument("--late", type=int, default=50000, help="documents before a late timestep")
    words.add_argument("--output", default="windows.tsv")
    given, rows = words.parse_args(), []
    for name in given.streams:
        streams = []
        for seed in given.seeds:
            held = stream(name, seed, last=given.last)
            for row in measure(held, given.windows, given.half_lives, given.late):
                numbers = (f"{row[key]:.4f}" for key in ("average", "late", "cpu_s"))
                print("\t".join([name, str(seed), row["kind"], row["run"], *numbers]), flush=True)
                rows.append({"stream": name, "seed": seed, **row})
            held.forget()
            streams.append(held)
        for kind, run, other, *numbers in differences(streams):
            print("\t".join([name, kind, run, other, *(f"{number:.4f}" for number in numbers)]), flush=True)
    tables.write_table(given.output, rows)


if __name__ == "__main__":
    main()
