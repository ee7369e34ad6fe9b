"""Readers: one module a corpus, each turning its source files into `odl.files.documents.Documents`."""

from collections.abc import Mapping
from importlib import import_module

from odl.corpora.checks import nearest
from odl.errors import ConfigError

# Reader -> module with a function read(sources, options). Imported when used.
READERS = {
    "20news": "odl.corpora.news20",
    "arxiv-cs": "odl.corpora.arxiv_cs",
    "documents": "odl.corpora.documents",
    "nips": "odl.corpora.nips",
    "reuters21578": "odl.corpora.reuters21578",
    "reuters21578-cai": "odl.corpora.reuters21578_cai",
    "scipydocs": "odl.corpora.scipydocs",
    "tdt2": "odl.corpora.tdt2",
}


def read(name, sources=(), options=None):
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
