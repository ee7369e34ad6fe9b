"""`odl backtest`: headlines for other settings of alerts, compared with the stored headlines."""

import contextlib
import os

import yaml

from odl.alerts import difference, feedback, periods, read, show
from odl.config import project
from odl.config.sections import Alerts
from odl.config.setting import differing
from odl.config.steps import STEPS
from odl.engine import folder as folders
from odl.errors import ConfigError, ParameterError
from odl.jobs import replay, runs

WRITERS = {"text": difference.as_text, "json": difference.as_json}
PATTERNS = {
    "features": STEPS["features"].writes["output"],
    "scores": STEPS["update"].writes["scores"],
    "batch": STEPS["batch"].writes["output"],
}


def report(folder, assignments, since=None, form="text"):
    """Return a comparison of the stored headlines of a folder with those for other settings, as text or JSON.

    Parameters
    ----------
    folder : path-like
        A folder with odl.yaml that was run.
    assignments : sequence of str
        Settings such as ``alerts.level=.02``; others are taken from odl.yaml.
    since : str, optional
        First date that is compared. The decisions are always computed from the first period on.
    form : str
        One of `WRITERS`.

    Returns
    -------
    str

    Raises
    ------
    ParameterError, ConfigError
        If a setting is not in the section alerts, or its value is invalid.
    DataError, StorageError
        If the folder was not run, or a file is damaged.
    """
    project.read(folder)
    place = read.place_of(folder)
    entries = feedback.read(place.home)
    with contextlib.chdir(folder):
        working = folders.opened(os.fspath(folder))
        run, corpus_features = runs.parse(working.chain), ""
        settings = _with(working, assignments)
        n = len([*periods.paths(working.folder_of("alerts"))])
        if working.chain["features"]["idf"] == "corpus":
            corpus_features = working.path(PATTERNS["features"], n - 1)
        found = replay.replay(
            lambda kind, t: working.path(PATTERNS[kind], t), run, [settings], n, corpus_features
        )
        instead = read.watch((period for (period,), _ in found), entries)
    stored = read.watch(read.records(place), entries, place=place)
    after = show.since(instead, since) if since else instead.periods
    first = after[0].t if after else 0
    before = [period for period in stored.periods if period.t >= first][: len(after)]
    if not after:
        return f"No period since {since}."
    changed = [
        f"alerts.{name}: {new} instead of {old}"
        for name, (old, new) in _changes(stored, instead).items()
    ]
    return WRITERS[form](instead, before, after, changed)


def _changes(stored, instead):
    """Return the settings that differ: name -> (stored value, other value)."""
    names = differing(stored.settings, instead.settings)
    return {name: (stored.settings.get(name), instead.settings.get(name)) for name in names}


def _with(working, assignments):
    """Return the settings of alerts of a folder, with KEY=VALUE assignments applied."""
    values = Alerts.part(working.config["alerts"])
    for text in assignments:
        key, equals, value = text.partition("=")
        section, _, name = key.strip().partition(".")
        if not equals or not name:
            raise ParameterError(
                f"--set {text}", "KEY=VALUE such as alerts.level=.02", "correct it"
            )
        if section != "alerts":
            todo = (
                f"set it in {project.FILE} of a copy of the folder and type odl run: "
                f"it learns {folders.cost(working)}"
            )
            raise ConfigError(
                f"--set {key} needs learning again", "a key of alerts, which needs none", todo
            )
        with contextlib.suppress(yaml.YAMLError):
            value = yaml.safe_load(value)
        values[name] = value
    return Alerts.from_map(values, "--set alerts")
