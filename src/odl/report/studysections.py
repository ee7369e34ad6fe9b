"""The tables and lists of the page about one corpus, each made from a `odl.report.selection.Selection`."""

import os

import numpy as np

from odl import trees
from odl.evaluation.plan import BASELINE, parameters_text
from odl.files.tables import read_table
from odl.report import topictree
from odl.report.page import Markup, details, element, mean_sd, number, table
from odl.report.selection import references, thin, topic_strip

MOST_STEPS = 60  # timesteps whose most novel documents are listed


def percent(value):
    return "" if value != value else f"{100 * value:.1f}\u00a0%"


def sizes_of(rows):
    """Numbers of atoms of the learners, sorted."""
    return sorted({row["k"] for row in rows if row["algorithm"] != BASELINE})


def pivot(summary, published):
    """Rows of the main table: learners as {run: {k: row}}, baselines with the best first, published rows."""
    learners = {}
    for row in summary:
        if row["algorithm"] != BASELINE:
            learners.setdefault(row["run"], {})[row["k"]] = row
    baselines = [row for row in summary if row["algorithm"] == BASELINE]
    return learners, sorted(baselines, key=lambda row: -np.nan_to_num(row["average_mean"], nan=-1)), published


def _compared(baselines):
    """Say which earlier documents neighbours are looked for among."""
    windows = {row["run"].partition("-last")[2] for row in baselines} - {""}
    if not windows:
        return "all earlier documents"
    few = " or ".join(
        f"the last {name.removesuffix('timesteps')} {'timesteps' if name.endswith('timesteps') else 'documents'}"
        for name in sorted(windows)
    )
    return f"{few} where more came before, as their names say"


def best_of(summary, baseline):
    """The row with the largest average AUC among baselines or among learners; None without one."""
    rows = [row for row in summary if (row["algorithm"] == BASELINE) == baseline]
    rows = [row for row in rows if row["average_mean"] == row["average_mean"]]
    return max(rows, key=lambda row: row["average_mean"], default=None)


def main(chosen):
    """Main table: learners by the number of atoms, baselines, published rows."""
    summary = chosen.tables["summary"]
    learners, baselines, published = pivot(summary, chosen.tables["published"])
    sizes, best = sizes_of(summary), best_of(summary, baseline=False)

    def cell(row):
        if row is None:
            return ""
        text = mean_sd(row["average_mean"], row["average_sd"]) or "undefined"
        return element("b", text, class_="best") if row is best else text

    rows = ["Learners, by the number of atoms k"]
    rows += [[run, *(cell(by_k.get(k)) for k in sizes)] for run, by_k in learners.items()]
    rows += ["Baselines: no dictionary, the neighbours need " + _compared(baselines)] if baselines else []
    blank = [""] * (len(sizes) - 1)
    rows += [[row["run"], cell(row), *blank] for row in baselines]
    rows += ["Published: " + published[0]["source"]] if published else []
    rows += [[row["run"], number(row["average"]), *blank] for row in published]
    caption = "Average AUC over the listed timesteps, mean ± standard deviation over seeds"
    return table(["", *(f"k = {k}" for k in sizes)], rows, caption)


def full(chosen):
    """Every run with its other averages, folded away."""
    rows = []
    for row in chosen.tables["summary"]:
        spread = f"{number(row['average_min'])} to {number(row['average_max'])}" if row["seeds"] > 1 else ""
        rows.append(
            [row["run"], "" if row["algorithm"] == BASELINE else row["k"], row["seeds"],
             number(row["timesteps"], ".3g"), mean_sd(row["average_mean"], row["average_sd"]), spread,
             mean_sd(row["average_all_mean"], row["average_all_sd"]), mean_sd(row["pooled_mean"], row["pooled_sd"]),
             percent(row["uncoded"]), number(row["gap"], ".1e")]
        )  # fmt: skip
    headers = ["run", "k", "seeds", "timesteps", "average AUC", "range over seeds", "mean of all batches"]
    headers += ["pooled AUC", "x = 0", "largest gap"]
    caption = (
        "Every run: average over the listed timesteps, over all batches with both classes, and AUC of all documents "
        "together; share of documents without a code; largest relative gap of a code to the optimum"
    )
    return details("Every run, with other averages", table(headers, rows, caption))


def runs(chosen):
    """What was run: algorithm, sizes and parameters of every run."""
    held = {}
    for entry in chosen.plan:
        if entry["algorithm"] != BASELINE:
            row = held.setdefault(entry["run"], [entry["run"], entry["algorithm"], [], entry["parameters"]])
            row[2] += [entry["k"]] if entry["k"] not in row[2] else []
    rows = [
        [run, name, ", ".join(map(str, sizes)), parameters_text(values)] for run, name, sizes, values in held.values()
    ]
    return table(["run", "algorithm", "k", "parameters"], rows, "Runs", text=(0, 1, 2), wide=(3,))


def by_timestep(chosen):
    """Batches with their novel documents and the AUC of learners and baselines."""
    rows, frame = [], chosen.tables["timesteps"]
    sizes = {run: chosen.entry(run)["k"] for run in chosen.runs}
    drawn = references(row["run"] for row in frame)
    values = {(row["run"], row["t"]): row for row in frame if row["run"] in drawn or sizes.get(row["run"]) == row["k"]}
    for row in chosen.tables["novel"]:
        cells = [values.get((run, row["t"])) for run in [*chosen.runs, *drawn]]
        texts = [mean_sd(cell["auc_mean"], cell["auc_sd"]) if cell else "" for cell in cells]
        dates = " to ".join(dict.fromkeys([row["first_time"][:10], row["last_time"][:10]]))
        counts = [number(row[name], ".4g") for name in ("documents", "novel_mean", "known", "unlabelled", "empty")]
        rows.append([row["t"], dates, *counts, "yes" if row["seeds_listed"] > 0 else "", *texts])
    headers = ["t", "dates", "documents", "novel", "known", "unlabelled", "empty", "in average"]
    headers += [f"{run}, k\u00a0=\u00a0{k}" for run, k in sizes.items()] + drawn
    caption = "Batches and AUC per timestep, means (± standard deviation) over seeds"
    return table(headers, rows, caption, text=(1,), short=(1,))


def intervals(chosen):
    """AUC of the shown run with bootstrap intervals, folded away."""
    rows = [
        [row["t"], row["novel"], row["known"], number(row["auc"]), f"{number(row['low'])} to {number(row['high'])}",
         percent(row["uncoded"]), "yes" if row["listed"] else ""]
        for row in read_table(os.path.join(chosen.shown["folder"], "auc.tsv"))
        if row["auc"] == row["auc"]
    ]  # fmt: skip
    headers = ["t", "novel", "known", "AUC", "95 % interval (bootstrap)", "x = 0", "in average"]
    return details(f"AUC with intervals: {chosen.name()}", table(headers, rows, f"AUC of {chosen.name()}"))


def ties(chosen):
    """How many scores tie, and how many documents have no code."""
    batches = [chosen.batch(chosen.shown, t) for t in chosen.shown["timesteps"] if t > 0]
    scores = np.concatenate([batch.scores[chosen.shown["run"]] for batch in batches]) if batches else np.ones(1)
    empty = sum(int(batch.empty.sum()) for batch in batches)
    uncoded = sum(batch.uncoded * len(batch.ids) for batch in batches) / len(scores)
    counts = np.unique(scores, return_counts=True)[1]
    tied = counts[counts > 1].sum() / len(scores)
    return element(
        "p",
        f"Ties: in {chosen.name()} no atom helps to explain {percent(uncoded)} of the documents (x = 0); their score "
        f"is exactly 1. {percent(tied)} of all documents share their score with another; AUC counts a tied pair as "
        f"half. {empty} documents have no known term at all: they score 1 and are counted in the tables.",
    )


def _words(text):
    """Write ``word:0.034`` as ``word 3.4 %``."""
    parts = [part.rsplit(":", 1) for part in text.split()]
    return ", ".join(f"{word}\u00a0{percent(float(share))}" for word, share in parts)


def _summary(t, labels, score, shown):
    """Count the novel documents among those shown and those that tie above; nothing is said where none has a topic."""
    text, labelled = f"Timestep {t}: ", (labels >= 0).any()
    if labelled:
        hits = int((labels[shown] == 1).sum())
        text += f"{hits} of the {len(shown)} shown are novel ({int((labels == 1).sum())} in the batch)"
    else:
        text += f"{len(shown)} documents, no document of the batch has a topic"
    tied = score == score.max(initial=0.0)
    if tied.sum() > 1:
        text += f"; {int(tied.sum())} documents tie at the highest score"
        text += f", {int((labels[tied] == 1).sum())} novel" if labelled else ""
    return text


def top(chosen):
    """The most novel documents of every timestep with their unexplained words."""
    steps = [t for t in chosen.shown["timesteps"] if t > 0]
    blocks = []
    for t in thin(steps, MOST_STEPS):
        batch, rows = chosen.batch(chosen.shown, t), []
        labels, score = chosen.labels(batch), batch.scores[chosen.shown["run"]]
        for rank, (row, words) in enumerate(batch.top, start=1):
            novel = {1: element("b", "novel", class_="novel"), 0: "known", -1: "unlabelled"}[int(labels[row])]
            name = batch.titles[row] or batch.ids[row]
            rows.append([rank, number(score[row]), novel, name, ", ".join(batch.topics[row]), _words(words)])
        summary = _summary(t, labels, score, [row for row, _ in batch.top])
        headers = ["rank", "score", "truth", "document", "topics", "unexplained words, share of the document"]
        caption = f"Most novel documents of timestep {t}, ties in the order of the stream"
        blocks.append(details(summary, table(headers, rows, caption, text=(2, 4), wide=(3, 5)), opened=not blocks))
    return Markup("".join(blocks))


def topics(chosen):
    """Top words of the most used atoms at the first, middle and last timestep, folded away."""
    use, _, words, steps, atoms = topic_strip(chosen, most=40)
    rows = []
    for position, atom in enumerate(atoms):
        first, last = set(words[position][0].split()), set(words[position][-1].split())
        rows.append([int(atom), percent(use[position].mean()), *words[position], f"{len(first & last)} of {len(last)}"])
    headers = ["atom", "use", *(f"after timestep {t}" for t in steps), "words kept"]
    caption = f"Top words of the {len(rows)} most used atoms ({chosen.name()}); use: mean share of the codes"
    columns = range(2, 2 + len(steps))
    return details("Atoms and their words", table(headers, rows, caption, text=(), wide=columns))


def topic_tree(chosen):
    """The tree of a hierarchical run after the last timestep, as a picture and as a list; empty without such a run."""
    entries = [entry for entry in chosen.plan if entry["algorithm"] == "hierarchical"]
    entries = [entry for entry in entries if entry["seed"] == chosen.shown["seed"]]
    if not entries:
        return Markup("")
    entry = chosen.shown if chosen.shown in entries else entries[0]
    tree = trees.parse(entry["parameters"].get("tree", "binary"), entry["k"])
    batch = chosen.batch(entry, entry["timesteps"][-1])
    words, use = [held.split() for held, _, _ in batch.atoms], [use for _, _, use in batch.atoms]
    name = f"{entry['run']}, k = {entry['k']}, seed {entry['seed']}, after timestep {entry['timesteps'][-1]}"
    label = f"Tree of topics: {name}"
    drawn = Markup(topictree.svg(tree, words, use=use, title=label))
    return Markup(
        element("p", f"Topics as the tree that they were learned in ({name}); a thicker line: more use below it.")
        + element("div", drawn, class_="scroll", tabindex="0", role="region", aria_label=label)
        + details(
            "The same tree as a list, with the share of the codes", Markup(topictree.nested_list(tree, words, use=use))
        )
    )


def costs(chosen):
    """CPU seconds per timestep of the shown runs, and how many times the fastest of them each takes."""
    sizes = {run: chosen.entry(run)["k"] for run in chosen.runs}
    seconds = {}
    for row in chosen.tables["costs"]:
        if sizes.get(row["run"]) == row["k"]:
            seconds.setdefault(row["t"], {})[row["run"]] = row["score_cpu_s"] + row["learn_cpu_s"]
    rows = []
    for t, held in seconds.items():
        least = min((value for value in held.values() if value > 0), default=float("nan"))
        cells = []
        for run in sizes:
            value = held.get(run, float("nan"))
            times = value / least if least > 0 else float("nan")
            cells += [number(value, ".3g"), f"{number(times, '.3g')} times" if times > 1 else ""]
        rows.append([t, *cells])
    headers = ["t"]
    for run, k in sizes.items():
        headers += [f"{run}, k\u00a0=\u00a0{k}", "of the fastest"]
    caption = "CPU seconds to score and learn each timestep, mean over seeds; not reproducible"
    return details("CPU seconds of every timestep", table(headers, rows, caption))


def timing(chosen):
    """Time and memory per timestep."""
    rows = [
        [row["run"], row["k"] if row["k"] == row["k"] else "", row["jobs"],
         *(number(row[name], ".3g") for name in ("score_cpu_s", "learn_cpu_s", "job_cpu_s", "start_cpu_s", "wall_s")),
         number(row["max_rss_mb"], ".0f")]
        for row in chosen.tables["timing"]
    ]  # fmt: skip
    headers = ["run", "k", "jobs", "score, CPU s", "learn, CPU s", "whole job, CPU s", "start (t = 0), CPU s", "wall s"]
    caption = "Time per timestep (mean over timesteps and seeds) and largest memory of a job; not reproducible"
    return table([*headers, "memory, MB"], rows, caption)
