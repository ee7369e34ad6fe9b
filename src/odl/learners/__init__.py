"""Registry of the learners: one algorithm per file, imported when it is first used.

A file is a learner if it defines a class whose class attribute ``algorithm`` is the name of the
file. `LEARNERS` has the names of all learners; reading it imports every file.
"""

import functools
import os
import pkgutil
from importlib import import_module
from typing import Any

from odl.errors import CheckpointError, ParameterError, advice
from odl.learners import base
from odl.learners.base import Learner, Scores, State, parameters
from odl.learners.sparse_atoms import widen

__all__ = [
    "LEARNERS",
    "Learner",
    "Scores",
    "State",
    "learner_class",
    "make",
    "resume",
    "schema",
    "widen",
]


def learner_class(algorithm: str) -> type[Learner]:
    """Return the class of an algorithm.

    Raises
    ------
    ParameterError
        If the algorithm is unknown. The message names the most similar one.

    Examples
    --------
    >>> from odl import learners
    >>> learners.learner_class("dual_averaging").__name__
    'DualAveraging'
    """
    learner = _defined(algorithm) if isinstance(algorithm, str) and algorithm in _files() else None
    if learner is None:
        raise _unknown("algorithm", algorithm, _names())
    return learner


def __getattr__(name: str) -> tuple[str, ...]:
    if name == "LEARNERS":
        return _names()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _files():
    """Return the names of the modules of this package."""
    return {module.name for module in pkgutil.iter_modules(__path__)}


@functools.cache
def _names():
    """Return the names of all algorithms."""
    return tuple(name for name in sorted(_files()) if _defined(name))


def _defined(name):
    """Return the learner class in the module `name` whose `algorithm` is `name`, or None."""
    members = vars(import_module(f"odl.learners.{name}")).values()
    return next(
        (
            member
            for member in members
            if isinstance(member, type) and vars(member).get("algorithm") == name
        ),
        None,
    )


def make(algorithm: str, **settings: Any) -> Learner:
    """Return a learner by the name of its algorithm and its hyper-parameters.

    Raises
    ------
    ParameterError
        If a hyper-parameter is out of range, or a name is unknown. The message names the most
        similar name.

    Examples
    --------
    >>> from odl import learners
    >>> learners.make("projected_gradient", eta=5.0).eta
    5.0
    """
    learner = learner_class(algorithm)
    allowed = parameters(learner)
    for name in settings:
        if name not in allowed:
            raise _unknown(f"hyper-parameter of {algorithm}", name, allowed)
    return learner(**settings)


def resume(
    learner: Learner, checkpoint: Any, n_terms: int, start: int, path: str | os.PathLike
) -> State:
    """Return the state that a checkpoint stores, after checking that it fits the learner.

    Parameters
    ----------
    learner : Learner
    checkpoint : odl.files.checkpoints.Checkpoint
    n_terms : int
        Number of terms of the next timestep.
    start : int
        Initial number of atoms.
    path : path-like
        Checkpoint that the message names.

    Raises
    ------
    CheckpointError
        If the arrays of the checkpoint do not match the learner
        (`odl.learners.base.check_arrays`), or the checkpoint has more than `n_terms` terms.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> after = learner.start(P, 1, np.random.default_rng(0))  # a Checkpoint has the same names
    >>> learners.resume(learner, after, n_terms=4, start=1, path="0.h5").dictionary.shape
    (4, 1)
    """
    base.check_arrays(learner.array_specs, checkpoint.dictionary, checkpoint.arrays, start, path)
    if checkpoint.dictionary.shape[0] > n_terms or checkpoint.updates < 0:
        given = (
            f"{path} has {checkpoint.dictionary.shape[0]} terms and {checkpoint.updates} updates"
        )
        expected = f"at most {n_terms} terms, and updates from 0 on"
        raise CheckpointError(given, expected, f"delete {path} and run the same command again")
    return State(checkpoint.dictionary, checkpoint.arrays, checkpoint.updates)


def _unknown(what, name, known):
    """Return the ParameterError for a name that is not among the known ones."""
    return ParameterError(f"{what} '{name}' is not known", ", ".join(known), advice(name, known))


def schema() -> dict[str, dict]:
    """Return the configuration schema of the learners, computed from their dataclasses.

    Returns
    -------
    dict
        Maps the name of each algorithm to the JSON schemas of its hyper-parameters.

    Examples
    --------
    >>> from odl import learners
    >>> learners.schema()["projected_gradient"]["eta"]
    {'type': 'number', 'default': 11.0, 'exclusiveMinimum': 0}
    """
    return {algorithm: learner_class(algorithm).schema()["properties"] for algorithm in _names()}
