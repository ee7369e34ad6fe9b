"""One source copied to one file, over as many attempts as it takes."""

import os
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException

CHUNK = 1 << 18
BUSY = {408, 425, 429, 500, 502, 503, 504}  # worth another attempt
LASTING = (socket.gaierror, ssl.SSLCertVerificationError)  # not worth one: unknown host, wrong certificate


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
