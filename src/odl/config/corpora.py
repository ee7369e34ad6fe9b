"""The corpora and streams of a study: which there are, and where their files lie."""

import os
from pathlib import Path

from odl.errors import ConfigError
from odl.files import listing


def corpora_of(config):
    """Return the corpora that a study reads: its streams and those of its experiments."""
    more = [stream for entry in config["experiments"].values() for stream in entry.get("streams", [])]
    return list(dict.fromkeys([*config["streams"], *more]))


def order_seed(config, corpus, seed):
    """Return the seed whose batches a seed uses: all share seed 0's if the order is not drawn."""
    settings = config["corpora"][corpus]
    drawn = settings["protocol"] == "topic-entry" or settings["ties"] == "seeded"
    return int(seed) if drawn else 0


def mirror_of(config):
    """Return the mirror: the environment's before the configuration's."""
    return os.environ.get("ODL_MIRROR") or config["mirror"]


def sources_of(config, corpus, registry, data):
    """Return the files a corpus is read from: the user's own, or those the registry names.

    Parameters
    ----------
    config : dict
    corpus : str
    registry : list of dict
        Rows of data/corpora.csv.
    data : str
        Folder of downloads.

    Raises
    ------
    ConfigError
        If a source of the user's does not exist.
    """
    settings = config["corpora"][corpus]
    if settings["reader"] != "documents":
        return [f"{data}/{row['folder']}/{row['file']}" for row in registry if row["corpus"] == settings["reader"]]
    files, kind = [], settings["options"].get("kind") if "options" in settings else None
    for source in settings["sources"]:
        found = listing.expand(source, kind)
        named = f"corpora.{corpus}.sources names {source}"
        if found is None:
            raise ConfigError(f"{named}, which does not exist", "a file, a folder or a pattern", "correct it")
        if not kind and any(not listing.kind_of(path) for _, path in found):
            expected = f"files that end in one of {listing.endings()}"
            raise ConfigError(named, expected, "set options.kind, or rename or convert it")
        files += [path if path == source else str(Path(path)) for _, path in found]
    if not files:
        raise ConfigError(f"corpora.{corpus}.sources holds no files", f"some of {listing.endings()}", "add files")
    return files
