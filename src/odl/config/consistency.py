"""Checks of settings against each other: all names are defined, all settings are compatible."""

import json
import re

from odl.config.chains import atoms_of, run_of
from odl.config.schema import check_map, variants_of
from odl.config.sections import Features, FollowedAlerts, TopicEntry, fill
from odl.errors import ConfigError, ParameterError, advice

RESERVED_RUNS = ("baselines", "batches", "features")  # folders next to the folders of runs


def check_config(config, schema):
    """Complete a configuration in place, then check it against the schema and for consistency.

    Missing settings are set to their defaults. The number of atoms is set for runs whose memory
    determines it.

    Raises
    ------
    ConfigError
        At the first wrong key or value. For a typo, the message suggests the nearest key.
    """
    fill(config)
    check_map(config, schema)
    _check_results(config["results"])
    _check_doubles(config)
    _check_names(config, schema)


def _check_results(folder):
    """Refuse a folder name with a special meaning for Snakemake or on a command line."""
    forbidden = next((sign for sign in folder if sign in "{}" or not sign.isprintable()), None)
    if forbidden or folder.startswith("-") or "://" in folder or folder != folder.strip():
        raise ConfigError(
            f"results is {folder!r}",
            "a path without braces, control characters, '://', a leading minus, and spaces at its "
            "ends",
            "change results",
        )


def _check_doubles(config):
    """Refuse a list of the configuration with a repeated value."""
    lists = {key: config[key] for key in ("streams", "seeds", "atoms", "runs")}
    for section in ("regret", "emerging"):
        lists |= {f"{section}.{name}": config[section][name] for name in ("runs", "sizes")}
    lists |= {
        f"learners.{name}.atoms": entry.get("atoms", [])
        for name, entry in config["learners"].items()
    }
    lists |= {
        f"corpora.{name}.timesteps": entry["timesteps"] for name, entry in config["corpora"].items()
    }
    lists |= {
        f"experiments.{name}.{key}": values
        for name, entry in config["experiments"].items()
        for key, values in entry.items()
        if isinstance(values, list)
    }
    check_each_once(lists)


def check_each_once(lists):
    """Refuse a list with a repeated value, which would count twice or write the same files.

    Parameters
    ----------
    lists : dict
        Key of the configuration to list.

    Raises
    ------
    ConfigError
        For the first repeated value.
    """
    for key, values in lists.items():
        earlier_values = set()
        for value in values:
            # 1 and 1.0 are equal; lists and maps are not hashable.
            hashable = value if isinstance(value, (str, int, float)) else repr(value)
            if hashable in earlier_values:
                raise ConfigError(
                    f"{key} names {hashable!r} twice", "each value once", "remove one of the two"
                )
            earlier_values.add(hashable)


def _check_names(config, schema):
    """Refuse undefined names, and incompatible settings of runs and streams.

    A study without streams consists of experiments only, and its runs are not checked.
    """
    algorithms = schema["registry"]["learners"]
    _check_experiments(config)
    if not config["streams"]:
        if not config["experiments"]:
            raise ConfigError(
                "streams is empty",
                "a stream, or an experiment under experiments",
                "add a stream or an experiment",
            )
        return
    _check_among("streams", config["streams"], config["corpora"], "add it to corpora")
    _check_among("runs", config["runs"], config["learners"], "add it to learners")
    for name in config["runs"]:
        if name in RESERVED_RUNS or re.fullmatch(r"seed\d+", name):
            raise ConfigError(
                f"a run is named '{name}'",
                "a name that no other folder of a study has",
                "rename the run",
            )
    _settle_memory(config, schema)
    for name in config["streams"]:
        _check_start(config, name, algorithms)
        _check_corpus(config, name)
    _check_bound(config)
    _check_meaning(config)
    _check_trees(config)
    _check_shown(config)
    _check_able(config, "ranks", config["ranks"], "over_ranks", algorithms)
    if config["regret"]["enabled"]:
        _check_able(config, "regret.runs", config["regret"]["runs"], "has_regret", algorithms)
        _check_regret(config)


def _check_among(where, values, known, todo):
    """Refuse a value that is not in `known`; the message suggests the nearest known value."""
    for value in values:
        if value not in known:
            expected = f"one of {', '.join(map(str, known))}" if known else "none"
            raise ConfigError(f"{where} names {value!r}", expected, advice(value, known, todo))


def _check_able(config, where, names, ability, algorithms):
    """Refuse names that are not runs, and runs whose algorithm lacks an ability.

    An ability is a fact in the registry of the schema, such as "has_regret".
    """
    _check_among(where, names, config["runs"], "correct it or add it to runs")
    allowed = [name for name, facts in algorithms.items() if facts[ability]]
    for name in names:
        if (algorithm := config["learners"][name]["algorithm"]) not in allowed:
            raise ConfigError(
                f"{where} names '{name}', whose algorithm is {algorithm}",
                f"one of {', '.join(allowed)}",
                "remove it",
            )


def _check_sizes(config, where, sizes, runs):
    """Refuse a dictionary size that none of the given runs has."""
    known = sorted({k for run in runs for k in atoms_of(config, run)})
    _check_among(where, sizes, known, "correct it or add it to atoms")


def _settle_memory(config, schema):
    """Set the number of atoms of runs whose memory determines it; refuse a different setting."""
    settings = variants_of(schema["properties"]["learners"]["additionalProperties"])
    for run in config["runs"]:
        entry = config["learners"][run]
        n_numbers = schema["registry"]["learners"][entry["algorithm"]]["numbers_per_atom"]
        if not n_numbers:
            continue
        defaults = settings[entry["algorithm"]]["properties"]
        memory, terms = (entry.get(key, defaults[key]["default"]) for key in ("memory", "terms"))
        size = memory // (terms + n_numbers)
        if not size:
            raise ConfigError(
                f"learners.{run}.memory is {memory}",
                f"at least {terms + n_numbers}, the size of one atom",
                "raise memory or lower terms",
            )
        if entry.setdefault("atoms", [size]) != [size]:
            raise ConfigError(
                f"learners.{run}.atoms is {entry['atoms']}",
                f"[{size}], which follows from memory and terms",
                "remove atoms, or change memory",
            )


def _check_start(config, name, algorithms):
    """Refuse more atoms than documents in the first batch, unless atoms are added on demand."""
    batches = config["corpora"][name]["batches"]
    if batches["by"] != "documents":
        return
    for run in config["runs"]:
        n_atoms = max(atoms_of(config, run))
        adds_atoms = algorithms[config["learners"][run]["algorithm"]]["opens"]
        if n_atoms > batches["initial"] and not adds_atoms:
            raise ConfigError(
                f"run '{run}' has {n_atoms} atoms and corpora.{name}.batches.initial is "
                f"{batches['initial']}",
                "at most as many atoms as documents in the first batch",
                "lower atoms or raise batches.initial",
            )


def _check_corpus(config, name):
    """Refuse an invalid section ``topic_entry``, and the reader ``documents`` without sources."""
    corpus = config["corpora"][name]
    TopicEntry.from_map(corpus["topic_entry"])
    if corpus["reader"] == "documents" and not corpus["sources"]:
        raise ConfigError(
            f"corpora.{name}.sources is empty",
            "files or folders to read",
            "add their paths to sources",
        )


def _check_bound(config):
    """Refuse a bounded vocabulary with ``idf: corpus`` or regret, which need all terms."""
    max_terms = Features.from_map(config["features"]).max_terms
    if not max_terms:
        return
    for run in config["runs"]:
        if run_of(config, run)["features"]["idf"] == "corpus":
            raise ConfigError(
                f"features.max_terms is {max_terms} and run '{run}' has idf 'corpus'",
                "idf 'past' or 'none' with a bounded vocabulary",
                "set features.max_terms to 0, or idf to 'past' or 'none'",
            )
    if config["regret"]["enabled"]:
        raise ConfigError(
            f"features.max_terms is {max_terms} and regret is enabled",
            "an unbounded vocabulary with regret",
            "set features.max_terms to 0 or regret.enabled to false",
        )


def _check_meaning(config):
    """Refuse a weight of vectors for streams without vectors, and for runs on MPI ranks."""
    for run in config["runs"]:
        weight = run_of(config, run)["features"].get("meaning", 0)
        if weight == 0:
            continue
        for name in config["streams"]:
            options = config["corpora"][name]["options"]
            if not options.get("vectors") and not (options.get("columns") or {}).get("vector"):
                raise ConfigError(
                    f"run '{run}' has features.meaning {json.dumps(weight)}, "
                    f"and corpora.{name} has no vectors",
                    "a stream whose documents have vectors",
                    "set options.vectors or options.columns.vector of the corpus, "
                    "or features.meaning to 0",
                )
        if run in config["ranks"]:
            raise ConfigError(
                f"run '{run}' has features.meaning {json.dumps(weight)}, and runs on MPI ranks",
                "features.meaning 0 for a run on MPI ranks",
                "set features.meaning of the run to 0",
            )


def _check_experiments(config):
    """Refuse unknown names in experiments, and experiments that need each other's results."""
    waiting_for = {
        name: entry.get("experiments", []) for name, entry in config["experiments"].items()
    }
    for name, entry in config["experiments"].items():
        for key, table in (
            ("streams", "corpora"),
            ("learners", "learners"),
            ("experiments", "experiments"),
        ):
            _check_among(
                f"experiments.{name}.{key}", entry.get(key, []), config[table], f"add it to {table}"
            )
        for stream in entry.get("streams", []):
            _check_corpus(config, stream)
    while waiting_for:
        ready = [
            name for name, others in waiting_for.items() if not set(others) & waiting_for.keys()
        ]
        if not ready:
            raise ConfigError(
                f"the experiments {', '.join(waiting_for)} need each other's results",
                "experiments without circular dependencies",
                "remove a name from the key experiments of one of them",
            )
        waiting_for = {name: others for name, others in waiting_for.items() if name not in ready}


def _check_trees(config):
    """Refuse the tree of a learner if it is invalid, or if its size is not the number of atoms."""
    for run in config["runs"]:
        learner = config["learners"][run]
        if learner["algorithm"] != "hierarchical":
            continue
        from odl import trees  # used by one learner only

        for k in atoms_of(config, run):
            try:
                trees.parse(learner.get("tree", "binary"), k)
            except ParameterError as error:
                raise ConfigError(
                    f"run '{run}': {error.given}", error.expected, error.todo
                ) from error


def _check_shown(config):
    """Refuse undefined runs, sizes and seeds in the sections report, alerts and emerging."""
    report, alerts, emerging = config["report"], config["alerts"], config["emerging"]
    FollowedAlerts.from_map(alerts)
    todo = "correct it or add it to runs"
    _check_among("report.runs", report["runs"], config["runs"], todo)
    shown_runs = report["runs"] or config["runs"]
    if report["run"]:
        shown_runs = [report["run"]]
        _check_among("report.run", shown_runs, config["runs"], todo)
    if report["atoms"]:
        _check_sizes(config, "report.atoms", [report["atoms"]], shown_runs)
    _check_among("report.seed", [report["seed"]], config["seeds"], "correct it or add it to seeds")
    if emerging["enabled"]:
        _check_among("emerging.runs", emerging["runs"], config["runs"], todo)
        emerging_runs = emerging["runs"] or config["runs"]
        _check_sizes(config, "emerging.sizes", emerging["sizes"], emerging_runs)
    if not alerts["run"]:
        return
    _check_among("alerts.run", [alerts["run"]], config["runs"], f"{todo}, or set it to null")
    if alerts["atoms"]:
        _check_sizes(config, "alerts.atoms", [alerts["atoms"]], [alerts["run"]])
    if alerts["run"] in config["ranks"]:
        raise ConfigError(
            f"alerts.run names '{alerts['run']}', which runs on MPI ranks",
            "a run in one process",
            "name another run",
        )


def _check_regret(config):
    """Refuse regret without runs, with deleted checkpoints, or for undefined sizes."""
    settings = config["regret"]
    if not settings["runs"]:
        raise ConfigError(
            "regret is enabled and regret.runs is empty",
            "at least one name among runs",
            "add a run to regret.runs, or set regret.enabled to false",
        )
    if config["checkpoints"]["keep"]:
        raise ConfigError(
            f"regret is enabled and checkpoints.keep is {config['checkpoints']['keep']}",
            "checkpoints.keep 0, because regret reads all checkpoints",
            "set checkpoints.keep to 0 or regret.enabled to false",
        )
    _check_sizes(config, "regret.sizes", settings["sizes"], settings["runs"])
