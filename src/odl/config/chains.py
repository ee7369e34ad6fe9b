"""Streams, runs and experiments of a study: files, settings, sizes, and the plan of the study."""

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
# Bytes of a file whose content is hashed when Snakemake starts. Of larger files, only the size is.
MAX_HASHED_BYTES = 100_000_000

# The part of a file name that Snakemake takes for a wildcard.
WILDCARD = re.compile(r"\{\s*\w+\s*(,[^{}]*)?\}")

# Files are read in shares, one job each. The end of a share depends on nearby files only, so a file
# that is added, removed or changed does not move the other shares.
MIN_SHARE_BYTES = 1 << 20  # bytes of a share; doubled until there are at most MAX_SHARES shares
MAX_SHARES = 128  # jobs
MIN_SPLIT_BYTES = 2 * MIN_SHARE_BYTES  # bytes; one job reads a smaller corpus
# A file may end a half full share if the last byte of its digest is below: one file in 8.
END_BYTE = 32


def corpora_of(config):
    """Return the names of all corpora that a study and its experiments use, without repeats."""
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
    """Return the mirror of downloads: the environment variable ODL_MIRROR, or else the setting."""
    return os.environ.get("ODL_MIRROR") or config["mirror"]


def sources_of(config, corpus, registry, data):
    """Return the source files of a corpus: the user's own, or downloads that the registry lists.

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
        If a source of the user does not exist, a folder cannot be read, or a file name is not
        UTF-8.
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
    """Return (name, path) of each file of the user's sources. Raises the errors of `sources_of`."""
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
            "a file, a folder or a pattern",
            "correct its permissions",
        ) from error
    return [(name, path if path in named_files else str(Path(path))) for name, path in members]


def packages_of(options):
    """Return the packages whose versions change documents.

    These are the documented packages, the word segmenter and the text encoder.
    """
    segmenter, vectors = (options.get("tokens") or {}).get("segment"), options.get("vectors")
    names = [name for name in (segmenter, vectors) if isinstance(name, str)]
    return (*options.get("packages", ()), *names)


def encoder_of(options):
    """Return a digest of the files that compute vectors of texts; "" without a user's encoder.

    With ``vectors.path`` these are all files in the folder of the model, and with
    ``vectors.command`` the words of the command that are files.
    """
    vectors = options.get("vectors")
    if not isinstance(vectors, dict):
        return ""
    folder, words = vectors.get("path"), str(vectors.get("command", "")).split()
    paths = sorted(Path(folder).rglob("*")) if folder else map(Path, words)
    return contents_of([path for path in paths if path.is_file()])


def refuse_names(paths, wildcards=False):
    """Refuse file names that are not UTF-8, since configurations and tables are UTF-8.

    Parameters
    ----------
    paths : list of str
    wildcards : bool
        Also refuse names that contain a wildcard of Snakemake.

    Raises
    ------
    ConfigError
        Names the first such file.
    """
    from odl.files import listing

    for path in paths:
        if not listing.is_utf8(path):
            raise ConfigError(
                f"the name of {listing.printable_name(path)} is not UTF-8",
                "names in UTF-8",
                "rename it",
            )
        if wildcards and WILDCARD.search(path):
            raise ConfigError(
                f"the name of {path} contains {WILDCARD.search(path)[0]}, "
                "which is a wildcard of Snakemake",
                "names without such braces",
                "rename it",
            )


def contents_of(paths):
    """Return a digest that changes with the contents of files, for the rules of the workflow.

    Snakemake compares modification times. It misses a changed file that is older than its result,
    because a copy preserves times or a clock was set back. Of a file above `MAX_HASHED_BYTES` the
    size is used instead of the content. The job that reads an unreadable file reports it.

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
    """Divide a list of files into shares, which separate jobs read.

    Parameters
    ----------
    paths : list of str
        In reading order.

    Returns
    -------
    dict
        Name of a share to its files, in order. A large file is a share by itself. Empty if the
        files fit one share and have at most `MIN_SPLIT_BYTES`.
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
        # Only this file decides, so later shares do not move.
        if 2 * filled > size and digest[-1] < END_BYTE:
            current = None
    return shares if len(shares) > 1 or sum(sizes) > MIN_SPLIT_BYTES else {}


def atoms_of(config, run):
    """Return the dictionary sizes of a run: its own sizes, or else those of the study."""
    return config["learners"][run].get("atoms", config["atoms"])


def run_of(config, run, /, **names):
    """Return the settings of a run.

    Parameters
    ----------
    config : dict
    run : str
        Name of the run.
    **names
        Entries that are put first, such as corpus, seed, run and atoms.

    Returns
    -------
    dict
        `names`; ``learner``: algorithm and hyper-parameters; ``features``: the weighting of the
        study, with the changes of the run. Settings with the value of an earlier version, which
        lacked them, are left out.
    """
    entry = config["learners"][run]
    learner = {key: value for key, value in entry.items() if key not in ("atoms", "features")}
    weighting = {**Weighting.part(config["features"]), **entry.get("features", {})}
    learner = without(learner, earlier_learner(learner.get("algorithm", "")))
    return {**names, "learner": learner, "features": without(weighting, Weighting.earlier())}


@functools.cache
def _variants(key):
    """Return the schemas of all learners (key "learners") or readers (key "corpora") by name."""
    config_schema = schema.load_schema(places.SCHEMAS / "config.schema.json")
    return schema.variants_of(config_schema["properties"][key]["additionalProperties"])


def earlier_learner(algorithm: str) -> dict:
    """Return the hyper-parameters that records of earlier versions lack, with their values then.

    Examples
    --------
    >>> from odl.config import chains
    >>> chains.earlier_learner("levels")
    {'recency': 0.0}
    """
    return earlier_of(_variants("learners").get(algorithm, {}))


def earlier_options() -> dict:
    """Return the options of ``documents`` that records of earlier versions lack, with values."""
    return earlier_of(_variants("corpora")["documents"]["properties"]["options"])


def learner_of(settings: dict) -> dict:
    """Return the settings of a learner, completed by the values of earlier versions.

    Examples
    --------
    >>> from odl.config import chains
    >>> chains.learner_of({"algorithm": "levels"})
    {'recency': 0.0, 'algorithm': 'levels'}
    """
    return earlier_learner(settings["algorithm"]) | settings


def alerts_of(config):
    """Return (run, atoms, seed) whose scores the alerts of a study use; None without alerts.

    If no number of atoms is set, it is the largest of the run.
    """
    run, k = config["alerts"]["run"], config["alerts"]["atoms"]
    if not run or not config["streams"]:
        return None
    return run, k or max(atoms_of(config, run)), config["report"]["seed"]


def regret_of(config, run):
    """Return the dictionary sizes of a run for which regret is measured, by default all."""
    regret = config["regret"]
    if not regret["enabled"] or run not in regret["runs"]:
        return []
    return [k for k in atoms_of(config, run) if not regret["sizes"] or k in regret["sizes"]]


def emerging_of(config, run):
    """Return the sizes of a run in which emerging topics are searched; by default the largest."""
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


def whole_experiment_of(config, name, whole):
    """Return the settings of an experiment without `EXPERIMENT_KEYS`, completed by defaults."""
    kinds = schema.variants_of(whole["properties"]["experiments"]["additionalProperties"])
    properties = kinds[config["experiments"][name]["experiment"]]["properties"]
    defaults = {key: entry["default"] for key, entry in properties.items() if "default" in entry}
    return {**defaults, **experiment_of(config, name)}


def study_of(config, name):
    """Return the settings of a study that an experiment uses.

    These are its streams, learners, evaluation and seeds.

    Parameters
    ----------
    config : dict
    name : str

    Returns
    -------
    dict
        Empty if the experiment names no stream. If it names no learner, all learners.
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
    """Return the plan of a study.

    It has an entry for each run, size and seed, and for the baselines of each order.

    Parameters
    ----------
    config : dict
    lengths : dict
        (corpus, seed) to the number of timesteps of that seed's stream.

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
        chains = []
        for run in config["runs"]:
            settings = run_of(config, run)
            parameters = {**settings["learner"], "features": settings["features"]}
            named = {"run": run, "algorithm": parameters.pop("algorithm"), "parameters": parameters}
            chains += [
                {**named, "k": k, "seed": seed, "folder": f"seed{seed}/{run}/k{k}"}
                for k in atoms_of(config, run)
                for seed in config["seeds"]
            ]
        if config["baselines"]["enabled"]:
            named = {"run": "baselines", "algorithm": "baseline", "k": None, "parameters": {}}
            orders = sorted({order_seed(config, corpus, seed) for seed in config["seeds"]})
            chains += [
                {**named, "seed": seed, "folder": f"seed{seed}/baselines"} for seed in orders
            ]
        for chain in chains:
            folder = f"{root}/{corpus}/{chain['folder']}"
            steps = list(range(lengths[corpus, order_seed(config, corpus, chain["seed"])]))
            entries.append({**common, **chain, "folder": folder, "timesteps": steps})
    return entries


def _check_timesteps(config, corpus, lengths):
    """Refuse the setting ``timesteps`` if the stream of some seed is too short for them."""
    named = max(config["corpora"][corpus]["timesteps"], default=0)
    shortest = min(length for (name, _), length in lengths.items() if name == corpus)
    if named >= shortest:
        raise ConfigError(
            f"corpora.{corpus}.timesteps names {named}",
            f"timesteps of the stream, 1 to {shortest - 1}",
            "remove what does not exist",
        )


def lengths(config):
    """Read the number of timesteps of every stream of a study from the index files.

    Returns
    -------
    dict
        (corpus, seed) to the number of timesteps.

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
    """Return the index of a stream: a dict of strings for each batch.

    Raises
    ------
    StorageError
        If the file is missing or was changed.
    """
    columns, rows = read_cells(path)
    return [dict(zip(columns, row, strict=True)) for row in rows]
