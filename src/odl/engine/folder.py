"""A user's folder: its checked configuration, the settings of its run, and its file paths."""

import functools
import json
import math
import os
from typing import NamedTuple

from odl.config import chains, consistency, places, project, sources
from odl.config.schema import load_schema
from odl.config.sections import Order
from odl.config.setting import differing, merge
from odl.config.steps import STEPS, record_of
from odl.engine import ledger
from odl.errors import ConfigError, EarlierError, OdlError
from odl.files import listing, tables

LEARNING = ("read", "index", "features", "update")  # steps whose settings affect scores
ONLY = "one stream, run and seed in a folder of `odl run`"
ONE_STREAM = "for other studies use Snakemake: odl init FOLDER SOURCES --snakemake"


class Folder(NamedTuple):
    """Configuration and paths of a folder.

    Attributes
    ----------
    config : dict
        Configuration with all defaults.
    names : dict
        Values for the names root, corpus, seed, run and k in path patterns (`odl.config.steps`).
    chain : dict
        Settings of the run, with values as in JSON.
    registry : dict
        Key ``registry`` of the configuration schema, which lists the modules of each step.
    """

    config: dict
    names: dict
    chain: dict
    registry: dict

    @property
    def stream(self):
        """Settings of the stream."""
        return self.config["corpora"][self.names["corpus"]]

    @property
    def ledger(self):
        """Path of the ledger."""
        return os.path.join(self.names["root"], project.VERIFIED)

    @property
    def lock(self):
        """Path of the lock."""
        return os.path.join(self.names["root"], ".lock")

    def path(self, pattern, t=None):
        """Return the path for a pattern (`odl.config.steps`) at timestep t.

        A pattern with ``{before}`` is that of a file of timestep t - 1. Its path is "" for t = 0.
        """
        if t == 0 and "{before}" in pattern:
            return ""
        timesteps = {} if t is None else {"t": t, "before": t - 1}
        return pattern.format(**self.names, **timesteps)

    def folder_of(self, step, role="output"):
        """Return the folder of the files that a step writes for every timestep."""
        return os.path.dirname(self.path(STEPS[step].writes[role], 1))

    def code(self, step):
        """Return the digest of the code of a step."""
        modules, packages, encoder = [], (), ""
        if step in ("update", "alerts"):
            modules = [f"learners/{self.algorithm}"]
        elif step in ("share", "read"):
            modules = ["corpora/collection"]
            options = self.stream["options"]
            packages, encoder = chains.packages_of(options), chains.encoder_of(options)
        names = self.registry["stages"]["read" if step == "share" else step]
        return sources.digest(*names, *modules, packages=packages, more=encoder)

    @property
    def algorithm(self):
        """Name of the learner."""
        return self.chain["learner"]["algorithm"]


def earlier_error(folder, named, removed=()):
    """Return the EarlierError for a folder with results of an earlier version, or None.

    Parameters
    ----------
    folder : Folder
        The working folder.
    named : str
        Path of the folder in messages.
    removed : sequence of str
        Keys of odl.yaml that only the earlier version has.
    """
    from odl.alerts import periods

    if not periods.are_earlier(folder.folder_of("alerts")):
        return None
    problem = (
        "an earlier version of odl wrote the results, and this version cannot resume from them"
    )
    remedy = f"type odl run {named} --again: it learns {relearning_cost(folder)}"
    if removed:
        keys = ", ".join(removed)
        remedy = f"remove {keys} from {project.FILE}, which has no effect now, then {remedy}"
    return EarlierError(
        problem,
        "results of this version",
        f"{remedy}; until then odl new and odl explain read the earlier results",
    )


def changed_settings(folder, n):
    """Return the names of settings that changed in odl.yaml since the last of n timesteps.

    The settings of the steps `LEARNING` are compared with the provenance records of timestep n - 1.
    A file without a record is not compared.
    """
    arguments = {
        **folder.stream,
        "seed": folder.names["seed"],
        "stream": Order.part(folder.stream),
        "max_terms": folder.config["features"].get("max_terms", 0),
        "run": folder.chain,
    }
    arguments = {key: arguments[key] for step in LEARNING for key in STEPS[step].settings}
    names = []
    for step in LEARNING:
        *_, pattern = STEPS[step].writes.values()
        _, record = ledger.read(folder.path(pattern, n - 1), whole=False)
        now = json.loads(json.dumps(record_of(step, arguments, None)["settings"]))
        names += differing((record or {}).get("settings", now), now)
    return [name.removeprefix("run.").removeprefix("stream.") for name in names]


def relearning_cost(folder):
    """Return a phrase with the number of documents of a folder and the time to learn them again."""
    rows = chains.read_index(folder.path(STEPS["index"].writes["table"]))
    n = sum(int(row["documents"]) for row in rows)
    return f"{n:,} documents in {len(rows)} periods{_duration(folder, len(rows))}"


def _duration(folder, n):
    """Return a phrase with the time that n timesteps take, or "" if no earlier run was timed."""
    try:
        rows = tables.read_table(os.path.join(folder.names["root"], "run.tsv"))
    except OdlError:
        return ""
    learned = sum(row["step"] == "alerts" for row in rows)
    seconds = sum(float(row["cpu_s"]) for row in rows) * n / max(learned, 1)
    return f", about {max(1, math.ceil(seconds / 60))} min by the last run" if learned else ""


def opened(named="."):
    """Read and check the configuration of the working folder.

    Paths of sources are relative to this folder.

    Parameters
    ----------
    named : str
        Path of the folder in messages.

    Returns
    -------
    Folder

    Raises
    ------
    ConfigError
        If the configuration is invalid, or needs more than one stream, run or seed.
    EarlierError
        If odl.yaml and the results are of an earlier version.
    """
    written = project.read(".")
    current, removed = project.without_removed(written)
    folder = _open(current)
    if removed and (error := earlier_error(folder, named, removed)):
        raise error
    # A configuration with obsolete keys is refused like one with unknown keys.
    return _open(written) if removed else folder


@functools.cache
def _study_defaults():
    """Return the settings of config/config.yaml, the defaults of odl.yaml."""
    import yaml

    with open(places.HOME / "config" / "config.yaml", encoding="utf-8") as file:
        return yaml.safe_load(file)


def _open(written):
    """Return the `Folder` for the content of odl.yaml."""
    study = written.get("study") or project.name_of(os.path.basename(os.getcwd()))
    config = merge(project.expand({**written, "study": study}), _study_defaults())
    schema = load_schema(places.SCHEMAS / "config.schema.json")
    consistency.check_config(config, schema)
    _check_alone(config)
    run, k, seed = chains.alerts_of(config)
    corpus = config["streams"][0]
    names = {"corpus": corpus, "seed": chains.order_seed(config, corpus, seed), "run": run, "k": k}
    names["root"] = f"{config['results']}/{config['study']}"
    chain = chains.run_of(config, run, corpus=corpus, seed=seed, run=run, atoms=k)
    return Folder(config, names, json.loads(json.dumps(chain)), schema["registry"])


def _check_alone(config):
    """Raise ConfigError if a setting needs steps that a run of one stream does not have."""
    unsupported = {
        "streams": len(config["streams"]) > 1,
        "runs": len(config["runs"]) > 1,
        "seeds": len(config["seeds"]) > 1,
        "ranks": bool(config["ranks"]),
        "baselines": config["baselines"]["enabled"],
        "regret": config["regret"]["enabled"],
        "experiments": bool(config["experiments"]),
        "alerts.run": not chains.alerts_of(config),
    }
    for key, is_set in unsupported.items():
        if is_set:
            raise ConfigError(f"{project.FILE} sets {key}", ONLY, ONE_STREAM)
    if config["corpora"][config["streams"][0]]["reader"] != "documents":
        raise ConfigError(
            f"{project.FILE} names a reader", "the reader documents", "remove the key reader"
        )


def files_of(folder):
    """Return the source files of a folder and their division into shares.

    Each share is read by a separate step.

    Returns
    -------
    files : list of (name, path)
    shares : dict of str to list of (name, path)
        Name of a share -> its files; empty if one step reads all files.
    """
    all_files = chains.own_files(folder.config, folder.names["corpus"])
    # The report of `odl run` lists the files whose names are not UTF-8.
    files = [(name, path) for name, path in all_files if listing.is_utf8(path)]
    if not files:
        chains.refuse_names(path for _, path in all_files)
    by_path = {path: (name, path) for name, path in files}
    shares = chains.shares_of(list(by_path))
    return files, {share: [by_path[path] for path in members] for share, members in shares.items()}
