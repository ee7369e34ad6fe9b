"""What was taken out of the documents of a run before their words were counted, and which words left, in one line."""

import os

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
        Of the last timestep, which tell what was boilerplate and which words left.
    """
    parts = []
    try:
        with storage.reading(documents, "documents") as file:
            n_documents = int(file["ids"].attrs["length"])
            sums = {name: _sums(characters) for name, characters in docs.read_removed(file).items()}
            sums["boilerplate"], left = _of_features(features)
            n_dropped = int(file["dropped"]["ids"].attrs["length"]) if "dropped" in file else 0
    except (StorageError, OSError, KeyError):
        return ""
    for name, (n_touched, n_characters) in sums.items():
        if n_touched:
            parts.append(f"{name} of {n_touched:,} ({n_characters:,} characters)")
    said = f"cleaned {n_documents:,} documents: {', '.join(parts)}" if parts else ""
    dropped = f"{n_dropped:,} more were too short and are left out" if n_dropped else ""
    return "; ".join(filter(None, [said, dropped, left]))


def _of_features(path):
    """Return of how many documents boilerplate was taken with its characters, and which words left."""
    if not os.path.exists(path):
        return (0, 0), ""
    with storage.reading(path, "features") as file:
        taken = boilerplate.sums(file)
        most = int(file.attrs.get("max_terms", 0))
        gone = int(file.attrs["n_numbered"]) - int(file["vocabulary"].attrs["length"]) if most else 0
        return taken, f"{gone:,} words, unseen for longest, were forgotten (max_terms {most:,})" if gone else ""


def _sums(characters):
    return int(np.count_nonzero(characters)), int(characters.sum(dtype=np.int64))
