"""Registry of the learners: one algorithm a file, imported when it is asked for."""

import difflib
from importlib import import_module

from odl.errors import CheckpointError, ParameterError
from odl.learners.base import Learner, Scores, State, parameters, widen

# Name of the algorithm, which is that of its file, to the name of its class.
LEARNERS = {
    "dual_averaging": "DualAveraging",
    "projected_gradient": "ProjectedGradient",
    "online_admm": "OnlineADMM",
    "flat": "Flat",
    "hierarchical": "Hierarchical",
    "batch": "Batch",
    "batch_l2": "BatchL2",
    "diffusion": "Diffusion",
    "adaptive": "Adaptive",
}

__all__ = ["LEARNERS", "Learner", "Scores", "State", "learner_class", "make", "resume", "schema", "widen"]


def learner_class(algorithm):
    """Return the class of an algorithm.

    Raises
    ------
    ParameterError
        If the algorithm is not known, naming the nearest one.
    """
    if algorithm not in LEARNERS:
        raise _unknown("algorithm", algorithm, LEARNERS)
    return getattr(import_module(f"odl.learners.{algorithm}"), LEARNERS[algorithm])


def make(algorithm, **settings):
    """Return a learner by the name of its algorithm and its hyper-parameters.

    Raises
    ------
    ParameterError
        If the algorithm or a hyper-parameter is not known, naming the nearest one, or out of range.
    """
    learner = learner_class(algorithm)
    known = parameters(learner)
    for name in settings:
        if name not in known:
            raise _unknown(f"hyper-parameter of {algorithm}", name, known)
    return learner(**settings)


def resume(learner, dictionary, arrays, updates, n_terms, path):
    """Return the state of a learner from what a checkpoint holds, refused where it is none of this learner.

    Parameters
    ----------
    learner : Learner
    dictionary, arrays, updates
        As in `State`.
    n_terms : int
        Terms of the timestep that follows.
    path : path-like
        The checkpoint, for the message.

    Raises
    ------
    CheckpointError
        If an array is missing, or of another kind or size than the learner keeps; kernels would trust it.
    """
    found = fresh = None
    if dictionary.shape[0] > n_terms:
        found = f"{dictionary.shape[0]} terms, and {n_terms} are known"
    elif min(dictionary.shape) > 0:
        fresh = learner.fresh(dictionary).arrays
        found = next(
            (name for name in sorted(fresh | arrays) if not _alike(fresh.get(name), arrays.get(name), name)), None
        )
    if found:
        given = f"{path} has another kind or size of {found}"
        expected = f"a state of {learner.algorithm}"
        raise CheckpointError(given, expected, f"delete {path} and run the same command again")
    return State(dictionary, arrays, updates)


def _alike(fresh, found, name):
    """Tell whether an array has the kind and, where the fresh one is not empty, the size of a fresh one."""
    if name == "history":
        return True
    if fresh is None or found is None or fresh.ndim != found.ndim:
        return False
    if getattr(fresh, "format", "") != getattr(found, "format", "") or fresh.dtype.kind != found.dtype.kind:
        return False
    return all(want in (0, size) for want, size in zip(fresh.shape, found.shape, strict=True))


def _unknown(what, given, known):
    near = difflib.get_close_matches(str(given), known, n=1)
    todo = f"did you mean '{near[0]}'?" if near else "choose one of these"
    return ParameterError(f"{what} '{given}' is not known", ", ".join(known), todo)


def schema():
    """Return the configuration schema of the learners, as their dataclasses have it.

    Returns
    -------
    dict
        Name of the algorithm to the properties of its hyper-parameters (JSON schema).
    """
    kinds = {float: "number", int: "integer", bool: "boolean", str: "string"}
    found = {}
    for algorithm in LEARNERS:
        learner = learner_class(algorithm)
        entries = {}
        for name, entry in parameters(learner).items():
            entries[name] = {"type": kinds[entry.type], "default": entry.default, **learner.bounds.get(name, {})}
            if name in learner.choices:
                entries[name]["enum"] = list(learner.choices[name])
        found[algorithm] = entries
    return found
