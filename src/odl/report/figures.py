"""Which data go into which figure: from a plan and its tables to the pictures of every corpus.

A picture is written as PNG and SVG under ``{corpus}-{name}``; ``{corpus}-figures.json`` holds its
caption, its text alternative and whether there was anything to draw. Only ``time``, ``costs`` and
``tradeoff`` are drawn from timings; the others are reproducible bytes.
"""

import json
import os
from dataclasses import dataclass

import numpy as np
import pandas

from odl.evaluation import metrics, regretmeans, study, tables
from odl.evaluation.plan import BASELINE, load_plan
from odl.files.json_files import write_json
from odl.files.tables import read_table
from odl.report import costplots, plots, regretplots, streamplots
from odl.report.selection import LINES, Selection, thin, topic_strip

MOST_PANELS = 9  # ROC curves


@dataclass
class Picture:
    """A figure with its caption and its text alternative; `drawn` is False where there was no data."""

    figure: object
    caption: str
    alt: str
    drawn: bool = True


def _absent(reason):
    return Picture(plots.note(reason), reason, reason, drawn=False)


def _references(chosen):
    summary = chosen.frame("summary")
    values = summary[summary["algorithm"] == BASELINE].set_index("run")["average_mean"]
    found = [(name, float(values[name])) for name in LINES if name in values and not np.isnan(values[name])]
    known = [row for row in chosen.tables["published"] if not row["run"].startswith("L2")]
    return found + [(f"{row['run']}, published", row["average"]) for row in known]


def _auc(chosen):
    frame = chosen.frame("averages")
    frame = frame[frame["run"].isin(chosen.runs)].dropna(subset=["average"])
    if frame.empty:
        return _absent("No timestep has enough novel and known documents for an average AUC.")
    frame = frame.assign(order=frame["run"].map(chosen.runs.index)).sort_values(["order", "k", "seed"])
    references = _references(chosen)
    best = frame.groupby(["run", "k"])["average"].mean()
    (run, k), n_seeds = best.idxmax(), frame["seed"].nunique()
    several = frame["k"].nunique() > 1
    caption = (
        f"Average AUC {'against the number of atoms k' if several else 'of every run'}, "
        + (f"mean and standard deviation over {n_seeds} seeds" if n_seeds > 1 else "one seed")
        + ". Grey: baselines that need no dictionary"
        + (", and published values of batches of 1000 (as recalled)." if chosen.tables["published"] else ".")
    )
    alt = f"Average AUC of {', '.join(chosen.runs)}. Best: {run} with k = {k:g}, {best.max():.3f}. " + "; ".join(
        f"{name} {value:.3f}" for name, value in references
    )
    return Picture(plots.auc_against_k(frame, references), caption, alt)


def _time(chosen):
    frame = chosen.frame("timing")
    frame = frame[frame["run"].isin(chosen.runs)].dropna(subset=["score_cpu_s", "learn_cpu_s"])
    if frame.empty:
        return _absent("No timings were recorded.")
    frame = frame.assign(order=frame["run"].map(chosen.runs.index)).sort_values(["order", "k"])
    total = frame["score_cpu_s"] + frame["learn_cpu_s"]
    caption = "CPU seconds per timestep against the number of atoms, without start-up: mean over timesteps and seeds."
    alt = f"CPU seconds per timestep to score and to learn, {total.min():.3g} to {total.max():.3g} s in all."
    return Picture(costplots.time_against_k(frame), caption, alt)


def _costs(chosen):
    frame = chosen.frame("costs")
    sizes = {run: chosen.entry(run)["k"] for run in chosen.runs}
    frame = frame[frame["k"] == frame["run"].map(sizes)]
    frame = frame.assign(cpu_s=frame["score_cpu_s"] + frame["learn_cpu_s"]).dropna(subset=["cpu_s"])
    if frame.empty:
        return _absent("No timings were recorded.")
    frame = frame.assign(order=frame["run"].map(chosen.runs.index)).sort_values(["order", "t"])
    frame = frame.assign(run=[f"{run}, k = {sizes[run]}" for run in frame["run"]])
    caption = "CPU seconds to score and learn each timestep, without start-up: mean over seeds."
    totals = frame.groupby("run", sort=False)["cpu_s"].sum()
    alt = "CPU seconds of all timesteps: " + ", ".join(f"{run} {total:.3g}" for run, total in totals.items()) + "."
    return Picture(costplots.cost_by_timestep(frame), caption, alt)


def _tradeoff(chosen):
    quality = chosen.frame("summary").dropna(subset=["average_mean"])
    costs = chosen.frame("costs")
    costs = costs.assign(cpu_s=costs["score_cpu_s"] + costs["learn_cpu_s"]).dropna(subset=["cpu_s"])
    totals = costs.groupby(["run", "k"], as_index=False)["cpu_s"].sum()
    frame = quality[quality["run"].isin(chosen.runs)].merge(totals, on=["run", "k"])
    if frame.empty:
        return _absent("Nothing to compare: no run has both an average AUC and timings.")
    frame = frame.assign(order=frame["run"].map(chosen.runs.index)).sort_values(["order", "k"])
    caption = (
        "Average AUC against the CPU seconds to score and learn the whole stream; a point is a number of atoms k. Mean "
        "and standard deviation over seeds."
    )
    alt = "Average AUC and CPU seconds: " + "; ".join(
        f"{row.run}, k = {row.k:g}: {row.average_mean:.3f} in {row.cpu_s:.3g} s" for row in frame.itertuples()
    )
    return Picture(costplots.auc_against_time(frame), caption, alt)


def find_sweeps(averages, prefer=None):
    """Find runs of one algorithm and k that differ in one number only.

    Parameters
    ----------
    averages : DataFrame
        algorithm, k, run, seed, parameters (JSON), average.
    prefer : int, optional
        Dictionary size to take where several have equally many values.

    Returns
    -------
    list of (algorithm, k, parameter, DataFrame with value, seed, average)
        For each algorithm and parameter the dictionary size with the most values.
    """
    rows = []
    for row in averages.to_dict("records"):
        flat = _flat(json.loads(row["parameters"]))
        for name, value in flat.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = json.dumps({key: held for key, held in flat.items() if key != name}, sort_keys=True)
                key = {"parameter": name, "value": float(value), "others": others}
                rows.append({**{column: row[column] for column in ("algorithm", "k", "seed", "average")}, **key})
    found = {}
    if not rows:
        return []
    for (algorithm, k, name, _), part in pandas.DataFrame(rows).groupby(["algorithm", "k", "parameter", "others"]):
        rank = (part["value"].nunique(), k == prefer)
        if rank[0] > 1 and rank > found.get((algorithm, name), ((0, False),))[0]:
            found[algorithm, name] = (rank, k, part[["value", "seed", "average"]])
    return [(algorithm, k, name, found[algorithm, name][2]) for algorithm, name, k in _swept(found)]


def _swept(found):
    return sorted((algorithm, name, k) for (algorithm, name), (_, k, _) in found.items())


def _flat(parameters, prefix=""):
    flat = {}
    for name, value in parameters.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _parameters(chosen):
    averages = chosen.frame("averages")
    averages = averages[averages["algorithm"] != BASELINE].dropna(subset=["average"])
    sweeps = find_sweeps(averages, chosen.shown["k"]) if len(averages) else []
    if not sweeps:
        return _absent("No parameter was swept: no two runs differ in the value of one parameter only.")
    panels = [
        (f"{algorithm.replace('_', ' ').replace('admm', 'ADMM')}, k = {k:g}", name, part)
        for algorithm, k, name, part in sweeps
    ]
    caption = "Average AUC against one parameter, all else equal: mean and standard deviation over seeds."
    texts = []
    for title, name, part in panels:
        mean = part.groupby("value")["average"].mean()
        texts.append(f"{title}: {name} from {mean.index.min():g} to {mean.index.max():g}, best at {mean.idxmax():g}")
    return Picture(plots.sensitivity(panels), caption, "Average AUC against a parameter. " + "; ".join(texts))


def _timesteps(chosen):
    frame = chosen.frame("timesteps")
    sizes = {run: chosen.entry(run)["k"] for run in chosen.runs}
    drawn = [name for name in LINES if name in set(frame["run"])]
    keep = [run in drawn or sizes.get(run) == k for run, k in zip(frame["run"], frame["k"], strict=True)]
    frame = frame[np.array(keep, dtype=bool)].dropna(subset=["auc_mean"])
    if frame.empty:
        return _absent("No timestep has both novel and known documents.")
    order = [*chosen.runs, *drawn]
    frame = frame.assign(order=frame["run"].map(order.index)).sort_values(["order", "t"])
    names = {run: f"{run}, k = {k}" for run, k in sizes.items()}
    frame = frame.assign(run=frame["run"].replace(names))
    caption = (
        "AUC at every timestep that has novel and known documents, mean and standard deviation over seeds. "
        "Hollow marks: timesteps with too few of either to be in the average. Grey: baselines."
    )
    low, high = frame["auc_mean"].min(), frame["auc_mean"].max()
    runs = ", ".join(dict.fromkeys(frame["run"]))
    alt = f"AUC over {frame['t'].nunique()} timesteps for {runs}: {low:.2f} to {high:.2f}."
    return Picture(streamplots.auc_by_timestep(frame, drawn), caption, alt)


def _novel(chosen):
    frame = chosen.frame("novel")
    if frame.empty:
        return _absent("The stream has one batch only, which is not evaluated.")
    if frame["novel_mean"].sum() + frame["known"].sum() == 0:
        return _absent("No document has a topic: there is nothing to evaluate.")
    caption = (
        "Novel documents in every batch, that is documents of topics that no earlier batch has: mean and range over "
        "seeds. Dark: timesteps in the average AUC."
    )
    alt = "Novel documents per batch: " + ", ".join(
        f"{t}: {mean:.3g}" for t, mean in zip(frame["t"], frame["novel_mean"], strict=True)
    )
    return Picture(streamplots.novel_by_batch(frame), caption, alt)


def _different(chosen, most):
    """The shown run and some others, those of other algorithms first, in the order of the plan."""
    algorithms = {entry["run"]: entry["algorithm"] for entry in chosen.plan}
    picked = [chosen.shown["run"]]
    for fresh in (True, False):
        for run in chosen.runs:
            used = {algorithms[name] for name in picked}
            if run not in picked and len(picked) < most and (not fresh or algorithms[run] not in used):
                picked.append(run)
    return [run for run in algorithms if run in picked]


def _roc(chosen):
    panels, listed = [], thin(chosen.listed(), MOST_PANELS)
    base = chosen.baselines()
    for t in listed:
        curves = []
        for run in _different(chosen, 3):
            batch = chosen.batch(chosen.entry(run), t)
            curves.append(_curve(run, batch.scores[run], chosen.labels(batch), False))
        if base:
            held = chosen.batch(base, t)
            curves.append(_curve(LINES[0], held.scores[LINES[0]], chosen.labels(held), True))
        panels.append((f"t = {t} ({int((chosen.labels(batch) == 1).sum())} novel)", curves))
    if not panels:
        return _absent("No timestep has both novel and known documents.")
    caption = f"ROC curves with their AUC, seed {chosen.shown['seed']}" + (
        f"; {len(panels)} of {len(chosen.listed())} timesteps." if len(listed) < len(chosen.listed()) else "."
    )
    alt = "; ".join(f"{title}: " + ", ".join(f"{c[0]} {c[3]:.2f}" for c in curves) for title, curves in panels)
    return Picture(streamplots.roc(panels), caption, "ROC curves. " + alt)


def _curve(name, score, labels, reference):
    false, true, _ = metrics.roc_curve(score, labels)
    return name, false, true, metrics.auc(score, labels), reference


def _scores(chosen):
    batches = [chosen.batch(chosen.shown, t) for t in chosen.shown["timesteps"] if t > 0]
    if not batches:
        return _absent("The stream has one batch only, which is not evaluated.")
    score = np.concatenate([batch.scores[chosen.shown["run"]] for batch in batches])
    labels = np.concatenate([chosen.labels(batch) for batch in batches])
    starts = np.cumsum([0] + [len(batch.ids) for batch in batches[:-1]])
    ticks = [f"t = {batch.t}\n{tables.iso(batch.times.min())[:10]}" for batch in batches]
    caption = (
        f"Novelty score of every document ({chosen.name()}). Documents that no atom helps to explain score exactly 1 "
        f"and tie: {100 * np.mean(score == 1):.1f} % of all."
    )
    low = streamplots.lower_limit(score, labels)
    below = int((score < low).sum())
    if below:
        caption += f" {below} documents of known or no topic below the axis are drawn on its lower edge."
    medians = [f"{np.median(score[labels == label]):.2f} for {name}" for label, name in ((1, "novel"), (0, "known"))
               if (labels == label).any()]  # fmt: skip
    alt = f"Novelty scores of {len(score)} documents in {len(batches)} batches."
    alt += f" Median {', '.join(medians)}." if medians else " None of them has a topic."
    return Picture(streamplots.scores_over_time(score, labels, starts, ticks), caption, alt)


def _topics(chosen):
    use, steps, words, shown_steps, atoms = topic_strip(chosen)
    if not len(atoms):
        return _absent("No atom is used by any document.")
    caption = (
        f"The {len(atoms)} most used atoms of {chosen.shown['k']} ({chosen.name()}): their share of the codes at every "
        "timestep, and their top words as they change."
    )
    alt = "Top words of the most used atoms: " + "; ".join(row[-1] or "(empty)" for row in words)
    return Picture(streamplots.topics(use, steps, words, shown_steps), caption, alt)


def _regret(chosen):
    frame = pandas.DataFrame(chosen.tables["regret"], columns=list(regretmeans.COLUMNS))
    if frame.empty:
        return _absent("The regret of no run was measured.")
    nearest = frame.groupby("run")["k"].transform(lambda sizes: min(sizes, key=lambda k: abs(k - chosen.shown["k"])))
    frame = frame[frame["k"] == nearest]
    return Picture(regretplots.regret(frame), *regretplots.words(frame))


_DRAWN = {
    "auc": _auc,
    "parameters": _parameters,
    "timesteps": _timesteps,
    "novel": _novel,
    "roc": _roc,
    "scores": _scores,
    "topics": _topics,
    "time": _time,
    "costs": _costs,
    "tradeoff": _tradeoff,
}
NAMES = tuple(_DRAWN)
_DRAWN["regret"] = _regret  # where it was measured


def draw(name, chosen):
    """Draw one picture of `NAMES` for a `odl.report.selection.Selection`."""
    return _DRAWN[name](chosen)


def write(plan, tables_folder, output_folder, settings=None, names=NAMES, regret=None):
    """Draw the pictures of every corpus of a plan.

    Parameters
    ----------
    plan : list of dict or path-like
        As for `odl.evaluation.study.summarise`.
    tables_folder : path-like
        What `odl.evaluation.study.summarise` wrote.
    output_folder : path-like
        Receives ``{corpus}-{name}.png``, ``.svg`` and ``{corpus}-figures.json``. Where there is nothing
        to draw the picture says so, so that the files always exist.
    settings : dict, optional
        As for `odl.report.selection.Selection`.
    names : sequence of str
        Which pictures to draw.
    regret : path-like, optional
        What `odl.evaluation.regretmeans.gather_regret` wrote; its picture is drawn as well.
    """
    plan, found = load_plan(plan), study.read_tables(tables_folder)
    if regret:
        found, names = {**found, "regret": read_table(regret)}, (*names, "regret")
    for corpus in dict.fromkeys(entry["corpus"] for entry in plan):
        chosen, held = Selection(plan, found, corpus, settings), {}
        for name in names:
            picture = draw(name, chosen)
            plots.save(picture.figure, os.path.join(output_folder, f"{corpus}-{name}"))
            held[name] = {"caption": picture.caption, "alt": picture.alt, "drawn": picture.drawn}
        write_json(os.path.join(output_folder, f"{corpus}-figures.json"), held)
