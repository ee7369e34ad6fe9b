# What all rules share: the checked configuration, the paths, the sources a result depends on.
import csv
import functools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import yaml
from odl.config import chains, consistency, places, schema, sections, setting, sources
from odl.errors import ConfigError, OdlError

# Beside the workflow, by a path that stays and is the same in every run; only of what came over a network there is none.
REGISTRY_FILE = (
    os.path.relpath(str(workflow.current_basedir.join("../../data/corpora.csv")))
    if workflow.current_basedir.is_local
    else workflow.source_path("../../data/corpora.csv")
)

try:
    with open(
        workflow.source_path("../../config/config.yaml"), encoding="utf-8"
    ) as defaults:
        setting.merge(config, yaml.safe_load(defaults))
    SCHEMA = schema.load_schema(workflow.source_path("../schemas/config.schema.json"))
    consistency.check_config(config, SCHEMA)
    # What learners, readers, experiments, figures and commands say of themselves (odl.cli.registry).
    KNOWN = SCHEMA["registry"]
    with open(REGISTRY_FILE, newline="", encoding="utf-8") as table:
        REGISTRY = list(csv.DictReader(table))
    os.environ.update(
        ODL_MIRROR=chains.mirror_of(config), ODL_KEEP=str(config["checkpoints"]["keep"])
    )
    CORPUS_FILES = {
        name: chains.sources_of(config, name, REGISTRY, "data")
        for name in chains.corpora_of(config)
    }
    chains.refuse_names(sum(CORPUS_FILES.values(), []), wildcards=True)
except ConfigError as error:
    sys.exit(f"odl: {error}")

ROOT = f"{config['results']}/{config['study']}"
STREAM = ROOT + "/{corpus}/seed{seed}"
RUN = STREAM + "/{run}/k{k}"
RUN_NAME = r"[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*"
RANKED = "|".join(re.escape(name) for name in config["ranks"])  # runs over MPI
ALONE = f"(?!({RANKED})/){RUN_NAME}" if RANKED else RUN_NAME


wildcard_constraints:
    t=r"\d+",
    k=r"\d+",
    seed=r"\d+",
    corpus=sections.NAME_PATTERN,
    run=RUN_NAME,
    experiment=r"[a-z0-9][a-z0-9-]*",
    part=r"0|[1-9]\d*",


def code(stage, *files, packages=(), more=""):
    """Digest of the package files that a stage depends on, with those of a learner, reader or experiment, and of the
    versions of packages, and more.

    A param of every rule. Files listed as inputs would do the same at thirty inputs a job, which takes minutes for
    ten thousand jobs.
    """
    return sources.digest(*KNOWN["stages"][stage], *files, packages=packages, more=more)


@functools.cache
def read_index(path, changed):
    """Rows of an index as it lies there, read once for each time it is changed."""
    try:
        return chains.read_index(path)
    except OdlError as error:
        sys.exit(f"odl: {error}")


def index(wildcards):
    """Rows of the batch index; waits for the checkpoint that makes it."""
    seed = chains.order_seed(config, wildcards.corpus, wildcards.seed)
    path = checkpoints.index.get(corpus=wildcards.corpus, seed=seed).output.table
    return read_index(str(path), os.stat(path).st_mtime_ns)


def row(column):
    """A column of this timestep's row, from the index as it lies there, so that direct targets do not rerun."""

    def value(wildcards):
        path = f"{ROOT}/{wildcards.corpus}/seed{wildcards.seed}/index.tsv"
        rows = []
        if os.path.exists(path):
            rows = read_index(path, os.stat(path).st_mtime_ns)
        if int(wildcards.t) >= len(rows):
            rows = index(wildcards)
        return rows[int(wildcards.t)][column]

    return value


def before(pattern):
    """Return an input function: the file of the timestep before, none for timestep 0."""
    return lambda wildcards: (
        pattern.format(**{**wildcards, "t": int(wildcards.t) - 1})
        if int(wildcards.t)
        else []
    )


def timesteps(wildcards):
    return range(len(index(wildcards)))


def stream_of(wildcards):
    """Folder of the batches and features of a seed; one folder serves all seeds if nothing is drawn."""
    seed = chains.order_seed(config, wildcards.corpus, wildcards.seed)
    return f"{ROOT}/{wildcards.corpus}/seed{seed}"


def modules_to_load():
    """Modules of the steps that run once per timestep or chain, which the fork server loads before its first fork."""
    files = ["files/agentfiles"]
    for stage in ("batch", "features", "update", "baselines", "topics", "evaluate"):
        files += KNOWN["stages"].get(stage, [])
    files += [
        f"learners/{config['learners'][run]['algorithm']}" for run in config["runs"]
    ]
    if config["alerts"]["run"]:
        files += KNOWN["stages"]["alerts"]
    return [f"odl.{file.replace('/', '.')}" for file in files]


def refuse_unwritable():
    """End in one sentence where the results cannot be written: Snakemake's own words are pages."""
    folder = places.unwritable(ROOT)
    if folder:
        sys.exit(
            f"odl: {folder} may not be written; expected a folder for results; correct its permissions or set 'results'."
        )
