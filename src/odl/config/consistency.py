"""Checks across the settings of a configuration: names that it uses are defined, and settings are compatible."""

import json
import re

from odl.config.chains import atoms_of, run_of
from odl.config.schema import check_map, variants_of
from odl.config.sections import Features, FollowedAlerts, TopicEntry, fill
from odl.errors import ConfigError, ParameterError, advice

RESERVED_RUNS = ("baselines", "batches", "features")  # folders next to those of the runs


def check_config(config, schema):
    """Check a configuration against the schema (`odl.config.schema.check_map`) and its settings against each other.

    Missing settings are set to their defaults, and the atoms of a run whose size follows from its
    memory are set.

    Raises
    ------
    ConfigError
        At the first wrong key or value. For a typo it names the nearest key.
    """
    fill(config)
    check_map(config, schema)
    _check_results(config["results"])
    _check_doubles(config)
    _check_names(config, schema)


def _check_results(folder):
    """Refuse a folder name with a special meaning for Snakemake or on a command line."""
    wrong = next((sign for sign in folder if sign in "{}" or not sign.isprintable()), None)
    if wrong or folder.startswith("-") or "://" in folder or folder != folder.strip():
        expected = "a folder's name without braces, control characters, '://', and a minus or spaces at its ends"
        raise ConfigError(f"results is {folder!r}", expected, "rename it")


def _check_doubles(config):
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
    """Refuse a list with a repeated value, which would count as another seed or write the same files.

    Parameters
    ----------
    lists : dict
        Key of the configuration to list.

    Raises
    ------
    ConfigError
        Names the value.
    """
    for where, values in lists.items():
        seen = set()  # values, or their repr if not hashable; 1 and 1.0 are equal
        keys = [value if isinstance(value, (str, int, float)) else repr(value) for value in values]
        double = next((value for value in keys if value in seen or seen.add(value)), None)
        if double is not None:
            raise ConfigError(f"{where} names {double!r} twice", "each value once", "remove one")


def _check_names(config, schema):
    algorithms = schema["registry"]["learners"]
    _check_experiments(config)
    if not config["streams"]:
        if not config["experiments"]:
            raise ConfigError(
                "streams is empty", "a stream, or something under experiments", "add one"
            )
        return  # experiments only: streams and runs are not used
    _check_among("streams", config["streams"], config["corpora"], "add it to corpora")
    _check_among("runs", config["runs"], config["learners"], "add it to learners")
    for name in config["runs"]:
        if name in RESERVED_RUNS or re.fullmatch(r"seed\d+", name):
            raise ConfigError(
                f"a run is named '{name}'", "a name that no folder of a study has", "rename the run"
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
    """Refuse a value that is not in `known`; the message names the nearest one."""
    for value in values:
        if value not in known:
            expected = f"one of {', '.join(map(str, known))}" if known else "none"
            raise ConfigError(f"{where} names {value!r}", expected, advice(value, known, todo))


def _check_able(config, where, names, fact, algorithms):
    """Refuse names that are not runs, and runs whose algorithm lacks an ability (a key of the registry)."""
    _check_among(where, names, config["runs"], "correct it or add it to runs")
    able = [name for name, facts in algorithms.items() if facts[fact]]
    for name in names:
        if (algorithm := config["learners"][name]["algorithm"]) not in able:
            defect = f"{where} names '{name}', whose algorithm is {algorithm}"
            raise ConfigError(defect, f"one of {', '.join(able)}", "remove it")


def _sizes(config, runs):
    """Return all dictionary sizes of some runs, ascending."""
    return sorted({k for run in runs for k in atoms_of(config, run)})


def _settle_memory(config, schema):
    """Set the atoms of runs whose size follows from their memory; refuse another size."""
    settings = variants_of(schema["properties"]["learners"]["additionalProperties"])
    for run in config["runs"]:
        entry = config["learners"][run]
        extra = schema["registry"]["learners"][entry["algorithm"]]["numbers_per_atom"]
        if not extra:
            continue
        defaults = settings[entry["algorithm"]]["properties"]
        memory, terms = (entry.get(key, defaults[key]["default"]) for key in ("memory", "terms"))
        size = memory // (terms + extra)
        if not size:
            expected = f"room for one atom, terms and {extra} numbers"
            raise ConfigError(
                f"learners.{run}.memory is {memory}", expected, "raise memory or lower terms"
            )
        if entry.setdefault("atoms", [size]) != [size]:
            expected = f"{size}, which follows from memory and terms"
            raise ConfigError(
                f"learners.{run}.atoms is {entry['atoms']}", expected, "remove it, or change memory"
            )


def _check_start(config, name, algorithms):
    """Refuse more atoms than documents in the first batch, except for learners that add atoms on demand."""
    batches = config["corpora"][name]["batches"]
    for run in config["runs"] if batches["by"] == "documents" else ():
        most, opens = (
            max(atoms_of(config, run)),
            algorithms[config["learners"][run]["algorithm"]]["opens"],
        )
        if most > batches["initial"] and not opens:
            defect = f"run '{run}' has {most} atoms and corpora.{name}.batches.initial is {batches['initial']}"
            raise ConfigError(
                defect, "no more atoms than documents to start from", "lower atoms or raise initial"
            )


def _check_corpus(config, name):
    """Refuse a wrong range of topic entry, and the reader ``documents`` without sources."""
    corpus = config["corpora"][name]
    TopicEntry.from_map(corpus["topic_entry"])
    if corpus["reader"] == "documents" and not corpus["sources"]:
        raise ConfigError(
            f"corpora.{name}.sources is empty", "the files or the folder to read", "name them"
        )


def _check_bound(config):
    """Refuse a bounded vocabulary together with ``idf: corpus`` or regret, which need removed terms."""
    most = Features.from_map(config["features"]).max_terms
    for run in config["runs"] if most else ():
        if run_of(config, run)["features"]["idf"] == "corpus":
            defect = f"features.max_terms is {most} and run '{run}' has idf 'corpus'"
            raise ConfigError(
                defect, "frequencies of all terms, or idf 'past' or 'none'", "change one of them"
            )
    if most and config["regret"]["enabled"]:
        defect = f"features.max_terms is {most} and regret is enabled"
        raise ConfigError(
            defect, "a vocabulary without removal if regret is measured", "change one of them"
        )


def _check_meaning(config):
    """Refuse a weight of vectors for streams without vectors, and for runs on MPI ranks."""
    for run in config["runs"]:
        weight = run_of(config, run)["features"].get("meaning", 0)
        for name in config["streams"] if weight != 0 else ():
            options = config["corpora"][name]["options"]
            if not options.get("vectors") and not (options.get("columns") or {}).get("vector"):
                defect = f"run '{run}' has features.meaning {json.dumps(weight)}, and corpora.{name} has no vectors"
                todo = "set options.vectors or options.columns.vector of the corpus, or features.meaning to 0"
                raise ConfigError(defect, "a stream whose documents have vectors", todo)
        if weight != 0 and run in config["ranks"]:
            defect = f"run '{run}' has features.meaning {json.dumps(weight)}, and agents on ranks"
            raise ConfigError(defect, "one of them", "set features.meaning of the run to 0")


def _check_experiments(config):
    """Refuse unknown names in experiments, and experiments that need each other in a circle."""
    waits = {name: entry.get("experiments", []) for name, entry in config["experiments"].items()}
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
    while waits:
        ready = [name for name, others in waits.items() if not set(others) & waits.keys()]
        if not ready:
            defect = f"experiments {', '.join(waits)} wait for each other"
            raise ConfigError(
                defect, "an experiment that needs no other", "remove a name from experiments"
            )
        waits = {name: others for name, others in waits.items() if name not in ready}


def _check_trees(config):
    """Refuse an invalid tree, and a tree whose number of nodes is not the number of atoms."""
    for run in config["runs"]:
        learner = config["learners"][run]
        for k in atoms_of(config, run) if learner["algorithm"] == "hierarchical" else ():
            from odl import trees  # used by one learner only

            try:
                trees.parse(learner.get("tree", "binary"), k)
            except ParameterError as error:
                raise ConfigError(
                    f"run '{run}': {error.given}", error.expected, error.todo
                ) from error


def _check_shown(config):
    """Refuse runs, sizes and seeds of report, alerts and emerging topics that the study does not run."""
    report, alerts, emerging = config["report"], config["alerts"], config["emerging"]
    FollowedAlerts.from_map(alerts)
    runs = [report["run"]] if report["run"] else report["runs"] or config["runs"]
    named = {
        "report.runs": report["runs"],
        "report.run": [report["run"]],
        "alerts.run": [alerts["run"]],
    }
    named |= {"emerging.runs": emerging["runs"]} if emerging["enabled"] else {}
    for where, names in named.items():
        todo = "correct it or add it to runs" + (
            ", or set it to null" if where == "alerts.run" else ""
        )
        _check_among(where, [name for name in names if name], config["runs"], todo)
    sizes = {"report.atoms": ([report["atoms"]], runs)}
    sizes |= {"alerts.atoms": ([alerts["atoms"]], [alerts["run"]])} if alerts["run"] else {}
    sizes |= (
        {"emerging.sizes": (emerging["sizes"], emerging["runs"] or config["runs"])}
        if emerging["enabled"]
        else {}
    )
    for where, (values, among) in sizes.items():
        _check_among(
            where, [k for k in values if k], _sizes(config, among), "correct it or add it to atoms"
        )
    _check_among("report.seed", [report["seed"]], config["seeds"], "correct it or add it to seeds")
    if alerts["run"] in config["ranks"]:
        defect = f"alerts.run names '{alerts['run']}', which runs on MPI ranks"
        raise ConfigError(defect, "a run with all atoms in one process", "name another run")


def _check_regret(config):
    """Refuse regret without runs, with deleted checkpoints, or of sizes that are not run."""
    settings = config["regret"]
    if not settings["runs"]:
        raise ConfigError(
            "regret is enabled without runs", "names among runs", "add some to regret.runs"
        )
    if config["checkpoints"]["keep"]:
        defect = f"regret is enabled and checkpoints.keep is {config['checkpoints']['keep']}"
        raise ConfigError(
            defect, "all checkpoints where regret is computed", "set one of them to 0 or false"
        )
    _check_among(
        "regret.sizes",
        settings["sizes"],
        _sizes(config, settings["runs"]),
        "correct it or add it to atoms",
    )
