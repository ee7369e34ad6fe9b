"""Messages of mail: mbox files, single messages, and messages of Apple Mail (.emlx)."""

import binascii
import codecs
import email
import io
import re
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from email.header import decode_header
from email.utils import parsedate_to_datetime
from functools import cached_property
from itertools import chain, pairwise

from odl.corpora import checks, fields
from odl.corpora.checks import Unreadable
from odl.corpora.encodings import UTF8, codecs_of, decode, meta_charset, recoded
from odl.files import contents
from odl.files.documents import NO_TIME

WEEKDAY_PATTERN = r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b"
MONTH_PATTERN = r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
# The line before a message in an mbox file, as most programs write it.
DATED_FROM_LINE = re.compile(
    rf"From .*?{WEEKDAY_PATTERN}.*{MONTH_PATTERN}.*\d\d:\d\d.*\b\d{{4}}\b".encode()
)
# Date in the From lines that git format-patch writes. Messages quote such lines.
PATCH_DATE = b"Mon Sep 17 00:00:00 2001"
QUOTED_FROM = re.compile(rb">+From ")
HEADER_LINE = re.compile(rb"[!-9;-~]+[ \t]*:")
CONTENT_LENGTH = re.compile(rb"Content-Length:\s*(\d{1,9})\s*$", re.I)
FROM_LINE_DATE = re.compile(rf"{WEEKDAY_PATTERN}.*|\d{{4}}-\d\d-\d\d.*", re.S)
# Seconds since 1970, in the properties of an .emlx file.
RECEIVED_AT = re.compile(rb"<key>date-received</key>\s*<(?:integer|real)>(\d{9,10})")
MAX_CONTENT_LENGTH = 1 << 26  # largest Content-Length that is used, in bytes
# A line break that a mail program inserted into a paragraph (RFC 3676).
FLOWED_BREAK = re.compile(r"(?<!^--) \r?\n(?!>|-- ?$)", re.M)
# Errors that the package `email` raises for malformed messages.
EMAIL_ERRORS = (
    ValueError,
    LookupError,
    RecursionError,
    AssertionError,
    TypeError,
    AttributeError,
)
# Headers that may contain the time of a message, in the order in which they are tried.
DATE_HEADERS = ("Date", "Received", "X-Received", "Delivery-Date", "NNTP-Posting-Date")
ENCODED_WORD = re.compile(
    rb"=\?([^?\s*]+)(?:\*[^?\s]*)?\?([BbQq])\?(.*?)\?=(?:\s+(?==\?[^?\s]+\?[BbQq]\?))?", re.S
)
USUAL_DATE = re.compile(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} [12]\d{3} \d\d:\d\d:\d\d [+-]\d{4}")
HEADER_COMMENT = re.compile(r"\([^()]*\)")
MESSAGE_ID = re.compile(r"<([^<>]+)>")
# Lines that may be base64, and lines that are too long for a word and so must be base64.
BASE64_LINE = re.compile(rb"\s*[A-Za-z0-9+/=]*\s*")
SURELY_BASE64 = re.compile(rb"[A-Za-z0-9+/]{40}")
NON_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")
HTML_TAG = re.compile(r"<(?:style|script|title)\b.*?</|<!--.*?-->|<[^>]*>|&\w+;", re.S | re.I)
SKIPPED_TYPES = (
    "text/calendar",
    "text/rtf",
    "text/css",
    "text/vcard",
    "text/x-vcard",
    "text/directory",
    "text/rfc822-headers",
    "message/delivery-status",
)
# Ranks of MIME parts: text, file that mail programs show as text, attachment.
TEXT, NAMED, ATTACHED = range(3)
# Largest number of words in a plain part that only says that the message is in the HTML part.
MAX_NOTICE_WORDS = 40


def mail_rows(file, path, encoding):
    """Yield (location, row) for each message. A location is "message 3", for example.

    The row is an `Unreadable` if the message cannot be parsed, else a dict with these keys:

    - ``text``: the subject and the parts that a mail program shows, of several alternatives the
      plain text; attachments only if there is no other text
    - ``time``: the first valid date in the headers `DATE_HEADERS` or in the From line, else the
      text of the first of these that the message has, else None
    - ``title``: the subject
    - ``id``, ``author``: if the message has them
    - ``replaced``: number of characters that could not be decoded, if there are any

    One message is in memory at a time.

    Parameters
    ----------
    file : binary file
    path : path-like
        For error messages.
    encoding : odl.corpora.encodings.Encoding
        Encoding of parts and headers that state no known encoding.
    """
    for number, (envelope, data) in enumerate(_messages(file, path), start=1):
        try:
            row = _mail_row(data, envelope, encoding)
        except EMAIL_ERRORS as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            row = Unreadable(f"the message cannot be read ({reason})")
        yield f"message {number}", row


def _messages(file, path):
    """Yield (From line, message) for each message in a file; the line is b"" if it is missing."""
    file = file if hasattr(file, "peek") else io.BufferedReader(file)
    if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        file, _ = recoded(file, path, UTF8)
    lines = checks.lines(file, path)
    filled_lines = (line for line in lines if line.strip(b" \t\r\n\xef\xbb\xbf"))
    first = next(filled_lines, b"").removeprefix(codecs.BOM_UTF8)
    if contents.EMLX.fullmatch(first):
        data, properties = file.read(int(first)), file.read(checks.MAX_MEMBER_BYTES)
        received = RECEIVED_AT.search(properties)
        moment = fields.EPOCH + timedelta(seconds=int(received[1])) if received else ""
        yield str(moment).encode(), data
    elif contents.MMDF.match(first):
        yield from _between_marks(lines)
    elif first:
        yield from _split_mbox(first, lines)


def _between_marks(lines):
    """Yield (b"", message) for each message in an MMDF file.

    A line of four bytes 1 stands before and after each message; there are no From lines.
    """
    body = []
    for line in chain(lines, [b"\x01" * 4 + b"\n"]):
        if not contents.MMDF.match(line):
            body.append(line)
        elif body:
            yield b"", b"".join(body)
            body = []


def _split_mbox(first, lines):
    """Yield (From line, message) for each message in an mbox, or for the only message in a file.

    A message ends before the next From line (`_begins`). Within the Content-Length that a message
    states, such a line is text.
    """
    is_mbox = contents.ENVELOPE.match(first) and first.startswith(b"From")
    is_after_blank = True
    message = _MboxMessage(b"")
    for line, following in pairwise(chain([first], lines, [b""])):
        if line.startswith(b"From") and _begins(line, following, is_after_blank, is_mbox):
            if message.size >= message.stated_size:
                yield from message.split()
                message, is_after_blank = _MboxMessage(line), False
                continue
            message.inner_starts.append(len(message.lines))
        is_after_blank = line in (b"\n", b"\r\n")
        message.size += len(line)
        message.lines.append(line[1:] if QUOTED_FROM.match(line) else line)
    yield from message.split()


def _begins(line, following, is_after_blank, is_mbox):
    """Return whether a line that begins with "From" is the From line of a message in an mbox.

    If the line contains a date in the usual form, a header in the next line suffices. Otherwise, a
    blank line above and a mail header in the next line are required.

    Parameters
    ----------
    line, following : bytes
        The line and the next one.
    is_after_blank : bool
        Whether a blank line is above.
    is_mbox : bool
        Whether the first line of the file is a From line.
    """
    if DATED_FROM_LINE.match(line) and (is_mbox or PATCH_DATE not in line):
        return HEADER_LINE.match(following) or (is_after_blank and not following.strip())
    is_envelope = is_mbox and is_after_blank and contents.ENVELOPE.match(line)
    return is_envelope and contents.begins_message(following)


class _MboxMessage:
    """A message in an mbox, whose lines are added while the file is read.

    Attributes
    ----------
    envelope : bytes
        From line before the message.
    lines : list of bytes
    size : int
        Number of bytes of the lines in the file.
    inner_starts : list of int
        Positions in `lines` of From lines that the Content-Length makes text.
    """

    def __init__(self, envelope):
        self.envelope, self.lines, self.size, self.inner_starts = envelope, [], 0, []

    @cached_property
    def stated_size(self):
        """Number of bytes, with headers, by the Content-Length; 0 without a plausible one.

        It must not be used before all headers were added.
        """
        size = length = 0
        for line in self.lines:
            size += len(line)
            if line in (b"\n", b"\r\n"):
                break
            if match := CONTENT_LENGTH.match(line):
                length = int(match[1])
        return size + length if 0 < length <= MAX_CONTENT_LENGTH else 0

    def split(self):
        """Yield (From line, message), for several messages if the Content-Length was wrong."""
        has_stated_size = 0 <= self.size - self.stated_size <= 2  # one line break more is usual
        envelope = self.envelope
        starts = [] if has_stated_size else self.inner_starts
        for start, end in pairwise([0, *starts, len(self.lines)]):
            if start:
                envelope, start = self.lines[start], start + 1
            if data := b"".join(self.lines[start:end]).strip(b"\r\n"):
                yield envelope, data + b"\n"


def _mail_row(data, envelope, encoding):
    """Parse a message; return its row (see `mail_rows`).

    `data` contains the bytes of the message, which may begin with further From lines. `envelope` is
    the From line before them, or b"". ValueError is raised if the message has no headers.
    """
    while envelope_match := contents.ENVELOPE.match(data):
        envelope, data = envelope or envelope_match[0], data[envelope_match.end() :]
    message = email.message_from_bytes(data)
    if not message.keys() and not envelope:
        raise ValueError("it has no headers")
    subject, replaced = _header(message, "Subject", encoding)
    texts = _shown(_texts(message, encoding))
    row = {"text": "\n".join([subject, *(text.text for text in texts)]), "title": subject}
    row["time"] = _time(message, envelope)
    if replaced := replaced + sum(text.replaced for text in texts):
        row["replaced"] = replaced
    author, _ = _header(message, "From", encoding)
    row |= {"author": author} if author else {}
    identity, _ = _header(message, "Message-ID", encoding)
    identity = (MESSAGE_ID.search(identity) or [None, identity])[1].strip("<> ")
    return {**row, "id": identity} if identity else row


@dataclass(frozen=True)
class _Text:
    """Text in one MIME part of a message.

    Parameters
    ----------
    rank : int
        `TEXT`, `NAMED` or `ATTACHED`.
    html : bool
    text : str
    replaced : int
        Number of characters that could not be decoded.
    """

    rank: int
    html: bool
    text: str
    replaced: int = 0

    def words(self):
        """Return the words without tags."""
        return re.findall(r"\w+", HTML_TAG.sub(" ", self.text) if self.html else self.text)


def _shown(texts):
    """Return the texts that a mail program shows: those with the best rank.

    A first part with a file name counts as ordinary text. Texts without words are omitted.
    """
    texts = [text for text in texts if text.words()]
    if texts and texts[0].rank == NAMED:
        texts[0] = replace(texts[0], rank=TEXT)
    best = min((text.rank for text in texts), default=TEXT)
    return [text for text in texts if text.rank == best]


def _texts(part, encoding):
    """Return the texts in a MIME part and its subparts, in order; of alternatives only one."""
    kind = part.get_content_type()
    if kind in SKIPPED_TYPES:
        return []
    if not part.is_multipart():
        return _leaf(part, kind, encoding)
    if kind.startswith("message/") and _is_base64(part) and not part.get_payload(0).keys():
        part.set_payload([email.message_from_bytes(_payload(part, part.get_payload(0)))])
    # A generator: parts after the chosen one are not decoded.
    parts = (_texts(subpart, encoding) for subpart in part.get_payload())
    if kind == "multipart/alternative":
        return _alternative(parts)
    if kind == "multipart/related":
        return next((texts for texts in parts if _shown(texts)), [])
    if kind in ("multipart/signed", "multipart/report"):
        return next(parts, [])
    texts = [text for subpart in parts for text in subpart]
    if kind.startswith("message/"):
        subject, replaced = _header(part.get_payload(0), "Subject", encoding)
        texts = [_Text(TEXT, False, subject, replaced), *texts] if subject else texts
        rank = ATTACHED if part.get_content_disposition() == "attachment" else TEXT
        return [replace(text, rank=max(rank, text.rank)) for text in texts]
    return _without_renditions(texts)


def _alternative(parts):
    """Return the texts of one of several alternative parts.

    This is the plain part, or the last HTML part if no part is plain. A short plain part with the
    word HTML or browser may only refer to the HTML part. In this case, the HTML part is used if it
    has more than twice as many words.
    """
    plain_texts, html_texts = None, []
    for texts in parts:
        shown = _shown(texts)
        if shown and shown[0].html:
            html_texts = texts
        elif shown:
            plain_texts, words = plain_texts or texts, shown[0].words()
            if len(words) > MAX_NOTICE_WORDS or {"html", "HTML", "browser"}.isdisjoint(words):
                return plain_texts
    if plain_texts is None:
        return html_texts
    n_plain_words, n_html_words = (
        sum(len(text.words()) for text in texts) for texts in (plain_texts, html_texts)
    )
    return html_texts if n_html_words > 2 * n_plain_words else plain_texts


def _without_renditions(texts):
    """Return the texts of a message without HTML parts that repeat a plain part.

    An HTML part repeats the plain parts if they contain at least half of its words.
    """
    if len({text.html for text in texts}) < 2:
        return texts
    plain_words = {word for text in texts if not text.html for word in text.words()}
    remaining = []
    for text in texts:
        words = set(text.words()) if text.html else set()
        if not text.html or 2 * len(plain_words & words) < len(words):
            remaining.append(text)
    return remaining


def _leaf(part, kind, encoding):
    """Return a list with the text of a MIME part without subparts; [] if it is not text.

    `kind` is the content type of the part, `encoding` the default encoding of `mail_rows`.
    """
    if not kind.startswith(("text/", "multipart/")) and kind != "application/xhtml+xml":
        return []
    data, html = _payload(part), kind.endswith(("/html", "/xhtml+xml"))
    label = part.get_content_charset() or ""
    if html and not codecs_of(label):
        label = meta_charset(data) or label
    text, replaced = decode(data, label, encoding)
    if str(part.get_param("delsp", "")).lower() == "yes":
        text = FLOWED_BREAK.sub("", text)
    rank = NAMED if part.get_filename() is not None else TEXT
    if part.get_content_disposition() == "attachment":
        rank = ATTACHED
    return [_Text(rank, html, text.replace("\r\n", "\n"), replaced)]


def _is_base64(part):
    """Return whether a part is encoded by base64."""
    return str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "base64"


def _payload(part, inner=None):
    """Decode the transfer encoding of a MIME part; return bytes.

    The text that mailing lists add below base64 is appended. It begins at the first line that
    cannot be base64, but below all lines that must be base64. If `inner` is given, the encoded
    lines are read from that part.
    """
    if not _is_base64(part):
        return part.get_payload(decode=True) or b""
    text = (part if inner is None else inner).get_payload()
    lines = text.encode("ascii", "surrogateescape").splitlines()
    other_lines = (number for number, line in enumerate(lines) if not BASE64_LINE.fullmatch(line))
    end = next(other_lines, len(lines))
    for number in range(end, len(lines)):
        if SURELY_BASE64.search(lines[number]):
            end = number + 1
    text_below = b"\n".join(lines[end:])
    return _base64(b"".join(lines[:end])) + (b"\n" + text_below if text_below.strip() else b"")


def _base64(data):
    """Decode base64. Other characters are ignored; padding may be missing, repeated or inside."""
    decoded = []
    for piece in re.split(b"=+", data):
        digits = NON_BASE64.sub(b"", piece)
        if len(digits) % 4 == 1:  # the last digit has 6 bits, too few for a byte
            digits = digits[:-1]
        decoded.append(binascii.a2b_base64(digits + b"=="))
    return b"".join(decoded)


def _header(message, name, encoding):
    """Decode a header; return (text on one line, number of characters that cannot be decoded).

    Encoded words (RFC 2047) need no spaces around them, and two of them may share a character.
    Other bytes are decoded by the charset of the message.
    """
    value = message[name]
    if value is None:
        return "", 0
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
    else:
        raw = decode_header(value)[0][0]
    if raw.isascii() and b"=?" not in raw and b"\x1b" not in raw:
        return " ".join(raw.decode("ascii").split()), 0
    charset = next(filter(None, (part.get_content_charset() for part in message.walk())), "")
    pieces, end = [], 0  # (charset, bytes) of each piece; position after the last encoded word
    for word in ENCODED_WORD.finditer(raw):
        between, label = raw[end : word.start()], word[1].decode("ascii", "replace")
        data = _base64(word[3]) if word[2] in b"Bb" else binascii.a2b_qp(word[3], header=True)
        if not between and pieces and pieces[-1][0].lower() == label.lower():
            data = pieces.pop()[1] + data  # one character may be in two encoded words
        pieces += [(charset, between), (label, data)]
        end = word.end()
    decoded = [decode(data, label, encoding) for label, data in [*pieces, (charset, raw[end:])]]
    return " ".join("".join(text for text, _ in decoded).split()), sum(n for _, n in decoded)


def _time(message, envelope):
    """Return the first valid date of a message in ISO 8601.

    Without a valid date, the result is the text of the first date, or None if there is none.
    """
    first_text = None
    for text in _dates(message, envelope):
        text = " ".join(HEADER_COMMENT.sub(" ", text).split())
        first_text = first_text or text
        try:
            if USUAL_DATE.fullmatch(text):  # this form is parsed ten times as fast
                return parsedate_to_datetime(text).astimezone(UTC).isoformat()
            if (milliseconds := fields.parse_time(text)) != NO_TIME:
                return (fields.EPOCH + timedelta(milliseconds=milliseconds)).isoformat()
        except (ValueError, OverflowError):
            continue
    return first_text or None


def _dates(message, envelope):
    """Yield texts that may be the date of a message: from headers, then from the From line."""
    for name in DATE_HEADERS:
        for value in message.get_all(name, []):
            yield str(value).rpartition(";")[2]
    moment = FROM_LINE_DATE.search(envelope.decode("ascii", "replace"))
    yield moment[0] if moment else ""
