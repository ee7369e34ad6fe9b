"""Directive `settings-table`: every key of the schema, with type, bounds and default."""

import json
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parent.parent.parent
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


class SettingsTable(SphinxDirective):
    """A table of the keys of the schema."""

    optional_arguments = 1

    def run(self):
        schema = json.loads(
            (ROOT / "workflow/schemas/config.schema.json").read_text(encoding="utf-8")
        )
        defaults = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
        lines = ["| key | what it takes | default |", "| --- | --- | --- |"]
        lines += [
            f"| `{key}` | {values} | {default} |" for key, values, default in keys(schema, defaults)
        ]
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, "settings"), 0, holder)
        return holder.children


def keys(node, defaults, path=""):
    """Yield (key, allowed values, default) for every value of a schema."""
    for name, inner in node.get("properties", {}).items():
        default = (
            defaults.get(name, inner.get("default"))
            if isinstance(defaults, dict)
            else inner.get("default")
        )
        yield from keys(inner, default, f"{path}.{name}".lstrip("."))
    if path and not node.get("properties"):
        shown = (
            "" if defaults is None or isinstance(defaults, dict) else f"`{json.dumps(defaults)}`"
        )
        yield path, describe(node), shown.replace("|", "\\|")


def describe(node):
    """Return the allowed values of a schema in words."""
    kinds = node.get("type", "map")
    words = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    if "enum" in node:
        words = ", ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    bounds = [f"{sign} {node[name]}" for name, sign in BOUNDS.items() if name in node]
    items = node.get("items")
    if isinstance(items, dict) and "type" in items:
        words += f" of {items['type']}"
    return ", ".join([words, *bounds])


def setup(app):
    app.add_directive("settings-table", SettingsTable)
    return {"parallel_read_safe": True}
