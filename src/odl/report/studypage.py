"""One self-contained page about a study, and its main table for the terminal."""

import json
import os
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from odl.evaluation import intervals, study
from odl.evaluation.plan import load_plan
from odl.evaluation.scorefiles import without_window
from odl.files import storage
from odl.files.escaping import visible
from odl.files.tables import read_json
from odl.report import page, studysections
from odl.report.page import element, mean_sd, number
from odl.report.selection import Selection, thin

# Sections of the page about a corpus and their tables, at places 1, 2, ...; a figure says where it stands itself.
TABLES = {
    "Result": (studysections.main, studysections.full),
    "Timesteps": (studysections.by_timestep, studysections.intervals),
    "Scores": (studysections.ties,),
    "Regret": (),
    "Most novel documents": (studysections.top,),
    "Emerging topics": (),
    "Topics": (studysections.topics, studysections.topic_tree),
    "Time and memory": (studysections.timing, studysections.costs),
    "Runs": (studysections.runs,),
}


def _key(corpus, name):
    return f"{corpus}-{name}"


def main_table(tables_folder):
    """The main table of a study as plain text: learners by k, baselines, published rows.

    Parameters
    ----------
    tables_folder : path-like
        What `odl.evaluation.study.summarise` wrote.

    Returns
    -------
    str
        Average AUC, mean ± standard deviation over seeds, one block per corpus.
    """
    found, blocks = study.read_tables(tables_folder), []
    for corpus in dict.fromkeys(row["corpus"] for row in found["summary"]):
        summary = [row for row in found["summary"] if row["corpus"] == corpus]
        learners, baselines, published = studysections.pivot(
            summary, [r for r in found["published"] if r["corpus"] == corpus]
        )
        sizes = studysections.sizes_of(summary)
        lines = [["", *(f"k = {k}" for k in sizes)]]
        for run, by_k in learners.items():
            cells = [by_k.get(k) for k in sizes]
            lines.append(
                [run, *(mean_sd(row["average_mean"], row["average_sd"]) or "-" if row else "" for row in cells)]
            )
        lines += [[row["run"], mean_sd(row["average_mean"], row["average_sd"]) or "-"] for row in baselines]
        lines += [[f"{row['run']} (published, as recalled)", number(row["average"])] for row in published]
        widths = [max(len(line[i]) for line in lines if len(line) > i) for i in range(len(sizes) + 1)]
        seeds = max((row["seeds"] for row in summary), default=0)
        head = f"{corpus}: average AUC, " + (f"mean ± sd over {seeds} seeds" if seeds > 1 else "one seed")
        body = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip() for line in lines
        ]
        ruled = [body[0], "-" * max(map(len, body)), *body[1:]]
        if any(cell == "-" for line in lines for cell in line):
            ruled.append("-: no timestep has enough novel and known documents; without topics none has any")
        blocks.append("\n".join([head, *ruled]))
    return visible("\n\n".join(blocks) + "\n")


def _paired(chosen, name):
    """Paired difference of the shown run and a baseline over all evaluated documents of the shown seed."""
    base, ours, others, labels = chosen.baselines(), [], [], []
    for t in chosen.shown["timesteps"]:
        if t > 0:
            batch, held = chosen.batch(chosen.shown, t), chosen.batch(base, t)
            if batch.ids != held.ids:  # baselines of another seed only
                return (float("nan"),) * 3
            ours.append(batch.scores[chosen.shown["run"]])
            others.append(held.scores[without_window(name)])
            labels.append(chosen.labels(batch))
    if not ours:
        return (float("nan"),) * 3
    return intervals.auc_difference(*(np.concatenate(part) for part in (ours, others, labels)), replicates=500)


def verdict(chosen):
    """Say in a sentence or two how the best learner compares with the best baseline."""
    learner, other = (studysections.best_of(chosen.tables["summary"], baseline) for baseline in (False, True))
    if learner is None:
        return "No timestep has enough novel and known documents for an average AUC."
    ours = f"{learner['run']} with k = {learner['k']} ({mean_sd(learner['average_mean'], learner['average_sd'])})"
    if other is None:
        return f"The best learner in the mean over seeds is {ours}; the baselines were not computed."
    theirs = f"{other['run']} ({mean_sd(other['average_mean'], other['average_sd'])})"
    gap = learner["average_mean"] - other["average_mean"]
    value, low, high = _paired(chosen, other["run"])
    level = low <= 0 <= high and (learner["run"], learner["k"]) == (chosen.shown["run"], chosen.shown["k"])
    if number(learner["average_mean"]) == number(other["average_mean"]):
        text = f"The best learner, {ours}, and the best baseline, {theirs}, are equal to three digits. "
    elif level:
        text = f"The best learner, {ours}, and the best baseline, {theirs}, are level. "
    elif gap < 0:
        text = f"A baseline without a dictionary is better here: {theirs} against {ours} for the best learner. "
    else:
        text = f"The best learner, {ours}, is ahead of the best baseline, {theirs}. "
    if gap < 0 and other["run"].startswith("nearest"):
        compared = "many" if without_window(other["run"]) != other["run"] else "all"
        text += (
            f"The baseline compares every document with {compared} earlier ones, which a dictionary of k atoms does "
            "not keep. "
        )
    if value == value:
        sign = "no difference beyond" if low <= 0 <= high else "worse beyond" if high < 0 else "better beyond"
        text += (
            f"On all documents of the stream together the AUC of {chosen.name()} minus that of {other['run']} is "
            f"{value:+.3f} (95 % interval {low:+.3f} to {high:+.3f}, paired bootstrap): {sign} chance."
        )
    return text.strip()


def _facts(chosen):
    entry, novel = chosen.shown, chosen.tables["novel"]
    seeds = sorted({held["seed"] for held in chosen.plan})
    steps = sorted({len(held["timesteps"]) for held in chosen.plan})
    steps = f"{steps[0]}" if len(steps) == 1 else f"{steps[0]} to {steps[-1]}"
    documents = sum(row["documents"] for row in novel)
    listed = [row["t"] for row in novel if row["seeds_listed"] > 0]
    total = sum(row["novel_mean"] for row in novel)
    several = "seeds" if len(seeds) > 1 else "seed"
    text = (
        f"Corpus reader {entry['reader']}, protocol {entry['protocol']}; {several} {', '.join(map(str, seeds))}; "
        f"{steps} batches, the first only starts the dictionary. {documents:.0f} documents are scored, {total:.0f} of "
        "them are novel" + (" in the mean over seeds. " if len(seeds) > 1 else ". ")
    )
    if not listed:
        return text + "No timestep is in the average."
    few = thin(listed, 12)
    names = (
        ", ".join(map(str, few)) if len(few) == len(listed) else f"{len(listed)} of them, {listed[0]} to {listed[-1]}"
    )
    return text + f"The average is over timesteps {names}."


def _picture(chosen, folder, name, found):
    if not found["drawn"]:
        return element("p", found["caption"], class_="note")
    return page.picture(os.path.join(folder, _key(chosen.corpus, name)), found["caption"], found["alt"])


def _parts(chosen, streams, drawn):
    """Sections of a corpus that have anything in them: a title each, then its tables and pictures in their places."""
    shown = {title: (*tables, *streams.sections.get(title, ())) for title, tables in TABLES.items()}
    placed = {title: list(enumerate((show(chosen) for show in tables), start=1)) for title, tables in shown.items()}
    for name, found in drawn.items():
        title, place = found["place"]
        placed.setdefault(title, []).append((place, _picture(chosen, streams.figures, name, found)))
    parts = [(title, *(content for _, content in sorted(found, key=itemgetter(0)))) for title, found in placed.items()]
    return [part for part in parts if any(part[1:])]


def _corpus(chosen, streams):
    parts = _parts(chosen, streams, read_json(os.path.join(streams.figures, f"{chosen.corpus}-figures.json")))
    bodies = [
        element("section", element("h3", title, id=_key(chosen.corpus, title.lower().replace(" ", "-"))), *content)
        for title, *content in parts
    ]
    links = [
        element("li", element("a", title, href="#" + _key(chosen.corpus, title.lower().replace(" ", "-"))))
        for title, *_ in parts
    ]
    return element(
        "section",
        element("h2", chosen.corpus, id=chosen.corpus),
        element("p", verdict(chosen), class_="lead"),
        element("p", _facts(chosen)),
        element("nav", element("ul", *links), aria_label=f"Parts of {chosen.corpus}"),
        *bodies,
    )


@dataclass(frozen=True)
class Streams:
    """What the page shows of the streams of a study.

    Attributes
    ----------
    plan : list of dict or path-like
        As for `odl.evaluation.study.summarise`.
    tables, figures : path-like
        What `odl.evaluation.study.summarise` and `odl.report.figures.write` wrote.
    settings : dict
        As for `odl.report.selection.Selection`; the same that the figures were drawn with.
    sections : dict
        Of the title of a section more functions of a `Selection` that return what stands there.
    """

    plan: Any
    tables: Any
    figures: Any
    settings: dict = field(default_factory=dict)
    sections: dict = field(default_factory=dict)


def _streams(streams):
    """Names and sections of the corpora of a plan."""
    plan, tables = load_plan(streams.plan), study.read_tables(streams.tables)
    corpora = list(dict.fromkeys(entry["corpus"] for entry in plan))
    bodies = [_corpus(Selection(plan, tables, corpus, streams.settings), streams) for corpus in corpora]
    return list(zip(corpora, corpora, bodies, strict=True))


def _experiment(name, heading, content):
    key = f"experiment-{name}"
    return key, heading, element("section", element("h2", heading, id=key), *content)


def write(path, streams=None, *, title, config=None, experiments=()):
    """Write the page of a study: one HTML file that needs nothing else.

    Parameters
    ----------
    path : path-like
    streams : Streams, optional
    title : str
    config : dict, optional
        The configuration, shown as it is (but for the mirror, which changes nothing).
    experiments : list of (str, str, list of Markup)
        Of each experiment a name, its heading and what is shown of it (`odl.papers.experiments.section`).

    Raises
    ------
    ConfigError, DataError, StorageError
        If the run to show does not exist, or a file is missing or damaged.
    """
    parts = _streams(streams) if streams else []
    parts += [_experiment(*entry) for entry in experiments if entry[2]]
    config = {name: value for name, value in (config or {}).items() if name != "mirror"}
    config = json.dumps(config, indent=2, ensure_ascii=False) if config else ""
    text = page.render("studypage.jinja", title=title, streamed=streams is not None, parts=parts, config=config)
    with storage.replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
