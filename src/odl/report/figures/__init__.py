"""Figures with the results of a study on a stream, each in its own module.

A module of this package is a figure if it has

    PLACE : (str, float)        section of the page, and position in it. Tables have the positions
                                1, 2, ..., so 1.5 is between the first two tables. A section that
                                the page lacks is appended to it.
    draw(selection) -> Picture  draws an `odl.report.selection.Selection`, or returns
                                `absent(reason)` without data.

Figures are written as ``{corpus}-{name}.png`` and ``.svg``. ``{corpus}-figures.json`` contains the
place, caption and text alternative of each figure, and whether it has data. Bytes are reproducible,
except those of figures with CPU times.
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
    """Import all figures; return {name: module}."""
    imported = {
        file.name: import_module(f"{__name__}.{file.name}")
        for file in pkgutil.iter_modules(__path__)
    }
    return {name: imported[name] for name in sorted(imported) if hasattr(imported[name], "PLACE")}


@dataclass
class Picture:
    """Figure with caption and text alternative; `drawn` is False without data."""

    figure: object
    caption: str
    alt: str
    drawn: bool = True


def absent(reason):
    """Return a picture that shows only the reason why a figure has no data."""
    return Picture(plots.note(reason), reason, reason, drawn=False)


def draw(name, selection):
    """Draw the figure `name` of a selection, in the style of `odl.report.plots`."""
    with plots.style():
        return modules()[name].draw(selection)


def write(plan, tables_folder, output_folder, settings=None):
    """Draw the figures of every corpus of a plan.

    Parameters
    ----------
    plan : list of dict or path-like
        Plan of the study (`odl.evaluation.study.summarise`).
    tables_folder : path-like
        Folder written by `odl.evaluation.study.summarise`.
    output_folder : path-like
        Folder for ``{corpus}-{name}.png``, ``.svg`` and ``{corpus}-figures.json``. All files are
        written; a figure without data shows the reason.
    settings : dict, optional
        Settings of `odl.report.selection.Selection`.
    """
    plan, tables = load_plan(plan), study.read_tables(tables_folder)
    for corpus in dict.fromkeys(entry["corpus"] for entry in plan):
        selection, pictures = Selection(plan, tables, corpus, settings), {}
        for name, module in modules().items():
            picture = draw(name, selection)
            plots.save(picture.figure, os.path.join(output_folder, f"{corpus}-{name}"))
            pictures[name] = {
                "place": list(module.PLACE),
                "caption": picture.caption,
                "alt": picture.alt,
                "drawn": picture.drawn,
            }
        write_json(os.path.join(output_folder, f"{corpus}-figures.json"), pictures)
