"""``odl init``: inspect a user's files, and write a folder with the resulting configuration."""

import glob
import os
import random
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import time_ns

from odl.cli import columns as roles
from odl.cli import filekinds, preparation
from odl.config import places, project
from odl.config.chains import refuse_names
from odl.corpora import collection, fields, formats
from odl.corpora.checks import Unreadable
from odl.corpora.encodings import check_encoding
from odl.corpora.times import check_formats
from odl.errors import ConfigError, DataError
from odl.files import atomic, listing, setaside, storage
from odl.files.documents import NO_REPEATS, NO_TIME, Repeats
from odl.files.listing import CATEGORY

CONFIG_FILE, SNAKEFILE, PROFILE = project.FILE, "Snakefile", "profiles/default/config.yaml"
SNAKEMAKE_FILES = {SNAKEFILE: places.FOLDER_SNAKEFILE, PROFILE: places.PROFILE}
MAX_SURVEYED_ROWS = 200_000  # maximum number of rows that are inspected
MAX_SAMPLED_TEXTS = 2000  # maximum number of texts from which settings are chosen
DAY_MS = 86_400_000  # milliseconds per day
UNTIMED = (
    "no times such as 2026-03-01 (in logs, 2026-03-01T08:00:00); the order is that of the files; "
    "--time-format sets the format of times, and --times modified uses the modification time of "
    "each file instead of missing times"
)
KEEP_TEXT = 2000  # number of characters of a text that are stored
KIND_LABELS = {
    **{kind: kind for kind in listing.KINDS},
    "jsonl": "JSONL",
    "csv": "CSV",
    "parquet": "Parquet",
}
MAX_ASIDE_SHARE = 0.2  # largest share of documents that may be set aside
MAX_REASONS = 3  # maximum number of reasons in a message
INIT_OPTIONS = {  # advice about odl.yaml in a message -> corresponding advice about odl init
    "set options.quoted: false": "add --unquoted",
    "set the option encoding, such as [": "add --encoding, such as [",
    "set the option encoding to": "add --encoding",
    "set the option dates to": "add --dates",
    "set the option delimiter, such as delimiter:": "add --delimiter",
    "set columns.text or columns.counts": "name it with --text",
    "set the option kind": "add --kind",
}
# Value in a reason. Reasons that differ only in such values are counted together.
VALUE_IN_REASON = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
MAX_AUTHOR_SHARE = 0.1  # if one author wrote a larger share of the documents, authors are not read
# Smallest share of texts that do not contain their titles for which titles are added to texts.
MIN_TITLE_SHARE = 0.5


def write(folder, sources, answers, force=False, snakemake=False):
    """Inspect documents and write a folder for `odl run` or Snakemake.

    Parameters
    ----------
    folder : path-like
        Folder to write; it is created if it does not exist.
    sources : list of str
        Files, folders and patterns. If empty, the files in the folder.
    answers : dict
        Choices of the user (`survey`).
    force : bool
        Whether to replace existing configuration files.
    snakemake : bool
        Whether Snakemake will run the folder.

    Returns
    -------
    Survey

    Raises
    ------
    OdlError
        If the folder is configured already, or the sources cannot be used.
    """
    folder = Path(folder)
    path = folder / CONFIG_FILE
    if path.exists() and not force:
        raise ConfigError(
            f"{path} exists", "a separate folder for each stream", "type --force to replace it"
        )
    if not sources and folder.is_file():
        todo = f"type odl init . {folder} to write odl.yaml into the current folder"
        raise ConfigError(f"{folder} is a file", "a folder, then the files of your documents", todo)
    if not sources and not folder.is_dir():
        raise ConfigError(
            f"no files are named, and the folder {folder} does not exist",
            "the files of your documents",
            f"name them, as in odl init {folder} posts/*.jsonl",
        )
    try:
        report = survey(list(sources) or [str(folder)], answers)
    except DataError as error:  # odl.yaml does not exist yet, so the advice is about odl init
        raise DataError(
            _name_init_options(error.given), error.expected, _name_init_options(error.todo)
        ) from error
    files = listing.find_files(report.sources, report.options.get("kind"))
    if snakemake:
        refuse_names([_from(folder, path) for _, path in files], wildcards=True)
    contents = {CONFIG_FILE: text(report, project.name_of(folder.resolve().name), folder)}
    contents[project.SCHEMA_COPY] = project.SCHEMA.read_text(encoding="utf-8")
    if snakemake:
        contents[CONFIG_FILE] += f"{project.DRIVER}: snakemake\n"
        contents |= {
            name: path.read_text(encoding="utf-8") for name, path in SNAKEMAKE_FILES.items()
        }
    atomic.refuse_links(folder)
    _write(folder, contents)
    return report


def text(report, name, folder):
    """Return the content of odl.yaml for a `Survey`, with the name of the study."""
    size = f"{report.n_documents:,} document{'s' * (report.n_documents != 1)}"
    size += f", {report.span}" if report.span else ""
    lines = [
        project.SCHEMA_LINE,
        f"# {size}. All keys are described in config/README.md of odl.",
        f"study: {name}",
        f"sources: {_flow([_from(folder, source) for source in report.sources])}",
        f"options: {_flow(report.options)}",
        *([f"ties: {report.ties}"] if report.ties else []),
        f"batches: {_flow(report.batches)}",
        *([f"features: {_flow(report.features)}"] if report.features else []),
        "learners: {levels: {recency: 0.5}}",
        "alerts: {gates: true, rest: true, unseen: 3}",
    ]
    return "\n".join(lines) + "\n"


def _from(folder, source):
    """Return a path or pattern relative to a folder, or absolute if they share only the root."""
    here, folder = os.getcwd(), os.path.abspath(folder)
    if not os.path.exists(source):  # a pattern
        here, folder = glob.escape(here), glob.escape(folder)
    source = os.path.normpath(os.path.join(here, source))
    shares_only_root = os.path.commonpath([source, folder]) == os.sep
    return source if shares_only_root else os.path.relpath(source, folder)


def _flow(value):
    """Return a value as YAML text on one line."""
    import yaml

    return yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1 << 20
    ).strip()


def _write(folder, contents):
    """Write temporary files, and rename them when all are complete, odl.yaml last."""
    with ExitStack() as stack:
        for name, content in contents.items():
            temporary = stack.enter_context(storage.replacing(folder / name))
            Path(temporary).write_text(content, encoding="utf-8")


@dataclass
class Survey:
    """Settings that were chosen for a user's files, and the reasons.

    Parameters
    ----------
    sources : list of str
        Sources, relative to the working directory.
    options : dict
        Options of the reader `odl.corpora.collection` that differ from the default.
    batches, features : dict
        Settings that differ from the default.
    n_documents : int
        Number of documents that were inspected.
    repeats : odl.files.documents.Repeats
        Number of rows with a repeated id.
    span : str
        First and last day; "" without times.
    ties : str, optional
        "source" if the documents have no times, so that they keep the order of the files.
    lines : list of (str, str)
        Lines of the printed report: a label, and a phrase about the choice and its reason.
    """

    sources: list
    options: dict = field(default_factory=dict)
    batches: dict = field(default_factory=dict)
    features: dict = field(default_factory=dict)
    n_documents: int = 0
    repeats: Repeats = NO_REPEATS
    span: str = ""
    ties: str | None = None
    lines: list = field(default_factory=list)

    def say(self, label, why):
        """Add a line to the printed report."""
        self.lines.append((label, why))

    def set(self, option, value, why=""):
        """Set an option unless the value is None; add a line to the report if there is a reason."""
        if value is not None:
            self.options[option] = value
        if why:
            self.say(option, why)


def survey(sources, answers):
    """Inspect the files of a user and choose settings for them.

    Parameters
    ----------
    sources : list of str
        Files, folders and patterns.
    answers : dict
        Choices of the user. Other settings are chosen by the content of the files. Keys are the
        roles of `odl.cli.columns.ROLE_NAMES`, the reader's options kind, delimiter, encoding, dates
        and times, and stop_words, period, only (ignore later files), meaning (use vectors in
        addition to words) and strict (refuse documents that cannot be read).

    Returns
    -------
    Survey

    Raises
    ------
    OdlError
        If no configuration is possible. The message names an option that helps.
    """
    answers = {name: value for name, value in answers.items() if value is not None}
    named, kind = filekinds.find(sources, answers.get("kind"), answers.get("only", False))
    report = Survey(named)
    files = [
        (name, path) for name, path in listing.find_files(named, kind) if listing.is_utf8(path)
    ]
    report.set("kind", kind)
    _sources(report, files, sources)
    _encoding(report, files, answers)
    _years(report, files, answers)
    report.set("time_format", answers.get("time_format"))
    columns, categories, unclear_times, n_table_rows, sample = _read(report, files)
    if columns:
        _columns(report, columns, n_table_rows, answers)
        _join_titles(report, sample, answers)
    else:
        _categories(report, categories, answers.get("topics"))
    _authors(report, sample, answers)
    if not report.options.get("columns", True):
        del report.options["columns"]
    if not report.options.get("dates"):
        dates, why = roles.date_form(unclear_times, answers.get("dates"))
        report.set("dates", dates, why if dates else "")
    times = _times(report, files, answers)
    _words(report, _texts(report, sample), len(times), answers)
    report.batches, why = preparation.batches_of(times, answers.get("period"))
    report.say("batches", why)
    if report.span and report.batches.get("by") != "period":
        report.options["needs_time"] = True
    return report


def _sources(report, files, sources):
    """Report the files that are read, and the files of the sources that are not."""
    named, kind = report.sources, report.options.get("kind")
    kinds = Counter(kind or listing.kind_in(path) for _, path in files)
    report.say(
        "files",
        ", ".join(f"{n} {KIND_LABELS[name]} file{'s' * (n > 1)}" for name, n in kinds.items()),
    )
    report.say("sources", filekinds.account(sources, named))
    if siblings := filekinds.unread_siblings(named, kind):
        report.say("not read", filekinds.unread(siblings))
    not_utf8 = filter(os.path.isfile, listing.not_utf8(sources, kind))
    if left_out := filekinds.left_out([*named, *not_utf8], kind):
        report.say("left out", left_out)


def _words(report, texts, n_documents, answers):
    """Set the options and features that depend on the words of the texts."""
    stop_words, report.features, why = preparation.stop_words_of(texts, answers.get("stop_words"))
    tokens = report.options["tokens"] = preparation.tokens_of(texts, stop_words)
    report.say("language", why)
    shares = preparation.cleaners_of(texts)
    report.set("clean", list(shares) or None, preparation.sentence(shares))
    weights, why = preparation.pieces_of(texts, tokens, shares, n_documents)
    report.features |= weights
    if weights:
        report.say("pieces", why)
    options, weights, why = preparation.meaning_of(texts, tokens, answers.get("meaning", False))
    report.options |= options
    report.features |= weights
    if why:
        report.say("meaning", why)
    if "encoded" in shares:  # a text that is entirely encoded has no words after cleaning
        why = "1; documents without words after cleaning are left out and counted"
        report.set("min_words", 1, why)
    report.set("duplicates", True)
    if texts:
        why = (
            f"the first {KEEP_TEXT:,} characters of each text are stored in results/ to show "
            "passages; options.keep_text: 0 stores titles only"
        )
        report.set("keep_text", KEEP_TEXT, why)


def _years(report, files, answers):
    """Set the option ``times``, the source of times of texts and of years of logs.

    Without a choice of the user, it is set if the times of a log have no year. The years then
    follow from the modification times of the files.
    """
    times, kind = answers.get("times"), report.options.get("kind")
    report.set("times", times)
    is_chosen = times or answers.get("time_format")
    encoding = report.options.get("encoding")
    yearless = None if is_chosen else filekinds.yearless(files, kind, encoding)
    if yearless:
        path, first = yearless
        if any((kind or listing.kind_in(path)) == "text" for _, path in files):
            todo = "--times modified uses the modification time of each file for logs and texts"
            report.say("years", f"missing in the times of {path} (first: {first!r}); {todo}")
        else:
            why = (
                "from the date in the name of each file, or else from its modification time, "
                f"because {path} has times without a year, such as {first!r}"
            )
            report.set("times", "modified")
            report.say("years", why)


def _encoding(report, files, answers):
    """Set the encoding of text files, and the delimiter and quoting of tables."""
    kind, why = report.options.get("kind"), ""
    if "encoding" in answers:
        names = [name.strip() for name in answers["encoding"].split(",")]
        encoding = names if len(names) > 1 else names[0]
    else:
        encoding, why = filekinds.encoding_of(files, kind)
    check_encoding(encoding or "utf-8")
    report.set("encoding", encoding, why)
    if "delimiter" in answers:
        report.set("delimiter", answers["delimiter"].replace("\\t", "\t"))
    elif separated := filekinds.delimiter_of(files, kind, encoding):
        report.say("delimiter", separated)
    if answers.get("unquoted"):
        report.set("quoted", False, "no: quotation marks are part of the text, as requested")
    elif path := filekinds.find_unquoted(files, report.options):
        why = f"no: quotation marks are part of the text, as in {path}"
        report.set("quoted", False, why)


def _rows(report, files):
    """Yield (path of the table or None, row) for each readable row, up to `MAX_SURVEYED_ROWS` rows.

    Raises
    ------
    DataError
        If a file cannot be read and no file has a row.
    """
    form, n_rows, first_error = collection.form_of(report.options), 0, None
    for name, path in files:
        table = path if form.kind_of(path) in listing.TABULAR else None
        try:
            for _, row in formats.rows(path, form, name):
                n_rows += 1
                if n_rows > MAX_SURVEYED_ROWS:
                    return
                if not isinstance(row, Unreadable):
                    yield table, row
        except DataError as error:  # if other files have rows, `_check_aside` reports the file
            first_error = first_error or error
    if first_error and not n_rows:
        raise first_error


def _read(report, files):
    """Read the rows of the files once; store the number of different rows in the report.

    Returns
    -------
    columns : dict of str to odl.cli.columns.Column
        Columns of the tables by name.
    categories : odl.cli.columns.Column
        Categories in the feeds.
    times : odl.cli.columns.Column
        Dates in mail, feeds and logs in which day and month may have either order, such as 1/2/26.
        Each date occurs once.
    n_table_rows : int
        Number of different rows in the tables.
    sample : list of (path of a table or None, row)
        At most `MAX_SAMPLED_TEXTS` rows, drawn at random with a fixed seed.
    """
    columns, categories, times = {}, roles.Column(CATEGORY), roles.Column("time")
    hashes, days, n_table_rows = set(), set(), 0
    sample, draw = [], random.Random(0)
    for table, row in _rows(report, files):
        if (key := hash(repr(row))) in hashes:  # overlapping exports repeat rows
            continue
        hashes.add(key)
        if table:
            n_table_rows += 1
            for name, value in row.items():
                columns.setdefault(str(name), roles.Column(str(name))).add(value, table)
        else:
            for name in row.get(CATEGORY, ()):
                categories.add(name)
            date = fields.year_last(row.get("time") or "")
            if date and date[0] not in days and not report.options.get("time_format"):
                days.add(date[0])
                times.add(row["time"])
        # Reservoir sampling: each row so far is in the sample with the same probability.
        if len(hashes) <= MAX_SAMPLED_TEXTS:
            sample.append((table, row))
        elif (index := draw.randrange(len(hashes))) < MAX_SAMPLED_TEXTS:
            sample[index] = (table, row)
    report.n_documents = len(hashes)
    return columns, categories, times, n_table_rows, sample


def _columns(report, columns, n_rows, answers):
    """Choose the columns of the roles, and set those that the reader would not use by default."""
    chosen = {role: answers[role] for role in roles.ROLE_NAMES if role in answers}
    time_formats = check_formats(report.options.get("time_format"))
    fitting = roles.choose(columns, n_rows, chosen, time_formats)
    written = {}
    for role, (column, why) in fitting.items():
        name = column.name if column else None
        usual = collection.DEFAULT_COLUMNS.get(role)
        alike = any(other.strip().lower() == role for other in columns)
        if name != usual and (name or (usual and alike)):
            written[role] = name
        if role != "author":  # `_authors` reports the column of authors
            report.say(role, f"column {name!r}, {why}: {column.example()}" if column else why)
    dates, clock = fitting["time"][0], None
    if dates and "time" not in chosen and "time_format" not in report.options:
        clock = roles.clock_column(columns, dates)
    if clock:
        written["time"] = [dates.name, clock.name]
        report.say(
            "clock",
            f"column {clock.name!r}, added to the dates of {dates.name!r}: {clock.example()}",
        )
    report.set("columns", written or None)
    if dates:
        order, why = roles.date_form(dates, answers.get("dates"))
        report.set("dates", order)
        report.say("dates", why)


def _authors(report, sample, answers):
    """Set the column of authors, unless one author wrote a large share of all documents.

    With a column of authors, a word counts once per author in a period. This would hide the
    subjects of an author who writes many of the documents.
    """
    columns = dict(report.options.get("columns", {}))
    column, answer = columns.pop("author", None), answers.get("author")
    names = [fields.parse_author(row.get(column if table else "author")) for table, row in sample]
    counts = Counter(filter(None, names))
    if answer == "" or (answer is None and counts.total() * 2 <= len(names)):
        report.options |= {"columns": columns}
        return
    (first, largest), column = counts.most_common(1)[0] if counts else ("", 0), column or "author"
    is_column = any(table for table, _ in sample)
    where = f"column {column!r}" if is_column else "authors of mail and feeds"
    if answer is None and largest > MAX_AUTHOR_SHARE * counts.total():
        why = (
            f"{where}, but not read: {first!r} wrote {largest / counts.total():.0%}, "
            "and would count once per period"
        )
        report.say("author", f"{why} (--author {column} reads it)")
        report.options |= {"columns": columns}
    else:
        report.set("columns", columns | {"author": column})
        numbers = f"{len(counts):,} in {counts.total():,} documents"
        report.say("author", f"{where}, {numbers}; each counts once per period")


def _join_titles(report, sample, answers):
    """Add titles to the texts if a share of at least `MIN_TITLE_SHARE` lacks its title."""
    columns = collection.columns_of(report.options)
    title, text = columns.get("title"), columns.get("text")
    pairs = [(_plain(row.get(title)), _plain(row.get(text))) for table, row in sample if table]
    pairs = [pair for pair in pairs if pair[0]]
    n_without_title = sum(heading not in body for heading, body in pairs)
    if "text" not in answers and pairs and n_without_title >= MIN_TITLE_SHARE * len(pairs):
        report.options["columns"] = {**(report.options.get("columns") or {}), "text": [title, text]}
        share = n_without_title / len(pairs)
        why = f"with the words of {title!r}, which {share:.0%} of the texts do not contain"
        report.say("text", why)


def _plain(value):
    """Return a text in lower case with single spaces; "" for other values."""
    return " ".join(value.lower().split()) if isinstance(value, str) else ""


def _categories(report, column, name):
    """Use the categories of feeds as topics if they are few, or if the user asks for it.

    Parameters
    ----------
    report : Survey
        Its options are changed, and a line about topics is added.
    column : odl.cli.columns.Column
        Categories of all feeds.
    name : str or None
        Value of --topics: `CATEGORY`, "" for no topics, or None to decide by the number of
        categories.

    Raises
    ------
    ConfigError
        If --topics has another value.
    """
    n = len(column.distinct)
    if name not in (None, "", CATEGORY):
        raise ConfigError(
            f"--topics is {name!r}", f"{CATEGORY!r} or '' for feeds", "correct the name"
        )
    # A topic has several documents. More categories than a third of the documents are not topics.
    has_few = 0 < n <= max(2, report.n_documents // 3)
    if name == CATEGORY or (name is None and has_few):
        report.options["columns"] = {"topics": CATEGORY}
        report.say(
            "topics",
            f"categories of the feeds, {n} different: {column.example()} (--topics '' uses none)",
        )
    elif n and name is None:
        report.say(
            "topics", f"none; {n} different categories are too many (--topics {CATEGORY} uses them)"
        )


def _documents(report, files):
    """Yield (file name, kind, place, row, with_ids) of at most `MAX_SURVEYED_ROWS` documents.

    The last three values are those of `odl.corpora.collection.documents_in`.
    """
    form, n_rows = collection.form_of(report.options), 0
    columns = collection.columns_of(report.options)
    for name, path in files:
        for document in collection.documents_in(name, path, form, columns, strict=False):
            n_rows += 1
            if n_rows > MAX_SURVEYED_ROWS:
                return
            yield name, form.kind_of(path), *document


def _times(report, files, answers):
    """Parse documents as `odl run` does, set the options that depend on ids and times.

    Documents that cannot be read are reported, and DataError is raised if they are too many. If
    some documents have a time, documents without a time count as unreadable.

    Returns
    -------
    list of int
        Time of each document in ms. All are `NO_TIME` if no document has a time.
    """
    parser = collection.Parser({"dates": answers.get("dates"), **report.options})
    ids, times = collection.Register(), []
    unreadable, untimed, todos = [], [], {}
    dated = []  # (text of a time, its milliseconds) of the first and the last document with a time
    for name, kind, place, row, with_ids in _documents(report, files):
        try:
            time = _parse(row, kind, with_ids, parser, ids)
        except (ValueError, OverflowError, RecursionError) as error:
            unreadable.append(setaside.aside(name, place, error))
            todos[unreadable[-1].reason] = Unreadable(error).todo
            continue
        if time is None:
            continue
        times.append(time)
        if time == NO_TIME:
            untimed.append(setaside.aside(name, place, collection.WITHOUT_TIME))
            todos[collection.WITHOUT_TIME] = collection.WITHOUT_TIME.todo
        else:
            dated = [*dated[:1], (row["time"], time)]
    if dated:
        unreadable, times = unreadable + untimed, [time for time in times if time != NO_TIME]
    n_readable = len(times) + len(ids.again)
    _check_aside(report, unreadable, todos, n_readable, answers.get("strict", False))
    report.n_documents, report.repeats = len(times), ids.repeats()
    if ids.contents:
        phrases = [str(report.repeats)] if any(report.repeats) else []
        phrases += [
            "if an id occurs twice, the first row is used",
            "options.changed: new also uses changed rows",
        ]
        report.set("changed", ids.changed, "; ".join(phrases))
    if dated:
        _report_times(report, times, dated)
    elif times:
        report.ties = "source"
        if kind not in listing.TABULAR:
            report.say("time", UNTIMED)
    return times


def _parse(row, kind, with_ids, parser, ids):
    """Parse a row and register its id; return its time in ms, or None if the row is a repetition.

    Raises
    ------
    ValueError, OverflowError, RecursionError
        If the row cannot be read.
    """
    if isinstance(row, Unreadable):
        raise ValueError(row)
    collection.check_id(row, with_ids, kind)
    content, identity = collection.content_of(row), None
    if not fields.missing(row.get("id")):
        identity = ids.name(fields.parse_id(row["id"]), content)
        if identity is None:
            return None
    time = parser.parse(row, kind).time
    if identity is not None:
        ids.enter(identity, content)
    return time


def _report_times(report, times, dated):
    """Report the first and the last day, implausible days, and how times were parsed.

    `dated` has examples of times: (text, milliseconds).
    """
    first, last = _day(min(times)), _day(max(times))
    report.span = f"{first} to {last}"
    if late := sum(time > time_ns() // 1_000_000 + DAY_MS for time in times):
        report.say(
            "to come",
            f"{late} of the dates, the last {last}; correct them, or the period of {last} remains "
            "the last period",
        )
    if early := sum(time < 0 for time in times):
        report.say("long ago", f"{early} of the dates are before 1970, the first {first}")
    report.say("read as", "; ".join(f"{str(value)!r} as {_second(time)}" for value, time in dated))


def _check_aside(report, aside, todos, n_readable, strict):
    """Report the documents that would be set aside, or refuse if they are too many.

    Parameters
    ----------
    report : Survey
    aside : list of odl.files.setaside.Aside
    todos : dict of str to str
        Reason -> advice.
    n_readable : int
        Number of documents that would not be set aside.
    strict : bool
        Whether to refuse if any document would be set aside.

    Raises
    ------
    DataError
    """
    if strict:
        report.set("strict", True)
    damaged, unread = [], []
    for entry in aside:
        if entry.place == setaside.DAMAGED_BUT_READ:
            damaged.append(f"{entry.reason} ({entry.file})")
        else:
            unread.append(entry)
    if damaged:
        note = f"; {len(damaged) - MAX_REASONS:,} more" if len(damaged) > MAX_REASONS else ""
        report.say("damaged", "; ".join(damaged[:MAX_REASONS]) + note)
    if not unread:
        return
    reasons = _frequent_reasons(unread)
    listed = "; ".join(phrase for _, phrase in reasons)
    account = setaside.account(unread).replace("was set", "is set").replace("were set", "are set")
    # Entries without a place are files. The number of documents in the unread end of a damaged file
    # is unknown.
    n_unread = sum(
        bool(entry.place) and not entry.place.startswith(setaside.REST_PREFIX) for entry in unread
    )
    n = n_readable + n_unread
    if strict or n_readable < 2 or n_unread > MAX_ASIDE_SHARE * n:
        raise DataError(
            f"{account}: {listed}",
            "no unreadable document (--strict)"
            if strict
            else f"at most {MAX_ASIDE_SHARE:.0%} of {n:,} documents",
            todos.get(reasons[0][0]) or "correct or remove them",
        )
    report.say("set aside", _name_init_options(f"{account} by odl run, which lists them: {listed}"))


def _frequent_reasons(aside):
    """Return (reason, phrase with number and first document) for the most frequent reasons."""
    groups = {}
    for entry in aside:
        groups.setdefault(VALUE_IN_REASON.sub("...", entry.reason), []).append(entry)
    reasons = []
    for entries in sorted(groups.values(), key=len, reverse=True)[:MAX_REASONS]:
        first = entries[0]
        location = " ".join(filter(None, (first.file, first.place)))
        reasons.append((first.reason, f"{first.reason} ({len(entries):,}, first {location})"))
    return reasons


def _name_init_options(text):
    """Return a message in which advice about odl.yaml is replaced by advice about `odl init`.

    For example, "set the option dates to" becomes "add --dates".
    """
    for option, answer in INIT_OPTIONS.items():
        text = text.replace(option, answer)
    return text


def _day(milliseconds):
    """Return the day (UTC) of a time in ms, such as "2026-03-01"."""
    return (fields.EPOCH + timedelta(milliseconds=milliseconds)).date().isoformat()


def _second(milliseconds):
    """Return a time in ms as text, such as "2026-03-01 08:00:00 UTC"."""
    return f"{fields.EPOCH + timedelta(milliseconds=milliseconds):%Y-%m-%d %H:%M:%S} UTC"


def _texts(report, sample):
    """Return the texts of the rows in a sample (`_read`)."""
    name = collection.columns_of(report.options).get("text")
    return [
        str(fields.join_pieces(collection.value_of(row, name if table else "text")) or "")
        for table, row in sample
    ]
