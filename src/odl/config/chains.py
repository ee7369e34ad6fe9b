"""Derive the files, runs, dictionary sizes and plan of a study from its configuration."""

import functools
import hashlib
import os
import re
from pathlib import Path

from odl.config import places, schema
from odl.config.sections import Weighting
from odl.config.setting import earlier_of, without
from odl.errors import ConfigError, DataError
from odl.files.tables import read_cells

# Keys that every experiment may have.
EXPERIMENT_KEYS = ("experiment", "files", "streams", "learners", "experiments")
# Largest size in bytes of a file whose content is hashed. For a larger file, its size is hashed.
MAX_HASHED_BYTES = 100_000_000

# Part of a file name that Snakemake would interpret as a wildcard.
WILDCARD = re.compile(r"\{\s*\w+\s*(,[^{}]*)?\}")

# Files are divided into shares, and each share is read by one job. The end of a share depends on
# nearby files only, so adding, removing or changing a file does not move the other shares.
MIN_SHARE_BYTES = 1 << 20  # bytes of a share; doubled until there are at most MAX_SHARES shares
MAX_SHARES = 128  # maximum number of shares
MIN_SPLIT_BYTES = 2 * MIN_SHARE_BYTES  # smallest corpus in bytes that is divided into shares
# A file ends a share that is at least half full if the last byte of its digest is smaller. This
# holds for 1 file in 8.
END_BYTE = 32


def corpora_of(config):
    """Return the names of all corpora that a study and its experiments use, without duplicates."""
    experiment_streams = [
        stream for entry in config["experiments"].values() for stream in entry.get("streams", [])
    ]
    return list(dict.fromkeys([*config["streams"], *experiment_streams]))


def order_seed(config, corpus, seed):
    """Return the seed of the batch order: `seed` itself, or 0 if the order is not random."""
    settings = config["corpora"][corpus]
    is_random = settings["protocol"] == "topic-entry" or settings["ties"] == "seeded"
    return int(seed) if is_random else 0


def mirror_of(config):
    """Return the mirror for downloads: the variable ODL_MIRROR if it is set, else the setting."""
    return os.environ.get("ODL_MIRROR") or config["mirror"]


def sources_of(config, corpus, registry, data):
    """Return the source files of a corpus: the user's files, or downloads listed in the registry.

    Parameters
    ----------
    config : dict
    corpus : str
    registry : list of dict
        Rows of data/corpora.csv.
    data : str
        Folder of downloads.

    Raises
    ------
    ConfigError
        If a user's source does not exist, a folder cannot be read, or a file name is not UTF-8.
    """
    reader = config["corpora"][corpus]["reader"]
    if reader != "documents":
        return [
            f"{data}/{row['folder']}/{row['file']}" for row in registry if row["corpus"] == reader
        ]
    paths = [path for _, path in own_files(config, corpus)]
    refuse_names(paths)
    return paths


def own_files(config, corpus):
    """Return (name, path) of each file in the user's sources.

    Raises
    ------
    ConfigError
        If a source does not exist or a folder cannot be read.
    """
    from odl.files import listing

    settings = config["corpora"][corpus]
    key, named_files = f"corpora.{corpus}.sources", set(settings["sources"])
    try:
        members = listing.find_files(settings["sources"], settings.get("options", {}).get("kind"))
    except DataError as error:
        raise ConfigError(f"{key}: {error.given}", error.expected, error.todo) from error
    except OSError as error:
        raise ConfigError(
            f"{key} names {error.filename}, which cannot be read ({error.strerror})",
            "a readable file, folder or pattern",
            "correct its permissions",
        ) from error
    return [(name, path if path in named_files else str(Path(path))) for name, path in members]


def packages_of(options):
    """Return the names of installed packages whose versions affect the documents of a corpus.

    These are the packages whose docstrings are read, the word segmenter and the text encoder.
    """
    segmenter, vectors = (options.get("tokens") or {}).get("segment"), options.get("vectors")
    names = [name for name in (segmenter, vectors) if isinstance(name, str)]
    return (*options.get("packages", ()), *names)


def encoder_of(options):
    """Return a digest of the files of the user's text encoder; "" if there is none.

    For ``vectors.path`` these are all files in the folder of the model. For ``vectors.command``
    they are the words of the command that are names of files.
    """
    vectors = options.get("vectors")
    if not isinstance(vectors, dict):
        return ""
    folder, words = vectors.get("path"), str(vectors.get("command", "")).split()
    paths = sorted(Path(folder).rglob("*")) if folder else map(Path, words)
    return contents_of([path for path in paths if path.is_file()])


def refuse_names(paths, wildcards=False):
    """Raise ConfigError for a file name that is not UTF-8, which no configuration can contain.

    Parameters
    ----------
    paths : list of str
    wildcards : bool
        Also refuse names that contain a wildcard of Snakemake.

    Raises
    ------
    ConfigError
        For the first such file.
    """
    from odl.files import listing

    for path in paths:
        if not listing.is_utf8(path):
            raise ConfigError(
                f"the name of {listing.printable_name(path)} is not UTF-8",
                "names in UTF-8",
                "rename the file",
            )
        if wildcards and WILDCARD.search(path):
            raise ConfigError(
                f"the name of {path} contains {WILDCARD.search(path)[0]}, "
                "which is a wildcard of Snakemake",
                "names without braces around a word",
                "rename the file",
            )


def contents_of(paths):
    """Return a digest of the contents of files, which is a parameter of rules of the workflow.

    Snakemake compares modification times only. It would miss a changed file that is older than its
    result, for example after a copy that preserves times. A file larger than `MAX_HASHED_BYTES`
    contributes its size instead of its content. A file that cannot be read is no error here, since
    the job that reads it reports the error.

    Parameters
    ----------
    paths : list of str

    Returns
    -------
    str
    """
    digest = hashlib.sha256()
    for path in map(Path, paths):
        size = os.path.getsize(path) if os.path.exists(path) else -1
        digest.update(f"{path}:{size};".encode())
        if 0 <= size <= MAX_HASHED_BYTES:
            try:
                digest.update(path.read_bytes())
            except OSError as error:
                digest.update(str(error.strerror).encode())
    return digest.hexdigest()


def shares_of(paths):
    """Divide a list of files into shares, each of which is read by one job.

    Parameters
    ----------
    paths : list of str
        In reading order.

    Returns
    -------
    dict
        Name of a share -> its files, in order. A file larger than a share is a share by itself.
        Empty if the files form one share of at most `MIN_SPLIT_BYTES`.
    """
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    size = MIN_SHARE_BYTES
    while size * MAX_SHARES < sum(sizes):
        size *= 2
    shares, current, filled = {}, None, 0
    for path, length in zip(paths, sizes, strict=True):
        digest = hashlib.sha256(os.fsencode(path)).digest()
        if current is None or filled + length > size:
            current, filled = shares.setdefault(digest[:6].hex(), []), 0
        current.append(path)
        filled += length
        # Whether a share ends here depends on this file, so later shares rarely move.
        if 2 * filled > size and digest[-1] < END_BYTE:
            current = None
    return shares if len(shares) > 1 or sum(sizes) > MIN_SPLIT_BYTES else {}


def atoms_of(config, run):
    """Return the numbers of atoms of a run: its own setting, or else that of the study."""
    return config["learners"][run].get("atoms", config["atoms"])


def run_of(config, run, /, **names):
    """Return the settings of a run, in the form that provenance records contain.

    Parameters
    ----------
    config : dict
    run : str
        Name of the run.
    **names
        Further entries of the result, such as corpus, seed, run and atoms.

    Returns
    -------
    dict
        `names`, ``learner`` (algorithm and hyper-parameters) and ``features`` (weighting of the
        study, overridden by that of the run). A setting that earlier versions lacked is left out
        if its value reproduces their results.
    """
    entry = config["learners"][run]
    learner = {key: value for key, value in entry.items() if key not in ("atoms", "features")}
    weighting = {**Weighting.part(config["features"]), **entry.get("features", {})}
    learner = without(learner, earlier_learner(learner.get("algorithm", "")))
    return {**names, "learner": learner, "features": without(weighting, Weighting.earlier())}


@functools.cache
def _variants(key):
    """Return {name: schema} of all learners (key "learners") or readers (key "corpora")."""
    config_schema = schema.load_schema(places.SCHEMAS / "config.schema.json")
    return schema.variants_of(config_schema["properties"][key]["additionalProperties"])


def earlier_learner(algorithm: str) -> dict:
    """Return the values of newer hyper-parameters that reproduce earlier versions of a learner.

    Examples
    --------
    >>> from odl.config import chains
    >>> chains.earlier_learner("levels")
    {'recency': 0.0}
    """
    return earlier_of(_variants("learners").get(algorithm, {}))


def earlier_options() -> dict:
    """Return the values of newer options of ``documents`` that reproduce earlier versions."""
    return earlier_of(_variants("corpora")["documents"]["properties"]["options"])


def learner_of(settings: dict) -> dict:
    """Return the settings of a learner from a record, completed by `earlier_learner`.

    Examples
    --------
    >>> from odl.config import chains
    >>> chains.learner_of({"algorithm": "levels"})
    {'recency': 0.0, 'algorithm': 'levels'}
    """
    return earlier_learner(settings["algorithm"]) | settings


def alerts_of(config):
    """Return (run, atoms, seed) of the scores that the alerts of a study use; None without alerts.

    If no number of atoms is set, it is the largest of the run.
    """
    run, k = config["alerts"]["run"], config["alerts"]["atoms"]
    if not run or not config["streams"]:
        return None
    return run, k or max(atoms_of(config, run)), config["report"]["seed"]


def regret_of(config, run):
    """Return the numbers of atoms of a run for which regret is measured, by default all."""
    regret = config["regret"]
    if not regret["enabled"] or run not in regret["runs"]:
        return []
    return [k for k in atoms_of(config, run) if not regret["sizes"] or k in regret["sizes"]]


def emerging_of(config, run):
    """Return the numbers of atoms of a run for which emerging topics are searched.

    By default this is the largest only.
    """
    emerging = config["emerging"]
    if not emerging["enabled"] or run not in (emerging["runs"] or config["runs"]):
        return []
    sizes = atoms_of(config, run)
    return [k for k in sizes if k in emerging["sizes"]] if emerging["sizes"] else [max(sizes)]


def experiment_of(config, name):
    """Return the settings of an experiment without `EXPERIMENT_KEYS`."""
    return {
        key: value
        for key, value in config["experiments"][name].items()
        if key not in EXPERIMENT_KEYS
    }


def complete_experiment_of(config, name, config_schema):
    """Return the settings of an experiment without `EXPERIMENT_KEYS`, completed by defaults."""
    experiments = config_schema["properties"]["experiments"]
    kinds = schema.variants_of(experiments["additionalProperties"])
    properties = kinds[config["experiments"][name]["experiment"]]["properties"]
    defaults = {key: entry["default"] for key, entry in properties.items() if "default" in entry}
    return {**defaults, **experiment_of(config, name)}


def study_of(config, name):
    """Return the settings of the study that an experiment depends on.

    Parameters
    ----------
    config : dict
    name : str

    Returns
    -------
    dict
        Keys ``streams``, ``learners``, ``evaluate`` and ``seeds``. Empty if the experiment names
        no stream. If it names no learner, all learners are included.
    """
    entry = config["experiments"][name]
    if not entry.get("streams"):
        return {}
    streams = {}
    for stream in entry["streams"]:
        keys = ("protocol", "topic_entry", "ties", "batches", "timesteps")
        streams[stream] = {key: config["corpora"][stream][key] for key in keys}
    runs = entry.get("learners") or config["learners"]
    return {
        "streams": streams,
        "learners": {run: run_of(config, run) for run in runs},
        "evaluate": config["evaluate"],
        "seeds": config["seeds"],
    }


def plan(config, lengths):
    """Return the plan of a study: the list of its chains.

    A chain is one run with one number of atoms on the stream of one seed, or the baselines on one
    order of a stream.

    Parameters
    ----------
    config : dict
    lengths : dict
        (corpus, seed) -> number of timesteps of the stream of this corpus and seed, as returned by
        `odl.config.chains.lengths`.

    Returns
    -------
    list of dict
        Entries as described in `odl.evaluation.study`.
    """
    root, entries = f"{config['results']}/{config['study']}", []
    for corpus in config["streams"]:
        _check_timesteps(config, corpus, lengths)
        stream = config["corpora"][corpus]
        common = {"corpus": corpus, "reader": stream["reader"], "protocol": stream["protocol"]}
        for chain in _chains_of(config, corpus):
            folder = f"{root}/{corpus}/{chain['folder']}"
            steps = list(range(lengths[corpus, order_seed(config, corpus, chain["seed"])]))
            entries.append({**common, **chain, "folder": folder, "timesteps": steps})
    return entries


def _chains_of(config, corpus):
    """Return a dict (run, algorithm, parameters, k, seed, folder) for each chain of a corpus."""
    chains = []
    for run in config["runs"]:
        settings = run_of(config, run)
        parameters = {**settings["learner"], "features": settings["features"]}
        common = {"run": run, "algorithm": parameters.pop("algorithm"), "parameters": parameters}
        chains += [
            {**common, "k": k, "seed": seed, "folder": f"seed{seed}/{run}/k{k}"}
            for k in atoms_of(config, run)
            for seed in config["seeds"]
        ]
    if config["baselines"]["enabled"]:
        common = {"run": "baselines", "algorithm": "baseline", "k": None, "parameters": {}}
        orders = sorted({order_seed(config, corpus, seed) for seed in config["seeds"]})
        chains += [{**common, "seed": seed, "folder": f"seed{seed}/baselines"} for seed in orders]
    return chains


def _check_timesteps(config, corpus, lengths):
    """Refuse the setting ``timesteps`` if the stream of some seed is too short for them."""
    named = max(config["corpora"][corpus]["timesteps"], default=0)
    shortest = min(length for (name, _), length in lengths.items() if name == corpus)
    if named >= shortest:
        raise ConfigError(
            f"corpora.{corpus}.timesteps names {named}",
            f"timesteps of the stream, 1 to {shortest - 1}",
            "remove the timesteps that do not exist",
        )


def lengths(config):
    """Read the number of timesteps of every stream of a study from the index files.

    Returns
    -------
    dict
        (corpus, seed) -> number of timesteps.

    Raises
    ------
    StorageError
        If an index is missing or was changed.
    """
    root, n_timesteps = f"{config['results']}/{config['study']}", {}
    for corpus in config["streams"]:
        for seed in sorted({order_seed(config, corpus, seed) for seed in config["seeds"]}):
            n_timesteps[corpus, seed] = len(read_index(f"{root}/{corpus}/seed{seed}/index.tsv"))
    return n_timesteps


def read_index(path):
    """Read the index of a stream: a list with a dict of strings for each batch.

    Raises
    ------
    StorageError
        If the file is missing or was changed.
    """
    columns, rows = read_cells(path)
    return [dict(zip(columns, row, strict=True)) for row in rows]
