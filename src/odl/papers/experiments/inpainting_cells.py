"""One table over runs of the inpainting experiment that differ in their settings; quick, so it can be repeated alone.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), table 1.
"""

import os

from odl.errors import DataError
from odl.files.tables import read_json, read_table, write_table
from odl.papers.experiments import RECORD

TITLE = "Inpainting of image patches: what moves the errors"
TAKES, ALGORITHMS = ("experiments",), ()
SETTINGS = {}
VARIED = ("scale", "stop", "tolerance", "min_contrast", "train", "validation", "test")
ERRORS = ("flat", "tree", "difference", "flat_equal", "difference_equal", "gaussian")
COLUMNS = ("missing", "seeds", *(f"{name}{end}" for name in ERRORS for end in ("", "_sd")), "flat_paper", "tree_paper")


def run(settings, folder, files):
    """Gather what the runs measured, a row for each run and share of missing pixels, into ``runs.tsv``.

    Raises
    ------
    DataError
        If a folder is not one of the inpainting experiment.
    """
    del settings  # there are none
    write_table(os.path.join(folder, "runs.tsv"), [row for place in files for row in rows_of(place)])


def rows_of(folder):
    """Return the rows of one run: what it varied, and the errors with their deviations over seeds."""
    record, name = read_json(os.path.join(folder, RECORD)), os.path.basename(os.path.normpath(folder))
    if record["experiment"] != "inpainting":
        defect = f"{name} is a run of the experiment {record['experiment']}"
        raise DataError(defect, "runs of inpainting", "name those under experiments")
    summary, beside = (read_table(os.path.join(folder, f"{kind}.tsv"), delete=folder) for kind in ("summary", "beside"))
    varied = {"run": name, **{key: record["settings"][key] for key in VARIED}}
    return [varied | {key: (one | other)[key] for key in COLUMNS} for one, other in zip(summary, beside, strict=True)]
