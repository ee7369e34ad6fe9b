"""Errors a user can cause: each says what was given, what was expected and what to do."""


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
    """

    def __init__(self, given, expected, todo):
        self.given, self.expected, self.todo = given, expected, todo
        super().__init__(given, expected, todo)

    def __str__(self):
        return f"{self.given}; expected {self.expected}; {self.todo}" + ("" if self.todo.endswith("?") else ".")


class ConfigError(OdlError):
    """A configuration value or key is wrong."""


class DataError(OdlError):
    """A document source cannot be read as what it claims to be."""


class DownloadError(OdlError):
    """A file could not be fetched, or is not the file it should be."""


class StorageError(OdlError):
    """A file written by odl is truncated, edited, foreign or of another format."""


class CheckpointError(StorageError):
    """A checkpoint does not belong to the chain that is to be continued."""


class ParameterError(OdlError, ValueError):
    """An argument of a public function is outside its domain."""
