"""Figures of a stream: one file each, drawn from the plan and the tables of a study, imported when they are drawn.

A module is a figure, under the name of its file, if it has

    PLACE : (str, float)        section of the page, and where in it: its tables stand at 1, 2, ..., so 1.5 is between
                                the first two; a section that the page does not have comes last
    draw(selection) -> Picture  from a `odl.report.selection.Selection`; `absent(reason)` where there is nothing to draw

A picture is written as PNG and SVG under ``{corpus}-{name}``; ``{corpus}-figures.json`` holds its place, its caption,
its text alternative and whether there was anything to draw. Pictures of seconds differ from run to run; the others are
reproducible bytes.
"""

import functools
import os
import pkgutil
from dataclasses import dataclass
from importlib import import_module

from odl.evaluation import study
from odl.evaluation.study import load_plan
from odl.files.tables import write_json
from odl.report import plots
from odl.report.selection import Selection


@functools.cache
def modules():
    """Return the figures by name; all are imported."""
    known = {file.name: import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__)}
    return {name: known[name] for name in sorted(known) if hasattr(known[name], "PLACE")}


@dataclass
class Picture:
    """A figure with its caption and its text alternative; `drawn` is False where there was no data."""

    figure: object
    caption: str
    alt: str
    drawn: bool = True


def absent(reason):
    """Return a picture that only says why there is nothing to draw."""
    return Picture(plots.note(reason), reason, reason, drawn=False)


def draw(name, selection):
    """Draw one of `modules` for a `odl.report.selection.Selection`, in the house style."""
    with plots.style():
        return modules()[name].draw(selection)


def write(plan, tables_folder, output_folder, settings=None):
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
    """
    plan, tables = load_plan(plan), study.read_tables(tables_folder)
    for corpus in dict.fromkeys(entry["corpus"] for entry in plan):
        selection, pictures = Selection(plan, tables, corpus, settings), {}
        for name, module in modules().items():
            picture = draw(name, selection)
            plots.save(picture.figure, os.path.join(output_folder, f"{corpus}-{name}"))
            place = list(module.PLACE)
            pictures[name] = {"place": place, "caption": picture.caption, "alt": picture.alt, "drawn": picture.drawn}
        write_json(os.path.join(output_folder, f"{corpus}-figures.json"), pictures)
