"""What the experiments with trees of atoms share."""

import numpy as np

from odl import trees
from odl.errors import ConfigError
from odl.report.page import number


def branched(text):
    """Return the balanced tree of branching factors such as "10,2"."""
    try:
        factors = [int(word) for word in text.split(",")]
    except ValueError as error:
        raise ConfigError(f"the tree is {text!r}", "branching factors such as '10,2'", "correct it") from error
    return trees.balanced(factors)


def deviation(values):
    """Return the standard deviation of a sample, nan for one value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def spread(mean, sd):
    """Return mean and deviation as text; the mean alone where there is one value."""
    return number(mean, ".1f") + (f" ± {sd:.1f}" if sd == sd else "")
