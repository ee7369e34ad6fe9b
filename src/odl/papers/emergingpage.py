"""The part of a study's page about emerging topics, made from a `odl.report.selection.Selection`."""

import os

from odl.files.tables import read_table
from odl.papers import emergingfiles
from odl.report.page import Markup, details, element, mean_sd, number, table
from odl.report.selection import thin
from odl.report.studysections import MOST_STEPS, percent

TITLE = "Emerging topics"


def _with_topics(rows, selection):
    """The entry of the plan whose emerging topics are shown: the shown run, or another of its seed; None without."""
    followed = {(row["run"], row["k"]) for row in rows}
    entries = [entry for entry in selection.plan if entry["seed"] == selection.shown["seed"]]
    entries = [entry for entry in entries if (entry["run"], entry["k"]) in followed]
    return selection.shown if selection.shown in entries else next(iter(entries), None)


def _clusters(entry, selection, t):
    """Heading and table of the clusters of one timestep."""
    emerging, batch = (
        emergingfiles.read_emerging(os.path.join(entry["folder"], "emerging", f"{t}.h5")),
        selection.batch(entry, t),
    )
    rule, rows = selection.settings.get("topics", "all"), []
    for place, each in enumerate(emergingfiles.describe(emerging, batch, rule), start=1):
        topic = f"{each['topic']} ({percent(each['topic_share'])})" if each["topic"] else ""
        name = each["title"] or each["representative"]
        rows.append([place, each["size"], percent(each["share_novel"]), topic, ", ".join(each["words"]), name])
    truth, summary = emergingfiles.judge(emerging, batch, rule), f"Timestep {t}: "
    summary += f"{len(rows)} cluster{'s' * (len(rows) != 1)}, {truth['clustered']} of {truth['selected']} documents"
    if truth["novel_topics"]:
        summary += f"; {truth['found']} of {truth['novel_topics']} novel topics found"
    headers = ["cluster", "documents", "novel", "most frequent topic", "top words", "best-reconstructed document"]
    caption = f"Emerging topics of timestep {t}, {entry['run']}, k = {entry['k']}, seed {entry['seed']}"
    shown = (
        table(headers, rows, caption, text=(3,), wide=(4, 5)) if rows else element("p", "No cluster is large enough.")
    )
    return details(summary, shown, opened=truth["found"] > 0)


def _agreement(rows, entry):
    """Table of the clusters beside the truth, by timestep, and their mean."""
    means = [row for row in rows if (row["run"], row["k"]) == (entry["run"], entry["k"])]
    counts = ("selected", "clusters", "clustered", "novel_topics", "reachable", "found")
    rows = [
        [row["t"], *(number(row[name], ".3g") for name in counts), percent(row["novel_share"]),
         mean_sd(row["purity_mean"], row["purity_sd"]), mean_sd(row["f1_mean"], row["f1_sd"])]
        for row in means
    ]  # fmt: skip
    headers = ["t", "documents", "clusters", "in clusters", "novel topics", "within reach", "found", "novel documents"]
    caption = (
        f"Clusters beside the truth, {entry['run']}, k = {entry['k']}, means (± standard deviation) over seeds. "
        "A novel topic is found if more than half of a cluster is of it, and within reach if any document looked at is"
    )
    return table([*headers, "purity", "B-cubed F1"], rows, caption)


def section(table, selection):
    """Clusters of the most novel documents of every timestep, and how they agree with the truth; empty without.

    Parameters
    ----------
    table : path-like
        What `odl.papers.emergingfiles.gather` wrote.
    selection : odl.report.selection.Selection
    """
    rows = [row for row in read_table(table, emergingfiles.OVER_SEEDS) if row["corpus"] == selection.corpus]
    entry = _with_topics(rows, selection)
    if entry is None:
        return Markup("")
    text = (
        "The most novel documents of each timestep, grouped by a small dictionary fitted to them alone: a document is "
        "in the cluster of its largest code; one without a code, or in a group that is too small, is in none."
    )
    steps = thin([t for t in entry["timesteps"] if t > 0], MOST_STEPS)
    blocks = Markup("".join(_clusters(entry, selection, t) for t in steps))
    return Markup(element("p", text) + _agreement(rows, entry) + blocks)
