"""The reader ``documents`` of user files: tables, mail, feeds, logs and text files."""

import hashlib
import json
import re
from array import array
from collections import Counter
from copy import copy
from typing import NamedTuple

import numpy as np

from odl.config.schema import closed
from odl.corpora import encodings, fields, formats, times
from odl.corpora.checks import Unreadable, check_options
from odl.corpora.formats import Form, delimiter_of, rows
from odl.errors import ConfigError, DataError, nearest
from odl.files import listing, setaside
from odl.files.documents import NO_TIME, Documents, Dropped, Repeats, one_line
from odl.files.escaping import clean, without_ansi
from odl.files.listing import find_files
from odl.text import cleaning, encoder
from odl.text.shingles import Shingler, Splitter, count_words
from odl.text.tokens import TOKENS_SCHEMA, Tally

READER = "documents"
FILES = None
DEFAULT_COLUMNS = {
    "id": "id",
    "time": "time",
    "text": "text",
    "counts": "counts",
    "topics": "topics",
    "title": "title",
}
COLUMN_ROLES = (*DEFAULT_COLUMNS, "url", "author", "source", "vector")
COLUMN_LIST = {"type": ["string", "array", "null"], "items": {"type": "string"}, "minItems": 1}
# A role is a field of a document. The option `columns` maps it to the column that contains it.
# Roles whose columns must exist in a table if the option `columns` names them.
NEEDED_ROLES = ("id", "time", "text", "counts", "vector")
NAMED_ONLY = ("author", "source")  # roles that are read only if the option `columns` names them
OPTIONS = {
    "columns": closed(
        {role: {"type": ["string", "null"]} for role in COLUMN_ROLES}
        | dict.fromkeys(("time", "text"), COLUMN_LIST)
        | {role: {"type": ["string", "null"], "earlier": None} for role in NAMED_ONLY}
    ),
    "facets": {"type": "array", "items": {"type": "string", "minLength": 1}, "earlier": []},
    "separator": {"type": ["string", "null"], "minLength": 1},
    "delimiter": {"type": "string", "pattern": '[^"\\r\\n]'},
    "quoted": {"type": "boolean"},
    "encoding": encodings.ENCODING_SCHEMA,
    "dates": {"type": ["string", "null"], "enum": [None, *fields.DATES]},
    "time_format": {**times.FORMAT_SCHEMA, "earlier": None},
    "kind": {"type": ["string", "null"], "enum": [None, *listing.KINDS]},
    "times": {"type": ["string", "null"], "enum": [None, *formats.TIME_SOURCES]},
    "tokens": TOKENS_SCHEMA,
    "clean": cleaning.CLEAN_SCHEMA,
    "min_words": {"type": "integer", "minimum": 0},
    "duplicates": {"type": "boolean"},
    "keep_text": {"type": "integer", "minimum": 0},
    "vectors": encoder.VECTORS_SCHEMA,
    "changed": {"type": "string", "enum": ["keep", "new"]},
    "forgotten": {"type": "array", "items": {"type": "string"}},
    # Provenance records of earlier versions lack this option. Their files had no faults, so either
    # value gives the same documents.
    "strict": {"type": "boolean", "earlier": False},
    "needs_time": {"type": "boolean", "earlier": True},
}

# Role -> column in mail, feeds, logs and text files, whose readers name columns after roles.
OWN_COLUMNS = {role: role for role in COLUMN_ROLES if role not in NAMED_ONLY}
SUBJECT_LINE = re.compile(r"^Subject:[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
DAMAGE_REASONS = {  # key of a damaged row -> reason in the list of documents set aside
    "repaired": "items that are not XML, repaired",
    "replaced": "documents with bytes that fit no encoding, read as U+FFFD",
}
WRONG_TIME = (
    "correct it, or set another column (--time, columns.time) "
    "or the format of times (--time-format)"
)
WITHOUT_TIME = Unreadable(
    "it has no time", "add them, or choose another source of all times: --times modified, or name"
)
OTHER_COLUMNS = (
    "correct them, or set another column (--text, columns.text); "
    "use a separate folder for files with other columns"
)
FACET_ROLE = "facets "  # prefix of the role of a facet column
FACET_CHARACTERS = 100  # longer facet values are cut to this number of characters
DIGEST_BYTES = 16  # length of the digest of a row's content, in bytes


def read(sources, options):
    """Read files and folders of documents.

    Parameters
    ----------
    sources : list of path-like
        Files, patterns, or folders of tables (`odl.files.listing`).
    options : dict
        - ``columns``: column of each role: id, time, text, counts, topics, title, url, author,
          source, vector. Null for a role that is not used. A table must have the columns that
          differ from the default. url, author, source and vector are read only if they are named.
          A named author also reads the authors of mail and feeds. ``source`` of mail and feeds is
          one of author, category (of feeds) and title. ``topics: category`` also reads the
          categories of feeds. Several columns of text become paragraphs; several columns of time
          (date and clock) are joined by spaces.
        - ``facets``: names of further columns of tables (default none). Events report how often
          each of their values occurs.
        - ``separator``: string between topics (default ";"); null: a string is one topic.
        - ``quoted``: whether quotation marks may enclose the fields of CSV files (default true).
        - ``delimiter``: delimiter of CSV files, by default detected.
        - ``encoding``: encoding of the files (default utf-8), or a list of two, where the second
          decodes bytes that do not fit the first.
        - ``dates``: order of dates whose year comes last, day-first or month-first.
        - ``time_format``: one or more formats of strptime, for the times of tables and logs.
        - ``kind``: kind of all files, one of `odl.files.listing.KINDS`; by default detected.
        - ``times``: source of the time of text files (see `odl.corpora.formats`).
        - ``tokens``: tokens of texts (see `odl.text.tokens`).
        - ``clean``: names of the cleaners of texts (see `odl.text.cleaning`; default none).
        - ``min_words``: smallest number of tokens of a document (default 0). Shorter documents are
          omitted and listed.
        - ``duplicates``: whether to store the shingles of texts for `odl.stream.duplicates`
          (default false).
        - ``keep_text``: number of characters at the start of each cleaned text that are stored, for
          excerpts (default 0).
        - ``vectors``: encoder of the cleaned texts (see `odl.text.encoder`; default null).
        - ``forgotten``: digests of ids that are not read (see `forgotten_as`).
        - ``changed``: use of a row whose id occurred before with other content. ``keep`` omits the
          row (default); ``new`` makes it a document whose id ends in a digest of its content.
        - ``strict``: whether a document or file that cannot be read raises an error (default true;
          false in an odl.yaml) instead of being set aside.
        - ``needs_time``: whether a document must have a time (default false; true in an odl.yaml
          with batches by period).

    Returns
    -------
    Documents
        In the order of files and rows. A row has counts ({token: count}; in CSV as a JSON string)
        or else text. Without a column of ids, the id is file name and row, such as ``a.csv:12``.
        White space inside tokens becomes "_", inside ids and topics one space. Times are parsed by
        `odl.corpora.times.parse_time`. A row whose id and content occurred before is omitted and
        counted in ``repeats``. ``aside`` lists the documents and files that could not be read.

    Raises
    ------
    ConfigError
        If an option is wrong.
    DataError
        If ``strict`` is true and a row is wrong; the message names the file and the row.
    """
    form, collection = form_of(options), Collection(options)
    for name, path in find_files(sources, form.kind):
        if collection.strict or listing.is_utf8(path):  # `odl run` reports files with other names
            collection.add_file(name, path, form)
    return collection.finish()


def form_of(options):
    """Return the `odl.corpora.formats.Form` of the options, after checking them."""
    check_options(READER, options, OPTIONS)
    return Form(
        encoding=encodings.check_encoding(options.get("encoding", "utf-8")),
        quoted=options.get("quoted", True),
        time_formats=times.check_formats(options.get("time_format")),
        **{name: options.get(name) for name in ("kind", "delimiter", "times")},
    )


def columns_of(options):
    """Return a dict from role to column name (or list of names) for the roles that are used."""
    columns = {**DEFAULT_COLUMNS, **options.get("columns", {})}
    columns |= {FACET_ROLE + name: name for name in options.get("facets", ())}
    return {role: name for role, name in columns.items() if name is not None}


def own_columns(kind, columns):
    """Return a dict from role to column for a mail, text, log or feed file.

    The roles author and source, and the categories of a feed as topics, are included only if
    `columns` (result of `columns_of`) names them.
    """
    own = dict(OWN_COLUMNS)
    if kind == "feed" and columns.get("topics") == listing.CATEGORY:
        own["topics"] = listing.CATEGORY
    if "author" in columns:
        own["author"] = "author"
    if "source" in columns:
        own["source"] = columns["source"]
    return own


def names_of(column):
    """Return the column names of a role as a list."""
    if column is None:
        return []
    return column if isinstance(column, list) else [column]


def value_of(row, column, between="\n\n"):
    """Return the value of a row in a column, or the joined values if `column` is a list.

    Strings are joined by `between`. If a value is not a string, it is returned alone, so that the
    parser of the field reports it.
    """
    if not isinstance(column, list):
        return row.get(column)
    values = [row[name] for name in column if not fields.missing(row.get(name))]
    for value in values:
        if not isinstance(value, str):
            return value
    return between.join(values) if values else None


def values_by_role(row, columns):
    """Return a dict from role to value for a row.

    The values of several columns are joined by spaces for the time (date and clock), as paragraphs
    for other roles.
    """
    return {
        role: value_of(row, column, " " if role == "time" else "\n\n")
        for role, column in columns.items()
    }


def documents_in(name, path, form, columns, strict=True):
    """Yield (location, row, with_ids) for each document in a file.

    The row maps roles to values. with_ids is true if the row must have an id: in a table, all rows
    must have one if the first row has one.

    Parameters
    ----------
    name, path : str
        Name of the file in the corpus, and its path.
    form : odl.corpora.formats.Form
    columns : dict
        Columns of each role, as returned by `columns_of`.
    strict : bool
        Whether a document that cannot be read raises an error. Otherwise its row is an
        `Unreadable`. An `Unreadable` may also concern the entire file (location ""), the end of the
        file (location "after ..."), or damaged documents that were read (location "read").

    Raises
    ------
    DataError
        If `strict` is true and the file or a document in it cannot be read.
    """
    kind = form.kind_of(path)
    tabular = kind in listing.TABULAR
    columns = columns if tabular else own_columns(kind, columns)
    with_ids, last_location, columns_seen, n_damaged = None, "", set(), Counter()
    try:
        for location, row in rows(path, form, name):
            fault = row if isinstance(row, Unreadable) else None
            if fault is None:
                if with_ids is None:  # the first readable row
                    with_ids = columns.get("id") in row
                    _check_header(path, kind, row, columns, strict)
                columns_seen.update(row)
                fault = _without_text(row, columns) if tabular else None
            if fault and strict:
                raise _refusal(path, location, fault)
            last_location = location
            if fault:
                yield location, fault, False
                continue
            if not tabular:
                n_damaged.update(row.keys() & DAMAGE_REASONS.keys())
            roles = values_by_role(row, columns)
            has_optional_id = not strict and not fields.missing(roles.get("id"))
            yield location, roles, with_ids or has_optional_id
        if tabular and strict:
            check_columns_seen(path, columns_seen, columns)
    except DataError as error:
        if strict:
            raise
        reason = f"{error.given.removeprefix(f'{path} ')}; expected {error.expected}"
        location = f"{setaside.REST_PREFIX}{last_location}" if last_location else ""
        yield location, Unreadable(reason), False
    if not strict:
        for key, n in sorted(n_damaged.items()):
            account = Unreadable(f"{DAMAGE_REASONS[key]}: {n:,}")
            yield setaside.DAMAGED_BUT_READ, account, False


def _check_header(path, kind, row, columns, strict):
    """Raise DataError if the first row of a file lacks required columns.

    If `strict` is false, only tables are checked, in which all rows have the same columns.
    """
    has_same_columns = kind in ("csv", "parquet")
    if strict or has_same_columns:
        check_first_row(path, row, columns)
    if not strict and has_same_columns:
        needed = {role: columns[role] for role in NEEDED_ROLES if role in columns}
        check_columns_seen(path, row, needed)


def _without_text(row, columns):
    """Return an `Unreadable` if a row has no column of text or counts; else None."""
    expected_names = names_of(columns.get("text")) + names_of(columns.get("counts"))
    if any(name in row for name in expected_names):
        return None
    return Unreadable(
        f"it has neither {' nor '.join(expected_names)}, but the columns {_join_names(row)}",
        OTHER_COLUMNS,
    )


def _refusal(path, location, reason):
    """Return the error for a document that cannot be read."""
    return DataError(f"{path} {location}: {reason}", "a readable document", "correct or remove it")


class Register:
    """Ids of the documents read so far, to detect repeated rows.

    Parameters
    ----------
    changed : {"keep", "new"}
        Whether a row with a known id but other content is omitted, or becomes a new document.

    Attributes
    ----------
    contents : dict of str to bytes
        Digest of the content of each document, by its id.
    again : list of (str, bytes)
        Id and digest of the content of each repeated row.
    """

    def __init__(self, changed="keep"):
        self.changed, self.contents, self.again = changed, {}, []

    def name(self, identity, content):
        """Return the id under which a row becomes a document, or None for a repeated row.

        A repeated row is added to `again`. Any other row must be registered by `enter`.

        Parameters
        ----------
        identity : str
            Id of the row.
        content : bytes
            Digest of its content.
        """
        name = identity
        if self.changed == "new" and self.contents.get(identity, content) != content:
            name += name_end(content)
        if name not in self.contents:
            return name
        self.again.append((identity, content))
        return None

    def enter(self, name, content):
        """Register a document under an id, with the digest of its content."""
        self.contents[name] = content

    def repeats(self):
        """Return the numbers of repeated rows, with equal and with other content."""
        n_changed = 0
        if self.changed == "keep":
            n_changed = sum(self.contents[identity] != content for identity, content in self.again)
        return Repeats(len(self.again) - n_changed, n_changed)


def identity_of(row, name, location):
    """Return the id in a row, or "file name:row number" if the row has no id."""
    if fields.missing(row.get("id")):
        return f"{name}:{location.split()[-1]}"
    return fields.parse_id(row["id"])


class Values(NamedTuple):
    """Parsed values of a row. One of `counts` and `text` is None."""

    time: int
    topics: tuple
    counts: dict | None
    text: str | None


class Parser:
    """Parser of the values in a row, with the options of the reader ``documents``."""

    def __init__(self, options):
        self.names = names_of(columns_of(options).get("text", "text"))
        self.separator, self.dates = options.get("separator", ";"), options.get("dates")
        self.needs_time = options.get("needs_time", False)
        self.time_formats = times.check_formats(options.get("time_format"))

    def parse(self, row, kind=None):
        """Return the parsed `Values` of a row; raise ValueError if a value is wrong.

        Parameters
        ----------
        row : dict
            Role -> value.
        kind : str, optional
            Kind of the row's file. The option ``time_format`` is used for tables and for None;
            other kinds have their own formats of times.
        """
        formats = self.time_formats if kind is None or kind in listing.TABULAR else ()
        try:
            time = fields.parse_time(row.get("time"), self.dates, formats)
        except (ValueError, OverflowError) as error:
            raise ValueError(Unreadable(error, WRONG_TIME)) from error
        if self.needs_time and time == NO_TIME:
            raise ValueError(WITHOUT_TIME)
        topics = fields.parse_topics(row.get("topics"), self.separator)
        if not fields.missing(row.get("counts")):
            counts = fields.parse_counts(row["counts"])
            return Values(time, topics, counts=counts, text=None)
        if row.get("text") is None or row["text"] != row["text"]:  # None or NaN
            reason = f"it has neither {' nor '.join(self.names)} nor counts"
            raise ValueError(Unreadable(reason, OTHER_COLUMNS))
        return Values(time, topics, counts=None, text=fields.parse_text(row["text"]))


def check_id(row, with_ids, kind=None):
    """Raise ValueError if a row has an id and the first row of its file has none, or vice versa."""
    tabular = kind is None or kind in listing.TABULAR
    if tabular and with_ids == fields.missing(row.get("id")):
        reason = "it has no id" if with_ids else "it has an id, but the first row has none"
        advice = "correct them, or name another column (--id, columns.id)"
        raise ValueError(Unreadable(reason, advice))


def forgotten_as(identity):
    """Return the digest under which forgotten.txt lists a document id."""
    return hashlib.blake2b(identity.encode(), digest_size=DIGEST_BYTES).hexdigest()


def name_end(content):
    """Return the suffix for the id of a document whose id occurred before with other content.

    `content` is the digest of the document's row (`content_of`).
    """
    return f"~{content.hex()[:8]}"


def content_of(row):
    """Return a digest of all values of a row except its id."""
    values = [value for role, value in row.items() if role != "id"]
    text = json.dumps(values, default=str)
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


class ParsedRow(NamedTuple):
    """A row with parsed fields, and with the counts of the words in its cleaned text.

    The fields after `n_words` are set only if the row has enough words.

    Attributes
    ----------
    identity : str
        Id of the row.
    content : bytes
        Digest of the row's values (`content_of`).
    time : int
        Milliseconds since 1970.
    n_words : int
        Number of tokens in the text.
    topics : tuple of str
    counts : tuple
        Distinct token numbers, and the count of each.
    passages : tuple
        Result of `odl.text.shingles.count_words` for the text.
    removed : list of int
        Number of characters that each cleaner removed.
    title, url, author, source : str
    facets : str
        A JSON object (`facets_of`).
    excerpt : str
        Beginning of the cleaned text.
    shingle_words : bytes
        Digests of the words (`odl.text.shingles.Shingler.words`).
    vector : ndarray or None
    """

    identity: str
    content: bytes
    time: int
    n_words: int
    topics: tuple = ()
    counts: tuple = ((), ())
    passages: tuple = ({}, {})
    removed: tuple = ()
    title: str = ""
    url: str = ""
    author: str = ""
    source: str = ""
    facets: str = ""
    excerpt: str = ""
    shingle_words: bytes = b""
    vector: np.ndarray | None = None


# Field of `ParsedRow` -> field of `Documents`. An optional field is omitted if it is empty for all
# documents.
REQUIRED_FIELDS = {"topics": "topics", "title": "titles"}
OPTIONAL_FIELDS = {"url": "urls", "author": "authors", "source": "sources", "facets": "facets"}


class Collection:
    """Collector of documents, with the parts that the options select.

    Parameters
    ----------
    options : dict
        Checked options of `read`.

    Attributes
    ----------
    counted : Tally
        Words of the documents.
    cleaner : Cleaning
        Numbers of characters removed from the documents.
    meaning, shingler, splitter : Encoder, Shingler and Splitter, or None
        Vectors, shingles and passages of the documents, if the options select them.
    n_dimensions : int or None
        Length of the vectors.
    """

    def __init__(self, options):
        self.columns, self.parser = columns_of(options), Parser(options)
        self.min_words = options.get("min_words", 0)
        self.excerpt_length = options.get("keep_text", 0)
        self.counted = Tally(options.get("tokens"))
        self.cleaner = cleaning.Cleaning(options.get("clean"))
        self.meaning = encoder.encoder_of(options.get("vectors"))
        if self.meaning and "vector" in self.columns:
            raise ConfigError(
                "vectors and columns.vector are both set",
                "vectors of an encoder, or a column of vectors",
                "remove vectors or columns.vector",
            )
        self.shingler = Shingler() if options.get("duplicates") else None
        self.splitter = Splitter() if self.cleaner.boilerplate else None
        self.changed = options.get("changed", "keep")
        self.forgotten = set(options.get("forgotten", ()))
        self.strict = options.get("strict", True)
        self.n_dimensions = None
        self._begin()

    def _begin(self):
        """Create the lists that grow with each document."""
        self.ids, self.dropped, self.aside = Register(self.changed), {}, []
        self.files, self.times = [], array("q")
        names = (*REQUIRED_FIELDS, *OPTIONAL_FIELDS, "excerpt", "vector")
        self.values = {name: [] for name in names}  # field of `ParsedRow` -> value of each document

    def restart(self):
        """Remove the documents; the known words are retained."""
        parts = self.counted, self.cleaner, self.meaning, self.shingler, self.splitter
        for part in filter(None, parts):
            part.restart()
        self._begin()

    def add_file(self, name, path, form):
        """Add all documents in a file.

        A document that cannot be read is set aside, or raises DataError if ``strict`` is true.
        """
        kind = form.kind_of(path)
        for location, row, with_ids in documents_in(name, path, form, self.columns, self.strict):
            if isinstance(row, Unreadable):
                self.aside.append(setaside.aside(name, location, row))
                continue
            try:
                self.add_row(name, location, row, with_ids, kind)
            except (ValueError, OverflowError, RecursionError) as error:
                if self.strict and isinstance(error, ConfigError):  # an option is wrong, not a row
                    raise
                if self.strict:
                    raise _refusal(path, location, error) from error
                self.aside.append(setaside.aside(name, location, error))

    def add_row(self, name, location, row, with_ids, kind=None):
        """Add one document. A wrong field raises ValueError before the collection is changed.

        Parameters
        ----------
        name, kind : str
            Name and kind of its file.
        location, row, with_ids
            As `documents_in` yields them.

        Returns
        -------
        ParsedRow or None
            None if the row is omitted because it occurred before or is among ``forgotten``.
        """
        check_id(row, with_ids, kind)
        identity, content = identity_of(row, name, location), content_of(row)
        if self.forgotten and forgotten_as(identity) in self.forgotten:
            return None
        known_as = self.ids.name(identity, content)
        if known_as is None:
            return None
        text, parsed = self._parse(row, identity, content, kind)
        if self._add(known_as, parsed, name) and self.meaning is not None:
            self.meaning.add(text)
        return parsed

    def _parse(self, row, identity, content, kind):
        """Parse the values of a row, clean its text and count its words.

        Returns (cleaned text, `ParsedRow`). ValueError is raised if a value is wrong. `row` maps
        roles to values, `identity` and `content` are fields of `ParsedRow`, `kind` is that of the
        row's file.
        """
        values = self.parser.parse(row, kind)
        text, removed = "", [0] * len(self.cleaner.names)
        if values.counts is None:
            text, removed = self.cleaner.apply(values.text)
        counts, passages = self._count(values.counts, text)
        vector, n_words = self._vector(row), sum(counts[1])
        if n_words < self.min_words:
            return text, ParsedRow(identity, content, values.time, n_words)
        title = row.get("title")
        if self.excerpt_length and fields.missing(title) and "headers" in self.cleaner.names:
            title = subject_of(row.get("text"))
        title = text if fields.missing(title) else without_ansi(str(title))
        return text, ParsedRow(
            identity=identity,
            content=content,
            time=values.time,
            n_words=n_words,
            topics=values.topics,
            counts=counts,
            passages=passages,
            removed=removed,
            title=one_line(clean(title)),
            url=fields.parse_url(row.get("url")),
            author=fields.parse_author(row.get("author")),
            source=fields.parse_source(row.get("source")),
            facets=facets_of(row),
            excerpt=one_line(clean(text), self.excerpt_length) if self.excerpt_length else "",
            shingle_words=self.shingler.words(text) if self.shingler is not None else b"",
            vector=vector,
        )

    def _count(self, word_counts, text):
        """Count the words of a document, from the counts in its row or else in its text.

        Returns ((word numbers, counts), passages as in `ParsedRow`).
        """
        if word_counts is not None:
            numbers = [self.counted.numbers[word] for word in word_counts]
            return (numbers, word_counts.values()), ({}, {})
        if self.splitter is None:
            return self.counted.count(text), ({}, {})
        counts, *passages = count_words(text, self.counted.count)
        return (counts.keys(), counts.values()), passages

    def _add(self, known_as, row, file):
        """Register a parsed row under an id, and add it as a document if it has enough words.

        Returns whether it was added. A row with too few words is listed in `dropped`.
        """
        self.ids.enter(known_as, row.content)
        if row.n_words < self.min_words:
            self.dropped[known_as] = (row.time, row.n_words)
            return False
        self.cleaner.count(row.removed)
        if self.shingler is not None:
            self.shingler.add_words(row.shingle_words)
        self.files.append(file)
        self.times.append(row.time)
        for name, values in self.values.items():
            values.append(getattr(row, name))
        if self.splitter is not None:
            self.splitter.add(*row.passages)
        self.counted.add(*row.counts)
        return True

    def sibling(self, numbers):
        """Return an empty collection with the same options, for rows that were parsed elsewhere.

        Rows are added by `add_parsed`. `numbers` maps words to the numbers in these rows.
        """
        other = copy(self)
        other.counted = self.counted.sibling(numbers)
        for name in ("cleaner", "meaning", "shingler", "splitter"):
            if part := copy(getattr(self, name)):
                part.restart()
                setattr(other, name, part)
        other._begin()
        return other

    def add_parsed(self, row, file):
        """Add a row that another collection with the same options has parsed.

        Parameters
        ----------
        row : ParsedRow
            With its vector, if there are vectors.
        file : str
            Name of its file.
        """
        known_as = self.ids.name(row.identity, row.content)
        if known_as is not None and self._add(known_as, row, file) and self.meaning is not None:
            self.meaning.add_vector(row.vector)

    def _vector(self, row):
        """Return the vector of a row; None if vectors are not read."""
        if "vector" not in self.columns:
            return None
        if row.get("vector") in (None, ""):
            raise ValueError("it has no vector")
        vector = fields.parse_vector(row["vector"], self.n_dimensions)
        self.n_dimensions = len(vector)
        return vector

    def finish(self):
        """Return the documents; raise DataError if none has a token."""
        documents = self.documents()
        check_held(documents, {"min_words": self.min_words}, len(documents.vocabulary))
        return documents

    def documents(self):
        """Return the documents, with the vocabulary sorted."""
        ids = [identity for identity in self.ids.contents if identity not in self.dropped]
        counts, vocabulary = self.counted.matrix()
        vectors = self.meaning.vectors() if self.meaning else None
        if "vector" in self.columns and ids:
            vectors = np.array(self.values["vector"])
        if vectors is not None:
            self.n_dimensions = vectors.shape[1]
        passages, dropped = None, None
        if self.splitter is not None:
            passages = self.splitter.passages(self.counted.columns(vocabulary), len(vocabulary))
        if self.min_words:
            numbers = np.array(list(self.dropped.values()), dtype=np.int64).reshape(-1, 2)
            dropped = Dropped(list(self.dropped), times=numbers[:, 0], words=numbers[:, 1])
        optional = {name: self.values[name] for name in OPTIONAL_FIELDS if any(self.values[name])}
        return Documents(
            counts=counts,
            vocabulary=vocabulary,
            ids=ids,
            times=np.array(self.times),
            files=self.files,
            **{REQUIRED_FIELDS[name]: self.values[name] for name in REQUIRED_FIELDS},
            **{OPTIONAL_FIELDS[name]: values for name, values in optional.items()},
            removed=self.cleaner.removed(),
            dropped=dropped,
            shingles=self.shingler.matrix() if self.shingler is not None else None,
            passages=passages,
            repeats=self.ids.repeats(),
            vectors=vectors,
            texts=self.values["excerpt"] if self.excerpt_length else [],
            aside=self.aside,
        )


def facets_of(row):
    """Return the facet values in a row as a JSON object (column -> value), or "" without facets.

    Examples
    --------
    >>> from odl.corpora.collection import facets_of
    >>> facets_of({"id": "a", "facets airline": "JetBlue", "facets gate": None})
    '{"airline": "JetBlue"}'
    """
    facets = {}
    for role, value in row.items():
        if role.startswith(FACET_ROLE) and not fields.missing(value):
            text = ", ".join(map(str, value if isinstance(value, list) else [value]))
            name = role.removeprefix(FACET_ROLE)
            facets[name] = one_line(clean(without_ansi(text)), FACET_CHARACTERS)
    return json.dumps(facets, ensure_ascii=False) if facets else ""


def subject_of(text):
    """Return the subject of a text that begins with the headers of a message, else None."""
    header = text.lstrip().split("\n\n", 1)[0] if isinstance(text, str) else ""
    return match[1].strip() if (match := SUBJECT_LINE.search(header)) else None


def check_held(documents, options, n_terms):
    """Raise DataError if no document has a token; the message names the most likely cause."""
    if not len(documents) and not documents.dropped and documents.aside:
        file, place, reason = documents.aside[0]
        location = f"{file} {place}" if place else file
        raise DataError(
            f"no document can be read; the first error is in {location}: {reason}",
            "at least one readable document",
            "correct the files, or the options of the reader",
        )
    n_dropped = len(documents.dropped.ids) if documents.dropped else 0
    if not n_terms and n_dropped:
        n_all, min_words = len(documents) + n_dropped, options["min_words"]
        raise DataError(
            f"all {n_all} documents have fewer than {min_words} words",
            f"documents with at least {min_words} words",
            "lower min_words, or remove entries from the option clean",
        )
    if not n_terms:
        raise DataError(
            f"none of the {len(documents)} documents contains a token",
            "texts that match the pattern of tokens, or counts",
            "set tokens.pattern to fit the script of the texts",
        )


def check_first_row(path, row, columns):
    """Refuse a file whose first row has neither text nor counts."""
    expected_names = names_of(columns.get("text")) + names_of(columns.get("counts"))
    if any(name in row for name in expected_names):
        return
    hints = [hint for name in expected_names if (hint := nearest(name, row))]
    expected = " or ".join(f"a column {name!r}" for name in expected_names)
    raise DataError(
        f"{path} has the columns {_join_names(row)}{hints[0] if hints else ''}",
        expected or "a column of text or counts",
        delimiter_of(row) or "rename a column, or set columns.text or columns.counts",
    )


def check_columns_seen(path, seen, columns):
    """Raise DataError if a file lacks a column that the options name.

    A column with the default name may be missing, unless the file has a column whose name differs
    only in case or outer white space, which would be ignored.

    Parameters
    ----------
    path : path-like
    seen : collection of str
        Columns of the file.
    columns : dict
        Role -> name of its column, or list of names.
    """
    names_and_roles = [(name, role) for role in columns for name in names_of(columns[role])]
    for name, role in names_and_roles:
        if name in seen:
            continue
        is_similar = any(str(other).strip().lower() == name.lower() for other in seen)
        if is_similar or name != DEFAULT_COLUMNS.get(role):
            hint = nearest(name, seen)  # such as " (nearest: 'Text')", or ""
            raise DataError(
                f"{path} has the columns {_join_names(seen)}{hint}",
                f"a column {name!r}",
                f"rename the column in the file, or set columns.{role} to its name",
            )


def _join_names(names):
    """Return the first 20 names, sorted, for a message."""
    names = sorted(str(name) for name in names)
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
