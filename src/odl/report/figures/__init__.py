"""Figures of a stream: one file each, drawn from the plan and the tables of a study, imported when they are drawn.

A module is a figure, under the name of its file, if it has

    PLACE : (str, float)        section of the page, and where in it: its tables stand at 1, 2, ..., so 1.5 is between
                                the first two; a section that the page does not have comes last
    draw(chosen) -> Picture     from a `odl.report.selection.Selection`; `absent(reason)` where there is nothing to draw
    NEEDS : str                 a table that only some studies have; without it the figure is of every study

A picture is written as PNG and SVG under ``{corpus}-{name}``; ``{corpus}-figures.json`` holds its place, its caption,
its text alternative and whether there was anything to draw. Pictures of seconds differ from run to run; the others are
reproducible bytes.
"""

import os
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from odl import rooms
from odl.evaluation import study
from odl.evaluation.plan import load_plan
from odl.files.tables import read_table, write_json
from odl.report import plots
from odl.report.selection import Selection


def _said(word, path):
    """Return what a file says of itself in a line ``WORD = value``; read, not imported, so that one loads no other."""
    found = re.search(rf'^{word} = (?:\(?)"([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    return found and found[1]


_FOLDERS = (Path(__file__).parent, rooms.PAPERS / "figures")  # the second where there is one
_FILES = sorted(
    (path for folder in _FOLDERS for path in folder.glob("*.py") if _said("PLACE", path)), key=lambda path: path.stem
)
FIGURES = {path.stem: _said("NEEDS", path) for path in _FILES}  # name -> the table that it needs, or None
NAMES = tuple(name for name, needed in FIGURES.items() if needed is None)  # of every study


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


def module_of(name):
    """Return the module of a figure, one of `FIGURES`."""
    path = next(path for path in _FILES if path.stem == name)
    return rooms.papers(f"figures.{name}") if path.parent == _FOLDERS[1] else import_module(f"{__name__}.{name}")


def draw(name, chosen):
    """Draw one of `FIGURES` for a `odl.report.selection.Selection`."""
    return module_of(name).draw(chosen)


def write(plan, tables_folder, output_folder, settings=None, regret=None):
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
    regret : path-like, optional
        What `odl.papers.regrettables.gather_regret` wrote; its picture is drawn as well.
    """
    plan, found = load_plan(plan), study.read_tables(tables_folder)
    if regret:
        found = {**found, "regret": read_table(regret)}
    for corpus in dict.fromkeys(entry["corpus"] for entry in plan):
        chosen, held = Selection(plan, found, corpus, settings), {}
        for name in (name for name, needed in FIGURES.items() if needed is None or needed in found):
            picture = draw(name, chosen)
            plots.save(picture.figure, os.path.join(output_folder, f"{corpus}-{name}"))
            place = list(module_of(name).PLACE)
            held[name] = {"place": place, "caption": picture.caption, "alt": picture.alt, "drawn": picture.drawn}
        write_json(os.path.join(output_folder, f"{corpus}-figures.json"), held)
