"""The diffusion learner over MPI ranks: the same numbers, nothing but dual variables sent, and safe ends."""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from networked import MPIEXEC, material, needs_mpi
from places import ROOT
from ranks_program import Alone, chain

from odl.distributed import coding, inference, messages
from odl.errors import CheckpointError, OdlError, ParameterError, StorageError
from odl.files import agentfiles, checkpoints, documents
from odl.jobs import mpi, runs, update
from odl.learners import make
from odl.stream import batchfile, batching, features

PROGRAM = ROOT / "tests" / "helpers" / "ranks_program.py"
RING = {"algorithm": "diffusion", "network": "ring", "degree": 2, "agents": 6, "rounds": 1, "iterations": 40}


def environment():
    """Return the variables of a rank: this package, one thread."""
    held = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    held.pop("ODL_PARENT", None)
    return {**held, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(PROGRAM.parent)])}


def mpiexec(n, *command):
    """Run a Python command on ranks; return the finished process."""
    start = [MPIEXEC, "-n", str(n), sys.executable, *map(str, command)]
    return subprocess.run(start, env=environment(), capture_output=True, text=True, timeout=300)


@contextlib.contextmanager
def few_cores(n):
    """Leave this process, and those that it starts meanwhile, so many cores."""
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, sorted(cores)[:n])
        yield
    finally:
        os.sched_setaffinity(0, cores)


def on_ranks(n, *words):
    done = mpiexec(n, PROGRAM, *words)
    assert done.returncode == 0, done.stdout + done.stderr


@functools.cache
def stream(base):
    """Return a folder with the features of three timesteps of 14, 10 and 9 documents; one document is empty."""
    folder = base / "ranks-stream"
    draw = np.random.default_rng(5)
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]
    rows = []
    for number in range(33):
        topic = draw.integers(0, 3 + number // 12)
        text = " ".join(draw.choice(words[12 * topic : 12 * topic + 14], 12)) if number != 20 else ""
        rows.append(
            {"id": f"d{number}", "time": f"2020-01-{1 + number // 2:02d}", "text": text, "topics": [str(topic)]}
        )
    folder.mkdir()
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    from odl import corpora

    documents.write(folder / "docs.h5", corpora.read("documents", [folder / "docs.jsonl"], {}), reader="documents")
    batches = {"by": "documents", "documents": 10, "period": "month", "initial": 14, "flush": True}
    held = {"seed": 0, "batches": batches, "protocol": "by-date", "topic_entry": {}, "ties": "source"}
    batching.index(folder / "docs.h5", folder / "index.tsv", folder / "order.h5", **held)
    before = None
    for t in range(3):
        batchfile.cut(folder / "docs.h5", folder / "order.h5", folder / f"batch{t}.h5", t)
        features.advance(folder / f"features{t}.h5", folder / f"batch{t}.h5", before)
        before = folder / f"features{t}.h5"
    return folder


@pytest.fixture
def folder(tmp_path, tmp_path_factory):
    """A copy of the stream."""
    made = stream(tmp_path_factory.getbasetemp())
    for path in made.glob("features*.h5"):
        shutil.copy2(path, tmp_path)
    return tmp_path


def run_of(learner=RING):
    return {"corpus": "toy", "seed": 0, "run": "toy", "atoms": 9, "features": {"tf": "log"}, "learner": learner}


def alone(folder, learner, name="alone"):
    """Run the chain in one process, as `odl step update` does."""
    for t in range(3):
        path = folder / name / f"{t}.h5"
        before = folder / name / f"{t - 1}.h5" if t else None
        outputs = (path, path.with_suffix(".scores"), path.with_suffix(".tsv"))
        update.update(folder / f"features{t}.h5", *outputs, run=runs.parse(run_of(learner)), previous=before)


def contents(folder):
    """Return name -> bytes of everything but the clocks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".tsv"
    }


def same_numbers(one, other, atol=1e-10):
    """Compare two HDF5 files entry by entry: texts equal, numbers to `atol`."""
    with h5py.File(one) as left, h5py.File(other) as right:
        names = []
        left.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert names
        if "top/rows" in names and (left["top/rows"][:] != right["top/rows"][:]).any():  # equal scores to rounding
            rows = left["top/rows"][:], right["top/rows"][:]
            np.testing.assert_allclose(left["score"][:][rows[0]], right["score"][:][rows[1]], atol=atol)
            names = [name for name in names if not name.startswith("top/")]
        for name in names:
            if left[name].dtype.kind == "f":
                np.testing.assert_allclose(left[name][()], right[name][()], atol=atol, err_msg=name)
            else:
                np.testing.assert_array_equal(left[name][()], right[name][()], err_msg=name)
        for name in set(left.attrs) - {"gap", "digest"}:
            assert str(left.attrs[name]) == str(right.attrs[name]), name
        assert left.attrs["gap"] == pytest.approx(right.attrs["gap"], abs=1e-9)


EACH = {**RING, "agents": 0}  # one atom for each agent
HUBER = {**RING, "task": "nmf_huber", "gamma": 0.4, "delta": 0.4, "mu_w": 0.1, "seen_by": 2, "score_iterations": 60}
SIGNED = {**RING, "task": "biclustering", "beta": 0.01, "network": "grid", "seen_by": 0.5}
SPARSE = {**SIGNED, "agents": 0, "degree": 2, "score_iterations": 3, "gamma": 0.02}
FULL = {**RING, "network": "fully_connected", "solver": "diffusion", "relative": False}


@pytest.mark.parametrize(
    "learner", [RING, HUBER, SIGNED, FULL, EACH, SPARSE], ids=["ring", "huber", "signed", "full", "each", "sparse"]
)
def test_ranks_give_what_one_process_gives(learner, folder):
    """A chain by the code of the ranks, of which there is one, beside the chain of one process."""
    alone(folder, learner)
    chain(Alone(), folder, "ranks", learner)
    for t in range(3):
        state, before = folder / "ranks" / f"{t}.h5", folder / "ranks" / f"{t - 1}.h5" if t else None
        found, held = (
            agentfiles.read_whole(state, run_of(learner), t),
            checkpoints.read_checkpoint(folder / "alone" / f"{t}.h5"),
        )
        assert found.dictionary.shape == held.dictionary.shape and found.updates == held.updates
        np.testing.assert_allclose(found.dictionary.toarray(), held.dictionary.toarray(), atol=1e-10)
        np.testing.assert_allclose(found.codes.toarray(), held.codes.toarray(), atol=1e-10)
        assert found.uncoded == held.uncoded and held.codes.nnz
        outputs = (state, state.with_suffix(".scores"))
        mpi.collect(folder / f"features{t}.h5", *outputs, run=runs.parse(run_of(learner)), previous=before)
        same_numbers(outputs[1], folder / "alone" / f"{t}.scores")
        with h5py.File(outputs[1]) as file:
            score = agentfiles.read_network(state).score
            np.testing.assert_allclose(score, file["score"][:], atol=1e-12)
            assert score[6] == 1.0 or t != 1, "the empty document"


@needs_mpi
@pytest.mark.parametrize("learner", [RING, HUBER, SPARSE], ids=["ring", "huber", "sparse"])
def test_results_do_not_depend_on_the_ranks(learner, folder):
    """Byte for byte: 1 rank, 2, and 4 for 6 agents; also where another number goes on with the chain."""
    chain(Alone(), folder, "1", learner)
    on_ranks(2, "chain", folder, "2", json.dumps(learner))
    (folder / "mixed").mkdir()
    for name in ("0.h5", "0.agents"):
        source = folder / "2" / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / "mixed" / name)
    on_ranks(4, "chain", folder, "mixed", json.dumps(learner))
    first = contents(folder / "1")
    assert (
        len(first) == 3 * (1 + (learner["agents"] or 9))
        and contents(folder / "2") == first
        and contents(folder / "mixed") == first
    )


@needs_mpi
def test_a_timestep_of_more_ranks_than_cores(folder):
    """Four ranks on one core: every document is coded, then learned, by itself; same bytes."""
    learner = {**RING, "tolerance": 1e-12}
    chain(Alone(), folder, "job", learner)
    before = contents(folder / "job")
    shutil.rmtree(agentfiles.folder(folder / "job" / "1.h5"))
    (folder / "job" / "1.h5").unlink()
    with few_cores(1):
        done = mpiexec(4, "-m", "odl", "step", "rank", "4", *words(folder, 1, learner))
    assert done.returncode == 0, done.stderr
    assert "odl rank: 4 ranks, 10 documents" in done.stdout
    # Most take all iterations. The empty one, and to be scored one that no atom answers, end at the first look.
    assert f" {8 * 40 + 2 * 10 + 9 * 40 + 10} exchanges\n" in done.stdout
    assert contents(folder / "job") == before


FAILS = """
import sys
from odl.distributed import messages
from odl.errors import DataError

def work(comm):
    if comm.Get_rank() == 1:
        raise {error}
    messages.together(comm, lambda: None)

sys.exit(messages.take_part(4, work))
"""


@needs_mpi
@pytest.mark.parametrize(
    ("error", "said"),
    [("RuntimeError('lost')", "RuntimeError: lost"), ("DataError('a', 'b', 'c')", "DataError: a")],
)
def test_an_error_of_one_rank_ends_those_that_wait(error, said):
    """One that nobody foresaw, also of a kind that is agreed upon elsewhere, while the others agree."""
    with few_cores(2):
        done = mpiexec(4, "-c", FAILS.format(error=error))
    assert done.returncode != 0 and said in done.stderr


def psi_of(share, x, step, iterations):
    """Return psi of all agents at each iteration, dense and in one place."""
    nu, found = share.start(x), []
    for _ in range(iterations):
        found.append(share.adapt(nu, x, step))
        nu = share.combine(found[-1])
    return found


@needs_mpi
def test_only_dual_variables_leave_a_rank(tmp_path, rng):
    """Everything sent is decoded: agents' psi, for a rank that has their neighbour, or a count; nothing else."""
    settings = {**RING, "gamma": 0.05, "delta": 0.3, "iterations": 20, "tolerance": 1e-9}
    learner, n_agents = make(**settings), RING["agents"]
    _, P, A = material("nmf", rng, n_documents=2)
    model, x = learner.model, P.toarray()
    np.save(tmp_path / "P.npy", x)
    np.save(tmp_path / "A.npy", A.toarray())
    on_ranks(4, "record", tmp_path, json.dumps(settings))
    owner, net = learner.agents_of(9)
    step, starts = coding.safe_step(model, owner, net), messages.first_agents(n_agents, 4)
    replayed, W = [], A.toarray()  # the inference of both documents, then again with learning between
    for row, learns in ((0, False), (1, False), (0, True), (1, True)):
        share = inference.share_all(model, net, [W[:, owner == agent] for agent in range(n_agents)])
        part = psi_of(share, x[row], step, 20)
        replayed += part
        if len(replayed) == 40:
            replayed += [None] * 3  # the agents average the score
        if learns:
            found = inference.diffuse(share, x[row], step=step, iterations=20, tolerance=0.0)
            W = np.concatenate(
                [model.learn(W[:, owner == k], found.nu[k], found.codes[k], learner.mu_w) for k in range(n_agents)], 1
            )
    total = 0
    for rank in range(4):
        held = np.load(tmp_path / f"rank{rank}.npz")
        own = set(held["agents"].tolist())
        secret = np.concatenate([A.toarray()[:, np.isin(owner, [*own])].ravel(), held["codes"].ravel()])
        secret = secret[(secret != 0) & (secret != 1)]
        turns = {dest: iter(replayed) for dest in ((rank - 1) % 4, (rank + 1) % 4)}
        for number, dest in enumerate(json.loads(str(held["meta"]))):
            message, wanted = held[f"told{number}"], next(turns[dest])
            assert message.dtype == float and not np.isin(message, secret).any()
            theirs = set(range(starts[dest], starts[dest + 1]))
            shown = [k for k in sorted(own) if theirs & {(k + 1) % n_agents, (k - 1) % n_agents}]
            if wanted is None:
                assert message.shape == (1 + 2 + len(shown) * 2,)
                continue
            found = messages.unpack(message, (len(shown), x.shape[1]))
            np.testing.assert_allclose(found, wanted[shown], atol=1e-10)
            assert len(message) == 1 + int(message[0]) * (1 + len(shown)), "more than was decoded"
            total += found.size
        assert all(next(turn, "none") == "none" for turn in turns.values())
        # Gathered: a number an agent in each look at the stopping rule, and its norm; nothing else.
        assert set(held["gathered"].tolist()) == {len(own)}
        for number in range(len(held["gathered"])):
            assert not np.isin(held[f"gathered{number}"], secret).any()
        assert held["sent"] == held["bytes"] + 3 * held["gathered"].sum() * 8
        np.testing.assert_allclose(held["learned"], W[:, np.isin(owner, [*own])], atol=1e-10)
    assert total > 10_000


def test_one_process_goes_on_where_ranks_stopped_and_the_other_way(folder):
    chain(Alone(), folder, "ranks", RING)
    alone(folder, RING)
    last = folder / "ranks" / "1.h5"
    outputs = [folder / f"on.{name}" for name in ("h5", "scores", "tsv")]
    update.update(folder / "features2.h5", *outputs, run=runs.parse(run_of()), previous=last)
    same_numbers(outputs[1], folder / "alone" / "2.scores")
    assert checkpoints.read_checkpoint(outputs[0]).previous == agentfiles.read_network(last).digest
    mpi.work(
        Alone(),
        *[folder / "features2.h5", folder / "back" / "2.h5", folder / "back" / "2.tsv"],
        run=runs.parse(run_of()),
        previous=folder / "alone" / "1.h5",
    )
    found = agentfiles.read_whole(folder / "back" / "2.h5")
    np.testing.assert_allclose(
        found.dictionary.toarray(),
        checkpoints.read_checkpoint(folder / "alone" / "2.h5").dictionary.toarray(),
        atol=1e-10,
    )


class TestFilesOfAgents:
    def test_each_has_its_own_atoms(self, folder):
        chain(Alone(), folder, "ranks", RING)
        state = folder / "ranks" / "2.h5"
        held = agentfiles.read_network(state, run_of(), 2)
        assert sorted(os.listdir(agentfiles.folder(state))) == [f"{agent}.h5" for agent in range(6)]
        sizes = [agentfiles.read_agent(state, agent, held)[0].shape[1] for agent in range(6)]
        assert sizes == [2, 1, 2, 1, 2, 1]
        with h5py.File(state) as file:
            assert set(file) == {"score", "dual", "digests"} and set(file["dual"]) == {"value", "norm", "iterations"}
        assert not list(folder.rglob("*.part"))

    def test_a_changed_or_lost_one_is_refused_by_name(self, folder):
        chain(Alone(), folder, "ranks", RING)
        state = folder / "ranks" / "2.h5"
        path = Path(agentfiles.agent_path(state, 3))
        shutil.copy2(agentfiles.agent_path(folder / "ranks" / "1.h5", 3), path)
        with pytest.raises(CheckpointError, match=r"3\.h5 is not the file that .*2\.h5 was written with"):
            agentfiles.read_whole(state)
        path.write_bytes(path.read_bytes()[:-50])
        with pytest.raises(StorageError, match=r"3\.h5 was changed"):
            agentfiles.read_whole(state)
        path.unlink()
        with pytest.raises(StorageError, match=r"3\.h5 does not exist"):
            agentfiles.read_whole(state)

    def test_another_chain_or_timestep_is_refused(self, folder):
        chain(Alone(), folder, "ranks", RING)
        state = folder / "ranks" / "2.h5"
        with pytest.raises(CheckpointError, match="timestep 2; expected timestep 1"):
            agentfiles.read_whole(state, run_of(), 1)
        with pytest.raises(CheckpointError, match="mu_w"):
            agentfiles.read_whole(state, run_of({**RING, "mu_w": 0.25}), 2)
        with pytest.raises(StorageError, match="kind 'network'"):
            checkpoints.read_checkpoint(state)


class Asked(Alone):
    """As many ranks as asked for; only asked before anything is sent."""

    def __init__(self, size):
        self.size = size

    def Get_size(self):
        return self.size


@pytest.mark.parametrize(
    ("learner", "size", "message"),
    [
        (RING, 7, "7 ranks for 6 agents"),
        ({"algorithm": "diffusion"}, 1, "no rank may see all atoms"),
        ({**RING, "solver": "centralised"}, 1, "set solver: diffusion"),
        ({"algorithm": "projected_gradient"}, 1, "'projected_gradient' over ranks"),
    ],
)
def test_what_cannot_go_over_ranks_is_refused(learner, size, message, folder):
    with pytest.raises(ParameterError, match=message) as found:
        mpi.prepare(Asked(size), folder / "features0.h5", run=runs.parse(run_of(learner)))
    assert "\n" not in str(found.value)


def words(folder, t, learner=RING, name="job"):
    """Return the arguments of ``odl step rank`` after the number of ranks."""
    state = folder / name / f"{t}.h5"
    found = [folder / f"features{t}.h5", "--state", state, "--timings", state.with_suffix(".tsv")]
    found += ["--run", json.dumps(run_of(learner))]
    return found + (["--previous", state.with_name(f"{t - 1}.h5")] if t else [])


@needs_mpi
class TestCommand:
    def test_the_number_of_ranks_is_checked(self, folder):
        """As where a launcher starts one rank four times over."""
        done = mpiexec(2, "-m", "odl", "step", "rank", 4, *words(folder, 0))
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert "odl rank: 2 ranks where 4 were asked for; expected a launcher that starts 4" in done.stderr
        assert not (folder / "job").exists()

    @pytest.mark.parametrize("n", [2, 4])
    def test_a_refusal_is_one_sentence_of_one_rank(self, n, folder):
        (folder / "job").mkdir()
        chain(Alone(), folder, "job", RING)
        os.truncate(agentfiles.agent_path(folder / "job" / "0.h5", 5), 100)
        with few_cores(2):
            done = mpiexec(n, "-m", "odl", "step", "rank", n, *words(folder, 1))
        assert done.returncode == 1
        assert (
            done.stderr.count("\n") == 1 and done.stderr.startswith("odl rank: ") and "5.h5 was changed" in done.stderr
        )

    def test_a_missing_launcher(self, folder):
        with pytest.raises(OdlError, match="mpiexecutor"):
            mpi.launch([], 2, "mpiexecutor", "0.h5")

    @pytest.mark.parametrize("launcher", ["mpiexec '--bind-to", "'mpiexec \"'"])
    def test_a_launcher_with_an_open_quote(self, launcher):
        with pytest.raises(ParameterError, match="close its quotes"):
            mpi.launch([], 2, launcher, "0.h5")

    def test_a_killed_rank_ends_the_job_and_leaves_the_last_checkpoint(self, folder):
        """kill -9 of one of four ranks on two cores, in the middle of the exchange."""
        import psutil

        slow = {**RING, "iterations": 200_000, "mu": 1e-4, "tolerance": 1e-14, "rounds": 0}
        chain(Alone(), folder, "job", {**RING, "iterations": 5})  # only its first timestep is gone on from
        state = folder / "job" / "1.h5"
        shutil.rmtree(agentfiles.folder(state))
        state.unlink()
        # The settings of the chain are those of the slow run.
        rewrite(folder / "job" / "0.h5", run_of(slow))
        before = contents(folder / "job")
        with started(folder, 1, slow) as process:
            found = wait_for_ranks(psutil, process)
            assert process.poll() is None
            found[1].kill()
            output, error = process.communicate(timeout=60)
        assert process.returncode == 1
        last = error.strip().splitlines()[-1]
        assert last.startswith("odl ranks: a rank ended by signal 9, the others were stopped; expected 4 ranks")
        assert "BAD TERMINATION" not in output + error and "Traceback" not in output + error
        _, alive = psutil.wait_procs(found, timeout=10)
        assert not alive
        assert contents(folder / "job") == before and not (folder / "scores.h5").exists()
        assert agentfiles.read_whole(folder / "job" / "0.h5", run_of(slow), 0).dictionary.shape[1] == 9

    def test_sigterm_ends_the_launcher_and_all_ranks(self, folder):
        """Four ranks on two cores, in the middle of the exchange."""
        import psutil

        slow = {**EACH, "iterations": 200_000, "mu": 1e-4, "tolerance": 1e-14, "rounds": 1}
        with started(folder, 0, slow) as process:
            wait_for_ranks(psutil, process)
            below = psutil.Process(process.pid).children(recursive=True)  # launcher, its proxy, the ranks
            process.terminate()
            process.communicate(timeout=60)
        _, alive = psutil.wait_procs(below, timeout=10)
        for each in alive:
            each.kill()
        assert process.returncode == 143 and len(below) >= 5
        assert not alive and not (folder / "job" / "0.h5").exists()


@contextlib.contextmanager
def started(folder, t, learner):
    """Start ``odl step ranks`` on four ranks and two cores; kill it in the end."""
    start = [sys.executable, "-m", "odl", "step", "ranks", "4", *map(str, words(folder, t, learner))]
    start += ["--scores", str(folder / "scores.h5")]
    with few_cores(2):
        process = subprocess.Popen(start, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()


def rewrite(state, run):
    """Write a checkpoint once more as one of another run."""
    held = agentfiles.read_network(state)
    digests = []
    for agent in range(len(held.digests)):
        A, codes, _ = agentfiles.read_agent(state, agent, held)
        part = checkpoints.Checkpoint(held.t, run, A, {}, held.updates, codes, 0.0)
        digests.append(agentfiles.write_agent(state, agent, part))
    agentfiles.write_network(state, held._replace(chain=run, digests=digests))


def wait_for_ranks(psutil, process):
    """Return the processes of the four ranks, when all of them compute."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(process.pid).children(recursive=True)
            found = [each for each in children if each.cmdline()[:1] == [sys.executable] and "rank" in each.cmdline()]
            if len(found) == 4 and min(sum(each.cpu_times()[:2]) for each in found) > 2:
                return found
        time.sleep(0.1)
    raise AssertionError(process.communicate(timeout=5))


def test_shares_of_agents():
    assert messages.first_agents(6, 4).tolist() == [0, 1, 3, 4, 6]
    assert np.diff(messages.first_agents(10, 3)).tolist() == [3, 3, 4]
    with pytest.raises(ParameterError, match="2 ranks for 1 agents"):
        messages.first_agents(1, 2)
