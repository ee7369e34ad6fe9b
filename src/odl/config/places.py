"""Paths of the workflow, its defaults and profiles; access to the optional `odl.papers`."""

import os
from importlib import import_module
from pathlib import Path

from odl.errors import ConfigError

PACKAGE = Path(__file__).resolve().parents[1]
WHEEL_DATA = PACKAGE / "share"  # files that CMakeLists.txt adds to a wheel
HOME = WHEEL_DATA if (WHEEL_DATA / "workflow" / "Snakefile").is_file() else PACKAGE.parents[1]
SNAKEFILE = HOME / "workflow" / "Snakefile"
# Snakefile for a folder made by `odl init --snakemake`.
FOLDER_SNAKEFILE = HOME / "workflow" / "own.smk"
PROFILE = HOME / "profiles" / "default" / "config.yaml"
REGISTRY = HOME / "data" / "corpora.csv"
SCHEMAS = HOME / "workflow" / "schemas"


def unwritable(folder):
    """Return the path that prevents writing into a folder, or None.

    The path is the folder or its nearest existing parent.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    Path or None
    """
    folder = Path(folder)
    while not os.path.lexists(folder):  # a broken link exists, and no folder can be made there
        folder = folder.parent
    return None if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK) else folder


def has_papers():
    """Return whether `odl.papers` is installed."""
    return (PACKAGE / "papers" / "__init__.py").exists()


def papers(name):
    """Return a module of `odl.papers`.

    Raises
    ------
    ConfigError
        If `odl.papers` is not installed.
    """
    if not has_papers():
        raise ConfigError(
            "this copy of odl lacks odl.papers (experiments, rivals, emerging topics, regret)",
            "the complete package",
            "install the complete package, or remove these from the study",
        )
    return import_module(f"odl.papers.{name}")
