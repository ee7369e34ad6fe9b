"""Writes a person's folder: a few lines of configuration, a Snakefile of a few more, and the profile beside it."""

import os
import shutil
from pathlib import Path

from odl.config import places, project
from odl.errors import ConfigError
from odl.files import storage
from odl.project.look import look

FILE, SNAKEFILE, PROFILE = project.FILE, "Snakefile", "profiles/default/config.yaml"
WORKFLOW = """# Written by `odl init`. `odl run .` and `snakemake --cores 8` in this folder do the same.
from odl.config import project


configfile: "odl.yaml"


module odl:
    snakefile:
        project.SNAKEFILE
    config:
        project.checked(config)


use rule * from odl
"""


def init(folder, sources, given, force=False):
    """Look at documents and write a folder that `odl run` and Snakemake run.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    sources : list of str
        Files, folders, patterns; none: what lies in the folder.
    given : dict
        As in `odl.project.look.look`.
    force : bool
        Replace what is written there already.

    Returns
    -------
    odl.project.look.Look
    """
    folder = Path(folder)
    path = folder / FILE
    if path.exists() and not force:
        raise ConfigError(f"{path} exists", "a folder of its own for each stream", "say --force to replace it")
    if not sources and not folder.is_dir():
        todo = f"name them, such as odl init {folder} posts/*.jsonl"
        raise ConfigError(f"no files are named, and {folder} is no folder", "the files of your documents", todo)
    found = look(list(sources) or [str(folder)], given)
    (folder / PROFILE).parent.mkdir(parents=True, exist_ok=True)
    _write(path, text(found, project.name_of(folder.resolve().name), folder))
    _write(folder / SNAKEFILE, WORKFLOW)
    shutil.copyfile(places.PROFILE, folder / PROFILE)
    return found


def text(found, name, folder):
    """Return the lines of an odl.yaml."""
    n, span = found.n_documents, f", {found.span}" if found.span else ""
    lines = [
        f"# {n:,} document{'s' * (n != 1)}{span}. Other keys are those of odl's config/README.md.",
        f"study: {name}",
        f"sources: {_flow([_from(folder, source) for source in found.sources])}",
        f"options: {_flow(found.options)}",
        f"batches: {_flow(found.batches)}",
    ]
    return "\n".join(lines) + "\n"


def _from(folder, source):
    """Return a path as it is named from the folder: relative, unless that would climb to the root."""
    relative = os.path.relpath(os.path.abspath(source), os.path.abspath(folder))
    outside = os.path.commonpath([os.path.abspath(source), os.path.abspath(folder)]) == os.path.abspath(os.sep)
    return os.path.abspath(source) if outside else relative


def _flow(value):
    """Return a value as YAML on one line."""
    import yaml

    return yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1 << 20).strip()


def _write(path, content):
    with storage.replacing(str(path)) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(content)
