"""A person's own files: which a file, a folder or a pattern names, and of what kind each is."""

import glob
import lzma
import os
import re
import zlib
from functools import lru_cache

from odl.errors import DataError
from odl.files import contents, packing
from odl.files.escaping import clean

TABLES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")  # what is taken from a folder
SUFFIXES = {
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet",),
    "mail": (".mbox", ".mbx", ".eml", ".emlx"),
    "feed": (".rss", ".atom", ".xml"),
    "text": (".txt", ".md"),
    "log": (".log",),
}
KINDS = tuple(SUFFIXES)
ROTATED = re.compile(r"(?:\.\d{1,4}|[._-]\d{4}-?\d\d-?\d\d(?:[T_-]?\d{2,6})?|\.old|\.prev)+$")  # behind names of logs
OF_SERVERS = re.compile(r"dovecot[.-].*|courierimap.*|maildirfolder|maildirsize|~\$.*")  # beside mail; locks of Office
ENDING = re.compile(r"\.[^\W\d]\w*$")
TOLD = ("jsonl", "csv", "log", "text", None)  # kinds of names whose content is looked at
TABULAR = ("jsonl", "csv", "parquet")  # kinds whose columns a person names
CATEGORY = "category"  # column of the categories of a feed
PROJECT, FORGOTTEN = "odl.yaml", "forgotten.txt"
WRITTEN = (PROJECT, FORGOTTEN, "new.atom", "new.json", "new.html")  # by odl into a folder of its own, and "results"
FEEDBACK = "feedback.csv", b"what,verdict"  # what `odl mute` writes, which may lie beside documents, and how it begins


def bare_name(path):
    """Return the name of a file in small letters without endings of packing and rotation: app.log for app.log.2.gz."""
    bare = packing.unpacked_name(os.path.basename(str(path)).lower())
    if bare.endswith(tuple(end for ends in SUFFIXES.values() for end in ends)):
        return bare
    return ROTATED.sub("", bare) or bare


def kind_of(path):
    """Return the kind of a file by its name, also one that is packed or was rotated, or None."""
    bare = bare_name(path)
    kind = next((kind for kind, ends in SUFFIXES.items() if bare.endswith(ends)), None)
    return None if kind == "parquet" and packing.is_packed(path) else kind


def kind_in(path):
    """Return the kind of a file by its name and its content, None if it is no text that is read.

    Errors of the system leave the name to tell.
    """
    named = kind_of(path)
    if named not in TOLD or str(path).lower().endswith(".md"):
        return named
    try:
        with packing.opened(path) as file:
            head = file.read(contents.HEAD)
    except (OSError, EOFError, ValueError, zlib.error):
        return named
    return contents.kind_in(head, named)


def is_read(path):
    """Return whether a file of a folder or a pattern is read: by its name, or one without an ending by its content."""
    return kind_of(path) is not None or (not ENDING.search(bare_name(path)) and kind_in(path) is not None)


def expand(source, kind=None):
    """Return (name, path) of the files that a source names, sorted by path; None if it does not exist.

    Parameters
    ----------
    source : str
        A file; a folder, of which the tables are taken (`TABLES`; with a `kind` every file), hidden ones and those that
        odl wrote aside; or a pattern such as ``posts/*``, where ``**`` stands for any folders, and of which the files
        are taken that some reader knows (`is_read`; with a `kind` every file). Rotated logs are in the order in which
        they were written: app.log.2.gz, app.log.1, app.log.
    kind : str, optional
        One of `KINDS`, whatever the files are called.

    Returns
    -------
    list of (str, str), or None
        The name of a file tells it from others: its path below the folder or the fixed part of the pattern.
    """
    if os.path.isdir(source):
        paths = sorted(os.path.join(source, name) for name in os.listdir(source))
        paths = [path for path in paths if kind or path.lower().endswith(TABLES)]
        base = source
    elif os.path.isfile(source):
        return [(os.path.basename(source), source)]
    elif glob.has_magic(source):
        paths, base = sorted(glob.glob(source, recursive=True)), _fixed(source)
    else:
        return None
    begin = os.path.join(base, "") if base else ""  # what all begin with: `relpath` takes ten times as long
    named = [(os.path.normpath(path.removeprefix(begin)).replace(os.sep, "/"), path) for path in paths]
    named = [(name, path) for name, path in named if not _hidden(name) and os.path.isfile(path) and not _written(path)]
    if kind is None and not os.path.isdir(source):
        named = [(name, path) for name, path in named if is_read(path)]
    return sorted(named, key=lambda pair: _written_at(pair[1]))


def is_utf8(name):
    """Return whether the name of a file is UTF-8."""
    return name.isascii() or name == name.encode("utf-8", "replace").decode("utf-8")


def printable_name(path):
    r"""Return the name of a file with bytes that are not UTF-8 written as \\xe9."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def not_utf8(sources, kind=None):
    """Return the files of sources (`expand`) whose names are not UTF-8."""
    paths = {path for source in sources for _, path in expand(source, kind) or ()}
    return sorted(path for path in paths if not is_utf8(path))


def _written_at(path):
    """Return a key that sorts files by path, the rotated ones of a log before it, the oldest first."""
    name = os.path.basename(path)
    match = re.fullmatch(r"(.+?\.log|[^.]+)\.(\d{1,4})(\.\w+)?", name)
    log = match[1] if match else name
    return os.path.dirname(path), log, -int(match[2]) if match else 0, path


def _hidden(name):
    *_, last = parts = name.split("/")
    return OF_SERVERS.fullmatch(last) is not None or any(part.startswith(".") and part != ".." for part in parts)


def hidden_mail(sources):
    """Return (folder, number of messages) of folders of Maildir++, such as .Sent, that sources do not read."""
    bases = [source if os.path.isdir(source) else _fixed(source) for source in sources if not os.path.isfile(source)]
    bases = sorted({os.path.normpath(base or ".") for base in bases})
    found = []
    for base in bases:
        for folder in sorted(glob.glob(os.path.join(glob.escape(base), ".*", ""))):
            n = sum(len(glob.glob(os.path.join(glob.escape(folder), part, "*"))) for part in ("cur", "new"))
            found += [(os.path.normpath(folder), n)] * (n > 0 and os.path.normpath(folder) not in bases)
    return found


def _written(path):
    """Return whether odl wrote a file into a folder of its own, or beside documents."""
    folder, name = os.path.split(path)
    roots = [folder] * (name in WRITTEN)
    if "results" in path:
        parts = folder.split(os.sep)
        roots += [os.sep.join(parts[:place]) for place, part in enumerate(parts) if part == "results"]
    return any(os.path.exists(os.path.join(root, PROJECT)) for root in roots) or _feedback(path)


def _feedback(path):
    name, begins = FEEDBACK
    if os.path.basename(path) != name:
        return False
    with open(path, "rb") as file:
        return file.read(len(begins) + 3).removeprefix(b"\xef\xbb\xbf").startswith(begins)


def _fixed(pattern):
    """Return the folder that all matches of a pattern lie in."""
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern


def endings():
    """Return the ends of names that are known, for a message."""
    return ", ".join(suffix for ends in SUFFIXES.values() for suffix in ends)


def find_files(sources, kind=None):
    """Return (name, path) of the files named by files, folders and patterns (`expand`).

    What is not UTF-8 in a name, or breaks a line, is replaced by "?" there, not in the path. Packed copies of files
    that are named as well are left out (`packed_copies`).

    Raises
    ------
    DataError
        If a source does not exist, a file is of no kind, a folder holds none, or two files have the same name.
    """
    named, kinds = {}, f"files ending in {endings()}"
    for source in sources:
        files = expand(source, kind)
        if files is None:
            raise DataError(f"{source} does not exist", "a file, a folder or a pattern", "correct the path")
        if not files:
            what = "the folder" if os.path.isdir(source) else "the pattern"
            raise DataError(f"{what} {source} holds no document files", kinds, "put files there")
        for name, path in files:
            if not kind and not is_read(path):
                raise DataError(f"{path} is of another kind", kinds, "set the option kind, or convert or rename it")
            name = re.sub(r"[\r\n]", "?", clean(name))
            if name in named:
                fault = f"{path} has the same name as {named[name]}"
                raise DataError(fault, "files of different names", "rename or remove one")
            named[name] = path
    if not named:
        raise DataError("no source was given for documents", "files or folders", "name them")
    copies = packed_copies(named.values())
    return [(name, path) for name, path in named.items() if path not in copies]


def packed_copies(paths):
    """Map each packed file to the plain file that it is a copy of, such as app.log.1.gz to app.log.1."""
    paths = set(map(str, paths))
    pairs = [(path, packing.unpacked_name(path)) for path in paths if packing.is_packed(path)]
    return {path: plain for path, plain in pairs if plain in paths and _alike(path, plain)}


def _alike(path, plain):
    """Return whether two files have the same content, unpacked."""
    try:
        stats = [os.stat(one) for one in (path, plain)]
    except OSError:
        return False
    return _same_content(path, plain, tuple((stat.st_size, stat.st_mtime_ns, stat.st_ino) for stat in stats))


@lru_cache(maxsize=1024)
def _same_content(path, plain, _):
    """Compare two files, once for what they are now."""
    try:
        with packing.opened(path) as one, packing.opened(plain) as other:
            while (data := one.read(packing.BUFFER)) == other.read(packing.BUFFER):
                if not data:
                    return True
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        pass
    return False
