"""The streams, runs and experiments of a study: where files lie, settings, sizes, and the list of all that it runs."""

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

OF_EXPERIMENTS = ("experiment", "files", "streams", "learners", "experiments")  # keys of all experiments
HASHED = 100_000_000  # bytes of a file up to which its content is looked at when Snakemake starts

WILDCARD = re.compile(r"\{\s*\w+\s*(,[^{}]*)?\}")  # in a name of a file, where Snakemake puts something else

# Shares of files: where one ends follows from the files near it, so one that comes, goes or changes leaves the others.
MIN_SHARE_BYTES = 1 << 20  # bytes of files that one job reads; doubled while there would be more than MAX_SHARES jobs
MAX_SHARES = 128
MIN_SPLIT_BYTES = 2 * MIN_SHARE_BYTES  # smaller corpora are read by one job
FILES_PER_END = 32  # one file in 32 may end a share that is half full, so that appending moves few boundaries


def corpora_of(config):
    """Return the corpora that a study reads: its streams and those of its experiments."""
    more = [stream for entry in config["experiments"].values() for stream in entry.get("streams", [])]
    return list(dict.fromkeys([*config["streams"], *more]))


def order_seed(config, corpus, seed):
    """Return the seed whose batches a seed uses: all share seed 0's if the order is not drawn."""
    settings = config["corpora"][corpus]
    drawn = settings["protocol"] == "topic-entry" or settings["ties"] == "seeded"
    return int(seed) if drawn else 0


def mirror_of(config):
    """Return the mirror: the environment's before the configuration's."""
    return os.environ.get("ODL_MIRROR") or config["mirror"]


def sources_of(config, corpus, registry, data):
    """Return the files a corpus is read from: the user's own, or those the registry names.

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
        If a source of the user's does not exist, a folder of them cannot be read, or the name of a file is not UTF-8.
    """
    reader = config["corpora"][corpus]["reader"]
    if reader != "documents":
        return [f"{data}/{row['folder']}/{row['file']}" for row in registry if row["corpus"] == reader]
    return [path for _, path in own_files(config, corpus)]


def own_files(config, corpus):
    """Return (name, path) of the files that the user's sources name; errors as of `sources_of`."""
    from odl.files import listing

    settings = config["corpora"][corpus]
    where, named = f"corpora.{corpus}.sources", set(settings["sources"])
    try:
        members = listing.find_files(settings["sources"], settings.get("options", {}).get("kind"))
    except DataError as error:
        raise ConfigError(f"{where}: {error.given}", error.expected, error.todo) from error
    except OSError as error:
        fault = f"{where} names {error.filename}, which cannot be read ({error.strerror})"
        raise ConfigError(fault, "a file, a folder or a pattern", "correct its permissions") from error
    files = [(name, path if path in named else str(Path(path))) for name, path in members]
    refuse_names(path for _, path in files)
    return files


def packages_of(options):
    """Return the packages whose versions documents depend on: those described, what cuts and what encodes texts."""
    segmenter, vectors = (options.get("tokens") or {}).get("segment"), options.get("vectors")
    named = [one for one in (segmenter, vectors) if isinstance(one, str)]
    return (*options.get("packages", ()), *named)


def encoder_of(options):
    """Return a digest of the files that vectors follow from: of a model, or those that a command names; "" without."""
    vectors = options.get("vectors")
    if not isinstance(vectors, dict):
        return ""
    folder, words = vectors.get("path"), str(vectors.get("command", "")).split()
    paths = sorted(Path(folder).rglob("*")) if folder else map(Path, words)
    return contents_of([path for path in paths if path.is_file()])


def refuse_names(paths, wildcards=False):
    """Refuse files whose names are not UTF-8, as those of configurations and tables are.

    Parameters
    ----------
    paths : list of str
    wildcards : bool
        Refuse names that Snakemake takes for patterns as well.

    Raises
    ------
    ConfigError
        Naming the first.
    """
    for path in paths:
        if not path.isascii() and path != path.encode("utf-8", "replace").decode("utf-8"):
            shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            raise ConfigError(f"the name of {shown} is not UTF-8", "names in UTF-8", "rename it")
        if wildcards and WILDCARD.search(path):
            defect = f"the name of {path} holds {WILDCARD.search(path)[0]}, which Snakemake takes for a wildcard"
            raise ConfigError(defect, "names without such braces", "rename it")


def contents_of(paths):
    """Return a digest of what files hold, of large ones of their sizes alone.

    One may have changed and be older than what was made of it (a clock that was set back, a copy that kept its time),
    which Snakemake does not see. What cannot be read is left to the job that reads it, which says why.

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
        if 0 <= size <= HASHED:
            try:
                digest.update(path.read_bytes())
            except OSError as error:
                digest.update(str(error.strerror).encode())
    return digest.hexdigest()


def shares_of(paths):
    """Cut a list of files into shares.

    Parameters
    ----------
    paths : list of str
        In the order in which they are read.

    Returns
    -------
    dict
        Name of a share -> its files, in order; empty where one would do, unless it is so large that to read it again
        when another file comes costs more than to join. A large file is a share of its own.
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
        if 2 * filled > size and digest[-1] < FILES_PER_END:  # where lists that differ before it end a share alike
            current = None
    return shares if len(shares) > 1 or sum(sizes) > MIN_SPLIT_BYTES else {}


def atoms_of(config, run):
    """Return the dictionary sizes of a run: its own, or those of the study."""
    return config["learners"][run].get("atoms", config["atoms"])


def run_of(config, run, /, **names):
    """Return the settings of a run, behind the names given.

    Parameters
    ----------
    config : dict
    run : str
        Its name.
    **names
        Of the chain that has these settings: corpus, seed, run, atoms.

    Returns
    -------
    dict
        The names; ``learner``: algorithm and hyper-parameters; ``features``: the study's weighting, with what the run
        changes.
    """
    entry = config["learners"][run]
    learner = {key: value for key, value in entry.items() if key not in ("atoms", "features")}
    weighting = {**Weighting.part(config["features"]), **entry.get("features", {})}
    learner = without(learner, earlier_learner(learner.get("algorithm", "")))
    return {**names, "learner": learner, "features": without(weighting, Weighting.earlier())}


@functools.cache
def _variants(key):
    """Return the schemas of the learners, or of the readers, by name."""
    known = schema.load_schema(places.SCHEMAS / "config.schema.json")
    return known["properties"][key]["additionalProperties"]["select"]["schemas"]


def earlier_learner(algorithm: str) -> dict:
    """Return the hyper-parameters that a record of an algorithm may lack, with what such a record means.

    Examples
    --------
    >>> from odl.config import chains
    >>> chains.earlier_learner("levels")
    {'recency': 0.0}
    """
    return earlier_of(_variants("learners").get(algorithm, {}))


def earlier_options() -> dict:
    """Return the options of the reader of a person's documents that a record may lack, with what their lack means."""
    return earlier_of(_variants("corpora")["documents"]["properties"]["options"])


def learner_of(settings: dict) -> dict:
    """Return the settings of a run's learner with those of earlier versions that it does not name.

    Examples
    --------
    >>> from odl.config import chains
    >>> chains.learner_of({"algorithm": "levels"})
    {'recency': 0.0, 'algorithm': 'levels'}
    """
    return earlier_learner(settings["algorithm"]) | settings


def alerts_of(config):
    """Return run, atoms and seed whose alerts are followed, or None: the most atoms of the run if none are named."""
    run, k = config["alerts"]["run"], config["alerts"]["atoms"]
    return (run, k or max(atoms_of(config, run)), config["report"]["seed"]) if run and config["streams"] else None


def regret_of(config, run):
    """Return the sizes of a run whose regret is measured: those named, or all."""
    regret = config["regret"]
    if not regret["enabled"] or run not in regret["runs"]:
        return []
    return [k for k in atoms_of(config, run) if not regret["sizes"] or k in regret["sizes"]]


def emerging_of(config, run):
    """Return the sizes of a run that emerging topics are looked for in: those named, or the largest."""
    emerging = config["emerging"]
    if not emerging["enabled"] or run not in (emerging["runs"] or config["runs"]):
        return []
    sizes = atoms_of(config, run)
    return [k for k in sizes if k in emerging["sizes"]] if emerging["sizes"] else [max(sizes)]


def experiment_of(config, name):
    """Return the settings of an experiment."""
    return {key: value for key, value in config["experiments"][name].items() if key not in OF_EXPERIMENTS}


def whole_experiment_of(config, name, schema):
    """Return the settings of an experiment, those left out with the defaults of the schema."""
    kinds = schema["properties"]["experiments"]["additionalProperties"]["select"]["schemas"]
    known = kinds[config["experiments"][name]["experiment"]]["properties"]
    defaults = {key: entry["default"] for key, entry in known.items() if "default" in entry}
    return {**defaults, **experiment_of(config, name)}


def study_of(config, name):
    """Return what an experiment takes from the study: streams, learners (all if none is named), evaluation, seeds.

    Parameters
    ----------
    config : dict
    name : str

    Returns
    -------
    dict
        Empty if the experiment names no stream.
    """
    entry, keys = config["experiments"][name], ("protocol", "topic_entry", "ties", "batches", "timesteps")
    if not entry.get("streams"):
        return {}
    return {
        "streams": {stream: {key: config["corpora"][stream][key] for key in keys} for stream in entry["streams"]},
        "learners": {run: run_of(config, run) for run in entry.get("learners") or config["learners"]},
        "evaluate": config["evaluate"],
        "seeds": config["seeds"],
    }


def plan(config, lengths):
    """List what a study runs: one entry for each run, size and seed, and for the baselines of each seed.

    Parameters
    ----------
    config : dict
    lengths : dict
        (corpus, seed) to the number of timesteps of that seed's stream.

    Returns
    -------
    list of dict
        As `odl.evaluation.study` describes it.
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
            chains += [{**named, "seed": seed, "folder": f"seed{seed}/baselines"} for seed in orders]
        for chain in chains:
            steps = list(range(lengths[corpus, order_seed(config, corpus, chain["seed"])]))
            entries.append({**common, **chain, "folder": f"{root}/{corpus}/{chain['folder']}", "timesteps": steps})
    return entries


def _check_timesteps(config, corpus, lengths):
    """Refuse to average over timesteps that the stream of a seed has not."""
    named = max(config["corpora"][corpus]["timesteps"], default=0)
    shortest = min(length for (name, _), length in lengths.items() if name == corpus)
    if named >= shortest:
        expected = f"timesteps of the stream, 1 to {shortest - 1}"
        raise ConfigError(f"corpora.{corpus}.timesteps names {named}", expected, "remove what does not exist")


def lengths(config):
    """Count the timesteps of every stream of a study from its index.

    Returns
    -------
    dict
        (corpus, seed) to the number of timesteps, as `plan` takes it.

    Raises
    ------
    StorageError
        If an index is missing or was changed.
    """
    root, found = f"{config['results']}/{config['study']}", {}
    for corpus in config["streams"]:
        for seed in sorted({order_seed(config, corpus, seed) for seed in config["seeds"]}):
            found[corpus, seed] = len(read_index(f"{root}/{corpus}/seed{seed}/index.tsv"))
    return found


def read_index(path):
    """Return the rows of the index of a stream, a dict of texts for each batch.

    Raises
    ------
    StorageError
        If it is missing or was changed.
    """
    columns, rows = read_cells(path)
    return [dict(zip(columns, row, strict=True)) for row in rows]
