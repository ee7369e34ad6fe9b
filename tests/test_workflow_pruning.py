"""The real Snakefile with checkpoints.keep: what stays; what comes later has the same bytes."""

import re

import pytest
from workflows import SHOWN, Study, documents, settings

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow-pruning")]
RUNS = ("da", "pg")


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """A study of five timesteps that keeps every second checkpoint, and the bytes of one that keeps all."""
    whole = Study.create(tmp_path_factory.mktemp("whole") / "study")
    whole.write("a.jsonl", documents(0, 440))
    study = whole.copy(tmp_path_factory.mktemp("pruned") / "study")
    study.configure(settings(checkpoints={"keep": 2}))
    whole.run()
    study.run()
    return study, whole.bytes()


def kept(study, run):
    return sorted(int(path.stem) for path in study.checkpoint(run, 0).parent.glob("*.h5"))


def without(found, *gone):
    """The bytes of a study but those of some checkpoints of its runs."""
    names = re.compile(rf"/({'|'.join(RUNS)})/k8/({'|'.join(map(str, gone))})\.h5$")
    return {name: digest for name, digest in found.items() if not names.search(name)}


def test_every_second_and_the_last_two_stay(pruned):
    study, whole = pruned
    assert [kept(study, run) for run in RUNS] == [[0, 2, 3, 4]] * 2
    assert study.bytes() == without(whole, 1)
    assert study.run("-n").jobs == []


@pytest.mark.long
def test_appending_and_late_documents(pruned, tmp_path):
    study = pruned[0].copy(tmp_path / "study")
    study.write("b.jsonl", documents(440, 560))
    jobs = study.run().names("run", "t")
    assert {name for name in jobs if name.startswith("update")} == {f"update {run} {t}" for run in RUNS for t in (5, 6)}
    assert kept(study, "da") == [0, 2, 4, 5, 6]
    # A document of batch 4 is edited: its checkpoint before was deleted, and comes from the one before that.
    rows = documents(0, 440)
    rows[-3]["text"] += " harvest"
    study.write("a.jsonl", rows)
    jobs = study.run().names("run", "t")
    again = {name for name in jobs if name.startswith("update da")}
    assert again == {f"update da {t}" for t in (3, 4, 5, 6)}
    assert kept(study, "da") == [0, 2, 4, 5, 6] and study.run("-n").names() <= SHOWN
    # The same documents in a study that keeps everything.
    other = Study.create(tmp_path / "other")
    other.write("a.jsonl", rows)
    other.write("b.jsonl", documents(440, 560))
    other.run()
    assert study.bytes() == without(other.bytes(), 1, 3)


@pytest.mark.long
def test_not_with_regret(pruned):
    study = pruned[0]
    before = study.config
    study.configure(settings(checkpoints={"keep": 2}, regret={"enabled": True, "runs": ["da"]}))
    text = study.run("-n", fails=True).text
    assert "odl: regret is enabled and checkpoints.keep is 2; expected all checkpoints where regret is computed" in text
    study.configure(before)
