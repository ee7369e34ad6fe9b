"""Registry of the learners: one algorithm a file."""

import difflib

from odl.errors import ParameterError
from odl.learners.base import L1Learner, Scores, State, parameters
from odl.learners.dual_averaging import DualAveraging
from odl.learners.online_admm import OnlineADMM
from odl.learners.projected_gradient import ProjectedGradient

LEARNERS = {learner.algorithm: learner for learner in (DualAveraging, ProjectedGradient, OnlineADMM)}

__all__ = ["LEARNERS", "DualAveraging", "L1Learner", "OnlineADMM", "ProjectedGradient", "Scores", "State", "make"]


def make(algorithm, **settings):
    """Return a learner by the name of its algorithm and its hyper-parameters.

    Raises
    ------
    ParameterError
        If the algorithm or a hyper-parameter is not known, naming the nearest one, or out of range.
    """
    if algorithm not in LEARNERS:
        raise _unknown("algorithm", algorithm, LEARNERS)
    known = parameters(LEARNERS[algorithm])
    for name in settings:
        if name not in known:
            raise _unknown(f"hyper-parameter of {algorithm}", name, known)
    return LEARNERS[algorithm](**settings)


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
    for algorithm, learner in LEARNERS.items():
        entries = {}
        for name, entry in parameters(learner).items():
            entries[name] = {"type": kinds[entry.type], "default": entry.default, **learner.bounds.get(name, {})}
            if name in learner.choices:
                entries[name]["enum"] = list(learner.choices[name])
        found[algorithm] = entries
    return found
