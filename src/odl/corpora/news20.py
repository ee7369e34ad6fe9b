"""20 Newsgroups, "bydate" version, with the posting dates of the 19997-post original.

Source: http://qwone.com/~jason/20Newsgroups/; the table of dates was made from the Date headers of
20news-19997, which bydate leaves out.
"""

import csv
import io
import re

import numpy as np

from odl.corpora.checks import FETCH, check_content, check_sources, lines, opening, tar_members, unpacked_text
from odl.errors import ConfigError, DataError, check_options
from odl.files.documents import Documents, one_line
from odl.text import encoder
from odl.text.tokens import TOKENS_SCHEMA, count_words, token_options

READER = "20news"
OPTIONS = {
    "tokens": TOKENS_SCHEMA,
    "quotes": {"type": "boolean"},
    "part": {"type": "string", "enum": ["post", "subject"]},
    "vectors": encoder.SCHEMA,
}

EXPECTED = {"number of documents": 18846, "number of training posts": 11314, "number of newsgroups": 20}
MEMBER = re.compile(r"20news-bydate-(train|test)/([^/]+)/(\d{1,9})$")
# Its header says "19 Apr 93 16:15:19 +3000"; the site is near Moscow, so +0300 is meant.
CORRECTED = {"sci.med/58983": "1993-04-19T13:15:19Z"}
QUOTED = re.compile(r"^[ \t]*[>|:].*$|^.*(?:writes in|writes:|wrote:|says:|said:|In article <.*)[ \t]*$", re.MULTILINE)


def read(sources, options):
    """Read 20news-bydate.tar.gz and the table of dates.

    Parameters
    ----------
    sources : list of path-like
        The archive and the table 20news-bydate-dates.tsv.gz.
    options : dict
        ``tokens`` (see `odl.text.tokens`) and ``quotes`` (default true; false drops quoted lines
        and the lines that introduce them), ``part``: ``"post"`` (default) or ``"subject"``, its subject line
        alone, a short text; ``vectors`` (see `odl.text.encoder`, default null).

    Returns
    -------
    Documents
        18846 posts, training posts first, then by newsgroup and number; ids such as
        ``sci.med/58983``; text is the subject and the body, other header lines are dropped; times
        to 1 s, by the senders' clocks.

    Raises
    ------
    DataError
        If a file is damaged or incomplete, or a post has no date.
    """
    check_options(READER, options, OPTIONS)
    quotes = options.get("quotes", True)
    if not isinstance(quotes, bool):
        raise ConfigError(f"quotes is {quotes!r}", "true or false", "correct it")
    part = options.get("part", "post")
    if part not in ("post", "subject"):
        raise ConfigError(f"part is {part!r}", "'post' or 'subject'", "correct it")
    tokens = token_options(options.get("tokens"))
    meaning = encoder.encoder_of(options.get("vectors"))
    archive, table = check_sources("20news", sources, ["20news-bydate.tar.gz", "20news-bydate-dates.tsv.gz"])
    return to_documents(archive, table, tokens, quotes, EXPECTED, part, meaning)


def to_documents(archive, table, tokens, quotes, expected, part="post", meaning=None):
    """Read the two files; `expected` holds the numbers to check."""
    times, posts = read_dates(table), []
    for name, data in tar_members(archive):
        match = MEMBER.search(name)
        if match:
            split, group, number = match.groups()
            if times.get((group, number)) is None:
                raise DataError(f"{table} has no date for {group}/{number}", "one for each post", FETCH)
            posts.append((split == "test", group, int(number), times[group, number], *split_post(data)))
    posts.sort(key=lambda post: post[:3])
    found = {
        "number of documents": len(posts),
        "number of training posts": sum(not post[0] for post in posts),
        "number of newsgroups": len({post[1] for post in posts}),
    }
    check_content(archive, found, expected)
    texts = (
        subject if part == "subject" else f"{subject}\n{body if quotes else QUOTED.sub('', body)}"
        for *_, subject, body in posts
    )
    counts, vocabulary = count_words(meaning.through(texts) if meaning else texts, tokens)
    return Documents(
        counts=counts,
        vocabulary=vocabulary,
        ids=[f"{group}/{number}" for _, group, number, *_ in posts],
        times=np.array([post[3] for post in posts], dtype=np.int64),
        topics=[(post[1],) for post in posts],
        titles=[one_line(post[4]) for post in posts],
        vectors=meaning.vectors() if meaning else None,
    )


def read_dates(path):
    """Return {(newsgroup, number): milliseconds since 1970, or None where there is no date}."""
    times = {}
    with opening(path, "a gzipped table"), unpacked_text(path) as file:
        for row in csv.DictReader(lines(file, path), delimiter="\t", quoting=csv.QUOTE_NONE):
            date = row["date_utc"] or CORRECTED.get(f"{row['newsgroup']}/{row['id']}")
            time = int(np.datetime64(date.removesuffix("Z"), "ms").astype(np.int64)) if date else None
            times[row["newsgroup"], row["id"]] = time
    return times


def split_post(data):
    """Return (subject, body) of a post's bytes, line breaks made equal."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="latin-1").read()
    head, _, body = text.partition("\n\n")
    subject = re.search(r"^Subject:[ \t]*(.*(?:\n[ \t].*)*)", head, re.MULTILINE | re.IGNORECASE)
    return (subject[1] if subject else ""), body
