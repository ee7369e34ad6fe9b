"""The configuration of a study: checked against a closed schema, and what follows from it.

Standard library only: this is the one module of the package that the workflow itself imports (with the errors and
trees that it imports).
"""

import difflib
import json
import os
import re
import reprlib
from pathlib import Path

from odl import trees
from odl.errors import ConfigError, ParameterError

REGRET = ("dual_averaging", "projected_gradient", "online_admm")  # algorithms whose regret can be measured
AGENTS = ("diffusion",)  # algorithms that can run over MPI ranks
OF_EXPERIMENTS = ("experiment", "files", "streams", "learners", "experiments")  # keys of all experiments
MOST, DEEPEST = 100_000, 30  # values of a configuration, and how deep they may lie
BITS = 256  # of a whole number; Python refuses to write some thousand digits
RESERVED = ("baselines", "batches", "features")  # folders beside the runs
BLOCK = 512  # documents of a sum: shards start between two
SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".parquet")  # of a user's own documents
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxdict = 20
_SHORT.maxstring = 200
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def load_schema(path):
    """Return the schema in a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def check(config, schema):
    """Check a configuration against the schema and against itself.

    Parameters
    ----------
    config : dict
        As Snakemake merged it.
    schema : dict
        From `load_schema`. The subset of JSON schema used here: type, properties, required,
        additionalProperties, items, enum, minimum, maximum, exclusiveMinimum, minItems, minLength, pattern
        (full match), $ref and ``select`` (the schema for a map with that value of its key).

    Raises
    ------
    ConfigError
        At the first key or value that is wrong, naming the nearest key for a typo.
    """
    _check_size(config)
    _check(config, schema, "", schema)
    _check_doubles(config)
    _check_names(config)


def check_map(value, schema, path):
    """Check a part of a configuration against a schema of its own; `path` names it in messages."""
    _check_size(value)
    _check(value, schema, path, schema)


def _check_size(config):
    """Refuse what repeats or holds itself: a few aliases of YAML make more values than there is memory."""
    held, level = 0, [config]
    for _ in range(DEEPEST):
        held += len(level)
        if any(isinstance(value, int) and value.bit_length() > BITS for value in level):
            raise ConfigError(f"a whole number of more than {BITS} bits", "a smaller one", "correct it")
        inner = [node.values() if isinstance(node, dict) else node for node in level if isinstance(node, (dict, list))]
        if held + sum(map(len, inner)) > MOST:
            break
        level = [value for values in inner for value in values]
        if not level:
            return
    given = f"the configuration has more than {MOST} values, or more than {DEEPEST} inside one another"
    raise ConfigError(given, "a smaller one", "look for an alias (*name) that is repeated or stands in itself")


def _resolve(schema, root):
    while "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        schema = root["$defs"][name]
    return schema


def _check(value, schema, path, root):
    schema = _resolve(schema, root)
    where = path or "the configuration"
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        raise _wrong(where, value, _describe(schema))
    if "enum" in schema and value not in schema["enum"]:
        near = difflib.get_close_matches(str(value), [str(choice) for choice in schema["enum"]], n=1)
        todo = f"did you mean '{near[0]}'?" if near else "choose one of these"
        raise ConfigError(f"{where} is {_shown(value)}", "one of " + ", ".join(map(str, schema["enum"])), todo)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not _in_range(value, schema):
        raise _wrong(where, value, _describe(schema))
    if isinstance(value, str) and not (
        len(value) >= schema.get("minLength", 0) and re.fullmatch(schema.get("pattern", "(?s:.*)"), value)
    ):
        raise _wrong(where, value, _describe(schema))
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            raise _wrong(where, value, _describe(schema))
        for position, item in enumerate(value):
            _check(item, schema.get("items", {}), f"{where}[{position}]", root)
    if isinstance(value, dict):
        _check_map(value, schema, path, root)


def _check_map(value, schema, path, root):
    where = path or "the configuration"
    if "select" in schema:
        key = schema["select"]["key"]
        if key not in value:
            raise ConfigError(f"{where} has no '{key}'", f"'{key}'", "add it")
        _check(value[key], {"enum": list(schema["select"]["schemas"])}, f"{path}.{key}".lstrip("."), root)
        schema = _resolve(schema["select"]["schemas"][value[key]], root)
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, item in value.items():
        inner = f"{path}.{name}".lstrip(".")
        if not isinstance(name, str):
            raise ConfigError(f"the key {name!r} in {where} is not text", "a name", f"write it in quotes: '{name}'")
        if name in known:
            _check(item, known[name], inner, root)
        elif others is False:
            near = difflib.get_close_matches(name, known, n=1)
            todo = f"did you mean '{near[0]}'?" if near else "remove it"
            raise ConfigError(f"'{inner}' is not a key of the configuration", "one of " + ", ".join(known), todo)
        else:
            names = schema.get("propertyNames")
            if names:
                _check(name, names, f"the name {inner}", root)
            _check(item, others if isinstance(others, dict) else {}, inner, root)
    for name in schema.get("required", []):
        if name not in value:
            raise ConfigError(f"{where} has no '{name}'", f"'{name}' ({_describe(known[name])})", "add it")


def _is(value, kind):
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    return isinstance(value, TYPES[kind])


def _in_range(value, schema):
    return (
        value >= schema.get("minimum", float("-inf"))
        and value <= schema.get("maximum", float("inf"))
        and value > schema.get("exclusiveMinimum", float("-inf"))
        and abs(value) < float("inf")
    )


def _describe(schema):
    kinds = schema.get("type", "a value")
    text = {"object": "a map", "array": "a list", "string": "text", "boolean": "true or false"}
    words = " or ".join(text.get(kind, f"a {kind}") for kind in ([kinds] if isinstance(kinds, str) else kinds))
    for key, phrase in (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most")):
        if key in schema:
            words += f" {phrase} {schema[key]}"
    if schema.get("minItems") or schema.get("minLength"):
        words += ", not empty"
    if "pattern" in schema:
        words += f" matching {schema['pattern']}"
    return words.replace("a integer", "an integer")


def _wrong(where, value, expected):
    return ConfigError(f"{where} is {_shown(value)}", expected, "correct it")


def _shown(value):
    return repr(value) if isinstance(value, (str, float)) else _SHORT.repr(value)


def _check_doubles(config):
    """Refuse a value listed twice: it would count as one more seed, or write the same files."""
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
    for where, values in lists.items():
        seen = set()  # of texts, numbers and, by their repr, the rest; 1 and 1.0 are equal
        keys = [value if isinstance(value, (str, int, float)) else repr(value) for value in values]
        double = next((value for value in keys if value in seen or seen.add(value)), None)
        if double is not None:
            raise ConfigError(f"{where} names {double!r} twice", "each value once", "remove one")


def _check_known(config, where, names, table):
    """Refuse a name that a table of the configuration has not."""
    for name in names:
        if name not in config[table]:
            near = difflib.get_close_matches(name, config[table], n=1)
            todo = f"did you mean '{near[0]}'?" if near else f"add it to {table}"
            raise ConfigError(f"{where} names '{name}'", f"one of {', '.join(config[table])}", todo)


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


def _check_corpus(config, name):
    """Refuse a stream that contradicts itself."""
    corpus = config["corpora"][name]
    entry = corpus["topic_entry"]
    if entry["first"] > entry["last"]:
        given = f"corpora.{name}.topic_entry is from {entry['first']} to {entry['last']}"
        raise ConfigError(given, "first not after last", "correct it")
    if corpus["reader"] == "documents" and not corpus["sources"]:
        raise ConfigError(f"corpora.{name}.sources is empty", "the files or the folder to read", "name them")


def _check_names(config):
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
    for name in config["streams"]:
        batches = config["corpora"][name]["batches"]
        for run in config["runs"]:
            most = max(atoms_of(config, run))
            if batches["by"] == "documents" and most > batches["initial"]:
                raise ConfigError(
                    f"run '{run}' has {most} atoms and corpora.{name}.batches.initial is {batches['initial']}",
                    "no more atoms than documents to start from",
                    "lower atoms or raise initial",
                )
        _check_corpus(config, name)
    _check_trees(config)
    _check_report(config)
    _check_ranks(config)
    _check_shards(config)
    _check_regret(config)
    _check_emerging(config)


def _check_runs(config, where, names):
    """Refuse the name of a run that is not run."""
    for name in names:
        if name not in config["runs"]:
            expected = f"one of {', '.join(config['runs'])}"
            raise ConfigError(f"{where} names '{name}'", expected, "correct it or add it to runs")


def _check_sizes(config, section, runs):
    """Refuse a number of atoms that none of the runs has."""
    sizes = sorted({k for run in runs for k in atoms_of(config, run)})
    for k in config[section]["sizes"]:
        if k not in sizes:
            expected = f"some of {', '.join(map(str, sizes))}"
            raise ConfigError(f"{section}.sizes names {k}", expected, "correct it or add it to atoms")


def _check_ranks(config):
    """Refuse ranks for what is not run, or for algorithms without agents."""
    _check_runs(config, "ranks", config["ranks"])
    for run in config["ranks"]:
        algorithm = config["learners"][run]["algorithm"]
        if algorithm not in AGENTS:
            given = f"ranks names '{run}', whose algorithm is {algorithm}"
            raise ConfigError(given, f"one of {', '.join(AGENTS)}", "remove it")


def _check_shards(config):
    """Refuse to shard runs whose scores depend on the whole batch."""
    for run in config["runs"] if config["shards"]["documents"] else []:
        for key in ("contrast", "context"):
            if config["learners"][run].get(key, 0) > 0:
                given = f"run '{run}' has {key} {config['learners'][run][key]} and shards.documents is set"
                todo = f"set {key} or shards.documents to 0"
                raise ConfigError(given, "scores that do not depend on the rest of the batch", todo)


def shard_of(config):
    """Return the documents of a shard: as configured, rounded up to whole blocks of sums; 0: no shards."""
    return -(-config["shards"]["documents"] // BLOCK) * BLOCK


def _check_regret(config):
    """Refuse regret of what is not run, or of what has none."""
    settings = config["regret"]
    if not settings["enabled"]:
        return
    if not settings["runs"]:
        raise ConfigError("regret is enabled without runs", "names among runs", "add some to regret.runs")
    if config["checkpoints"]["keep"]:
        given = f"regret is enabled and checkpoints.keep is {config['checkpoints']['keep']}"
        raise ConfigError(given, "all checkpoints where regret is computed", "set one of them to 0 or false")
    _check_runs(config, "regret.runs", settings["runs"])
    for run in settings["runs"]:
        algorithm = config["learners"][run]["algorithm"]
        if algorithm not in REGRET:
            given = f"regret.runs names '{run}', whose algorithm is {algorithm}"
            raise ConfigError(given, f"one of {', '.join(REGRET)}", "remove it")
    _check_sizes(config, "regret", settings["runs"])


def _check_emerging(config):
    """Refuse emerging topics of what is not run."""
    if config["emerging"]["enabled"]:
        _check_runs(config, "emerging.runs", config["emerging"]["runs"])
        _check_sizes(config, "emerging", config["emerging"]["runs"] or config["runs"])


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


def atoms_of(config, run):
    """Return the dictionary sizes of a run: its own, or those of the study."""
    return config["learners"][run].get("atoms", config["atoms"])


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


def study_of(config, name):
    """Return what an experiment takes from the study: its streams, its learners (all if none is named), evaluation.

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
        "learners": {
            run: {"learner": learner_of(config, run), "features": features_of(config, run)}
            for run in entry.get("learners") or config["learners"]
        },
        "evaluate": config["evaluate"],
    }


def corpora_of(config):
    """Return the corpora that a study reads: its streams and those of its experiments."""
    more = [stream for entry in config["experiments"].values() for stream in entry.get("streams", [])]
    return list(dict.fromkeys([*config["streams"], *more]))


def learner_of(config, run):
    """Return the algorithm and hyper-parameters of a run."""
    extra = ("atoms", "features")
    return {key: value for key, value in config["learners"][run].items() if key not in extra}


def features_of(config, run):
    """Return the weighting of a run: the study's, with what the run changes."""
    return {**config["features"], **config["learners"][run].get("features", {})}


def order_seed(config, corpus, seed):
    """Return the seed whose batches a seed uses: all share seed 0's if the order is not drawn."""
    settings = config["corpora"][corpus]
    drawn = settings["protocol"] == "topic-entry" or settings["ties"] == "seeded"
    return int(seed) if drawn else 0


def mirror_of(config):
    """Return the mirror: the environment's before the configuration's."""
    return os.environ.get("ODL_MIRROR") or config["mirror"]


def _is_source(file):
    return file.is_file() and not file.name.startswith(".") and file.name.lower().endswith(SUFFIXES)


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
        If a source of the user's does not exist.
    """
    settings = config["corpora"][corpus]
    if settings["reader"] != "documents":
        return [f"{data}/{row['folder']}/{row['file']}" for row in registry if row["corpus"] == settings["reader"]]
    files = []
    for source in settings["sources"]:
        if os.path.isdir(source):
            files += sorted(str(file) for file in Path(source).iterdir() if _is_source(file))
        elif os.path.exists(source):
            if not source.lower().endswith(SUFFIXES):
                expected = f"a file that ends in one of {', '.join(SUFFIXES)}"
                raise ConfigError(f"corpora.{corpus}.sources names {source}", expected, "rename or convert it")
            files.append(source)
        else:
            raise ConfigError(
                f"corpora.{corpus}.sources names {source}, which does not exist", "a file or a folder", "correct it"
            )
    if not files:
        raise ConfigError(f"corpora.{corpus}.sources holds no files", f"some of {', '.join(SUFFIXES)}", "add files")
    return files


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
        As `odl.study` describes it.
    """
    root, entries = f"{config['results']}/{config['study']}", []
    for corpus in config["streams"]:
        settings = config["corpora"][corpus]
        common = {"corpus": corpus, "reader": settings["reader"], "protocol": settings["protocol"]}
        shortest = min(length for (name, _), length in lengths.items() if name == corpus)
        if max(settings["timesteps"], default=0) >= shortest:
            given = f"corpora.{corpus}.timesteps names {max(settings['timesteps'])}"
            raise ConfigError(given, f"timesteps of the stream, 1 to {shortest - 1}", "remove what does not exist")
        orders = {order_seed(config, corpus, seed) for seed in config["seeds"]}
        for run in config["runs"]:
            learner = learner_of(config, run)
            chosen = {
                "run": run,
                "algorithm": learner.pop("algorithm"),
                "parameters": {**learner, "features": features_of(config, run)},
            }
            for k in atoms_of(config, run):
                for seed in config["seeds"]:
                    steps = range(lengths[corpus, order_seed(config, corpus, seed)])
                    folder = f"{root}/{corpus}/seed{seed}/{run}/k{k}"
                    entries.append(
                        {**common, **chosen, "k": k, "seed": seed, "folder": folder, "timesteps": list(steps)}
                    )
        if config["baselines"]["enabled"]:
            for seed in sorted(orders):
                entries.append(
                    {
                        **common,
                        "run": "baselines",
                        "algorithm": "baseline",
                        "k": None,
                        "parameters": {},
                        "seed": seed,
                        "folder": f"{root}/{corpus}/seed{seed}/baselines",
                        "timesteps": list(range(lengths[corpus, seed])),
                    }
                )
    return entries
