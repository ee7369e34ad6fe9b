"""Make the files of the registry that are no downloads themselves from the originals they come from.

Each builder takes the paths of the originals, in the order of the registry, and the path to write;
equal originals give equal bytes.
"""

import csv
import gzip
import io
import lzma
import re
import tarfile
import zipfile
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

from odl.corpora import arxiv_cs, nips
from odl.corpora.checks import FLOOR, check_content, lines, opening, tar_members, unpacked_text
from odl.errors import DataError

N_POSTS = 19997
POST = re.compile(r"([^/]+)/(\d{1,9})$")
FARTHEST_ZONE = 24 * 3600  # one header has +1700, taken at its word, one +3000


def newsgroup_dates(paths, output, n_posts=N_POSTS):
    """Write the table of posting dates from 20news-19997.tar.gz.

    Parameters
    ----------
    paths : list of path-like
        The one archive, posts as ``.../newsgroup/number``.
    output : path-like
        The table to write, packed by gzip; ``date_utc`` is empty where the header holds no date
        that can be.

    Raises
    ------
    DataError
        If the archive is damaged or does not hold all posts.
    """
    (path,) = paths
    rows = []
    for name, data in tar_members(path):
        match = POST.search(name)
        if match:
            head = data.decode("latin-1").replace("\r\n", "\n").partition("\n\n")[0]
            date, message = header(head, "Date"), header(head, "Message-ID")
            rows.append(["", match[1], match[2], utc(date), date, message])
    check_content(path, {"number of posts": len(rows)}, {"number of posts": n_posts})
    rows.sort(key=lambda row: (row[1], int(row[2])))
    lines = ["\t".join(["split", "newsgroup", "id", "date_utc", "date_header", "message_id"])]
    lines += ["\t".join(row) for row in rows]
    with open(output, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(("\n".join(lines) + "\n").encode("utf-8"))


def header(head, name):
    """Return a header's value on one line, or ""."""
    match = re.search(rf"^{name}:(.*(?:\n[ \t].*)*)", head, re.MULTILINE | re.IGNORECASE)
    return " ".join(match[1].split()) if match else ""


def utc(date):
    """Return a Date header as YYYY-MM-DDTHH:MM:SSZ, or "" where it is none or its zone cannot be."""
    parsed = parsedate_tz(date)
    if parsed is None or abs(parsed[9] or 0) > FARTHEST_ZONE:
        return ""
    try:
        return datetime.fromtimestamp(mktime_tz(parsed), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def arxiv_abstracts(paths, output, n_documents=arxiv_cs.N_DOCUMENTS):
    """Write the table of abstracts from the files cs.*.tsv.xz of the ArXiV Archive.

    Parameters
    ----------
    paths : list of path-like
        One file for each category, named by it; tab separated, quoted as by pandas. A paper is
        kept if its primary category is among these, once.
    output : path-like
        The table to write, packed by xz.

    Raises
    ------
    DataError
        If a file is damaged, or the papers are not as many as in the snapshot of 2 January 2020.
    """
    names = [re.search(r"cs\.[A-Z]{2}", str(path).rpartition("/")[2]) for path in paths]
    wanted = {name[0] for name in names if name}
    papers = {}
    for path in paths:
        with opening(path, "a table packed with xz"), unpacked_text(path, "xz") as file:
            for row in csv.DictReader(lines(file, path), delimiter="\t"):
                if row["primary_cat"] in wanted:
                    fields = [" ".join(row[name].split()) for name in arxiv_cs.COLUMNS]
                    fields[1] = fields[1][:10]
                    papers.setdefault(fields[0], fields)
    check_content("the ArXiV Archive", {"number of papers": len(papers)}, {"number of papers": n_documents})
    with lzma.open(output, "wt", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(arxiv_cs.COLUMNS) + "\n")
        for fields in sorted(papers.values(), key=lambda fields: (fields[1], fields[0])):
            file.write("\t".join(fields) + "\n")


def nips_archive(paths, output):
    """Write a tar.gz of the files the reader of nips uses, from nips-corpus-20111211.zip.

    Raises
    ------
    DataError
        If the archive is damaged or lacks a file.
    """
    (path,) = paths
    found = {}
    with opening(path, "a zip archive"), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.rpartition("/")[2] in nips.FILES:
                if archive.getinfo(name).file_size > FLOOR:
                    raise ValueError(f"{name} claims {archive.getinfo(name).file_size} bytes")
                found.setdefault(name.rpartition("/")[2], archive.read(name))
    missing = [name for name in nips.FILES if name not in found]
    if missing:
        raise DataError(f"{path} holds no {', '.join(missing)}", "the NIPS0-12 test collection", "fetch the original")
    with (
        open(output, "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in sorted(found):
            member = tarfile.TarInfo(f"nips_0-12/{name}")
            member.size = len(found[name])
            archive.addfile(member, io.BytesIO(found[name]))


BUILDERS = {
    "20news/20news-bydate-dates.tsv.gz": newsgroup_dates,
    "arxiv_cs/arxiv_cs_abstracts.tsv.xz": arxiv_abstracts,
    "nips/nips_0-12.tar.gz": nips_archive,
}
