"""The user's input files: their search, their kinds, and their decompression."""

import glob
import io
import lzma
import os
import re
import zlib
from functools import lru_cache
from importlib import import_module

from odl.errors import DataError
from odl.files import contents
from odl.files.escaping import clean

# Endings of the files that are read from a folder
FOLDER_SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")
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
# What log rotation appends to the name of a log: a number, a date, .old or .prev
ROTATED = re.compile(r"(?:\.\d{1,4}|[._-]\d{4}-?\d\d-?\d\d(?:[T_-]?\d{2,6})?|\.old|\.prev)+$")
# Files of mail servers in mail folders, and lock files of Microsoft Office.
NO_DOCUMENTS = re.compile(r"dovecot[.-].*|courierimap.*|maildirfolder|maildirsize|~\$.*")
NAME_ENDING = re.compile(r"\.[^\W\d]\w*$")
# Kinds by the name of a file for which the content of the file is inspected too
INSPECTED_KINDS = ("jsonl", "csv", "log", "text", None)
TABULAR = ("jsonl", "csv", "parquet")  # kinds whose columns the option `columns` names
CATEGORY = "category"  # column with the categories of a feed item
PROJECT, FORGOTTEN = "odl.yaml", "forgotten.txt"
# Files that odl writes into the folder of a project
PROJECT_FILES = (PROJECT, FORGOTTEN, "new.atom", "new.json", "new.html")
FEEDBACK_FILE = "feedback.csv"  # `odl mute` writes it, maybe into the folder of the documents
FEEDBACK_HEADER = b"what,verdict"  # start of the first line of the feedback file
BUFFER_BYTES = 1 << 17  # number of bytes that are decompressed or compared in one step

# First bytes of a file -> module that decompresses it
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\0": "lzma"}
PACKED_SUFFIXES = (".gz", ".bz2", ".xz")  # suffixes of compressed files, in lower case


def is_packed(path):
    """Return whether a file name has the suffix of a compressed file."""
    return os.fspath(path).lower().endswith(PACKED_SUFFIXES)


def unpacked_name(name):
    """Return a file name without the suffix of a compressed file."""
    return os.path.splitext(name)[0] if is_packed(name) else name


def opened(path):
    """Open a file for reading bytes; gzip, bzip2 and xz are detected and decompressed."""
    file = open(path, "rb")  # noqa: SIM115
    head = file.peek(8)[:8]
    module = next((module for magic, module in MAGIC.items() if head.startswith(magic)), None)
    if module is None:
        return file
    return io.BufferedReader(_Unpacked(import_module(module).open(file), file), BUFFER_BYTES)


class _Unpacked(io.RawIOBase):
    """Stream of decompressed bytes. Closing it also closes the compressed file."""

    def __init__(self, unpacked, file):
        self.unpacked, self.file = unpacked, file

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.unpacked.read1(len(buffer))  # `read` would lose the data before a damaged part
        buffer[: len(data)] = data
        return len(data)

    def close(self):
        if not self.closed:
            self.unpacked.close()
            self.file.close()
        super().close()


def bare_name(path):
    """Return a file name in lower case without suffixes of compression and rotation.

    The result for app.log.2.gz is app.log.
    """
    bare = unpacked_name(os.path.basename(str(path)).lower())
    if bare.endswith(tuple(end for ends in SUFFIXES.values() for end in ends)):
        return bare
    return ROTATED.sub("", bare) or bare


def kind_of(path):
    """Return the kind of a file by its extension, or None if that is unknown."""
    bare = bare_name(path)
    kind = next((kind for kind, ends in SUFFIXES.items() if bare.endswith(ends)), None)
    return None if kind == "parquet" and is_packed(path) else kind


def kind_in(path):
    """Return the kind of a file by its name and content, or None if odl cannot read it.

    If the file cannot be opened or decompressed, only its name is used.
    """
    named = kind_of(path)
    if named not in INSPECTED_KINDS or str(path).lower().endswith(".md"):
        return named
    try:
        with opened(path) as file:
            head = file.read(contents.INSPECTED_BYTES)
    except (OSError, EOFError, ValueError, zlib.error):
        return named
    return contents.kind_in(head, named)


def is_read(path):
    """Return whether odl can read a file: its extension is known, or it has none and is text."""
    if kind_of(path) is not None:
        return True
    return not NAME_ENDING.search(bare_name(path)) and kind_in(path) is not None


def expand(source, kind=None):
    """Return (name, path) of each file in a source, sorted by path.

    Hidden files and files that odl wrote are omitted. Rotated logs are sorted by age, the oldest
    first: app.log.2.gz, app.log.1, app.log.

    Parameters
    ----------
    source : str
        A file, a folder or a pattern such as ``posts/*``. Of a folder, the files with a suffix of
        `FOLDER_SUFFIXES` are returned; of a pattern, those of a readable kind (`is_read`). ``**``
        matches any folders.
    kind : str, optional
        One of `KINDS`. If given, all files of a folder or pattern are returned.

    Returns
    -------
    list of (str, str), or None
        Name and path of each file. The name is the path below the folder, or below the part of the
        pattern without wildcards. None if the source does not exist.
    """
    if os.path.isdir(source):
        paths = sorted(os.path.join(source, name) for name in os.listdir(source))
        paths = [path for path in paths if kind or path.lower().endswith(FOLDER_SUFFIXES)]
        base = source
    elif os.path.isfile(source):
        return [(os.path.basename(source), source)]
    elif glob.has_magic(source):
        paths, base = sorted(glob.glob(source, recursive=True)), _fixed(source)
    else:
        return None
    prefix = os.path.join(base, "") if base else ""  # os.path.relpath takes ten times as long
    named = []
    for path in paths:
        name = os.path.normpath(path.removeprefix(prefix)).replace(os.sep, "/")
        if _hidden(name) or not os.path.isfile(path) or _written(path):
            continue
        if kind or os.path.isdir(source) or is_read(path):
            named.append((name, path))
    return sorted(named, key=lambda pair: _order_key(pair[1]))


def is_utf8(name):
    """Return whether the bytes of a file name are UTF-8."""
    return name.isascii() or name == name.encode("utf-8", "replace").decode("utf-8")


def printable_name(path):
    r"""Return the name of a file with escapes such as \xe9 in place of bytes that are not UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def not_utf8(sources, kind=None):
    """Return the files of sources (`expand`) whose names are not UTF-8."""
    paths = {path for source in sources for _, path in expand(source, kind) or ()}
    return sorted(path for path in paths if not is_utf8(path))


def _order_key(path):
    """Return the sort key of a path, by which rotated logs are sorted by age, the oldest first."""
    name = os.path.basename(path)
    match = re.fullmatch(r"(.+?\.log|[^.]+)\.(\d{1,4})(\.\w+)?", name)
    log = match[1] if match else name
    return os.path.dirname(path), log, -int(match[2]) if match else 0, path


def _hidden(name):
    """Return whether a file is hidden, or matches `NO_DOCUMENTS`."""
    parts = name.split("/")
    is_hidden = any(part.startswith(".") and part != ".." for part in parts)
    return is_hidden or NO_DOCUMENTS.fullmatch(parts[-1]) is not None


def hidden_mail(sources):
    """Find hidden Maildir++ folders with mail, such as .Sent, that the sources do not include.

    Returns
    -------
    list of (str, int)
        Path and number of messages of each folder.
    """
    bases = set()
    for source in sources:
        if not os.path.isfile(source):
            base = source if os.path.isdir(source) else _fixed(source)
            bases.add(os.path.normpath(base or "."))
    folders = []
    for base in sorted(bases):
        for found in sorted(glob.glob(os.path.join(glob.escape(base), ".*", ""))):
            folder, escaped = os.path.normpath(found), glob.escape(found)
            messages = [
                *glob.glob(os.path.join(escaped, "cur", "*")),
                *glob.glob(os.path.join(escaped, "new", "*")),
            ]
            if messages and folder not in bases:
                folders.append((folder, len(messages)))
    return folders


def _written(path):
    """Return whether odl wrote a file: a project file, a result, or the feedback table."""
    folder, name = os.path.split(path)
    roots = [folder] if name in PROJECT_FILES else []  # possible folders of odl.yaml
    if "results" in path:
        parts = folder.split(os.sep)
        # parts[:depth] is the path of the folder that contains "results".
        roots += [
            os.sep.join(parts[:depth]) for depth, part in enumerate(parts) if part == "results"
        ]
    return any(os.path.exists(os.path.join(root, PROJECT)) for root in roots) or _feedback(path)


def _feedback(path):
    """Return whether a file is the feedback table that `odl mute` writes."""
    if os.path.basename(path) != FEEDBACK_FILE:
        return False
    with open(path, "rb") as file:
        begin = file.read(len(FEEDBACK_HEADER) + 3)  # 3: length of a byte order mark
    return begin.removeprefix(b"\xef\xbb\xbf").startswith(FEEDBACK_HEADER)


def _fixed(pattern):
    """Return the folder part of a pattern before its first wildcard."""
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern


def endings():
    """Return the known suffixes of file names, separated by commas, for a message."""
    return ", ".join(suffix for ends in SUFFIXES.values() for suffix in ends)


def find_files(sources, kind=None):
    """Return (name, path) of the files of several sources (`expand`).

    In names, "?" replaces line breaks and bytes that are not UTF-8. Compressed copies of other
    files are omitted (`packed_copies`).

    Raises
    ------
    DataError
        If a source does not exist or has no files, a file is of no readable kind, or two files have
        the same name.
    """
    named = {}
    for source in sources:
        for name, path in _files_in(source, kind):
            name = re.sub(r"[\r\n]", "?", clean(name))
            if name in named:
                raise DataError(
                    f"{path} has the same name as {named[name]}",
                    "files with different names",
                    "rename one of the files",
                )
            named[name] = path
    if not named:
        raise DataError(
            "no source was given for documents", "files or folders", "name a file or a folder"
        )
    copies = packed_copies(named.values())
    return [(name, path) for name, path in named.items() if path not in copies]


def _files_in(source, kind):
    """Return the result of `expand`; raise DataError if a source or file cannot be used."""
    files, kinds = expand(source, kind), f"files ending in {endings()}"
    if files is None:
        raise DataError(
            f"{source} does not exist", "a file, a folder or a pattern", "correct the path"
        )
    if not files:
        role = "the folder" if os.path.isdir(source) else "the pattern"
        raise DataError(
            f"{role} {source} has no files of documents",
            kinds,
            "correct the path, or put such files there",
        )
    for _, path in files:
        if not kind and not is_read(path):
            raise DataError(
                f"{path} is not a file of documents",
                kinds,
                "set the option kind, or convert or rename the file",
            )
    return files


def packed_copies(paths):
    """Return {compressed file: uncompressed file} for files with equal content in both forms.

    An example is {"app.log.1.gz": "app.log.1"}.
    """
    paths = set(map(str, paths))
    pairs = [(path, unpacked_name(path)) for path in paths if is_packed(path)]
    return {path: plain for path, plain in pairs if plain in paths and _is_copy(path, plain)}


def _is_copy(path, plain):
    """Return whether a compressed and a plain file have the same content."""
    try:
        stats = [os.stat(path), os.stat(plain)]
    except OSError:
        return False
    versions = tuple((stat.st_size, stat.st_mtime_ns, stat.st_ino) for stat in stats)
    return _same_content(path, plain, versions)


@lru_cache(maxsize=1024)
def _same_content(path, plain, _versions):
    """Return whether a compressed and a plain file have the same content.

    `_versions` is the size, time and inode of both, so that the cache detects changed files.
    """
    try:
        with opened(path) as packed, opened(plain) as other:
            while (data := packed.read(BUFFER_BYTES)) == other.read(BUFFER_BYTES):
                if not data:
                    return True
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        pass
    return False
