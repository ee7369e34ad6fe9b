"""Parsing of a document's fields: text, author, source, topics, counts and vector.

Values come from JSON, CSV or Parquet. A wrong value raises `ValueError` with the reason.
"""

import json
import math
import re

import numpy as np

from odl.corpora.times import DATES, EPOCH, NUMBER, missing, parse_time, year_last
from odl.files.escaping import clean, without_ansi
from odl.text.scripts import SPACELESS

__all__ = ["DATES", "EPOCH", "NUMBER", "missing", "parse_time", "year_last"]
LARGEST_COUNT = np.iinfo(np.int32).max
TYPE_NAMES = {
    int: "a number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
MAX_NAME_CHARACTERS = 100  # longer names of authors and sources are cut
# Keys of an object that may contain the name of an author, in the order in which they are tried.
AUTHOR_KEYS = ("screen_name", "login", "username", "name", "email", "id")
UNSPACED_LETTERS = "".join(SPACELESS)
# A line break that wraps a text without spaces. The line has at least 25 characters, and the next
# one is neither a heading with a colon nor a numbered item.
BROKEN_LINE = re.compile(
    rf"(?:\n(?<=[^\n]{{24}}[{UNSPACED_LETTERS}、，]\n)"
    rf"|\r\n(?<=[^\n]{{24}}[{UNSPACED_LETTERS}、，]\r\n))"
    rf"(?=[{UNSPACED_LETTERS}])(?![^\s:：]{{1,8}}[:：]|[一二三四五六七八九十]{{1,3}}、)"
)


def parse_id(value):
    """Return an id on one line."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"the id {value!r} is neither a string nor an integer")
    identity = " ".join(clean(str(value)).split())
    if not identity:
        raise ValueError("the id is empty")
    return identity


def parse_text(value):
    """Return the text of a document without terminal escape sequences.

    A list is joined to one text (`join_pieces`). Line breaks that wrap a text in a script without
    spaces are removed. ValueError is raised if the value is not a text.
    """
    value = join_pieces(value)
    if not isinstance(value, str):
        raise ValueError(
            f"the text is {TYPE_NAMES.get(type(value), type(value).__name__)}, not a string"
        )
    value = without_ansi(value)
    return value if value.isascii() else BROKEN_LINE.sub("", clean(value))


def join_pieces(value):
    """Join a list of strings, text objects or bytes to one text; return other values unchanged.

    Strings are lines. Objects have a key ``text``, as in chat exports; their texts are joined
    without a separator. A list of byte values is decoded as UTF-8, as in the journal of systemd.
    """
    if not isinstance(value, list) or not value:
        return value
    if all(type(piece) is int and 0 <= piece < 256 for piece in value):
        return bytes(value).decode("utf-8", "replace")
    pieces = [piece.get("text") if isinstance(piece, dict) else piece for piece in value]
    separator = "" if any(isinstance(piece, dict) for piece in value) else "\n"
    return separator.join(pieces) if all(isinstance(piece, str) for piece in pieces) else value


def parse_url(value):
    """Return a web address on one line; "" if the value is missing or not a web address."""
    text = "" if missing(value) else "".join(clean(str(value)).split())
    return text if text.lower().startswith(("http://", "https://")) else ""


def parse_author(value):
    """Return the author of a document on one line, or "".

    If the value is a list, its first entry with a value is used; of an object, the name or account.

    Examples
    --------
    >>> from odl.corpora.fields import parse_author
    >>> [parse_author(value) for value in ("Ada <ada@x.org>", {"name": "Ada", "login": "ada"})]
    ['Ada <ada@x.org>', 'ada']
    >>> [parse_author(value) for value in (["Ada", "Bo"], None)]
    ['Ada', '']
    """
    if isinstance(value, list):
        value = next((entry for entry in value if not missing(entry)), None)
    if isinstance(value, dict):
        value = next((value[key] for key in AUTHOR_KEYS if not missing(value.get(key))), None)
    return parse_source(value)


def parse_source(value):
    """Return the source of a document on one line, or "". Of a list, the first entry is used.

    Examples
    --------
    >>> from odl.corpora.fields import parse_source
    >>> [parse_source(value) for value in ("JetBlue", ["news", "sport"], 12, None)]
    ['JetBlue', 'news', '12', '']
    """
    if isinstance(value, list):
        value = next((entry for entry in value if not missing(entry)), None)
    is_name = isinstance(value, str | int) and not isinstance(value, bool) and not missing(value)
    return " ".join(clean(str(value)).split())[:MAX_NAME_CHARACTERS] if is_name else ""


def parse_vector(value, length=None):
    """Convert a vector to an array of float32.

    Parameters
    ----------
    value : list of numbers, or str
        A string is parsed as JSON.
    length : int, optional
        Required length.
    """
    value = _from_json(value, "the vector is")
    is_list = isinstance(value, list | tuple) and len(value) > 0
    if not is_list or any(
        isinstance(number, bool) or not isinstance(number, int | float) for number in value
    ):
        raise ValueError("the vector is not a list of numbers")
    if length is not None and len(value) != length:
        raise ValueError(f"the vector has {len(value)} numbers, earlier vectors {length}")
    with np.errstate(over="ignore"):
        numbers = np.array(value, dtype=np.float64).astype("<f4")
    if not np.isfinite(numbers).all():
        raise ValueError("the vector contains a number that is not finite")
    return numbers


def _from_json(value, what):
    """Parse a JSON string; return other values unchanged. `what` begins the error message."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} not JSON ({error})") from error


def parse_counts(value):
    """Return {token: count} from a map, a list of pairs, or a JSON string of either."""
    value = _from_json(value, "the counts are")
    items = value.items() if isinstance(value, dict) else value
    try:
        pairs = [(token, count) for token, count in items]
    except (TypeError, ValueError) as error:
        raise ValueError(f"the counts are {str(value)[:60]!r}, not {{token: count}}") from error
    counts = {}
    for token, count in pairs:
        if count is None:  # Parquet stores maps as columns with nulls
            continue
        if not isinstance(token, str) or not token.strip():
            raise ValueError(f"the token {token!r} is not a word")
        is_number = isinstance(count, int | float) and not isinstance(count, bool)
        if not is_number or not 0 <= count <= LARGEST_COUNT or count != int(count):
            raise ValueError(
                f"the count {count!r} of {token!r} is not an integer from 0 to {LARGEST_COUNT}"
            )
        word = "_".join(clean(token).split())
        counts[word] = counts.get(word, 0) + int(count)
        if counts[word] > LARGEST_COUNT:
            raise ValueError(f"the counts of {word!r} add up to more than {LARGEST_COUNT}")
    return {word: count for word, count in counts.items() if count}


def parse_topics(value, separator):
    """Return the distinct topics in a value as a tuple of str; raise ValueError for a wrong value.

    Parameters
    ----------
    value : str, number or list
        A list contains strings, numbers, or objects whose ``name`` is the topic, such as the labels
        of an issue.
    separator : str or None
        Separator of the topics in a string. If None, a string is one topic.
    """
    if missing(value):
        return ()
    if isinstance(value, str):
        value = value.split(separator) if separator is not None else [value]
    elif _is_number(value):
        value = [value]
    if not isinstance(value, list):
        raise ValueError(f"the topics are {str(value)[:60]!r}, neither a string nor a list")
    topics = []
    for topic in value:
        topic = topic.get("name") if isinstance(topic, dict) else topic
        if not isinstance(topic, str) and not _is_number(topic):
            raise ValueError(f"the topic {topic!r} is not a string")
        # A table may store 3 as 3.0.
        text = topic if isinstance(topic, str) else str(topic).removesuffix(".0")
        topics.append(" ".join(clean(text).split()))
    return tuple(topic for topic in dict.fromkeys(topics) if topic)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
