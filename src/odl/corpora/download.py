"""Fetch the files of the registry: mirror first, then the canonical address; checked, then renamed.

The registry (data/corpora.csv) has one row a file. `sha256` holds the accepted values; the word
``unknown`` among them says that the sum of the canonical archive is not known, so that whatever
whole gz file comes from there is taken and the reader checks what is in it. `route` is
``download`` (the address is the file; of several, separated by spaces, the first that answers),
``build`` (it is made from what is at the addresses, by the reader's `ORIGINALS`; ``{a,b}`` in an
address stands for one address each) or ``mirror`` (the address only says where it comes from).
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

REGISTRY = "data/corpora.csv"
COLUMNS = ("corpus", "folder", "file", "url", "sha256", "route", "tried", "licence", "citation")
UNKNOWN = "unknown"
BUILT = "made of its originals"
CHUNK = 1 << 18
BUSY = {408, 425, 429, 500, 502, 503, 504}  # worth another attempt
LASTING = (socket.gaierror, ssl.SSLCertVerificationError)  # not worth one: unknown host, wrong certificate


def load_registry(path=REGISTRY):
    """Return the rows of the registry.

    Returns
    -------
    list of dict
        Keys as in `COLUMNS`, all values strings.

    Raises
    ------
    DownloadError
        If the file is missing or has other columns.
    """
    expected = "the registry of corpora", "restore it"
    try:
        rows = [row for _, row in formats.all_rows(path, formats.Form(kind="csv"))]
    except DataError as error:
        raise DownloadError(error.given, *expected) from error
    if missing := [name for name in COLUMNS if name not in rows[0]]:
        raise DownloadError(f"{path} has no column {', '.join(missing)}", *expected)
    return rows


def files_of(corpus, registry=REGISTRY):
    """Return the rows of one corpus, in the order its reader takes the files."""
    return [row for row in _rows(registry) if row["corpus"] == corpus]


def _rows(registry):
    return registry if isinstance(registry, list) else load_registry(registry)


def print_line(line):
    """Show a line of progress on stderr."""
    print(line, file=sys.stderr, flush=True)


def download(
    folder_file, output, registry=REGISTRY, mirror=None, progress=print_line, retries=4, wait=2.0, timeout=60.0
):
    """Fetch one file, check it, and put it at `output`; nothing is there unless it is right.

    Parameters
    ----------
    folder_file : str
        ``folder/file`` as in the registry.
    output : path-like
        Where the file shall be; if the right file is there already, nothing is done.
    registry : path-like or list of dict
        The registry or its rows.
    mirror : str, optional
        A folder or base address (http, https, file) that holds ``folder/file``; tried first.
        Without it, the environment variable ODL_MIRROR is used.
    progress : callable or None
        Is given lines of text; at most one every 5 seconds while data comes.
    retries : int
        Further attempts on each address after a failure that may pass.
    wait : float
        Seconds before the first retry; doubled for each further one, to at most 60.
    timeout : float
        Seconds without any data after which a connection counts as failed.

    Raises
    ------
    DownloadError
        Saying what each source answered, and how to set a mirror or place the file by hand.
    """
    row = _find(folder_file, _rows(registry))
    accepted, fetching = row["sha256"].split(), Fetching(progress or (lambda line: None), retries, wait, timeout)
    if os.path.isfile(output) and sha256_of(output) in accepted:
        fetching.show(f"{folder_file}: already there")
        return
    mirror, answers = mirror or os.environ.get("ODL_MIRROR") or "", []
    sources = [_mirrored(mirror, folder_file)] if mirror else []
    sources += row["url"].split() if row["route"] == "download" else [BUILT] if row["route"] == "build" else []
    with replacing(output) as part:
        for source in sources:
            try:
                if source == BUILT:
                    _build(row, part, fetching)
                else:
                    fetching.fetch(source, part)
                    _check(part, accepted, UNKNOWN in accepted and source in row["url"].split())
            except (Refused, DataError) as refusal:
                answers.append(f"{source}: {refusal}")
                fetching.show(f"{folder_file}: {answers[-1]}")
                continue
            fetching.show(f"{folder_file}: {os.path.getsize(part)} bytes, {source}, checked")
            return
        raise _failure(folder_file, output, row, answers)


def _find(folder_file, rows):
    for row in rows:
        if f"{row['folder']}/{row['file']}" == folder_file:
            return row
    known = ", ".join(f"{row['folder']}/{row['file']}" for row in rows)
    raise DownloadError(f"{folder_file} is not in the registry", f"one of {known}", "correct the name")


def _mirrored(mirror, folder_file):
    """Return the path or address of a file on a mirror."""
    if "://" not in mirror:
        return os.path.join(os.path.expanduser(mirror), *folder_file.split("/"))
    return mirror.rstrip("/") + "/" + urllib.parse.quote(folder_file)


def _failure(folder_file, output, row, answers):
    if answers:
        fault = f"{folder_file} could not be fetched ({'; '.join(answers)})"
    elif row["route"] == "download":
        fault = f"{folder_file} has no address in the registry"
    else:
        fault = f"{folder_file} is only on mirrors (it comes from {row['url']}) and none is set"
    todo = f"set ODL_MIRROR (or mirror: in the configuration) to a folder or address that holds {folder_file}"
    todo += f", or place the file at {os.fspath(output)} yourself"
    return DownloadError(fault, "a source that holds the right file", todo)


def _check(part, accepted, any_sum):
    """Refuse a file that is not the one wanted; of one whose sum is not known the reader checks what is in it."""
    digest = sha256_of(part)
    if digest in accepted:
        return
    if not any_sum:
        raise Refused(f"another file, with sha256 {digest}")
    try:
        with gzip.open(part) as file:
            while file.read(CHUNK):
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise Refused(f"no whole gz file ({error})") from error


def _build(row, part, fetching):
    """Fetch the originals of a file and make it of them."""
    from odl import corpora

    urls = [url for address in row["url"].split() for url in _expanded(address)]
    with tempfile.TemporaryDirectory(prefix=".originals.", dir=os.path.dirname(part)) as folder:
        paths = [os.path.join(folder, url.rpartition("/")[2]) for url in urls]
        for number, (url, path) in enumerate(zip(urls, paths, strict=True), start=1):
            fetching.show(f"{row['file']}: original {number} of {len(urls)}, {url}")
            try:
                fetching.fetch(url, path)
            except Refused as refusal:
                raise Refused(f"original {url}: {refusal}") from refusal
        corpora.readers()[row["corpus"]].ORIGINALS[row["file"]](paths, part)


def _expanded(address):
    """Return the addresses that one with ``{a,b}`` stands for."""
    before, opened, rest = address.partition("{")
    inside, _, after = rest.partition("}")
    return [before + name + after for name in inside.split(",")] if opened else [address]


class Refused(Exception):
    """This source will not do; another attempt would end the same way."""


class Fetching:
    """How sources are copied to files: what shows progress, and how long a failure that may pass is waited for."""

    def __init__(self, show, retries, wait, timeout):
        self.show, self.retries, self.wait, self.timeout = show, retries, wait, timeout

    def fetch(self, source, part):
        """Copy a source to `part`."""
        for attempt in range(self.retries + 1):
            try:
                with self._opened(source) as stream, open(part, "wb") as file:
                    self._pour(source, stream, file)
                return
            except urllib.error.HTTPError as error:
                error.close()
                trouble, transient = f"HTTP {error.code} {error.reason}".strip(), error.code in BUSY
            except (HTTPException, OSError, ValueError) as error:  # URLError is an OSError
                reason = getattr(error, "reason", error)
                said = getattr(reason, "strerror", None) or str(reason) or repr(reason)
                trouble = "no answer in time" if isinstance(reason, TimeoutError) else said
                passing = isinstance(reason, HTTPException | OSError) and not isinstance(reason, LASTING)
                transient = "://" in source and passing
            if not transient:
                raise Refused(trouble)
            if attempt < self.retries:
                pause = min(self.wait * 2**attempt, 60.0)
                self.show(f"{source}: {trouble}; attempt {attempt + 2} of {self.retries + 1} in {pause:g} s")
                time.sleep(pause)
        raise Refused(f"{trouble}, after {self.retries + 1} attempts")

    def _opened(self, source):
        """Open a local file or an address of the web; redirects lead to such addresses only."""
        if "://" not in source:
            return open(source, "rb")
        scheme = source.split("://")[0].lower()
        if scheme == "file":
            return open(urllib.request.url2pathname(urllib.parse.urlsplit(source).path), "rb")
        if scheme not in ("http", "https"):
            raise Refused(f"{scheme} is not fetched")
        request = urllib.request.Request(source, headers={"Accept-Encoding": "identity", "User-Agent": "odl"})
        return urllib.request.urlopen(request, timeout=self.timeout)

    def _pour(self, source, stream, file):
        """Copy what comes, and show it at most every five seconds."""
        length = getattr(stream, "headers", {}).get("Content-Length")
        total = int(length) if length and length.isdigit() else None
        read = getattr(stream, "read1", stream.read)  # read1 returns what has come, so a slow server shows
        shown = time.monotonic()
        while block := read(CHUNK):
            file.write(block)
            if (now := time.monotonic()) - shown >= 5:
                shown = now
                self.show(f"{source}: {file.tell()} of {total or 'unknown'} bytes")
        if total is not None and file.tell() != total:
            raise OSError(f"the connection ended after {file.tell()} of {total} bytes")
