"""Kernels without the compiler: a library made by ``odl step compile`` is loaded where it is there, else numba is.

Importing numba and loading its cache costs more than a small timestep does. A kernel that is called from outside this
folder says so where it is written (`odl.kernels.compiled.called`), and `odl.jobs.compile` compiles it ahead of time
into the shared library of its file, which ctypes loads at once. A library belongs to one state of all files of kernels
that its own reaches (its name holds their digest), so an edit makes it useless rather than stale; without it, or where
``ODL_NATIVE=0``, the same functions run through numba. A wheel for one platform has libraries in `SHIPPED`: one that
loads is used before any other, one that does not (an older C library) is made again as if it were not there.

A library is held to the digest beside it, once a process, before it is loaded: without one it counts as not there, and
one that does not fit is refused. So is a folder of libraries that others may write (`check`).
"""

import contextlib
import ctypes
import functools
import hashlib
import importlib
import os
import platform
import stat

from odl.errors import ConfigError, StorageError, changed
from odl.kernels import marshalling

SHIPPED = os.path.join(os.path.dirname(__file__), "libraries")  # filled by setup.py, and there only in such a wheel


def library(name, folder=None):
    """Return where the library of a file of kernels is or would be: beside numba's own cache of that file."""
    folder = folder or _cache(os.environ.get("NUMBA_CACHE_DIR"))
    build = f"{platform.system()}-{platform.machine()}-{marshalling.digest(name)}"
    return os.path.join(folder, f"{name}-{build}.so".lower())


@functools.cache
def _cache(named):
    """Return the folder of what is compiled here, numba's cache and libraries; refuse one that others may write."""
    folder = named or os.path.join(os.path.dirname(__file__), "__pycache__")
    check(folder)
    return folder


def beside(path):
    """Return where the digest of a library is."""
    return f"{path}.sha256"


def digest_of(path):
    """Return what stands in the digest of a library."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() + "\n"


def sound(path):
    """Tell whether a library is there with its digest.

    Raises
    ------
    StorageError
        If it does not fit.
    """
    try:
        with open(beside(path), "rb") as file:
            written = file.read()
        if digest_of(path).encode() == written:
            return True
    except OSError:
        return False
    raise changed(path)


def verify():
    """Return the number of libraries here, of odl as it is now, and a sentence for each that does not fit."""
    n_libraries, wrong = 0, []
    for path in [path for name in marshalling.names() for path in (library(name, SHIPPED), library(name))]:
        try:
            n_libraries += sound(path)
        except StorageError as error:
            n_libraries, wrong = n_libraries + 1, [*wrong, str(error)]
    return n_libraries, wrong


def loaded(name):
    """Return the open library of a file of kernels: the shipped one, else the one made here, else None."""
    for path in (library(name, SHIPPED), library(name)):
        try:
            return _open(path)
        except OSError:
            continue
    return None


def ready(name):
    """Tell whether a file of kernels has a library here: one that was made, or a shipped one that loads."""
    return sound(library(name)) or loaded(name) is not None


@contextlib.contextmanager
def compiling(name):
    """Say in one sentence where kernels without a library cannot be compiled either.

    Raises
    ------
    ConfigError
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "numba":
            raise
        defect = f"the kernels {name} have no compiled library here, and numba, which compiles them, is not installed"
        raise ConfigError(defect, "one of the two", "pip install 'online-dictionary-learning[compile]'") from error


class Kernels:
    """The functions of a file of kernels, from the library or from numba, looked up when first called."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, function):
        library = _library(self._name)
        if library and function in marshalling.declared(self._name):
            kernel = marshalling.bind(library, self._name, function)
        else:
            with compiling(self._name):
                # numba reads .numba_config.yaml of the working folder, which may name a cache of pickles elsewhere.
                os.environ.setdefault("NUMBA_CACHE_DIR", _cache(None))
                kernel = getattr(importlib.import_module(f"odl.kernels.{self._name}"), function)
        setattr(self, function, kernel)
        return kernel


def _library(name):
    """Return the library that functions are called from, None where numba runs them."""
    _cache(os.environ.get("NUMBA_CACHE_DIR"))  # what numba keeps there is code as well
    return None if os.environ.get("ODL_NATIVE") == "0" else loaded(name)


def repeated(kernels, function, *arguments):
    """Return a function without arguments that calls one of arrays of one axis; only here are they looked at."""
    kernel, library = getattr(kernels, function), _library(kernels._name)
    if library is None:
        return functools.partial(kernel, *arguments)
    kernel(*arguments)  # checks them
    arrays = marshalling.leaves(marshalling.declared(kernels._name)[function].taken, arguments)
    words = [word for _, array in arrays for word in (array.ctypes.data, len(array))]
    packed = (ctypes.c_int64 * len(words))(*words)
    packed.arrays = arrays  # they live as long as their addresses
    return functools.partial(getattr(library, f"odl_{function}"), packed)


@functools.cache
def _open(path):
    if os.path.dirname(path) != SHIPPED:  # which is a part of odl
        check(path)
        check(beside(path))
    if not sound(path):
        raise FileNotFoundError(path)
    return ctypes.CDLL(path)


def check(path):
    """Refuse a file or folder of compiled kernels that others may write; what is not there nobody has written.

    Trusted are this user, root and whoever owns odl's own code. A folder that others may write passes where they can
    only add to it (the sticky bit): its files are then looked at by themselves. Systems without owners pass.

    Raises
    ------
    ConfigError
    """
    try:
        status = os.stat(path)
    except OSError:
        return
    shared = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _private(status))
    shared = shared and not (stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX)
    if shared or status.st_uid not in {os.geteuid(), 0, os.stat(__file__).st_uid}:
        defect = f"others may write {path}, where compiled kernels are loaded from"
        expected = "a folder that you own and nobody else may write"
        raise ConfigError(defect, expected, f"say chmod -R go-w {path}, or set NUMBA_CACHE_DIR to another folder")


def _private(status):
    """Tell whether a group is its owner's alone: of the same name and without other members."""
    import grp
    import pwd

    try:
        group, owner = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid)
    except KeyError:
        return False
    return group.gr_name == owner.pw_name and not set(group.gr_mem) - {owner.pw_name}
