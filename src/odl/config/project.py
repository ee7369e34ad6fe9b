"""A user's folder: reading its odl.yaml, and expanding it to the configuration of a study."""

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
from odl.files import atomic, linesums, links, listing

SNAKEFILE = str(SNAKEFILE)
FILE = listing.PROJECT
SCHEMA = SCHEMAS / "odl.schema.json"  # schema of odl.yaml, for editors
SCHEMA_COPY = ".odl.schema.json"  # its copy next to odl.yaml
# Comment by which the YAML language server of editors finds the schema of a file, without a network.
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA_COPY}"
FORGOTTEN = (
    listing.FORGOTTEN
)  # file next to odl.yaml: digests of the ids of forgotten documents, one per line
VERIFIED = ".verified.json"  # file in the results of odl run: digests of verified files
DRIVER = "driver"  # key: "snakemake" if Snakemake runs the folder
# file next to odl.yaml: answers of options.vectors.command, by digest of the text
VECTORS = ".vectors.sqlite"
NOTIFY = "notify"  # key: command that receives each alert
ADDRESS = "address"  # key: address at which people open new.html, for links to events
ADDRESS_SCHEMA = {"type": "string", "pattern": "(https?|file)://[^#\\s<>|]+"}
ORDER_BY_VERDICTS = "order_by_verdicts"  # key: whether verdicts move headlines in lists
OWN_KEYS = (DRIVER, NOTIFY, ADDRESS, ORDER_BY_VERDICTS)  # keys of odl.yaml that no study has
STREAM_KEYS = (
    "sources",
    "options",
    "ties",
    "batches",
)  # keys of odl.yaml for its stream; others are of a study
KEEP = 20  # interval between retained checkpoints, in timesteps
LEARNER = "levels"  # default run


def expand(config):
    """Return the configuration of a study that an odl.yaml stands for.

    Parameters
    ----------
    config : dict
        Content of odl.yaml: ``sources``, ``options`` (of the reader `odl.corpora.collection`),
        ``batches`` and any key of a configuration. Only ``sources`` is required.

    Returns
    -------
    dict
        One stream without labels, one run with its alerts, no baselines. The other settings are
        left to their defaults.

    Raises
    ------
    ConfigError
        If ``sources`` is missing or a key is unknown.
    """
    general = {key: value for key, value in config.items() if key not in (*STREAM_KEYS, *OWN_KEYS)}
    check_map(config.get(ADDRESS, "file:///"), ADDRESS_SCHEMA, ADDRESS)
    if isinstance(general.get("study"), int):  # check now: a huge integer cannot be printed
        check_map(general["study"], {}, "study")
    name = str(general.get("study") or name_of(Path.cwd().name))
    if not config.get("sources"):
        raise ConfigError(
            f"{FILE} has no sources",
            "the files of the documents",
            "name them, or run odl init again",
        )
    _check_keys(general)
    stream = {key: config[key] for key in STREAM_KEYS if key in config}
    options = stream.get("options") or {}
    if isinstance(options, dict):  # the schema refuses other types later
        more = {"forgotten": digests} if (digests := forgotten(".")) else {}
        stream["options"] = {**_rule(stream), **options, **more}
    runs = (
        general["runs"] if isinstance(general.get("runs"), list) and general["runs"] else [LEARNER]
    )
    run, named = runs[0], general.get("atoms") or None
    atoms = named or min(500, _initial(stream))
    atoms = atoms if isinstance(atoms, list) else [atoms]
    shown = atoms[0] if named else None
    whole = {
        "study": name,
        "streams": [name],
        "corpora": {name: {"reader": "documents", **stream}},
        "seeds": [0],
        "runs": runs,
        "baselines": {"enabled": False},
        "evaluate": {"bootstrap": 0},
        "emerging": {"enabled": False},
        "checkpoints": {"keep": KEEP},
        # Settings that the odl.yaml of an earlier version lacks have the value of that version.
        "alerts": {**Alerts.earlier(), "run": run, "atoms": shown},
        "features": Weighting.earlier(),
        "learners": {LEARNER: earlier_learner(LEARNER)},
        "report": {"runs": runs, "run": run, "atoms": shown, "seed": 0},
    }
    if named and run == LEARNER:
        whole["learners"][LEARNER] |= {
            "atoms": atoms
        }  # check_config refuses a size that its memory does not give
    return merge({**general, "atoms": atoms}, whole)


def without_removed(config):
    """Return an odl.yaml without removed keys of ``alerts``, and the names of the keys that were dropped."""
    alerts = config.get("alerts")
    removed = [key for key in alerts if key in Alerts.removed] if isinstance(alerts, dict) else []
    if not removed:
        return config, []
    current = {key: value for key, value in alerts.items() if key not in removed}
    return {**config, "alerts": current}, [f"alerts.{key}" for key in removed]


def checked(config):
    """Return `expand(config)`, or exit with a one-line message. For Snakefiles, which print long tracebacks."""
    try:
        whole = expand(config)
        root = Path(str(whole.get("results", "results")), str(whole["study"]))
        if config.get(DRIVER) != "snakemake" and (root / VERIFIED).exists():
            defect, todo = (
                f"{root} was written by odl run",
                f"type odl run, or write '{DRIVER}: snakemake' into {FILE}",
            )
            raise ConfigError(defect, "one driver per folder", todo)
        return whole
    except ConfigError as error:
        sys.exit(f"odl: {error}")


def check(folder):
    """Refuse a folder without odl.yaml, and a folder in which a symbolic link leads outside.

    Raises
    ------
    ConfigError
    DataError
    """
    if not (Path(folder) / FILE).is_file():
        raise ConfigError(
            f"{folder} contains no {FILE}", "a folder that odl init wrote", "run odl init first"
        )
    links.refuse(folder, results_of(folder))


def read(folder):
    """Return the content of the odl.yaml of a folder, as a dict.

    Raises
    ------
    ConfigError
        If the file is missing, is not a map, or has a key twice.
    """
    import yaml

    class Once(yaml.SafeLoader):
        """Loader that refuses a repeated key. YAML would silently use the last one."""

        def construct_mapping(self, node, deep=False):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            twice = next((key for place, key in enumerate(keys) if key in keys[:place]), None)
            if twice is not None:
                raise ConfigError(
                    f"{path} has the key {twice} twice", "each key once", "put both under one"
                )
            return super().construct_mapping(node, deep)

        def whole_number(self, node):
            number = self.construct_yaml_int(node)
            if abs(number) > MAX_INTEGER:
                place = f"{path} line {node.start_mark.line + 1}"
                raise ConfigError(
                    f"{place} has a whole number beyond 2^63 - 1", "a smaller one", "correct it"
                )
            return number

    Once.add_constructor("tag:yaml.org,2002:int", Once.whole_number)
    path = Path(folder) / FILE
    try:
        config = Once(path.read_text(encoding="utf-8")).get_single_data()
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(
            f"{path} cannot be read ({reason})", "lines `key: value`", "correct it"
        ) from error
    if not isinstance(config, dict):
        raise ConfigError(f"{path} contains no keys", "lines `key: value`", "run odl init again")
    return config


def orders_by_verdicts(folder):
    """Return whether verdicts move headlines in lists: `order_by_verdicts` of odl.yaml, by default true.

    Raises
    ------
    ConfigError
        If the value is neither true nor false.
    """
    value = read(folder).get(ORDER_BY_VERDICTS, True) if (Path(folder) / FILE).is_file() else True
    if not isinstance(value, bool):
        given = f"{ORDER_BY_VERDICTS} in {Path(folder) / FILE} is {value!r}"
        raise ConfigError(given, "true or false", "correct it, or leave it out")
    return value


def refresh_schema(folder):
    """Replace the copy of the schema next to odl.yaml if an earlier version of odl wrote it."""
    copied, current = Path(folder) / SCHEMA_COPY, SCHEMA.read_bytes()
    if copied.is_file() and copied.read_bytes() != current:
        with atomic.replacing(copied) as temporary:
            Path(temporary).write_bytes(current)


def forgotten(folder):
    """Return the digests of the ids of a folder's forgotten documents, which are not read.

    A file without checksums is accepted if each line is a digest: earlier versions and users write
    such files.

    Raises
    ------
    StorageError
        If the file was damaged, since a forgotten document would return.
    """
    path = Path(folder) / FORGOTTEN
    try:
        text = path.read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        return []
    plain = text.split()
    if plain and all(re.fullmatch("[0-9a-f]{32}", word) for word in plain):
        return plain
    todo = "restore it from a backup, or delete it: odl run then names the lines to write into it"
    digests, closed = linesums.parse(text, path, todo)
    if not closed:
        given = f"{path} was cut after it was written: it ends after {len(digests)} documents"
        raise StorageError(given, "a last line with their number", todo)
    return digests


def forget(folder, digest):
    """Add the digest of an id to the forgotten documents, and flush the file to disk."""
    linesums.write(Path(folder) / FORGOTTEN, sorted({*forgotten(folder), digest}))


def results_of(folder):
    """Return the folder of results of a user's folder: the key ``results`` of a readable odl.yaml, or "results"."""
    try:
        named = read(folder).get("results")
    except ConfigError:  # odl run reports it
        named = None
    return named if isinstance(named, str) else "results"


def address_of(folder):
    """Return the address of the page of a user's folder (the key ``address``), "" if it is unknown or wrong."""
    try:
        address = read(folder).get(ADDRESS, "")
        check_map(address, ADDRESS_SCHEMA, ADDRESS)
    except ConfigError:  # odl run reports it
        return ""
    return address


def name_of(folder):
    """Return a name for a study, from the name of a folder: lower-case letters of any script, digits and hyphens."""
    signs = unicodedata.normalize("NFC", folder.lower())
    name = "".join(sign if unicodedata.category(sign)[0] in "LMN" else "-" for sign in signs)
    return "-".join(re.findall(NAME_PATTERN.replace("-]", "]"), name)) or "mine"


def _rule(stream):
    """Return default options of a user's stream: unreadable documents, and undated ones if needed, are set aside."""
    batches = stream.get("batches")
    by = batches.get("by", Batches.by) if isinstance(batches, dict) else Batches.by
    return {"strict": False} | ({"needs_time": True} if by == "period" else {})


def _initial(stream):
    batches = stream.get("batches")
    initial = batches.get("initial") if isinstance(batches, dict) else None
    return initial if isinstance(initial, int) and initial > 0 else Batches.initial


KEYS = tuple(entry.name for entry in fields(Study))


def _check_keys(general):
    """Refuse an unknown key of odl.yaml."""
    for key in general:
        if key not in KEYS:
            todo = advice(key, [*STREAM_KEYS, *OWN_KEYS, *KEYS], "remove it")
            raise ConfigError(
                f"{FILE} has a key '{key}'", "one of " + ", ".join([*STREAM_KEYS, *KEYS]), todo
            )
