# Shared by all rules: the checked configuration, paths, and digests of the code of a step.
import csv
import functools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import yaml
from odl.config import chains, consistency, places, schema, sections, setting, sources
from odl.errors import ConfigError, OdlError

# A relative path, which is the same on every machine. A workflow that was fetched over a network
# has no such path.
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
    # Properties of learners, readers, experiments, figures and commands (odl.cli.registry).
    FACTS = SCHEMA["registry"]
    with open(REGISTRY_FILE, newline="", encoding="utf-8") as table:
        CORPUS_REGISTRY = list(csv.DictReader(table))
    os.environ.update(
        ODL_MIRROR=chains.mirror_of(config), ODL_KEEP=str(config["checkpoints"]["keep"])
    )
    CORPUS_FILES = {
        name: chains.sources_of(config, name, CORPUS_REGISTRY, "data")
        for name in chains.corpora_of(config)
    }
    chains.refuse_names(sum(CORPUS_FILES.values(), []), wildcards=True)
except ConfigError as error:
    sys.exit(f"odl: {error}")

ROOT = f"{config['results']}/{config['study']}"
STREAM = ROOT + "/{corpus}/seed{seed}"
RUN = STREAM + "/{run}/k{k}"
RUN_NAME = r"[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*"
RUNS_OVER_RANKS = "|".join(re.escape(name) for name in config["ranks"])  # runs over MPI
RUNS_IN_ONE_PROCESS = (
    f"(?!({RUNS_OVER_RANKS})/){RUN_NAME}" if RUNS_OVER_RANKS else RUN_NAME
)


wildcard_constraints:
    t=r"\d+",
    k=r"\d+",
    seed=r"\d+",
    corpus=sections.NAME_PATTERN,
    run=RUN_NAME,
    experiment=r"[a-z0-9][a-z0-9-]*",
    part=r"0|[1-9]\d*",


def code(stage, *files, packages=(), more=""):
    """Return the digest of the package files on which a stage depends.

    `files` are further files (of a learner, reader or experiment), `packages` installed packages whose
    versions count, `more` any text. It is a param of the rules. As inputs, the files would be thirty
    inputs per job, which takes minutes for ten thousand jobs.
    """
    return sources.digest(*FACTS["stages"][stage], *files, packages=packages, more=more)


@functools.cache
def read_index(path, changed):
    """Return the rows of an index file; `changed`, its modification time, is a key of the cache."""
    try:
        return chains.read_index(path)
    except OdlError as error:
        sys.exit(f"odl: {error}")


def index(wildcards):
    """Return the rows of the batch index, after the checkpoint that writes it."""
    seed = chains.order_seed(config, wildcards.corpus, wildcards.seed)
    path = checkpoints.index.get(corpus=wildcards.corpus, seed=seed).output.table
    return read_index(str(path), os.stat(path).st_mtime_ns)


def index_column(column):
    """Return a function of wildcards: the value of a column of the index at a timestep.

    It reads an existing index, and waits for the checkpoint if the timestep is not in it.
    """

    def value(wildcards):
        path = f"{ROOT}/{wildcards.corpus}/seed{wildcards.seed}/index.tsv"
        rows = []
        if os.path.exists(path):
            rows = read_index(path, os.stat(path).st_mtime_ns)
        if int(wildcards.t) >= len(rows):
            rows = index(wildcards)
        return rows[int(wildcards.t)][column]

    return value


def file_before(pattern):
    """Return an input function: the file of the timestep before; no file for timestep 0."""
    return lambda wildcards: (
        pattern.format(**{**wildcards, "t": int(wildcards.t) - 1})
        if int(wildcards.t)
        else []
    )


def timesteps(wildcards):
    return range(len(index(wildcards)))


def stream_of(wildcards):
    """Return the folder of batches and features of a seed.

    Seeds share it if the order is not random.
    """
    seed = chains.order_seed(config, wildcards.corpus, wildcards.seed)
    return f"{ROOT}/{wildcards.corpus}/seed{seed}"


def modules_to_load():
    """Return the modules that the fork server loads before its first fork.

    They are those of the steps that run once per timestep or chain.
    """
    files = ["files/agentfiles"]
    for stage in ("batch", "features", "update", "baselines", "topics", "evaluate"):
        files += FACTS["stages"].get(stage, [])
    files += [
        f"learners/{config['learners'][run]['algorithm']}" for run in config["runs"]
    ]
    if config["alerts"]["run"]:
        files += FACTS["stages"]["alerts"]
    return [f"odl.{file.replace('/', '.')}" for file in files]


def refuse_unwritable():
    """Exit with a message if the results cannot be written; Snakemake would print a traceback."""
    folder = places.unwritable(ROOT)
    if folder:
        sys.exit(
            f"odl: {folder} may not be written; expected a folder for results; correct its permissions or set 'results'."
        )
