"""Alerts that are decided again from stored features and scores are those that a run stored."""

import json
from dataclasses import replace

import numpy as np
import pytest
import recipes
import streams
from scipy import sparse

from odl.alerts import decision, periods
from odl.cli import main
from odl.cli.backtest import PATTERNS
from odl.config.sections import Alerts
from odl.config.steps import STEPS
from odl.engine import folder as folders
from odl.jobs import replay, runs

FIELDS = (
    "headlines",
    "below",
    "gates",
    "p",
    "usual",
    "sizes",
    "changes",
    "languages",
    "unproven",
    "empty",
    "repeats",
)


def as_json(value):
    """Return a stored value as JSON, headlines as maps."""
    return json.dumps(value, default=vars)


def assert_equals_stored(folder, monkeypatch):
    """Compare every period of a folder with the one decided again; return the number of periods and of headlines."""
    monkeypatch.chdir(folder)
    working = folders.opened()
    stored = [periods.read(path) for path in periods.paths(working.folder_of("alerts"))]
    settings = Alerts.from_map(Alerts.part(working.config["alerts"]))
    last = working.path(PATTERNS["features"], len(stored) - 1)
    later = replace(settings, warm_up=settings.window)
    again = [*replay.replay(
        lambda kind, t: working.path(PATTERNS[kind], t), runs.parse(working.chain), [later, settings], len(stored),
        last if working.chain["features"]["idf"] == "corpus" else None,
    )]  # fmt: skip
    assert not any(other.headlines for (other, _), _ in again)
    for one, ((_, other), _) in zip(stored, again, strict=True):
        for name in FIELDS:
            assert as_json(getattr(one, name)) == as_json(getattr(other, name)), (one.t, name)
        assert one.event.tolist() == other.event.tolist()
        assert one.novel.tolist() == other.novel.tolist()
        assert one.tail.tobytes() == other.tail.tobytes()
        assert [number for number, _ in one.born] == [number for number, _ in other.born]
    past = again[-1][1][1]
    carried = periods.read_carried(working.path(STEPS["alerts"].writes["output"], len(stored) - 1))
    expected = decision.as_arrays(past)
    for name, array in decision.as_arrays(carried.past).items():
        if sparse.issparse(array):
            assert (array != expected[name]).nnz == 0, name
        else:
            assert np.array_equal(np.asarray(array), np.asarray(expected[name])), name
    return len(stored), sum(len(one.headlines) for one in stored)


def test_the_same_settings_give_the_stored_alerts(tmp_path_factory, monkeypatch):
    folder = streams.learned(tmp_path_factory.getbasetemp())
    n_periods, n_headlines = assert_equals_stored(folder, monkeypatch)
    assert n_periods == 5 and n_headlines


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tickets", "logs", "chinese", "russian", "hindi"])
def test_the_same_settings_give_the_stored_alerts_of_many_days(name, tmp_path, monkeypatch):
    recipes.write(tmp_path, name, recipes.made(name, 700, 0))
    assert main(["init", str(tmp_path / "own"), f"{tmp_path}/{name}/*", "--period", "day"]) == 0
    assert main(["run", str(tmp_path / "own")]) == 0
    n_periods, _ = assert_equals_stored(tmp_path / "own", monkeypatch)
    assert n_periods >= 60
