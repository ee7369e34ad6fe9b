"""Download and check corpus files, from a mirror or else from their original addresses.

The registry (data/corpora.csv) has one row per file. The column `sha256` contains the accepted
checksums. The value ``unknown`` means that any complete gzip file from the original address is
accepted; its reader checks the content.

The column `route` says how to get a file without a mirror:

- ``download``: from one of the addresses, which are separated by spaces and tried in this order.
- ``build``: a function in `ORIGINALS` of the reader builds the file from several downloads. An
  address with ``{a,b}`` stands for two addresses, one with a and one with b.
- ``mirror``: from mirrors only. The address says where the file came from.
"""

import gzip
import os
import socket
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from http.client import HTTPException

from odl.corpora import formats
from odl.errors import DataError, DownloadError
from odl.files.storage import replacing, sha256_of

REGISTRY_PATH = "data/corpora.csv"
REGISTRY_COLUMNS = (
    "corpus",
    "folder",
    "file",
    "url",
    "sha256",
    "route",
    "tried",
    "licence",
    "citation",
)
UNKNOWN_SUM = "unknown"
BUILT_SOURCE = "built from its originals"
READ_BYTES = 1 << 18  # number of bytes that are read at once
RETRIED_STATUSES = {408, 425, 429, 500, 502, 503, 504}  # HTTP statuses of temporary failures
# Errors that another attempt would not avoid: an unknown host, an invalid certificate.
PERMANENT_ERRORS = (socket.gaierror, ssl.SSLCertVerificationError)


def load_registry(path=REGISTRY_PATH):
    """Read the registry of corpora.

    Returns
    -------
    list of dict
        Keys as in `REGISTRY_COLUMNS`, all values strings.

    Raises
    ------
    DownloadError
        If the file is missing or a column is missing.
    """
    expected = "the registry of corpora", "restore it"
    try:
        rows = [row for _, row in formats.all_rows(path, formats.Form(kind="csv"))]
    except DataError as error:
        raise DownloadError(error.given, *expected) from error
    if missing := [name for name in REGISTRY_COLUMNS if name not in rows[0]]:
        raise DownloadError(f"{path} has no column {', '.join(missing)}", *expected)
    return rows


def files_of(corpus, registry=REGISTRY_PATH):
    """Return the registry rows for a corpus, in the order in which its reader expects the files."""
    return [row for row in _rows(registry) if row["corpus"] == corpus]


def _rows(registry):
    return registry if isinstance(registry, list) else load_registry(registry)


def print_line(line):
    """Print a line of progress to standard error."""
    print(line, file=sys.stderr, flush=True)


def download(
    folder_file,
    output,
    registry=REGISTRY_PATH,
    mirror=None,
    progress=print_line,
    retries=4,
    wait=2.0,
    timeout=60.0,
):
    """Download one file, check it, and move it to `output`.

    A file that fails the check is not written to `output`.

    Parameters
    ----------
    folder_file : str
        ``folder/file`` as in the registry.
    output : path-like
        Destination. If it already contains the right file, nothing is downloaded.
    registry : path-like or list of dict
        The registry or its rows.
    mirror : str, optional
        A folder or base address (http, https, file) that contains ``folder/file``. It is tried
        first. By default the environment variable ODL_MIRROR.
    progress : callable or None
        Called with a line of text, at most every 5 seconds during a transfer.
    retries : int
        Number of further attempts at each address after a temporary failure.
    wait : float
        Seconds before the first retry. Each further wait is twice as long, at most 60 seconds.
    timeout : float
        Seconds without data after which a connection has failed.

    Raises
    ------
    DownloadError
        The message has the answer of each source, and says how to set a mirror or place the file.
    """
    row = _find(folder_file, _rows(registry))
    accepted = row["sha256"].split()
    fetching = Fetching(progress or (lambda line: None), retries, wait, timeout)
    if os.path.isfile(output) and sha256_of(output) in accepted:
        fetching.show(f"{folder_file}: already downloaded")
        return
    mirror, answers = mirror or os.environ.get("ODL_MIRROR") or "", []
    sources = [_mirrored(mirror, folder_file)] if mirror else []
    if row["route"] == "download":
        sources += row["url"].split()
    elif row["route"] == "build":
        sources.append(BUILT_SOURCE)
    with replacing(output) as part:
        for source in sources:
            try:
                if source == BUILT_SOURCE:
                    _build(row, part, fetching)
                else:
                    fetching.fetch(source, part)
                    _check(part, accepted, UNKNOWN_SUM in accepted and source in row["url"].split())
            except (SourceRefused, DataError) as refusal:
                answers.append(f"{source}: {refusal}")
                fetching.show(f"{folder_file}: {answers[-1]}")
                continue
            fetching.show(f"{folder_file}: {os.path.getsize(part)} bytes, {source}, checked")
            return
        raise _failure(folder_file, output, row, answers)


def _find(folder_file, rows):
    """Return the registry row for ``folder/file``; raise DownloadError if there is none."""
    for row in rows:
        if f"{row['folder']}/{row['file']}" == folder_file:
            return row
    names = ", ".join(f"{row['folder']}/{row['file']}" for row in rows)
    raise DownloadError(
        f"{folder_file} is not in the registry", f"one of {names}", "correct the name"
    )


def _mirrored(mirror, folder_file):
    """Return the path or address of a file on a mirror."""
    if "://" not in mirror:
        return os.path.join(os.path.expanduser(mirror), *folder_file.split("/"))
    return mirror.rstrip("/") + "/" + urllib.parse.quote(folder_file)


def _failure(folder_file, output, row, answers):
    """Return the DownloadError for a file that no source has.

    `row` is the registry row of the file, `answers` lists the answer of each tried source.
    """
    if answers:
        fault = f"{folder_file} could not be fetched ({'; '.join(answers)})"
    elif row["route"] == "download":
        fault = f"{folder_file} has no address in the registry"
    else:
        fault = f"{folder_file} is only on mirrors (it comes from {row['url']}) and none is set"
    todo = (
        "set ODL_MIRROR (or mirror: in the configuration) to a folder or address "
        f"that contains {folder_file}, or place the file at {os.fspath(output)} yourself"
    )
    return DownloadError(fault, "a source that contains this file", todo)


def _check(part, accepted, any_sum):
    """Raise SourceRefused unless the downloaded file `part` has one of the `accepted` sha256.

    If `any_sum` is true, any complete gzip file is accepted too.
    """
    digest = sha256_of(part)
    if digest in accepted:
        return
    if not any_sum:
        raise SourceRefused(f"another file, with sha256 {digest}")
    try:
        with gzip.open(part) as file:
            while file.read(READ_BYTES):
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise SourceRefused(f"an incomplete gzip file ({error})") from error


def _build(row, part, fetching):
    """Download the original files that a registry row names, and build the file `part` from them.

    `fetching` is the object that downloads and reports progress.
    """
    from odl import corpora

    urls = [url for address in row["url"].split() for url in _expanded(address)]
    with tempfile.TemporaryDirectory(prefix=".originals.", dir=os.path.dirname(part)) as folder:
        paths = [os.path.join(folder, url.rpartition("/")[2]) for url in urls]
        for number, (url, path) in enumerate(zip(urls, paths, strict=True), start=1):
            fetching.show(f"{row['file']}: original {number} of {len(urls)}, {url}")
            try:
                fetching.fetch(url, path)
            except SourceRefused as refusal:
                raise SourceRefused(f"original {url}: {refusal}") from refusal
        corpora.readers()[row["corpus"]].ORIGINALS[row["file"]](paths, part)


def _expanded(address):
    """Return the addresses of an address with alternatives, ``{a,b}``."""
    before, brace, remaining = address.partition("{")
    inside, _, after = remaining.partition("}")
    return [before + name + after for name in inside.split(",")] if brace else [address]


class SourceRefused(Exception):
    """Raised if a source does not have the file, so that another attempt would not help."""


class Fetching:
    """Copies sources to files; reports progress, and retries after temporary failures."""

    def __init__(self, show, retries, wait, timeout):
        self.show, self.retries, self.wait, self.timeout = show, retries, wait, timeout

    def fetch(self, source, part):
        """Copy a source to the file `part`."""
        for attempt in range(self.retries + 1):
            try:
                with self._opened(source) as stream, open(part, "wb") as file:
                    self._pour(source, stream, file)
                return
            except urllib.error.HTTPError as error:
                error.close()
                trouble = f"HTTP {error.code} {error.reason}".strip()
                is_temporary = error.code in RETRIED_STATUSES
            except (HTTPException, OSError, ValueError) as error:  # URLError is an OSError
                reason = getattr(error, "reason", error)
                message = getattr(reason, "strerror", None) or str(reason) or repr(reason)
                trouble = "no answer in time" if isinstance(reason, TimeoutError) else message
                is_of_network = "://" in source and isinstance(reason, HTTPException | OSError)
                is_temporary = is_of_network and not isinstance(reason, PERMANENT_ERRORS)
            if not is_temporary:
                raise SourceRefused(trouble)
            if attempt < self.retries:
                pause = min(self.wait * 2**attempt, 60.0)
                self.show(
                    f"{source}: {trouble}; attempt {attempt + 2} of {self.retries + 1} "
                    f"in {pause:g} s"
                )
                time.sleep(pause)
        raise SourceRefused(f"{trouble}, after {self.retries + 1} attempts")

    def _opened(self, source):
        """Open a local file or a web address for reading."""
        if "://" not in source:
            return open(source, "rb")
        scheme = source.split("://")[0].lower()
        if scheme == "file":
            return open(urllib.request.url2pathname(urllib.parse.urlsplit(source).path), "rb")
        if scheme not in ("http", "https"):
            raise SourceRefused(f"the scheme {scheme} is not supported")
        request = urllib.request.Request(
            source, headers={"Accept-Encoding": "identity", "User-Agent": "odl"}
        )
        return urllib.request.urlopen(request, timeout=self.timeout)

    def _pour(self, source, stream, file):
        """Copy a stream to an open file; report progress at most every five seconds."""
        length = getattr(stream, "headers", {}).get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        # read1 returns the available data, so that a slow server shows progress.
        read = getattr(stream, "read1", stream.read)
        shown = time.monotonic()
        while block := read(READ_BYTES):
            file.write(block)
            if (now := time.monotonic()) - shown >= 5:
                shown = now
                self.show(f"{source}: {file.tell()} of {total or 'unknown'} bytes")
        if total is not None and file.tell() != total:
            raise OSError(f"the connection ended after {file.tell()} of {total} bytes")
