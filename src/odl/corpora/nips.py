"""The reader ``nips``: term counts, titles and sections of NIPS volumes 0 to 12 (1987 to 1999).

Source: G. Heinrich's "NIPS0-12 test collection" (2011), from S. Roweis' nips12raw.
"""

import io
from itertools import chain

import numpy as np
from scipy import sparse

from odl.corpora.checks import FETCH, check_content, opening, packing, tar_members
from odl.errors import DataError
from odl.files.documents import Documents, one_line

READER = "nips"
FILES = ("nips_0-12.tar.gz",)
OPTIONS = {}

MEMBERS = (
    "nips.corpus",
    "nips.docnames",
    "nips.docs",
    "nips.labels",
    "nips.labels.key",
    "nips.vocab",
    "nips.vols",
)
KNOWN_CONTENT = {"number of documents": 1740, "number of terms": 13649, "sum of counts": 2301375}
NO_SECTION = "Uncategorised"


def read(sources, options):
    """Read nips_0-12.tar.gz.

    Parameters
    ----------
    sources : list of path-like
        The archive.
    options : dict
        Empty.

    Returns
    -------
    Documents
        1740 papers in the order of the volumes, with ids such as ``nips00/0001``. The topic is the
        section of the conference; papers in the section "Uncategorised" have no topic. Times are 1
        December of the conference's year.

    Raises
    ------
    DataError
        If the archive is damaged or incomplete.
    """
    (path,) = sources
    documents = to_documents(path)
    counted = {
        "number of documents": len(documents),
        "number of terms": len(documents.vocabulary),
        "sum of counts": int(documents.counts.sum()),
    }
    check_content(path, counted, KNOWN_CONTENT)
    return documents


def to_documents(path):
    """Return the documents in an archive of the collection's files."""
    members = tar_members(path, MEMBERS.__contains__)
    lines = {name.rpartition("/")[2]: data.decode("latin-1").split("\n") for name, data in members}
    if missing := [name for name in MEMBERS if name not in lines]:
        raise DataError(
            f"{path} lacks {', '.join(missing)}", "the files of the NIPS0-12 collection", FETCH
        )
    # Every file ends with a line break, and nips.corpus with an empty line.
    for name in MEMBERS:
        while lines[name] and not lines[name][-1].strip():
            lines[name].pop()
    with opening(path, "the files of the NIPS0-12 collection"):
        vocabulary = [line.split(" = ")[0].strip() for line in lines["nips.vocab"]]
        keys = [line.strip() for line in lines["nips.labels.key"]]
        labels = [keys[int(line)] for line in lines["nips.labels"]]
        years = [f"{1987 + int(line)}-12-01" for line in lines["nips.vols"]]
        return Documents(
            counts=parse_counts(lines["nips.corpus"], len(vocabulary)),
            vocabulary=vocabulary,
            ids=[line.strip().removesuffix(".txt") for line in lines["nips.docnames"]],
            times=np.array(years, dtype="datetime64[ms]").astype(np.int64),
            topics=[() if label == NO_SECTION else (label,) for label in labels],
            titles=[one_line(line) for line in lines["nips.docs"]],
        )


def parse_counts(lines, n_terms):
    """Parse lines ``n term:count term:count ...`` with terms numbered from 0."""
    rows = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    for number, (line, row) in enumerate(zip(lines, rows, strict=True), start=1):
        if int(line.split()[0]) != len(row):
            raise ValueError(
                f"nips.corpus line {number} has another number of terms than it states"
            )
    # Row of `pairs` -> (column, count).
    pairs = np.array(list(chain.from_iterable(rows)), dtype=np.int64).reshape(-1, 2)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    if len(pairs) and not (
        pairs[:, 0].min() >= 0
        and pairs[:, 0].max() < n_terms
        and 0 <= pairs[:, 1].min() <= pairs[:, 1].max() < 2**31
    ):
        raise ValueError("nips.corpus names a term that nips.vocab lacks, or a negative count")
    return sparse.csr_array(
        (pairs[:, 1].astype(np.int32), pairs[:, 0], indptr), shape=(len(rows), n_terms)
    )


def archive(paths, output):
    """Write a tar.gz with the files in nips-corpus-20111211.zip that the reader needs.

    Raises
    ------
    DataError
        If the archive is damaged or lacks a file.
    """
    import tarfile
    import zipfile

    (path,) = paths
    members = {}
    with opening(path, "a zip archive"), zipfile.ZipFile(path) as original:
        for name in original.namelist():
            bare = name.rpartition("/")[2]
            if bare in MEMBERS and bare not in members:
                members[bare] = original.read(name)
    if missing := [name for name in MEMBERS if name not in members]:
        raise DataError(
            f"{path} lacks {', '.join(missing)}",
            "the NIPS0-12 test collection",
            "download the original again",
        )
    with (
        packing(output) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in sorted(members):
            member = tarfile.TarInfo(f"nips_0-12/{name}")
            member.size = len(members[name])
            tar.addfile(member, io.BytesIO(members[name]))


ORIGINALS = {FILES[0]: archive}
