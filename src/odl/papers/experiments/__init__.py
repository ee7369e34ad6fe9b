"""Registry of the experiments, one module each, imported when used.

A module of this package is an experiment if it has::

    TITLE : str                 heading in the report
    SETTINGS : dict             maps names of settings to JSON schemas with defaults
    TAKES : tuple of str        its inputs: some of "files", "streams", "learners", "experiments"
    ALGORITHMS : tuple of str   learners that it uses
    run(settings, folder, files) -> None
                                write tables (.tsv) and figures (.png, .svg) into `folder`;
                                with a fourth argument `study` if it takes streams
    shown(tables) -> dict       optional: further values for its template ``NAME.jinja``,
                                which also gets `folder`, `tables` and `figures`

An experiment without ``NAME.jinja`` is not in the report; another experiment shows its tables. If
the work has independent parts, the module has instead of `run`::

    PART : str                  name of a setting that is a list of numbers, one for each part
    UNMEASURED : tuple of str   names of the settings that only `finish` uses
    measure(settings, files) -> dict
                                rows of each table, sorted by number
    finish(settings, folder, files, measured) -> None
                                write tables and figures from these rows

so that each part can be a job of its own. `measure` is defined in a module that draws nothing.
Changes of figures therefore do not repeat measurements. The settings that these functions get are
complete and checked. Equal settings and files give equal bytes.
"""

import os
import pkgutil
from importlib import import_module
from pathlib import Path

from jinja2 import TemplateError

from odl.config import consistency, sources
from odl.config.schema import check_map, closed
from odl.errors import ConfigError, DataError, StorageError, advice
from odl.files.atomic import filling
from odl.files.tables import read_json, read_table, write_json, write_table
from odl.report import page

EXPERIMENTS = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))
SETTINGS_FILE = "settings.json"  # written last, so it marks the folder of a finished experiment


def module_of(name):
    """Return the module of an experiment.

    Raises
    ------
    ConfigError
        If no experiment has this name; the message suggests the nearest one.
    """
    if name not in EXPERIMENTS:
        raise ConfigError(
            f"the experiment {name!r} is unknown",
            "one of " + ", ".join(EXPERIMENTS),
            advice(name, EXPERIMENTS),
        )
    return import_module(f"odl.papers.experiments.{name}")


def complete(name, settings):
    """Check the settings of an experiment, and add the defaults of missing ones.

    Raises
    ------
    ConfigError
        If the experiment or a setting is unknown (the message suggests the nearest name), or a
        value is out of range.
    """
    schemas = module_of(name).SETTINGS
    check_map(settings, closed(schemas), name)
    consistency.check_each_once(
        {f"{name}.{key}": value for key, value in settings.items() if isinstance(value, list)}
    )
    return {**{key: schema["default"] for key, schema in schemas.items()}, **settings}


def measure(name, output, part, settings=None, files=()):
    """Compute one part of an experiment, and write its rows to a file that `run` reads.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    output : path-like
        JSON file to write: the identity of the part (`_head`), and the rows of its tables.
    part : int
        Value of the setting that the module names in ``PART``. It replaces the value in `settings`.
    settings : dict, optional
        Settings that differ from the defaults.
    files : sequence of path-like
        The data; see `run`.

    Raises
    ------
    ConfigError
        If the experiment is unknown or has no parts, or a setting is unknown or out of range.
    """
    module = module_of(name)
    if not hasattr(module, "PART"):
        raise ConfigError(
            f"the experiment {name!r} has no parts",
            "an experiment that is measured in parts",
            "compute it with `odl step experiment`",
        )
    settings = complete(name, {**dict(settings or {}), module.PART: [part]})
    tables = module.measure(settings, [os.fspath(file) for file in files])
    write_json(output, {**_head(name, settings, part), "tables": tables})


def _head(name, settings, part):
    """Return what identifies a measured part, so that `run` refuses rows of another part.

    The dict contains the experiment, the part, the settings that `measure` uses, and a digest of
    the code of `measure` and its imports.
    """
    module = module_of(name)
    measured = {
        key: value
        for key, value in settings.items()
        if key not in (module.PART, *module.UNMEASURED)
    }
    code = sources.digest(module.measure.__module__.removeprefix("odl.").replace(".", "/"))
    return {"experiment": name, "part": part, "settings": measured, "code": code}


def run(name, folder, settings=None, files=(), study=None, parts=()):
    """Run an experiment.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    folder : path-like
        Folder to fill with tables, figures and ``settings.json``.
    settings : dict, optional
        Settings that differ from the defaults.
    files : sequence of path-like
        The data: files, documents of streams, or folders of other experiments, as ``TAKES`` of the
        module says.
    study : dict, optional
        Streams and learners, from `odl.config.chains.study_of`.
    parts : sequence of path-like, optional
        Files written by `measure` for every part, in order; if empty, the parts are computed here.
    """
    settings, module = complete(name, dict(settings or {})), module_of(name)
    files = [os.fspath(file) for file in files]
    if parts and not hasattr(module, "PART"):
        raise ConfigError(
            f"--parts for the experiment {name!r}, which has none", "no --parts", "omit --parts"
        )
    with filling(folder) as unfinished:
        if hasattr(module, "PART"):
            tables = (
                _read_parts(name, settings, parts) if parts else module.measure(settings, files)
            )
            module.finish(settings, unfinished, files, tables)
        else:
            module.run(settings, unfinished, files, *((study,) if study else ()))
    record = {"experiment": name, "settings": settings, **({"study": study} if study else {})}
    write_json(os.path.join(folder, SETTINGS_FILE), record)


def write(folder, tables, figures):
    """Write tables and figures into the folder of an experiment.

    Parameters
    ----------
    folder : path-like
    tables : dict of str to list of dict, or to (list of dict, columns)
        A table without rows is omitted unless its columns are named.
    figures : dict of str to Figure
    """
    from odl.report import plots

    for name, table in tables.items():
        rows, *columns = table if isinstance(table, tuple) else (table,)
        if rows or columns:
            write_table(os.path.join(folder, f"{name}.tsv"), rows, *columns)
    for name, figure in figures.items():
        plots.save(figure, os.path.join(folder, name))


def section(folder):
    """Return (name, title, HTML) of a finished experiment for the report.

    The HTML is empty if the experiment has no template.

    Raises
    ------
    DataError
        If the folder has no finished experiment.
    """
    try:
        name = read_json(os.path.join(folder, SETTINGS_FILE))["experiment"]
        module, content = module_of(name), ""
        if os.path.exists(os.path.join(*__path__, f"{name}.jinja")):
            paths = sorted(Path(folder).iterdir())
            tables = {path.stem: read_table(path) for path in paths if path.suffix == ".tsv"}
            figures = [path.stem for path in paths if path.suffix == ".svg"]
            values = module.shown(tables) if hasattr(module, "shown") else {}
            content = page.render(
                f"papers/experiments/{name}.jinja",
                folder=os.fspath(folder),
                tables=tables,
                figures=figures,
                **values,
            )
    # The tables may come from another version of the program, and then lack columns or rows that
    # the template or `shown` uses. These are the errors of such a lookup or computation.
    except (
        StorageError,
        OSError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        TemplateError,
    ) as error:
        reason = error.given if isinstance(error, StorageError) else " ".join(str(error).split())
        raise DataError(
            f"{folder} contains no finished experiment ({reason})",
            f"{SETTINGS_FILE} and its tables",
            f"delete {folder} and run the experiment again",
        ) from error
    return os.path.basename(os.path.normpath(folder)), module.TITLE, content


def _read_parts(name, settings, parts):
    """Return a dict from table names to the rows of all parts, in the order of the parts.

    Raises
    ------
    DataError
        If the number of files is wrong, or a file is not the part that belongs at its position.
    """
    values, tables_of = settings[module_of(name).PART], {}
    if len(parts) != len(values):
        raise DataError(
            f"{len(parts)} parts of {name}",
            f"{len(values)} parts, one for each of {values}",
            "pass a file for each value",
        )
    for path, value in zip(parts, values, strict=True):
        try:
            content = read_json(path)
            tables = content.pop("tables")
            if content != _head(name, settings, value):
                raise ValueError("another part")
        except (StorageError, OSError, ValueError, LookupError) as error:
            raise DataError(
                f"{path} is not the expected part",
                f"part {value} of {name}, measured with the same settings and code",
                f"delete it and run `odl step measure` again for part {value}",
            ) from error
        for table, rows in tables.items():
            tables_of.setdefault(table, []).extend(rows)
    return tables_of
