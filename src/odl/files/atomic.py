"""Atomic writing of files and folders, locks, and refusal of links.

A file is written under a temporary name in the same folder, then renamed. Standard library only,
since the rules of the workflow import this module.
"""

import errno
import fcntl
import functools
import glob
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from odl.errors import DataError

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
OPEN_FILES = {"/dev/stdout": 1, "/dev/stderr": 2} | {
    f"/dev/fd/{number}": number for number in range(1, 64)
}
# Files that odl writes next to odl.yaml. `refuse_links` checks all names with these beginnings.
WRITTEN = (
    "odl.yaml", "new.html", "new.atom", "new.json", "feedback.csv", "forgotten.txt", ".seen.json",
    ".notified.txt", ".vectors.sqlite", "inbox",
)  # fmt: skip


@contextmanager
def replacing(path):
    """Yield a temporary path for writing; rename the file to `path` if no exception is raised.

    The temporary file is in the folder of `path`. Its name contains the host, the process and the
    start time of the process, so that no two writers share it. Temporary files that killed
    processes of this host left in the folder are removed.

    If `path` is a symbolic link, the target of the link is replaced. If it is a device, a pipe or
    an open file such as /dev/stdout, the content is copied to it.
    """
    path = os.fspath(path)
    if path in OPEN_FILES or (os.path.exists(path) and not os.path.isfile(path)):
        with tempfile.TemporaryDirectory() as folder:
            temporary = os.path.join(folder, "content")
            yield temporary
            target, closes = OPEN_FILES.get(path, path), path not in OPEN_FILES
            try:
                with open(temporary, "rb") as content, open(target, "wb", closefd=closes) as output:
                    shutil.copyfileobj(content, output)
            except OSError as error:
                error.filename = error.filename or path
                raise
        return
    path = os.path.realpath(path) if os.path.islink(path) else path
    temporary = _temporary(path)
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno in DISK_ERRORS and error.filename is None:
            error.filename = path  # an error of writing to an open file has no name
        raise


@contextmanager
def filling(folder):
    """Yield a temporary folder; move its files to `folder` if no exception is raised."""
    folder = os.fspath(folder).rstrip(os.sep) or os.sep
    temporary = _temporary(folder)
    try:
        os.mkdir(temporary)
        yield temporary
        os.makedirs(folder, exist_ok=True)
        for name in sorted(os.listdir(temporary)):
            os.replace(os.path.join(temporary, name), os.path.join(folder, name))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def locked(path):
    """Lock a file against reading and replacing by other processes.

    The lock is on another file, because replacing a file gives it a new inode.

    Yields
    ------
    bool
        False if the file system has no locks, so that the file is not locked.
    """
    folder, name = os.path.split(os.fspath(path))
    lock = os.path.join(folder, f".{name}.lock")
    # The lock file of another user cannot be written, but it can be locked.
    foreign = os.path.exists(lock) and not os.access(lock, os.W_OK)
    descriptor = os.open(lock, os.O_RDONLY if foreign else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        has_lock = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            has_lock = False
        yield has_lock
    finally:
        os.close(descriptor)


def _temporary(path):
    """Return a temporary path in the folder of a path; create and clear (`_clear`) the folder."""
    folder, name = os.path.split(path)
    host = platform.node() or "host"
    os.makedirs(folder or ".", exist_ok=True)
    # The key is an absolute path, because the working folder may change.
    if _cleared.get(os.path.abspath(folder)) != os.getpid():
        _clear(folder, host)
    return os.path.join(folder, f".{name}.{host}-{os.getpid()}-{_own_start_time(os.getpid())}.part")


# Folder -> id of the process that last cleared it. A process clears a folder once, a forked process
# again.
_cleared = {}


def _clear(folder, host):
    """Remove temporary files from a folder that killed processes on this host left there."""
    _cleared[os.path.abspath(folder)] = os.getpid()
    for temporary in glob.glob(os.path.join(glob.escape(folder or "."), f".*.{host}-*.part")):
        process, _, began = temporary.removesuffix(".part").rsplit(f".{host}-", 1)[1].partition("-")
        is_writing = process.isdecimal() and is_running(int(process))
        if not is_writing or began != _start_time(process):
            if os.path.isdir(temporary):
                shutil.rmtree(temporary, ignore_errors=True)
                continue
            with suppress(FileNotFoundError):  # another process removed it first
                os.unlink(temporary)


def is_running(process):
    """Return whether the process with this id runs.

    A zombie (an ended process whose parent has not read its exit status) does not run. Zombies are
    recognised by /proc, which only Linux has.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        pass
    return _read_stat(process)[:1] not in (["Z"], ["X"])


def _start_time(process):
    """Return the start time of a process in clock ticks since boot, "0" without /proc."""
    fields = _read_stat(process)
    return fields[19] if fields else "0"


def _read_stat(process):
    """Return the fields of /proc/PROCESS/stat after its name, the state first; [] without /proc."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()  # the name may contain blanks
    except OSError:
        return []


# Only for the id of the current process, whose start time cannot change.
_own_start_time = functools.cache(_start_time)


def refuse_links(folder: str | os.PathLike, results: str | os.PathLike = "results") -> None:
    """Raise DataError if a path that odl writes is a link, a pipe or a device.

    Parameters
    ----------
    folder : path-like
        The user's folder, which may be a link itself.
    results : path-like
        Folder of results inside the user's folder.

    Raises
    ------
    DataError
        If there is such a path; the message names the first.
    """
    for path, mode in _written(os.fspath(folder), os.fspath(results)):
        if stat.S_ISLNK(mode):
            raise DataError(
                f"{path} is a link to {os.readlink(path)}",
                "a regular file or a folder, because odl writes to this path",
                "delete the link",
            )
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise DataError(
                f"{path} is not a regular file",
                "a regular file or a folder, because odl writes to this path",
                "delete it",
            )


def _written(folder: str, results: str) -> Iterator[tuple[str, int]]:
    """Yield (path, mode) of the files and folders that odl writes in a folder, recursively."""
    begin = os.path.join(folder, results)
    hidden = tuple(f".{name}" for name in WRITTEN)  # names of locks and temporary files
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
