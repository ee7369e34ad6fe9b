"""Optional rooms of the package: `odl.papers`, whose modules the others ask for by name."""

from importlib import import_module
from pathlib import Path

from odl.errors import ConfigError

PAPERS = Path(__file__).parent / "papers"


def has_papers():
    """Return whether this copy of the package has the room of the papers."""
    return (PAPERS / "__init__.py").exists()


def papers(name):
    """Return a module of the room of the papers.

    Raises
    ------
    ConfigError
        If this copy of the package lacks the room.
    """
    if not has_papers():
        given = "this copy of odl lacks odl.papers (experiments, rivals, emerging topics, regret)"
        raise ConfigError(given, "the whole package", "install it, or leave these out of the study")
    return import_module(f"odl.papers.{name}")
