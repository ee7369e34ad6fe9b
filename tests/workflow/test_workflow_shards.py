"""A batch in shards through the real Snakefile: the bytes of an unsharded run, for every learner."""

import pytest
from contract import ALL, quick
from workflows import Study, documents, settings

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return made(tmp_path_factory.mktemp("shards") / "study", ["adaptive"])


def made(folder, algorithms):
    """A study of learners: 120 documents to start from, 600 in one batch, then 40; scored in one job each."""
    config = settings()
    config["learners"] = {name.replace("_", "-"): {"algorithm": name, **quick(name)} for name in algorithms}
    config["runs"] = list(config["learners"])
    config["corpora"]["mine"]["batches"]["documents"] = 600
    study = Study.create(folder, config)
    study.write("a.jsonl", documents(0, 760))
    jobs = study.run(*targets(study)).names("run", "t")
    assert {f"update {run} {t}" for run in config["runs"] for t in range(3)} <= jobs
    assert not [job for job in jobs if job.startswith("score")]
    return study


def targets(study):
    return [study.target(study.checkpoint(run, 2)) for run in study.config["runs"]]


def shard(study, documents):
    config = study.config
    config["shards"] = {"documents": documents}
    study.configure(config)


@pytest.mark.long
def test_every_learner_has_the_same_bytes_in_shards(tmp_path):
    same_bytes(made(tmp_path / "whole", ALL), tmp_path)


def test_the_same_bytes_in_shards(whole, tmp_path):
    """Of all learners in one process: test_shards.py."""
    same_bytes(whole, tmp_path)


def same_bytes(whole, tmp_path):
    study, runs = whole.copy(tmp_path / "study"), whole.config["runs"]
    shard(study, 300)  # rounded up to 512
    jobs = study.run(*targets(study))
    scored = {f"score {run} 1 {number}" for run in runs for number in (0, 1)}
    # The batches before and after are small; the one after is behind a timestep that runs.
    assert jobs.names("run", "t", "shard") == scored | {f"update {run} {t}" for run in runs for t in (1, 2)}
    assert study.bytes() == whole.bytes()
    assert not list(study.results.rglob("shards/*.h5")), "shards are left"
    assert study.run("-n", *targets(study)).jobs == []
    # One that is lost comes back with its shards.
    run = runs[0]
    study.checkpoint(run, 1).unlink()
    again = study.run(study.target(study.checkpoint(run, 1))).names("run", "t", "shard")
    assert again == {f"score {run} 1 0", f"score {run} 1 1", f"update {run} 1"}
    assert study.bytes() == whole.bytes()


@pytest.mark.long
def test_a_batch_that_grows_is_scored_in_shards(tmp_path):
    study = made(tmp_path / "study", ["online_admm"])
    config = study.config
    config["runs"], config["report"]["run"] = ["online-admm"], "online-admm"
    study.configure(config)
    shard(study, 512)
    study.run()
    study.write("b.jsonl", documents(760, 1320))
    jobs = study.run().names("run", "t", "shard")
    ours = {job for job in jobs if job.split()[0] in ("score", "update")}
    assert ours == {f"score online-admm 2 {shard}" for shard in (0, 1)} | {"update online-admm 2"}
    assert study.run("-n").jobs == []


def test_a_learner_that_needs_the_whole_batch_is_refused(whole, tmp_path):
    study = whole.copy(tmp_path / "study")
    config = study.config
    config["learners"]["adaptive"]["context"] = 0.2
    study.configure(config)
    shard(study, 512)
    text = study.run("-n", fails=True).text
    assert "odl: run 'adaptive' has context 0.2 and shards.documents is set" in text and "Traceback" not in text
