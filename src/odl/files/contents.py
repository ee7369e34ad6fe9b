"""Detection of a file's kind by its first bytes: mail, feed, JSON, table or log.

Standard library only.
"""

import csv
import json
import re

INSPECTED_BYTES = 1 << 16  # largest number of bytes that are inspected
INSPECTED_LINES = 50  # largest number of lines that are inspected
MIN_LINES = 3  # smallest number of lines in a table, and of lines with a time in a log
# Smallest share of lines with a time in a log: for a name such as notes.txt, and for other names.
LOG_SHARE_OF_TEXT, LOG_SHARE = 0.8, 0.5
# Byte order mark -> encoding
ENCODING_OF_MARK = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
# First line of an .emlx file: length of the message in bytes
EMLX = re.compile(rb"\d{1,12}[ \t]*\r?\n")
MMDF = re.compile(rb"\A\x01{4}\r?\n")  # line before and after each message of an MMDF file
ENVELOPE = re.compile(rb">?From(?: [^\r\n]*)?\r?\n")  # first line of a message in an mbox file
HEADER = re.compile(rb"([!-9;-~]+)[ \t]*:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*(?:\r?\n|\Z)")
MAIL_HEADERS = set(  # headers that occur in mail only, in lower case
    b"received return-path delivered-to message-id mime-version in-reply-to references reply-to "
    b"newsgroups content-type content-transfer-encoding x-mailer list-id dkim-signature x-gm-thrid "
    b"x-gmail-labels x-mozilla-status envelope-to x-original-to".split()
)
# Headers that also occur in prose and in settings
COMMON_HEADERS = {b"from", b"to", b"cc", b"subject", b"date", b"sender"}
MIN_HEADERS = 3  # smallest number of headers if a message has none of `MAIL_HEADERS`
PROLOGUE = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*", re.S | re.I
)
ROOT = re.compile(r"<(?:[\w.-]+:)?(rss|feed|rdf|channel)[\s/>]", re.I)
JSON_FEED = re.compile(
    r'\{.{0,4096}?"version"\s*:\s*"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/', re.S
)


def is_mbox(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is an mbox.

    An mbox begins with a line "From ..." and a header.

    Examples
    --------
    >>> is_mbox(b"From a@example.org Mon Jan  5 10:00:00 2026\\nSubject: Rain\\n\\nIt rains.\\n")
    True
    >>> is_mbox(b"From here on, it rains.\\n")
    False
    """
    head = _begin(head)
    envelope = ENVELOPE.match(head)
    return bool(envelope and any(_n_headers(head[envelope.end() :])[:2]))


def is_mail(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is mail: an mbox or a single message.

    A single message begins with at least two headers that occur in mail, one of which occurs in
    mail only, or with at least `MIN_HEADERS` headers, two of which are common in mail. In the .emlx
    files of Apple Mail, a line with the length precedes the message.

    Examples
    --------
    >>> is_mail(b"From: a@example.org\\nTo: b@example.org\\nSubject: Rain\\n\\nIt rains.\\n")
    True
    >>> is_mail(b"Name: odl\\nVersion: 1\\nLicense: BSD\\n")
    False
    """
    if is_mbox(head):
        return True
    head = MMDF.sub(b"", _begin(head), count=1)
    length_line = EMLX.match(head)
    n_mail, n_common, n_others = _n_headers(head[length_line.end() if length_line else 0 :])
    n = n_mail + n_common + n_others
    return (n_mail + n_common > 1 and n_mail > 0) or (n_common > 1 and n >= MIN_HEADERS)


def begins_message(head: bytes) -> bool:
    """Return whether bytes begin with a header of mail or with a line such as ">From ..."."""
    match = HEADER.match(head)
    name = match[1].lower() if match else b""
    is_header = name in MAIL_HEADERS or name in COMMON_HEADERS or name.startswith(b"x-")
    return is_header or bool(ENVELOPE.match(head))


def _begin(head):
    """Return the first bytes of a file without UTF-8 byte order mark and leading white space."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")


def _n_headers(head):
    """Count the headers at the start of a file by group.

    Returns
    -------
    n_mail, n_common, n_others : int
        Number of headers in `MAIL_HEADERS`, in `COMMON_HEADERS`, and in neither.
    """
    n_mail = n_common = n_others = position = 0
    while match := HEADER.match(head, position):
        name, position = match[1].lower(), match.end()
        if name in MAIL_HEADERS:
            n_mail += 1
        elif name in COMMON_HEADERS:
            n_common += 1
        else:
            n_others += 1
    return n_mail, n_common, n_others


def is_feed(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a feed: RSS, Atom or JSON Feed.

    Examples
    --------
    >>> is_feed(b'<?xml version="1.0"?><!-- news --><rss version="2.0"><channel>')
    True
    >>> is_feed(b'<?xml version="1.0"?><html>')
    False
    """
    mark = next((mark for mark in ENCODING_OF_MARK if head.startswith(mark)), b"")
    zeros = head[:2].find(b"\0")
    without_mark = {0: "utf-16-be", 1: "utf-16-le"}.get(zeros, "utf-8")
    text = head[len(mark) :].decode(ENCODING_OF_MARK.get(mark, without_mark), "replace").lstrip()
    if text.startswith("{"):
        return JSON_FEED.match(text) is not None
    return ROOT.match(text, PROLOGUE.match(text).end()) is not None


MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
TIMESTAMPED = re.compile(  # line with a date and a time near its start
    r".{0,40}?(?:\d{4}[-/.]?\d\d[-/.]?\d\d|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    rf"|{MONTH} +\d{{1,2}}(?:, \d{{4}})?|\d{{1,2}}[ /-]{MONTH}[ /-]\d{{2,4}}"
    r"|\b[IWEF]\d{4})[T ,:_]{1,2}\d{1,2}:?\d\d"
)
# Assignment before JSON, as in archives of Twitter: window.YTD.tweets.part0 = [...]
ASSIGNED = re.compile(r"\A(?:var |let |const )?[A-Za-z_][\w.]* ?= ?(?=[\[{])")
COLUMN_NAME = re.compile(r"[^\W\d][\w .@#/()-]{0,40}")
# Column names by which a table with another delimiter than tabs is recognised.
KNOWN_COLUMNS = {
    "id", "nr", "time", "date", "datum", "zeit", "timestamp", "created", "published", "text",
    "body", "content", "message", "nachricht", "inhalt", "title", "titel", "subject", "betreff",
    "description", "summary", "url", "ts",
}  # fmt: skip


def kind_in(head, named=None):
    """Detect the kind of a file from its first bytes; return None if it is not text.

    Parameters
    ----------
    head : bytes
        The first `INSPECTED_BYTES` of the file after decompression, or all if it has fewer.
    named : str, optional
        Kind by the file's name. Another kind is returned only if the content clearly has that kind.

    Examples
    --------
    >>> kind_in(b'{"log": "disk full"}\\n{"log": "disk back"}\\n', "log")
    'jsonl'
    >>> kind_in(b"id\\ttime\\ttext\\r\\n1\\t2026\\train\\r\\n2\\t2026\\tsun\\r\\n", "text")
    'csv'
    >>> kind_in(b"\\x7fELF\\0") is None
    True
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    if named not in ("jsonl", "csv"):
        if is_mail(head):
            return "mail"
        if is_feed(head):
            return "feed"
    mark = next((mark for mark in ENCODING_OF_MARK if head.startswith(mark)), b"")
    encoding = ENCODING_OF_MARK.get(mark, "utf-8")
    if b"\0" in head and encoding == "utf-8":
        return named
    text = head[len(mark) :].decode(encoding, "replace")
    lines = text.splitlines()
    if len(head) >= INSPECTED_BYTES:
        lines = lines[:-1]  # the last line may be incomplete
    lines = [line for line in lines if line.strip()][:INSPECTED_LINES]
    if named is None and not lines:
        return None if head.strip() else "text"  # None: the first line is too long to inspect
    if named == "jsonl" or not lines:
        return named
    if _is_json(lines):
        return "jsonl"
    if named in ("text", None) and len(lines) >= MIN_LINES:
        if _is_table(lines):
            return "csv"
        n_timed = sum(TIMESTAMPED.match(line) is not None for line in lines)
        min_share = LOG_SHARE_OF_TEXT if named else LOG_SHARE
        if n_timed >= max(MIN_LINES, min_share * len(lines)):
            return "log"
    return named or "text"


def _is_json(lines):
    """Return whether the first lines of a file are JSON.

    This is true if more than half of the lines are objects, or if the first line begins a list or
    an object of several lines.
    """
    first = ASSIGNED.sub("", lines[0].strip())
    if re.match(r'(?:\[\s*)?\{\s*"', first) and not _is_object(first) and len(lines) < 3:
        return True
    if first in ("[", "{", "[{") and len(lines) > 1 and lines[1].strip()[:1] in ('"', "{"):
        return True
    if first.startswith("[{") and _is_object(first[1:]):
        return True
    return 2 * sum(map(_is_object, lines)) > len(lines)


def _is_object(line):
    """Return whether a line is a JSON object, without commas and brackets of a list around it."""
    line = line.strip().strip("\x1e,").rstrip("]")
    try:
        return line.startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_table(lines):
    """Return whether lines are a table: a header with column names, then rows of equal length."""
    lines = lines[1:] if lines[0].lower().startswith("sep=") else lines
    for separator in "\t;,|":
        try:
            rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        except csv.Error:
            continue
        header = [name.strip() for name in rows[0]]
        n_complete = sum(len(row) == len(header) for row in rows)
        has_names = len(set(header)) == len(header) > 1 and all(map(COLUMN_NAME.fullmatch, header))
        is_known = separator == "\t" or any(name.lower() in KNOWN_COLUMNS for name in header)
        if has_names and is_known and len(rows) > 2 and n_complete >= 0.9 * len(rows):
            return True
    return False
