"""The part of a study's page about emerging topics, made from a `odl.report.selection.Selection`."""

import os

from odl.files.tables import read_table
from odl.papers import emergingfiles
from odl.report.page import Markup, render
from odl.report.selection import thin
from odl.report.studysections import MOST_STEPS


def _with_topics(rows, selection):
    """The entry of the plan whose emerging topics are shown: the shown run, or another of its seed; None without."""
    followed = {(row["run"], row["k"]) for row in rows}
    entries = [entry for entry in selection.plan if entry["seed"] == selection.shown["seed"]]
    entries = [entry for entry in entries if (entry["run"], entry["k"]) in followed]
    return selection.shown if selection.shown in entries else next(iter(entries), None)


def section(table, selection):
    """Clusters of the most novel documents of every timestep, and how they agree with the truth; empty without.

    Parameters
    ----------
    table : path-like
        What `odl.papers.emergingfiles.gather` wrote.
    selection : odl.report.selection.Selection
    """
    rows = [row for row in read_table(table, emergingfiles.OVER_SEEDS) if row["corpus"] == selection.corpus]
    entry, steps = _with_topics(rows, selection), []
    if entry is None:
        return Markup("")
    rule = selection.settings.get("topics", "all")
    for t in thin([t for t in entry["timesteps"] if t > 0], MOST_STEPS):
        emerging = emergingfiles.read_emerging(os.path.join(entry["folder"], "emerging", f"{t}.h5"))
        pair = emerging, selection.batch(entry, t), rule
        steps.append((t, emergingfiles.judge(*pair), emergingfiles.describe(*pair)))
    means = [row for row in rows if (row["run"], row["k"]) == (entry["run"], entry["k"])]
    return render("papers/emergingpage.jinja", entry=entry, means=means, steps=steps)
