"""The real Snakefile with alerts: appended or at once, with checkpoints kept or not, the same bytes; what reruns."""

import copy
import json

import pytest
from called import odl
from configurations import DEFAULT, SCHEMA
from workflows import Study, documents, settings

from odl.config import consistency
from odl.config.setting import merge
from odl.errors import ConfigError

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
ALERTS = {"run": "ad", "budget": 4, "warm_up": 60}
PAGE = "results/small/new.html"


def followed(**changes):
    """The configuration of a study of one adaptive run with alerts."""
    learners = {"ad": {"algorithm": "adaptive", "features": {"tf": "log"}}}
    chosen = {
        "runs": ["ad"],
        "learners": learners,
        "baselines": {"enabled": False, "window": 0},
        "alerts": ALERTS,
    }
    return settings(**{**chosen, **changes})


def alert_jobs(result):
    return {name for name in result.names("run", "t") if name.startswith(("alerts", "update"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study of four timesteps, run at once."""
    study = Study.create(tmp_path_factory.mktemp("whole") / "study", followed())
    study.write("a.jsonl", documents(0, 200))
    study.write("b.jsonl", documents(200, 360))
    study.run(PAGE)
    return study


# of `odl run`: engine/test_loop.py; of a run without alerts: test_workflow_growth.py
@pytest.mark.long
def test_appended_and_pruned_gives_the_same_bytes(whole, tmp_path):
    """Only what is new runs, and alerts are made before the checkpoints that they need are deleted."""
    study = Study.create(tmp_path / "study", followed(checkpoints={"keep": 9}))
    study.write("a.jsonl", documents(0, 200))
    study.run(PAGE)
    study.write("b.jsonl", documents(200, 360))
    jobs = alert_jobs(study.run(PAGE))
    assert jobs == {f"{rule} ad {t}" for rule in ("update", "alerts") for t in (2, 3)}
    folder = study.stream / "ad" / "k8"
    assert sorted(path.stem for path in folder.glob("*.h5")) == ["0", "2", "3"]
    assert study.run("-n", PAGE).jobs == []
    for t in range(4):
        expected = whole.stream / "ad" / "k8" / "alerts" / f"{t}.h5"
        assert (folder / "alerts" / f"{t}.h5").read_bytes() == expected.read_bytes()


def alerts_of(study, *words):
    """What the command says of a study."""
    done = odl("new", study.results, "--format", "jsonl", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_commands_read_it(whole):
    alerts = alerts_of(whole, "--since", "2020-01-01")
    assert {alert["period"] for alert in alerts} == {2, 3} and alerts[0]["source"][
        "file"
    ] == "b.jsonl"


def test_its_page_and_feeds_are_verified(whole, tmp_path):
    study = whole.copy(tmp_path / "study")
    assert odl("verify", study.results).returncode == 0
    (study.results / "new.atom").write_text("<feed/>")
    done = odl("verify", study.results)
    assert done.returncode == 1 and "new.atom was changed after it was written" in done.stdout


def test_the_page_respects_what_a_person_says(whole, tmp_path):
    study = whole.copy(tmp_path / "study")
    page = study.results / "new.html"
    first = alerts_of(study)[0]
    assert first["id"] in page.read_text() and "Held back by users" not in page.read_text()
    assert odl("mute", study.results, first["id"]).returncode == 0
    assert study.run(PAGE).names() == {"newpage"}
    assert f"Held back: document {first['id']} (muted in feedback.csv)." in page.read_text()
    (study.results / "feedback.csv").unlink()
    assert study.run(PAGE).names() == {"newpage"}
    assert page.read_bytes() == (whole.results / "new.html").read_bytes()


def test_what_a_change_reruns(whole, tmp_path):
    study = whole.copy(tmp_path / "study")
    study.configure(followed(alerts={**ALERTS, "budget": 5}))
    assert alert_jobs(study.run("-n")) == {f"alerts ad {t}" for t in range(4)}
    study.configure(followed(alerts={**ALERTS, "run": None}))
    assert not study.run("-n").names() & {"alerts", "newpage", "update"}
    study.configure(followed())
    study.edit("alerts/feedback.py")
    assert study.run("-n", PAGE).names() == {
        "newpage"
    }  # what only a reader uses is no source of the chain
    study.edit("alerts/events.py")
    assert alert_jobs(study.run("-n")) == {f"alerts ad {t}" for t in range(4)}


@pytest.mark.parametrize(
    ("alerts", "reason"),
    [
        ({"run": "da"}, "alerts.run names 'da'; expected one of ad"),
        ({"run": "ad", "atoms": 9}, "alerts.atoms names 9; expected one of 8"),
        ({"run": "ad", "budget": 2.5}, "alerts.budget is 2.5; expected an integer from 1"),
        (
            {"run": "ad", "window": 59, "warm_up": 60},
            "alerts.window is 59 and alerts.warm_up is 60, so no period can have alerts; expected a window",
        ),
        (
            {"run": "ad", "tail": 0.0033, "window": 300},
            "alerts.tail is 0.0033 with a window of 300, so no document can be an alert; expected a tail of at least 1/301",
        ),
        ({"run": "ad", "level": 2}, "alerts.level is 2; expected a number above 0 and at most 1"),
        ({"run": "ad", "bugdet": 2}, "did you mean 'budget'?"),
    ],
)
def test_wrong_settings(alerts, reason):
    """That the workflow says what the check says: test_workflow.py."""
    with pytest.raises(ConfigError) as caught:
        consistency.check_config(merge(followed(alerts=alerts), copy.deepcopy(DEFAULT)), SCHEMA)
    assert reason in str(caught.value)
