"""The adaptive learner against nearest neighbours: quality, memory, ingredients, alerts, cost. In this process.

    python benchmarks/quality.py [--corpora FOLDER] [--part table memory ablation alerts cost] [--streams NAME ...]

Streams, seeds and settings are those of config/quality.yaml; see benchmarks/README.md. Tables (TSV) and the picture
of AUC against memory go to results/quality-study.
"""

import os

# Before numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402
import time  # noqa: E402
from collections import defaultdict  # noqa: E402
from dataclasses import replace  # noqa: E402
from functools import cache  # noqa: E402
from pathlib import Path  # noqa: E402

import material  # noqa: E402
import numpy as np  # noqa: E402
import yaml  # noqa: E402
from measure import ROOT, say  # noqa: E402

from odl import alerts, baselines, config, corpora, features, learners, metrics, novelty, stream, tables  # noqa: E402
from odl.learners.adaptive import in_context  # noqa: E402

COSINES = ("nearest-tfidf", "nearest5-tfidf", "nearest-logtf", "nearest5-logtf")
SCORING = ("nearest", "cohesion", "flatten", "contrast", "context", "peers")  # of `adaptive`: do not change the atoms
SIZES = (50, 100, 200, 500, 1000)
WINDOWS = (125, 250, 500, 1000, 2000, 4000)
BUDGETS = (0.01, 0.02, 0.05)


class Stream:
    """One corpus in the order of one seed: batches, labels, and the timesteps that are evaluated."""

    def __init__(self, settings, name, seed, folder, most=None):
        self.name, self.seed, self.settings = name, seed, settings
        entry = settings["corpora"][name]
        documents = _documents(entry["reader"], yaml.safe_dump(entry["options"]), folder)
        held = stream.Entry(**entry["topic_entry"]) if entry["protocol"] == "topic-entry" else None
        rows = stream.order(documents.ids, documents.times, seed, entry["ties"])
        parts = stream.split(
            rows, documents.times, documents.files, documents.topics, entry=held, seed=seed, **entry["batches"]
        )
        self.batches = []
        for part in parts[:most]:
            self.batches.append(features.advance(documents.select(part), self.batches[-1] if self.batches else None))
        rule = settings["evaluate"]
        self.labels = [batch.novel_dominant if rule["topics"] == "dominant" else batch.novel for batch in self.batches]
        self.listed = [t for t in entry["timesteps"] if t < len(self.batches)] or [
            t
            for t in range(1, len(self.batches))
            if (self.labels[t] == 1).sum() >= rule["min_novel"] and (self.labels[t] == 0).sum() >= rule["min_known"]
        ]
        self.weighed = {}

    def P(self, t, tf="log"):
        """Return a weighted batch."""
        if (t, tf) not in self.weighed:
            self.weighed[t, tf] = self.batches[t].weigh(tf=tf, norm="l2")
        return self.weighed[t, tf]

    def average(self, scores):
        """Return the mean AUC over the listed timesteps."""
        return float(np.mean([metrics.auc(scores[t], self.labels[t]) for t in self.listed]))

    def against(self, scores, others):
        """Return the difference of the mean AUCs with its paired interval."""
        return metrics.mean_difference([(scores[t], others[t], self.labels[t]) for t in self.listed])


@cache
def _documents(reader, options, folder):
    """Read a corpus from the folder of the corpora once."""
    say(f"reading {reader}")
    with open(ROOT / "data" / "corpora.csv", newline="") as file:
        rows = [line.split(",")[:3] for line in file]
    files = [Path(folder or ".") / place / name for corpus, place, name in rows if corpus == reader]
    return corpora.read(reader, files, yaml.safe_load(options))


def learn(held, runs, k, every=False, cost=None):
    """Run variants of `adaptive` that share their atoms over a stream.

    Parameters
    ----------
    held : Stream
    runs : dict of str to (settings, tf)
    k : int
    every : bool
        Score all timesteps rather than the listed ones.
    cost : list, optional
        Gets one (t, CPU ms a document of the first variant, scored and learned) for each timestep.

    Returns
    -------
    scores, entries
        Of each variant timestep -> scores, and the stored weights of the dictionary at the end.
    """
    made = {run: learners.make(**settings) for run, (settings, _) in runs.items()}
    first, tf = next(iter(made.values())), next(iter(runs.values()))[1]
    found = {run: {} for run in runs}
    most = int((np.diff(held.P(0, tf).indptr) > 0).sum())
    state = first.start(held.P(0, tf), min(k, most), novelty.generator(held.seed, "start"))
    for t in range(1, len(held.batches)):
        P, spent = held.P(t, tf), 0.0
        for run, learner in made.items():
            if every or t in held.listed or (cost is not None and learner is first):
                begin = time.process_time()
                found[run][t] = novelty.score(learner, learner.fit_terms(state, P.shape[1]), P).score
                spent += (time.process_time() - begin) * (learner is first)
        begin = time.process_time()
        state = first.learn(state, P, None)
        if cost is not None:
            cost.append((t, 1000.0 * (spent + time.process_time() - begin) / P.shape[0]))
    return found, state.dictionary.nnz


def groups(settings, names):
    """Group runs that make the same atoms."""
    grouped = defaultdict(dict)
    for name in names:
        chosen, tf = config.learner_of(settings, name), config.features_of(settings, name)["tf"]
        key = (tf, *sorted((key, value) for key, value in chosen.items() if key not in SCORING))
        grouped[key][name] = (chosen, tf)
    return list(grouped.values())


def neighbours(held, weightings=baselines.WEIGHTINGS, window=None):
    """Return the cosine baselines of the listed timesteps, over the whole past or the last `window` documents."""
    found = defaultdict(dict)
    for t in held.listed:
        past, room = [], window or sum(len(batch.ids) for batch in held.batches[:t])
        for batch in reversed(held.batches[:t]):
            counts = batch.counts[max(0, batch.counts.shape[0] - room) :]
            past.append(replace(batch, counts=counts))
            room -= counts.shape[0]
            if room <= 0:
                break
        for name, score in baselines.nearest(held.batches[t], past, weightings).items():
            found[name][t] = score
    return found


def table(settings, held):
    """Both detectors and the baselines, plain and in the context of the batch; differences to the best cosine."""
    runs = ("adaptive", "adaptive-context")
    scores, _ = learn(held, groups(settings, runs)[0], 500)
    cosines = neighbours(held)
    context = config.learner_of(settings, runs[1])
    for name in COSINES:
        scores[name] = cosines[name]
        scores[f"{name}-context"] = {
            t: sum(in_context(held.P(t), score, context["contrast"], context["context"], context["peers"]))
            for t, score in cosines[name].items()
        }
    best = max(COSINES, key=lambda name: held.average(cosines[name]))
    for name, found in scores.items():
        difference, low, high = held.against(found, cosines[best])
        row = {"run": name, "average": held.average(found), "best": best}
        yield row | {"difference": difference, "low": low, "high": high}


def memory(settings, held):
    """AUC against the weights that are kept: dictionaries of k atoms, windows of documents."""
    for k in SIZES:
        scores, entries = learn(held, groups(settings, ("adaptive", "adaptive-context"))[0], k)
        for run, found in scores.items():
            yield {"run": run, "size": k, "entries": entries, "average": held.average(found)}
    lengths = np.concatenate([np.diff(batch.counts.indptr) for batch in held.batches])
    for window in WINDOWS:
        if window > len(lengths):
            continue
        found = neighbours(held, {"logtf": "log"}, window)
        for name, scores in found.items():
            yield {
                "run": f"{name}-window",
                "size": window,
                "entries": int(window * lengths.mean()),
                "average": held.average(scores),
            }


def ablation(settings, held):
    """Every run of the configuration: what each ingredient brings."""
    for runs in groups(settings, settings["learners"]):
        scores, entries = learn(held, runs, 500)
        for run, found in scores.items():
            yield {"run": run, "entries": entries, "average": held.average(found)}


def alerting(settings, held):
    """Drift, budgets, delays and cost of the scores as they are and calibrated."""
    runs = ("adaptive", "adaptive-context")
    scores, _ = learn(held, groups(settings, runs)[0], 500, every=True)
    everything = range(1, len(held.batches))
    topics = [batch.topics for batch in held.batches]
    for run, found in scores.items():
        raw = [found[t] for t in everything]
        labels = [held.labels[t] for t in everything]
        drift = alerts.drift(list(zip(raw, labels, strict=True)))
        tails = [1.0 - tail for tail in alerts.calibrate(raw)]
        for kind, values in (("raw", raw), ("calibrated", tails)):
            row = {"run": run, "scores": kind}
            if kind == "raw":
                row |= {"first_mean": drift.means[0], "last_mean": drift.means[-1], "slope": drift.slope}
                row["spread"] = drift.spread
            # From the second scored batch on: the first has nothing to be calibrated against.
            all_scores, all_labels = np.concatenate(values[1:]), np.concatenate(labels[1:])
            row["cost"] = alerts.detection_cost(all_scores, all_labels)
            for budget in BUDGETS:
                # Raw scores: the threshold that kept the budget on the first scored batch.
                edge = np.quantile(values[0], 1.0 - budget) if kind == "raw" else 1.0 - budget
                flags = [score >= edge for score in values]
                flags[0][:] = False
                spent = np.concatenate(flags[1:])
                hit = all_labels[spent & (all_labels >= 0)]
                name = f"{budget:g}"
                row[f"precision_{name}"] = alerts.precision_at(all_scores, all_labels, budget)
                row[f"alerts_{name}"] = spent.mean()
                row[f"false_{name}"] = spent[all_labels == 0].mean()
                row[f"alert_precision_{name}"] = float((hit == 1).mean()) if len(hit) else float("nan")
                delays = alerts.detection_delays([np.zeros(len(topics[0]), dtype=bool), *flags], topics)
                waits = [delay.missed for delay in delays if delay.t > 1]
                seen = [delay.waited >= 0 for delay in delays if delay.t > 1]
                row[f"missed_{name}"] = float(np.median(waits)) if waits else float("nan")
                row[f"topics_found_{name}"] = float(np.mean(seen)) if seen else float("nan")
            yield row


def cost(settings, held):
    """CPU milliseconds a document along the stream; the first timestep, which loads code, left out."""
    for run in ("adaptive", "adaptive-context"):
        spent = []
        learn(held, groups(settings, (run,))[0], 500, cost=spent)
        times = np.array([value for _, value in spent[1:]])
        third = max(1, len(times) // 3)
        yield {
            "run": run,
            "timesteps": len(spent),
            "ms": float(np.median(times)),
            "first_third": float(np.median(times[:third])),
            "last_third": float(np.median(times[-third:])),
        }


PARTS = {"table": table, "memory": memory, "ablation": ablation, "alerts": alerting, "cost": cost}


def draw(rows, path):
    """Draw AUC against memory, one panel a stream."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["stream"] for row in rows))
    figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.6), squeeze=False)
    marks = dict(zip(dict.fromkeys(row["run"] for row in rows), "osv^dD<>", strict=False))
    for axis, name in zip(axes[0], names, strict=True):
        for run, mark in marks.items():
            points = defaultdict(list)
            for row in rows:
                if row["stream"] == name and row["run"] == run:
                    points[row["size"]].append((row["entries"], row["average"]))
            if points:
                curve = np.array([np.mean(found, axis=0) for _, found in sorted(points.items())])
                axis.plot(curve[:, 0] / 1000, curve[:, 1], marker=mark, label=run)
        axis.set(xscale="log", title=name, xlabel="stored weights, thousands")
    axes[0][0].set_ylabel("average AUC")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


def main(arguments=None):
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description="Quality of the adaptive learner against nearest neighbours.")
    parser.add_argument("--corpora", help="folder of the corpora in the layout of a mirror; else ODL_CORPORA ...")
    parser.add_argument("--config", default=str(ROOT / "config" / "quality.yaml"))
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--streams", nargs="+", help="of the configuration's corpora; default: its streams")
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--timesteps", type=int, help="only so many batches of each stream, to try it out")
    parser.add_argument("--output", default=str(ROOT / "results" / "quality-study"))
    options = parser.parse_args(arguments)
    settings = yaml.safe_load(Path(options.config).read_text())
    folder, output = material.find_corpora(options.corpora), Path(options.output)
    found = defaultdict(list)
    for name in options.streams or settings["streams"]:
        done = set()
        for seed in options.seeds or settings["seeds"]:
            order = config.order_seed(settings, name, seed)
            if order in done:
                continue
            done.add(order)
            held = Stream(settings, name, order, folder, options.timesteps)
            if not held.listed:
                say(f"{name}, seed {order}: no timestep has enough novel documents")
                continue
            for part in options.part:
                say(f"{name}, seed {order}: {part}")
                found[part] += [{"stream": name, "seed": order, **row} for row in PARTS[part](settings, held)]
    for part, rows in found.items():
        tables.write_table(output / f"{part}.tsv", rows)
        say(f"{output / part}.tsv")
    if found["memory"]:
        draw(found["memory"], output / "memory.png")
    return found


if __name__ == "__main__":
    main()
