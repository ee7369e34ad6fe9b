"""Learners of bounded memory against nearest neighbours: tables of one stream or several.

`quality_overview` draws and shows them, so that a change of a picture measures nothing again.
"""

import os
from collections import defaultdict

from odl import config
from odl.errors import ConfigError
from odl.files import tables
from odl.papers import qualitystream, qualitystudy
from odl.stream import batchfile

TITLE = "Quality of a stream"
TAKES, ALGORITHMS = ("streams", "learners"), ("levels", "adaptive")
NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
COUNTS = {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1}
SHARES = {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "minItems": 1}
SETTINGS = {
    "parts": {
        "type": "array",
        "items": {"type": "string", "enum": list(qualitystudy.PARTS)},
        "minItems": 1,
        "default": list(qualitystudy.PARTS),
    },
    "runs": {**NAMES, "default": ["levels", "levels-context", "adaptive", "adaptive-context"]},
    "k": {"type": "integer", "minimum": 1, "default": 500},
    "atoms": {**COUNTS, "default": [50, 100, 200, 500, 1000]},
    "memory": {**COUNTS, "default": [9000, 18000, 37500, 75000, 150000, 300000]},
    "windows": {**COUNTS, "default": [125, 250, 500, 1000, 2000, 4000]},
    "sizes": {**COUNTS, "default": [50, 250, 2000]},
    "budgets": {**SHARES, "default": [0.01, 0.02, 0.05]},
    "calibration": {"type": "integer", "minimum": 1, "default": 2000},
    "batches": {"type": "integer", "minimum": 0, "default": 0},
    "seeds": {"type": "array", "items": {"type": "integer", "minimum": 0}, "default": []},
}


def _variants(settings, study):
    """Return the study with runs of `ALGORITHMS` only; the other learners of a study are not compared here."""
    for run in settings["runs"]:
        if run not in study["learners"]:
            expected = "one of " + ", ".join(study["learners"])
            raise ConfigError(f"quality: runs names '{run}'", expected, "add it to the experiment's learners")
        algorithm = study["learners"][run]["learner"]["algorithm"]
        if algorithm not in ALGORITHMS:
            given = f"quality: the algorithm of '{run}' is {algorithm}"
            raise ConfigError(given, " or ".join(ALGORITHMS), "take it from the experiment's runs")
    kept = {run: chosen for run, chosen in study["learners"].items() if chosen["learner"]["algorithm"] in ALGORITHMS}
    return {**study, "learners": kept}


def measure(settings, study, files):
    """Return the rows of every table.

    Parameters
    ----------
    settings : dict
        As `SETTINGS`.
    study : dict
        streams (name to protocol, topic_entry, ties, batches, timesteps), learners (name to learner, features),
        evaluate and seeds, as `odl.config.study_of` makes it.
    files : list of str
        The streams' documents.

    Returns
    -------
    dict of str to list of dict
    """
    found = defaultdict(list)
    for (name, setting), file in zip(study["streams"].items(), files, strict=True):
        corpus = batchfile.read(file)
        # Seeds that give the same order would be counted twice.
        seeds = settings["seeds"] or study["seeds"]
        orders = dict.fromkeys(config.order_seed({"corpora": {name: setting}}, name, seed) for seed in seeds)
        streams = []
        for seed in orders:
            held = qualitystream.Stream(name, corpus, setting, study["evaluate"], seed, settings["batches"])
            for part in settings["parts"]:
                print(f"{name}, seed {seed}: {part}", flush=True)
                for table, rows in qualitystudy.PARTS[part](held, study["learners"], settings).items():
                    found[table] += [{"stream": name, "seed": seed, **row} for row in rows]
            held.forget()
            streams.append(held)
        if "table" in settings["parts"]:
            rows = qualitystudy.pooled(streams, study["learners"], settings)
            found["pairs"] += [{"stream": name, **row} for row in rows]
    return found


def run(settings, folder, files, study):
    """Measure, and write one table a part (and ``drift.tsv``)."""
    for name, rows in measure(settings, _variants(settings, study), files).items():
        tables.write_table(os.path.join(folder, f"{name}.tsv"), rows)
