"""A person's own folder: the few lines of its odl.yaml, and the configuration of a study that they stand for."""

import re
import sys
import unicodedata
from dataclasses import fields
from pathlib import Path

from odl.config.chains import earlier_learner
from odl.config.places import SNAKEFILE
from odl.config.schema import MAX_INTEGER, check_map
from odl.config.sections import NAMED, Alerts, Batches, Study, Weighting
from odl.config.setting import merge
from odl.errors import ConfigError, StorageError, advice
from odl.files import linesums, links, listing

SNAKEFILE = str(SNAKEFILE)
FILE = listing.PROJECT
FORGOTTEN = listing.FORGOTTEN  # beside it: digests of the ids that are not to be read any more, one a line
VERIFIED = ".verified.json"  # of the results of odl run: what it has read
DRIVER = "driver"  # "snakemake" where Snakemake runs a folder
VECTORS = ".vectors.sqlite"  # beside it: what options.vectors.command answered, by the digest of the text
NOTIFY = "notify"  # the command that is told of each alert
OWN = ("sources", "options", "ties", "batches")  # of the one stream; the other keys are those of every configuration
KEEP = 20  # checkpoints of a stream: one in so many stays, and the last two
LEARNER = "levels"  # unless `runs` names others: then the first of them


def expand(config):
    """Return the whole configuration that the lines of an odl.yaml stand for.

    Parameters
    ----------
    config : dict
        ``study``, ``sources``, ``options`` (of the reader `odl.corpora.collection`), ``batches`` and whatever else a
        configuration has; only ``sources`` is needed.

    Returns
    -------
    dict
        One stream without labels, one run and its alerts, no baselines; what the default configuration has beside
        these is filled in by the workflow. An empty configuration stays so: Snakemake looks
        at a Snakefile without one as well.

    Raises
    ------
    ConfigError
        If ``sources`` is missing or a key is unknown.
    """
    general = {key: value for key, value in config.items() if key not in (*OWN, DRIVER, NOTIFY)}
    if isinstance(general.get("study"), int):  # printed before it is checked
        check_map(general["study"], {}, "study")
    name = str(general.get("study") or name_of(Path.cwd().name))
    if not config.get("sources"):
        raise ConfigError(f"{FILE} has no sources", "the files of the documents", "name them, or run odl init again")
    _check_keys(general)
    stream = {key: config[key] for key in OWN if key in config}
    options = stream.get("options") or {}
    if isinstance(options, dict):  # anything else is refused later
        more = {"forgotten": digests} if (digests := forgotten(".")) else {}
        stream["options"] = {**_rule(stream), **options, **more}
    runs = general["runs"] if isinstance(general.get("runs"), list) and general["runs"] else [LEARNER]
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
        # A folder of an earlier version does not name what is newer than it.
        "alerts": {**Alerts.earlier(), "run": run, "atoms": shown},
        "features": Weighting.earlier(),
        "learners": {LEARNER: earlier_learner(LEARNER)},
        "report": {"runs": runs, "run": run, "atoms": shown, "seed": 0},
    }
    if named and run == LEARNER:
        whole["learners"][LEARNER] |= {"atoms": atoms}  # refused unless its memory holds as many
    return merge({**general, "atoms": atoms}, whole)


def without_removed(config):
    """Return what an odl.yaml says without keys of alerts that an earlier version knew, and the names of these keys."""
    alerts = config.get("alerts")
    removed = [key for key in alerts if key in Alerts.removed] if isinstance(alerts, dict) else []
    if not removed:
        return config, []
    current = {key: value for key, value in alerts.items() if key not in removed}
    return {**config, "alerts": current}, [f"alerts.{key}" for key in removed]


def checked(config):
    """Return `expand` of a configuration, or end in one sentence: what Snakefiles call, whose errors are pages."""
    try:
        whole = expand(config)
        root = Path(str(whole.get("results", "results")), str(whole["study"]))
        if config.get(DRIVER) != "snakemake" and (root / VERIFIED).exists():
            defect, todo = f"{root} is made by odl run", f"type odl run, or write '{DRIVER}: snakemake' into {FILE}"
            raise ConfigError(defect, "one driver a folder", todo)
        return whole
    except ConfigError as error:
        sys.exit(f"odl: {error}")


def check(folder):
    """Refuse a folder without an odl.yaml, and one in which odl would write through a link.

    Raises
    ------
    ConfigError
    DataError
    """
    if not (Path(folder) / FILE).is_file():
        raise ConfigError(f"{folder} holds no {FILE}", "a folder that odl init wrote", "run odl init first")
    links.refuse(folder, results_of(folder))


def read(folder):
    """Return what the odl.yaml of a folder says.

    Raises
    ------
    ConfigError
        If it is missing or no map.
    """
    import yaml

    class Once(yaml.SafeLoader):
        """A loader that takes a key once: YAML itself keeps the last of two without a word."""

        def construct_mapping(self, node, deep=False):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            twice = next((key for place, key in enumerate(keys) if key in keys[:place]), None)
            if twice is not None:
                raise ConfigError(f"{path} has the key {twice} twice", "each key once", "put both under one")
            return super().construct_mapping(node, deep)

        def whole_number(self, node):
            number = self.construct_yaml_int(node)
            if abs(number) > MAX_INTEGER:
                place = f"{path} line {node.start_mark.line + 1}"
                raise ConfigError(f"{place} has a whole number beyond 2^63 - 1", "a smaller one", "correct it")
            return number

    Once.add_constructor("tag:yaml.org,2002:int", Once.whole_number)
    path = Path(folder) / FILE
    try:
        config = Once(path.read_text(encoding="utf-8")).get_single_data()
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path} cannot be read ({reason})", "lines `key: value`", "correct it") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{path} holds no keys", "lines `key: value`", "run odl init again")
    return config


def forgotten(folder):
    """Return the digests of the ids that are not to be read of a folder.

    A file of an earlier version, or one written by hand, has digests alone: its damage shows where a line is none.

    Raises
    ------
    StorageError
        If the file was changed after it was written: a document that was forgotten would come back.
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
    """Take note that a document is not to be read any more, and wait until the disk has it."""
    linesums.write(Path(folder) / FORGOTTEN, sorted({*forgotten(folder), digest}))


def results_of(folder):
    """Return the folder of results that the odl.yaml of a folder names; "results" without a file, or one to be read."""
    try:
        named = read(folder).get("results")
    except ConfigError:  # a run says what is wrong with it
        named = None
    return named if isinstance(named, str) else "results"


def name_of(folder):
    """Return the name of a folder as that of a study: lower-case letters of any script, digits and hyphens."""
    signs = unicodedata.normalize("NFC", folder.lower())
    name = "".join(sign if unicodedata.category(sign)[0] in "LMN" else "-" for sign in signs)
    return "-".join(re.findall(NAMED.replace("-]", "]"), name)) or "mine"


def _rule(stream):
    """Return the options by which documents that cannot be read are set aside, so that a stream goes on."""
    batches = stream.get("batches")
    by = batches.get("by", Batches.by) if isinstance(batches, dict) else Batches.by
    return {"strict": False} | ({"needs_time": True} if by == "period" else {})


def _initial(stream):
    batches = stream.get("batches")
    initial = batches.get("initial") if isinstance(batches, dict) else None
    return initial if isinstance(initial, int) and initial > 0 else Batches.initial


KEYS = tuple(entry.name for entry in fields(Study))


def _check_keys(general):
    """Refuse a key that is neither of a person's stream nor of a configuration."""
    for key in general:
        if key not in KEYS:
            todo = advice(key, [*OWN, NOTIFY, *KEYS], "remove it")
            raise ConfigError(f"{FILE} has a key '{key}'", "one of " + ", ".join([*OWN, *KEYS]), todo)
