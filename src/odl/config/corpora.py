"""The corpora and streams of a study: which there are, and where their files lie."""

import hashlib
import os
import re
from pathlib import Path

from odl.errors import ConfigError, DataError
from odl.files import listing

HASHED = 100_000_000  # bytes of a file up to which its content is looked at when Snakemake starts

WILDCARD = re.compile(r"\{\s*\w+\s*(,[^{}]*)?\}")  # in a name of a file, where Snakemake puts something else

# Shares of files: where one ends follows from the files near it, so one that comes, goes or changes leaves the others.
SMALLEST, MOST = 1 << 20, 128  # bytes of a share; shares of that size, before it is doubled
ALONE = 2 * SMALLEST  # bytes from which on a single share is one
ENDS = 32  # of 256 files, one in so many may end a share that is half full


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
        If a source of the user's does not exist, a folder of them cannot be read, or the name of a file is not UTF-8.
    """
    settings = config["corpora"][corpus]
    if settings["reader"] != "documents":
        return [f"{data}/{row['folder']}/{row['file']}" for row in registry if row["corpus"] == settings["reader"]]
    where, named = f"corpora.{corpus}.sources", set(settings["sources"])
    try:
        members = listing.find_files(settings["sources"], settings.get("options", {}).get("kind"))
    except DataError as error:
        raise ConfigError(f"{where}: {error.given}", error.expected, error.todo) from error
    except OSError as error:
        fault = f"{where} names {error.filename}, which cannot be read ({error.strerror})"
        raise ConfigError(fault, "a file, a folder or a pattern", "correct its permissions") from error
    files = [path if path in named else str(Path(path)) for _, path in members]
    refuse_names(files)
    return files


def refuse_names(paths, wildcards=False):
    """Refuse files whose names are not UTF-8, as those of configurations and tables are.

    Parameters
    ----------
    paths : list of str
    wildcards : bool
        Refuse names that Snakemake takes for patterns as well.

    Raises
    ------
    ConfigError
        Naming the first.
    """
    for path in paths:
        if not path.isascii() and path != path.encode("utf-8", "replace").decode("utf-8"):
            shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            raise ConfigError(f"the name of {shown} is not UTF-8", "names in UTF-8", "rename it")
        if wildcards and WILDCARD.search(path):
            defect = f"the name of {path} holds {WILDCARD.search(path)[0]}, which Snakemake takes for a wildcard"
            raise ConfigError(defect, "names without such braces", "rename it")


def contents_of(paths):
    """Return a digest of what files hold, of large ones of their sizes alone.

    One may have changed and be older than what was made of it (a clock that was set back, a copy that kept its time),
    which Snakemake does not see. What cannot be read is left to the job that reads it, which says why.

    Parameters
    ----------
    paths : list of str

    Returns
    -------
    str
    """
    digest = hashlib.sha256()
    for path in map(Path, paths):
        size = os.path.getsize(path) if os.path.exists(path) else -1
        digest.update(f"{path}:{size};".encode())
        if 0 <= size <= HASHED:
            try:
                digest.update(path.read_bytes())
            except OSError as error:
                digest.update(str(error.strerror).encode())
    return digest.hexdigest()


def shares_of(paths):
    """Cut a list of files into shares.

    Parameters
    ----------
    paths : list of str
        In the order in which they are read.

    Returns
    -------
    dict
        Name of a share -> its files, in order; empty where one would do, unless it is so large that to read it again
        when another file comes costs more than to join. A large file is a share of its own.
    """
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    size = SMALLEST
    while size * MOST < sum(sizes):
        size *= 2
    shares, current, filled = {}, None, 0
    for path, length in zip(paths, sizes, strict=True):
        digest = hashlib.sha256(os.fsencode(path)).digest()
        if current is None or filled + length > size:
            current, filled = shares.setdefault(digest[:6].hex(), []), 0
        current.append(path)
        filled += length
        if 2 * filled > size and digest[-1] < ENDS:  # where lists that differ before it end a share alike
            current = None
    return shares if len(shares) > 1 or sum(sizes) > ALONE else {}
