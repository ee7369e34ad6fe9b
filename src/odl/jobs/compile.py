"""Kernels compiled ahead of time: numba's code of each function, linked into one shared library by the C compiler.

Where there is no C compiler nothing is made and jobs go on with numba's own cache, half a CPU second slower each.
The code is made for the plain instruction set of the machine's kind, so that one library serves all nodes of a
cluster.
"""

import contextlib
import ctypes
import fcntl
import multiprocessing
import os
import shutil
import subprocess
import tempfile
from functools import partial

from odl.config import sources
from odl.errors import OdlError, StorageError
from odl.files import storage
from odl.kernels import marshalling, native

OTHERS = {"topics": "papers/emerging"}  # with kernels, beside the learners
FLAGS = ["-shared", "-fPIC", "-O2", "-fvisibility=hidden"]  # of RUNTIME, which needs not be seen
aloud = partial(print, flush=True)
RUNTIME = os.path.join(os.path.dirname(native.__file__), "runtime.c")


@contextlib.contextmanager
def alone(name, say):
    """Hold the lock of a file of kernels, which is the file itself, so that nothing is left when a process is killed.

    Where the disk knows no locks nobody does. `say` takes a line if another process has it.
    """
    with open(marshalling.source(name), "rb") as file:
        with contextlib.suppress(OSError):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"waiting for the kernels {name}, which another job compiles")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def needed(algorithms):
    """Return the names of the files of kernels that reading and algorithms call.

    Parameters
    ----------
    algorithms : iterable of str
        Learners, or ``topics``.
    """
    files = sources.closure("text/tokens", *(OTHERS.get(name, f"learners/{name}") for name in algorithms))
    return [name for name in marshalling.names() if f"kernels/{name}" in files]


def build_all(names, say, folder=None, at_once=1):
    """Compile the libraries that are not there yet; what another process compiles is waited for.

    Parameters
    ----------
    names : iterable of str
        Of files of kernels that are called from outside.
    say : callable
        Takes a line for each library that is compiled or waited for; with several at a time, `aloud`.
    folder : path-like, optional
        Make them there, for a wheel; by default where they are looked for, and only those that were not shipped.
    at_once : int
        Libraries to make at a time, each by a process of its own.

    Returns
    -------
    list of str
        Names of those that could not be made.
    """

    for name in names:
        _remove_damaged(native.library(name, folder), say)
    names = [name for name in names if not _ready(name, folder)]
    make, makers = partial(_make, names, say, folder), min(at_once, len(names))
    if makers < 2:
        return [name for name in names if not make(name)]
    with multiprocessing.get_context("spawn").Pool(makers) as pool:
        return [name for name, made in zip(names, pool.map(make, names, chunksize=1), strict=True) if not made]


def _ready(name, folder):
    return native.sound(native.library(name, folder)) if folder else native.ready(name)


def _make(names, say, folder, name):
    """Make one library of several, unless another process has; return whether it is there."""
    with alone(name, say):
        if _ready(name, folder):
            return True
        say(f"kernels {name}, library {names.index(name) + 1} of {len(names)}")
        return bool(build(name, folder))


def _remove_damaged(path, say):
    """Remove a library that is not what was made, so that it is made again."""
    try:
        native.sound(path)
    except StorageError as error:
        say(f"{error.given}: it is made again")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def build_whole(folder, at_once):
    """Make every library, in a folder for setup.py to put into a wheel, or where they are looked for.

    Parameters
    ----------
    folder : path-like or None
    at_once : int
        Libraries to make at a time.

    Raises
    ------
    OdlError
        Where one could not be made.
    """
    if folder:
        os.makedirs(folder, exist_ok=True)
    failed = build_all(marshalling.names(), aloud, folder, at_once)
    if failed:
        defect, expected = f"no library of {', '.join(failed)} was made", "a C compiler (cc, or CC) that makes them"
        raise OdlError(defect, expected, "install one, or set ODL_LIBRARIES=none")


def _compiler():
    """Return the words that call the C compiler, which CC may name with options, as in "ccache gcc"; none without."""
    whole = os.environ.get("CC") or "cc"
    words = [whole] if shutil.which(whole) else whole.split() or ["cc"]
    program = shutil.which(words[0])
    return [program, *words[1:]] if program else []


def build(name, folder=None):
    """Compile the functions of a file of kernels into its library, if it is not there yet.

    Parameters
    ----------
    name : str
        Of a file of kernels that is called from outside.
    folder : path-like, optional
        Where it is made; by default where it is looked for.

    Returns
    -------
    str or None
        Path of the library; None where no C compiler works.
    """
    path, compiler = native.library(name, folder), _compiler()
    if native.sound(path):
        return path
    with native.compiling(name):
        from odl.kernels import compiled  # numba, which nothing else here needs

    if not compiler:
        return None
    try:
        with tempfile.TemporaryDirectory() as place, storage.replacing(path) as made:
            parts = [compiled.write_object(place, name, function) for function in marshalling.declared(name)]
            command = [*compiler, *FLAGS, "-o", made, *parts, RUNTIME, "-lm"]
            subprocess.run(command, check=True, capture_output=True)
            for function in marshalling.declared(name):
                marshalling.bind(ctypes.CDLL(made), name, function)
            with storage.replacing(native.beside(path)) as digest, open(digest, "w", encoding="ascii") as file:
                file.write(native.digest_of(made))
    except (subprocess.CalledProcessError, OSError, AttributeError):
        return None
    return path
