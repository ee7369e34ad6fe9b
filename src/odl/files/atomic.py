"""Atomic replacement of files: each is written under a temporary name in the same folder, then renamed.

Standard library only, since the rules of the workflow import this module.
"""

import errno
import fcntl
import functools
import glob
import os
import platform
import shutil
import tempfile
from contextlib import contextmanager, suppress

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
OPEN_FILES = {"/dev/stdout": 1, "/dev/stderr": 2} | {
    f"/dev/fd/{number}": number for number in range(1, 64)
}


@contextmanager
def replacing(path):
    """Yield a temporary path in the folder of `path`; rename it to `path` if the block raises nothing.

    The temporary name contains the host, the process and its start time, so that no two writers
    share it. Temporary files of killed processes of this host are removed from the folder.

    If the path is a symbolic link, its target is replaced. If it is a device, a pipe or an open
    file such as /dev/stdout, the content is written to it.
    """
    path = os.fspath(path)
    if path in OPEN_FILES or (os.path.exists(path) and not os.path.isfile(path)):
        with tempfile.TemporaryDirectory() as folder:
            temporary = os.path.join(folder, "content")
            yield temporary
            target, closes = OPEN_FILES.get(path, path), path not in OPEN_FILES
            try:
                with open(temporary, "rb") as content, open(target, "wb", closefd=closes) as into:
                    shutil.copyfileobj(content, into)
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
            error.filename = path  # errors of writing to an open file do not name it
        raise


@contextmanager
def filling(folder):
    """Yield a temporary folder next to `folder`; move its files to `folder` if the block raises nothing."""
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
    """Lock a file for reading and replacing it, across processes.

    The lock is on a second file, because replacing a file gives it a new inode.

    Yields
    ------
    bool
        False if the file system has no locks; then the block runs without one.
    """
    folder, name = os.path.split(os.fspath(path))
    lock = os.path.join(folder, f".{name}.lock")
    foreign = os.path.exists(lock) and not os.access(
        lock, os.W_OK
    )  # another user's lock file can still be locked
    descriptor = os.open(lock, os.O_RDONLY if foreign else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        alone = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            alone = False
        yield alone
    finally:
        os.close(descriptor)


def _temporary(path):
    """Create the parent folder of a path; return the temporary name under which the file is written."""
    folder, name = os.path.split(path)
    host = platform.node() or "host"
    os.makedirs(folder or ".", exist_ok=True)
    if (
        _cleared.get(os.path.abspath(folder)) != os.getpid()
    ):  # absolute, since the working folder may change
        _clear(folder, host)
    return os.path.join(folder, f".{name}.{host}-{os.getpid()}-{_began_once(os.getpid())}.part")


# folder -> id of the process that removed temporary files from it; once per process, to save time
_cleared = {}


def _clear(folder, host):
    """Remove the temporary files of killed processes of this host from a folder."""
    _cleared[os.path.abspath(folder)] = os.getpid()
    for left in glob.glob(os.path.join(glob.escape(folder or "."), f".*.{host}-*.part")):
        process, _, began = left.removesuffix(".part").rsplit(f".{host}-", 1)[1].partition("-")
        if not _alive(process) or began != _began(process):
            if os.path.isdir(left):
                shutil.rmtree(left, ignore_errors=True)
                continue
            with suppress(FileNotFoundError):  # another process removed it first
                os.unlink(left)


def _began(process):
    """Return the start time of a process in clock ticks since boot, "0" without /proc."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[19]
    except OSError:
        return "0"


_began_once = functools.cache(_began)  # start time of this process


def _alive(process):
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True
