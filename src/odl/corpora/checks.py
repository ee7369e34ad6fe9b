"""Checks that all readers share: options, sources, damaged files and wrong content."""

import difflib
import os
from contextlib import contextmanager

from odl.errors import ConfigError, DataError

FETCH = "download it again, or put the right file there"


def nearest(name, known):
    """Return " (nearest: ...)" for the known name most like `name`, or "" where none is."""
    known = list(known)
    lowered = {str(key).lower(): key for key in known}
    close = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.5)
    return f" (nearest: {lowered[close[0]]!r})" if close else ""


def check_options(reader, options, allowed):
    """Refuse options that the reader does not have.

    Raises
    ------
    ConfigError
        Naming the unknown option and the nearest known one.
    """
    for name in options:
        if name not in allowed:
            raise ConfigError(
                f"the option {name!r} of {reader} is unknown{nearest(name, allowed)}",
                ("one of " + ", ".join(allowed)) if allowed else "no options",
                "correct or remove it",
            )


def check_sources(reader, sources, files):
    """Return the sources if there is one existing file for each of `files`.

    Raises
    ------
    DataError
        If there are more or fewer, or one does not exist.
    """
    if len(sources) != len(files):
        raise DataError(
            f"{len(sources)} source files for {reader}",
            (f"{len(files)}: " + ", ".join(files)) if files else "none",
            "correct the list of sources",
        )
    for source in sources:
        if not os.path.isfile(source):
            raise DataError(f"{source} is not a file", f"a file of the corpus {reader}", "download it first")
    return sources


@contextmanager
def opening(path, what):
    """Turn whatever decoding the file at `path` raises into one `DataError`."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # decoders raise many kinds, zlib.error and struct.error among them
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path} cannot be read ({reason})", what, FETCH) from error


def check_content(path, found, expected):
    """Compare what was read with what is known of the corpus.

    Parameters
    ----------
    path : path-like
        For the message.
    found, expected : dict
        Quantity -> value, with the same keys.

    Raises
    ------
    DataError
        Naming the first quantity that differs.
    """
    for name, value in expected.items():
        if found[name] != value:
            raise DataError(f"{path} has {found[name]} as its {name}", f"{value}", FETCH)


def tar_members(path, wanted=None):
    """Yield (name, bytes) of the regular files of a tar.gz archive, in its order; nothing is extracted.

    Parameters
    ----------
    path : path-like
        The archive.
    wanted : callable, optional
        Base name -> bool; other members are skipped.

    Raises
    ------
    DataError
        If the archive is damaged or truncated.
    """
    import gzip
    import tarfile

    with opening(path, "a whole tar.gz archive"), gzip.open(path, "rb") as stream:
        with tarfile.open(fileobj=stream, mode="r:") as archive:
            for member in archive:
                if member.isfile() and (wanted is None or wanted(member.name.rpartition("/")[2])):
                    yield member.name, archive.extractfile(member).read()
        while stream.read(1 << 20):  # tarfile takes a missing end for the end; the checksum is behind it
            pass
