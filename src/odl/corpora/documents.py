"""A person's own documents: text or term counts, in JSONL, CSV or Parquet files."""

from array import array
from collections import Counter

import numpy as np
from scipy import sparse

from odl.corpora import cleaning, fields
from odl.corpora.checks import check_options, nearest
from odl.corpora.shingles import Shingler
from odl.corpora.tables import check_delimiter, find_files, rows
from odl.corpora.text import TOKENS_SCHEMA, analyser, check_words, token_options
from odl.errors import ConfigError, DataError
from odl.files.documents import Documents, Dropped, one_line

READER = "documents"
OWN_FILES = True
OPTIONS = {
    "columns": {"$ref": "#/$defs/columns"},
    "separator": {"type": ["string", "null"], "minLength": 1},
    "delimiter": {"type": "string", "minLength": 1},
    "tokens": TOKENS_SCHEMA,
    "clean": cleaning.SCHEMA,
    "min_words": {"type": "integer", "minimum": 0},
    "duplicates": {"type": "boolean"},
}

COLUMNS = {"id": "id", "time": "time", "text": "text", "counts": "counts", "topics": "topics", "title": "title"}


def read(sources, options):
    """Read files and folders of documents.

    Parameters
    ----------
    sources : list of path-like
        Files ending in .jsonl, .jsonl.gz, .csv, .csv.gz or .parquet, or folders of them (sorted by
        name; other files there are ignored).
    options : dict
        ``columns`` (names of the columns id, time, text, counts, topics, title; null for one that
        is not to be used; a name other than the default has to occur), ``separator`` between the
        topics of a string (default ";"; null for one topic a string), ``delimiter`` of CSV files
        (default ","), ``tokens`` (see `odl.corpora.text`; for texts only), ``clean`` (which of
        `odl.corpora.cleaning.CLEANERS` go over the texts first; default none), ``min_words`` (documents
        with fewer tokens are left out, and listed; default 0), ``duplicates`` (store the shingles of
        texts, by which `odl.alerts.duplicates` tells near-duplicates; default false).

    Returns
    -------
    Documents
        In the order of files and rows. A row has counts ({token: count}; in CSV as a JSON string)
        or else text. Without a column of ids, the id is file name and row, such as ``a.csv:12``.
        White space inside tokens becomes "_", inside ids and topics one space. Times as in
        `odl.corpora.fields.parse_time`. ``files`` are the file names.

    Raises
    ------
    ConfigError
        If an option is wrong.
    DataError
        If a file or row is; the message names both.
    """
    check_options(READER, options, OPTIONS)
    columns, separator = check_columns(options.get("columns")), options.get("separator", ";")
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise ConfigError(f"separator is {separator!r}", "a string such as ';', or null", "correct it")
    delimiter = check_delimiter(options.get("delimiter", ","))
    min_words = cleaning.check_min_words(options.get("min_words", 0))
    tokens, cleaner = token_options(options.get("tokens")), cleaning.Cleaning(options.get("clean"))
    if not isinstance(duplicates := options.get("duplicates", False), bool):
        raise ConfigError(f"duplicates is {duplicates!r}", "true or false", "correct it")
    collection = Collection(columns, separator, tokens, cleaner, min_words, Shingler() if duplicates else None)
    for name, path in find_files(sources):
        collection.add_file(name, path, delimiter)
    return collection.finish()


def check_columns(columns):
    """Return role -> column name with the defaults, checked; unused roles are left out."""
    columns = {} if columns is None else columns
    if not isinstance(columns, dict):
        raise ConfigError(f"columns is {columns!r}", "a mapping of " + ", ".join(COLUMNS), "correct it")
    check_options("columns", columns, COLUMNS)
    for role, name in columns.items():
        if name is not None and not isinstance(name, str):
            raise ConfigError(f"columns.{role} is {name!r}", "the name of a column, or null", "correct it")
    return {role: name for role, name in {**COLUMNS, **columns}.items() if name is not None}


class Collection:
    """The documents read so far: counts in flat arrays, texts are not kept.

    Parameters
    ----------
    columns : dict
        Role -> column name.
    separator : str or None
        Between the topics of a string.
    tokens : dict
        How texts are split (see `odl.corpora.text`).
    cleaner : odl.corpora.cleaning.Cleaning
    min_words : int
        Tokens that a document has at least; others are left out.
    shingler : odl.corpora.shingles.Shingler, optional
        Keeps what near-duplicates are told by.
    """

    def __init__(self, columns, separator, tokens, cleaner, min_words, shingler=None):
        self.columns, self.separator, self.tokens, self.words_of = columns, separator, tokens, analyser(tokens)
        self.cleaner, self.min_words, self.dropped, self.shingler = cleaner, min_words, {}, shingler
        self.ids, self.topics, self.titles, self.files = {}, [], [], []
        self.times, self.numbers = array("q"), {}
        self.indices, self.data, self.indptr = array("i"), array("i"), array("q", [0])

    def add_file(self, name, path, delimiter):
        """Append the documents of one file."""
        seen, with_ids = set(), None
        for place, row in rows(path, delimiter):
            if with_ids is None:
                check_first_row(path, row, self.columns)
                with_ids = self.columns.get("id") in row
            seen.update(row)
            try:
                self.add_row(name, place, row, with_ids)
            except (ValueError, OverflowError, RecursionError) as error:
                raise DataError(f"{path} {place}: {error}", "a readable document", "correct or remove it") from error
        check_columns_seen(path, seen, self.columns)

    def add_row(self, name, place, row, with_ids):
        """Append one document; raise ValueError, before anything is changed, if a field is wrong."""
        given = {role: row.get(column) for role, column in self.columns.items()}
        if with_ids == fields.missing(given.get("id")):
            raise ValueError("it has no id" if with_ids else "it has an id, but the first row has none")
        identity = fields.parse_id(given["id"]) if with_ids else f"{name}:{place.split()[-1]}"
        if identity in self.ids:
            raise ValueError(f"the id {identity!r} occurs twice, first in {self.ids[identity]}")
        time = fields.parse_time(given.get("time"))
        topics = fields.parse_topics(given.get("topics"), self.separator)
        text, taken = "", [0] * len(self.cleaner.names)
        if not fields.missing(given.get("counts")):
            counts = fields.parse_counts(given["counts"])
        elif given.get("text") is not None:
            text, taken = self.cleaner.apply(fields.parse_text(given["text"]))
            counts = Counter(self.words_of(text))
        else:
            raise ValueError("it has neither text nor counts")
        n_words = sum(counts.values())
        if n_words < self.min_words:
            self.dropped[identity] = (time, n_words)
            self.ids[identity] = f"{name} {place}"
            return
        self.cleaner.count(taken)
        if self.shingler is not None:
            self.shingler.add(text)
        title = given.get("title")
        self.titles.append(one_line(fields.clean(str(text if fields.missing(title) else title))))
        self.ids[identity] = f"{name} {place}"
        self.times.append(time)
        self.topics.append(topics)
        self.files.append(name)
        for token, count in counts.items():
            self.indices.append(self.numbers.setdefault(token, len(self.numbers)))
            self.data.append(count)
        self.indptr.append(len(self.indices))

    def finish(self):
        """Return the documents, the vocabulary sorted by spelling."""
        if not self.numbers and self.dropped:
            given = f"all {len(self.ids)} documents have fewer than {self.min_words} words"
            raise DataError(given, "longer documents", "lower min_words or clean less")
        if not self.numbers:
            raise DataError(
                f"none of the {len(self.ids)} documents holds a token",
                "texts that the pattern of tokens fits, or counts",
                "set tokens.pattern to fit the script of the texts",
            )
        ids = [identity for identity in self.ids if identity not in self.dropped]
        vocabulary = check_words(sorted(self.numbers), self.tokens)
        column = np.empty(len(vocabulary), dtype=np.int32)
        column[[self.numbers[word] for word in vocabulary]] = np.arange(len(vocabulary))
        indices = column[np.asarray(self.indices)]
        shape = (len(ids), len(vocabulary))
        return Documents(
            counts=sparse.csr_array((np.array(self.data), indices, np.array(self.indptr)), shape=shape),
            vocabulary=vocabulary,
            ids=ids,
            times=np.array(self.times),
            topics=self.topics,
            titles=self.titles,
            files=self.files,
            removed=self.cleaner.removed(),
            dropped=self._dropped() if self.min_words else None,
            shingles=self.shingler.matrix() if self.shingler is not None else None,
        )

    def _dropped(self):
        times, words = zip(*self.dropped.values(), strict=True) if self.dropped else ((), ())
        return Dropped(list(self.dropped), np.array(times, dtype=np.int64), np.array(words, dtype=np.int64))


def check_first_row(path, row, columns):
    """Refuse a file whose first row has neither text nor counts."""
    wanted = [columns[role] for role in ("text", "counts") if role in columns]
    if not any(name in row for name in wanted):
        hint = next((found for name in wanted if (found := nearest(name, row))), "")
        raise DataError(
            f"{path} has the columns {_listed(row)}{hint}",
            " or ".join(f"a column {name!r}" for name in wanted) or "a column of text or counts",
            "rename it, or set columns.text or columns.counts",
        )


def check_columns_seen(path, seen, columns):
    """Refuse a file without a column that was asked for by name, or with a default name misspelt.

    A role under its default name is optional; a column that differs from it in case or outer white
    space only would be lost silently, so it is refused.
    """
    for role, name in columns.items():
        if name in seen:
            continue
        alike = next((str(other) for other in seen if str(other).strip().lower() == name.lower()), None)
        if name != COLUMNS[role] or alike is not None:
            raise DataError(
                f"{path} has the columns {_listed(seen)}{nearest(name, seen)}",
                f"a column {name!r}",
                f"rename it, or set columns.{role}",
            )


def _listed(names):
    names = sorted(str(name) for name in names)
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
