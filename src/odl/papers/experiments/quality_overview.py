"""Pictures and tables over all the streams that runs of `quality` measured; quick, so it can be drawn again alone."""

import os

from odl.errors import DataError
from odl.files import tables
from odl.papers import qualitypage, qualityplots
from odl.report import page, plots

TITLE = "Learners of bounded memory and nearest neighbours"
TAKES, ALGORITHMS = ("experiments",), ()
SETTINGS = {"shown": {"type": "array", "items": {"type": "string", "minLength": 1}, "default": []}}
FIGURES = {
    "claim": (
        "Average AUC against memory on the streams chosen for the README; otherwise as the picture of all streams.",
        "Lines of AUC against stored numbers; the values are in the tables.",
    ),
    "memory": (
        "Average AUC against memory (stored numbers: all that the dictionary keeps, or word counts of the documents "
        "that a window keeps), mean and sd over seeds. Coloured: dictionaries of growing size; grey: documents "
        "compared with those of a window, one or five neighbours, whichever is better on these labels, and in context "
        "whichever context is better; horizontal: with the whole past, best of four cosines, whose memory grows with "
        "the stream. Points: other methods, "
        "each document by itself, with the numbers that they store at the end of the stream. What is in context "
        "also uses the other documents of the batch: compare it with nearest documents in the same context, and "
        "the plain learner with the plain neighbours.",
        "One panel a stream: lines of AUC against stored numbers; the values are in memory.tsv and table.tsv.",
    ),
    "atoms": (
        "Average AUC against the number of atoms k, mean and sd over seeds. Horizontal lines: nearest documents of the "
        "whole past, best of four cosines, by themselves and in the context of the batch.",
        "One panel a stream: lines of AUC against the number of atoms; the values are in memory.tsv.",
    ),
    "drift": (
        "Mean score of the known documents of a timestep, mean over seeds. Left the scores as they are: as the past "
        "grows they move, so that a threshold of the first batches does not keep its meaning. Right: share of recent "
        "scores below, by which alerts within a budget are given: level where nothing drifts, and below 0.5 since the "
        "recent scores hold those of novel documents too.",
        "Lines of mean scores by timestep, raw and calibrated, a row of panels a stream.",
    ),
}


def run(settings, folder, files):
    """Gather the tables of the folders, and draw them.

    Raises
    ------
    DataError
        If a stream to show was not measured.
    """
    read = qualitypage.read_tables(files)
    streams = {row["stream"] for row in read["memory"]}
    for name in settings["shown"]:
        if name not in streams:
            expected = "one of " + ", ".join(sorted(streams)) if streams else "streams with the part memory"
            raise DataError(f"quality_overview: shown names '{name}'", expected, "correct it or measure its memory")
    for name, rows in read.items():
        if rows:
            tables.write_table(os.path.join(folder, f"{name}.tsv"), rows)
    shown = [row for name in settings["shown"] for row in read["memory"] if row["stream"] == name]
    figures = {
        "claim": lambda: qualityplots.curves(shown, read["table"]) if shown else None,
        "memory": lambda: (
            qualityplots.curves(read["memory"], read["table"], others=read["rivals"]) if streams else None
        ),
        "atoms": lambda: qualityplots.curves(read["memory"], read["table"], "size") if streams else None,
        "drift": lambda: qualityplots.drift(read["drift"]) if read["drift"] else None,
    }
    for name, draw in figures.items():
        figure = draw()
        if figure is not None:
            plots.save(figure, os.path.join(folder, name))


def section(folder):
    """Return what the page says of a finished run."""
    read, parts = qualitypage.read_tables([folder]), []
    if read["table"]:
        caption = (
            "Average AUC, mean ± sd over seeds of order and start. Nearest documents are those of the whole past. In "
            "context: also with the other documents of the batch."
        )
        parts.append(qualitypage.averages(read["table"], caption))
    for name, (caption, alt) in FIGURES.items():
        if os.path.exists(os.path.join(folder, f"{name}.svg")):
            parts.append(page.picture(os.path.join(folder, name), caption, alt))
    for make in qualitypage.MAKERS:
        parts += make(read)
    return parts
