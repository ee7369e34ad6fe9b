"""Readers: one module a corpus, each turning its source files into `odl.files.documents.Documents`.

A module is a reader if it has

    READER : str                            its name in the configuration
    OPTIONS : dict                          name of an option -> JSON schema
    read(sources, options) -> Documents
    OWN_FILES = True                        where its sources are named by the study, not by data/corpora.csv
"""

import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odl.errors import ConfigError, nearest

if TYPE_CHECKING:
    from odl.files.documents import Documents

# Reader -> module, of the files that name one; read, not imported, so that asking for one imports no other.
READERS = {
    found[1]: f"odl.corpora.{path.stem}"
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if (found := re.search(r'^READER = "([a-z0-9-]+)"$', path.read_text(encoding="utf-8"), re.MULTILINE))
}


def read(name: str, sources: Sequence[str | os.PathLike] = (), options: Mapping[str, Any] | None = None) -> "Documents":
    """Read a corpus.

    Parameters
    ----------
    name : str
        A key of `READERS`.
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
    if name not in READERS:
        raise ConfigError(
            f"the reader {name!r} is unknown{nearest(name, READERS)}",
            "one of " + ", ".join(READERS),
            "correct the name",
        )
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"the options of the reader {name!r} are {options!r}", "a mapping", "give each by its name")
    return import_module(READERS[name]).read([str(source) for source in sources], dict(options or {}))


def has_own_files(name: str) -> bool:
    """Whether a study names the files of a reader itself.

    Examples
    --------
    >>> from odl import corpora
    >>> corpora.has_own_files("documents"), corpora.has_own_files("tdt2")
    (True, False)
    """
    return getattr(import_module(READERS[name]), "OWN_FILES", False)


def schema() -> dict[str, dict]:
    """Return the options of every reader, as the configuration's schema has them.

    Examples
    --------
    >>> from odl import corpora
    >>> sorted(corpora.schema())[:3]
    ['20news', 'arxiv-cs', 'documents']
    """
    return {name: import_module(module).OPTIONS for name, module in READERS.items()}
