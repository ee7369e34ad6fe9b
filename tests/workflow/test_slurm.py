"""Studies through Slurm and through another scheduler: the same bytes, whatever ends a job; second attempts."""

import json
import os
import shutil
import sys
import time

import pytest
import slurm
import slurmrun
from networked import needs_mpi
from places import ROOT
from workflows import Study, documents, settings

from odl.files import agentfiles

pytestmark = pytest.mark.workflow
ABSENT = slurm.missing()
_absent = pytest.mark.skipif(ABSENT is not None, reason=f"no Slurm can be started: {ABSENT}")


def needs_slurm(test):
    """Of `make test-long`, where a Slurm can be started."""
    return pytest.mark.long(_absent(test))


SLURM = (
    "--profile",
    "profiles/slurm",
    "--slurm-init-seconds-before-status-checks",
    "1",
    "--retries",
    "1",
)
CLUSTER = ("--profile", "profiles/cluster", "--seconds-between-status-checks", "1")
TABLES = "results/small/tables/averages.tsv"
RING = {
    "algorithm": "diffusion",
    "network": "ring",
    "agents": 4,
    "degree": 2,
    "rounds": 1,
    "iterations": 20,
}
PATIENCE = 1800  # seconds, for machines that are busy with other things
# Jobs whose command has all the words in faults/ meet a fault: once a kill -9, as the kernel's for
# want of memory, or a sleep without end; at every attempt the need of a number of MB.
FAULTS = """
import os, signal, sys, time


def fault(event, args):
    if event == "import" and args[0] == "odl.cli.studysteps":  # once a job
        for name in os.listdir("faults"):
            kind, *words = open(f"faults/{name}").read().split()
            if not set(words) <= set(sys.orig_argv):
                continue
            if kind.isdigit():
                held = b"." * (int(kind) << 20)
                time.sleep(3)  # the node looks once a second
            else:
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
    with slurm.Cluster(
        tmp_path_factory.mktemp("cluster") / "slurm", cpus=2, memory=16000, prompt=True
    ) as started:
        yield started


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A study of three timesteps and two runs, one over a single rank, finished on this machine without a cluster."""
    config = settings(runs=["da", "ring"], ranks={"ring": 1}, block=2)
    config["learners"]["ring"] = RING
    study = Study.create(tmp_path_factory.mktemp("local") / "study", config)
    study.write("a.jsonl", documents(0, 280))
    study.run(TABLES)
    return study


@pytest.fixture(scope="module")
def beside(local, cluster, tmp_path_factory):
    """Two studies that run through Slurm while other tests wait for it, as name -> (study, its Snakemake)."""
    folder, place = tmp_path_factory.mktemp("beside"), {"PATH": cluster.environment["PATH"]}
    bad, generic = fresh_copy(local, folder / "bad"), fresh_copy(local, folder / "generic")
    (bad.folder / "docs" / "b.jsonl").write_text("no JSON\n")
    (bad.folder / "partitions.yaml").write_text("partitions: {short: {max_runtime: 8}, long: {}}\n")
    read = (
        bad.target(bad.results / "mine" / "documents.h5"),
        *SLURM,
        "--slurm-partition-config",
        "partitions.yaml",
    )
    index = (generic.target(generic.stream / "index.tsv"), *CLUSTER)
    with bad.started(*read, **place) as first, generic.started(*index, **place) as second:
        yield {"bad": (bad, first), "generic": (generic, second)}


def fresh_copy(study, folder):
    """Return a copy of a study from before its first run, with two ranks, whose jobs can meet faults."""
    found = study.copy(folder)
    found.configure({**found.config, "ranks": {"ring": 2}})
    for name in ("results", ".snakemake"):
        shutil.rmtree(folder / name)
    for name in ("faults", "met", "hooks"):
        (folder / name).mkdir()
    (folder / "hooks" / "sitecustomize.py").write_text(FAULTS)
    return found


def commands(study, *words):
    """Return the commands of the package that were begun and name all these words."""
    lines = (study.folder / "commands.txt").read_text().splitlines()
    return [line for line in lines if all(word in line for word in words)]


def submitted(cluster, study, name=""):
    """Return the jobs that Snakemake submitted for a study under this name, in order."""
    return [
        job
        for job in cluster.jobs()
        if name in job["comment"] and job["folder"] == str(study.folder)
    ]


def megabytes(job):
    """Return the memory that a job asked for."""
    return int(job["memory"].rstrip("M"))


def stopped_at(cluster, study, process, fault, name):
    """Wait until a job has met a fault and sleeps; return its number."""
    end = time.monotonic() + PATIENCE
    while not (study.folder / "met" / fault).exists():
        assert process.poll() is None and time.monotonic() < end, study.printed()
        time.sleep(0.2)
    (job,) = [job for job in submitted(cluster, study, name) if job["state"] == "RUNNING"]
    return job["id"]


@needs_slurm
@needs_mpi
@pytest.mark.usefixtures("beside")
def test_a_study_on_slurm_whose_jobs_are_killed(local, cluster, tmp_path):
    study = fresh_copy(local, tmp_path / "study")
    place = {name: cluster.environment[name] for name in ("PATH", "MPIR_CVAR_CH4_NETMOD")}
    faults = {
        "large": "700 step index",  # its rule asks for 600
        "unwanted": "sleep step rank results/small/mine/seed0/features/0.h5",
        "killed": "kill step baselines results/small/mine/seed0/baselines/2.h5",
        "late": "sleep step update results/small/mine/seed0/features/2.h5",
    }
    for name, fault in faults.items():
        (study.folder / "faults" / name).write_text(fault)
    with study.started(TABLES, *SLURM, "--keep-going", **place) as process:
        # Ranks that somebody cancels, and a chain that runs out of time (noticed within 30
        # seconds).
        unwanted = stopped_at(cluster, study, process, "unwanted", "ranks-0")
        cluster.run("scancel", unwanted)
        late = stopped_at(cluster, study, process, "late", "learn-1")
        cluster.run("scontrol", "update", f"JobId={late}", "EndTime=now")
        assert process.wait(PATIENCE) == 0, study.printed()
    text = study.printed()
    # Whatever ended a job, it had a second attempt with twice the memory; every byte is that of a
    # run on one machine.
    ends = {"index": "FAILED", "baselines": "FAILED", "ranks-0": "CANCELLED", "learn-1": "TIMEOUT"}
    for name, end in ends.items():
        tried = submitted(cluster, study, name)
        (failed,) = [job for job in tried if job["state"] != "COMPLETED"]
        again = [job for job in tried if megabytes(job) == 2 * megabytes(failed)]
        assert failed["state"] == end and again, (name, tried, text[-5000:])
    for words in (("odl step index",), ("odl step baselines", "baselines/2.h5")):
        assert len(commands(study, *words)) == 2
    (log,) = (study.folder / "results" / "logs" / "slurm").rglob(
        f"{submitted(cluster, study, 'index')[0]['id']}.log"
    )
    assert "exceeded memory limit" in log.read_text()
    assert study.bytes() == local.bytes()
    # The chain is cut into blocks, each one submission; what it asks for comes from its rules.
    (one,) = submitted(cluster, study, "learn-0")
    assert one["cpus"] == "1" and megabytes(one) >= 600 and one["limit"] != "UNLIMITED"
    assert [job["cpus"] for job in submitted(cluster, study, "ranks-1")] == ["2"]
    log = (study.results / "logs" / "mine" / "seed0" / "ring" / "k8" / "1.log").read_text()
    assert "2 ranks" in log and agentfiles.of_network(study.checkpoint("ring", 1))
    assert {job["node"] for job in submitted(cluster, study)} >= {"node1", "node2"}
    # Logs of what failed lie in one place; those of what succeeded are removed.
    kept = {path.stem for path in (study.folder / "results" / "logs" / "slurm").rglob("*.log")}
    assert kept == {job["id"] for job in submitted(cluster, study) if job["state"] != "COMPLETED"}


@needs_slurm
def test_bad_input_is_tried_once_more_on_slurm_and_then_fails(beside, cluster):
    study, process = beside["bad"]
    assert process.wait(PATIENCE) == 1, study.printed()
    assert [job["partition"] for job in submitted(cluster, study)] == [
        "long"
    ] * 2  # for it asks for ten minutes
    assert len(commands(study, "odl step read")) == 2
    assert study.printed().count("b.jsonl line 1 is not JSON") == 2  # the log of each attempt


@needs_slurm
def test_the_generic_profile_on_slurm(local, beside, cluster):
    study, process = beside["generic"]
    assert process.wait(PATIENCE) == 0, study.printed()
    assert [job["state"] for job in submitted(cluster, study)] == ["COMPLETED"] * 2
    assert study.bytes() == {
        name: held for name, held in local.bytes().items() if name in study.bytes()
    }


@pytest.mark.long
def test_the_generic_profile_on_another_scheduler(local, tmp_path):
    study = fresh_copy(local, tmp_path / "study")
    (tmp_path / "batch").mkdir()
    (study.folder / "faults" / "1").write_text(
        "kill step features results/small/mine/seed0/features/0.h5"
    )
    script = f"{sys.executable} {ROOT / 'tests' / 'helpers' / 'batch.py'}"
    scheduler = (
        *CLUSTER,
        *(
            "--cluster-generic-submit-cmd",
            f"{script} submit {{threads}} {{resources.mem_mb}} {{resources.runtime}}",
        ),
        *("--cluster-generic-status-cmd", f"{script} status"),
    )
    targets = [
        study.target(study.checkpoint("da", 2)),
        study.target(study.stream / "baselines" / "2.h5"),
    ]
    study.run(*targets, *scheduler, BATCH_DIR=str(tmp_path / "batch"))
    held = study.bytes()
    assert any(name.endswith("/da/k8/2.h5") for name in held)
    assert held == {name: value for name, value in local.bytes().items() if name in held}
    # read, index, two blocks of the stream (one twice, for it was killed), of the chain, the
    # baselines.
    asked = [json.loads(path.read_text()) for path in (tmp_path / "batch").glob("*.json")]
    assert len(asked) == 8 and all(job["megabytes"] >= 600 and job["minutes"] >= 2 for job in asked)
    assert len(commands(study, "odl step update")) == 3


@needs_slurm
@pytest.mark.skipif(
    not os.environ.get("ODL_SLURM_DEFAULT"),
    reason="set ODL_SLURM_DEFAULT=1; `make slurm` shows more",
)
def test_the_default_study_on_slurm(cluster, tmp_path):
    alone, blocks = slurmrun.compared(cluster, tmp_path, ["local", "blocks"])
    assert len(alone.bytes) > 500 and alone.bytes == blocks.bytes
    assert 0 < blocks.submissions < alone.jobs / 5
