"""Readers: one module a corpus, each turning its source files into `odl.files.documents.Documents`.

A module is a reader if it has

    READER : str                            its name in the configuration
    OPTIONS : dict                          name of an option -> JSON schema
    read(sources, options) -> Documents
    OWN_FILES = True                        where its sources are named by the study, not by data/corpora.csv
"""

import functools
import os
import pkgutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from odl.errors import ConfigError, nearest

if TYPE_CHECKING:
    from odl.files.documents import Documents


@functools.cache
def readers() -> dict[str, ModuleType]:
    """Return the readers by their names in the configuration; all are imported.

    Examples
    --------
    >>> from odl import corpora
    >>> sorted(corpora.readers())[:3]
    ['20news', 'arxiv-cs', 'documents']
    """
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return {module.READER: module for module in modules if hasattr(module, "READER")}


def read(name: str, sources: Sequence[str | os.PathLike] = (), options: Mapping[str, Any] | None = None) -> "Documents":
    """Read a corpus.

    Parameters
    ----------
    name : str
        One of `readers`.
    sources : sequence of path-like
        The files the reader works on, in the order of the registry; for ``documents`` files or
        folders; none for ``scipydocs``.
    options : dict, optional
        The reader's own options (see its module).

    Returns
    -------
    odl.files.documents.Documents
        In the order of the source.

    Raises
    ------
    ConfigError
        If the reader or an option is unknown, or the options are no dict.
    DataError
        If a source is not what the reader expects.

    Examples
    --------
    >>> from odl import corpora
    >>> held = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> len(held), held.ids[0], held.topics[0]
    (240, 'sim-000001', ('returning-01',))
    """
    if name not in readers():
        raise ConfigError(
            f"the reader {name!r} is unknown{nearest(name, readers())}",
            "one of " + ", ".join(readers()),
            "correct the name",
        )
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"the options of the reader {name!r} are {options!r}", "a mapping", "give each by its name")
    return readers()[name].read([str(source) for source in sources], dict(options or {}))


def has_own_files(name: str) -> bool:
    """Whether a study names the files of a reader itself.

    Examples
    --------
    >>> from odl import corpora
    >>> corpora.has_own_files("documents"), corpora.has_own_files("tdt2")
    (True, False)
    """
    return getattr(readers()[name], "OWN_FILES", False)


def schema() -> dict[str, dict]:
    """Return the options of every reader, as the configuration's schema has them.

    Examples
    --------
    >>> from odl import corpora
    >>> sorted(corpora.schema())[:3]
    ['20news', 'arxiv-cs', 'documents']
    """
    return {name: module.OPTIONS for name, module in readers().items()}
