"""The runs and experiments of a study: settings, sizes, shards, and the list of all that it runs."""

from odl.config.corpora import order_seed
from odl.config.sections import EARLIER_LEARNERS, EARLIER_WEIGHTS, Weighting
from odl.errors import ConfigError
from odl.files.tables import read_cells

OF_EXPERIMENTS = ("experiment", "files", "streams", "learners", "experiments")  # keys of all experiments
BLOCK = 512  # documents of a sum: shards start between two


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
    for part, earlier in ((learner, EARLIER_LEARNERS), (weighting, EARLIER_WEIGHTS)):
        for name, value in earlier.items():  # records of before do not have them
            if part.get(name) == value:
                del part[name]
    return {**names, "learner": learner, "features": weighting}


def shard_of(config):
    """Return the documents of a shard: as configured, rounded up to whole blocks of sums; 0: no shards."""
    return -(-config["shards"]["documents"] // BLOCK) * BLOCK


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
        As `odl.evaluation.plan` describes it.
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
    root, orders = f"{config['results']}/{config['study']}", {}
    for corpus in config["streams"]:
        for seed in sorted({order_seed(config, corpus, seed) for seed in config["seeds"]}):
            orders[corpus, seed] = len(read_index(f"{root}/{corpus}/seed{seed}/index.tsv"))
    return orders


def read_index(path):
    """Return the rows of the index of a stream, a dict of texts for each batch.

    Raises
    ------
    StorageError
        If it is missing or was changed.
    """
    columns, rows = read_cells(path)
    return [dict(zip(columns, row, strict=True)) for row in rows]
