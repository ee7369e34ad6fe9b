"""The reader ``20news``: 20 Newsgroups, "bydate" version, with posting dates.

The "bydate" version lacks the Date headers. The dates are read from the headers of the original
19997 posts (20news-19997).

Source: http://qwone.com/~jason/20Newsgroups/.
"""

import csv
import io
import re
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

import numpy as np

from odl.corpora.checks import (
    FETCH,
    check_content,
    documents_of,
    lines,
    opening,
    packing,
    tar_members,
    unpacked_text,
)
from odl.errors import DataError
from odl.text import encoder
from odl.text.tokens import TOKENS_SCHEMA

READER = "20news"
FILES = ("20news-bydate.tar.gz", "20news-bydate-dates.tsv.gz")
OPTIONS = {
    "tokens": TOKENS_SCHEMA,
    "quotes": {"type": "boolean"},
    "part": {"type": "string", "enum": ["post", "subject"]},
    "vectors": encoder.VECTORS_SCHEMA,
}

KNOWN_CONTENT = {
    "number of documents": 18846,
    "number of training posts": 11314,
    "number of newsgroups": 20,
}
N_POSTS = 19997  # number of posts in the original collection
POST_MEMBER = re.compile(r"20news-bydate-(train|test)/([^/]+)/(\d{1,9})$")
# Post -> corrected date. The Date header of this post has the zone +3000, but the site of the post
# is near Moscow, where the zone is +0300.
CORRECTED_DATES = {"sci.med/58983": "1993-04-19T13:15:19Z"}
POST_PATH = re.compile(r"([^/]+)/(\d{1,9})$")
# Dates with a larger time zone offset are ignored. The largest offsets are +1700 and +3000.
MAX_ZONE_SECONDS = 24 * 3600
QUOTED_LINE = re.compile(
    r"^[ \t]*[>|:].*$|^.*(?:writes in|writes:|wrote:|says:|said:|In article <.*)[ \t]*$",
    re.MULTILINE,
)


def read(sources, options):
    """Read 20news-bydate.tar.gz and the table of dates.

    Parameters
    ----------
    sources : list of path-like
        The archive and the table 20news-bydate-dates.tsv.gz.
    options : dict
        - ``tokens``: see `odl.text.tokens`.
        - ``quotes``: whether to read quoted lines and the lines that introduce them (default true).
        - ``part``: ``"post"`` (default), or ``"subject"`` for the subject line only.
        - ``vectors``: see `odl.text.encoder` (default null).

    Returns
    -------
    Documents
        18846 posts, training posts first, then by newsgroup and number. Ids are newsgroup and
        number, such as ``sci.med/58983``. The text is subject and body, without other header lines.
        Times are those of the senders' clocks, to 1 s.

    Raises
    ------
    DataError
        If a file is damaged or incomplete, or a post has no date.
    """
    archive, table = sources
    times, posts = read_dates(table), []
    for name, data in tar_members(archive):
        if match := POST_MEMBER.search(name):
            split, group, number = match.groups()
            if times.get((group, number)) is None:
                raise DataError(
                    f"{table} has no date for {group}/{number}", "a date for each post", FETCH
                )
            posts.append(
                (split == "test", group, int(number), times[group, number], *split_post(data))
            )
    posts.sort(key=lambda post: post[:3])
    counted = {
        "number of documents": len(posts),
        "number of training posts": sum(not post[0] for post in posts),
        "number of newsgroups": len({post[1] for post in posts}),
    }
    check_content(archive, counted, KNOWN_CONTENT)
    records = (
        (f"{group}/{number}", time, (group,), subject, text_of(subject, body, options))
        for _, group, number, time, subject, body in posts
    )
    return documents_of(records, options)


def text_of(subject, body, options):
    """Return the text of a post: subject, body, or both, as the options say."""
    if options.get("part") == "subject":
        return subject
    return f"{subject}\n{body if options.get('quotes', True) else QUOTED_LINE.sub('', body)}"


def read_dates(path):
    """Read the table of dates; return {(newsgroup, number): milliseconds since 1970 or None}."""
    times = {}
    with opening(path, "a gzipped table"), unpacked_text(path) as file:
        for row in csv.DictReader(lines(file, path), delimiter="\t", quoting=csv.QUOTE_NONE):
            date = row["date_utc"] or CORRECTED_DATES.get(f"{row['newsgroup']}/{row['id']}")
            moment = np.datetime64(date.removesuffix("Z") if date else "NaT", "ms")
            times[row["newsgroup"], row["id"]] = int(moment.astype(np.int64)) if date else None
    return times


def split_post(data):
    """Decode a post; return (subject, body), with line breaks as \\n."""
    head, _, body = io.TextIOWrapper(io.BytesIO(data), encoding="latin-1").read().partition("\n\n")
    return header(head, "Subject"), body


def header(head, name):
    """Return the value of a header, or ""."""
    match = re.search(rf"^{name}:[ \t]*(.*(?:\n[ \t].*)*)", head, re.MULTILINE | re.IGNORECASE)
    return match[1] if match else ""


def dates(paths, output):
    """Write the table of posting dates from 20news-19997.tar.gz.

    Parameters
    ----------
    paths : list of path-like
        The archive, with posts as ``.../newsgroup/number``.
    output : path-like
        The table to write, compressed by gzip. The column ``date_utc`` is empty for a post without
        a valid date.

    Raises
    ------
    DataError
        If the archive is damaged or incomplete.
    """
    (path,) = paths
    rows = []
    for name, data in tar_members(path):
        if match := POST_PATH.search(name):
            head = data.decode("latin-1").replace("\r\n", "\n").partition("\n\n")[0]
            date, message = (
                " ".join(header(head, name).split()) for name in ("Date", "Message-ID")
            )
            rows.append(["", match[1], match[2], utc(date), date, message])
    check_content(path, {"number of posts": len(rows)}, {"number of posts": N_POSTS})
    rows.sort(key=lambda row: (row[1], int(row[2])))
    rows.insert(0, ["split", "newsgroup", "id", "date_utc", "date_header", "message_id"])
    with packing(output) as packed:
        packed.write("".join("\t".join(row) + "\n" for row in rows).encode("utf-8"))


def utc(date):
    """Convert a Date header to YYYY-MM-DDTHH:MM:SSZ; return "" if date or zone is invalid."""
    parsed = parsedate_tz(date)
    if parsed is None or abs(parsed[9] or 0) > MAX_ZONE_SECONDS:
        return ""
    try:
        return datetime.fromtimestamp(mktime_tz(parsed), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


ORIGINALS = {FILES[1]: dates}
