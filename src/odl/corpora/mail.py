"""Mail: the messages of an mbox file, or the one of a file without "From " lines."""

import email
import email.utils
import re
from email.header import decode_header, make_header

from odl.corpora import checks
from odl.errors import DataError

ENVELOPE = b"From "
DATED = re.compile(rb"From .*\d\d:\d\d.*\d{4}\s*$")  # a line "From here on" is text
QUOTED = re.compile(rb"^>+From ")
PARTS = 1000  # of a message, beyond which it is no letter


def rows(file, path, encoding):
    """Yield (place, row) of each message: id, time, text, title.

    The text is the subject with the plain parts, or with the HTML ones where there are no others; attachments are
    left out. The time is that of the header Date, or else of the "From " line. Mail has no lines of a table, so the
    place is "message 3".

    Parameters
    ----------
    file : binary file
    path : path-like
        For messages.
    encoding : odl.corpora.encodings.Encoding
        Of parts that do not say theirs.

    Raises
    ------
    DataError
        If a message is too long or cannot be taken apart.
    """
    for number, (envelope, data) in enumerate(_messages(file, path), start=1):
        place = f"message {number}"
        try:
            yield place, _row(email.message_from_bytes(data), envelope, encoding)
        except (ValueError, LookupError, RecursionError, AssertionError, TypeError, AttributeError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise DataError(f"{path} {place} cannot be read ({reason})", "a message of mail", "remove it") from error


def _messages(file, path):
    """Yield ("From " line, bytes) of each message."""
    envelope, held, size, first = b"", [], 0, True
    for line in checks.lines(file, path):
        if DATED.match(line) or (first and line.startswith(ENVELOPE)):
            if held:
                yield envelope, b"".join(held)
            envelope, held, size = line, [], 0
        else:
            held.append(line[1:] if QUOTED.match(line) else line)
            size += len(line)
            if size > checks.LONGEST_LINE:
                given = f"{path} holds a message of more than {checks.LONGEST_LINE >> 20} MiB"
                raise DataError(given, "mail", "remove it")
        first = False
    if b"".join(held).strip():
        yield envelope, b"".join(held)


def _row(message, envelope, encoding):
    subject = _header(message["Subject"])
    plain, html = [], []
    for number, part in enumerate(message.walk()):
        if number > PARTS:
            raise ValueError(f"it has more than {PARTS} parts")
        kind = part.get_content_type()
        if kind in ("text/plain", "text/html") and part.get_filename() is None:
            (plain if kind == "text/plain" else html).append(_payload(part, encoding))
    row = {"text": "\n".join([subject, *(plain or html)]), "title": subject, "time": _time(message, envelope)}
    identity = _header(message["Message-ID"]).strip("<> ")
    return {**row, "id": identity} if identity else row


def _payload(part, encoding):
    data = part.get_payload(decode=True) or b""
    charset = part.get_content_charset()
    try:
        return data.decode(charset or encoding.name, "replace" if charset else encoding.errors)
    except (LookupError, UnicodeDecodeError):  # of an unknown name, or none: bytes are read one by one
        return data.decode("utf-8", "replace") if charset else data.decode("cp1252", "replace")


def _header(value):
    """Return a header as text, with what it spells in encoded words."""
    if value is None:
        return ""
    try:
        return " ".join(str(make_header(decode_header(str(value)))).split())
    except (ValueError, LookupError):  # HeaderParseError among them
        return " ".join(str(value).split())


def _time(message, envelope):
    """Return the date of a message as ISO 8601, or None."""
    for text in (str(message["Date"] or ""), envelope.decode("ascii", "replace").partition(" ")[2].partition(" ")[2]):
        try:
            return email.utils.parsedate_to_datetime(text.strip()).isoformat()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
