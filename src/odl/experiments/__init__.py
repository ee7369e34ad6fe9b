"""Registry of the experiments: studies of a method beside the streams, one module each, imported when asked for.

A module is an experiment if it has

    TITLE : str                             heading on the page
    SETTINGS : dict                         name of a setting -> JSON schema with its default
    TAKES : tuple of str                    what it works on: some of "files", "streams", "learners", "experiments"
    ALGORITHMS : tuple of str               learners whose kernels it uses
    run(settings, folder, files) -> None    measure; write tables (.tsv) and figures (.png, .svg) into `folder`;
                                            with a fourth argument `study`, where it works on streams
    section(folder) -> list of Markup       what the page says about them; left out where another experiment shows them

or, where the work falls into parts that know nothing of each other, instead of `run`

    PART : str                              name of the setting, a list of numbers, of which a part has one
    UNMEASURED : tuple of str               names of settings that only `finish` uses
    measure(settings, files) -> dict        name -> rows, those of one number after those of the one before
    finish(settings, folder, files, found)  write and draw what was measured

so that parts can be jobs of their own; `measure` is in a file without what only `finish` needs, whose changes then
measure nothing again. Every setting is given, checked. Equal settings and files give equal bytes.
"""

import difflib
import hashlib
import json
import os
import re
from importlib import import_module
from pathlib import Path

from odl import config
from odl.config import sources
from odl.errors import ConfigError, DataError
from odl.files import storage

# Files with a title; read, not imported, so that asking for one imports no other.
EXPERIMENTS = tuple(
    path.stem
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if re.search(r"^TITLE = ", path.read_text(encoding="utf-8"), re.MULTILINE)
)
HELD = "settings.json"  # in the folder of an experiment, written last


def module_of(name):
    """Return the module of an experiment.

    Raises
    ------
    ConfigError
        If there is none of that name, naming the nearest one.
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(str(name), EXPERIMENTS, n=1)
        todo = f"did you mean '{near[0]}'?" if near else "choose one of these"
        raise ConfigError(f"the experiment {name!r} is unknown", "one of " + ", ".join(EXPERIMENTS), todo)
    return import_module(f"odl.experiments.{name}")


def schema():
    """Return the settings of every experiment, as the configuration's schema has them."""
    return {name: module_of(name).SETTINGS for name in EXPERIMENTS}


def complete(name, settings):
    """Return the settings of an experiment, checked, those left out with their defaults.

    Raises
    ------
    ConfigError
        At the first setting that is wrong, naming the nearest key for a typo.
    """
    known = module_of(name).SETTINGS
    config.check_map(settings, {"type": "object", "additionalProperties": False, "properties": known}, name)
    config.check_each_once({f"{name}.{key}": held for key, held in settings.items() if isinstance(held, list)})
    return {**{key: entry["default"] for key, entry in known.items()}, **settings}


def measure(name, output, part, settings=None, files=()):
    """Measure one part of an experiment, for `run` to go on from.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    output : path-like
        Receives rows of tables, as JSON.
    part : int
        The one value of the setting that the module names; whatever `settings` has there.
    settings, files
        As `run`.

    Raises
    ------
    ConfigError
        If the experiment has no parts.
    """
    module = module_of(name)
    if not hasattr(module, "PART"):
        raise ConfigError(f"the experiment {name!r} has no parts", "one that is measured in parts", "run it as a whole")
    settings = complete(name, {**dict(settings or {}), module.PART: [part]})
    with storage.replacing(output) as temporary, open(temporary, "w", encoding="utf-8") as file:
        tables = module.measure(settings, [os.fspath(file) for file in files])
        file.write(json.dumps({**_head(name, settings, part), **_sealed(tables)}, indent=1) + "\n")


def _head(name, settings, part):
    """Return what a part belongs to: equal heads are parts of one experiment, measured by the same code."""
    module = module_of(name)
    measured = {key: value for key, value in settings.items() if key not in (module.PART, *module.UNMEASURED)}
    code = sources.digest(module.measure.__module__.removeprefix("odl.").replace(".", "/"))
    return {"experiment": name, "part": part, "settings": measured, "code": code}


def _sealed(tables):
    return {"tables": tables, "digest": hashlib.sha256(json.dumps(tables).encode()).hexdigest()}


def run(name, folder, settings=None, files=(), study=None, parts=()):
    """Run an experiment.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    folder : path-like
        Receives its tables and figures, and ``settings.json``.
    settings : dict, optional
        Those that differ from the defaults.
    files : sequence of path-like
        The data it works on, as its settings want them: documents of streams, folders of other experiments.
    study : dict, optional
        Streams and learners, as `odl.config.study_of` makes it.
    parts : sequence of path-like, optional
        What `measure` wrote of every part, in their order; measured here where there is none.
    """
    settings, module = complete(name, dict(settings or {})), module_of(name)
    files = [os.fspath(file) for file in files]
    if parts and not hasattr(module, "PART"):
        raise ConfigError(f"parts of the experiment {name!r}, which has none", "no parts", "leave them out")
    with storage.filling(folder) as place:
        if hasattr(module, "PART"):
            found = _gathered(name, settings, parts) if parts else module.measure(settings, files)
            module.finish(settings, place, files, found)
        else:
            module.run(settings, place, files, *((study,) if study else ()))
    with storage.replacing(os.path.join(folder, HELD)) as temporary, open(temporary, "w", encoding="utf-8") as file:
        held = {"experiment": name, "settings": settings, **({"study": study} if study else {})}
        file.write(json.dumps(held, indent=1) + "\n")


def section(folder):
    """Return name, title and content of the part of the page about a finished experiment; no content, no part.

    Raises
    ------
    DataError
        If the folder holds no finished experiment.
    """
    try:
        with open(os.path.join(folder, HELD), encoding="utf-8") as file:
            held = json.load(file)
        if not isinstance(held, dict) or not isinstance(held.get("experiment"), str):
            raise ValueError("no experiment is named")
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(folder) from error
    module, name = module_of(held["experiment"]), os.path.basename(os.path.normpath(folder))
    if not hasattr(module, "section"):
        return name, module.TITLE, []
    try:
        return name, module.TITLE, module.section(os.fspath(folder))
    except (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _damaged(folder) from error


def _gathered(name, settings, parts):
    """Return the rows of all parts, table by table; refuse what is not the part expected."""
    values, found = settings[module_of(name).PART], {}
    if len(parts) != len(values):
        raise DataError(f"{len(parts)} parts of {name}", f"{len(values)}, one for each of {values}", "name them all")
    for path, value in zip(parts, values, strict=True):
        try:
            with open(path, encoding="utf-8") as file:
                held = json.load(file)
            tables = held["tables"]
            if held != {**_head(name, settings, value), **_sealed(tables)}:
                raise ValueError("another part, or an edited one")
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            wanted = f"part {value} of {name} with the same settings and code, as `odl measure` writes it"
            raise DataError(f"{path} is not what was measured", wanted, "delete it and run it again") from error
        for table, rows in tables.items():
            found.setdefault(table, []).extend(rows)
    return found


def _damaged(folder):
    return DataError(f"{folder} holds no finished experiment", f"{HELD} and its results", "delete it and run it again")
