"""``odl init``: a person's folder of a few lines of configuration, a Snakefile of a few more, and its profile."""

import glob
import os
from contextlib import ExitStack
from pathlib import Path

from odl.cli.survey import survey
from odl.config import places, project
from odl.config.chains import refuse_names
from odl.errors import ConfigError
from odl.files import storage
from odl.files.listing import find_files

FILE, SNAKEFILE, PROFILE = project.FILE, "Snakefile", "profiles/default/config.yaml"
OF_SNAKEMAKE = {SNAKEFILE: places.OWN, PROFILE: places.PROFILE}


def write(folder, sources, answers, force=False, snakemake=False):
    """Look at documents and write a folder that `odl run` runs, or Snakemake.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    sources : list of str
        Files, folders, patterns; none: what lies in the folder.
    answers : dict
        As in `odl.cli.survey.survey`.
    force : bool
        Replace what is written there already.
    snakemake : bool
        Whether Snakemake is to run the folder, as on a cluster.

    Returns
    -------
    odl.cli.survey.Survey
    """
    folder = Path(folder)
    path = folder / FILE
    if path.exists() and not force:
        raise ConfigError(f"{path} exists", "a folder of its own for each stream", "say --force to replace it")
    if not sources and not folder.is_dir():
        todo = f"name them, such as odl init {folder} posts/*.jsonl"
        raise ConfigError(f"no files are named, and {folder} is no folder", "the files of your documents", todo)
    report = survey(list(sources) or [str(folder)], answers)
    files = find_files(report.sources, report.options.get("kind"))
    refuse_names([_from(folder, path) for _, path in files], wildcards=snakemake)
    contents = {FILE: text(report, project.name_of(folder.resolve().name), folder)}
    if snakemake:
        contents[FILE] += f"{project.DRIVER}: snakemake\n"
        contents |= {name: path.read_text(encoding="utf-8") for name, path in OF_SNAKEMAKE.items()}
    _write(folder, contents)
    return report


def text(report, name, folder):
    """Return the lines of an odl.yaml."""
    n, span = report.n_documents, f", {report.span}" if report.span else ""
    lines = [
        f"# {n:,} document{'s' * (n != 1)}{span}. Other keys are those of odl's config/README.md.",
        f"study: {name}",
        f"sources: {_flow([_from(folder, source) for source in report.sources])}",
        f"options: {_flow(report.options)}",
        *([f"ties: {report.ties}"] if report.ties else []),
        f"batches: {_flow(report.batches)}",
        *([f"features: {_flow(report.features)}"] if report.features else []),
        "learners: {levels: {recency: 0.5}}",
        "alerts: {gates: true, rest: true, unseen: 3}",
    ]
    return "\n".join(lines) + "\n"


def _from(folder, source):
    """Return a path or pattern as it is named from the folder: relative, unless that would climb to the root."""
    here, folder = os.getcwd(), os.path.abspath(folder)
    if not os.path.exists(source):  # a pattern: what is put before it is to be read as it stands
        here, folder = glob.escape(here), glob.escape(folder)
    source = os.path.normpath(os.path.join(here, source))
    outside = os.path.commonpath([source, folder]) == os.sep
    return source if outside else os.path.relpath(source, folder)


def _flow(value):
    """Return a value as YAML on one line."""
    import yaml

    return yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=1 << 20).strip()


def _write(folder, contents):
    """Write files that belong together: renamed when all are whole, the first last, by which the folder is told."""
    with ExitStack() as stack:
        for name, content in contents.items():
            temporary = stack.enter_context(storage.replacing(folder / name))
            Path(temporary).write_text(content, encoding="utf-8")
