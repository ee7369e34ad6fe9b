"""Schema files of a configuration and of odl.yaml.

``workflow/schemas/config.schema.json`` contains the sections of a configuration
(`odl.config.sections`) and the settings of every learner, reader and experiment. Its key
``registry`` has facts about learners, readers, experiments, figures and steps for the workflow.
``workflow/schemas/odl.schema.json`` is the schema of odl.yaml, for editors. `odl step schema
--write` writes both files, and a test fails if they are out of date.
"""

import ast
import inspect
import json
import os
import re

import yaml

from odl import corpora, learners
from odl.config import places, project, setting, sources
from odl.config.schema import closed, selecting, variants_of
from odl.config.sections import SECTIONS, Stream, Study
from odl.config.setting import NAME_ITEMS
from odl.engine import calls
from odl.files import storage
from odl.report import figures

SCHEMA_FILE = "config.schema.json"
SCHEMA_FOLDER = "workflow/schemas"
README_PATH = os.path.join("..", "..", "config", "README.md")
SCHEMA_HEAD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Configuration of a study",
    "description": "Written by `odl step schema --write`.",
}
FOLDER_SCHEMA_HEAD = {
    "$schema": "http://json-schema.org/draft-07/schema#",  # newest draft that YAML editors support
    "title": "odl.yaml, the settings of a folder",
    "description": "Every key is described in config/README.md of odl.",
}
# Schema of each input that an experiment may have.
INPUT_SCHEMAS = {
    "files": {"type": "array", "items": {"type": "string", "pattern": "[a-z0-9_]+/[^/]+"}},
    "streams": {"type": "array", **NAME_ITEMS, "minItems": 1},
    "learners": {"type": "array", **NAME_ITEMS},
    "experiments": {"type": "array", **NAME_ITEMS, "minItems": 1},
}
NEW_NAME_ADVICE = "if it is new, run `odl step schema --write`"


def schema(steps):
    """Return the schema of a configuration with the registry.

    Parameters
    ----------
    steps : dict
        Result of `odl.cli.steps`.
    """
    study = Study.schema()
    learner_entries = {name: {"properties": entry} for name, entry in learners.schema().items()}
    for section, key, entries in (
        ("corpora", "reader", _readers()),
        ("learners", "algorithm", learner_entries),
        ("experiments", "experiment", _experiments()),
    ):
        entry = study["properties"][section]
        named = selecting(entry["additionalProperties"], key, entries, NEW_NAME_ADVICE)
        entry["additionalProperties"] = named
    return {**SCHEMA_HEAD, **_anchor_patterns(study), "registry": registry(steps)}


def folder_schema(study_schema):
    """Return the schema of odl.yaml for the schema of a configuration.

    Only the sources are required, since a folder gets the defaults of config/config.yaml.
    """
    study = _optional(study_schema["properties"])
    learners_schema = study_schema["properties"]["learners"]
    corpus_schema = study_schema["properties"]["corpora"]["additionalProperties"]
    with open(places.HOME / "config" / "config.yaml", encoding="utf-8") as file:
        default_learners = yaml.safe_load(file)["learners"]
    named = {
        name: _optional(_variant(learners_schema["additionalProperties"], entry["algorithm"]))
        for name, entry in default_learners.items()
    }
    stream = corpus_schema["properties"]
    properties = {
        "sources": {**stream["sources"], "minItems": 1},
        "options": variants_of(corpus_schema)["documents"]["properties"]["options"],
        **{key: _optional(stream[key]) for key in ("ties", "batches")},
        **_own_properties(),
        **study,
        "study": {**study["study"], "type": ["string", "integer"]},
        "atoms": {**study["atoms"], "type": ["array", "integer"]},
        "corpora": {"type": "object"},
        "experiments": {"type": "object"},
        "learners": {**learners_schema, "properties": named},
    }
    return {**FOLDER_SCHEMA_HEAD, **closed(properties, "sources")}


def _own_properties():
    """Return the schemas of the keys that only odl.yaml has (`odl.config.project.OWN_KEYS`)."""
    return {
        project.NOTIFY: {
            "type": "string",
            "minLength": 1,
            "description": "command that receives each alert; `odl trust` must allow it",
        },
        project.ORDER_BY_VERDICTS: {
            "type": "boolean",
            "default": True,
            "description": "whether verdicts of odl judge move headlines in lists",
        },
        project.DRIVER: {"type": "string", "enum": ["snakemake"]},
        project.ADDRESS: {
            **_anchor_patterns(project.ADDRESS_SCHEMA),
            "description": "address under which new.html is opened, for links to events",
        },
    }


def _variant(schema, name):
    """Return the schema of a variant: its own properties and those of all variants."""
    return closed({**variants_of(schema)[name]["properties"], **schema["properties"]})


def _optional(schema):
    """Return a schema without required properties, also in nested maps."""
    if isinstance(schema, list):
        return [*map(_optional, schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value if key in ("if", "then") else _optional(value)
        for key, value in schema.items()
        if key != "required" or not isinstance(value, list)  # a property may be called "required"
    }


def _anchor_patterns(schema):
    """Return a schema with ^ and $ around patterns: `odl.config.schema` matches complete texts."""
    if isinstance(schema, list):
        return [*map(_anchor_patterns, schema)]
    if not isinstance(schema, dict):
        return schema
    anchored = {key: _anchor_patterns(value) for key, value in schema.items()}
    if isinstance(schema.get("pattern"), str):
        anchored["pattern"] = f"^{schema['pattern']}$"
    return anchored


def registry(steps):
    """Return the facts about learners, readers, experiments, figures and steps for the rules."""
    classes = {name: learners.learner_class(name) for name in learners.LEARNERS}
    facts = ("needs_history", "has_regret", "over_ranks", "opens", "numbers_per_atom")
    return {
        "learners": {
            name: {fact: getattr(kind, fact) for fact in facts} for name, kind in classes.items()
        },
        "readers": {name: _file_of(module.__name__) for name, module in corpora.readers().items()},
        "experiments": {name: _experiment(module) for name, module in _modules().items()},
        "figures": {name: _file_of(module.__name__) for name, module in figures.modules().items()},
        "stages": {
            name: _roots(calls.FUNCTIONS.get(name, declared.function))
            for name, declared in steps.items()
        },
    }


def text(schema):
    """Return a schema as JSON text."""
    return json.dumps(schema, ensure_ascii=False, indent=1) + "\n"


def tables(text):
    """Return the text of config/README.md with current tables of settings."""
    for section in (Stream, *SECTIONS):
        rows = rf"(?:^\| `{re.escape(section.place)}\.(?!reader|sources|options)[^\n]*\n)+"
        text = re.sub(
            rows,
            lambda _, section=section: setting.table(section, section.place),
            text,
            count=1,
            flags=re.M,
        )
    for row in setting.table(Study, "", inside=False).splitlines():
        text = re.sub(
            rf"^{re.escape(row.split(' | ')[0])} \|.*$",
            lambda _, row=row: row,
            text,
            count=1,
            flags=re.M,
        )
    return text


def write(steps, folder=SCHEMA_FOLDER):
    """Write the schema files and the tables of config/README.md."""
    readme, study = os.path.join(folder, README_PATH), schema(steps)
    with open(readme, encoding="utf-8") as file:
        described = tables(file.read())
    for path, content in (
        (os.path.join(folder, SCHEMA_FILE), text(study)),
        (os.path.join(folder, project.SCHEMA.name), text(folder_schema(study))),
        (readme, described),
    ):
        with storage.replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(content)


def _file_of(module):
    """Return the path of a module in the package, such as "corpora/newsgroups"."""
    return module.removeprefix("odl.").replace(".", "/")


def _readers():
    """Return the schema of the options of each reader."""
    entries = {}
    for name, module in corpora.readers().items():
        needed = {} if module.FILES is not None else {"required": ["sources"]}
        entries[name] = {"properties": {"options": closed(module.OPTIONS)}, **needed}
    return entries


def _modules():
    """Return the modules of the experiments by name; empty if `odl.papers` is not installed."""
    if not places.has_papers():
        return {}
    experiments = places.papers("experiments")
    return {name: experiments.module_of(name) for name in experiments.EXPERIMENTS}


def _experiments():
    """Return the schema of the settings of each experiment."""
    entries = {}
    for name, module in _modules().items():
        entries[name] = {
            "properties": {**{key: INPUT_SCHEMAS[key] for key in module.TAKES}, **module.SETTINGS}
        }
        if needed := [key for key in module.TAKES if INPUT_SCHEMAS[key].get("minItems")]:
            entries[name]["required"] = needed
    return entries


def _experiment(module):
    """Return the facts about an experiment that the rules need."""
    facts = {"algorithms": list(module.ALGORITHMS)}
    if hasattr(module, "PART"):
        facts["part"] = {
            "measured_by": _file_of(module.measure.__module__),
            "setting": module.PART,
            "unmeasured": list(module.UNMEASURED),
        }
    return facts


def _roots(function):
    """Return the files that a step imports directly, or its attribute ``begins_in``."""
    tree = ast.parse(inspect.getsource(function))
    return list(getattr(function, "begins_in", ())) or sorted(sources.imported(tree))
