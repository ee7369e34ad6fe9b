"""The corpora and streams of a study: which there are, and where their files lie."""

import os
from pathlib import Path

from odl.errors import ConfigError

SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")  # of a user's own documents


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


def _is_source(file):
    return file.is_file() and not file.name.startswith(".") and file.name.lower().endswith(SUFFIXES)


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
    files = []
    for source in settings["sources"]:
        if os.path.isdir(source):
            files += sorted(str(file) for file in Path(source).iterdir() if _is_source(file))
        elif os.path.exists(source):
            if not source.lower().endswith(SUFFIXES):
                expected = f"a file that ends in one of {', '.join(SUFFIXES)}"
                raise ConfigError(f"corpora.{corpus}.sources names {source}", expected, "rename or convert it")
            files.append(source)
        else:
            raise ConfigError(
                f"corpora.{corpus}.sources names {source}, which does not exist", "a file or a folder", "correct it"
            )
    if not files:
        raise ConfigError(f"corpora.{corpus}.sources holds no files", f"some of {', '.join(SUFFIXES)}", "add files")
    return files
