"""Read the odl.yaml of a user's folder and expand it to the configuration of a study."""

import copy
import functools
import re
import sys
import unicodedata
from dataclasses import fields
from pathlib import Path

from odl.config.chains import earlier_learner
from odl.config.places import SCHEMAS, SNAKEFILE
from odl.config.schema import MAX_INTEGER, check_map
from odl.config.sections import NAME_PATTERN, Alerts, Batches, Study, Weighting
from odl.config.setting import merge
from odl.errors import ConfigError, StorageError, advice
from odl.files import atomic, linesums, listing

SNAKEFILE = str(SNAKEFILE)
FILE = listing.PROJECT
SCHEMA = SCHEMAS / "odl.schema.json"  # schema of odl.yaml, for editors
SCHEMA_COPY = ".odl.schema.json"  # its copy next to odl.yaml
# First line of odl.yaml. It tells editors with a YAML language server where the schema is.
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA_COPY}"
# File next to odl.yaml with digests of the ids of documents that `odl forget` removed, one a line.
FORGOTTEN = listing.FORGOTTEN
VERIFIED = ".verified.json"  # file in the results of odl run with the digests of verified files
DRIVER = "driver"  # key: "snakemake" if Snakemake runs the folder
# Cache next to odl.yaml: digest of a text -> its vector from `options.vectors.command`.
VECTORS = ".vectors.sqlite"
NOTIFY = "notify"  # key: command that receives each alert
ADDRESS = "address"  # key: address under which new.html is opened, for links to events
ADDRESS_SCHEMA = {"type": "string", "pattern": "(https?|file)://[^#\\s<>|]+"}
ORDER_BY_VERDICTS = "order_by_verdicts"  # key: whether verdicts move headlines in lists
OWN_KEYS = (DRIVER, NOTIFY, ADDRESS, ORDER_BY_VERDICTS)  # keys that only odl.yaml has
# Keys of odl.yaml that belong to its stream. All keys that are not listed belong to the study.
STREAM_KEYS = ("sources", "options", "ties", "batches")
KEEP = 20  # interval between retained checkpoints, in timesteps
LEARNER = "levels"  # default run
MAX_ATOMS = 500  # largest default number of atoms


def expand(config):
    """Return the configuration of a study that corresponds to the content of an odl.yaml.

    Parameters
    ----------
    config : dict
        Content of odl.yaml: ``sources``, ``options`` (of the reader `odl.corpora.collection`),
        ``batches`` and any key of a configuration. Only ``sources`` is required.

    Returns
    -------
    dict
        Configuration with one stream without labels, one run with its alerts, and no baselines.
        Other settings are included only if odl.yaml sets them.

    Raises
    ------
    ConfigError
        If ``sources`` is missing, a key is unknown, or no run uses a learner.
    """
    own_keys = (*STREAM_KEYS, *OWN_KEYS)
    # Copied, since `merge` adds defaults in place
    general = copy.deepcopy({key: config[key] for key in config if key not in own_keys})
    check_map(config.get(ADDRESS, "file:///"), ADDRESS_SCHEMA, ADDRESS)
    if isinstance(general.get("study"), int):  # check now: a huge integer cannot be printed
        check_map(general["study"], {}, "study")
    name = str(general.get("study") or name_of(Path.cwd().name))
    if not config.get("sources"):
        raise ConfigError(
            f"{FILE} has no sources",
            "paths of files with documents",
            "add paths to sources, or run odl init again",
        )
    _check_keys(general)
    # The schema refuses values of wrong types later.
    batches = config["batches"] if isinstance(config.get("batches"), dict) else {}
    stream = _stream_of(config, batches)
    runs = general.get("runs")
    if not isinstance(runs, list) or not runs:
        runs = [LEARNER]
    _check_learners(general.get("learners"), runs)
    run, atoms, shown_atoms = runs[0], general.get("atoms"), None
    if atoms:
        atoms = atoms if isinstance(atoms, list) else [atoms]
        shown_atoms = atoms[0]
    else:
        initial = batches.get("initial")
        is_valid = isinstance(initial, int) and initial > 0
        atoms = [min(MAX_ATOMS, initial if is_valid else Batches.initial)]
    study_config = {
        "study": name,
        "streams": [name],
        "corpora": {name: {"reader": "documents", **stream}},
        "seeds": [0],
        "runs": runs,
        "baselines": {"enabled": False},
        "evaluate": {"bootstrap": 0},
        "emerging": {"enabled": False},
        "checkpoints": {"keep": KEEP},
        # Settings that an older odl.yaml lacks get the values that reproduce older results.
        "alerts": {**Alerts.earlier(), "run": run, "atoms": shown_atoms},
        "features": Weighting.earlier(),
        "learners": {LEARNER: earlier_learner(LEARNER)},
        "report": {"runs": runs, "run": run, "atoms": shown_atoms, "seed": 0},
    }
    if shown_atoms and run == LEARNER:
        # check_config refuses a size that does not follow from the memory of the learner.
        study_config["learners"][LEARNER] |= {"atoms": atoms}
    return merge({**general, "atoms": atoms}, study_config)


def _check_learners(learners, runs):
    """Raise ConfigError if odl.yaml configures a learner that no run uses."""
    names = list(learners) if isinstance(learners, dict) else []
    unused = [name for name in names if name not in runs]
    if unused:
        raise ConfigError(
            f"{FILE} has learners.{unused[0]}, and the runs are {', '.join(map(str, runs))}",
            "learners that a run uses",
            f"write runs: [{unused[0]}] into {FILE}, or remove learners.{unused[0]}",
        )


def _stream_of(config, batches):
    """Return the settings of the stream in an odl.yaml, with the rules for unreadable documents.

    Documents that cannot be read are set aside. If batches are periods, documents without a time
    are set aside too. Documents that `odl forget` removed are not read.
    """
    stream = {key: config[key] for key in STREAM_KEYS if key in config}
    options = stream.get("options") or {}
    if isinstance(options, dict):
        rules = {"strict": False}
        if batches.get("by", Batches.by) == "period":
            rules["needs_time"] = True
        stream["options"] = {**rules, **options}
        if digests := forgotten("."):
            stream["options"]["forgotten"] = digests
    return stream


def without_removed(config):
    """Return (configuration without obsolete keys of ``alerts``, names of the removed keys)."""
    alerts = config.get("alerts")
    removed = [key for key in alerts if key in Alerts.removed] if isinstance(alerts, dict) else []
    if not removed:
        return config, []
    current = {key: value for key, value in alerts.items() if key not in removed}
    return {**config, "alerts": current}, [f"alerts.{key}" for key in removed]


def checked(config):
    """Return `expand(config)`. On an error, exit with one line instead of a traceback."""
    try:
        study_config = expand(config)
        root = Path(str(study_config.get("results", "results")), str(study_config["study"]))
        if config.get(DRIVER) != "snakemake" and (root / VERIFIED).exists():
            raise ConfigError(
                f"{root} was written by odl run, not by Snakemake",
                "a folder that only odl run or only Snakemake runs",
                f"type odl run, or write '{DRIVER}: snakemake' into {FILE}",
            )
        return study_config
    except ConfigError as error:
        sys.exit(f"odl: {error}")


def check(folder):
    """Refuse a folder without odl.yaml, and a folder in which a symbolic link leads outside.

    Raises
    ------
    ConfigError
        If the folder has no odl.yaml.
    DataError
        If a symbolic link in the folder leads outside.
    """
    if not (Path(folder) / FILE).is_file():
        raise _missing(folder)
    atomic.refuse_links(folder, results_of(folder))


def _missing(folder):
    """Return the ConfigError for a folder without odl.yaml."""
    return ConfigError(
        f"{folder} contains no {FILE}", "a folder that odl init wrote", "run odl init first"
    )


def read(folder):
    """Return the content of the odl.yaml of a folder as a dict.

    Raises
    ------
    ConfigError
        If the file is missing, is not a map, or has a key twice.
    """
    path = Path(folder) / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise _missing(folder) from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return copy.deepcopy(_parse(text, path))


@functools.lru_cache(maxsize=1)
def _parse(text, path):
    """Return the map in the text of an odl.yaml. The caller must not change it.

    The last result is cached, because a watch reads the file often and parsing takes 15 ms.
    """
    import yaml

    class StrictLoader(yaml.SafeLoader):
        """Loader that refuses repeated keys, of which YAML would silently use the last."""

        def construct_mapping(self, node, deep=False):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            repeated = next((key for n, key in enumerate(keys) if key in keys[:n]), None)
            if repeated is not None:
                raise ConfigError(
                    f"{path} has the key {repeated} twice",
                    "each key once",
                    "move the lines under both keys under one of them",
                )
            return super().construct_mapping(node, deep)

        def construct_integer(self, node):
            number = self.construct_yaml_int(node)
            if abs(number) > MAX_INTEGER:
                location = f"{path} line {node.start_mark.line + 1}"
                raise ConfigError(
                    f"{location} has an integer beyond 2^63 - 1",
                    "an integer of at most 64 bits",
                    "write a smaller number",
                )
            return number

    StrictLoader.add_constructor("tag:yaml.org,2002:int", StrictLoader.construct_integer)
    try:
        config = StrictLoader(text).get_single_data()
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(config, dict):
        raise ConfigError(f"{path} contains no keys", "lines `key: value`", "run odl init again")
    return config


def _unreadable(path, error):
    """Return the error for an odl.yaml that cannot be read or parsed."""
    reason = " ".join(str(error).split())
    return ConfigError(
        f"{path} cannot be read ({reason})",
        "lines `key: value`",
        "correct the line named in parentheses",
    )


def orders_by_verdicts(folder):
    """Return whether verdicts move headlines in lists (`order_by_verdicts`, by default true).

    Raises
    ------
    ConfigError
        If the value is neither true nor false.
    """
    value = read(folder).get(ORDER_BY_VERDICTS, True) if (Path(folder) / FILE).is_file() else True
    if not isinstance(value, bool):
        raise ConfigError(
            f"{ORDER_BY_VERDICTS} in {Path(folder) / FILE} is {value!r}",
            "true or false",
            "write true or false, or remove the key",
        )
    return value


def refresh_schema(folder):
    """Update the copy of the schema next to odl.yaml if another version of odl wrote it."""
    copied, current = Path(folder) / SCHEMA_COPY, SCHEMA.read_bytes()
    if copied.is_file() and copied.read_bytes() != current:
        with atomic.replacing(copied) as temporary:
            Path(temporary).write_bytes(current)


def forgotten(folder):
    """Return the digests of the ids of documents that `odl forget` removed from a folder.

    Rows of the sources with these ids are not read. A file without checksums is accepted if each
    line is a digest, because earlier versions and users write such files.

    Raises
    ------
    StorageError
        If the file is damaged, because forgotten documents would be read again.
    """
    path = Path(folder) / FORGOTTEN
    try:
        text = path.read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        return []
    words = text.split()
    if words and all(re.fullmatch("[0-9a-f]{32}", word) for word in words):
        return words
    todo = "restore it from a backup, or delete it: odl run then names the lines to write into it"
    digests, closed = linesums.parse(text, path, todo)
    if not closed:
        raise StorageError(
            f"{path} was truncated: it ends after {len(digests)} documents",
            "a last line with the number of documents",
            todo,
        )
    return digests


def forget(folder, digest):
    """Add the digest of an id to the file of forgotten documents, and flush it to disk."""
    linesums.write(Path(folder) / FORGOTTEN, sorted({*forgotten(folder), digest}))


def results_of(folder):
    """Return the folder of results: the key ``results`` of odl.yaml, by default "results"."""
    try:
        results = read(folder).get("results")
    except ConfigError:  # odl run reports the error
        results = None
    return results if isinstance(results, str) else "results"


def address_of(folder):
    """Return the address of the page (key ``address``); "" if it is not set or invalid."""
    try:
        address = read(folder).get(ADDRESS, "")
        check_map(address, ADDRESS_SCHEMA, ADDRESS)
    except ConfigError:  # odl run reports the error
        return ""
    return address


def name_of(folder):
    """Return a name for a study from the name of a folder.

    It consists of lower-case letters of any script, digits and hyphens. If the folder has none of
    these in its name, the result is "mine".
    """
    characters = unicodedata.normalize("NFC", folder.lower())
    name = "".join(
        # letters, marks and numbers
        character if unicodedata.category(character)[0] in "LMN" else "-"
        for character in characters
    )
    return "-".join(re.findall(NAME_PATTERN.replace("-]", "]"), name)) or "mine"


KEYS = tuple(entry.name for entry in fields(Study))


def _check_keys(general):
    """Refuse an unknown key of odl.yaml."""
    for key in general:
        if key not in KEYS:
            raise ConfigError(
                f"{FILE} has a key '{key}'",
                "one of " + ", ".join([*STREAM_KEYS, *KEYS]),
                advice(key, [*STREAM_KEYS, *OWN_KEYS, *KEYS], "remove it"),
            )
