"""Choose the columns of a table for the roles time, text, title, id, url, topics and author.

A column is chosen by its name and its values.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import partial
from statistics import median_high

from odl.corpora import fields
from odl.errors import ConfigError
from odl.files.documents import NO_TIME
from odl.files.escaping import readable
from odl.text import scripts

ROLE_NAMES = {
    "time": (
        *("time", "published", "created", "date", "datetime", "timestamp", "ts", "epoch",
          "posted", "pubdate", "sent"),
        *("datum", "zeit", "erstellt", "fecha", "data", "day", "when", "updated", "modified",
          "changed"),
    ),
    "text": (
        *("text", "body", "content", "message", "fulltext", "abstract", "selftext", "description",
          "comment", "post"),
        *("summary", "inhalt", "nachricht", "beschreibung", "texte", "contenu", "texto", "testo",
          "tweet", "article"),
    ),
    "title": (
        *("title", "subject", "headline", "titel", "betreff", "überschrift", "schlagzeile",
          "titre", "titulo"),
        *("oggetto", "asunto", "assunto", "objet", "onderwerp", "summary"),
        *("标题", "題名", "件名", "タイトル", "제목", "หัวข้อ"),
    ),
    "id": (
        *("id", "guid", "uuid", "uid", "key", "number", "nr", "nummer", "identifier", "messageid",
          "ticket"),
        *("编号", "序号", "番号", "번호", "номер", "код", "αριθμός", "الرقم", "رقم", "شناسه"),
        *("מזהה", "מספר", "क्रमांक"),
        *("आईडी", "รหัส", "numer", "mã"),
    ),
    "url": ("url", "link", "address", "href", "permalink", "uri", "adresse"),
    "topics": (
        *("topics", "topic", "label", "labels", "category", "categories", "class", "newsgroup"),
        *("section", "thema", "kategorie", "rubrik", "ressort"),
    ),
    "author": (
        *("author", "creator", "user", "username", "screenname", "login", "poster", "sender",
          "account", "handle"),
        *("authorname", "authorlogin", "userscreenname", "userlogin", "postedby", "createdby",
          "writtenby", "reporter"),
        *("autor", "autorin", "verfasser", "auteur", "autore", "absender", "from"),
    ),
}  # fmt: skip
MAX_COUNTED_WORDS = 2000  # a longer value counts as this number of words in means
INCOMPLETE_IDS = ("id", "guid", "uuid")  # columns with these names may lack the id of a few rows
CLOCK_NAMES = (
    "time", "clock", "hour", "uhrzeit", "zeit", "heure", "hora", "ora", "tijd", "godzina", "时间",
    "時刻",
)  # fmt: skip
CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?[AaPp]\.?[Mm]\.?)?")
HEADER_ADVICE = "add a first line with the names of the columns, such as id,time,text"
SPACELESS_LETTER = re.compile(f"[{''.join(scripts.SPACELESS)}]")
MAX_VALUES = 500  # values of a column that are inspected
MIN_SHARE = 0.95  # smallest share of the values that fit a role
# Smallest share if the column has a name of the role. Documents with other values are set aside.
MIN_NAMED_SHARE = 0.8
MAX_AUTHOR_WORDS = 4  # maximum number of words of an author's name
UNTITLED = "none; the beginning of the text is shown"


@dataclass
class Column:
    """Name, first values and counts of a column of tables.

    Parameters
    ----------
    name : str
    values : list
        The first `MAX_VALUES` values that are not missing.
    filled : int
        Number of rows with a value.
    distinct : set of int
        Hashes of all values.
    doubled : bool
        Whether a value occurs twice in the same file.
    files : dict
        The keys are the files with a value, in order.
    inside : set of int
        Hashes of the values in the current file.
    """

    name: str
    values: list = field(default_factory=list)
    filled: int = 0
    distinct: set = field(default_factory=set)
    doubled: bool = False
    files: dict = field(default_factory=dict)
    inside: set = field(default_factory=set)

    def add(self, value, file=None):
        """Add the value of one row."""
        if fields.missing(value):
            return
        if isinstance(value, list) and value and self.rank("text"):
            value = fields.join_pieces(value)
        self.filled += 1
        key = hash(str(value))
        if file not in self.files:
            self.files[file], self.inside = True, set()
        self.doubled |= key in self.inside
        self.inside.add(key)
        self.distinct.add(key)
        if len(self.values) < MAX_VALUES:
            self.values.append(value)

    def share(self, fits):
        """Return the share of the values for which `fits(value)` is true."""
        return sum(map(bool, map(fits, self.values))) / max(len(self.values), 1)

    def texts(self):
        """Return the values that are strings."""
        return [value for value in self.values if isinstance(value, str)]

    def words(self):
        """Return the mean number of words per value, which is 0 for values other than strings."""
        counts = [min(len(text.split()), MAX_COUNTED_WORDS) for text in self.texts()]
        return sum(counts) / max(len(self.values), 1)

    def length(self):
        """Return the mean number of characters per value, 0 for values other than strings."""
        return sum(map(len, self.texts())) / max(len(self.values), 1)

    def rank(self, role):
        """Return how well the name of the column fits a role, from 0 to 100.

        The rank is 100 - i for name i of `ROLE_NAMES[role]`, and 50 - i if only a part of the name
        of the column is name i, such as "created_at" for "created". Otherwise it is 0.
        """
        parts = re.findall(r"[a-zäöüßéúí]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", self.name).lower())
        full_names = "".join(parts), unicodedata.normalize("NFC", self.name.strip().lower())
        for position, name in enumerate(ROLE_NAMES[role]):
            if name in full_names:
                return 100 - position
        positions = [ROLE_NAMES[role].index(part) for part in parts if part in ROLE_NAMES[role]]
        return 50 - min(positions, default=50)

    def example(self):
        """Return the first value, shortened and quoted for printing."""
        text = readable(" ".join(str(self.values[0]).split())) if self.values else ""
        return f"'{text[:37] + '...' if len(text) > 40 else text}'"


def choose(columns, n_rows, answers, time_formats=()):
    """Return {role: (column or None, reason)}, in the order of `ROLE_NAMES`.

    Parameters
    ----------
    columns : dict
        Name -> `Column`.
    n_rows : int
        Number of rows in the tables.
    answers : dict
        Role -> name of the column that the user chose; "" for no column.
    time_formats : sequence of str
        Formats of times that the user gave.

    Raises
    ------
    ConfigError
        If a chosen column does not exist, or no column contains text.
    """
    roles, unused = {}, dict(columns)
    for role, name in answers.items():
        if name:
            _check_answer(role, name, columns)
        roles[role] = (unused.pop(name) if name else None, "as requested")
    finders = {
        "url": _url,
        "time": partial(_time, formats=time_formats),
        "text": _text,
        "title": _title,
        "id": _id,
        "topics": _topics,
        "author": _author,
    }
    for role, find in finders.items():
        if role not in roles:
            column, _ = roles[role] = find(list(unused.values()), n_rows, roles)
            if column:
                unused.pop(column.name)
    if roles["text"][0] is None and "counts" not in columns:
        names = ", ".join(columns) or "none"
        raise ConfigError(
            f"no column contains text; the columns are {names}",
            "a column of texts",
            "name it with --text",
        )
    return {role: roles[role] for role in ROLE_NAMES}


def _check_answer(role, name, columns):
    """Refuse a column that the user chose if it does not exist, or has no text for that role."""
    if name not in columns:
        raise ConfigError(
            f"--{role} names {name!r}",
            "one of the columns " + ", ".join(columns),
            "correct the name",
        )
    if role == "text" and not columns[name].texts():
        raise ConfigError(
            f"--text names {name!r}, which contains {columns[name].example()}",
            "a column of texts",
            "name another column",
        )


def _best(columns, role, fits):
    """Return the fitting column whose name ranks highest for a role, or None."""
    fitting = [column for column in columns if column.values and column.rank(role) and fits(column)]
    return max(fitting, key=lambda column: column.rank(role), default=None)


# The functions `_url`, `_time`, `_text`, `_title`, `_id`, `_topics` and `_author` each choose the
# column of one role and return (column or None, reason). `columns` is a list of the columns without
# a role, and `roles` contains the earlier choices.


def _url(columns, n_rows, roles):
    """Choose a column whose values are web addresses."""
    addresses = [
        column for column in columns if column.values and column.share(fields.parse_url) > MIN_SHARE
    ]
    best = max(addresses, key=lambda column: column.rank("url"), default=None)
    return (best, "contains addresses") if best else (None, "no column contains addresses")


def _time(columns, n_rows, roles, formats=()):
    """Choose a column of dates: by its name, or with texts that are dates.

    Raises
    ------
    ConfigError
        If only some values of the best column are dates, or if some rows have no value.
    """
    is_time = partial(_is_time, formats=formats)
    fitting = []
    for column in columns:
        min_share = MIN_NAMED_SHARE if column.rank("time") else MIN_SHARE
        if column.values and column.share(is_time) >= min_share:
            fitting.append(column)
    fitting = [column for column in fitting if column.filled >= n_rows / 2] or fitting
    named = [column for column in fitting if column.rank("time")]
    # A column of numbers contains times only if its name says so.
    texts = [
        column for column in fitting if column.share(lambda value: not _numeric(value)) >= MIN_SHARE
    ]
    best = max(
        named or texts, key=lambda column: (column.rank("time"), column.filled), default=None
    )
    if best is None:
        return None, _why_no_time(columns, is_time)
    if not _numeric(best.name) and _is_time(best.name):
        raise ConfigError(
            f"a column is named {best.name!r}, which is a date",
            "column names in the first line",
            HEADER_ADVICE,
        )
    if best.filled < n_rows / 2:
        return None, f"{best.name!r} is mostly empty; the order is that of the files"
    if best.filled < MIN_NAMED_SHARE * n_rows:
        raise _missing_times(best, columns, n_rows)
    if best.rank("time"):
        return best, "contains dates"
    return best, "contains dates, although its name does not say so"


def _why_no_time(columns, is_time):
    """Return why no column is chosen for the times; raise ConfigError if a value is to blame."""
    named = [column for column in columns if column.rank("time")]
    nearly = [column for column in named if 0.3 < column.share(is_time) < MIN_NAMED_SHARE]
    best = max(nearly or named, key=lambda column: column.rank("time"), default=None)
    if nearly:
        wrong = next(value for value in best.values if not is_time(value))
        raise ConfigError(
            f"the column {best.name!r} contains {wrong!r}, which is not a date",
            "dates in all rows",
            "correct this value, set --time-format, choose another column with --time, "
            "or use no column: --time ''",
        )
    reason = "no column contains dates"
    if best and best.values and best.rank("time") > 50:
        todo = "--time-format sets their format"
        reason += f" ({best.name!r} contains {best.example()}; {todo})"
    return f"{reason}; the order is that of the files"


def _missing_times(times, columns, n_rows):
    """Return the ConfigError for a column of times without a value in some rows."""
    fault = f"{n_rows - times.filled} of {n_rows} rows have no value in the column {times.name!r}"
    todo = "add the missing times, choose another column with --time"
    files = [file for column in columns for file in column.files if file not in times.files]
    if files and files[0]:
        others = ", ".join(column.name for column in columns if files[0] in column.files)
        fault += f" ({files[0]} has only the columns {others})"
        todo += ", use a separate folder for files with other columns"
    return ConfigError(fault, "dates in all rows", f"{todo}, or use no column: --time ''")


def clock_column(columns, dates):
    """Return the column with the times of day for a column of dates, or None.

    The name of this column is in `CLOCK_NAMES`, and its values are times of day, such as 08:15.

    Parameters
    ----------
    columns : dict
        Name -> `Column`.
    dates : Column
        If its values have a time of day, the result is None.
    """
    if dates.share(lambda value: isinstance(value, str) and ":" not in value) < 1:
        return None
    clocks = (
        column
        for column in columns.values()
        if column.name.strip().lower() in CLOCK_NAMES and column.values
    )
    return next((clock for clock in clocks if clock.share(_is_clock) >= MIN_SHARE), None)


def _is_clock(value):
    """Return whether a value is a time of day, such as 08:15."""
    return isinstance(value, str) and CLOCK.fullmatch(value.strip()) is not None


def _numeric(value):
    """Return whether a value is a number, or a text that consists of a number."""
    return isinstance(value, int | float) or (
        isinstance(value, str) and fields.NUMBER.fullmatch(value.strip())
    )


def _is_time(value, formats=()):
    """Return whether a value can be parsed as a date, with either order of day and month."""
    for dates in fields.DATES:
        try:
            return fields.parse_time(value, dates, formats) != NO_TIME
        except (ValueError, OverflowError):
            continue
    return False


def _text(columns, n_rows, roles):
    """Choose the column with the most words; words count three times if its name fits the role."""
    texts = []
    for column in columns:
        min_share = MIN_NAMED_SHARE if column.rank("text") else MIN_SHARE
        if column.share(lambda value: isinstance(value, str)) >= min_share:
            texts.append(column)
    if not any(column.values for column in texts):
        return None, "no column contains text"
    best = max(texts, key=lambda column: column.words() * (3 if column.rank("text") else 1))
    if best.share(lambda value: isinstance(value, str) and SPACELESS_LETTER.search(value)) > 0.5:
        return best, "contains text without spaces"
    return best, f"about {median_high(len(text.split()) for text in best.texts())} words each"


def _title(columns, n_rows, roles):
    """Choose the column of titles by its name, or by its values if no name fits.

    By its values, a column of titles has lines whose mean length is less than half of that of the
    texts. It is chosen only if no other column has this property.
    """
    best = _best(
        columns,
        "title",
        lambda column: column.share(lambda value: isinstance(value, str)) >= MIN_SHARE,
    )
    if best:
        return best, "by its name"
    text = roles["text"][0]
    short = [
        column
        for column in columns
        if text and _fits_title(column, n_rows) and 2 * column.length() < text.length()
    ]
    return (short[0], "short texts") if len(short) == 1 else (None, UNTITLED)


def _fits_title(column, n_rows):
    """Return whether most rows have a line of text in a column, and nearly all lines differ."""

    def is_line(value):
        return (
            isinstance(value, str)
            and "\n" not in value
            and (len(value.split()) > 2 or SPACELESS_LETTER.search(value))
        )

    return column.share(is_line) > 0.5 and len(column.distinct) > MIN_SHARE * n_rows


def _id(columns, n_rows, roles):
    """Choose a column by its name, without repeats in a file, or else a column of unique words."""
    named, fitting = [], []
    for column in columns:
        min_share = MIN_SHARE if column.name.lower() in INCOMPLETE_IDS else 1
        if column.rank("id") and column.filled >= min_share * n_rows:
            named.append(column)
            if not column.doubled and column.share(_may_be_id) >= min_share:
                fitting.append(column)
    if fitting:
        best = max(fitting, key=lambda column: column.rank("id"))
        is_unique = len(best.distinct) >= n_rows
        return best, "all different" if is_unique else "all different within a file"
    for column in columns:
        if column.filled == n_rows and _may_all_be_ids(column, n_rows):
            return column, "all different"
    if not named:
        return None, "none; file and line are the ids"
    repeated = max(named, key=lambda column: column.rank("id"))
    return None, f"{repeated.name!r} has repeated values; file and line are the ids"


def _may_all_be_ids(column, n_rows):
    """Return whether each row has a different word in a column; numbers may be measurements."""

    def is_word(value):
        return isinstance(value, str) and len(value.split()) == 1 and len(value) <= 80

    is_unique = n_rows > 1 and len(column.distinct) == n_rows
    return is_unique and column.share(is_word) == 1 and column.share(_numeric) < 1


def _may_be_id(value):
    """Return whether a value is a text or an integer."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _topics(columns, n_rows, roles):
    """Choose the column of topics by its name and values.

    A column of topics has at most n_rows / 3 distinct values (or two, if there are few rows), since
    a topic has several documents.
    """
    fitting = [
        column
        for column in columns
        if column.values
        and column.rank("topics")
        and column.share(_may_be_topics) >= MIN_SHARE
        and len(column.distinct) <= max(2, n_rows // 3)
    ]
    if not fitting:
        return None, "none; they are not needed"
    best = max(fitting, key=lambda column: column.rank("topics"))
    alternatives = " or ".join(repr(column.name) for column in fitting if column is not best)
    note = f", rather than {alternatives} (--topics)" if alternatives else ""
    return best, f"{len(best.distinct)} different{note}"


def _author(columns, n_rows, roles):
    """Choose the column of authors by its name and values.

    Most rows have a value, and some values repeat: a column of different values would be ids.
    """
    named = [
        column for column in columns if column.rank("author") > 50 and column.filled > n_rows / 2
    ]
    named = [
        column
        for column in named
        if column.share(_may_be_author) >= MIN_SHARE and not _is_place(column)
    ]
    repeated = [column for column in named if 1 < len(column.distinct) < MIN_SHARE * column.filled]
    best = max(repeated, key=lambda column: column.rank("author"), default=None)
    return (best, f"{len(best.distinct):,} different") if best else (None, "")


def _is_place(column):
    """Return whether a column is named "from" and contains places rather than mail addresses."""
    return (
        column.name.strip().lower() == "from"
        and column.share(lambda value: "@" in str(value)) < MIN_SHARE
    )


def _may_be_author(value):
    """Return whether a value may be an author: at most `MAX_AUTHOR_WORDS` words, or an address."""
    author = fields.parse_author(value)
    return bool(author) and (len(author.split()) <= MAX_AUTHOR_WORDS or "@" in author)


def _may_be_topics(value):
    """Return whether a value can be parsed as topics that are separated by semicolons."""
    try:
        fields.parse_topics(value, ";")
    except ValueError:
        return False
    return True


def date_form(column, answer=None):
    """Return (value of the option ``dates``, reason) for a column of times.

    Parameters
    ----------
    column : Column
    answer : str, optional
        Choice of the user.

    Raises
    ------
    ConfigError
        If the order of day and month is ambiguous.
    """
    if answer:
        return answer, "as requested"
    matches = [match for value in column.values if (match := fields.year_last(value))]
    if not matches:
        return None, f"as in {column.example()}"
    day = next((match for match in matches if int(match["first"]) > 12), None)
    month = next((match for match in matches if int(match["second"]) > 12), None)
    if day and not month:
        return "day-first", f"the day first, as in {day[0]}"
    if month and not day:
        return "month-first", f"the month first, as in {month[0]}"
    if not day and all(match[2] == "." for match in matches):
        return "day-first", f"the day first, as usual with dots, as in {matches[0][0]}"
    shown = f"{day[0]} and {month[0]}" if day else matches[0][0]
    raise ConfigError(
        f"the dates of {column.name!r}, such as {shown}, may begin with the day or the month",
        "dates that show the order of day and month",
        "type --dates day-first or --dates month-first",
    )
