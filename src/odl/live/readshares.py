"""Shares of the inbox, written by a watch from parsed documents so that `odl run` parses less."""

import contextlib
from concurrent import futures

from odl.alerts import periods
from odl.config.steps import record_of
from odl.corpora import jsonrows, portions
from odl.engine import folder as folders
from odl.engine import ledger, loop
from odl.errors import OdlError
from odl.files import provenance
from odl.live import inbox

# Parsed rows of a period stay in memory up to this total size of its lines, in bytes.
MAX_ROW_BYTES = 1 << 24
TELEMETRY = "resourceLogs"  # key of an object with several documents


class ReadShares:
    """Parsed rows of the open period, and of closed periods whose share may still grow.

    A share has the same bytes and provenance as if `odl run` had written it. No share is written if
    `odl run` could read a line of the inbox differently from its parsed row, or if rows are missing
    after a restart. `odl run` then reads the lines of the inbox instead.

    Parameters
    ----------
    folder : odl.engine.folder.Folder
        The working folder.
    collection : odl.corpora.collection.Collection
        Reads the rows.
    """

    def __init__(self, folder, collection):
        self.folder, self.collection = folder, collection
        self.code = folder.code("share")  # stamp of this process's code, also after an upgrade
        # Label of a period -> its parsed rows (None if a line is not usable), the size of their
        # lines in bytes, and the map from words to the numbers in these rows.
        self.rows, self.sizes, self.numbers = {}, {}, {}
        self.closed = {}  # path of a published file -> (parsed rows, map from words to numbers)
        self.thread, self.last_write = futures.ThreadPoolExecutor(1), None

    def add(self, row, line):
        """Add the parsed row of a line that was stored in the inbox.

        If `odl run` could read the line differently, or the period is too large, the rows of the
        period are dropped, and `odl run` reads its file.
        """
        label, text, numbers = row.label, line.decode(), self.collection.counted.numbers
        rows = self.rows.setdefault(label, [])
        self.sizes[label] = self.sizes.get(label, 0) + len(line)
        usable = (
            not self.collection.strict  # then a run also tests which columns a file has
            and row.parsed is not None
            and self.sizes[label] <= MAX_ROW_BYTES
            and self.numbers.setdefault(label, numbers) is numbers
            and jsonrows.replace_surrogates(text) == text
            and TELEMETRY not in row.columns
        )
        if not usable:
            self.rows[label] = None
        elif rows is not None:
            rows.append(row.parsed)

    def close(self, label, path, n_lines):
        """Write the share of a published file in a thread, if all its lines were added."""
        rows, numbers = self.rows.pop(label, None), self.numbers.pop(label, None)
        self.sizes.pop(label, None)
        # A file with a single JSON object can be a table of documents.
        if rows and len(rows) == n_lines > 1:
            self.closed[path] = rows, numbers
            self.last_write = self.thread.submit(self._write, [*self.closed])

    def wait(self):
        """Wait until the shares are written."""
        if self.last_write:  # the thread writes in order, so all earlier writes end before it
            futures.wait([self.last_write])

    def _write(self, paths):
        """Write the share that contains the last of the given published files.

        The share may also contain earlier files. It is not written if the rows of any file are
        missing. Afterwards only the rows of files in the last share are retained, since later files
        can extend only this share.
        """
        growing = set()
        with contextlib.suppress(OdlError, OSError):  # `odl run` reports the error
            inbox.enlist()
            folder = folders.opened()
            is_current = not periods.are_earlier(folder.folder_of("alerts"))
            if is_current and folder.stream["options"] == self.folder.stream["options"]:
                _, shares = folders.files_of(folder)
                growing = {path for _, path in [*shares.values()][-1]} if shares else {*paths}
                for share, files in shares.items():
                    paths_in_share = {path for _, path in files}
                    if paths[-1] in paths_in_share and paths_in_share <= {*paths}:
                        self._store(folder, share, files)
        for path in paths:
            if path not in growing:
                del self.closed[path]

    def _store(self, folder, share, files):
        """Write a share from the rows of its files, if all rows number words by the same map."""
        _, numbers = self.closed[files[0][1]]
        gathered = self.collection.sibling(numbers)
        for name, path in files:
            rows, own_numbers = self.closed[path]
            if own_numbers is not numbers:
                return
            for row in rows:
                gathered.add_parsed(row, name)
        arguments = {**loop.share_of(folder, share, files), "code": self.code}
        record = record_of("share", arguments, lambda path: ledger.read(path)[0])
        with provenance.recording(record):
            portions.store(arguments["output"], gathered)
