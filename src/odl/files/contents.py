"""Kinds that the first bytes of a file show: mail and feeds."""

import re

MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
EMLX = re.compile(rb"\d{1,12}[ \t]*\r?\n")  # number of bytes of the message, above it
ENVELOPE = re.compile(rb">?From(?: [^\r\n]*)?\r?\n")  # first line of a message in an mbox file
HEADER = re.compile(rb"([!-9;-~]+)[ \t]*:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*(?:\r?\n|\Z)")
OWN = {  # headers that prose and settings do not have
    *(b"received", b"return-path", b"delivered-to", b"message-id", b"mime-version", b"in-reply-to", b"references"),
    *(b"reply-to", b"newsgroups", b"content-type", b"content-transfer-encoding", b"x-mailer", b"list-id"),
    *(b"dkim-signature", b"x-gm-thrid", b"x-gmail-labels", b"x-mozilla-status", b"envelope-to", b"x-original-to"),
}
USUAL = {b"from", b"to", b"cc", b"subject", b"date", b"sender"}
MIN_HEADERS = 3  # of a message without an envelope
PROLOGUE = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*", re.S | re.I)
ROOT = re.compile(r"<(?:[\w.-]+:)?(rss|feed|rdf|channel)[\s/>]", re.I)
JSON_FEED = re.compile(r'\{.{0,4096}?"version"\s*:\s*"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/', re.S)


def is_mbox(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is an mbox: a line "From ...", then a header.

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
    """Return whether a file that begins with these bytes is mail: an mbox, a message, or one of Apple Mail (.emlx).

    Examples
    --------
    >>> is_mail(b"From: a@example.org\\nTo: b@example.org\\nSubject: Rain\\n\\nIt rains.\\n")
    True
    >>> is_mail(b"Name: odl\\nVersion: 1\\nLicense: BSD\\n")
    False
    """
    if is_mbox(head):
        return True
    head = _begin(head)
    count = EMLX.match(head)
    own, usual, others = _n_headers(head[count.end() if count else 0 :])
    n = own + usual + others
    return (own + usual > 1 and own > 0) or (usual > 1 and n >= MIN_HEADERS)


def begins_message(head: bytes) -> bool:
    """Return whether bytes begin with a header of mail, or another line of its kind, as ">From ..." is."""
    match = HEADER.match(head)
    name = match[1].lower() if match else b""
    return name in OWN or name in USUAL or name.startswith(b"x-") or bool(ENVELOPE.match(head))


def _begin(head):
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")


def _n_headers(head):
    """Return how many headers of mail's own, usual ones and others stand first."""
    own = usual = others = at = 0
    while match := HEADER.match(head, at):
        name, at = match[1].lower(), match.end()
        own, usual = own + (name in OWN), usual + (name in USUAL)
        others += name not in OWN and name not in USUAL
    return own, usual, others


def is_feed(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a feed: RSS, Atom or JSON Feed.

    Examples
    --------
    >>> is_feed(b'<?xml version="1.0"?><!-- news --><rss version="2.0"><channel>')
    True
    >>> is_feed(b'<?xml version="1.0"?><html>')
    False
    """
    mark = next((mark for mark in MARKS if head.startswith(mark)), b"")
    zeros = head[:2].find(b"\0")
    bare = {0: "utf-16-be", 1: "utf-16-le"}.get(zeros, "utf-8")
    text = head[len(mark) :].decode(MARKS.get(mark, bare), "replace").lstrip()
    if text.startswith("{"):
        return JSON_FEED.match(text) is not None
    return ROOT.match(text, PROLOGUE.match(text).end()) is not None
