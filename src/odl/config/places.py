"""Paths of the workflow, its defaults and profiles, and access to the optional `odl.papers`."""

import os
from importlib import import_module
from pathlib import Path

from odl.errors import ConfigError

PACKAGE = Path(__file__).resolve().parents[1]
WHEEL_DATA = PACKAGE / "share"  # files that CMakeLists.txt adds to a wheel
HOME = WHEEL_DATA if (WHEEL_DATA / "workflow" / "Snakefile").is_file() else PACKAGE.parents[1]
SNAKEFILE = HOME / "workflow" / "Snakefile"
# Snakefile that `odl init --snakemake` copies into a folder.
FOLDER_SNAKEFILE = HOME / "workflow" / "own.smk"
PROFILE = HOME / "profiles" / "default" / "config.yaml"
REGISTRY = HOME / "data" / "corpora.csv"
SCHEMAS = HOME / "workflow" / "schemas"


def unwritable(folder):
    """Return the path that prevents writing into a folder, or None if it can be written.

    The path is the folder, or its nearest existing parent if it does not exist.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    Path or None
    """
    folder = Path(folder)
    while not os.path.lexists(folder):  # a broken link exists, but no folder can be created there
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
            "install the complete package, or remove these sections from the configuration",
        )
    return import_module(f"odl.papers.{name}")
