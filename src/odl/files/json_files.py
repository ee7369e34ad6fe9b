"""JSON files between stages, each a map with its own digest.

The last key, ``digest``, is the sha256 of all others as ``json.dumps`` writes them without white space, in the order of
the file: another form of the same values is read, another value or order is refused.
"""

import hashlib
import json
import os

from odl.errors import StorageError, changed
from odl.files.atomic import replacing

DIGEST = "digest"


def digest_of(content):
    """Return the digest of a map."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def write_json(path, content):
    """Write a map (without a key ``digest``) with its digest, atomically and with reproducible bytes."""
    if DIGEST in content:
        raise ValueError(f"{DIGEST} is the key of the digest")
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps({**content, DIGEST: digest_of(content)}, indent=1) + "\n")


def read_json(path, delete=None):
    """Read what `write_json` wrote, without the digest, verified.

    Parameters
    ----------
    path : path-like
    delete : path-like, optional
        What to delete if it is damaged, where that is not the file alone.

    Raises
    ------
    StorageError
        If the file is missing, no map in JSON with a digest, or changed after it was written.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise StorageError(f"{path} does not exist", "a JSON file", "make it first")
    todo = f"delete {os.fspath(delete or path)} and run the same command again"
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        held = content.pop(DIGEST)
        found = digest_of(content)
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise StorageError(f"{path} cannot be read ({error})", "a file as odl wrote it", todo) from error
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise StorageError(f"{path} has no digest", f"a JSON map with the key '{DIGEST}'", todo) from error
    if found != held:
        raise changed(path, "", delete)
    return content
