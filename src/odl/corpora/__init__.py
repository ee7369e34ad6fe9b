"""Readers: one module per corpus, which reads files into `odl.files.documents.Documents`.

A module is a reader if it has

    READER : str                            name of the reader in the configuration
    OPTIONS : dict                          name of an option -> JSON schema of its value
    FILES : sequence of str                 file names in data/corpora.csv that are passed as
                                            `sources`; None if the configuration names the files
    read(sources, options) -> Documents
"""

import functools
import os
import pkgutil
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from odl.errors import ConfigError, DataError, nearest

if TYPE_CHECKING:
    from odl.files.documents import Documents


@functools.cache
def readers() -> dict[str, ModuleType]:
    """Import all readers, and return them by their names in the configuration.

    Examples
    --------
    >>> from odl import corpora
    >>> sorted(corpora.readers())[:3]
    ['20news', 'arxiv-cs', 'documents']
    """
    modules = (
        import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    )
    return {module.READER: module for module in modules if hasattr(module, "READER")}


def read(
    name: str, sources: Sequence[str | os.PathLike] = (), options: dict[str, Any] | None = None
) -> "Documents":
    """Read a corpus.

    Parameters
    ----------
    name : str
        Name of a reader (see `readers`).
    sources : sequence of path-like
        Source files, in the order of the registry. For ``documents`` files or folders; none for
        ``scipydocs`` and ``simulation``.
    options : dict, optional
        Options of the reader (see its module).

    Returns
    -------
    odl.files.documents.Documents
        In the order of the source.

    Raises
    ------
    ConfigError
        If the reader or an option is unknown.
    DataError
        If a source has another format than the reader expects, or contains no document.

    Examples
    --------
    >>> from odl import corpora
    >>> documents = corpora.read("simulation", options={"documents": 240, "days": 6})
    >>> len(documents), documents.ids[0], documents.topics[0]
    (240, 'sim-000001', ('returning-01',))
    """
    from odl.corpora.checks import check_options, check_sources

    module, options = _reader(name), {} if options is None else options
    check_options(name, options, module.OPTIONS)
    paths = [str(source) for source in sources]
    documents = module.read(
        paths if module.FILES is None else check_sources(name, paths, module.FILES), options
    )
    if not len(documents):
        raise DataError(
            f"{', '.join(paths) or name} contains no document",
            "at least one document",
            "correct the source, or download it again",
        )
    return documents


def _reader(name):
    """Return the reader of this name; the others are not imported for the reader ``documents``."""
    if name == "documents":
        return import_module(f"{__name__}.collection")
    if name not in readers():
        raise ConfigError(
            f"the reader {name!r} is unknown{nearest(name, readers())}",
            "one of " + ", ".join(readers()),
            "correct the name",
        )
    return readers()[name]
