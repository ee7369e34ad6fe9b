"""How far the same stream, drawn with another seed, points at the same documents."""

import os
from typing import NamedTuple

from odl.evaluation import scorefiles
from odl.files import storage


class Agreement(NamedTuple):
    """Agreement of a run with itself under other seeds.

    Attributes
    ----------
    seeds : int
        Other seeds.
    most : int
        Documents that were looked at of each: those with the highest scores.
    share : float
        Mean share of them that are the same, of the documents that both have scored; 1 where all are.
    """

    seeds: int
    most: int
    share: float


def agreement(last, others, most, periods):
    """Compare the documents that a run and its runs under other seeds put highest in their last periods.

    Parameters
    ----------
    last : path-like
        Score file of the run's last period, ``.../seed{s}/{run}/k{k}/scores/{t}.h5``.
    others : sequence of path-like
        The same under other seeds.
    most : int
        Documents of a run that are looked at, at most.
    periods : int
        Last periods that are looked at.

    Returns
    -------
    Agreement or None
        None where there is nothing to compare.

    Raises
    ------
    StorageError
        If a score file is damaged.
    """
    own, shares = _recent(last, periods), []
    for other in others:
        found = _recent(other, periods)
        both = sorted(own.keys() & found.keys())
        if both:
            one, two = _highest(own, both, most), _highest(found, both, most)
            shares.append(len(one & two) / len(one))
    return Agreement(len(shares), most, sum(shares) / len(shares)) if shares else None


def _highest(scores, names, most):
    """Return the names with the highest scores; among equals the first by name."""
    return set(sorted(names, key=lambda name: (-scores[name], name))[:most])


def _recent(last, periods):
    """Return the scores of the last periods of a run by id."""
    folder, name = os.path.split(os.fspath(last))
    t, held = int(os.path.splitext(name)[0]), {}
    for each in range(max(0, t - periods + 1), t + 1):
        path = os.path.join(folder, f"{each}.h5")
        score, _, _, empty = scorefiles.read_parts(path)
        with storage.reading(path, "scores") as file:
            ids = storage.read_strings(file, "ids")
        held |= {ident: value for ident, value, none in zip(ids, score.tolist(), empty, strict=True) if not none}
    return held
