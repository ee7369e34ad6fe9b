"""Shares of a person's own files, each read by a job of its own, so that a stream that grows is not read again.

Where a share ends follows from the files near it only: one that comes, goes or changes leaves the others as they are,
unless all files together have passed the next power of two.
"""

import hashlib
import os

SMALLEST, MOST = 1 << 20, 128  # bytes of a share; shares of that size, before it is doubled
ALONE = 2 * SMALLEST  # bytes from which on a single share is one
ENDS = 32  # of 256 files, one in so many may end a share that is half full


def shares_of(paths):
    """Cut a list of files into shares.

    Parameters
    ----------
    paths : list of str
        In the order in which they are read.

    Returns
    -------
    dict
        Name of a share -> its files, in order; empty where one would do, unless it is so large that to read it again
        when another file comes costs more than to join. A large file is a share of its own.
    """
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    size = SMALLEST
    while size * MOST < sum(sizes):
        size *= 2
    found, current, held = {}, None, 0
    for path, length in zip(paths, sizes, strict=True):
        digest = hashlib.sha256(os.fsencode(path)).digest()
        if current is None or held + length > size:
            current, held = found.setdefault(digest[:6].hex(), []), 0
        current.append(path)
        held += length
        if 2 * held > size and digest[-1] < ENDS:  # where lists that differ before it end a share alike
            current = None
    return found if len(found) > 1 or sum(sizes) > ALONE else {}
