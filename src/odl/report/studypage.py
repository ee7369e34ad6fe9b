"""One self-contained page about a study, and its main table for the terminal."""

import json
import os
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from odl.evaluation import study
from odl.evaluation.plan import load_plan
from odl.files import storage
from odl.files.escaping import visible
from odl.files.tables import read_json
from odl.report import page, studysections
from odl.report.page import mean_sd, number
from odl.report.selection import Selection

# Sections of the page about a corpus and their tables (macros of studysections.jinja), at places 1, 2, ...; a figure
# says where it stands itself.
TABLES = {
    "Result": ("main", "full"),
    "Timesteps": ("by_timestep", "intervals"),
    "Scores": ("ties",),
    "Regret": (),
    "Most novel documents": ("top",),
    "Emerging topics": (),
    "Topics": ("topics", "topic_tree"),
    "Time and memory": ("timing",),
    "Runs": ("runs",),
}


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
    tables, blocks = study.read_tables(tables_folder), []
    for corpus in dict.fromkeys(row["corpus"] for row in tables["summary"]):
        summary = [row for row in tables["summary"] if row["corpus"] == corpus]
        names, learners, baselines = studysections.pivot(summary)
        lines = [["", *names], *([run, *map(_average, rows)] for run, rows in learners.items())]
        lines += [[row["run"], _average(row)] for row in baselines]
        published = [row for row in tables["published"] if row["corpus"] == corpus]
        lines += [[f"{row['run']} (published, as recalled)", number(row["average"])] for row in published]
        widths = [max(len(line[i]) for line in lines if len(line) > i) for i in range(len(names) + 1)]
        seeds = max((row["seeds"] for row in summary), default=0)
        head = f"{corpus}: average AUC, " + (f"mean ± sd over {seeds} seeds" if seeds > 1 else "one seed")
        body = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip() for line in lines
        ]
        ruled = [head, body[0], "-" * max(map(len, body)), *body[1:]]
        if any(cell == "-" for line in lines for cell in line):
            ruled.append("-: no timestep has enough novel and known documents; without topics none has any")
        blocks.append("\n".join(ruled))
    return visible("\n\n".join(blocks) + "\n")


def _average(row):
    return "" if row is None else mean_sd(row["average_mean"], row["average_sd"]) or "-"


def _picture(selection, streams, name, entry):
    """What stands in the place of a figure: itself, or why there is none."""
    if not entry["drawn"]:
        return page.element("p", entry["caption"], class_="note")
    stem = os.path.join(streams.figures, f"{selection.corpus}-{name}")
    return page.macros("page.jinja").picture(stem, entry["caption"], entry["alt"])


def _corpus(selection, streams):
    """Sections that have anything in them: a key and a title each, then its tables and pictures in their places."""
    tables, sections = page.macros("studysections.jinja", facts=studysections), {}
    for title, names in TABLES.items():
        shows = [*(getattr(tables, name) for name in names), *streams.sections.get(title, ())]
        sections[title] = [(place, show(selection)) for place, show in enumerate(shows, start=1)]
    for name, entry in read_json(os.path.join(streams.figures, f"{selection.corpus}-figures.json")).items():
        title, place = entry["place"]
        sections.setdefault(title, []).append((place, _picture(selection, streams, name, entry)))
    for title, placed in sections.items():
        contents = [content for _, content in sorted(placed, key=itemgetter(0))]
        if any(content.strip() for content in contents):
            yield f"{selection.corpus}-{title.lower().replace(' ', '-')}", title, contents


def verdict(selection):
    """Say in a sentence or two how the best learner compares with the best baseline."""
    text = page.macros("studysections.jinja", facts=studysections).verdict(selection)
    return page.Markup(" ".join(text.split(None)))


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

    def corpora(self):
        """The selection and the sections of each corpus of the plan."""
        plan, tables = load_plan(self.plan), study.read_tables(self.tables)
        for corpus in dict.fromkeys(entry["corpus"] for entry in plan):
            selection = Selection(plan, tables, corpus, self.settings)
            yield selection, list(_corpus(selection, self))


def write(path, streams=None, *, title, config=None, experiments=()):
    """Write the page of a study: one HTML file that needs nothing else.

    Parameters
    ----------
    path : path-like
    streams : Streams, optional
    title : str
    config : dict, optional
        The configuration, shown as it is (but for the mirror, which changes nothing).
    experiments : list of (str, str, Markup)
        Of each experiment a name, its heading and what is shown of it (`odl.papers.experiments.section`).

    Raises
    ------
    ConfigError, DataError, StorageError
        If the run to show does not exist, or a file is missing or damaged.
    """
    config = {name: value for name, value in (config or {}).items() if name != "mirror"}
    text = page.render(
        "studypage.jinja",
        title=title,
        corpora=list(streams.corpora()) if streams else [],
        experiments=[(f"experiment-{name}", heading, content) for name, heading, content in experiments if content],
        config=json.dumps(config, indent=2, ensure_ascii=False) if config else "",
        facts=studysections,
    )
    with storage.replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
