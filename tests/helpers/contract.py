"""What the tests that go over all learners share."""

import pytest

from odl import learners
from odl.learners.base import parameters
from odl.learners.l1_objective import L1Learner

ALL = sorted(learners.LEARNERS)
QUICK = (
    "adaptive",
    "diffusion",
    "dual_averaging",
    "levels",
)  # the default and those that start fastest
EACH = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ALL
]  # for slow checks
L1 = [
    name for name in ALL if issubclass(learners.learner_class(name), L1Learner)
]  # same start, coder and settings


def quick(algorithm, rounds=2):
    """Return settings under which a learner starts in a moment."""
    known = parameters(learners.learner_class(algorithm))
    return {name: value for name, value in (("rounds", rounds), ("memory", 15000)) if name in known}
