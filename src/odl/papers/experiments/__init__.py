"""Registry of the experiments: studies of a method beside the streams, one module each, imported when asked for.

A module is an experiment if it has::

    TITLE : str                             heading on the page
    SETTINGS : dict                         name of a setting -> JSON schema with its default
    TAKES : tuple of str                    what it works on: some of "files", "streams", "learners", "experiments"
    ALGORITHMS : tuple of str               learners whose kernels it uses
    run(settings, folder, files) -> None    measure; write tables (.tsv) and figures (.png, .svg) into `folder`;
                                            with a fourth argument `study`, where it works on streams
    shown(tables) -> dict                   what ``NAME.jinja`` beside it names beside `folder`, `tables`, `figures`,
                                            from the rows of the tables; left out where there is nothing to compute

Where there is no ``NAME.jinja``, another experiment shows it. A module may have,

where the work falls into parts that know nothing of each other, instead of `run`::

    PART : str                              name of the setting, a list of numbers, of which a part has one
    UNMEASURED : tuple of str               names of settings that only `finish` uses
    measure(settings, files) -> dict        name -> rows, those of one number after those of the one before
    finish(settings, folder, files, measured)  write and draw what was measured

so that parts can be jobs of their own. `measure` is in a file without what only `finish` needs, whose changes
then measure nothing again. Every setting is there, checked. Equal settings and files give equal bytes.
"""

import os
import pkgutil
from importlib import import_module

from jinja2 import TemplateError

from odl.config import consistency, sources
from odl.config.schema import check_map, closed
from odl.errors import ConfigError, DataError, StorageError, advice
from odl.files.atomic import filling
from odl.files.tables import read_json, read_table, write_json, write_table
from odl.report import page

EXPERIMENTS = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))
RECORD = "settings.json"  # in the folder of an experiment, written last


def module_of(name):
    """Return the module of an experiment.

    Raises
    ------
    ConfigError
        If there is none of that name, naming the nearest one.
    """
    if name not in EXPERIMENTS:
        expected = "one of " + ", ".join(EXPERIMENTS)
        raise ConfigError(f"the experiment {name!r} is unknown", expected, advice(name, EXPERIMENTS))
    return import_module(f"odl.papers.experiments.{name}")


def complete(name, settings):
    """Return the settings of an experiment, checked, those left out with their defaults.

    Raises
    ------
    ConfigError
        At the first setting that is wrong, naming the nearest key for a typo.
    """
    known = module_of(name).SETTINGS
    check_map(settings, closed(known), name)
    consistency.check_each_once({f"{name}.{key}": value for key, value in settings.items() if isinstance(value, list)})
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
    tables = module.measure(settings, [os.fspath(file) for file in files])
    write_json(output, {**_head(name, settings, part), "tables": tables})


def _head(name, settings, part):
    """Return what a part belongs to: equal heads are parts of one experiment, measured by the same code."""
    module = module_of(name)
    measured = {key: value for key, value in settings.items() if key not in (module.PART, *module.UNMEASURED)}
    code = sources.digest(module.measure.__module__.removeprefix("odl.").replace(".", "/"))
    return {"experiment": name, "part": part, "settings": measured, "code": code}


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
        Streams and learners, as `odl.config.chains.study_of` makes it.
    parts : sequence of path-like, optional
        What `measure` wrote of every part, in their order; measured here where there is none.
    """
    settings, module = complete(name, dict(settings or {})), module_of(name)
    files = [os.fspath(file) for file in files]
    if parts and not hasattr(module, "PART"):
        raise ConfigError(f"parts of the experiment {name!r}, which has none", "no parts", "leave them out")
    with filling(folder) as place:
        if hasattr(module, "PART"):
            measured = _gathered(name, settings, parts) if parts else module.measure(settings, files)
            module.finish(settings, place, files, measured)
        else:
            module.run(settings, place, files, *((study,) if study else ()))
    record = {"experiment": name, "settings": settings, **({"study": study} if study else {})}
    write_json(os.path.join(folder, RECORD), record)


def write(folder, tables, figures):
    """Write the tables of an experiment (name to rows, or to rows and columns; none without either) and its figures."""
    from odl.report import plots

    for name, table in tables.items():
        rows, *columns = table if isinstance(table, tuple) else (table,)
        if rows or columns:
            write_table(os.path.join(folder, f"{name}.tsv"), rows, *columns)
    for name, figure in figures.items():
        plots.save(figure, os.path.join(folder, name))


def section(folder):
    """Return name, title and content of the part of the page about a finished experiment; no content, no part.

    Raises
    ------
    DataError
        If the folder holds no finished experiment.
    """
    try:
        record = read_json(os.path.join(folder, RECORD))
        module, folder = module_of(record["experiment"]), os.fspath(folder)
        template = f"papers/experiments/{record['experiment']}.jinja"
        content = ""
        if os.path.exists(os.path.join(*__path__, os.path.basename(template))):
            files = sorted(os.listdir(folder))
            tables = {name[:-4]: read_table(os.path.join(folder, name)) for name in files if name.endswith(".tsv")}
            figures = [name[:-4] for name in files if name.endswith(".svg")]
            values = module.shown(tables) if hasattr(module, "shown") else {}
            content = page.render(template, folder=folder, tables=tables, figures=figures, **values)
    except (StorageError, OSError, LookupError, TypeError, ValueError, ArithmeticError, TemplateError) as error:
        what = error.given if isinstance(error, StorageError) else " ".join(str(error).split())
        defect = f"{folder} holds no finished experiment ({what})"
        raise DataError(defect, f"{RECORD} and its results", f"delete {folder} and run it again") from error
    return os.path.basename(os.path.normpath(folder)), module.TITLE, content


def _gathered(name, settings, parts):
    """Return the rows of all parts, table by table; refuse what is not the part expected."""
    values, tables_of = settings[module_of(name).PART], {}
    if len(parts) != len(values):
        raise DataError(f"{len(parts)} parts of {name}", f"{len(values)}, one for each of {values}", "name them all")
    for path, value in zip(parts, values, strict=True):
        try:
            content = read_json(path)
            tables = content.pop("tables")
            if content != _head(name, settings, value):
                raise ValueError("another part")
        except (StorageError, OSError, ValueError, LookupError) as error:
            wanted = f"part {value} of {name} with the same settings and code, as `odl step measure` writes it"
            raise DataError(f"{path} is not what was measured", wanted, "delete it and run it again") from error
        for table, rows in tables.items():
            tables_of.setdefault(table, []).extend(rows)
    return tables_of
