"""Checkpoints: the state of a learner after a timestep, as a verified HDF5 file.

A checkpoint contains the dictionary, the learner's arrays and the codes of its batch. A chain is
the sequence of checkpoints with the same settings (corpus, seed, run, atoms, ...). The attributes
of a checkpoint are the settings of its chain, the version of odl, the digest of the previous
checkpoint and the digest of its own content. Reading raises an error if a checkpoint was edited, is
truncated or belongs to another chain.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy

import odl
from odl.errors import CheckpointError
from odl.files import digests, storage

NO_DIGEST = digests.NO_DIGEST


@dataclass(frozen=True)
class Checkpoint:
    """State of a learner after one timestep of a chain.

    Parameters
    ----------
    t : int
    chain : dict
        Settings of the chain. The next timestep must have the same settings.
    dictionary : csc_array, shape (n_terms, n_atoms)
    arrays : dict of str to sparse array or ndarray
    updates : int
    codes : csr_array, shape (n_documents, n_atoms)
        Codes of the batch of this timestep; None if they were not read.
    uncoded : float
        Share of documents whose code is zero.
    previous : str
        Digest of the previous checkpoint; `NO_DIGEST` for t = 0.
    digest : str
        Digest of the content, which `read_checkpoint` sets.
    features : str
        Digest of the feature file of the batch.
    terms : ndarray of int64, shape (n_terms,), optional
        Ids of the terms, ascending, if the vocabulary is bounded. Otherwise row i has term i.
    meaning : dict of str to ndarray
        State of `odl.learners.vectors.VectorMemory`; empty if documents have no vectors.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.files import checkpoints
    >>> A, X = csc_array([[1.0], [0.0]]), csr_array([[0.5]])
    >>> first = checkpoints.Checkpoint(0, {"run": "mine"}, A, {}, 0, X, 0.0)
    >>> first.t, first.dictionary.shape
    (0, (2, 1))
    """

    t: int
    chain: dict
    dictionary: "scipy.sparse.csc_array"
    arrays: dict
    updates: int
    codes: "scipy.sparse.csr_array"
    uncoded: float
    previous: str = NO_DIGEST
    digest: str = ""
    features: str = NO_DIGEST
    terms: np.ndarray | None = None
    meaning: dict = field(default_factory=dict)


def store(group, name, value, packed=True):
    """Store a dense, CSR or CSC array under a name in an open file or group."""
    if scipy.sparse.issparse(value):
        storage.write_csr(group, name, value.T.tocsr() if value.format == "csc" else value, packed)
        group[name].attrs["layout"] = value.format
    else:
        storage.write_array(group, name, value)


def load(group, name):
    """Read an array that `store` wrote, in its format."""
    if "layout" not in group[name].attrs:
        return storage.read_array(group, name, ndim=None)
    matrix = storage.read_csr(group, name)
    return scipy.sparse.csc_array(matrix.T) if group[name].attrs["layout"] == "csc" else matrix


def _store_all(file, name, values):
    """Store a dict of arrays as a group."""
    group = file.create_group(name)
    for key in sorted(values):
        store(group, key, values[key])


def _load_all(group):
    """Read a dict of arrays that `_store_all` wrote."""
    return {name: load(group, name) for name in group}


def write(path: str | os.PathLike, checkpoint: Checkpoint) -> str:
    """Write a checkpoint atomically. Equal checkpoints have equal bytes.

    Returns
    -------
    str
        Digest of the content.

    Examples
    --------
    >>> import os, tempfile
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.files import checkpoints
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "0.h5")
    >>> A, X = csc_array([[1.0], [0.0]]), csr_array([[0.5]])
    >>> first = checkpoints.Checkpoint(0, {"run": "mine"}, A, {}, 0, X, 0.0)
    >>> len(checkpoints.write(path, first))  # the digest
    64
    """
    with storage.writing(
        path, "checkpoint", uncoded=checkpoint.uncoded, **attributes_of(checkpoint)
    ) as file:
        # Most checkpoints are soon deleted, so compression of the dictionary would take more time
        # than it saves.
        store(file, "dictionary", checkpoint.dictionary, packed=False)
        if checkpoint.terms is not None:
            storage.write_array(file, "terms", checkpoint.terms)
        store(file, "codes", checkpoint.codes)
        _store_all(file, "arrays", checkpoint.arrays)
        if checkpoint.meaning:
            _store_all(file, "meaning", checkpoint.meaning)
        return digests.seal(file)


def read_checkpoint(
    path: str | os.PathLike,
    chain: Mapping[str, Any] | None = None,
    t: int | None = None,
    codes: bool = True,
) -> Checkpoint:
    """Read a checkpoint, and verify its digest, its chain and its timestep.

    Parameters
    ----------
    path : path-like
    chain : dict, optional
        Expected settings of the chain.
    t : int, optional
        Expected timestep.
    codes : bool
        Whether to read the codes of the checkpoint's batch.

    Returns
    -------
    Checkpoint

    Raises
    ------
    StorageError
        If the file is truncated, was edited or is not a checkpoint.
    CheckpointError
        If the checkpoint belongs to another chain or timestep.

    Examples
    --------
    >>> import os, tempfile
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.files import checkpoints
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "0.h5")
    >>> A, X = csc_array([[1.0], [0.0]]), csr_array([[0.5]])
    >>> first = checkpoints.Checkpoint(0, {"run": "mine"}, A, {}, 0, X, 0.0)
    >>> _ = checkpoints.write(path, first)
    >>> checkpoints.read_checkpoint(path, chain={"run": "mine"}, t=0).dictionary.toarray().ravel()
    array([1., 0.])
    """
    path = os.fspath(path)
    with storage.reading(path, "checkpoint") as file:
        checkpoint = Checkpoint(
            **read_attributes(file),
            dictionary=load(file, "dictionary"),
            arrays=_load_all(file["arrays"]),
            codes=load(file, "codes") if codes else None,
            uncoded=float(file.attrs["uncoded"]),
            meaning=_load_all(file["meaning"]) if "meaning" in file else {},
        )
    check_chain(path, checkpoint, chain, t)
    return checkpoint


def attributes_of(checkpoint):
    """Return the HDF5 attributes of a checkpoint: timestep, updates, chain, digests of inputs."""
    attributes = {
        name: getattr(checkpoint, name) for name in ("t", "updates", "previous", "features")
    }
    chain = json.dumps(checkpoint.chain, sort_keys=True, default=plain)
    return {**attributes, "chain": chain, "odl_version": odl.__version__}


def read_attributes(file):
    """Read the fields of a checkpoint that are not learned; return them as a dict.

    These are the values of `attributes_of`, the digest of the content, and the ids of the terms.
    """
    values = {name: int(file.attrs[name]) for name in ("t", "updates")}
    values |= {name: str(file.attrs[name]) for name in ("previous", "digest", "features")}
    terms = storage.read_array(file, "terms", "i") if "terms" in file else None
    return {**values, "chain": json.loads(file.attrs["chain"]), "terms": terms}


def check_chain(path, checkpoint, chain=None, t=None):
    """Raise CheckpointError if a checkpoint has another chain or timestep than expected."""
    if t is not None and checkpoint.t != t:
        raise _refused(path, f"is of timestep {checkpoint.t}", f"timestep {t}")
    # A chain in a file is JSON, which has lists in place of tuples.
    if chain is not None and checkpoint.chain != json.loads(json.dumps(chain)):
        own = checkpoint.chain
        names = [name for name in sorted({*chain, *own}) if chain.get(name) != own.get(name)]
        pairs = [f"{name}={own.get(name)!r} (expected {chain.get(name)!r})" for name in names]
        raise _refused(
            path, f"belongs to another chain: {', '.join(pairs)}", "a checkpoint of this run"
        )


def plain(value):
    """Return a NumPy scalar as a Python scalar, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise CheckpointError(
        f"the setting {value!r} is a {type(value).__name__}",
        "text, a number, a list or a map",
        "convert it",
    )


def _refused(path, given, expected):
    """Return the CheckpointError for a checkpoint of another chain or timestep."""
    return CheckpointError(
        f"{path} {given}", expected, f"delete {path} and run the same command again"
    )
