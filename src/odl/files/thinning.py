"""Thinning of a chain of checkpoints: every so many stay, and the last two, by one rule for both drivers."""

import contextlib
import os
import shutil


def stays(t, last, keep):
    """Tell whether the checkpoint of a timestep stays in a chain that ends with `last`; `keep` 0: all do.

    The last two do, since the last one is gone on from, and may itself have to be done again.

    Examples
    --------
    >>> from odl.files.thinning import stays
    >>> [t for t in range(10) if stays(t, 9, 4)]
    [0, 4, 8, 9]
    """
    return not keep or t % keep == 0 or t >= last - 1


def prune(path, keep):
    """Delete the checkpoints of a chain but those that stay; they can be made again from the one kept before them.

    Parameters
    ----------
    path : path-like
        The last checkpoint, named ``{t}.h5`` in a folder of its chain, as the others are.
    keep : int
        As for `stays`.
    """
    folder, name = os.path.split(os.path.abspath(path))
    last = _timestep(name)
    for name in os.listdir(folder) if keep and last is not None else ():
        t = _timestep(name)
        if t is not None and not stays(t, last, keep):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
            shutil.rmtree(os.path.join(folder, f"{t}.agents"), ignore_errors=True)


def _timestep(name):
    """Return the t of ``{t}.h5``."""
    stem, suffix = os.path.splitext(name)
    return int(stem) if suffix == ".h5" and stem.isdecimal() else None
