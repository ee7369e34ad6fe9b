"""Fetch the files of the registry: mirror first, then the canonical address; checked, then renamed.

The registry (data/corpora.csv) has one row a file. `sha256` holds the accepted values; the word
``unknown`` among them says that the sum of the canonical archive is not known, so that whatever
whole archive comes from there is taken and the reader checks what is in it. `route` is
``download`` (the address is the file; of several, separated by spaces, the first that answers),
``build`` (it is made from what is at the addresses, by `odl.corpora.originals`; ``{a,b}`` in an
address stands for one address each) or ``mirror`` (the address only says where it comes from).
"""

import csv
import os
import socket
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException

from odl.errors import DataError, DownloadError
from odl.files.storage import replacing, sha256_of

REGISTRY = "data/corpora.csv"
COLUMNS = ("corpus", "folder", "file", "url", "sha256", "route", "tried", "licence", "citation")
UNKNOWN = "unknown"
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
    try:
        with open(path, newline="", encoding="utf-8") as table:
            reader = csv.DictReader(table)
            rows, names = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DownloadError(f"{path} cannot be read ({error})", "the registry of corpora", "restore it") from error
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DownloadError(f"{path} has no column {', '.join(missing)}", "the registry of corpora", "restore it")
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            given = f"line {number} of {path} has {'more' if None in row else 'fewer'} fields than the first line"
            raise DownloadError(given, "the registry of corpora", "restore it")
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
    accepted = row["sha256"].split()
    show = progress or (lambda line: None)
    if os.path.isfile(output) and sha256_of(output) in accepted:
        show(f"{folder_file}: already there")
        return
    mirror = mirror or os.environ.get("ODL_MIRROR") or ""
    patience = {"retries": retries, "wait": wait, "timeout": timeout}
    sources = [(_mirrored(mirror, folder_file), False)] if mirror else []
    if row["route"] == "download":
        sources += [(url, UNKNOWN in accepted) for url in row["url"].split()]
    elif row["route"] == "build":
        sources += [(row["url"], None)]
    answers = []
    with replacing(output) as part:
        for source, any_sum in sources:
            try:
                if any_sum is None:
                    _build(folder_file, source, part, show, patience)
                else:
                    fetch(source, part, show, **patience)
                    _check(part, folder_file, accepted, any_sum)
            except (Refused, DataError) as refusal:
                where = "made of its originals" if any_sum is None else source
                answers.append(f"{where}: {refusal}")
                show(f"{folder_file}: {answers[-1]}")
                continue
            origin = "made of its originals" if any_sum is None else f"from {source}"
            show(f"{folder_file}: {os.path.getsize(part)} bytes, {origin}, checked")
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
    scheme = mirror.split("://")[0].lower()
    try:
        urllib.parse.urlsplit(mirror)
    except ValueError:  # such as http://[bad
        scheme = None
    if scheme not in ("http", "https", "file"):
        raise DownloadError(f"the mirror {mirror}", "a folder, or an http, https or file address", "correct it")
    return mirror.rstrip("/") + "/" + urllib.parse.quote(folder_file)


def _failure(folder_file, output, row, answers):
    if answers:
        given = f"{folder_file} could not be fetched ({'; '.join(answers)})"
    elif row["route"] == "download":
        given = f"{folder_file} has no address in the registry"
    else:
        given = f"{folder_file} is only on mirrors (it comes from {row['url']}) and none is set"
    return DownloadError(
        given,
        "a source that holds the right file",
        f"set ODL_MIRROR (or mirror: in the configuration) to a folder or address that holds {folder_file}, "
        f"or place the file at {os.fspath(output)} yourself",
    )


def _check(part, folder_file, accepted, any_sum):
    """Refuse a file that is not the one wanted."""
    digest = sha256_of(part)
    if digest in accepted:
        return
    if not any_sum:
        raise Refused(f"another file, with sha256 {digest}")
    _check_whole(part, folder_file)  # not an error page, not half an archive; the reader checks the rest


def _check_whole(path, name):
    """Refuse a packed file (by its name) that is damaged or truncated."""
    import gzip
    import lzma
    import zipfile
    import zlib

    form = name.rpartition(".")[2]
    try:
        if form == "zip":
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is not None:
                    raise Refused("a damaged zip archive")
        elif form in ("gz", "xz"):
            with {"gz": gzip, "xz": lzma}[form].open(path) as file:
                while file.read(CHUNK):
                    pass
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, ValueError) as error:
        raise Refused(f"no whole {form} file ({error})") from error


def _build(folder_file, addresses, part, show, patience):
    """Fetch the originals of a file and make it of them."""
    from odl.corpora.originals import BUILDERS  # heavy, and seldom needed

    urls = [url for address in addresses.split() for url in _expanded(address)]
    with tempfile.TemporaryDirectory(prefix=".originals.", dir=os.path.dirname(part)) as folder:
        paths = []
        for number, url in enumerate(urls, start=1):
            show(f"{folder_file}: original {number} of {len(urls)}, {url}")
            paths.append(os.path.join(folder, url.rpartition("/")[2]))
            try:
                fetch(url, paths[-1], show, **patience)
                _check_whole(paths[-1], url)
            except Refused as refusal:
                raise Refused(f"original {url}: {refusal}") from refusal
        BUILDERS[folder_file](paths, part)


def _expanded(address):
    """Return the addresses that one with ``{a,b}`` stands for."""
    before, opened, rest = address.partition("{")
    inside, _, after = rest.partition("}")
    return [before + name + after for name in inside.split(",")] if opened else [address]


class Refused(Exception):
    """This source will not do; another attempt would end the same way."""


def fetch(source, part, show, retries, wait, timeout):
    """Copy a source to `part`, resuming where that is possible."""
    with open(part, "wb"):
        pass  # nothing of an earlier source may stay
    transfer = _Transfer(source, part, show)
    if "://" not in source or source.lower().startswith("file://"):
        transfer.copy()
        return
    for attempt in range(retries + 1):
        if attempt:
            pause = min(wait * 2 ** (attempt - 1), 60.0)
            show(f"{source}: {transfer.trouble}; attempt {attempt + 1} of {retries + 1} in {pause:g} s")
            time.sleep(pause)
        if transfer.attempt(timeout):
            return
    raise Refused(f"{transfer.trouble}, after {retries + 1} attempts")


class _Transfer:
    """One source being copied to one file, over as many attempts as it takes."""

    def __init__(self, source, part, show):
        self.source, self.part, self.show = source, part, show
        self.trouble, self.validator, self.resumes = "", None, True
        self.started = self.shown = time.monotonic()

    def copy(self):
        """Copy a local file."""
        path = self.source
        if "://" in path:
            path = urllib.request.url2pathname(urllib.parse.urlsplit(path).path)
        try:
            with open(path, "rb") as stream, open(self.part, "wb") as file:
                self._pour(stream, file, os.path.getsize(path))
        except OSError as error:
            raise Refused(error.strerror or str(error)) from error

    def attempt(self, timeout):
        """Return whether the file is whole now; otherwise `trouble` says why not."""
        offset = os.path.getsize(self.part)
        request = urllib.request.Request(self.source, headers={"Accept-Encoding": "identity", "User-Agent": "odl"})
        if offset and self.resumes:
            request.add_header("Range", f"bytes={offset}-")
            if self.validator:
                request.add_header("If-Range", self.validator)
        try:
            with _opener().open(request, timeout=timeout) as response:
                return self._receive(response, offset)
        except urllib.error.HTTPError as error:
            error.close()
            self.trouble = f"HTTP {error.code} {error.reason}".strip()
            if error.code == 416:  # the file has changed or is whole: start again
                os.truncate(self.part, 0)
            elif error.code not in BUSY:
                raise Refused(self.trouble) from error
        except (HTTPException, OSError, ValueError) as error:  # URLError is an OSError
            reason = getattr(error, "reason", error)
            self.trouble = "no answer in time" if isinstance(reason, TimeoutError) else str(reason) or repr(reason)
            if not isinstance(reason, HTTPException | OSError) or isinstance(reason, LASTING):
                raise Refused(self.trouble) from error
        return False

    def _receive(self, response, offset):
        """Write what the server sends; the rest from `offset` on, or all of it."""
        partial = response.status == 206
        if partial and not response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
            self.trouble = "the server sent another part than it was asked for"
            self.resumes = False
            return False
        etag = response.headers.get("ETag")
        strong = etag if etag and not etag.startswith("W/") else None
        self.validator = strong or response.headers.get("Last-Modified")
        length = response.headers.get("Content-Length")
        total = int(length) + (offset if partial else 0) if length and length.isdigit() else None
        with open(self.part, "ab" if partial else "wb") as file:
            self._pour(response, file, total)
        size = os.path.getsize(self.part)
        if total is not None and size != total:
            self.trouble = f"the connection ended after {size} of {total} bytes"
            return False
        return True

    def _pour(self, stream, file, total):
        read = getattr(stream, "read1", stream.read)  # read1 returns what has come, so a slow server shows
        while block := read(CHUNK):
            file.write(block)
            if time.monotonic() - self.shown >= 5:
                self.shown = time.monotonic()
                self._report(file.tell(), total)

    def _report(self, done, total):
        rate = done / 1e6 / max(self.shown - self.started, 1e-9)
        share = f" of {total} bytes ({100 * done // total} %)" if total else " bytes"
        self.show(f"{self.source}: {done}{share}, {rate:.2f} MB/s")


def _opener():
    """Return an opener that knows http and https only, redirects included."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener
