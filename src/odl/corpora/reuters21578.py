"""The reader ``reuters21578``: Reuters-21578, Distribution 1.0, with dates and all topics.

Source: the original SGML of D. D. Lewis, Reuters-21578 text categorization test collection,
Distribution 1.0, 1997.
"""

import hashlib
import html
import re

import numpy as np

from odl.corpora.checks import FETCH, check_content, documents_of, opening, tar_members
from odl.errors import DataError
from odl.text.tokens import TOKENS_SCHEMA

READER = "reuters21578"
FILES = ("reuters21578.tar.gz",)
OPTIONS = {
    "tokens": TOKENS_SCHEMA,
    "labelled": {"type": "boolean", "description": "only documents with a topic"},
}

N_DOCUMENTS = 21578
# MD5 of the original reut2-000.sgm; edited copies exist.
FIRST_FILE_MD5 = "f31a85bdfafd5cf663f325c728360b46"

NEWID = re.compile(r'NEWID="(\d{1,9})"')
# Some dates are followed by codes or a remark, some have two spaces. Document NEWID 17192 has the
# hour 605. Its wire number f0391 lies between numbers sent at 05:07 and 05:17 that day, so the 6 is
# an error and is skipped.
DATE_ELEMENT = re.compile(
    r"<DATE>\s*(\d{1,2})-([A-Z]{3})-(\d{4})\s+\d*(\d\d):(\d\d):(\d\d)\.(\d{1,2})"
)
MONTHS_OF_1987 = {"FEB": 2, "MAR": 3, "APR": 4, "JUN": 6, "OCT": 10}
TEXT_ELEMENT = re.compile(r'<TEXT(?: TYPE="(\w+)")?>')
MARKUP_TAGS = re.compile(r"</?(?:TITLE|DATELINE|AUTHOR|BODY)>")
CONTROL_REFERENCE = re.compile(r"&#\d+;")


def read(sources, options):
    """Read reuters21578.tar.gz.

    Parameters
    ----------
    sources : list of path-like
        The archive. Its files are found by name.
    options : dict
        ``tokens`` (see `odl.text.tokens`) and ``labelled``, which selects the documents with a
        topic.

    Returns
    -------
    Documents
        21578 documents in the order of the files. The id is the NEWID. The text is title and body,
        for briefs only the title, since their bodies are placeholders. Documents of type UNPROC
        have the entire text. Times have a resolution of 1/100 s; they are read as UTC.

    Raises
    ------
    DataError
        If the archive is damaged, incomplete, or an edited copy.
    """
    (path,) = sources
    members = tar_members(path, re.compile(r"reut2-\d{3}\.sgm").fullmatch)
    files = {name.rpartition("/")[2]: data for name, data in members}
    digest = hashlib.md5(files.get("reut2-000.sgm", b""), usedforsecurity=False).hexdigest()
    if digest != FIRST_FILE_MD5:
        content = f"a reut2-000.sgm with md5 {digest}" if files else "no reut2-*.sgm"
        raise DataError(
            f"{path} contains {content}", f"the original with md5 {FIRST_FILE_MD5}", FETCH
        )
    with opening(path, "the original SGML"):
        parsed = [
            document
            for name in sorted(files)
            for document in parse(path, files[name].decode("latin-1"))
        ]
    numbers = [newid for newid, *_ in parsed]
    counted = {
        "number of documents": len(parsed),
        "set of NEWIDs complete": {*numbers} == {*range(1, len(parsed) + 1)},
    }
    check_content(
        path, counted, {"number of documents": N_DOCUMENTS, "set of NEWIDs complete": True}
    )
    if options.get("labelled"):
        parsed = [document for document in parsed if document[2]]
    return documents_of(((str(newid), *fields) for newid, *fields in parsed), options)


def parse(path, sgml):
    """Yield (NEWID, time in ms, topics, title, text) of each document of an SGML file."""
    for attributes, inside in elements(sgml):
        newid, kind = NEWID.search(attributes), TEXT_ELEMENT.search(inside)
        element = kind and enclosed(inside, kind.end(), "</TEXT>")
        if not newid or element is None:
            raise DataError(
                f"{path} contains a document without NEWID or TEXT", "the original SGML", FETCH
            )
        parts = (between(inside, "TOPICS") or "").split("<D>")[1:]
        topics = tuple(part.partition("</D>")[0] for part in parts if "</D>" in part)
        yield (
            int(newid[1]),
            milliseconds(path, newid[1], inside),
            topics,
            *title_and_text(kind[1], element),
        )


def elements(sgml):
    """Yield (attributes, content) of each REUTERS element."""
    start = sgml.find("<REUTERS ")
    while start >= 0:
        inside = sgml.find(">", start)
        end = sgml.find("</REUTERS>", inside) if inside >= 0 else -1
        if end < 0:
            return
        yield sgml[start + len("<REUTERS ") : inside], sgml[inside + 1 : end]
        start = sgml.find("<REUTERS ", end)


def enclosed(text, start, closing):
    """Return the text from `start` to a closing tag, or None without such a tag."""
    end = text.find(closing, start)
    return text[start:end] if end >= 0 else None


def milliseconds(path, newid, inside):
    """Return the time of a document in milliseconds since 1970."""
    match = DATE_ELEMENT.search(inside)
    if not match or match[2] not in MONTHS_OF_1987:
        raise DataError(
            f"{path} has no date for document {newid}",
            "a date such as 26-FEB-1987 15:01:01.79",
            FETCH,
        )
    day, month, year, hour, minute, second, fraction = match.groups()
    date = (
        f"{year}-{MONTHS_OF_1987[month]:02d}-{int(day):02d}T{hour}:{minute}:{second}.{fraction:0<3}"
    )
    try:
        return int(np.datetime64(date, "ms").astype(np.int64))
    except ValueError as error:
        raise DataError(
            f"document {newid} in {path} has the invalid time {date}",
            "a valid date and time, such as 1987-02-26T15:01:01.790",
            FETCH,
        ) from error


def title_and_text(kind, element):
    """Return (title, title and text) of a TEXT element, without markup and control codes."""
    title = plain(between(element, "TITLE") or "")
    if kind == "BRIEF":  # the body is "Blah blah blah."
        return title, title
    if kind == "UNPROC":
        complete = MARKUP_TAGS.sub(" ", plain(element))
        first_line = next(filter(None, map(str.strip, complete.splitlines())), "")
        return title or first_line, complete
    return title, title + "\n" + plain(between(element, "BODY") or "")


def between(text, tag):
    """Return the text inside the first element with the given tag, or None if there is none."""
    start = text.find(f"<{tag}>")
    return enclosed(text, start + len(tag) + 2, f"</{tag}>") if start >= 0 else None


def plain(text):
    """Replace references to control characters by spaces, and other references by characters."""
    return html.unescape(CONTROL_REFERENCE.sub(" ", text))
