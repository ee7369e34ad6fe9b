"""Where the workflow, its defaults and profiles lie: in a checkout at its top, in a wheel inside the package."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SHARE = PACKAGE / "share"  # what setup.py puts into a wheel
HOME = SHARE if (SHARE / "workflow" / "Snakefile").is_file() else PACKAGE.parents[1]
SNAKEFILE = HOME / "workflow" / "Snakefile"
PROFILE = HOME / "profiles" / "default" / "config.yaml"
REGISTRY = HOME / "data" / "corpora.csv"
SCHEMAS = HOME / "workflow" / "schemas"


def unwritable(folder):
    """Return what keeps a folder from being made or written: itself or the nearest that is there, or None.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    Path or None
    """
    folder = Path(folder)
    while not os.path.lexists(folder):  # a link that leads nowhere is there, and can be no folder
        folder = folder.parent
    return None if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK) else folder
