"""A person's own documents: text or term counts in tables (JSONL, CSV, Parquet), mail, feeds, or a text a file."""

import hashlib
import json
import re
from array import array
from collections import Counter
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
COLUMNS = {"id": "id", "time": "time", "text": "text", "counts": "counts", "topics": "topics", "title": "title"}
ROLES = (*COLUMNS, "url", "author", "vector")
COLUMN_LIST = {"type": ["string", "array", "null"], "items": {"type": "string"}, "minItems": 1}
OPTIONS = {
    "columns": closed(
        {role: {"type": ["string", "null"]} for role in ROLES}
        | dict.fromkeys(("time", "text"), COLUMN_LIST)
        | {"author": {"type": ["string", "null"], "earlier": None}}
    ),
    "separator": {"type": ["string", "null"], "minLength": 1},
    "delimiter": {"type": "string", "pattern": '[^"\\r\\n]'},
    "quoted": {"type": "boolean"},
    "encoding": encodings.SCHEMA,
    "dates": {"type": ["string", "null"], "enum": [None, *fields.DATES]},
    "time_format": {**times.FORMAT_SCHEMA, "earlier": None},
    "kind": {"type": ["string", "null"], "enum": [None, *listing.KINDS]},
    "times": {"type": ["string", "null"], "enum": [None, *formats.TIMES]},
    "tokens": TOKENS_SCHEMA,
    "clean": cleaning.SCHEMA,
    "min_words": {"type": "integer", "minimum": 0},
    "duplicates": {"type": "boolean"},
    "keep_text": {"type": "integer", "minimum": 0},
    "vectors": encoder.SCHEMA,
    "changed": {"type": "string", "enum": ["keep", "new"]},
    "forgotten": {"type": "array", "items": {"type": "string"}},
    "strict": {"type": "boolean", "earlier": False},  # of files in which all can be read, both give the same
    "needs_time": {"type": "boolean", "earlier": True},
}

OWN = {role: role for role in ROLES if role != "author"}  # of mail, feeds and texts, whose rows are ours
SUBJECT = re.compile(r"^Subject:[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
DAMAGE = {  # keys of rows of mail and feeds, and what they say
    "repaired": "items that are not XML, repaired",
    "replaced": "documents with bytes that fit no encoding, read as U+FFFD",
}
MAY_LACK_IDS = ("mail", "feed", "log")
WRONG_TIME = "correct it, or name another column (--time, columns.time) or how times are written (--time-format)"
WITHOUT_TIME = Unreadable("it has no time", "add them, or say where all have them: --times modified, or name")
OTHER_COLUMNS = (
    "correct them, or name another column (--text, columns.text); files of other columns need their own folder"
)
DIGEST = 16  # bytes of the digest of a row's content


def read(sources, options):
    """Read files and folders of documents.

    Parameters
    ----------
    sources : list of path-like
        Files, patterns, or folders of tables (`odl.files.listing`); what a file is follows from its name.
    options : dict
        ``columns`` (names of the columns id, time, text, counts, topics, title, url, author, vector; null for
        one that is not to be used; a name other than the default has to occur in tables; without a name url,
        author and vector are not read; with one, the authors of mail and feeds are read as well; text may be a
        list, whose texts follow one another; ``topics: category`` takes the categories of feeds as well),
        ``quoted`` (of CSV files: whether quotation marks may enclose a field; default true), ``separator`` between the
        topics of a string (default ";"; null for one topic a string), ``delimiter`` of CSV files (default ",", in .tsv
        files a tab), ``encoding`` (default utf-8; a list of two: the second for the bytes that the first does not fit),
        ``dates`` (day-first or month-first), ``time_format`` (format of strptime, or several, in which the times of
        tables and logs are written), ``kind`` (one of `odl.files.listing.KINDS`, whatever the files are called),
        ``times`` of texts (see `odl.corpora.formats`), ``tokens`` (see `odl.text.tokens`; for texts only),
        ``clean`` (which of `odl.text.cleaning.CLEANERS` go over the texts first; default none), ``min_words``
        (documents with fewer tokens are left out, and listed; default 0), ``duplicates`` (store the shingles of texts,
        by which `odl.stream.duplicates` tells near-duplicates; default false), ``keep_text`` (characters at the start
        of each cleaned text that are kept for the passage shown with an item; default 0), ``vectors`` (an encoder of
        the cleaned texts, see `odl.text.encoder`; default null), ``forgotten`` (digests of ids that are not to be read,
        `forgotten_as`), ``changed`` (what a row is whose id occurred before with other content: ``keep`` leaves it out,
        ``new`` makes it a document whose id ends in a digest of its content; default keep), ``strict`` (a document or
        file that cannot be read ends the reading; false sets it aside; default true, in an odl.yaml false),
        ``needs_time`` (a document without a time cannot be read; default false, in an odl.yaml with batches by period
        true).

    Returns
    -------
    Documents
        In the order of files and rows. A row has counts ({token: count}; in CSV as a JSON string)
        or else text. Without a column of ids, the id is file name and row, such as ``a.csv:12``.
        White space inside tokens becomes "_", inside ids and topics one space. Times as in
        `odl.corpora.fields.parse_time`. ``files`` are the file names. A row whose id and content occurred before is
        left out and counted in ``repeats``; ``aside`` lists what cannot be read.

    Raises
    ------
    ConfigError
        If an option is wrong.
    DataError
        If a file or row is, and the reading is strict; the message names both.
    """
    form, collection = form_of(options), Collection(options)
    for name, path in find_files(sources, form.kind):
        if collection.strict or listing.is_utf8(path):  # `odl run` names the others
            collection.add_file(name, path, form)
    return collection.finish()


def form_of(options):
    """Return the `odl.corpora.formats.Form` of options, which are checked."""
    check_options(READER, options, OPTIONS)
    encoding = encodings.check_encoding(options.get("encoding", "utf-8"))
    more = {name: options.get(name) for name in ("kind", "delimiter", "times")}
    formatted = times.check_formats(options.get("time_format"))
    return Form(encoding=encoding, quoted=options.get("quoted", True), time_formats=formatted, **more)


def columns_of(options):
    """Return role -> column name, or names, with the defaults; unused roles are left out."""
    columns = {**COLUMNS, **options.get("columns", {})}
    return {role: name for role, name in columns.items() if name is not None}


def own_columns(kind, columns):
    """Return role -> column of mail, texts and feeds; categories are topics, and authors read, if `columns` say so."""
    topics = {"topics": listing.CATEGORY} if kind == "feed" and columns.get("topics") == listing.CATEGORY else {}
    return OWN | topics | ({"author": "author"} if "author" in columns else {})


def names_of(column):
    """Return the names of a role's column, which may be several or none."""
    return column if isinstance(column, list) else [] if column is None else [column]


def value_of(row, column, between="\n"):
    """Return the value of a row in a column. Strings of several columns are joined; another value is returned alone."""
    if not isinstance(column, list):
        return row.get(column)
    values = [row[name] for name in column if not fields.missing(row.get(name))]
    wrong = next((value for value in values if not isinstance(value, str)), None)
    return wrong if wrong is not None else between.join(values) if values else None


def values_by_role(row, columns):
    """Return role -> value of a row. Texts of several columns are joined by line breaks, date and clock by a space."""
    return {role: value_of(row, column, " " if role == "time" else "\n") for role, column in columns.items()}


def documents_in(name, path, form, columns, strict=True):
    """Yield (place, row, with_ids) of each document of a file: the values by role, and whether it has to have an id.

    Parameters
    ----------
    name, path
        Of the file.
    form : odl.corpora.formats.Form
    columns : dict
        `columns_of` the options.
    strict : bool
        Whether a fault is raised. Otherwise the row is the fault, an `Unreadable`, of one document; of the rest of
        the file where its place begins with ``after``; of all of it where the place is empty; where the place is
        ``read``, it says how many documents are damaged but read.

    Raises
    ------
    DataError
        Of a fault, where the reading is strict.
    """
    kind, last, seen, with_ids, damaged = form.kind_of(path), "", set(), None, Counter()
    tabular = kind in listing.TABULAR
    columns = columns if tabular else own_columns(kind, columns)
    try:
        for place, row in rows(path, form, name):
            if isinstance(row, Unreadable):
                if strict:
                    raise _refusal(path, place, row)
                yield place, row, False
                last = place
                continue
            if with_ids is None:
                with_ids = columns.get("id") in row
                _check_header(path, kind, row, columns, strict)
            seen.update(row)
            if tabular and (fault := _without_text(row, columns)):
                if strict:
                    raise _refusal(path, place, fault)
                yield place, fault, False
                last = place
                continue
            damaged.update([] if tabular else row.keys() & DAMAGE.keys())
            roles = values_by_role(row, columns)
            yield place, roles, with_ids or not (strict or fields.missing(roles.get("id")))
            last = place
        if tabular and strict:
            check_columns_seen(path, seen, columns)
    except DataError as error:
        if strict:
            raise
        reason = f"{error.given.removeprefix(f'{path} ')}; expected {error.expected}"
        yield last and setaside.REST + last, Unreadable(reason), False
    for name in () if strict else sorted(damaged):
        yield setaside.READ, Unreadable(f"{DAMAGE[name]}: {damaged[name]:,}"), False


def _check_header(path, kind, row, columns, strict):
    """Refuse a file by the columns of its first row; where not strict, only if they are those of all rows."""
    if strict or kind in ("csv", "parquet"):
        check_first_row(path, row, columns)
    if not strict and kind in ("csv", "parquet"):
        needed = ("id", "time", "text", "counts", "vector")
        check_columns_seen(path, row, {role: name for role, name in columns.items() if role in needed})


def _without_text(row, columns):
    """Return what is wrong with a row that has no column for its text or counts, "" for nothing."""
    wanted = [name for role in ("text", "counts") for name in names_of(columns.get(role))]
    if any(name in row for name in wanted):
        return ""
    return Unreadable(f"it has neither {' nor '.join(wanted)}, but the columns {_listed(row)}", OTHER_COLUMNS)


def _refusal(path, place, reason):
    return DataError(f"{path} {place}: {reason}", "a readable document", "correct or remove it")


class Register:
    """The ids read so far, by which a row is told that occurs again.

    Parameters
    ----------
    changed : str
        What a row with other content than the first with its id is: "keep" leaves it out, "new" makes it a document.
    """

    def __init__(self, changed="keep"):
        self.changed, self.contents, self.again = changed, {}, []

    def name(self, identity, content):
        """Return the id that a row has as a document, None of one that is left out; `enter` takes note of it."""
        first = self.contents.get(identity)
        name = identity + name_end(content) if first not in (None, content) and self.changed == "new" else identity
        if name not in self.contents:
            return name
        self.again.append((identity, content))
        return None

    def enter(self, name, content):
        """Take note of a document."""
        self.contents[name] = content

    def repeats(self):
        """Return how many rows were left out."""
        n_changed = sum(self.contents[identity] != content for identity, content in self.again)
        n_changed = n_changed if self.changed == "keep" else 0
        return Repeats(len(self.again) - n_changed, n_changed)


def identity_of(row, name, place):
    """Return the id of a row: its own, or the name of its file and the number of its place there."""
    return f"{name}:{place.split()[-1]}" if fields.missing(row.get("id")) else fields.parse_id(row["id"])


class Values(NamedTuple):
    """Time and topics of a row, and its counts or its text; the other one is None."""

    time: int
    topics: tuple
    counts: dict | None
    text: str | None


class Parser:
    """The values of rows, by the options of the reader."""

    def __init__(self, options):
        self.names = names_of(columns_of(options).get("text", "text"))
        self.separator, self.needs_time = options.get("separator", ";"), options.get("needs_time", False)
        self.dates, self.time_formats = options.get("dates"), times.check_formats(options.get("time_format"))

    def parse(self, row, kind=None):
        """Return the `Values` of a row; raise ValueError if one is wrong."""
        formats = self.time_formats if kind is None or kind in listing.TABULAR else ()
        try:
            time = fields.parse_time(row.get("time"), self.dates, formats)
        except (ValueError, OverflowError) as error:
            raise ValueError(Unreadable(error, WRONG_TIME)) from error
        if self.needs_time and time == NO_TIME:
            raise ValueError(WITHOUT_TIME)
        topics = fields.parse_topics(row.get("topics"), self.separator)
        if not fields.missing(row.get("counts")):
            return Values(time, topics, fields.parse_counts(row["counts"]), None)
        if row.get("text") is None or row["text"] != row["text"]:
            raise ValueError(Unreadable(f"it has neither {' nor '.join(self.names)} nor counts", OTHER_COLUMNS))
        return Values(time, topics, None, fields.parse_text(row["text"]))


def check_id(row, with_ids, kind=None):
    """Raise ValueError for a row that lacks an id, or has one where the first row of its file has none."""
    if kind not in MAY_LACK_IDS and with_ids == fields.missing(row.get("id")):
        reason = "it has no id" if with_ids else "it has an id, but the first row has none"
        raise ValueError(Unreadable(reason, "correct them, or name another column (--id, columns.id)"))


def forgotten_as(identity):
    """Return the digest that a document that is not to be read is known by."""
    return hashlib.blake2b(identity.encode(), digest_size=DIGEST).hexdigest()


def name_end(content):
    """Return how the id of a document ends whose content differs from that of the first with its id."""
    return f"~{content.hex()[:8]}"


def content_of(row):
    """Return a digest of all that is read of a row but its id."""
    values = [value for role, value in row.items() if role != "id"]
    return hashlib.blake2b(json.dumps(values, default=str).encode(), digest_size=DIGEST).digest()


class Collection:
    """The documents read so far: counts in flat arrays, of texts as much as is asked for.

    Parameters
    ----------
    options : dict
        As of `read`, checked.
    """

    def __init__(self, options):
        self.columns, self.parser = columns_of(options), Parser(options)
        self.min_words, self.kept = options.get("min_words", 0), options.get("keep_text", 0)
        self.counted, self.cleaner = Tally(options.get("tokens")), cleaning.Cleaning(options.get("clean"))
        self.meaning = encoder.encoder_of(options.get("vectors"))
        if self.meaning and "vector" in self.columns:
            raise ConfigError("vectors and columns.vector at once", "one of them", "leave one out")
        self.shingler = Shingler() if options.get("duplicates") else None
        self.splitter = Splitter() if self.cleaner.boilerplate else None
        self.changed, self.forgotten = options.get("changed", "keep"), set(options.get("forgotten", ()))
        self.strict = options.get("strict", True)
        self.n_dimensions = None
        self._begin()

    def _begin(self):
        self.ids, self.dropped, self.aside = Register(self.changed), {}, []
        self.topics, self.titles, self.files, self.urls, self.texts, self.authors = [], [], [], [], [], []
        self.times, self.vectors = array("q"), []

    def restart(self):
        """Forget the documents, not the words that were met."""
        for part in filter(None, (self.counted, self.cleaner, self.meaning, self.shingler, self.splitter)):
            part.restart()
        self._begin()

    def add_file(self, name, path, form):
        """Append the documents of one file; set aside what cannot be read, or raise `DataError` where strict."""
        kind = form.kind_of(path)
        for place, row, with_ids in documents_in(name, path, form, self.columns, self.strict):
            if isinstance(row, Unreadable):
                self.aside.append(setaside.aside(name, place, row))
                continue
            try:
                self.add_row(name, place, row, with_ids, kind)
            except (ValueError, OverflowError, RecursionError) as error:
                if self.strict:
                    raise error if isinstance(error, ConfigError) else _refusal(path, place, error) from error
                self.aside.append(setaside.aside(name, place, error))

    def add_row(self, name, place, row, with_ids, kind=None):
        """Append one document; raise ValueError, before anything is changed, if a field is wrong."""
        check_id(row, with_ids, kind)
        identity, content = identity_of(row, name, place), content_of(row)
        if self.forgotten and forgotten_as(identity) in self.forgotten:
            return
        identity = self.ids.name(identity, content)
        if identity is None:
            return
        time, topics, counted, text = self.parser.parse(row, kind)
        taken, passages = [0] * len(self.cleaner.names), ({}, {})
        if counted is not None:
            text, counts = "", ([*map(self.counted.numbers.__getitem__, counted)], counted.values())
        else:
            text, taken = self.cleaner.apply(text)
            if self.splitter is None:
                counts = self.counted.count(text)
            else:
                whole, *passages = count_words(text, self.counted.count)
                counts = whole.keys(), whole.values()
        vector, n_words = self._vector(row), sum(counts[1])
        if n_words < self.min_words:
            self.dropped[identity] = (time, n_words)
            self.ids.enter(identity, content)
            return
        self.cleaner.count(taken)
        if self.shingler is not None:
            self.shingler.add(text)
        title = row.get("title")
        if self.kept and fields.missing(title) and "headers" in self.cleaner.names:
            title = subject_of(row.get("text"))
        self.titles.append(one_line(clean(text if fields.missing(title) else without_ansi(str(title)))))
        self.ids.enter(identity, content)
        self.times.append(time)
        self.topics.append(topics)
        self.files.append(name)
        self.urls.append(fields.parse_url(row.get("url")))
        self.authors.append(fields.parse_author(row.get("author")))
        if self.kept:
            self.texts.append(one_line(clean(text), self.kept))
        if vector is not None:
            self.vectors.append(vector)
        if self.meaning is not None:
            self.meaning.add(text)
        if self.splitter is not None:
            self.splitter.add(*passages)
        self.counted.add(*counts)

    def _vector(self, row):
        """Return the vector of a document, None where the column is not read."""
        if "vector" not in self.columns:
            return None
        if row.get("vector") is None or row["vector"] == "":
            raise ValueError("it has no vector")
        vector = fields.parse_vector(row["vector"], self.n_dimensions)
        self.n_dimensions = len(vector)
        return vector

    def finish(self):
        """Return the documents, of which there has to be one with a token."""
        documents = self.documents()
        check_held(documents, {"min_words": self.min_words}, len(documents.vocabulary))
        return documents

    def documents(self):
        """Return the documents, the vocabulary sorted by spelling."""
        ids = [identity for identity in self.ids.contents if identity not in self.dropped]
        counts, vocabulary = self.counted.matrix()
        vectors = self.meaning.vectors() if self.meaning else np.array(self.vectors) if self.vectors else None
        self.n_dimensions = vectors.shape[1] if vectors is not None else self.n_dimensions
        columns = self.counted.columns(vocabulary)
        return Documents(
            counts=counts,
            vocabulary=vocabulary,
            ids=ids,
            times=np.array(self.times),
            topics=self.topics,
            titles=self.titles,
            files=self.files,
            removed=self.cleaner.removed(),
            dropped=self._dropped() if self.min_words else None,
            shingles=self.shingler.matrix() if self.shingler is not None else None,
            passages=self.splitter.passages(columns, len(vocabulary)) if self.splitter is not None else None,
            urls=self.urls if any(self.urls) else [],
            authors=self.authors if any(self.authors) else [],
            repeats=self.ids.repeats(),
            vectors=vectors,
            texts=self.texts,
            aside=self.aside,
        )

    def _dropped(self):
        times, words = zip(*self.dropped.values(), strict=True) if self.dropped else ((), ())
        return Dropped(list(self.dropped), np.array(times, dtype=np.int64), np.array(words, dtype=np.int64))


def subject_of(text):
    """Return the subject of a message that is stored as a text with its header; None for another text."""
    header = text.lstrip().split("\n\n", 1)[0] if isinstance(text, str) else ""
    return match[1].strip() if (match := SUBJECT.search(header)) else None


def check_held(documents, options, n_terms):
    """Refuse documents without a single token."""
    if not len(documents) and not documents.dropped and documents.aside:
        first = documents.aside[0]
        fault = f"no document can be read; the first, {' '.join(filter(None, first[:2]))}: {first.reason}"
        raise DataError(fault, "documents that can be read", "correct the files, or the options of the reader")
    n_dropped = len(documents.dropped.ids) if documents.dropped else 0
    if not n_terms and n_dropped:
        fault = f"all {len(documents) + n_dropped} documents have fewer than {options['min_words']} words"
        raise DataError(fault, "longer documents", "lower min_words or clean less")
    if not n_terms:
        fault = f"none of the {len(documents)} documents holds a token"
        todo = "set tokens.pattern to fit the script of the texts"
        raise DataError(fault, "texts that the pattern of tokens fits, or counts", todo)


def check_first_row(path, row, columns):
    """Refuse a file whose first row has neither text nor counts."""
    wanted = [name for role in ("text", "counts") for name in names_of(columns.get(role))]
    if not any(name in row for name in wanted):
        hint = next((near for name in wanted if (near := nearest(name, row))), "")
        expected = " or ".join(f"a column {name!r}" for name in wanted) or "a column of text or counts"
        todo = delimiter_of(row) or "rename it, or set columns.text or columns.counts"
        raise DataError(f"{path} has the columns {_listed(row)}{hint}", expected, todo)


def check_columns_seen(path, seen, columns):
    """Refuse a file without a column that was asked for by name, or with a default name misspelt.

    A role under its default name is optional; a column that differs from it in case or outer white
    space only would be lost silently, so it is refused.
    """
    for role, name in ((role, name) for role, names in columns.items() for name in names_of(names)):
        if name in seen:
            continue
        alike = next((str(other) for other in seen if str(other).strip().lower() == name.lower()), None)
        if name != COLUMNS.get(role) or alike is not None:
            fault = f"{path} has the columns {_listed(seen)}{nearest(name, seen)}"
            raise DataError(fault, f"a column {name!r}", f"rename it, or set columns.{role}")


def _listed(names):
    names = sorted(str(name) for name in names)
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
