"""JSON objects in files: one per line, over several lines, in a list, or in a table that is one object."""

import json
import re

from odl.corpora.checks import MAX_LINE, Unreadable
from odl.files.contents import ASSIGNED

JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
BETWEEN_OBJECTS = re.compile(r"[\s,\x1e\0]*")  # RFC 7464 has \x1e
HALF_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
MAX_DEPTH, MAX_KEYS = 3, 50  # nested objects whose values become columns: levels, keys
MIN_TABLE_ROWS = 3  # objects in an object, by id, that are read as documents
PANDAS_ADVICE = 'pandas writes objects with orient="records", lines=True'
NO_TELEMETRY_TIME = (None, "", 0, "0")  # values that mean no time
DECODER = json.JSONDecoder()
PYTHON_REPR = re.compile(r"\{\s*'")


def rows(lines):
    """Yield (place, row) of each object, or (place, `Unreadable`). Of repeated keys, the last one is used.

    A value in a nested object is also a column with both names and a dot: ``message.text``.

    Parameters
    ----------
    lines : iterable of (int, str or Unreadable)
        Number and text of each line.
    """
    first = None
    for number, (place, row) in enumerate(_objects(lines)):
        if isinstance(row, dict) and isinstance(row.get("resourceLogs"), list):
            yield from (
                (f"{place}.{at}", one) for at, one in enumerate(_of_telemetry(row), start=1)
            )
            continue
        if number == 0 and isinstance(row, dict) and (held := _table_in(row) or _list_in(row)):
            first = place, row, held
            continue
        if first:
            yield first[0], flattened(first[1])
            first = None
        yield place, row if isinstance(row, Unreadable) else flattened(row)
    if first:  # it is the only object in the file
        for at, one in enumerate(first[2], start=1):
            row = (
                flattened(one)
                if isinstance(one, dict)
                else Unreadable(f"it is a JSON {type(one).__name__}")
            )
            yield f"object {at}", row


def _objects(lines):
    """Yield (place, object or Unreadable). One object is in memory at a time."""
    pending, depth, size, tried, listed = [], 0, 0, 1, None
    for number, line in lines:
        if isinstance(line, Unreadable):
            yield from _alone(pending)
            pending, depth = [], 0
            yield f"line {number}", line
            continue
        if not pending:
            text = line.strip(" \t\r\n,\x1e\0\ufeff")
            if listed is None and text:
                text = ASSIGNED.sub("", text)
                listed = text.startswith("[") and (len(text) == 1 or text[1:].lstrip()[:1] == "{")
                text = text[1:].lstrip() if listed else text
            if not text or (listed and text == "]"):
                continue
            if text[0] == "{" and text[-1] == "}":
                try:
                    yield f"line {number}", json.loads(text)
                    continue
                except (ValueError, RecursionError):
                    pass
            line, depth, size, tried = text, 0, 0, 1
        pending.append((number, line))
        bare = JSON_STRING.sub("", line)
        depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        size += len(line)
        whole = depth <= 0 or '"' in bare or pending[0][1][:1] not in "{[" or size > MAX_LINE
        if whole or len(pending) >= 2 * tried:
            tried = len(pending)
            found, wrong = _split(pending, listed)
            if whole or wrong:
                yield from found if found is not None else _alone(pending)
                pending, depth = [], 0
    if pending:
        yield from _alone(pending)


def _split(pending, listed):
    """Return (objects of lines or None, whether further lines cannot complete them)."""
    text = "\n".join(line.rstrip("\r\n") for _, line in pending)
    at, found = BETWEEN_OBJECTS.match(text).end(), []
    while at < len(text):
        if listed and text[at:].strip(" \t\r\n,]") == "":
            break
        number = pending[0][0] + text.count("\n", 0, at)
        try:
            row, at = DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            return None, error.pos < len(text.rstrip()) and not error.msg.startswith("Unterminated")
        except (ValueError, RecursionError):
            return None, True
        row = row if isinstance(row, dict) else _no_object(row)
        same = sum(place.split(".")[0] == f"line {number}" for place, _ in found[-MAX_KEYS:])
        found.append((f"line {number}.{same + 1}" if same else f"line {number}", row))
        at = BETWEEN_OBJECTS.match(text, at).end()
    return found, True


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
            spelled = (
                "; it is Python's repr(), which json.dumps() would write as JSON"
                if PYTHON_REPR.match(text)
                else ""
            )
            row = Unreadable(f"it is not JSON ({error}){spelled}")
        yield f"line {number}", row


def _no_object(value):
    hint = f"; {PANDAS_ADVICE}" if isinstance(value, list) else ""
    return Unreadable(f"it is a JSON {type(value).__name__}, not an object{hint}")


def _table_in(row):
    """Return the rows of an object that is a table, else None: columns and data, columns of objects, or objects by id.

    These are pandas' ``to_json`` with ``orient="split"``, by default, and with "index".
    """
    columns, data, inner = row.get("columns"), row.get("data"), list(row.values())
    if isinstance(columns, list) and isinstance(data, list) and data:
        same = all(isinstance(one, list) and len(one) == len(columns) for one in data)
        return [dict(zip(map(str, columns), one, strict=True)) for one in data] if same else None
    if len(inner) < 2 or not all(type(one) is dict and one for one in inner):
        return None
    if all(one.keys() == inner[0].keys() for one in inner) and all(map(str.isdecimal, inner[0])):
        return [{name: column[number] for name, column in row.items()} for number in inner[0]]
    texts = [{name for name, value in one.items() if isinstance(value, str)} for one in inner]
    shared = len(inner) >= MIN_TABLE_ROWS and set.intersection(*texts)
    return [{"id": name, **one} for name, one in row.items()] if shared else None


def _has_sentence(value):
    return isinstance(value, dict) and any(
        isinstance(one, str) and " " in one.strip() for one in value.values()
    )


def _list_in(row, depth=1):
    """Return the only list of objects in an object or in nested objects, else None."""
    plain = depth < MAX_DEPTH and not any(
        isinstance(value, str) and " " in value.strip() for value in row.values()
    )
    inner = [one for one in row.values() if isinstance(one, dict)] if plain else []
    deeper = [found for one in inner if (found := _list_in(one, depth + 1))]
    lists = [
        value
        for value in row.values()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    ]
    texts = any(
        isinstance(value, str) and " " in value.strip() and len(value) > 200
        for value in row.values()
    )
    lists = lists or deeper
    if len(lists) > 1:  # the list with sentences, not lists of names and keys
        lists = [one for one in lists if any(map(_has_sentence, one[:MAX_KEYS]))]
    return lists[0] if len(lists) == 1 and not texts else None


def _of_telemetry(row):
    """Return the records of an OpenTelemetry export of logs: body, time, severity and attributes."""
    found = []
    for resource in _objects_in(row, "resourceLogs"):
        scopes = _objects_in(resource, "scopeLogs") or _objects_in(
            resource, "instrumentationLibraryLogs"
        )
        for record in [record for scope in scopes for record in _objects_in(scope, "logRecords")]:
            values = (
                one
                for one in _objects_in(record, "attributes")
                + _objects_in(resource.get("resource"), "attributes")
            )
            named = {str(one.get("key")): _any_value(one.get("value")) for one in values}
            time = next(
                (
                    record[name]
                    for name in ("timeUnixNano", "observedTimeUnixNano")
                    if record.get(name) not in NO_TELEMETRY_TIME
                ),
                None,
            )
            found.append(
                {
                    **named,
                    "time": time,
                    "body": _any_value(record.get("body")),
                    "severity": record.get("severityText"),
                }
            )
    return found


def _objects_in(row, name):
    value = row.get(name) if isinstance(row, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _any_value(value):
    """Return a value of OpenTelemetry, such as {"stringValue": "started"}; lists and maps as JSON strings."""
    only = next(iter(value.values()), None) if isinstance(value, dict) else value
    return json.dumps(only, ensure_ascii=False) if isinstance(only, dict | list) else only


def document_of(value, names):
    """Return the columns of a JSON value that must be one document with one of the columns `names`.

    Raises
    ------
    ValueError
        If it is not an object, or contains several documents.
    """
    if not isinstance(value, dict):
        raise ValueError(_no_object(value))
    row = flattened(value)
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


def flattened(row):
    """Return a row with the values of nested objects as further columns, such as ``message.text``."""
    if any(type(value) is dict for value in row.values()):
        return {**row, **{name: value for name, value in _inner(row) if name not in row}}
    return row


def _inner(row, prefix="", depth=0):
    """Yield (dotted name, value) of nested objects. An object of numbers only is one value: counts."""
    for name, value in row.items():
        if type(value) is dict and len(value) <= MAX_KEYS and depth < MAX_DEPTH:
            if all(isinstance(one, int | float) for one in value.values()):
                continue
            yield from _inner(value, f"{prefix}{name}.", depth + 1)
        elif depth and not isinstance(value, list | dict):
            yield f"{prefix}{name}", value


def mended(text):
    """Return a line of JSON with unpaired surrogates replaced by question marks."""
    if not HALF_SURROGATE.search(text):
        return text
    return re.sub(r"\\\\|(?:\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..", _whole, text)


def _whole(found):
    return found[0] if found[0] == r"\\" or len(found[0]) == 12 else "?"
