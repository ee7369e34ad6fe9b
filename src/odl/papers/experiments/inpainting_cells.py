"""One table over runs of the inpainting experiment that differ in their settings; quick, so it can be made again alone.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), table 1.
"""

import os

from odl.errors import DataError
from odl.files.tables import read_json, read_table, write_table
from odl.papers.common import spread
from odl.papers.experiments import HELD
from odl.report.page import element, number, table

TITLE = "Inpainting of image patches: what moves the errors"
TAKES, ALGORITHMS = ("experiments",), ()
SETTINGS = {}
VARIED = ("scale", "stop", "tolerance", "min_contrast", "train", "validation", "test")
SUMMARY = ("flat", "tree", "difference")
BESIDE = ("flat_equal", "difference_equal", "gaussian")
PAPER = ("flat_paper", "tree_paper")


def run(settings, folder, files):
    """Gather what the runs found, a row for each run and share of missing pixels, into ``runs.tsv``.

    Raises
    ------
    DataError
        If a folder is not one of the inpainting experiment.
    """
    del settings  # there are none
    write_table(os.path.join(folder, "runs.tsv"), [row for place in files for row in rows_of(place)])


def rows_of(folder):
    """Return the rows of one run: what it varied, and the errors with their deviations over seeds."""
    held, name = read_json(os.path.join(folder, HELD)), os.path.basename(os.path.normpath(folder))
    if held["experiment"] != "inpainting":
        given = f"{name} is a run of the experiment {held['experiment']}"
        raise DataError(given, "runs of inpainting", "name those under experiments")
    summary, beside = (read_table(os.path.join(folder, f"{kind}.tsv"), delete=folder) for kind in ("summary", "beside"))
    rows = []
    for one, other in zip(summary, beside, strict=True):
        row = {"run": name, **{key: held["settings"][key] for key in VARIED}}
        row |= {"missing": one["missing"], "seeds": one["seeds"]}
        for source, columns in ((one, SUMMARY), (other, BESIDE)):
            row |= {key: source[key] for column in columns for key in (column, f"{column}_sd")}
        rows.append({**row, **{key: one[key] for key in PAPER}})
    return rows


def section(folder):
    """Return the part of the page: one table, a row for each run and share of missing pixels."""
    columns = ("flat", "flat_equal", "tree", "difference", "difference_equal", "gaussian")
    rows = [
        [
            row["run"],
            *(f"{row[key]:g}" if key != "stop" else row[key] for key in VARIED),
            f"{row['missing']:g} %",
            f"{row['seeds']:g}",
            *(spread(row[key], row[f"{key}_sd"]) for key in columns),
            *(number(row[key], ".1f") for key in PAPER),
        ]
        for row in read_table(os.path.join(folder, "runs.tsv"))
    ]
    headers = ["run", "scale", "stop", "tolerance", "least contrast", "patches learned from", "chosen on", "tested"]
    headers += ["missing pixels", "seeds", "flat", "flat, size of the tree", "tree", "tree - flat"]
    headers += ["tree - flat, size of the tree", "linear Gaussian", "flat, published", "tree, published"]
    caption = "Mean square error x 100 of test patches, mean ± standard deviation over seeds; differences are paired"
    return [
        element("p", "The published values stand beside all runs; what the paper did about smoothness, stopping and "
                "contrast it does not say in numbers. Which run comes near says what moves the errors, not what was "
                "done."),
        table(headers, rows, caption),
    ]  # fmt: skip
