"""`odl backtest`: headlines for other settings of alerts, compared with the stored headlines."""

import contextlib
import itertools
import math
import os

from odl.alerts import difference, feedback, periods, read, spans, views
from odl.config import project
from odl.config.sections import Alerts
from odl.config.setting import differing
from odl.config.steps import STEPS
from odl.engine import folder as folders
from odl.errors import ConfigError, ParameterError
from odl.jobs import replay, runs
from odl.report import backtestpage

WRITERS = {"text": difference.as_text, "json": difference.as_json, "html": backtestpage.render_page}
PATTERNS = {
    "features": STEPS["features"].writes["output"],
    "scores": STEPS["update"].writes["scores"],
    "batch": STEPS["batch"].writes["output"],
}
MAX_ALTERNATIVES = 12  # combinations of settings that are decided in one pass


def report(folder, assignments, since=None, form="text"):
    """Return a comparison of the stored headlines of a folder with those for other settings.

    Parameters
    ----------
    folder : path-like
        A folder with odl.yaml that was run.
    assignments : sequence of str
        Settings such as ``alerts.level=.02`` or ``alerts.level=.02,.05``, where each value is an
        alternative; other settings are those of odl.yaml.
    since : str, optional
        First date that is compared. The decisions are always computed for all periods.
    form : str
        One of `WRITERS`.

    Returns
    -------
    str

    Raises
    ------
    ParameterError, ConfigError
        If a setting is not in the section alerts, its value is invalid, or odl.yaml has other
        settings than those with which the scores were learned.
    DataError, StorageError
        If the folder was not run, or a file is damaged.
    """
    project.read(folder)
    place = read.place_of(folder)
    entries = feedback.read(place.home)
    with contextlib.chdir(folder):
        working = folders.opened(os.fspath(folder))
        combinations = _combinations(working, assignments)
        n = len([*periods.paths(working.folder_of("alerts"))])
        if names := folders.changed_settings(working, n):
            raise ConfigError(
                f"{project.FILE} has changed {', '.join(names)} since the scores were computed",
                "the settings of the last run",
                f"restore them, or type odl run {folder}, which learns again "
                f"{folders.relearning_cost(working)}",
            )
        corpus_features = ""
        if working.chain["features"]["idf"] == "corpus":  # the last timestep has the idf of all
            corpus_features = working.path(PATTERNS["features"], n - 1)
        decided = replay.replay(
            lambda kind, t: working.path(PATTERNS[kind], t),
            runs.parse(working.chain),
            [settings for _, settings in combinations],
            n,
            corpus_features,
        )
        by_setting = zip(*(decisions for decisions, _ in decided), strict=True)
        watches = [
            read.watch(map(read.with_printable_texts, chain), entries) for chain in by_setting
        ]
    stored = read.watch(read.records(place), entries, place=place)
    begin = spans.parse(since, "--from")[0] if since else -math.inf
    before = tuple(period for period in stored.periods if period.last >= begin)
    if not before:
        last = views.day_of(stored.periods[-1])
        raise ParameterError(
            f"--from {since}", f"a date up to the last period ({last})", "give an earlier date"
        )
    alternatives = [
        _alternative(stored, other, before, name)
        for (name, _), other in zip(combinations, watches, strict=True)
    ]
    return WRITERS[form](stored, before, alternatives)


def _alternative(stored, other, before, name):
    """Return the `Alternative` that compares two `StreamAlerts`, `stored` and `other`.

    Only the periods in `before`, a tuple of periods of `stored`, are compared. `name` is the name
    of the alternative; if it is empty, the settings that differ are named.
    """
    after = tuple(other.periods[period.t] for period in before)
    changed = {
        key: (stored.settings.get(key), other.settings.get(key))
        for key in differing(stored.settings, other.settings)
    }
    name = name or ", ".join(f"{key} {new}" for key, (_, new) in changed.items()) or "odl.yaml"
    return difference.Alternative(name, changed, after, difference.compare(before, after))


def _combinations(working, assignments):
    """Return (name, `Alerts`) for each combination of the assigned values (`_assigned_values`).

    Settings without an assignment are those of the folder.
    """
    values = _assigned_values(working, assignments)
    products = list(itertools.product(*values.values()))
    if len(products) > MAX_ALTERNATIVES:
        raise ParameterError(
            f"--set with {len(products)} combinations of values",
            f"at most {MAX_ALTERNATIVES}",
            "leave some values out",
        )
    stored = Alerts.part(working.config["alerts"])
    combinations = []
    for product in products:
        chosen = dict(zip(values, product, strict=True))
        settings = Alerts.from_map({**stored, **chosen}, "--set alerts")
        if not settings.gates:
            raise ConfigError(
                "alerts.gates is false, which lists documents instead of headlines",
                "alerts.gates: true",
                "add --set alerts.gates=true",
            )
        name = ", ".join(f"{key} {value}" for key, value in chosen.items())
        combinations.append((name, settings))
    return combinations


def _assigned_values(working, assignments):
    """Return {setting of alerts: its values} for assignments KEY=VALUE or KEY=VALUE,VALUE."""
    values = {}
    for text in assignments:
        key, equals, new_values = text.partition("=")
        section, _, name = key.strip().partition(".")
        if not equals or not name:
            raise ParameterError(
                f"--set {text}",
                "KEY=VALUE such as alerts.level=.02, or several values: alerts.level=.02,.05",
                "correct the assignment",
            )
        if section != "alerts":
            raise ConfigError(
                f"--set {key} needs learning again",
                "a setting of alerts, such as alerts.level",
                f"set it in {project.FILE} of a copy of the folder and type odl run: "
                f"it learns {folders.relearning_cost(working)}",
            )
        values[name] = dict.fromkeys([*values.get(name, ()), *map(_value, new_values.split(","))])
    return values


def _value(text):
    """Return the value of a setting from its text; numbers may be written as 1e-3."""
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        return float(text)
    return {"true": True, "false": False}.get(text.strip().lower(), text)
