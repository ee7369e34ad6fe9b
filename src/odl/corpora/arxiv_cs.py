"""arXiv abstracts of 34 computer science categories, to 2 January 2020.

Source: R. S. Geiger, ArXiV Archive, https://doi.org/10.5281/zenodo.1463242.
"""

from itertools import islice

import numpy as np

from odl.corpora.checks import FETCH, check_content, check_sources, lines, opening, unpacked_text
from odl.errors import ConfigError, DataError, check_options
from odl.files.documents import Documents, one_line
from odl.text import encoder
from odl.text.tokens import TOKENS_SCHEMA, count_words, token_options

READER = "arxiv-cs"
OPTIONS = {
    "tokens": TOKENS_SCHEMA,
    "topics": {"type": "string", "enum": ["all", "primary"]},
    "limit": {"type": ["integer", "null"], "minimum": 1},
    "vectors": encoder.SCHEMA,
    "every": {"type": "integer", "minimum": 1},
    "fields": {
        "type": "array",
        "items": {"type": "string", "enum": ["title", "abstract"]},
        "minItems": 1,
    },
}

N_DOCUMENTS = 105392
FIELDS = ("title", "abstract")
COLUMNS = ["arxiv_id", "created", "primary_cat", "categories", "title", "abstract"]
DAY_MS = 86_400_000


def read(sources, options):
    """Read arxiv_cs_abstracts.tsv.xz.

    Parameters
    ----------
    sources : list of path-like
        The one file.
    options : dict
        ``tokens`` (see `odl.text.tokens`); ``topics``: ``"all"`` (default) or ``"primary"``;
        ``limit``: read the first so many papers only (for trying things out); ``every``: of these each
        so many-th, from the first on; ``fields``: parts of the text, some of ``title`` and ``abstract``
        (default both); ``vectors`` (see `odl.text.encoder`, default null).

    Returns
    -------
    Documents
        105392 papers by day of creation, then arXiv number; text is title and abstract, or one of them; topics are
        the primary category, then the paper's other categories (of any archive); times are
        midnight UTC of the day.

    Raises
    ------
    DataError
        If the file is damaged, incomplete, or has other columns.
    """
    check_options(READER, options, OPTIONS)
    topics, limit = options.get("topics", "all"), options.get("limit")
    if topics not in ("all", "primary"):
        raise ConfigError(f"topics is {topics!r}", "'all' or 'primary'", "correct it")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ConfigError(f"limit is {limit!r}", "a whole number from 1, or null", "correct it")
    every, fields = options.get("every", 1), options.get("fields", list(FIELDS))
    if not isinstance(every, int) or every < 1:
        raise ConfigError(f"every is {every!r}", "a whole number from 1", "correct it")
    if not isinstance(fields, list) or not fields or not {*map(str, fields)} <= {*FIELDS}:
        raise ConfigError(f"fields is {fields!r}", "a list of 'title', 'abstract' or both", "correct it")
    tokens = token_options(options.get("tokens"))
    meaning = encoder.encoder_of(options.get("vectors"))
    (path,) = check_sources("arxiv-cs", sources, ["arxiv_cs_abstracts.tsv.xz"])
    documents = to_documents(path, tokens, topics == "primary", limit, every, fields, meaning)
    expected = -(-(N_DOCUMENTS if limit is None else min(limit, N_DOCUMENTS)) // every)
    check_content(path, {"number of documents": len(documents)}, {"number of documents": expected})
    return documents


def to_documents(path, tokens, primary_only, limit, every=1, fields=FIELDS, meaning=None):
    """Read the table line by line: texts are counted as they come, and not kept."""
    ids, times, topics, titles = [], [], [], []

    def texts():
        for number, created, primary, categories, title, abstract in islice(rows(path), 0, limit, every):
            others = [] if primary_only else [name for name in categories.split(",") if name and name != primary]
            ids.append(number)
            times.append(created)
            topics.append((primary, *dict.fromkeys(others)))
            titles.append(one_line(title))
            yield "\n".join(text for name, text in zip(FIELDS, (title, abstract), strict=True) if name in fields)

    counts, vocabulary = count_words(meaning.through(texts()) if meaning else texts(), tokens)
    with opening(path, "days of creation as YYYY-MM-DD"):
        days = np.array(times, dtype="datetime64[D]")
    return Documents(
        counts=counts,
        vocabulary=vocabulary,
        ids=ids,
        times=days.astype(np.int64) * DAY_MS,
        topics=topics,
        titles=titles,
        vectors=meaning.vectors() if meaning else None,
    )


def rows(path):
    """Yield the fields of each line of the table."""
    with opening(path, "a table packed with xz"), unpacked_text(path, "xz", newline="\n") as file:
        table = lines(file, path)
        header = next(table, "").rstrip("\r\n").split("\t")
        if header != COLUMNS:
            raise DataError(f"{path} has the columns {', '.join(header)}", ", ".join(COLUMNS), FETCH)
        for line_number, line in enumerate(table, start=2):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) != len(COLUMNS):
                raise DataError(f"{path} line {line_number} has {len(fields)} fields", f"{len(COLUMNS)}", FETCH)
            yield fields
