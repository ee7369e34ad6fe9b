"""Self-contained HTML page of a study, and its main table as plain text."""

import json
import os
from dataclasses import dataclass, field
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from odl.evaluation import metrics, study
from odl.evaluation.scorefiles import without_window
from odl.evaluation.study import BASELINE, load_plan, parameters_text
from odl.files import storage
from odl.files.escaping import visible
from odl.files.tables import read_json, read_table
from odl.report import page
from odl.report.page import element, mean_sd, number, percent
from odl.report.selection import Selection, references, thin

# Sections of each corpus on the page, with the names of their tables, which are macros in
# studysections.jinja. Tables have the positions 1, 2, ... in a section. A figure is inserted at the
# position in `PLACE` of its module in `odl.report.figures`.
SECTION_TABLES = {
    "Result": ("main", "full"),
    "Timesteps": ("by_timestep", "intervals"),
    "Scores": ("ties",),
    "Regret": (),
    "Most novel documents": ("top",),
    "Emerging topics": (),
    "Topics": ("topics",),
    "Time and memory": ("timing",),
    "Runs": ("runs",),
}
MOST_STEPS, MOST_ATOMS = 60, 40  # maximum numbers of timesteps and of atoms in a table
BOOTSTRAP_REPLICATES = 500  # number of samples for the interval of a difference of AUC
UNDEFINED = (float("nan"),) * 3  # result of `paired_difference` if it is not defined


def main_table(tables_folder):
    """Return the main table of a study as plain text, with one table for each corpus.

    A block has rows for learners, with a column for each k, baselines and published values.

    Parameters
    ----------
    tables_folder : path-like
        Folder that `odl.evaluation.study.summarise` wrote.

    Returns
    -------
    str
        Average AUC, as mean ± standard deviation over seeds.
    """
    tables, blocks = study.read_tables(tables_folder), []
    for corpus in dict.fromkeys(row["corpus"] for row in tables["summary"]):
        of_corpus = {
            name: [row for row in tables[name] if row["corpus"] == corpus]
            for name in ("summary", "published")
        }
        blocks.append(_text_block(corpus, **of_corpus))
    return visible("\n\n".join(blocks) + "\n")


def _text_block(corpus, summary, published):
    """Return the block of a corpus, from its rows in the tables summary and published."""
    names, learners, baselines = pivot(summary)
    rows = [["", *names]]
    rows += [[run, *map(_average, averages)] for run, averages in learners.items()]
    rows += [[row["run"], _average(row)] for row in baselines]
    rows += [
        [f"{row['run']} (published, as recalled)", number(row["average"])] for row in published
    ]
    # Rows of baselines and published values have only two cells.
    widths = [max(len(row[i]) for row in rows if len(row) > i) for i in range(len(names) + 1)]
    body = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
    n_seeds = max((row["seeds"] for row in summary), default=0)
    seeds = f"mean ± sd over {n_seeds} seeds" if n_seeds > 1 else "one seed"
    lines = [f"{corpus}: average AUC, {seeds}", body[0], "-" * max(map(len, body)), *body[1:]]
    if any(cell == "-" for row in rows for cell in row):
        lines.append("-: no timestep has enough novel and known documents, which need topics")
    return "\n".join(lines)


def _average(row):
    """Format the average AUC of a row of the summary; return "-" if it is undefined."""
    return "" if row is None else mean_sd(row["average_mean"], row["average_sd"]) or "-"


def _picture(selection, streams, name, entry):
    """Return the HTML of a figure, or of the reason why it has no data."""
    if not entry["drawn"]:
        return element("p", entry["caption"], class_="note")
    stem = os.path.join(streams.figures, f"{selection.corpus}-{name}")
    return page.macros("page.jinja").picture(stem, entry["caption"], entry["alt"])


def _corpus(selection, streams):
    """Yield (HTML id, title, contents) of each section of a corpus that is not empty.

    The contents are the HTML of tables and figures, sorted by position.
    """
    tables, sections = page.macros("studysections.jinja", facts=FACTS), {}
    for title, names in SECTION_TABLES.items():
        shows = [*(getattr(tables, name) for name in names), *streams.sections.get(title, ())]
        sections[title] = [(number, show(selection)) for number, show in enumerate(shows, start=1)]
    for name, entry in read_json(
        os.path.join(streams.figures, f"{selection.corpus}-figures.json")
    ).items():
        title, position = entry["place"]
        picture = _picture(selection, streams, name, entry)
        sections.setdefault(title, []).append((position, picture))
    for title, placed in sections.items():
        contents = [content for _, content in sorted(placed, key=itemgetter(0))]
        if any(content.strip() for content in contents):
            yield f"{selection.corpus}-{title.lower().replace(' ', '-')}", title, contents


def verdict(selection):
    """Return one or two sentences that compare the best learner with the best baseline."""
    text = page.macros("studysections.jinja", facts=FACTS).verdict(selection)
    return page.Markup(" ".join(text.split(None)))


@dataclass(frozen=True)
class Streams:
    """Plan, tables and figures of a study that its page shows.

    Attributes
    ----------
    plan : list of dict or path-like
        Plan of the study (`odl.evaluation.study.summarise`).
    tables, figures : path-like
        Folders written by `odl.evaluation.study.summarise` and `odl.report.figures.write`.
    settings : dict
        Settings of `odl.report.selection.Selection`, equal to those of the figures.
    sections : dict
        Title of a section -> further functions that return HTML for a `Selection`.
    """

    plan: Any
    tables: Any
    figures: Any
    settings: dict = field(default_factory=dict)
    sections: dict = field(default_factory=dict)

    def corpora(self):
        """Yield (selection, sections) for each corpus in the plan."""
        plan, tables = load_plan(self.plan), study.read_tables(self.tables)
        for corpus in dict.fromkeys(entry["corpus"] for entry in plan):
            selection = Selection(plan, tables, corpus, self.settings)
            yield selection, list(_corpus(selection, self))


def write(path, streams=None, *, title, config=None, experiments=()):
    """Write the page of a study, one self-contained HTML file.

    Parameters
    ----------
    path : path-like
    streams : Streams, optional
    title : str
    config : dict, optional
        Configuration, which is shown without the mirror.
    experiments : list of (str, str, Markup)
        Name, heading and content of each experiment (`odl.papers.experiments.section`).

    Raises
    ------
    ConfigError, DataError, StorageError
        If the run shown in detail does not exist, or a file is missing or damaged.
    """
    config = {name: value for name, value in (config or {}).items() if name != "mirror"}
    text = page.render(
        "studypage.jinja",
        title=title,
        corpora=list(streams.corpora()) if streams else [],
        experiments=[
            (f"experiment-{name}", heading, content)
            for name, heading, content in experiments
            if content
        ],
        config=json.dumps(config, indent=2, ensure_ascii=False) if config else "",
        facts=FACTS,
    )
    with storage.replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(text)


def pivot(summary):
    """Arrange the rows of the summary for the main table.

    Parameters
    ----------
    summary : list of dict
        Rows of the table ``summary``.

    Returns
    -------
    names : list of str
        Column titles, one for each number of atoms.
    learners : dict of str to list
        Name of a run -> its row of the summary for each number of atoms, or None.
    baselines : list of dict
        Rows of the baselines, by decreasing AUC.
    """
    learners, sizes = {}, sorted({row["k"] for row in summary if row["algorithm"] != BASELINE})
    for row in summary:
        if row["algorithm"] != BASELINE:
            learners.setdefault(row["run"], [None] * len(sizes))[sizes.index(row["k"])] = row
    baselines = [row for row in summary if row["algorithm"] == BASELINE]
    baselines.sort(key=lambda row: -np.nan_to_num(row["average_mean"], nan=-1))
    return [f"k = {k}" for k in sizes], learners, baselines


def best_of(summary, baseline):
    """Return the row with the largest average AUC among baselines or learners, or None.

    Parameters
    ----------
    summary : list of dict
        Rows whose average is NaN are ignored.
    baseline : bool
        Whether to choose among baselines instead of learners.
    """
    rows = [
        row
        for row in summary
        if (row["algorithm"] == BASELINE) == baseline and not np.isnan(row["average_mean"])
    ]
    return max(rows, key=lambda row: row["average_mean"], default=None)


def averages(rows, best):
    """Return the average AUC of each row as text: "" for None, in bold for the row `best`."""
    texts = []
    for row in rows:
        if row is None:
            texts.append("")
            continue
        text = mean_sd(row["average_mean"], row["average_sd"]) or "undefined"
        texts.append(element("b", text, class_="best") if row is best else text)
    return texts


def paired_difference(selection, name):
    """Return (difference, low, high) of the AUCs of the shown run and a baseline.

    The result is `UNDEFINED` if no documents are evaluated, or if the baselines were run with
    another seed and therefore with other batches.
    """
    shown, baselines = selection.shown, selection.baselines()
    run_scores, baseline_scores, labels = [], [], []
    for t in shown["timesteps"]:
        if t == 0:  # the first batch is not evaluated
            continue
        run_batch, baseline_batch = selection.batch(shown, t), selection.batch(baselines, t)
        if run_batch.ids != baseline_batch.ids:
            return UNDEFINED
        run_scores.append(run_batch.scores[shown["run"]])
        baseline_scores.append(baseline_batch.scores[without_window(name)])
        labels.append(selection.labels(run_batch))
    if not labels:
        return UNDEFINED
    return metrics.auc_difference(
        np.concatenate(run_scores),
        np.concatenate(baseline_scores),
        np.concatenate(labels),
        replicates=BOOTSTRAP_REPLICATES,
    )


def stream(selection):
    """Return facts about the stream of a corpus.

    Returns
    -------
    dict
        "seeds", "batches" (number of batches as text, "5 to 8" if it depends on the seed),
        "documents" (number), "novel" (mean number of novel documents) and "listed" (timesteps in
        the average).
    """
    novel = selection.tables["novel"]
    n_batches = {len(entry["timesteps"]) for entry in selection.plan}
    limits = sorted({min(n_batches), max(n_batches)})  # one number if they are equal
    return {
        "seeds": sorted({entry["seed"] for entry in selection.plan}),
        "batches": " to ".join(map(str, limits)),
        "documents": sum(row["documents"] for row in novel),
        "novel": sum(row["novel_mean"] for row in novel),
        "listed": [row["t"] for row in novel if row["seeds_listed"] > 0],
    }


def runs(selection):
    """Return (name, algorithm, numbers of atoms, parameters) of each run of a learner as texts."""
    entries_of = {}
    for entry in selection.plan:
        if entry["algorithm"] != BASELINE:
            entries_of.setdefault(entry["run"], []).append(entry)
    rows = []
    for run, entries in entries_of.items():
        sizes = dict.fromkeys(str(entry["k"]) for entry in entries)  # without duplicates
        parameters = parameters_text(entries[0]["parameters"])
        rows.append((run, entries[0]["algorithm"], ", ".join(sizes), parameters))
    return rows


def by_timestep(selection):
    """Return the table of batches as (names of its last columns, rows).

    A row has the number of a batch, its dates, numbers of documents, whether the average includes
    it, and the AUC of each run and baseline in the names.
    """
    sizes = selection.sizes()
    baselines = references(row["run"] for row in selection.tables["timesteps"])
    values = {
        (row["run"], row["t"]): mean_sd(row["auc_mean"], row["auc_sd"])
        for row in selection.tables["timesteps"]
        if row["run"] in baselines or sizes.get(row["run"]) == row["k"]
    }
    rows = []
    for row in selection.tables["novel"]:
        dates = " to ".join(dict.fromkeys([row["first_time"][:10], row["last_time"][:10]]))
        counts = [
            number(row[name], ".4g")
            for name in ("documents", "novel_mean", "known", "unlabelled", "empty")
        ]
        texts = [values.get((run, row["t"]), "") for run in [*sizes, *baselines]]
        rows.append([row["t"], dates, *counts, "yes" if row["seeds_listed"] > 0 else "", *texts])
    return [*_labels_with_size(sizes), *baselines], rows


def _labels_with_size(sizes):
    """Return labels of runs with their numbers of atoms."""
    return [f"{run}, k\u00a0=\u00a0{k}" for run, k in sizes.items()]


def by_batch(selection):
    """Return the rows of auc.tsv of the shown run in which the AUC is defined."""
    rows = read_table(os.path.join(selection.shown["folder"], "auc.tsv"))
    return [row for row in rows if not np.isnan(row["auc"])]


def ties(selection):
    """Return facts about tied scores of the shown run.

    Returns
    -------
    uncoded, tied : float
        Share of documents with a zero code, and share with the same score as another document.
    n_empty : int
        Number of documents without terms.
    """
    batches = [selection.batch(selection.shown, t) for t in selection.shown["timesteps"] if t > 0]
    if not batches:
        return 0.0, 0.0, 0
    scores = np.concatenate([batch.scores[selection.shown["run"]] for batch in batches])
    counts = np.unique(scores, return_counts=True)[1]
    uncoded = sum(batch.uncoded * len(batch.ids) for batch in batches) / len(scores)
    n_empty = sum(int(batch.empty.sum()) for batch in batches)
    return uncoded, counts[counts > 1].sum() / len(scores), n_empty


def top(selection):
    """Yield the most novel documents of each of at most `MOST_STEPS` timesteps.

    Yields
    ------
    dict
        "t": timestep. "rows": list of (score, label, title or id, topics, unexplained words).
        "labelled": whether documents have labels. "tied": number of documents with the highest
        score. "novel": numbers of novel documents that are "shown", "tied", and in the batch
        ("all").
    """
    for t in thin([t for t in selection.shown["timesteps"] if t > 0], MOST_STEPS):
        batch = selection.batch(selection.shown, t)
        labels, score = selection.labels(batch), batch.scores[selection.shown["run"]]
        rows = []
        for row, words in batch.top:
            name = batch.titles[row] or batch.ids[row]
            rows.append((score[row], int(labels[row]), name, batch.topics[row], _shares(words)))
        tied, shown = score == score.max(initial=0.0), [row for row, _ in batch.top]
        novel = {"shown": int((labels[shown] == 1).sum()), "all": int((labels == 1).sum())}
        novel["tied"] = int((labels[tied] == 1).sum())
        yield {
            "t": t,
            "rows": rows,
            "labelled": (labels >= 0).any(),
            "tied": int(tied.sum()),
            "novel": novel,
        }


def _shares(text):
    """Reformat ``word:0.034`` as ``word 3.4 %``."""
    parts = [entry.rsplit(":", 1) for entry in text.split()]
    return ", ".join(f"{word}\u00a0{percent(float(share))}" for word, share in parts)


def topics(selection):
    """Return the table of the most used atoms as (column titles, rows).

    The columns are the first, a middle and the last timestep. A row has the number of an atom, its
    mean share of the use of all atoms, its words after each of these timesteps, and the number of
    words in common after the first and the last.
    """
    batches = [selection.batch(selection.shown, t) for t in selection.shown["timesteps"]]
    use = np.zeros((max(len(batch.use) for batch in batches), len(batches)))
    for column, batch in enumerate(batches):
        use[: len(batch.use), column] = batch.use
    totals = np.maximum(use.sum(axis=0), 1e-300)  # 0 in batches that use no atom
    share = (use / totals).mean(axis=1)
    listed, rows = thin(batches, 3), []
    order = np.argsort(-share, kind="stable")[:MOST_ATOMS]
    for atom in order[share[order] > 0]:
        # An atom has no words before the batch in which it was added.
        words = [batch.atoms[atom] if atom < len(batch.atoms) else "" for batch in listed]
        first, last = set(words[0].split()), set(words[-1].split())
        rows.append(
            [int(atom), percent(share[atom]), *words, f"{len(first & last)} of {len(last)}"]
        )
    return [f"after timestep {batch.t}" for batch in listed], rows


# Functions that the Jinja templates of the page call by name, as `facts.NAME`.
PAGE_FUNCTIONS = (
    best_of,
    pivot,
    averages,
    paired_difference,
    stream,
    runs,
    by_timestep,
    by_batch,
    ties,
    top,
    topics,
)
FACTS = SimpleNamespace(**{function.__name__: function for function in PAGE_FUNCTIONS})
