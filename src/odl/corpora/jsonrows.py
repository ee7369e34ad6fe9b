"""JSON objects in files: one per line, over several lines, in a list, or in one large object."""

import json
import re

from odl.corpora.checks import MAX_LINE, Unreadable
from odl.files.contents import ASSIGNED

JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
BETWEEN_OBJECTS = re.compile(r"[\s,\x1e\0]*")  # includes the separator \x1e of RFC 7464
HALF_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
MAX_DEPTH, MAX_KEYS = 3, 50  # levels and keys of nested objects whose values become columns
MIN_TABLE_ROWS = 3  # smallest number of objects in an object, by id, that are read as documents

PANDAS_ADVICE = 'pandas writes objects with orient="records", lines=True'
NO_TELEMETRY_TIME = (None, "", 0, "0")  # values of a missing time
DECODER = json.JSONDecoder()
PYTHON_REPR = re.compile(r"\{\s*'")


def rows(lines):
    """Yield (location, row) of each object, or (location, `Unreadable`).

    If a key is repeated, its last value is used. A value in a nested object is also a column with
    both names and a dot: ``message.text``.

    Parameters
    ----------
    lines : iterable of (int, str or Unreadable)
        Number and text of each line.
    """
    first = None
    for number, (location, row) in enumerate(_objects(lines)):
        if isinstance(row, dict) and isinstance(row.get("resourceLogs"), list):
            yield from (
                (f"{location}.{position}", inner_row)
                for position, inner_row in enumerate(_of_telemetry(row), start=1)
            )
            continue
        if (
            number == 0
            and isinstance(row, dict)
            and (inner_rows := _table_in(row) or _list_in(row))
        ):
            first = location, row, inner_rows
            continue
        if first:
            yield first[0], flatten_row(first[1])
            first = None
        yield location, row if isinstance(row, Unreadable) else flatten_row(row)
    if first:  # it is the only object in the file
        for position, inner_row in enumerate(first[2], start=1):
            row = (
                flatten_row(inner_row)
                if isinstance(inner_row, dict)
                else Unreadable(f"it is a JSON {type(inner_row).__name__}")
            )
            yield f"object {position}", row


def _objects(lines):
    """Yield (location, object or Unreadable), with one object in memory at a time."""
    pending, depth, size, tried, in_list = [], 0, 0, 1, None
    for number, line in lines:
        if isinstance(line, Unreadable):
            yield from _alone(pending)
            pending, depth = [], 0
            yield f"line {number}", line
            continue
        if not pending:
            text = line.strip(" \t\r\n,\x1e\0\ufeff")
            if in_list is None and text:
                text = ASSIGNED.sub("", text)
                in_list = text.startswith("[") and (len(text) == 1 or text[1:].lstrip()[:1] == "{")
                text = text[1:].lstrip() if in_list else text
            if not text or (in_list and text == "]"):
                continue
            if text[0] == "{" and text[-1] == "}":
                try:
                    yield f"line {number}", json.loads(text)
                    continue
                except (ValueError, RecursionError):
                    pass
            line, depth, size, tried = text, 0, 0, 1
        pending.append((number, line))
        outside_strings = JSON_STRING.sub("", line)
        depth += (
            outside_strings.count("{")
            + outside_strings.count("[")
            - outside_strings.count("}")
            - outside_strings.count("]")
        )
        size += len(line)
        may_be_complete = (
            depth <= 0 or '"' in outside_strings or pending[0][1][:1] not in "{[" or size > MAX_LINE
        )
        if may_be_complete or len(pending) >= 2 * tried:
            tried = len(pending)
            objects, is_final = _split(pending, in_list)
            if may_be_complete or is_final:
                yield from objects if objects is not None else _alone(pending)
                pending, depth = [], 0
    if pending:
        yield from _alone(pending)


def _split(pending, in_list):
    """Return (objects of lines or None, whether further lines cannot complete them)."""
    text = "\n".join(line.rstrip("\r\n") for _, line in pending)
    position, objects = BETWEEN_OBJECTS.match(text).end(), []
    while position < len(text):
        if in_list and text[position:].strip(" \t\r\n,]") == "":
            break
        number = pending[0][0] + text.count("\n", 0, position)
        try:
            row, position = DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            return None, error.pos < len(text.rstrip()) and not error.msg.startswith("Unterminated")
        except (ValueError, RecursionError):
            return None, True
        row = row if isinstance(row, dict) else _no_object(row)
        n_on_line = sum(
            location.split(".")[0] == f"line {number}" for location, _ in objects[-MAX_KEYS:]
        )
        objects.append((f"line {number}.{n_on_line + 1}" if n_on_line else f"line {number}", row))
        position = BETWEEN_OBJECTS.match(text, position).end()
    return objects, True


def _alone(pending):
    """Yield the object of each line."""
    for number, line in pending:
        text = line.strip(" \t\r\n,\x1e\0")
        if not text:
            continue
        try:
            row = json.loads(text)
            row = row if isinstance(row, dict) else _no_object(row)
        except RecursionError:
            row = Unreadable("it is not JSON (nested too deeply)")
        except ValueError as error:
            hint = (
                "; it is Python's repr(), which json.dumps() would write as JSON"
                if PYTHON_REPR.match(text)
                else ""
            )
            row = Unreadable(f"it is not JSON ({error}){hint}")
        yield f"line {number}", row


def _no_object(value):
    hint = f"; {PANDAS_ADVICE}" if isinstance(value, list) else ""
    return Unreadable(f"it is a JSON {type(value).__name__}, not an object{hint}")


def _table_in(row):
    """Return the rows of a JSON object that is a table, else None.

    The three forms are those of pandas' ``to_json``:

    - ``orient="split"``: ``{"columns": ["text"], "data": [["disk full"], ["disk back"]]}``
    - ``orient="columns"``, the default: ``{"text": {"0": "disk full", "1": "disk back"}}``
    - ``orient="index"``: ``{"a": {"text": "disk full"}, "b": {"text": "disk back"}}``
    """
    columns, data, inner = row.get("columns"), row.get("data"), list(row.values())
    if isinstance(columns, list) and isinstance(data, list) and data:
        all_match = all(isinstance(item, list) and len(item) == len(columns) for item in data)
        return (
            [dict(zip(map(str, columns), item, strict=True)) for item in data]
            if all_match
            else None
        )
    if len(inner) < 2 or not all(type(item) is dict and item for item in inner):
        return None
    if all(item.keys() == inner[0].keys() for item in inner) and all(map(str.isdecimal, inner[0])):
        return [{name: column[number] for name, column in row.items()} for number in inner[0]]
    texts = [{name for name, value in item.items() if isinstance(value, str)} for item in inner]
    shared = len(inner) >= MIN_TABLE_ROWS and set.intersection(*texts)
    return [{"id": name, **item} for name, item in row.items()] if shared else None


def _has_sentence(value):
    return isinstance(value, dict) and any(
        isinstance(one, str) and " " in one.strip() for one in value.values()
    )


def _list_in(row, depth=1):
    """Return the only list of objects in an object or in nested objects, else None."""
    may_go_deeper = depth < MAX_DEPTH and not any(
        isinstance(value, str) and " " in value.strip() for value in row.values()
    )
    inner = [item for item in row.values() if isinstance(item, dict)] if may_go_deeper else []
    deeper = [inner_list for item in inner if (inner_list := _list_in(item, depth + 1))]
    lists = [
        value
        for value in row.values()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    has_long_text = any(
        isinstance(value, str) and " " in value.strip() and len(value) > 200
        for value in row.values()
    )
    lists = lists or deeper
    if len(lists) > 1:  # keep the one that has sentences
        lists = [item for item in lists if any(map(_has_sentence, item[:MAX_KEYS]))]
    return lists[0] if len(lists) == 1 and not has_long_text else None


def _of_telemetry(row):
    """Return the records of an OpenTelemetry export: body, time, severity and attributes."""
    records_out = []
    for resource in _objects_in(row, "resourceLogs"):
        scopes = _objects_in(resource, "scopeLogs") or _objects_in(
            resource, "instrumentationLibraryLogs"
        )
        for record in [record for scope in scopes for record in _objects_in(scope, "logRecords")]:
            values = (
                attribute
                for attribute in _objects_in(record, "attributes")
                + _objects_in(resource.get("resource"), "attributes")
            )
            attributes = {
                str(attribute.get("key")): _any_value(attribute.get("value"))
                for attribute in values
            }
            time = next(
                (
                    record[name]
                    for name in ("timeUnixNano", "observedTimeUnixNano")
                    if record.get(name) not in NO_TELEMETRY_TIME
                ),
                None,
            )
            records_out.append(
                {
                    **attributes,
                    "time": time,
                    "body": _any_value(record.get("body")),
                    "severity": record.get("severityText"),
                }
            )
    return records_out


def _objects_in(row, name):
    value = row.get(name) if isinstance(row, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _any_value(value):
    """Return a value of OpenTelemetry, such as {"stringValue": "started"}, as a plain value.

    Lists and maps become JSON strings.
    """
    inner = next(iter(value.values()), None) if isinstance(value, dict) else value
    return json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict | list) else inner


def document_of(value, names):
    """Return the columns of a JSON value that is one document with one of the columns `names`.

    Raises
    ------
    ValueError
        If it is not an object, or contains several documents.
    """
    if not isinstance(value, dict):
        raise ValueError(_no_object(value))
    row = flatten_row(value)
    if isinstance(value.get("resourceLogs"), list):
        several = _of_telemetry(value)
    elif not any(name in row for name in names):
        several = _table_in(value) or _list_in(value)
    elif all(isinstance(value.get(name, {}), dict) for name in names):
        several = _table_in(value)
    else:
        several = None
    if several:
        raise ValueError(
            f"it contains {len(several)} documents, expected one per line; {PANDAS_ADVICE}"
        )
    return row


def flatten_row(row):
    """Return a row with values of nested objects as further columns, such as ``message.text``."""
    if any(type(value) is dict for value in row.values()):
        return {**row, **{name: value for name, value in _inner(row) if name not in row}}
    return row


def _inner(row, prefix="", depth=0):
    """Yield (dotted name, value) of nested objects, except objects of numbers, which are counts."""
    for name, value in row.items():
        if type(value) is dict and len(value) <= MAX_KEYS and depth < MAX_DEPTH:
            if all(isinstance(one, int | float) for one in value.values()):
                continue
            yield from _inner(value, f"{prefix}{name}.", depth + 1)
        elif depth and not isinstance(value, list | dict):
            yield f"{prefix}{name}", value


def replace_surrogates(text):
    """Return a line of JSON with unpaired surrogates replaced by question marks."""
    if not HALF_SURROGATE.search(text):
        return text
    return re.sub(r"\\\\|(?:\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..", _whole, text)


def _whole(match):
    return match[0] if match[0] == r"\\" or len(match[0]) == 12 else "?"
