"""Check configurations against a JSON schema that allows no unknown keys."""

import json
import numbers
import re
import reprlib
from math import inf
from pathlib import Path

from odl.errors import ConfigError, advice

MAX_INTEGER = 2**63 - 1  # largest integer in files


class _Short(reprlib.Repr):
    """Short representations for messages. Python cannot print integers of over 4300 digits."""

    def repr_int(self, x, level):
        return super().repr_int(x, level) if abs(x) <= MAX_INTEGER else "an integer beyond 2^63 - 1"


_SHORT = _Short()
_SHORT.maxlist = _SHORT.maxdict = 20
_SHORT.maxstring = 200
PYTHON_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": numbers.Integral,  # includes NumPy's integers
    "number": numbers.Real,
    "null": type(None),
}


def load_schema(path):
    """Return the schema in a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def closed(properties: dict, *needed: str) -> dict:
    """Return the schema of a map with only these properties, of which `needed` are required."""
    required = {"required": list(needed)} if needed else {}
    return {"type": "object", "additionalProperties": False, "properties": properties, **required}


def selecting(schema: dict, key: str, variants: dict, todo: str) -> dict:
    """Return the schema of a map in which the value of `key` determines the other allowed keys.

    For example, the settings of a learner with ``algorithm: hierarchical`` may have a key ``tree``.

    Parameters
    ----------
    schema : dict
        Schema with the properties of all variants (`closed`).
    key : str
        Property of `schema` whose value selects the variant.
    variants : dict
        Value of the key -> schema with the ``properties`` that this variant adds, and the
        ``required`` ones among them.
    todo : str
        Advice in the error message for a value that is not in `variants`.

    Returns
    -------
    dict
        Schema with an ``if``/``then`` for each value.
    """
    any_value: dict = {name: {} for name in schema["properties"]}
    branches = [
        {
            "if": {"properties": {key: {"const": name}}, "required": [key]},
            "then": closed({**any_value, **more["properties"]}, *more.get("required", ())),
        }
        for name, more in variants.items()
    ]
    key_schema = {**schema["properties"][key], "enum": list(variants), "todo": todo}
    required = dict.fromkeys([key, *schema.get("required", ())])
    open_schema = {name: value for name, value in schema.items() if name != "additionalProperties"}
    properties = {**schema["properties"], key: key_schema}
    return {**open_schema, "properties": properties, "required": [*required], "allOf": branches}


def variants_of(schema: dict) -> dict:
    """Return {value of the key: schema of the variant} of a schema from `selecting`."""
    return {
        key["const"]: branch["then"]
        for branch in schema.get("allOf", ())
        for key in branch["if"]["properties"].values()
    }


def check_map(value, schema, path=""):
    """Check a value of a configuration against a schema.

    Parameters
    ----------
    value
        A configuration or a part of it.
    schema : dict
        A subset of JSON Schema: type, properties, required, additionalProperties, propertyNames,
        items, enum, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minItems, minLength,
        pattern (which must match the complete text), and ``allOf`` as returned by `selecting`.
    path : str
        Name of the value in messages.

    Raises
    ------
    ConfigError
        At the first wrong key or value. For a typo, the message suggests the nearest key.
    """
    value_name = path or "the configuration"
    kinds = schema.get("type", list(PYTHON_TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds) or not _within(value, schema):
        raise ConfigError(
            f"{value_name} is {_shown(value)}", _describe(schema), "correct the value"
        )
    if "enum" in schema and value not in schema["enum"]:
        raise ConfigError(
            f"{value_name} is {_shown(value)}",
            "one of " + ", ".join(map(str, schema["enum"])),
            advice(value, schema["enum"], schema.get("todo") or "choose one of these"),
        )
    if isinstance(value, list):
        for position, item in enumerate(value):
            check_map(item, schema.get("items", {}), f"{value_name}[{position}]")
    if isinstance(value, dict):
        _check_keys(value, schema, path)


def _check_keys(value, schema, path):
    """Check the keys and values of a map. A schema from `selecting` is resolved first."""
    map_name = path or "the configuration"
    for branch in schema.get("allOf", ()):
        ((key, chosen),) = branch["if"]["properties"].items()
        if value.get(key) == chosen["const"]:
            schema = _join_variant(schema, branch["then"])
            break
    properties = schema.get("properties", {})
    other_properties = schema.get("additionalProperties", True)
    for name, item in value.items():
        if not isinstance(name, str):
            raise ConfigError(
                f"the key {_shown(name)} in {map_name} is not text",
                "a text as the key",
                f"write it in quotes: '{_shown(name)}'",
            )
        inner_path = f"{path}.{name}".lstrip(".")
        if name in properties:
            check_map(item, properties[name], inner_path)
        elif other_properties is False:
            if reason := schema.get("x-removed", {}).get(name):
                raise ConfigError(
                    f"'{inner_path}' is no longer a setting: {reason}",
                    "a current setting",
                    "remove it",
                )
            raise ConfigError(
                f"'{inner_path}' is not a key of the configuration",
                "one of " + ", ".join(properties),
                advice(name, properties, "remove it"),
            )
        else:
            if names := schema.get("propertyNames"):
                check_map(name, names, f"the name {inner_path}")
            check_map(
                item, other_properties if isinstance(other_properties, dict) else {}, inner_path
            )
    for name in schema.get("required", []):
        if name not in value:
            raise ConfigError(
                f"{map_name} has no '{name}'",
                f"'{name}' ({_describe(properties[name])})",
                "add this key",
            )


def _join_variant(shared, variant):
    """Return the schema of a variant: its own properties and keys, and those of all variants."""
    properties = {**variant["properties"], **shared["properties"]}
    required = [*shared.get("required", ()), *variant.get("required", ())]
    return {**shared, **variant, "properties": properties, "required": required}


def _is(value, kind):
    """Return whether a value has a type of JSON schema; true and false are not numbers."""
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    return isinstance(value, PYTHON_TYPES[kind])


def _within(value, schema):
    """Return whether a value satisfies the limits of a schema.

    Limits are the range of a number, the minimum length and the pattern of a text, and the minimum
    length of a list.
    """
    if isinstance(value, str):
        is_long_enough = len(value) >= schema.get("minLength", 0)
        return is_long_enough and re.fullmatch(schema.get("pattern", "(?s:.*)"), value)
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return True
    if isinstance(value, numbers.Integral) and abs(int(value)) > MAX_INTEGER:
        return False
    above = schema.get("exclusiveMinimum", -inf) < value >= schema.get("minimum", -inf)
    return above and schema.get("exclusiveMaximum", inf) > value <= schema.get("maximum", inf)


def _describe(schema):
    """Return a phrase about the values that a schema allows, such as "a number above 0"."""
    kinds = schema.get("type", "value")
    text = {"object": "a map", "array": "a list", "string": "text", "boolean": "true or false"}
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = " or ".join(text.get(kind, f"a {kind}") for kind in kinds)
    limits = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    limits_text = [f"{phrase} {schema[key]}" for key, phrase in limits.items() if key in schema]
    words += f" {' and '.join(limits_text)}" if limits_text else ""
    if schema.get("minItems") or schema.get("minLength"):
        words += ", not empty"
    if "pattern" in schema:
        words += f" matching {schema['pattern'].removeprefix('^').removesuffix('$')}"
    return words.replace("a integer", "an integer")


def _shown(value):
    """Return a value as text for a message; long lists, maps and integers are shortened."""
    return repr(value) if isinstance(value, (str, float)) else _SHORT.repr(value)
