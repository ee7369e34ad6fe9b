"""Settings as fields of frozen dataclasses, with type, range, unit, description and default.

The JSON schema, the check, the default and the row in config/README.md are computed from the field.
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
    """Return a dataclass field for a `Section`, with its description and limits.

    Parameters
    ----------
    default
        Default value. Without it, the setting is required.
    meaning, unit : str
        Description and unit, for the tables of config/README.md.
    values : str
        Description of the allowed values in the tables. By default it is computed from type, range
        and unit.
    earlier
        Value that reproduces results of versions without this setting; required for settings that
        are newer than `tests/config/settings.json`. Provenance records leave the setting out if it
        has this value, so results of these versions remain up to date.
    **limits
        Keywords of JSON schema, such as minimum, enum, pattern or items.

    Returns
    -------
    dataclasses.Field

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
    """Section of a configuration. Its values are checked when it is created.

    Attributes
    ----------
    place : str
        Key of the section in the configuration, for messages.
    removed : dict of str to str
        Keys of earlier versions that no longer exist -> message about their replacement.

    Raises
    ------
    ParameterError
        At the first field with a wrong type or a value outside its range.
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
        """Refuse incompatible values of fields; a subclass may raise ParameterError."""

    @classmethod
    def from_map(cls, values: dict, place: str | None = None) -> Self:
        """Return the section with the values of a map; `place` is its name in messages.

        Raises
        ------
        ConfigError
            At the first wrong key or value. For a typo, the message suggests the nearest key.
        """
        check_map(values, _closed(cast(type, cls)), cls.place if place is None else place)
        nested = {
            entry.name: entry.type.from_map(values[entry.name])
            for entry in fields(cls)
            if is_section(entry.type) and entry.name in values
        }
        try:
            return cls(**{**values, **nested})
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
        """Return the fields added after the first release as a nested dict.

        Their values reproduce results of versions without these fields.
        """
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
    """Return the schema of a section. It is cached because every period creates sections."""
    return section.schema()


def is_section(kind: Any) -> bool:
    """Return whether a type is a `Section`."""
    return isinstance(kind, type) and issubclass(kind, Section)


def _schema(entry):
    """Return the JSON schema of a field of a `Section`.

    The type in the schema follows from the annotation; default, description and limits are those of
    `setting`. A field whose type is a `Section` has the schema of that section.

    Raises
    ------
    ParameterError
        If JSON schema has no type for the annotation.
    """
    if is_section(entry.type):
        return entry.type.schema()
    # A field that was declared without `setting` lacks some of the metadata.
    metadata = entry.metadata if "limits" in entry.metadata else setting(**entry.metadata).metadata
    description = {"description": metadata["meaning"]} if metadata["meaning"] else {}
    if entry.default_factory is not MISSING:
        default = {"default": entry.default_factory()}
    elif entry.default is not MISSING:
        default = {"default": entry.default}
    else:
        default = {}  # a required setting
    try:
        type_keywords = _type_keywords(entry.type)
    except KeyError:
        raise ParameterError(
            f"{entry.name} is a {getattr(entry.type, '__name__', entry.type)}",
            "bool, int, float, str, or a list of one",
            "change its annotation",
        ) from None
    return {**type_keywords, **default, **metadata["limits"], **description}


def _type_keywords(annotation):
    """Return the JSON schema of a type; raise KeyError if the type is not supported.

    The schema of a union such as ``int | None`` has a list of types.
    """
    if get_origin(annotation) is list:
        return {"type": "array", "items": _type_keywords(get_args(annotation)[0])}
    if annotation is dict:
        return {"type": "object"}
    names = [JSON_TYPES[type_] for type_ in get_args(annotation) or (annotation,)]
    return {"type": names[0] if len(names) == 1 else names}


def table(section: type[Section], key: str, inside: bool = True) -> str:
    """Return the table rows of config/README.md for a section.

    Parameters
    ----------
    section : type of Section
    key : str
        Key of the section in the configuration, the prefix of the keys in the rows.
    inside : bool
        Whether to include the rows of nested sections.

    Returns
    -------
    str
        Rows of a Markdown table. Settings without a description have no row.
    """
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
    """Return the table cell with the allowed values of a field, such as "from 1"."""
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
    """Return the table cell with the default of a field, as it would be typed in odl.yaml."""
    if entry.default_factory is not MISSING:
        default = entry.default_factory()
    elif entry.default is not MISSING:
        default = entry.default
    else:
        return "(the default study's)"
    # In YAML, only an empty text needs quotes.
    if isinstance(default, str) and default:
        return f"`{default}`"
    return f"`{json.dumps(default)}`"


def earlier_of(schema: dict) -> dict:
    """Return the values of the keyword ``earlier`` in a schema, as a nested dict.

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
    """Return the settings except those whose value is in `earlier`; nested maps are compared too.

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
    """Return the names of the settings that differ between two maps; `within` is their prefix.

    The name of a nested setting is preceded by the outer name and a dot.

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
    """Add missing keys to a configuration in place, also in nested maps.

    Parameters
    ----------
    config : dict
    defaults : dict
        Values of missing keys; they are copied.

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
