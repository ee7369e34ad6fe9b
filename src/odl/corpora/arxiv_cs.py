"""The reader ``arxiv-cs``: arXiv abstracts of 34 computer science categories, to 2 January 2020.

Source: R. S. Geiger, ArXiV Archive, https://doi.org/10.5281/zenodo.1463242.
"""

import csv
import re
from itertools import islice

import numpy as np

from odl.corpora.checks import check_content, documents_of, lines, opening, table, unpacked_text
from odl.text import encoder
from odl.text.tokens import TOKENS_SCHEMA

READER = "arxiv-cs"
FILES = ("arxiv_cs_abstracts.tsv.xz",)
FIELDS = ("title", "abstract")
OPTIONS = {
    "tokens": TOKENS_SCHEMA,
    "topics": {"type": "string", "enum": ["all", "primary"]},
    "limit": {"type": ["integer", "null"], "minimum": 1},
    "vectors": encoder.VECTORS_SCHEMA,
    "every": {"type": "integer", "minimum": 1},
    "fields": {"type": "array", "items": {"type": "string", "enum": [*FIELDS]}, "minItems": 1},
}

N_DOCUMENTS = 105392
TABLE_COLUMNS = ["arxiv_id", "created", "primary_cat", "categories", "title", "abstract"]


def read(sources, options):
    """Read arxiv_cs_abstracts.tsv.xz.

    Parameters
    ----------
    sources : list of path-like
        The file.
    options : dict
        - ``tokens``: see `odl.text.tokens`.
        - ``topics``: ``"all"`` (default) or ``"primary"``.
        - ``limit``: number of papers to read, by default all.
        - ``every``: n, to read only every nth of these papers (default 1).
        - ``fields``: parts of the text, ``title``, ``abstract`` or both (default).
        - ``vectors``: see `odl.text.encoder` (default null).

    Returns
    -------
    Documents
        105392 papers, sorted by day of creation, then by arXiv number. Topics are the primary
        category, then the other categories of the paper. Times are midnight UTC of the day.

    Raises
    ------
    DataError
        If the file is damaged, incomplete, or has other columns.
    """
    (path,) = sources
    documents, every = documents_of(records(path, options), options), options.get("every", 1)
    expected = -(-min(options.get("limit") or N_DOCUMENTS, N_DOCUMENTS) // every)
    check_content(path, {"number of documents": len(documents)}, {"number of documents": expected})
    return documents


def records(path, options):
    """Yield (id, time, topics, title, text) of each paper."""
    parts, primary_only = options.get("fields", FIELDS), options.get("topics") == "primary"
    with opening(path, "days of creation as YYYY-MM-DD"):
        for paper in islice(rows(path), 0, options.get("limit"), options.get("every", 1)):
            number, created, primary, categories, *texts = paper
            categories = [] if primary_only else filter(None, categories.split(","))
            topics = tuple(dict.fromkeys([primary, *categories]))
            time = int(np.datetime64(created, "D").astype("datetime64[ms]").astype(np.int64))
            text_of_field = dict(zip(FIELDS, texts, strict=True))
            text = "\n".join(text_of_field[name] for name in FIELDS if name in parts)
            yield number, time, topics, text_of_field["title"], text


def rows(path):
    """Yield the fields of each line of the table."""
    with opening(path, "a table packed with xz"), unpacked_text(path, "xz", newline="\n") as file:
        yield from table(file, path, TABLE_COLUMNS)


def abstracts(paths, output):
    """Write the table of abstracts from the files cs.*.tsv.xz of the ArXiV Archive.

    Parameters
    ----------
    paths : list of path-like
        One tab-separated file for each category, which its name contains. Each paper whose primary
        category has a file is written once.
    output : path-like
        The table to write, compressed by xz.

    Raises
    ------
    DataError
        If a file is damaged, or the number of papers is not that of the snapshot of 2 January 2020.
    """
    import lzma

    names = [re.search(r"cs\.[A-Z]{2}", str(path).rpartition("/")[2]) for path in paths]
    wanted, papers = {name[0] for name in names if name}, {}
    for path in paths:
        with opening(path, "a table packed with xz"), unpacked_text(path, "xz") as file:
            for row in csv.DictReader(lines(file, path), delimiter="\t"):
                if row["primary_cat"] in wanted:
                    values = (" ".join(row[name].split()) for name in TABLE_COLUMNS)
                    number, created, *remaining = values
                    papers.setdefault(number, [number, created[:10], *remaining])
    check_content(
        "the ArXiV Archive", {"number of papers": len(papers)}, {"number of papers": N_DOCUMENTS}
    )
    ordered = sorted(papers.values(), key=lambda paper: (paper[1], paper[0]))
    with lzma.open(output, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in [TABLE_COLUMNS, *ordered])


ORIGINALS = {FILES[0]: abstracts}
