"""Errors a user can cause: each says what was given, what was expected and what to do."""

import os

MAX_CHARACTERS = {"given": 1200, "expected": 800, "todo": 400}  # characters of a message's parts


class OdlError(Exception):
    """Base class. The message is one sentence for the person who can mend the cause.

    Parameters
    ----------
    given : str
        What was found (name the file, key or value).
    expected : str
        What would have been right.
    todo : str
        What to do about it.

    Examples
    --------
    >>> from odl.errors import OdlError
    >>> print(OdlError("the file a.txt is empty", "one document a line", "write documents into it"))
    the file a.txt is empty; expected one document a line; write documents into it.
    """

    status = 1  # that a command ends with

    def __init__(self, given: str, expected: str, todo: str) -> None:
        given, expected, todo = (
            _one_line(text, most) for text, most in zip((given, expected, todo), MAX_CHARACTERS.values(), strict=True)
        )
        self.given, self.expected, self.todo = given, expected, todo
        super().__init__(given, expected, todo)

    def __str__(self):
        return f"{self.given}; expected {self.expected}; {self.todo}" + ("" if self.todo.endswith("?") else ".")


def _one_line(text, most):
    """Return what was found in a file as a part of a sentence: one line, nothing that moves a cursor, not too long."""
    text = str(text)
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " if sign.isspace() else "?" for sign in text)
    return text if len(text) <= most else f"{text[: most - 100]} ... {text[-90:]}"


class ConfigError(OdlError):
    """A configuration value or key is wrong.

    Examples
    --------
    >>> from odl.text.tokens import token_options
    >>> token_options({"lowercase": 1})
    Traceback (most recent call last):
        ...
    odl.errors.ConfigError: tokens.lowercase is 1; expected true or false; correct it.
    """


class DataError(OdlError):
    """A document source cannot be read as what it claims to be.

    Examples
    --------
    >>> from odl import corpora
    >>> corpora.read("documents", ["nowhere.jsonl"])
    Traceback (most recent call last):
        ...
    odl.errors.DataError: nowhere.jsonl does not exist; expected a file, a folder or a pattern; correct the path.
    """


class DownloadError(OdlError):
    """A file could not be fetched, or is not the file it should be.

    Examples
    --------
    >>> from odl.errors import DownloadError, OdlError
    >>> issubclass(DownloadError, OdlError)
    True
    """


class StorageError(OdlError):
    """A file written by odl is truncated, edited, foreign or of another format.

    Examples
    --------
    >>> from odl.files.checkpoints import read_checkpoint
    >>> read_checkpoint("nowhere.h5")
    Traceback (most recent call last):
        ...
    odl.errors.StorageError: nowhere.h5 does not exist; expected a file of kind 'checkpoint'; make it first.
    """


def changed(path, what="", delete=None):
    """Return the error for a file that does not hold what was written.

    Parameters
    ----------
    path : path-like
    what : str, optional
        What of it.
    delete : path-like, optional
        What to delete, where that is not the file alone.
    """
    given = f"{os.fspath(path)} was changed after it was written{f' ({what})' if what else ''}"
    todo = f"delete {os.fspath(delete or path)} and run the same command again"
    return StorageError(given, "the content that its digest was taken of", todo)


class CheckpointError(StorageError):
    """A checkpoint does not belong to the chain that is to be continued.

    Examples
    --------
    >>> from odl.errors import CheckpointError, StorageError
    >>> issubclass(CheckpointError, StorageError)
    True
    """


class EarlierError(StorageError):
    """An earlier version wrote the files that are to be continued.

    Examples
    --------
    >>> from odl.errors import EarlierError
    >>> EarlierError("news was learned by an earlier version", "this one", "type: odl run news --again").status
    2
    """

    status = 2


class BusyError(OdlError):
    """Another run has the folder.

    Examples
    --------
    >>> from odl.errors import BusyError
    >>> BusyError("news is run by process 12", "one run a folder", "wait for it").status
    75
    """

    status = 75  # EX_TEMPFAIL: the same command may do later


class ParameterError(OdlError, ValueError):
    """An argument of a public function is outside its domain.

    Examples
    --------
    >>> from odl import trees
    >>> trees.binary(0)
    Traceback (most recent call last):
        ...
    odl.errors.ParameterError: a binary tree of 0 nodes; expected 1 to 10000000 nodes; correct the tree.
    """


def advice(name, known, otherwise="choose one of these"):
    """Return what to do about a name that is not among the known ones: to take the nearest, where one is near."""
    import difflib

    near = difflib.get_close_matches(str(name), list(map(str, known)), n=1)
    return f"did you mean '{near[0]}'?" if near else otherwise


def nearest(name, known):
    """Return " (nearest: ...)" for the known name most like `name`, or "" where none is."""
    import difflib

    known = list(known)
    lowered = {str(key).lower(): key for key in known}
    close = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.5)
    return f" (nearest: {lowered[close[0]]!r})" if close else ""
