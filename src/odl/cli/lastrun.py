"""Account of the documents of a run: how many are new since the last one, and which files are not read.

The run itself knows of no run before, so that its results are the same however often one runs. What was read last is
noted beside odl.yaml, when a run has ended well.
"""

import contextlib
import glob
import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

from odl.cli import filekinds
from odl.config import project
from odl.errors import StorageError

FILE, KIND = ".last-run.h5", "run"


class Noted(NamedTuple):
    """Documents, those left out for too few words among them.

    Attributes
    ----------
    keys : ndarray of uint64, shape (n_documents,)
        Of their ids.
    contents : ndarray of uint64, shape (n_documents,)
        Of all that was read of them; 0 for one that was left out.
    """

    keys: Any
    contents: Any


def sentence(folder, now, repeats):
    """Return how many documents are new since the last run of a folder that ended well.

    Parameters
    ----------
    folder : path-like
        With odl.yaml; `keep` notes there what was read.
    now, repeats
        As `read` returns them.
    """
    import numpy as np

    try:
        before = _noted(folder)
    except StorageError:
        return "; ".join(filter(None, [f"{_new(now.contents)}: no run before this one is on record", str(repeats)]))
    _, at, was = np.intersect1d(now.keys, before.keys, assume_unique=True, return_indices=True)
    n_changed = int(np.count_nonzero(now.contents[at] != before.contents[was]))
    n_gone = len(before.keys) - len(was)
    parts = [f"{_new(np.delete(now.contents, at))} since the run before"]
    parts += [f"{n_changed:,} changed"] if n_changed else []
    parts += [f"{n_gone:,} no longer in the files"] if n_gone else []
    return "; ".join(filter(None, [*parts, f"{len(now.keys):,} in all", str(repeats)]))


def _new(contents):
    """Return in words how many documents are new, of which those without contents were left out."""
    n, n_short = len(contents), int((contents == 0).sum())
    return f"{n:,} new document{'s' * (n != 1)}" + (f" ({n_short:,} of them too short, left out)" if n_short else "")


def keep(folder, now):
    """Note what was read, for `sentence` of the next run; where that cannot be, the next run says that it is the first.

    Parameters
    ----------
    folder, now
        As for `sentence`.
    """
    from odl.files import storage

    with contextlib.suppress(StorageError, OSError), storage.writing(os.path.join(folder, FILE), KIND) as file:
        for name, values in now._asdict().items():
            storage.write_array(file, name, values)


def unread(folder, corpus):
    """Return which files beside those of the sources are not read, "" for none.

    Parameters
    ----------
    folder : path-like
        Which paths of the sources begin in.
    corpus : dict
        ``sources`` and ``options`` of the stream.
    """
    named = [_placed(os.fspath(folder), source) for source in corpus["sources"]]
    others = filekinds.beside(named, corpus["options"].get("kind"))
    return f"not read: {filekinds.unread(others)} of {Path(folder, project.FILE)}" if others else ""


def _placed(folder, source):
    path = os.path.join(folder, source)
    return path if os.path.exists(path) else os.path.join(glob.escape(folder), source)


def read(documents):
    """Return what is to be noted of documents (`Noted`), and how many rows were left out."""
    import numpy as np

    from odl.files import documents as docs
    from odl.files import storage

    with storage.reading(documents, "documents") as file:
        ids, dropped, repeats = storage.read_strings(file, "ids"), docs.read_dropped(file), docs.read_repeats(file)
        contents = storage.read_array(file, "digests", "u", ndim=2)[:, :8].copy().view("<u8")[:, 0]
    left_out = dropped.ids if dropped else []
    names = b"".join(hashlib.blake2b(name.encode(), digest_size=8).digest() for name in [*ids, *left_out])
    zeros = np.zeros(len(left_out), dtype="<u8")
    return Noted(np.frombuffer(names, dtype="<u8"), np.concatenate([contents, zeros])), repeats


def _noted(folder):
    from odl.files import storage

    with storage.reading(os.path.join(folder, FILE), KIND) as file:
        return Noted(*(storage.read_array(file, name, "u") for name in Noted._fields))
