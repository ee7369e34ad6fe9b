"""Rows of JSON files: objects on one line or several, in a list, or inside one large object."""

import json
import re
from collections import Counter
from itertools import chain, islice

from odl.corpora.checks import MAX_LINE, Unreadable
from odl.files.contents import ASSIGNED

JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# Characters between objects. RFC 7464 has the separator \x1e; a crash may leave zeros.
OUTSIDE = " \t\r\n,\x1e\0"
BETWEEN_OBJECTS = re.compile(r"[\s,\x1e\0]*")
# Matches an escaped backslash, an escaped pair of surrogates or, as group 1, a single surrogate.
SURROGATES = re.compile(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")
MAX_DEPTH, MAX_KEYS = 3, 50  # largest depth and size of nested objects that become columns
MIN_TABLE_ROWS = 3  # an object is a table from id to object only if it has this many entries
MAX_NOTE = 200  # characters; an object with a longer text is a document, not a list of documents

PANDAS_ADVICE = 'pandas writes objects with orient="records", lines=True'
NO_TELEMETRY_TIME = (None, "", 0, "0")  # what OpenTelemetry writes for a missing time
DECODER = json.JSONDecoder()
PYTHON_REPR = re.compile(r"\{\s*'")


def rows(lines):
    """Yield (location, row) for each JSON object; damaged objects are `Unreadable`.

    If a key is repeated, its last value is used. A value in a nested object is a column whose name
    is the path to it, such as ``message.text``. If the file consists of one object that contains a
    table or a list of objects, the rows of the table or list are yielded.

    Parameters
    ----------
    lines : iterable of (int, str or Unreadable)
        Number and text of each line.
    """
    objects = _objects(lines)
    first = list(islice(objects, 1))
    inner_rows = _rows_inside(first[0][1]) if first else None
    if inner_rows:
        first += islice(objects, 1)
        if len(first) == 1:  # no second object follows
            checked = map(_check_object, inner_rows)
            first = [(f"object {number}", row) for number, row in enumerate(checked, start=1)]
    for location, row in chain(first, objects):
        if isinstance(row, Unreadable):
            yield location, row
        elif isinstance(row.get("resourceLogs"), list):
            for position, record in enumerate(_telemetry_records(row), start=1):
                yield f"{location}.{position}", record
        else:
            yield location, flatten_row(row)


def _objects(lines):
    """Yield (location, object or `Unreadable`) for each JSON value in the lines of a file."""
    open_lines, in_list = _OpenLines(), None
    for number, line in lines:
        if isinstance(line, Unreadable):
            yield from open_lines.take_each()
            yield f"line {number}", line
            continue
        if not open_lines.lines:
            line = line.strip(f"{OUTSIDE}\ufeff")
            if in_list is None and line:  # the first line of the file
                line = ASSIGNED.sub("", line)
                inside = line[1:].lstrip()
                in_list = line.startswith("[") and (len(line) == 1 or inside.startswith("{"))
                line = inside if in_list else line
            if not line or (in_list and line == "]"):
                continue
            if line[0] == "{" and line[-1] == "}":
                try:
                    yield f"line {number}", json.loads(line)
                    continue
                except (ValueError, RecursionError):
                    pass
        open_lines.add(number, line)
        yield from open_lines.take_complete(in_list)
    yield from open_lines.take_each()


class _OpenLines:
    """Consecutive lines that are not parsed yet, because an object in them may end later.

    Attributes
    ----------
    lines : list of (int, str)
        Number and text of each line.
    depth : int
        Number of opening minus number of closing brackets outside complete strings.
    size : int
        Number of characters in the lines.
    has_open_string : bool
        Whether a string is not closed in the last line. Then `depth` may be wrong.
    n_tried : int
        Number of lines at the last attempt to parse them.
    """

    def __init__(self):
        self._clear()

    def _clear(self):
        self.lines, self.depth, self.size, self.has_open_string, self.n_tried = [], 0, 0, False, 1

    def add(self, number, line):
        """Append a line, and update the counts of brackets and open strings."""
        outside = Counter(JSON_STRING.sub("", line))
        self.lines.append((number, line))
        self.depth += outside["{"] + outside["["] - outside["}"] - outside["]"]
        self.size += len(line)
        self.has_open_string = outside['"'] > 0

    def take_complete(self, in_list):
        """Parse the lines if they are complete; remove them and return their objects, else [].

        The lines are complete if brackets are closed, or if no further line can make them JSON. To
        detect lines that cannot become JSON, they are parsed whenever their number has doubled.

        Parameters
        ----------
        in_list : bool
            Whether the file is a list, whose closing bracket may follow the last object.

        Returns
        -------
        list of (str, dict or Unreadable)
            Location and object.
        """
        seems_complete = (
            self.depth <= 0
            or self.has_open_string
            or self.lines[0][1][:1] not in "{["
            or self.size > MAX_LINE
        )
        if not seems_complete and len(self.lines) < 2 * self.n_tried:
            return []
        self.n_tried = len(self.lines)
        try:
            objects = _parse_together(self.lines, in_list)
        except (ValueError, RecursionError):
            return self.take_each()
        if objects is None:
            return self.take_each() if seems_complete else []
        self._clear()
        return objects

    def take_each(self):
        """Remove the lines, parse each as one object, and return them like `take_complete`."""
        lines = [(number, line.strip(OUTSIDE)) for number, line in self.lines]
        self._clear()
        return [(f"line {number}", _parse_line(line)) for number, line in lines if line]


def _parse_together(lines, in_list):
    """Return [(location, object or `Unreadable`)] for the objects in several lines.

    The second object in line 3 has the location "line 3.2". The result is None if the last object
    is incomplete.

    Raises
    ------
    ValueError
        If the lines are not JSON, whatever follows them.
    RecursionError
        If an object is nested too deeply.
    """
    text = "\n".join(line.rstrip("\r\n") for _, line in lines)
    position, objects, n_in_line = BETWEEN_OBJECTS.match(text).end(), [], Counter()
    while position < len(text):
        if in_list and not text[position:].strip(" \t\r\n,]"):
            break
        number = lines[0][0] + text.count("\n", 0, position)
        try:
            row, position = DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if error.pos < len(text.rstrip()) and not error.msg.startswith("Unterminated"):
                raise
            return None
        n_in_line[number] += 1
        suffix = f".{n_in_line[number]}" if n_in_line[number] > 1 else ""
        objects.append((f"line {number}{suffix}", _check_object(row)))
        position = BETWEEN_OBJECTS.match(text, position).end()
    return objects


def _parse_line(line):
    """Return the object of a line, or an `Unreadable`."""
    try:
        return _check_object(json.loads(line))
    except RecursionError:
        return Unreadable("it is not JSON (nested too deeply)")
    except ValueError as error:
        hint = ""
        if PYTHON_REPR.match(line):
            hint = "; it is Python's repr(), which json.dumps() would write as JSON"
        return Unreadable(f"it is not JSON ({error}){hint}")


def _check_object(value):
    """Return a JSON value if it is an object, else an `Unreadable`."""
    if isinstance(value, dict):
        return value
    hint = f"; {PANDAS_ADVICE}" if isinstance(value, list) else ""
    return Unreadable(f"it is a JSON {type(value).__name__}, not an object{hint}")


def _rows_inside(row):
    """Return the rows of the table or list of objects that an object contains, else None."""
    if isinstance(row, Unreadable) or isinstance(row.get("resourceLogs"), list):
        return None
    return _table_in(row) or _list_in(row)


def _table_in(row):
    """Return the rows of a JSON object that is a table, else None.

    The three forms are those of pandas' ``to_json``:

    - ``orient="split"``: ``{"columns": ["text"], "data": [["disk full"], ["disk back"]]}``
    - ``orient="columns"``, the default: ``{"text": {"0": "disk full", "1": "disk back"}}``
    - ``orient="index"``: ``{"a": {"text": "disk full"}, "b": {"text": "disk back"}}``
    """
    columns, data, inner = row.get("columns"), row.get("data"), list(row.values())
    if isinstance(columns, list) and isinstance(data, list) and data:
        if not all(isinstance(item, list) and len(item) == len(columns) for item in data):
            return None
        return [dict(zip(map(str, columns), item, strict=True)) for item in data]
    if len(inner) < 2 or not all(type(item) is dict and item for item in inner):
        return None
    if all(item.keys() == inner[0].keys() for item in inner) and all(map(str.isdecimal, inner[0])):
        return [{name: column[number] for name, column in row.items()} for number in inner[0]]
    texts = [{name for name, value in item.items() if isinstance(value, str)} for item in inner]
    if len(inner) < MIN_TABLE_ROWS or not set.intersection(*texts):
        return None
    return [{"id": name, **item} for name, item in row.items()]


def _list_in(row, depth=1):
    """Return the list of documents that an object contains, or None.

    If the object has several lists of objects, the result is the only list whose objects contain
    sentences. If it has no list of objects, nested objects are searched. The result is None for an
    object with a long text, which is itself a document.

    Parameters
    ----------
    row : dict
    depth : int
        Level of the object; nested objects are searched to the level `MAX_DEPTH`.
    """
    sentences = _sentences_in(row)
    lists = [
        value
        for value in row.values()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    if not lists and not sentences and depth < MAX_DEPTH:
        inner_objects = [value for value in row.values() if isinstance(value, dict)]
        lists = list(filter(None, (_list_in(value, depth + 1) for value in inner_objects)))
    if len(lists) > 1:
        lists = [items for items in lists if any(map(_sentences_in, items[:MAX_KEYS]))]
    is_document = any(len(sentence) > MAX_NOTE for sentence in sentences)
    return lists[0] if len(lists) == 1 and not is_document else None


def _sentences_in(value):
    """Return the values of a JSON object that are texts of several words."""
    values = value.values() if isinstance(value, dict) else ()
    return [text for text in values if isinstance(text, str) and " " in text.strip()]


def _telemetry_records(row):
    """Return the log records in an OpenTelemetry export as rows.

    A row has body, time and severity, and a column for each attribute of the record or of its
    resource (the program that wrote the record).
    """
    records = []
    for resource in _objects_in(row, "resourceLogs"):
        shared_attributes = _objects_in(resource.get("resource"), "attributes")
        scopes = _objects_in(resource, "scopeLogs")
        for scope in scopes or _objects_in(resource, "instrumentationLibraryLogs"):
            for record in _objects_in(scope, "logRecords"):
                attributes = _objects_in(record, "attributes") + shared_attributes
                times = [record.get(name) for name in ("timeUnixNano", "observedTimeUnixNano")]
                times = [time for time in times if time not in NO_TELEMETRY_TIME]
                row = {str(item.get("key")): _any_value(item.get("value")) for item in attributes}
                row["time"] = times[0] if times else None
                row["body"] = _any_value(record.get("body"))
                row["severity"] = record.get("severityText")
                records.append(row)
    return records


def _objects_in(row, name):
    """Return the objects in the list `name` of an object; an empty list for other values."""
    value = row.get(name) if isinstance(row, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _any_value(value):
    """Return a value of OpenTelemetry, such as {"stringValue": "started"}, as a plain value.

    Lists and maps become JSON strings.
    """
    inner = next(iter(value.values()), None) if isinstance(value, dict) else value
    return json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict | list) else inner


def document_of(value, names):
    """Convert a JSON value that is one document to a row.

    Parameters
    ----------
    value : JSON value
    names : sequence of str
        Columns of text or counts; a document has at least one of them.

    Raises
    ------
    ValueError
        If the value is not an object, or contains several documents.
    """
    checked = _check_object(value)
    if isinstance(checked, Unreadable):
        raise ValueError(checked)
    row, several = flatten_row(value), None
    if isinstance(value.get("resourceLogs"), list):
        several = _telemetry_records(value)
    elif not any(name in row for name in names):
        several = _rows_inside(value)
    elif all(isinstance(value.get(name, {}), dict) for name in names):
        several = _table_in(value)
    if several:
        raise ValueError(
            f"it contains {len(several)} documents, expected one per line; {PANDAS_ADVICE}"
        )
    return row


def flatten_row(row):
    """Return a row with the values of nested objects as columns such as ``message.text``."""
    if any(type(value) is dict for value in row.values()):
        return {**row, **{name: value for name, value in _nested_values(row) if name not in row}}
    return row


def _nested_values(row, prefix="", depth=0):
    """Yield (dotted name, value) for each value in the objects nested in a row.

    Objects that contain numbers only are omitted, since they are counts of words. `prefix` and
    `depth` are the dotted name and the level of `row` itself.
    """
    for name, value in row.items():
        if type(value) is dict and len(value) <= MAX_KEYS and depth < MAX_DEPTH:
            if not all(isinstance(number, int | float) for number in value.values()):
                yield from _nested_values(value, f"{prefix}{name}.", depth + 1)
        elif depth and not isinstance(value, list | dict):
            yield f"{prefix}{name}", value


def replace_surrogates(text):
    """Return a line of JSON with unpaired surrogates replaced by question marks."""
    return SURROGATES.sub(lambda match: "?" if match[1] else match[0], text)
