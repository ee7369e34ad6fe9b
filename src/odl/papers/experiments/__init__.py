"""Registry of the experiments, one module each, imported when used.

A module of this package is an experiment if it has::

    TITLE : str                 heading in the report
    SETTINGS : dict             maps names of settings to JSON schemas with defaults
    TAKES : tuple of str        its inputs, some of "files", "streams", "learners", "experiments"
    ALGORITHMS : tuple of str   learners that it uses
    run(settings, folder, files) -> None
                                writes tables (.tsv) and figures (.png, .svg) into `folder`; has a
                                fourth argument `study` if the experiment takes streams
    shown(tables) -> dict       optional: values for its template ``NAME.jinja``, in addition to
                                `folder`, `tables` and `figures`

An experiment without ``NAME.jinja`` has no section in the report. If an experiment has independent
parts, its module has these names instead of `run`, and each part can be a separate job::

    PART : str                  name of a setting that is a list of numbers, one for each part
    UNMEASURED : tuple of str   names of the settings that only `finish` uses
    measure(settings, files) -> dict
                                returns the rows of each table, sorted by part
    finish(settings, folder, files, measured) -> None
                                writes tables and figures from these rows

`measure` is defined in a module that draws nothing, so changes of figures do not repeat
measurements. Settings are complete and checked. Results have reproducible bytes.
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
SETTINGS_FILE = "settings.json"  # written last; its presence shows that an experiment is finished


def module_of(name):
    """Return the module of an experiment.

    Raises
    ------
    ConfigError
        If the experiment does not exist; the message suggests the nearest name.
    """
    if name not in EXPERIMENTS:
        raise ConfigError(
            f"the experiment {name!r} is unknown",
            "one of " + ", ".join(EXPERIMENTS),
            advice(name, EXPERIMENTS),
        )
    return import_module(f"odl.papers.experiments.{name}")


def complete(name, settings):
    """Check the settings of an experiment; return them with defaults for missing settings.

    Raises
    ------
    ConfigError
        If the experiment or a setting does not exist, or a value is out of range.
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
        Input files; see `run`.

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
    """Return a dict that identifies a measured part, from which `run` recognises wrong files.

    It has the experiment, the part, the settings that `measure` uses, and a digest of the code of
    `measure` and its imports.
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
        Input files, documents of streams, or folders of other experiments, depending on ``TAKES``
        of the module.
    study : dict, optional
        Streams and learners, from `odl.config.chains.study_of`.
    parts : sequence of path-like, optional
        Files that `measure` wrote for all parts, in order. If empty, the parts are computed here.
    """
    settings, module = complete(name, dict(settings or {})), module_of(name)
    files = [os.fspath(file) for file in files]
    if parts and not hasattr(module, "PART"):
        raise ConfigError(f"the experiment {name!r} has no parts", "no --parts", "omit --parts")
    with filling(folder) as unfinished:
        if hasattr(module, "PART"):
            if parts:
                tables = _read_parts(name, settings, parts)
            else:
                tables = module.measure(settings, files)
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
    # Tables of another version may lack columns or rows that the template or `shown` uses, which
    # causes one of these errors.
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
    """Return {table name: rows of all parts, in their order}.

    Raises
    ------
    DataError
        If the number of files is wrong, or a file does not have the part at its position.
    """
    values, tables_of = settings[module_of(name).PART], {}
    if len(parts) != len(values):
        raise DataError(
            f"{len(parts)} files of parts of {name} are given",
            f"{len(values)} files, one for each of {values}",
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
