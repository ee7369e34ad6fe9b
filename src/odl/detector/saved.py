"""A detector as a file: what it has learned, the scores that calibrate it, and its parameters; nothing is pickled."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from odl import learners
from odl.detector.mechanism import Mechanism
from odl.errors import ParameterError
from odl.files import checkpoints
from odl.learners.base import Kept

HISTORY = {"history": Kept("csr", ("positions", "terms"))}  # documents learned so far, where the learner needs them
OWN = {"n_batches", "n_features"}  # in the chain, beside the parameters
BESIDE = {  # the arrays of the learner: scores that calibrate, documents that wait, names of columns
    "window": Kept("dense", ("positions",)),
    "pending": Kept("csr", ("positions", "columns")),
    "names": Kept("dense", ("positions",), np.uint8),
}


class Saved(Mechanism):
    """Methods to write a detector to a file and to read it again."""

    def save(self, path: str | os.PathLike) -> None:
        """Write the detector to an HDF5 file (nothing is pickled).

        A random_state that is no number is written as the seed that was drawn from it.

        Parameters
        ----------
        path : path-like

        Examples
        --------
        >>> import os, tempfile
        >>> from odl import NoveltyDetector
        >>> folder = tempfile.TemporaryDirectory()
        >>> NoveltyDetector().fit([[1, 2, 0], [0, 1, 2]]).save(os.path.join(folder.name, "detector.h5"))
        >>> os.listdir(folder.name)
        ['detector.h5']
        """
        check_is_fitted(self, "state_")
        self._save(path, {}, {})

    def _save(self, path, settings, more):
        """Write the file, with settings and arrays of whoever has the detector."""
        state, n_features = self.state_, self.n_features_in_
        chain = self.get_params(deep=False) | {"n_atoms": self.most_atoms_, "random_state": self.seed_} | settings
        chain |= {"level": self._level(), "budget": None, "n_batches": self.n_batches_, "n_features": n_features}
        past = [learners.widen(P, n_columns=n_features) for P in self.history_]
        arrays = state.arrays | ({"history": sparse.vstack(past, format="csr")} if past else {})
        arrays = {**arrays, "window": self.window_, "pending": self._matrix(self.pending_), **more}
        arrays["names"] = _bytes({"words": self.words_, "features": [*getattr(self, "feature_names_in_", ())]})
        nothing = sparse.csr_array((0, state.dictionary.shape[1]))
        point = checkpoints.Checkpoint(0, chain, state.dictionary, arrays, state.updates, nothing, 0.0)
        checkpoints.write(path, point)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read a detector written by `save`; it scores and learns on as if it had never stopped.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        NoveltyDetector

        Raises
        ------
        StorageError
            If the file is damaged, or not a detector's.

        Examples
        --------
        >>> import os, tempfile
        >>> from odl import NoveltyDetector
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "detector.h5")
        >>> NoveltyDetector(level=0.1).fit([[1, 2, 0], [0, 1, 2]]).save(path)
        >>> NoveltyDetector.load(path).level
        0.1
        """
        return cls._read(path)[0]

    @classmethod
    def _read(cls, path, setting=None, more=()):
        """Return the detector, and of whoever had it a setting and some arrays, None where there are none."""
        point = checkpoints.read_checkpoint(Path(path))
        chain, arrays = dict(point.chain), dict(point.arrays)
        if not {*OWN, "growing"} <= chain.keys():
            raise ParameterError(f"{path} is a checkpoint of a workflow", f"a file of {cls.__name__}.save", "load that")
        if "level" not in chain and "budget" in chain:  # of version 0.2
            chain["level"] = chain.pop("budget")
        own = {name: chain.pop(name) for name in OWN}
        extra_setting = chain.pop(setting, None)
        extra = {name: arrays.pop(name, None) for name in more}
        n_features, known = own["n_features"], cls().get_params(deep=False)
        sound = all(isinstance(number, int) for number in (*own.values(), chain.get("n_atoms")))
        sound = sound and chain.keys() <= known.keys() and point.dictionary.shape[0] == n_features
        sound = sound and BESIDE.keys() <= arrays.keys()
        if sound:
            beside = {name: arrays.pop(name) for name in (*BESIDE, *HISTORY) if name in arrays}
            sizes = {"terms": n_features, "columns": max(n_features, *beside["pending"].shape[1:])}
            sound = all((BESIDE | HISTORY)[name].fits(value, sizes) for name, value in beside.items())
            words, features = _names(beside["names"], sizes["columns"]) if sound else (None, None)
        if not sound or words is None:
            fault = f"{path} has settings or a dictionary of another kind of detector"
            raise ParameterError(fault, f"a file of {cls.__name__}.save", "save it again with this version")
        detector = cls(**chain)
        detector.n_batches_, detector.n_features_in_ = own["n_batches"], n_features
        detector.learner_, detector.most_atoms_ = detector.learner, detector.n_atoms
        detector.history_ = [beside["history"]] if "history" in beside else []
        detector.seed_, detector.words_ = detector.random_state, words
        detector.window_, detector.pending_ = beside["window"], _documents(beside["pending"])
        if features:
            detector.feature_names_in_ = np.array(features, dtype=object)
        learned = replace(point, arrays=arrays)
        detector.state_ = learners.resume(detector._model(), learned, n_features, detector.n_atoms, path)
        return detector, extra_setting, extra


def _bytes(value):
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), dtype=np.uint8)


def _names(text, n_columns):
    """Return words with their columns, and names of features, of a file; (None, None) where they are none."""
    try:
        stored = json.loads(text.tobytes())
        words, features = stored["words"], stored["features"]
        sound = all(isinstance(name, str) for name in features) and len(features) <= n_columns
        sound = sound and all(isinstance(column, int) and 0 <= column < n_columns for column in words.values())
    except (AttributeError, KeyError, TypeError, ValueError):
        sound = False
    return (words, features) if sound else (None, None)


def _documents(matrix):
    spans = zip(matrix.indptr, matrix.indptr[1:], strict=False)
    spans = [slice(first, last) for first, last in spans]
    return [dict(zip(matrix.indices[at].tolist(), matrix.data[at].tolist(), strict=True)) for at in spans]
