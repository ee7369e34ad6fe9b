"""Errors that users can cause.

The message of an error states what was given, what was expected, and what to do.
"""

import os

# Maximum length of the three parts of a message, in characters. A longer part is cut.
MAX_CHARACTERS = {"given": 1200, "expected": 800, "todo": 400}


class OdlError(Exception):
    """Base class of all errors of odl. The message is one sentence for the user.

    Parameters
    ----------
    given : str
        What was found; names the file, key or value.
    expected : str
        What would be correct.
    todo : str
        What to do.

    Examples
    --------
    >>> from odl.errors import OdlError
    >>> print(OdlError("the file a.txt is empty", "one document a line", "write documents into it"))
    the file a.txt is empty; expected one document a line; write documents into it.
    """

    status = 1  # exit status of the command

    def __init__(self, given: str, expected: str, todo: str) -> None:
        given, expected, todo = (
            _one_line(text, limit)
            for text, limit in zip((given, expected, todo), MAX_CHARACTERS.values(), strict=True)
        )
        self.given, self.expected, self.todo = given, expected, todo
        super().__init__(given, expected, todo)

    def __str__(self):
        return f"{self.given}; expected {self.expected}; {self.todo}" + (
            "" if self.todo.endswith("?") else "."
        )


def _one_line(text, limit):
    """Return a text as one printable line of at most `limit` characters, cut in the middle."""
    text = str(text)
    if not text.isprintable():
        text = "".join(
            sign if sign.isprintable() else " " if sign.isspace() else "?" for sign in text
        )
    return text if len(text) <= limit else f"{text[: limit - 100]} ... {text[-90:]}"


class ConfigError(OdlError):
    """A key or value of the configuration is wrong.

    Examples
    --------
    >>> from odl.text.tokens import token_options
    >>> token_options({"lowercase": 1})
    Traceback (most recent call last):
        ...
    odl.errors.ConfigError: tokens.lowercase is 1; expected true or false; correct the value.
    """


class DataError(OdlError):
    """A source of documents cannot be read.

    Examples
    --------
    >>> from odl import corpora
    >>> corpora.read("documents", ["nowhere.jsonl"])
    Traceback (most recent call last):
        ...
    odl.errors.DataError: nowhere.jsonl does not exist; \
expected a file, a folder or a pattern; correct the path.
    """


class DownloadError(OdlError):
    """A file could not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from odl.errors import DownloadError, OdlError
    >>> issubclass(DownloadError, OdlError)
    True
    """


class StorageError(OdlError):
    """A file is not as odl wrote it: missing, truncated, edited, or of another format.

    Examples
    --------
    >>> from odl.files.checkpoints import read_checkpoint
    >>> read_checkpoint("nowhere.h5")
    Traceback (most recent call last):
        ...
    odl.errors.StorageError: nowhere.h5 does not exist; \
expected a file of kind 'checkpoint'; run the step that writes it.
    """


def changed(path, what="", delete=None):
    """Return the `StorageError` of a file whose content does not match its digest.

    Parameters
    ----------
    path : path-like
    what : str, optional
        Changed part of the file.
    delete : path-like, optional
        File or folder to delete, if not `path`.
    """
    given = f"{os.fspath(path)} was changed after it was written{f' ({what})' if what else ''}"
    todo = f"delete {os.fspath(delete or path)} and run the same command again"
    return StorageError(given, "the content that belongs to its digest", todo)


class CheckpointError(StorageError):
    """A checkpoint does not belong to the chain that would continue from it.

    Examples
    --------
    >>> from odl.errors import CheckpointError, StorageError
    >>> issubclass(CheckpointError, StorageError)
    True
    """


class EarlierError(StorageError):
    """An earlier version wrote the files, in another format, so they cannot be continued.

    Examples
    --------
    >>> from odl.errors import EarlierError
    >>> EarlierError("an earlier version wrote news", "this version", "type odl run --again").status
    2
    """

    status = 2


class BusyError(OdlError):
    """Another process is running in the folder.

    Examples
    --------
    >>> from odl.errors import BusyError
    >>> BusyError("process 12 is running in news", "one run per folder", "wait for it").status
    75
    """

    status = 75  # EX_TEMPFAIL: the same command may succeed later


class ParameterError(OdlError, ValueError):
    """An argument of a public function is outside its domain.

    Examples
    --------
    >>> from odl import trees
    >>> trees.binary(0)
    Traceback (most recent call last):
        ...
    odl.errors.ParameterError: a binary tree of 0 nodes; \
expected 1 to 10000000 nodes; correct the tree.
    """


def advice(name, valid, otherwise="choose one of these"):
    """Return "did you mean 'X'?" with the valid name X similar to `name`, or `otherwise`."""
    import difflib

    similar = difflib.get_close_matches(str(name), list(map(str, valid)), n=1)
    return f"did you mean '{similar[0]}'?" if similar else otherwise


def nearest(name, valid):
    """Return " (nearest: 'X')" with the valid name X most similar to `name`, "" without any."""
    import difflib

    lowered = {str(key).lower(): key for key in valid}
    close = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.5)
    return f" (nearest: {lowered[close[0]]!r})" if close else ""
