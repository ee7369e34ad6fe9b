"""The real Snakefile with checkpoints.keep: what stays; what comes later has the same bytes."""

import re
import shutil

import pytest
from workflows import SHOWN, documents, settings

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def last(study):
    """What is drawn from a run asks for no checkpoint."""
    return study.target(study.stream / "da" / "k8" / "auc.tsv")


@pytest.fixture(scope="module")
def pruned(fresh, tmp_path_factory):
    """The finished study of four timesteps run once more, of one run and keeping every second checkpoint."""
    study = fresh[0].copy(tmp_path_factory.mktemp("pruned") / "study")
    for name in ("results", ".snakemake"):
        shutil.rmtree(study.folder / name)
    study.configure(
        settings(runs=["da"], baselines={"enabled": False, "window": 0}, checkpoints={"keep": 2})
    )
    study.run(last(study))
    return study


def kept(study):
    return sorted(int(path.stem) for path in study.checkpoint("da", 0).parent.glob("*.h5"))


def of_the_stream(study, *gone):
    """The bytes of the stream and of its run, but those of some checkpoints."""
    found = {
        name: digest
        for name, digest in study.bytes().items()
        if re.match("/mine/seed0/(batches|features|da)/", name)
    }
    names = re.compile(rf"/da/k8/({'|'.join(map(str, gone)) or '-'})\.h5$")
    return {name: digest for name, digest in found.items() if not names.search(name)}


def test_every_second_and_the_last_two_stay(fresh, pruned):
    assert kept(pruned) == [0, 2, 3] and len(of_the_stream(pruned)) > 15
    assert of_the_stream(pruned) == of_the_stream(fresh[0], 1)
    assert pruned.run("-n", last(pruned)).jobs == []


@pytest.mark.long
def test_appending_and_late_documents(pruned, tmp_path):
    study = pruned.copy(tmp_path / "study")
    rows = documents(360, 560)
    study.write("b.jsonl", rows)
    jobs = study.run().names("run", "t")
    assert {name for name in jobs if name.startswith("update")} == {
        f"update da {t}" for t in (4, 5, 6)
    }
    assert kept(study) == [0, 2, 4, 5, 6]
    # A document of batch 4 is edited: its checkpoint before was deleted, and comes from the one
    # before that.
    rows[77]["text"] += " harvest"
    study.write("b.jsonl", rows)
    jobs = study.run().names("run", "t")
    again = {name for name in jobs if name.startswith("update da")}
    assert again == {f"update da {t}" for t in (3, 4, 5, 6)}
    assert kept(study) == [0, 2, 4, 5, 6] and study.run("-n").names() <= SHOWN
    # The same documents in a study that keeps everything.
    other = study.copy(tmp_path / "other")
    for name in ("results", ".snakemake"):
        shutil.rmtree(other.folder / name)
    other.configure({**study.config, "checkpoints": {"keep": 0}})
    other.run()
    assert of_the_stream(study) == of_the_stream(other, 1, 3)


@pytest.mark.long
def test_not_with_regret(pruned):
    study, before = pruned, pruned.config
    study.configure(settings(checkpoints={"keep": 2}, regret={"enabled": True, "runs": ["da"]}))
    text = study.run("-n", fails=True).text
    assert (
        "odl: regret is enabled and checkpoints.keep is 2; expected all checkpoints where regret is computed"
        in text
    )
    study.configure(before)
