"""Objects of JSON as programs write them: one a line, over several lines, in a list, or in one object as a table."""

import json
import re

from odl.corpora.checks import LONGEST_LINE, Unreadable
from odl.files.contents import ASSIGNED

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
BETWEEN = re.compile(r"[\s,\x1e\0]*")  # also of RFC 7464
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a pair of surrogates
DEPTH, WIDTH = 3, 50  # of objects inside of objects, whose values become columns
FEWEST = 3  # objects by id that are documents
RECORDS = 'pandas writes objects with orient="records", lines=True'
ZERO = (None, "", 0, "0")  # no time
DECODER = json.JSONDecoder()
REPR = re.compile(r"\{\s*'")


def rows(lines):
    """Yield (place, row) of each object; (place, `Unreadable`) for what is none. Of equal keys the last counts.

    A value inside of an object is also a column of its own, under both names with a dot: ``message.text``.

    Parameters
    ----------
    lines : iterable of (int, str or Unreadable)
        Number and text of each line.
    """
    first = None
    for number, (place, row) in enumerate(_objects(lines)):
        if isinstance(row, dict) and isinstance(row.get("resourceLogs"), list):
            yield from ((f"{place}.{at}", one) for at, one in enumerate(_of_telemetry(row), start=1))
            continue
        if number == 0 and isinstance(row, dict) and (held := _table_in(row) or _list_in(row)):
            first = place, row, held
            continue
        if first:
            yield first[0], flattened(first[1])
            first = None
        yield place, row if isinstance(row, Unreadable) else flattened(row)
    if first:  # it is alone in its file
        for at, one in enumerate(first[2], start=1):
            row = flattened(one) if isinstance(one, dict) else Unreadable(f"it is a JSON {type(one).__name__}")
            yield f"object {at}", row


def _objects(lines):
    """Yield (place, object or Unreadable), the memory being that of one object."""
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
        bare = STRING.sub("", line)
        depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        size += len(line)
        whole = depth <= 0 or '"' in bare or pending[0][1][:1] not in "{[" or size > LONGEST_LINE
        if whole or len(pending) >= 2 * tried:
            tried = len(pending)
            found, wrong = _split(pending, listed)
            if whole or wrong:
                yield from found if found is not None else _alone(pending)
                pending, depth = [], 0
    if pending:
        yield from _alone(pending)


def _split(pending, listed):
    """Return the objects of lines, or None if they are not objects, and whether more lines cannot mend that."""
    text = "\n".join(line.rstrip("\r\n") for _, line in pending)
    at, found = BETWEEN.match(text).end(), []
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
        same = sum(place.split(".")[0] == f"line {number}" for place, _ in found[-WIDTH:])
        found.append((f"line {number}.{same + 1}" if same else f"line {number}", row))
        at = BETWEEN.match(text, at).end()
    return found, True


def _alone(pending):
    """Yield each of the lines by itself."""
    for number, line in pending:
        text = line.strip(" \t\r\n,\x1e\0")
        if not text:
            continue
        try:
            row = json.loads(text)
            row = row if isinstance(row, dict) else _no_object(row)
        except RecursionError:
            row = Unreadable("it is not JSON (too deep)")
        except ValueError as error:
            spelled = "; it is Python's repr(), which json.dumps() would write as JSON" if REPR.match(text) else ""
            row = Unreadable(f"it is not JSON ({error}){spelled}")
        yield f"line {number}", row


def _no_object(value):
    hint = f"; {RECORDS}" if isinstance(value, list) else ""
    return Unreadable(f"it is a JSON {type(value).__name__}, not an object{hint}")


def _table_in(row):
    """Return the rows of an object that is a table: columns and data, or objects by row or by id; else None.

    pandas' ``to_json`` writes the first with ``orient="split"``, the second by default, the third with "index".
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
    shared = len(inner) >= FEWEST and set.intersection(*texts)
    return [{"id": name, **one} for name, one in row.items()] if shared else None


def _has_sentence(value):
    return isinstance(value, dict) and any(isinstance(one, str) and " " in one.strip() for one in value.values())


def _list_in(row, depth=1):
    """Return the list of objects that is the only one in an object, or in an object in it; None if there is none."""
    plain = depth < DEPTH and not any(isinstance(value, str) and " " in value.strip() for value in row.values())
    inner = [one for one in row.values() if isinstance(one, dict)] if plain else []
    deeper = [found for one in inner if (found := _list_in(one, depth + 1))]
    lists = [value for value in row.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    texts = any(isinstance(value, str) and " " in value.strip() and len(value) > 200 for value in row.values())
    lists = lists or deeper
    if len(lists) > 1:  # beside lists of names and keys, the one with sentences
        lists = [one for one in lists if any(map(_has_sentence, one[:WIDTH]))]
    return lists[0] if len(lists) == 1 and not texts else None


def _of_telemetry(row):
    """Return the records of an export of logs by OpenTelemetry: body, time, severity, and names of attributes."""
    found = []
    for resource in _objects_in(row, "resourceLogs"):
        scopes = _objects_in(resource, "scopeLogs") or _objects_in(resource, "instrumentationLibraryLogs")
        for record in [record for scope in scopes for record in _objects_in(scope, "logRecords")]:
            values = (
                one for one in _objects_in(record, "attributes") + _objects_in(resource.get("resource"), "attributes")
            )
            named = {str(one.get("key")): _any_value(one.get("value")) for one in values}
            time = next(
                (record[name] for name in ("timeUnixNano", "observedTimeUnixNano") if record.get(name) not in ZERO),
                None,
            )
            found.append(
                {**named, "time": time, "body": _any_value(record.get("body")), "severity": record.get("severityText")}
            )
    return found


def _objects_in(row, name):
    value = row.get(name) if isinstance(row, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _any_value(value):
    """Return a value of OpenTelemetry's JSON, such as {"stringValue": "started"}, that of lists and maps as JSON."""
    only = next(iter(value.values()), None) if isinstance(value, dict) else value
    return json.dumps(only, ensure_ascii=False) if isinstance(only, dict | list) else only


def document_of(value, names):
    """Return the columns of a JSON value that is to be one document with one of these columns.

    Raises
    ------
    ValueError
        If it is no object, or a table or list of several documents.
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
        raise ValueError(f"it holds {len(several)} documents, and a line is one document; {RECORDS}")
    return row


def flattened(row):
    """Return a row with the values inside of its objects as columns, too: ``message.text``."""
    if any(type(value) is dict for value in row.values()):
        return {**row, **{name: value for name, value in _inner(row) if name not in row}}
    return row


def _inner(row, prefix="", depth=0):
    """Yield names with dots and values of the objects in a row; an object of numbers alone is one of counts."""
    for name, value in row.items():
        if type(value) is dict and len(value) <= WIDTH and depth < DEPTH:
            if all(isinstance(one, int | float) for one in value.values()):
                continue
            yield from _inner(value, f"{prefix}{name}.", depth + 1)
        elif depth and not isinstance(value, list | dict):
            yield f"{prefix}{name}", value


def mended(text):
    """Return a line of JSON in which half pairs of surrogates are question marks."""
    if not HALF.search(text):
        return text
    return re.sub(r"\\\\|(?:\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..", _whole, text)


def _whole(found):
    return found[0] if found[0] == r"\\" or len(found[0]) == 12 else "?"
