"""Looks at a person's files and says what it understood: kind, columns, dates, language, batches."""

import random
import re
from collections import Counter
from dataclasses import dataclass, field

from odl.corpora import documents, fields, stopwords, tables
from odl.corpora.encodings import check_encoding
from odl.corpora.feeds import CATEGORY
from odl.errors import ConfigError, DataError
from odl.files import listing
from odl.files.documents import NO_TIME
from odl.project import columns as roles
from odl.project import cutting, needs, sources

MOST = 200_000  # rows that are looked at
SAMPLE = 2000  # texts that are
WORD = re.compile(r"[^\W\d_]{2,}")
LABELS = {"jsonl": "JSONL", "csv": "CSV", "parquet": "Parquet", "mail": "mail", "feed": "feed", "text": "text"}
TABULAR = ("jsonl", "csv", "parquet")
KNOWN = 0.12  # share of a text's words that are stop words, from which its language counts as known
LONG = 5000  # characters of a text that its language is told by, so that no single one decides
DISTINCT = 3  # of its stop words that have to occur
TITLES = 0.5  # share of the texts from which on their titles count as missing in them


@dataclass
class Look:
    """What was found.

    Parameters
    ----------
    sources : list of str
        As an odl.yaml names them, from the working directory.
    options : dict
        Of the reader `odl.corpora.documents`; what is not needed is left out.
    batches : dict
    n_documents : int
    repeated : int
        Messages or items that occur once more, which are left out.
    span : str
        First and last day, "" where there are no times.
    said : list of (str, str)
        What was understood, and why.
    """

    sources: list
    options: dict = field(default_factory=dict)
    batches: dict = field(default_factory=dict)
    n_documents: int = 0
    repeated: int = 0
    span: str = ""
    said: list = field(default_factory=list)

    def say(self, what, why):
        """Add a line."""
        self.said.append((what, why))

    def set(self, option, value, why=""):
        """Set an option that is not the default, and say why."""
        if value is not None:
            self.options[option] = value
        if why:
            self.say(option, why)


def look(given_sources, given):
    """Look at files, folders or patterns.

    Parameters
    ----------
    given_sources : list of str
    given : dict
        What the person said: roles of `odl.project.columns.NAMES`; kind, delimiter, encoding, dates, times of the
        reader's options; stop_words, period. None or missing: to be found out. ``only``: true where files that come
        later are not to be read.

    Returns
    -------
    Look

    Raises
    ------
    OdlError
        In one sentence, with the option that would help.
    """
    given = {name: value for name, value in given.items() if value is not None}
    named, kind = sources.find(given_sources, given.get("kind"), given.get("only", False))
    found, files = Look(named), tables.find_files(named, kind)
    found.set("kind", kind)
    kinds = Counter(kind or listing.kind_of(path) for _, path in files)
    found.say("files", ", ".join(f"{n} {LABELS[one]} file{'s' * (n > 1)}" for one, n in kinds.items()))
    found.say("sources", sources.account(given_sources, named))
    if others := sources.beside(named, kind):
        found.say("not read", sources.unread(others))
    encoding, why = (_names(given["encoding"]), "") if "encoding" in given else sources.encoding_of(files, kind)
    check_encoding(encoding or "utf-8")
    found.set("encoding", encoding, why)
    if "delimiter" in given:
        found.set("delimiter", given["delimiter"].replace("\\t", "\t"))
    else:
        found.set("delimiter", *sources.delimiter_of(files, kind, encoding))
    found.set("times", given.get("times"))
    columns, categories, sample = _read(found, files)
    if columns:
        _columns(found, columns, given)
        _join_titles(found, sample, given)
    else:
        _categories(found, categories, given.get("topics"))
    times = _times(found, files, given)
    if found.repeated:
        found.say("repeated", f"{found.repeated} with an id that occurred before are left out")
    texts = _texts(found, sample)
    _language(found, texts, given.get("stop_words"))
    needs.choose(found, texts)
    found.batches, why = cutting.batches_of(times, given.get("period"))
    found.say("batches", why)
    return found


def _names(text):
    names = [name.strip() for name in text.split(",")]
    return names if len(names) > 1 else names[0]


def _rows(found, files):
    """Yield (path of a table or None, row) of the documents that are looked at."""
    form, seen, ids = documents.check_form(found.options), 0, set()
    found.repeated = 0
    for name, path in files:
        tabular, once = form.of(path) in TABULAR, form.of(path) in documents.REPEATED
        for _, row in tables.rows(path, form, name):
            if once and row.get("id") in ids:
                found.repeated += 1
                continue
            ids.update([row["id"]] if once and row.get("id") else [])
            seen += 1
            if seen > MOST:
                return
            yield path if tabular else None, row


def _read(found, files):
    """Return the columns of tables, the categories of feeds, and a sample of (path of a table or None, row)."""
    columns, sample, n_rows, draw = {}, [], 0, random.Random(0)
    categories = roles.Column(CATEGORY)
    for n, (table, row) in enumerate(_rows(found, files)):
        found.n_documents = n + 1
        n_rows += table is not None
        for name, value in row.items() if table else ():
            columns.setdefault(str(name), roles.Column(str(name))).add(value)
        for name in row.get(CATEGORY, ()) if not table else ():
            categories.add(name)
        if n < SAMPLE:
            sample.append((table, row))
        elif (place := draw.randrange(n + 1)) < SAMPLE:
            sample[place] = (table, row)
    for column in columns.values():
        column.n_rows = n_rows
    return columns, categories, sample


def _columns(found, columns, given):
    """Choose the columns, and write down those that the reader would not take by itself."""
    n_rows = next(iter(columns.values())).n_rows
    chosen = roles.choose(columns, n_rows, {role: given[role] for role in roles.NAMES if role in given})
    written = {}
    for role, (column, why) in chosen.items():
        name = column.name if column else None
        usual = documents.COLUMNS.get(role)
        alike = any(other.strip().lower() == role for other in columns)
        if name != usual and (name or (usual and alike)):
            written[role] = name
        found.say(role, f"column {name!r}, {why}: {column.example()}" if column else why)
    found.set("columns", written or None)
    if chosen["time"][0]:
        dates, why = roles.date_form(chosen["time"][0], given.get("dates"))
        found.set("dates", dates)
        found.say("dates", why)


def _join_titles(found, sample, given):
    """Count the words of titles as well, where texts do not hold them."""
    columns = documents.check_columns(found.options.get("columns"))
    title, text = columns.get("title"), columns.get("text")
    pairs = [(_plain(row.get(title)), _plain(row.get(text))) for table, row in sample if table]
    pairs = [(one, other) for one, other in pairs if one]
    apart = sum(one not in other for one, other in pairs)
    if "text" not in given and pairs and apart >= TITLES * len(pairs):
        found.options["columns"] = {**(found.options.get("columns") or {}), "text": [title, text]}
        found.say("text", f"with the words of {title!r}, which {apart / len(pairs):.0%} of the texts do not hold")


def _plain(value):
    return " ".join(value.lower().split()) if isinstance(value, str) else ""


def _categories(found, column, given):
    """Take the categories of feeds as topics where they are few, or the person says so."""
    n = len(column.distinct)
    if given not in (None, "", CATEGORY):
        raise ConfigError(f"--topics names {given!r}", f"{CATEGORY!r} or nothing for feeds", "correct it")
    if given == CATEGORY or (given is None and n and n <= max(2, found.n_documents // 3)):
        found.options["columns"] = {"topics": CATEGORY}
        found.say("topics", f"categories of the feeds, {n} different: {column.example()} (--topics '' goes without)")
    elif n and given is None:
        found.say("topics", f"none; {n} different categories are too many (--topics {CATEGORY} takes them)")


def _times(found, files, given):
    """Return the times of the documents that are looked at; refuse those that have some but not all."""
    columns = documents.check_columns(found.options.get("columns"))
    times, dates, checked = [], found.options.get("dates") or given.get("dates"), None
    for number, (table, row) in enumerate(_rows(found, files), start=1):
        if table != checked and table:
            documents.check_first_row(table, row, columns)
        checked = table
        value = row.get(columns.get("time") if table else "time")
        try:
            times.append(fields.parse_time(value, dates))
        except (ValueError, OverflowError) as error:
            raise DataError(f"document {number}: {error}", "a date", "correct it, or say --time for another") from error
    missing = times.count(NO_TIME)
    if 0 < missing < len(times):
        given = f"{missing} of {len(times)} documents have no time"
        raise DataError(
            given, "a time for all, or for none", "add them, say --times for texts, or leave time out: --time ''"
        )
    if times and not missing:
        found.span = " to ".join(_day(end(times)) for end in (min, max))
    return times


def _day(milliseconds):
    return (fields.EPOCH + fields.timedelta(milliseconds=milliseconds)).date().isoformat()


def _texts(found, sample):
    """Return the texts of the sample, and say how long they are."""
    name = documents.check_columns(found.options.get("columns")).get("text")
    texts = [str(documents.value_of(row, name if table else "text") or "") for table, row in sample]
    lengths = sorted(len(WORD.findall(text)) for text in texts)
    if lengths and lengths[-1]:
        ends = [lengths[int(share * (len(lengths) - 1))] for share in (0.1, 0.5, 0.9)]
        found.say("length", "about {1} words a document, most have {0} to {2}".format(*ends))
    return texts


def _language(found, texts, given=None):
    """Choose the stop words of the language that most texts are in."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = Counter(word.lower() for text in texts for word in WORD.findall(text[:LONG]))
    lists = {"english": ENGLISH_STOP_WORDS, **stopwords.LANGUAGES}
    shares = {name: sum(words[word] for word in known) / max(words.total(), 1) for name, known in lists.items()}
    best = max(shares, key=lambda name: shares[name])
    why = f"{best.capitalize()}: {shares[best]:.0%} of the words are its stop words, which are left out"
    if given is not None:
        if given not in ("none", *lists):
            raise ConfigError(f"--stop-words is {given!r}", f"one of none, {', '.join(lists)}", "correct it")
        best, why = None if given == "none" else given, "as you say"
    elif shares[best] < KNOWN or sum(word in words for word in lists[best]) < DISTINCT:
        best, why = None, "not known (--stop-words names one); no words are left out"
    if best != "english":
        found.options["tokens"] = {"stop_words": best}
    found.say("language", why)
