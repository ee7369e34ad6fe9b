"""Studies through Slurm and through another scheduler: the same bytes, whatever ends a job; second attempts."""

import json
import os
import shutil
import sys
import time

import pytest
import slurm
from conftest import ROOT
from test_mpi import needs_mpi
from workflows import Study, documents, settings

from odl import agentfiles

# The cluster has the machine to itself, as far as other tests of the workflow go.
pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("slurm")]
ABSENT = slurm.missing() if os.environ.get("ODL_SLURM") else "set ODL_SLURM=1, they take eight minutes of waiting"
needs_slurm = pytest.mark.skipif(ABSENT is not None, reason=f"no Slurm can be started: {ABSENT}")
SLURM = ("--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "2", "--retries", "1")
TABLES = "results/small/tables/averages.tsv"
RING = {"algorithm": "diffusion", "network": "ring", "agents": 4, "degree": 2, "rounds": 1, "iterations": 20}
# Jobs named in faults/ meet a fault once: a kill -9, as the kernel's for want of memory, or a sleep without end.
FAULTS = """
import os, signal, sys, time

def fault(event, args):
    if event == "import" and args[0] in ("odl.timestep", "odl.rankstep", "odl.pipeline"):
        words = " ".join(sys.orig_argv)
        for name in os.listdir("faults"):
            kind, job = open(f"faults/{name}").read().split(" ", 1)
            if job in words:
                os.rename(f"faults/{name}", f"met/{name}")
                if kind == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(1000)

if any(os.path.basename(name) == "odl" for name in sys.orig_argv) and os.path.isdir("faults"):
    with open("commands.txt", "a") as file:
        file.write(" ".join(sys.orig_argv[1:]) + "\\n")
    sys.addaudithook(fault)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm.Cluster(tmp_path_factory.mktemp("cluster") / "slurm", cpus=2, memory=16000) as started:
        yield started


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A study of two timesteps and two runs, one over ranks, finished on this machine without a cluster."""
    config = settings(runs=["da", "ring"], ranks={"ring": 2}, block=1)
    config["learners"]["ring"] = RING
    study = Study.create(tmp_path_factory.mktemp("local") / "study", config)
    study.write("a.jsonl", documents(0, 280))
    study.run(TABLES)
    return study


def fresh_copy(study, folder):
    """Return a copy of a study from before its first run, whose jobs can meet faults."""
    found = study.copy(folder)
    for name in ("results", ".snakemake"):
        shutil.rmtree(folder / name)
    for name in ("faults", "met", "hooks"):
        (folder / name).mkdir()
    (folder / "hooks" / "sitecustomize.py").write_text(FAULTS)
    return found


def commands(study, word):
    return [line for line in (study.folder / "commands.txt").read_text().splitlines() if word in line.split()]


def submitted(cluster, name):
    """Return the jobs that Snakemake submitted under this name, in order."""
    return [job for job in cluster.jobs() if name in job["comment"]]


def wait_for(reached, patience=900):
    end = time.monotonic() + patience
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.2)


@needs_slurm
@needs_mpi
def test_a_study_on_slurm_whose_jobs_are_killed(local, cluster, tmp_path):
    study = fresh_copy(local, tmp_path / "study")
    place = {"PATH": cluster.environment["PATH"]}
    (study.folder / "faults" / "1").write_text("kill odl features results/small/mine/seed0/features/1.h5")
    (study.folder / "faults" / "2").write_text("sleep odl update results/small/mine/seed0/features/1.h5")
    (study.folder / "faults" / "3").write_text("sleep odl ranks 2 results/small/mine/seed0/features/1.h5")
    with study.started(TABLES, *SLURM, "--keep-going", **place) as process:
        wait_for(lambda: process.poll() is not None or {"2", "3"} <= {path.name for path in met(study)})
        # A chain that has run out of time, and ranks that somebody cancels.
        assert process.poll() is None, study.printed()
        (late,) = [job for job in submitted(cluster, "learn-1") if job["state"] == "RUNNING"]
        (unwanted,) = [job for job in submitted(cluster, "ranks-1") if job["state"] == "RUNNING"]
        cluster.run("scontrol", "update", f"JobId={late['id']}", "TimeLimit=1")
        cluster.run("scancel", unwanted["id"])
        assert process.wait(900) == 1, study.printed()
    text = study.printed()
    states = {job["id"]: job["state"] for job in cluster.jobs()}
    assert states[late["id"]] == "TIMEOUT" and states[unwanted["id"]] == "CANCELLED", text[-5000:]
    # The job killed without a warning got a second attempt, with twice the memory, and went on.
    first, second = submitted(cluster, "stream-1")
    assert (first["state"], second["state"]) == ("FAILED", "COMPLETED")
    assert int(second["memory"].rstrip("M")) == 2 * int(first["memory"].rstrip("M"))
    assert (study.stream / "features" / "1.h5").exists()
    # More memory does not help the others: their second submission did nothing and says why.
    assert len([line for line in commands(study, "update") if "features/1.h5" in line]) == 1
    assert len([line for line in commands(study, "ranks") if "features/1.h5" in line]) == 1
    for reason in ("TIMEOUT", "CANCELLED"):
        assert f"a second attempt at a job that had memory enough (Slurm ended it as {reason})" in text
    # The same command again: nothing is made twice, and every byte is that of a run on one machine.
    before = len(cluster.jobs())
    jobs = study.run(TABLES, *SLURM, **place).names("run", "t")
    assert {name for name in jobs if name.startswith("update")} == {"update da 1", "update_over_ranks ring 1"}
    assert study.bytes() == local.bytes()
    names = {job["comment"].split("_wildcards")[0] for job in cluster.jobs()[before:]}
    assert len(names) == len(cluster.jobs()) - before <= 4, names
    # The chain is cut into blocks, each one submission; what it asks for comes from its rules.
    (one,) = submitted(cluster, "learn-0")
    assert one["cpus"] == "1" and int(one["memory"].rstrip("M")) >= 600 and one["limit"] != "UNLIMITED"
    (ranks,) = submitted(cluster, "ranks-0")
    assert ranks["cpus"] == "2"
    log = (study.results / "logs" / "mine" / "seed0" / "ring" / "k8" / "1.log").read_text()
    assert "2 ranks" in log and agentfiles.of_network(study.checkpoint("ring", 1))
    assert {job["node"] for job in cluster.jobs()} >= {"node1", "node2"}
    # Logs of what failed lie in one place; those of what succeeded are removed.
    kept = {path.stem for path in (study.folder / "results" / "logs" / "slurm").rglob("*.log")}
    assert kept == {job["id"] for job in cluster.jobs() if job["state"] != "COMPLETED"}
    assert not any((study.results / "logs" / "attempts").glob("*/*"))


def met(study):
    return list((study.folder / "met").iterdir())


@needs_slurm
def test_bad_input_is_not_tried_again_on_slurm(local, cluster, tmp_path):
    study = fresh_copy(local, tmp_path / "study")
    (study.folder / "docs" / "b.jsonl").write_text("no JSON\n")
    (study.folder / "partitions.yaml").write_text("partitions: {short: {max_runtime: 8}, long: {}}\n")
    before = len(cluster.jobs())
    target = study.target(study.results / "mine" / "documents.h5")
    options = (*SLURM, "--slurm-partition-config", "partitions.yaml")
    text = study.run(target, *options, fails=True, PATH=cluster.environment["PATH"]).text
    assert [job["partition"] for job in cluster.jobs()[before:]] == ["long"] * 2  # for it asks for ten minutes
    assert len(commands(study, "read")) == 1
    assert "b.jsonl" in text and "(odl read ended by itself with status 1)" in text


@needs_slurm
def test_the_generic_profile_on_slurm(local, cluster, tmp_path):
    study = fresh_copy(local, tmp_path / "study")
    target = study.target(study.stream / "index.tsv")
    before = len(cluster.jobs())
    study.run(target, "--profile", "profiles/cluster", PATH=cluster.environment["PATH"])
    assert [job["state"] for job in cluster.jobs()[before:]] == ["COMPLETED"] * 2
    assert study.bytes() == {name: held for name, held in local.bytes().items() if name in study.bytes()}


def test_the_generic_profile_on_another_scheduler(local, tmp_path):
    study = fresh_copy(local, tmp_path / "study")
    (tmp_path / "batch").mkdir()
    (study.folder / "faults" / "1").write_text("kill odl features results/small/mine/seed0/features/0.h5")
    script = f"{sys.executable} {ROOT / 'tests' / 'batch.py'}"
    scheduler = (
        *("--profile", "profiles/cluster", "--seconds-between-status-checks", "1"),
        *("--cluster-generic-submit-cmd", f"{script} submit {{threads}} {{resources.mem_mb}} {{resources.runtime}}"),
        *("--cluster-generic-status-cmd", f"{script} status"),
    )
    targets = [study.target(study.checkpoint("da", 1)), study.target(study.stream / "baselines" / "1.h5")]
    study.run(*targets, *scheduler, BATCH_DIR=str(tmp_path / "batch"))
    held = study.bytes()
    assert any(name.endswith("/da/k8/1.h5") for name in held)
    assert held == {name: value for name, value in local.bytes().items() if name in held}
    # read, index, kernels, two blocks of the stream (one twice, for it was killed), of the chain, the baselines.
    asked = [json.loads(path.read_text()) for path in (tmp_path / "batch").glob("*.json")]
    assert len(asked) == 9 and all(job["megabytes"] >= 600 and job["minutes"] >= 2 for job in asked)
    assert len(commands(study, "update")) == 2
