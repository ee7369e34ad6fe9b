"""A configuration held to itself: every name it uses is defined, and what it asks for goes together."""

import difflib
import re

from odl import trees
from odl.config.chains import atoms_of
from odl.config.schema import check_map
from odl.config.sections import FollowedAlerts, fill
from odl.errors import ConfigError, ParameterError

RESERVED = ("baselines", "batches", "features")  # folders beside the runs


def check_config(config, schema):
    """Check a configuration against the schema (`odl.config.schema.check_map`) and against itself.

    What the model has a default for is filled in, and the atoms of a run that follow from its memory.

    Raises
    ------
    ConfigError
        At the first key or value that is wrong, naming the nearest key for a typo.
    """
    fill(config)
    check_map(config, schema)
    _check_results(config["results"])
    _check_doubles(config)
    _check_names(config, schema)


def _check_results(folder):
    """Refuse a folder whose name means something else to Snakemake, or to a command that is given it."""
    wrong = next((sign for sign in folder if sign in "{}" or not sign.isprintable()), None)
    if wrong or folder.startswith("-") or "://" in folder or folder != folder.strip():
        given = f"results is {folder!r}"
        expected = "a folder's name without braces, control characters, '://', and a minus or spaces at its ends"
        raise ConfigError(given, expected, "rename it")


def _check_doubles(config):
    lists = {key: config[key] for key in ("streams", "seeds", "atoms", "runs")}
    for section in ("regret", "emerging"):
        lists |= {f"{section}.{name}": config[section][name] for name in ("runs", "sizes")}
    lists |= {f"learners.{name}.atoms": entry.get("atoms", []) for name, entry in config["learners"].items()}
    lists |= {f"corpora.{name}.timesteps": entry["timesteps"] for name, entry in config["corpora"].items()}
    lists |= {
        f"experiments.{name}.{key}": values
        for name, entry in config["experiments"].items()
        for key, values in entry.items()
        if isinstance(values, list)
    }
    check_each_once(lists)


def check_each_once(lists):
    """Refuse a value listed twice: it would count as one more seed, or write the same files.

    Parameters
    ----------
    lists : dict
        Where they stand in the configuration, to the lists.

    Raises
    ------
    ConfigError
        Naming the value.
    """
    for where, values in lists.items():
        seen = set()  # of texts, numbers and, by their repr, the rest; 1 and 1.0 are equal
        keys = [value if isinstance(value, (str, int, float)) else repr(value) for value in values]
        double = next((value for value in keys if value in seen or seen.add(value)), None)
        if double is not None:
            raise ConfigError(f"{where} names {double!r} twice", "each value once", "remove one")


def _check_names(config, schema):
    algorithms = schema["registry"]["learners"]
    _check_experiments(config)
    if not config["streams"]:
        if not config["experiments"]:
            raise ConfigError("streams is empty", "a stream, or something under experiments", "add one")
        return  # a study of experiments only: what is said of streams and runs is not used
    for key, table in (("streams", "corpora"), ("runs", "learners")):
        _check_known(config, key, config[key], table)
    for name in config["runs"]:
        if name in RESERVED or re.fullmatch(r"seed\d+", name):
            raise ConfigError(f"a run is named '{name}'", "a name that no folder of a study has", "rename the run")
    _settle_memory(config, schema)
    for name in config["streams"]:
        batches = config["corpora"][name]["batches"]
        for run in config["runs"]:
            most = max(atoms_of(config, run))
            if algorithms[config["learners"][run]["algorithm"]]["opens"]:
                continue
            if batches["by"] == "documents" and most > batches["initial"]:
                raise ConfigError(
                    f"run '{run}' has {most} atoms and corpora.{name}.batches.initial is {batches['initial']}",
                    "no more atoms than documents to start from",
                    "lower atoms or raise initial",
                )
        _check_corpus(config, name)
    _check_bound(config)
    _check_trees(config)
    _check_report(config)
    _check_ranks(config, [name for name, facts in algorithms.items() if facts["over_ranks"]])
    _check_shards(config)
    _check_regret(config, [name for name, facts in algorithms.items() if facts["has_regret"]])
    _check_emerging(config)
    _check_alerts(config)


def _settle_memory(config, schema):
    """Give runs whose learner says `beside` the atoms that their memory holds; refuse none, and others."""
    settings = schema["properties"]["learners"]["additionalProperties"]["select"]["schemas"]
    for run in config["runs"]:
        entry = config["learners"][run]
        beside = schema["registry"]["learners"][entry["algorithm"]]["beside"]
        if not beside:
            continue
        defaults = settings[entry["algorithm"]]["properties"]
        memory, terms = (entry.get(key, defaults[key]["default"]) for key in ("memory", "terms"))
        size = memory // (terms + beside)
        if not size:
            expected = f"room for one atom, terms and {beside} numbers"
            raise ConfigError(f"learners.{run}.memory is {memory}", expected, "raise memory or lower terms")
        if entry.setdefault("atoms", [size]) != [size]:
            expected = f"{size}, which memory and terms come to"
            raise ConfigError(f"learners.{run}.atoms is {entry['atoms']}", expected, "remove it, or change memory")


def _check_known(config, where, names, table):
    """Refuse a name that a table of the configuration has not."""
    for name in names:
        if name not in config[table]:
            near = difflib.get_close_matches(name, config[table], n=1)
            todo = f"did you mean '{near[0]}'?" if near else f"add it to {table}"
            raise ConfigError(f"{where} names '{name}'", f"one of {', '.join(config[table])}", todo)


def _check_corpus(config, name):
    """Refuse a stream that contradicts itself."""
    corpus = config["corpora"][name]
    entry = corpus["topic_entry"]
    if entry["first"] > entry["last"]:
        given = f"corpora.{name}.topic_entry is from {entry['first']} to {entry['last']}"
        raise ConfigError(given, "first not after last", "correct it")
    if corpus["reader"] == "documents" and not corpus["sources"]:
        raise ConfigError(f"corpora.{name}.sources is empty", "the files or the folder to read", "name them")


def _check_bound(config):
    """Refuse a bound on the vocabulary with what needs terms that have left, or that share a bucket."""
    most, buckets = (config["features"].get(name, 0) for name in ("max_terms", "hash_terms"))
    if buckets == 1 or (buckets and most):
        given = f"features.hash_terms is {buckets}" + (f" and features.max_terms is {most}" if most else "")
        expected = "2 buckets or more" if buckets == 1 else "one of the two bounds"
        raise ConfigError(given, expected, "set one of them to 0" if most else "correct it, or set it to 0")
    for run in config["runs"] if buckets else []:
        if {**config["features"], **config["learners"][run].get("features", {})}["vocabulary"] == "fixed":
            given = f"features.hash_terms is {buckets} and run '{run}' has vocabulary 'fixed'"
            raise ConfigError(given, "words of the first batch, which buckets do not tell", "set one of them otherwise")
    for run in config["runs"] if most else []:
        if {**config["features"], **config["learners"][run].get("features", {})}["idf"] == "corpus":
            given = f"features.max_terms is {most} and run '{run}' has idf 'corpus'"
            raise ConfigError(given, "frequencies of all terms, or idf 'past' or 'none'", "set one of them otherwise")
    if most and config["regret"]["enabled"]:
        given = f"features.max_terms is {most} and regret is enabled"
        raise ConfigError(given, "terms that never leave, where dictionaries are compared", "set one of them otherwise")


def _check_experiments(config):
    """Refuse what an experiment names and the study has not, and experiments that wait for each other."""
    waits = {name: entry.get("experiments", []) for name, entry in config["experiments"].items()}
    for name, entry in config["experiments"].items():
        for key, table in (("streams", "corpora"), ("learners", "learners"), ("experiments", "experiments")):
            _check_known(config, f"experiments.{name}.{key}", entry.get(key, []), table)
        for stream in entry.get("streams", []):
            _check_corpus(config, stream)
    while waits:
        ready = [name for name, others in waits.items() if not set(others) & waits.keys()]
        if not ready:
            given = f"experiments {', '.join(waits)} wait for each other"
            raise ConfigError(given, "an experiment that needs no other", "remove a name from experiments")
        waits = {name: others for name, others in waits.items() if name not in ready}


def _check_trees(config):
    """Refuse a tree that is none, or that has not one node for each atom."""
    for run in config["runs"]:
        learner = config["learners"][run]
        if learner["algorithm"] == "hierarchical":
            for k in atoms_of(config, run):
                try:
                    trees.parse(learner.get("tree", "binary"), k)
                except ParameterError as error:
                    raise ConfigError(f"run '{run}': {error.given}", error.expected, error.todo) from error


def _check_report(config):
    """Refuse a report of what is not run; otherwise it would be refused after everything has run."""
    report = config["report"]
    for key, names in (("runs", report["runs"]), ("run", [report["run"]] if report["run"] else [])):
        _check_runs(config, f"report.{key}", names)
    runs = [report["run"]] if report["run"] else report["runs"] or config["runs"]
    sizes = sorted({k for run in runs for k in atoms_of(config, run)})
    if report["atoms"] is not None and report["atoms"] not in sizes:
        expected = f"one of {', '.join(map(str, sizes))}"
        raise ConfigError(f"report.atoms is {report['atoms']}", expected, "correct it or add it to atoms")
    if report["seed"] not in config["seeds"]:
        expected = f"one of {', '.join(map(str, config['seeds']))}"
        raise ConfigError(f"report.seed is {report['seed']}", expected, "correct it or add it to seeds")


def _check_runs(config, where, names, algorithms=None):
    """Refuse the name of a run that is not run, or whose algorithm is none of some."""
    for name in names:
        if name not in config["runs"]:
            expected = f"one of {', '.join(config['runs'])}"
            raise ConfigError(f"{where} names '{name}'", expected, "correct it or add it to runs")
    for name in names if algorithms else ():
        algorithm = config["learners"][name]["algorithm"]
        if algorithm not in algorithms:
            given = f"{where} names '{name}', whose algorithm is {algorithm}"
            raise ConfigError(given, f"one of {', '.join(algorithms)}", "remove it")


def _check_sizes(config, section, runs):
    """Refuse a number of atoms that none of the runs has."""
    sizes = sorted({k for run in runs for k in atoms_of(config, run)})
    for k in config[section]["sizes"]:
        if k not in sizes:
            expected = f"some of {', '.join(map(str, sizes))}"
            raise ConfigError(f"{section}.sizes names {k}", expected, "correct it or add it to atoms")


def _check_ranks(config, algorithms):
    """Refuse ranks for what is not run, or for algorithms without agents."""
    _check_runs(config, "ranks", config["ranks"], algorithms)


def _check_shards(config):
    """Refuse to shard runs whose scores depend on the whole batch."""
    for run in config["runs"] if config["shards"]["documents"] else []:
        for key in ("contrast", "context"):
            if config["learners"][run].get(key, 0) > 0:
                given = f"run '{run}' has {key} {config['learners'][run][key]} and shards.documents is set"
                todo = f"set {key} or shards.documents to 0"
                raise ConfigError(given, "scores that do not depend on the rest of the batch", todo)


def _check_regret(config, algorithms):
    """Refuse regret of what is not run, or of what has none."""
    settings = config["regret"]
    if not settings["enabled"]:
        return
    if not settings["runs"]:
        raise ConfigError("regret is enabled without runs", "names among runs", "add some to regret.runs")
    if config["checkpoints"]["keep"]:
        given = f"regret is enabled and checkpoints.keep is {config['checkpoints']['keep']}"
        raise ConfigError(given, "all checkpoints where regret is computed", "set one of them to 0 or false")
    _check_runs(config, "regret.runs", settings["runs"], algorithms)
    _check_sizes(config, "regret", settings["runs"])


def _check_alerts(config):
    """Refuse alerts of what is not run or that there never are."""
    settings = config["alerts"]
    FollowedAlerts.of(settings)
    if settings["run"]:
        _check_runs(config, "alerts.run", [settings["run"]])
        if settings["run"] in config["ranks"]:
            given = f"alerts.run names '{settings['run']}', whose agents live on ranks of their own"
            raise ConfigError(given, "a run whose atoms one process may see", "name another run")
        sizes = atoms_of(config, settings["run"])
        if settings["atoms"] is not None and settings["atoms"] not in sizes:
            expected = f"one of {', '.join(map(str, sizes))}"
            raise ConfigError(f"alerts.atoms is {settings['atoms']}", expected, "correct it or add it to atoms")


def _check_emerging(config):
    """Refuse emerging topics of what is not run."""
    if config["emerging"]["enabled"]:
        _check_runs(config, "emerging.runs", config["emerging"]["runs"])
        _check_sizes(config, "emerging", config["emerging"]["runs"] or config["runs"])
