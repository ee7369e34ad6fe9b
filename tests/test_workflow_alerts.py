"""The real Snakefile with alerts: appended or at once, with checkpoints kept or not, the same bytes; what reruns."""

import json
import subprocess
import sys

import pytest
from workflows import SHOWN, Study, documents, environment, settings

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow-alerts")]
ALERTS = {"run": "ad", "budget": 4, "warm_up": 60, "silence": 2, "pool": 20}


def followed(**changes):
    """The configuration of a study of one adaptive run with alerts."""
    learners = {"ad": {"algorithm": "adaptive", "features": {"tf": "log"}}}
    chosen = {"runs": ["ad"], "learners": learners, "baselines": {"enabled": False, "window": 0}, "alerts": ALERTS}
    return settings(**{**chosen, **changes})


def alert_jobs(result):
    return {name for name in result.names("run", "t") if name.startswith(("alerts", "update"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study of five timesteps, run at once."""
    study = Study.create(tmp_path_factory.mktemp("whole") / "study", followed())
    study.write("a.jsonl", documents(0, 280))
    study.write("b.jsonl", documents(280, 440))
    study.run()
    return study


def test_appended_and_pruned_gives_the_same_bytes(whole, tmp_path):
    """Only what is new runs, and alerts are made before the checkpoints that they need are deleted."""
    study = Study.create(tmp_path / "study", followed(checkpoints={"keep": 9}))
    study.write("a.jsonl", documents(0, 280))
    study.run()
    study.write("b.jsonl", documents(280, 440))
    jobs = alert_jobs(study.run())
    assert jobs == {f"{rule} ad {t}" for rule in ("update", "alerts") for t in (3, 4)}
    folder = study.stream / "ad" / "k8"
    assert sorted(path.stem for path in folder.glob("*.h5")) == ["0", "3", "4"]
    assert study.run("-n").jobs == []
    for t in range(5):
        expected = whole.stream / "ad" / "k8" / "alerts" / f"{t}.h5"
        assert (folder / "alerts" / f"{t}.h5").read_bytes() == expected.read_bytes()


def odl(study, command, *words):
    """What a command prints."""
    call = [sys.executable, "-m", "odl", command, str(study.results), *words]
    return subprocess.run(call, env=environment(study.folder), capture_output=True, text=True, check=True).stdout


def test_the_commands_read_it(whole):
    alerts = [json.loads(line) for line in odl(whole, "new", "--format", "jsonl", "--since", "2020-01-01").splitlines()]
    assert {alert["period"] for alert in alerts} == {2, 3, 4} and alerts[0]["source"]["file"] == "a.jsonl"


def test_the_page_respects_what_a_person_says(whole, tmp_path):
    study = whole.copy(tmp_path / "study")
    page = study.results / "new.html"
    first = json.loads(odl(study, "new", "--format", "jsonl").splitlines()[0])
    assert first["id"] in page.read_text() and "Held back by a person" not in page.read_text()
    odl(study, "mute", first["id"])
    assert study.run().names() == {"newpage"}
    assert f"1 item of {first['id']} (muted in feedback.csv)" in page.read_text()
    (study.results / "feedback.csv").unlink()
    assert study.run().names() == {"newpage"}
    assert page.read_bytes() == (whole.results / "new.html").read_bytes()


def test_what_a_change_reruns(whole, tmp_path):
    study = whole.copy(tmp_path / "study")
    study.configure(followed(alerts={**ALERTS, "budget": 5}))
    assert alert_jobs(study.run("-n")) == {f"alerts ad {t}" for t in range(5)}
    study.configure(followed(alerts={**ALERTS, "run": None}))
    assert not study.run("-n").names() - SHOWN
    study.configure(followed())
    assert study.run("-n").jobs == []
    study.edit("alerts/feedback.py")
    assert study.run("-n").names() == {"newpage"}  # what only a reader uses is no source of the chain
    study.edit("alerts/clusters.py")
    assert alert_jobs(study.run("-n")) == {f"alerts ad {t}" for t in range(5)}


@pytest.mark.parametrize(
    ("alerts", "reason"),
    [
        ({"run": "da"}, "odl: alerts.run names 'da'; expected one of ad"),
        ({"run": "ad", "atoms": 9}, "odl: alerts.atoms is 9; expected one of 8"),
        ({"run": "ad", "budget": 2.5}, "odl: alerts.budget is 2.5; expected a whole number of items"),
        ({"run": "ad", "level": 2}, "odl: alerts.level is 2; expected a number above 0 at most 1"),
        ({"run": "ad", "bugdet": 2}, "did you mean 'budget'?"),
    ],
)
def test_wrong_settings(whole, tmp_path, alerts, reason):
    study = whole.copy(tmp_path / "study")
    study.configure(followed(alerts=alerts))
    assert reason in study.run("-n", fails=True).text
