"""Settings as fields of frozen dataclasses: type, range, unit, description and default.

The schema, the check, the default and the row of config/README.md follow from the field.
"""

import copy
import json
import types
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self, cast, get_args, get_origin

from odl.config.schema import check_map, closed
from odl.errors import ConfigError, OdlError, ParameterError

JSON_TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    types.NoneType: "null",
}
# JSON schema of a share: 0 < share <= 1.
POSITIVE_SHARE: dict[str, Any] = {"exclusiveMinimum": 0, "maximum": 1}
# JSON schema of a list of names.
NAME_ITEMS: dict[str, Any] = {"items": {"type": "string", "minLength": 1}}
# JSON schema of a list of dictionary sizes.
SIZE_ITEMS: dict[str, Any] = {"items": {"type": "integer", "minimum": 1}}


def setting(
    default: Any = MISSING,
    meaning: str = "",
    unit: str = "",
    values: str = "",
    *,
    earlier: Any = MISSING,
    **limits: Any,
) -> Any:
    """Describe a field of a `Section`.

    Parameters
    ----------
    default
        Default value. Without it, the setting is required.
    meaning, unit : str
        Description and unit, for the tables of config/README.md.
    values : str
        Description of the values in the tables, if type, range and unit do not say it.
    earlier
        Value that reproduces the versions without this setting; required for settings newer than
        `tests/config/settings.json`. A record without the setting means this value, and a record
        with this value leaves the setting out. So results of these versions are not computed
        again.
    **limits
        Keywords of JSON schema: minimum, exclusiveMinimum, maximum, enum, pattern, minLength,
        minItems, items, ....

    Examples
    --------
    >>> from odl.config.setting import setting
    >>> setting(0.1, minimum=0).default
    0.1
    """
    metadata = {"meaning": meaning, "unit": unit, "values": values, "limits": limits}
    if earlier is not MISSING:
        limits["earlier"] = earlier
    if isinstance(default, (list, dict)):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Section:
    """A section of the configuration, checked when it is created.

    Attributes
    ----------
    place : str
        Key of the section in the configuration, for messages.
    removed : dict of str to str
        Keys of earlier versions that no longer exist, each with a message.

    Raises
    ------
    ParameterError
        At the first field with a wrong type or outside its range.
    """

    place: ClassVar[str] = ""
    removed: ClassVar[dict[str, str]] = {}

    def __post_init__(self):
        try:
            check_map(asdict(self), _closed(type(self)), self.place)
        except OdlError as error:
            raise ParameterError(error.given, error.expected, error.todo) from None
        self.check()

    def check(self) -> None:
        """Refuse fields that contradict each other."""

    @classmethod
    def from_map(cls, values: dict, place: str | None = None) -> Self:
        """Return the section with these values.

        Raises
        ------
        ConfigError
            At the first wrong key or value. For a typo it names the nearest key.
        """
        check_map(values, _closed(cast(type, cls)), cls.place if place is None else place)
        sections = {
            entry.name: entry.type
            for entry in fields(cls)
            if is_section(entry.type) and entry.name in values
        }
        try:
            return cls(
                **{
                    **values,
                    **{name: kind.from_map(values[name]) for name, kind in sections.items()},
                }
            )
        except ParameterError as error:
            raise ConfigError(error.given, error.expected, error.todo) from None

    @classmethod
    def part(cls, values: dict) -> dict:
        """Return the entries of a map that are fields of this section."""
        return {entry.name: values[entry.name] for entry in fields(cls) if entry.name in values}

    @classmethod
    def defaults(cls) -> dict:
        """Return the defaults of the fields that have one, nested as in a configuration."""
        values = {}
        for entry in fields(cls):
            if is_section(entry.type):
                values[entry.name] = entry.type.defaults()
            elif entry.default_factory is not MISSING:
                values[entry.name] = entry.default_factory()
            elif entry.default is not MISSING:
                values[entry.name] = entry.default
        return values

    @classmethod
    def earlier(cls) -> dict:
        """Return the newer fields with the values that reproduce earlier versions, nested."""
        return earlier_of(_closed(cast(type, cls)))

    @classmethod
    def schema(cls) -> dict:
        """Return the JSON schema of the section, which allows no other keys."""
        entries = fields(cls)
        required = [
            entry.name
            for entry in entries
            if not is_section(entry.type) and entry.default is entry.default_factory
        ]
        properties = {entry.name: _schema(entry) for entry in entries}
        removed = {"x-removed": cls.removed} if cls.removed else {}
        return closed(properties, *required) | removed


@cache
def _closed(section):
    """Return the schema of a section (cached, since sections are created in every period)."""
    return section.schema()


def is_section(kind: Any) -> bool:
    """Return whether a type is a `Section`."""
    return isinstance(kind, type) and issubclass(kind, Section)


def _schema(entry):
    """Return the schema of a field: type of its annotation, other keywords of `setting`."""
    if is_section(entry.type):
        return entry.type.schema()
    metadata = entry.metadata if "limits" in entry.metadata else setting(**entry.metadata).metadata
    description = {"description": metadata["meaning"]} if metadata["meaning"] else {}
    factory = {} if entry.default_factory is MISSING else {"default": entry.default_factory()}
    try:
        kind = _kind(entry.type)
    except KeyError:
        raise ParameterError(
            f"{entry.name} is a {getattr(entry.type, '__name__', entry.type)}",
            "bool, int, float, str, or a list of one",
            "change its annotation",
        ) from None
    default = factory if entry.default is MISSING else {"default": entry.default}
    return {**kind, **default, **metadata["limits"], **description}


def _kind(kind):
    """Return the keywords of JSON schema for a type; raise KeyError for an unsupported one."""
    if get_origin(kind) is list:
        return {"type": "array", "items": _kind(get_args(kind)[0])}
    if kind is dict:
        return {"type": "object"}
    kinds = [JSON_TYPES[type_] for type_ in get_args(kind) or (kind,)]
    return {"type": kinds[0] if len(kinds) == 1 else kinds}


def table(section: type[Section], key: str, inside: bool = True) -> str:
    """Return the rows of config/README.md for a section and, with `inside`, its sections."""
    lines = []
    for entry in fields(section):
        nested_key, metadata = f"{key}.{entry.name}".lstrip("."), entry.metadata
        if is_section(entry.type):
            lines.append(table(cast(type[Section], entry.type), nested_key) if inside else "")
        elif metadata["meaning"]:
            lines.append(
                f"| `{nested_key}` | {metadata['meaning']} | {_values(entry)} "
                f"| {_default(entry)} |\n"
            )
    return "".join(lines)


def _values(entry):
    """Return the description of the values of a field in the table."""
    limits, unit = entry.metadata["limits"], entry.metadata["unit"]
    if entry.metadata["values"]:
        return entry.metadata["values"]
    if entry.type is bool:
        return "`true`, `false`"
    if "enum" in limits:
        return ", ".join(f"`{value}`" for value in limits["enum"])
    words = [unit] if unit else []
    if limits.get("minimum"):  # a minimum of 0 is not mentioned
        words.append(f"from {limits['minimum']}")
    if "exclusiveMinimum" in limits:
        words.append(f"above {limits['exclusiveMinimum']}")
    if "maximum" in limits:
        words.append(f"at most {limits['maximum']}")
    return ", ".join(words) or "a number from 0"


def _default(entry):
    """Return the default of a field, written as in a configuration."""
    if entry.default_factory is not MISSING:
        return f"`{json.dumps(entry.default_factory())}`"
    if entry.default is MISSING:
        return "(the default study's)"
    text = isinstance(entry.default, str) and entry.default
    return f"`{text or json.dumps(entry.default)}`"


def earlier_of(schema: dict) -> dict:
    """Return the values of the keyword ``earlier`` in a schema, nested as its properties.

    Examples
    --------
    >>> from odl.config.setting import earlier_of
    >>> new = {"type": "integer", "earlier": 0}
    >>> earlier_of({"properties": {"old": {"type": "integer"}, "new": new}})
    {'new': 0}
    """
    values = {}
    for name, entry in schema.get("properties", {}).items():
        if "earlier" in entry:
            values[name] = entry["earlier"]
        elif inner := earlier_of(entry):
            values[name] = inner
    return values


def without(values: dict, earlier: dict) -> dict:
    """Return the settings without those whose value earlier versions implied (`earlier`).

    Examples
    --------
    >>> from odl.config.setting import without
    >>> without({"size": 3, "new": 0}, {"new": 0})
    {'size': 3}
    """
    remaining = {}
    for name, value in values.items():
        if isinstance(value, dict) and isinstance(earlier.get(name), dict):
            remaining[name] = without(value, earlier[name])
        elif name not in earlier or value != earlier[name]:
            remaining[name] = value
    return remaining


def differing(before, now, within=""):
    """Return the names of the settings that differ between two maps.

    A name in a nested map has the outer name and a dot before it.

    Examples
    --------
    >>> from odl.config.setting import differing
    >>> differing({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 2, "d": 4}})
    ['a', 'b.d']
    """
    names = []
    for name in sorted({*before, *now}):
        earlier_value, value = before.get(name), now.get(name)
        if isinstance(earlier_value, dict) and isinstance(value, dict):
            names += differing(earlier_value, value, f"{within}{name}.")
        elif earlier_value != value:
            names.append(within + name)
    return names


def merge(config, defaults):
    """Add missing keys to a configuration, in place. Nested maps are merged; lists are not.

    Parameters
    ----------
    config : dict
    defaults : dict
        Its values are copied.

    Returns
    -------
    dict
        `config`.
    """
    for key, value in defaults.items():
        if key not in config:
            config[key] = copy.deepcopy(value)
        elif isinstance(value, dict) and isinstance(config[key], dict):
            merge(config[key], value)
    return config
