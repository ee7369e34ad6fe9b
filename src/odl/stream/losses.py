"""What was taken out of the documents of a run before their words were counted, and which words left, in one line."""

import os
import re
from itertools import islice
from pathlib import Path

import numpy as np

from odl.errors import StorageError
from odl.files import documents as docs
from odl.files import storage
from odl.stream import boilerplate


def sentence(documents, features):
    """Return what cleaners, boilerplate, a minimum of words and a bound on terms took out; "" where nothing was to be.

    Parameters
    ----------
    documents : path-like
        documents.h5 of the corpus.
    features : path-like
        Folder of the features of a seed, which tell what was boilerplate.
    """
    parts = []
    try:
        with storage.reading(documents, "documents") as file:
            n_documents = int(file["ids"].attrs["length"])
            sums = {name: _sums(characters) for name, characters in docs.read_removed(file).items()}
            sums["boilerplate"] = _boilerplate(Path(features))
            left = _left(Path(features))
            n_dropped = int(file["dropped"]["ids"].attrs["length"]) if "dropped" in file else 0
    except (StorageError, OSError, KeyError):
        return ""
    for name, (n_touched, n_characters) in sums.items():
        if n_touched:
            parts.append(f"{name} of {n_touched:,} ({n_characters:,} characters)")
    said = f"cleaned {n_documents:,} documents: {', '.join(parts)}" if parts else ""
    dropped = f"{n_dropped:,} more were too short and are left out" if n_dropped else ""
    return "; ".join(filter(None, [said, dropped, left]))


def _newest(folder):
    """Yield the files of the features, newest first."""
    names = os.listdir(folder) if folder.is_dir() else []
    for t in sorted((int(name[:-3]) for name in names if re.fullmatch(r"\d+\.h5", name)), reverse=True):
        yield folder / f"{t}.h5"


def _left(folder):
    """Return how many terms a bounded vocabulary has let go."""
    for path in islice(_newest(folder), 1):
        with storage.reading(path, "features") as file:
            if most := int(file.attrs.get("max_terms", 0)):
                gone = int(file.attrs["n_numbered"]) - int(file["vocabulary"].attrs["length"])
                return f"{gone:,} words, unseen for longest, were forgotten (max_terms {most:,})" if gone else ""
    return ""


def _sums(characters):
    return int(np.count_nonzero(characters)), int(characters.sum(dtype=np.int64))


def _boilerplate(folder):
    """Return of how many documents of all timesteps boilerplate was taken, and its characters."""
    for path in islice(_newest(folder), 1):
        with storage.reading(path, "features") as file:
            return boilerplate.sums(file)
    return 0, 0
