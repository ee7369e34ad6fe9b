"""Check that no file that odl writes is a link, which could lead out of the user's folder."""

import os
import stat
from collections.abc import Iterator

from odl.errors import DataError

# Files that odl writes next to odl.yaml. Names that begin with one of these are checked.
WRITTEN = (
    "odl.yaml", "new.html", "new.atom", "new.json", "feedback.csv", "forgotten.txt", ".seen.json",
    ".notified.txt", ".vectors.sqlite", "inbox",
)  # fmt: skip


def refuse(folder: str | os.PathLike, results: str | os.PathLike = "results") -> None:
    """Raise DataError if a path that odl writes is a link, a pipe or a device.

    Parameters
    ----------
    folder : path-like
        The user's folder, which may be a link itself.
    results : path-like
        Folder of results inside it.

    Raises
    ------
    DataError
        Names the first such file.
    """
    for path, mode in _written(os.fspath(folder), os.fspath(results)):
        if stat.S_ISLNK(mode):
            given = f"{path} is a link to {os.readlink(path)}"
            raise DataError(given, "a file or a folder, since odl writes there", "delete the link")
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            given = f"{path} is no file"
            raise DataError(given, "a file or a folder, since odl writes there", "delete it")


def _written(folder: str, results: str) -> Iterator[tuple[str, int]]:
    """Yield (path, mode) of the files and folders that odl writes in a folder, recursively."""
    begin = os.path.join(folder, results)
    hidden = tuple(f".{name}" for name in WRITTEN)  # locks and temporary files
    waiting = [begin] if os.path.lexists(begin) else []
    if os.path.isdir(folder):
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        waiting += [
            os.path.join(folder, name) for name in names if name.startswith((*WRITTEN, *hidden))
        ]
    while waiting:
        path = waiting.pop()
        mode = os.lstat(path).st_mode
        yield path, mode
        if stat.S_ISDIR(mode):
            waiting += sorted(entry.path for entry in os.scandir(path))
