"""Texts: one document a file, with the time from its first lines, its name or its date of change."""

import os
import re
from datetime import UTC, datetime

from odl.corpora import checks
from odl.errors import DataError

TIMES = ("name", "front-matter", "modified")
DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])(?:[-_.]?(0[1-9]|[12]\d|3[01]))?(?!\d)")
FRONT = re.compile(r"\A---\s*\n(.*?\n)(?:---|\.\.\.)\s*(?:\n|\Z)", re.S)
recorded: dict = {}  # path -> seconds: when a file that is there had its content first, where somebody keeps that
PAIR = re.compile(r"^([\w-]+):[ \t]*(.*?)[ \t]*$", re.M)


def row(file, path, name, encoding, times=None):
    """Return the one row of a file: id, time, text, title, and topics where its first lines have them.

    Parameters
    ----------
    file : binary file
    path : path-like
    name : str
        Tells the file from others; the id, without its ending.
    encoding : odl.corpora.encodings.Encoding
    times : str, optional
        Where the time is taken from: ``name`` (a day or month in the name or its folders: 2026-01-03, 20260103,
        2026/01), ``front-matter`` (``date:`` between lines of three dashes at the beginning), ``modified`` (when the
        file was last changed; a copy may lose it). By default the front matter, or else the name.

    Raises
    ------
    UnicodeDecodeError
        If bytes do not fit the encoding.
    DataError
        If the file is too long.
    """
    data = file.read(checks.LONGEST_LINE + 1)
    if len(data) > checks.LONGEST_LINE:
        raise DataError(f"{path} is longer than {checks.LONGEST_LINE >> 20} MiB", "a text", "split it")
    text = encoding.text(data, first=True)
    front = FRONT.match(text)
    said = {key.lower(): value.strip("\"'") for key, value in PAIR.findall(front[1])} if front else {}
    text = text[front.end() :] if front else text
    title = said.get("title") or next((line.strip(" #\t") for line in text.splitlines() if line.strip()), "")
    if "title" in said:
        text = f"{title}\n{text}"
    found = {"id": os.path.splitext(name)[0], "text": text, "title": title, "url": said.get("url") or said.get("link")}
    if said.get("topics"):
        found["topics"] = said["topics"].strip("[]").replace(",", ";")
    return {**found, "time": _time(path, name, said, times)}


def _time(path, name, said, times):
    if times == "modified":
        return datetime.fromtimestamp(recorded.get(os.fspath(path)) or changed(path), UTC).isoformat()
    if times != "name" and said.get("date"):
        return said["date"]
    return day_of(name) if times != "front-matter" else None


def changed(path):
    """Return when a file was last changed, in seconds."""
    return int(os.stat(path).st_mtime)


def day_of(name):
    """Return the day, or month, that a name of a file holds, as ISO 8601; None if it holds none."""
    days = [match for match in DAY.finditer(name.replace("/", "-")) if match]
    found = next((match for match in reversed(days) if match[3]), days[-1] if days else None)
    return "-".join(part for part in found.groups() if part) if found else None
