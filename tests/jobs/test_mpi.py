"""The diffusion learner over MPI ranks: the same numbers, nothing but dual variables sent, and safe ends."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from networked import MPIEXEC, material, needs_mpi
from places import ROOT
from ranks_program import Alone, chain, run_of
from studies import chain_of

from odl.distributed import coding, inference, messages
from odl.errors import ParameterError
from odl.evaluation.scorefiles import read_scores
from odl.files import agentfiles, checkpoints
from odl.jobs import mpi, runs, update
from odl.learners import make
from odl.stream import features

PROGRAM = ROOT / "tests" / "helpers" / "ranks_program.py"
RING = {"algorithm": "diffusion", "network": "ring", "degree": 2, "agents": 6, "rounds": 1, "iterations": 40}
HUBER = {**RING, "task": "nmf_huber", "gamma": 0.4, "delta": 0.4, "mu_w": 0.1, "seen_by": 2}
SIGNED = {**RING, "task": "biclustering", "beta": 0.01, "network": "grid", "seen_by": 0.5}
SPARSE = {**SIGNED, "agents": 0, "gamma": 0.02}  # one atom for each agent
FULL = {**RING, "network": "fully_connected", "solver": "diffusion", "relative": False}
SLOW = {**SPARSE, "iterations": 200_000, "mu": 1e-4, "tolerance": 1e-14}


def environment():
    """Return the variables of a rank: this package, one thread."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    variables.pop("ODL_PARENT", None)
    return {**variables, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(PROGRAM.parent)])}


def mpiexec(n, *command):
    """Run a Python command on ranks; return the finished process."""
    start = [MPIEXEC, "-n", str(n), sys.executable, *map(str, command)]
    return subprocess.run(start, env=environment(), capture_output=True, text=True, timeout=300)


def on_ranks(n, *words):
    done = mpiexec(n, PROGRAM, *words)
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def few_cores(n):
    """Leave this process, and those that it starts meanwhile, so many cores."""
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, sorted(cores)[:n])
        yield
    finally:
        os.sched_setaffinity(0, cores)


@pytest.fixture
def folder(tmp_path):
    """A folder with the features of three timesteps of 14 documents; some of the last are empty."""
    chain_of(1, 3, 14, folder=tmp_path)
    return tmp_path


def alone(folder, learner):
    """Run the chain in one process, as `odl step update` does; return its folder."""
    run, before = runs.parse(run_of(learner)), None
    for t in range(3):
        path = folder / "alone" / f"{t}.h5"
        update.update(folder / f"f{t}.h5", path, path.with_suffix(".s"), run=run, before=runs.Before(before))
        before = path
    return folder / "alone"


def contents(folder):
    """Return name -> bytes of everything but the clocks."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".tsv"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def same(state, whole):
    """Hold the checkpoint of ranks to that of one process."""
    one, other = agentfiles.read_whole(state), checkpoints.read_checkpoint(whole)
    np.testing.assert_allclose(one.dictionary.toarray(), other.dictionary.toarray(), atol=1e-10)
    np.testing.assert_allclose(one.codes.toarray(), other.codes.toarray(), atol=1e-10)
    assert (one.t, one.updates, one.uncoded) == (other.t, other.updates, other.uncoded) and other.codes.nnz


@pytest.mark.parametrize("learner", [RING, HUBER, SIGNED, FULL, SPARSE])
def test_ranks_give_what_one_process_gives(learner, folder):
    """A chain by the code of the ranks, of which there is one, beside the chain of one process; each goes on alike."""
    whole, run, before, n_empty = alone(folder, learner), runs.parse(run_of(learner)), None, 0
    chain(Alone(), folder, "", {"ranks": learner})
    for t in range(3):
        state, source = folder / "ranks" / f"{t}.h5", folder / f"f{t}.h5"
        same(state, whole / f"{t}.h5")
        mpi.collect(source, state, state.with_suffix(".s"), run=run, previous=before)
        one, other = (read_scores(place / f"{t}.s").scores["toy"] for place in (state.parent, whole))
        np.testing.assert_allclose(one, other, atol=1e-10)
        np.testing.assert_allclose(agentfiles.read_network(state).score, one, atol=1e-12)
        empty = np.diff(features.read(source).counts[:].indptr) == 0
        assert (one[empty] == 1.0).all()
        before, n_empty = state, n_empty + np.count_nonzero(empty)
    assert n_empty
    last = folder / "on.h5"
    update.update(folder / "f2.h5", last, folder / "on.s", run=run, before=runs.Before(folder / "ranks" / "1.h5"))
    same(folder / "ranks" / "2.h5", last)
    assert checkpoints.read_checkpoint(last).previous == agentfiles.read_network(folder / "ranks" / "1.h5").digest
    mpi.work(Alone(), folder / "f2.h5", folder / "back.h5", folder / "back.tsv", run=run, previous=whole / "1.h5")
    same(folder / "back.h5", whole / "2.h5")


@needs_mpi
def test_results_do_not_depend_on_the_ranks(folder):
    """Byte for byte: 1 rank, 2, and 4 on one core for 6 agents; also where another number goes on with the chain."""
    learners = {"huber": HUBER, "sparse": SPARSE}
    chain(Alone(), folder, "1", learners)
    on_ranks(2, "chain", folder, "2", json.dumps(learners))
    for name in learners:
        shutil.copytree(folder / "2" / name / "0.agents", folder / "mixed" / name / "0.agents")
        shutil.copy2(folder / "2" / name / "0.h5", folder / "mixed" / name)
    with few_cores(1):
        on_ranks(4, "chain", folder, "mixed", json.dumps(learners))
    first = contents(folder / "1")
    assert len(first) == 3 * (1 + 6) + 3 * (1 + 9)
    assert contents(folder / "2") == first and contents(folder / "mixed") == first


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
@pytest.mark.parametrize("error", ["RuntimeError('a')", "DataError('a', 'b', 'c')"])
def test_an_error_of_one_rank_ends_those_that_wait(error):
    """One that nobody foresaw, also of a kind that is agreed upon elsewhere, while the others agree."""
    with few_cores(2):
        done = mpiexec(4, "-c", FAILS.format(error=error))
    assert done.returncode != 0 and f"{error.partition('(')[0]}: a" in done.stderr


def psi_of(share, x, step, iterations):
    """Return psi of all agents at each iteration, dense and in one place."""
    nu, sent = share.start(x), []
    for _ in range(iterations):
        sent.append(share.adapt(nu, x, step))
        nu = share.combine(sent[-1])
    return sent


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
        replayed += psi_of(share, x[row], step, 20)
        if learns:
            end = inference.diffuse(share, x[row], step=step, iterations=20, tolerance=0.0)
            blocks = zip(share.blocks, end.nu, end.codes, strict=True)
            W = np.concatenate([model.learn(*each, learner.mu_w) for each in blocks], 1)
    total = 0
    for rank in range(4):
        record = np.load(tmp_path / f"rank{rank}.npz")
        own = set(record["agents"].tolist())
        mine = np.isin(owner, [*own])
        secret = np.concatenate([A.toarray()[:, mine].ravel(), record["codes"].ravel()])
        secret = secret[(secret != 0) & (secret != 1)]
        turns = {dest: iter(replayed) for dest in ((rank - 1) % 4, (rank + 1) % 4)}
        for number, dest in enumerate(json.loads(str(record["meta"]))):
            message, wanted = record[f"told{number}"], next(turns[dest])
            assert message.dtype == float and not np.isin(message, secret).any()
            theirs = set(range(starts[dest], starts[dest + 1]))
            shown = [k for k in sorted(own) if theirs & {(k + 1) % n_agents, (k - 1) % n_agents}]
            np.testing.assert_allclose(messages.unpack(message, (len(shown), x.shape[1])), wanted[shown], atol=1e-10)
            assert len(message) == 1 + int(message[0]) * (1 + len(shown)), "more than was decoded"
            total += len(shown) * x.shape[1]
        assert all(next(turn, "none") == "none" for turn in turns.values())
        # Gathered: a number an agent in each look at the stopping rule, and its norm; nothing else.
        assert set(record["gathered"].tolist()) == {len(own)}
        for number in range(len(record["gathered"])):
            assert not np.isin(record[f"gathered{number}"], secret).any()
        assert record["sent"] == record["bytes"] + 3 * record["gathered"].sum() * 8
        np.testing.assert_allclose(record["learned"], W[:, mine], atol=1e-10)
    assert total > 10_000


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
    with pytest.raises(ParameterError, match=message):
        mpi.prepare(Asked(size), folder / "f0.h5", run=runs.parse(run_of(learner)))


def words(folder, t, learner=RING):
    """Return the arguments of ``odl step rank`` after the number of ranks."""
    state = folder / "job" / f"{t}.h5"
    options = ["--state", state, "--timings", state.with_suffix(".tsv"), "--run", json.dumps(run_of(learner))]
    return [folder / f"f{t}.h5", *options, *(["--previous", state.with_name(f"{t - 1}.h5")] if t else [])]


@needs_mpi
class TestCommand:
    def test_the_number_of_ranks_is_checked(self, folder):
        """As where a launcher starts one rank four times over."""
        done = mpiexec(2, "-m", "odl", "step", "rank", 4, *words(folder, 0))
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert "odl rank: 2 ranks where 4 were asked for; expected a launcher that starts 4" in done.stderr
        assert not (folder / "job").exists()

    def test_a_refusal_is_one_sentence_of_one_rank(self, folder):
        chain(Alone(), folder, "", {"job": RING})
        os.truncate(agentfiles.agent_path(folder / "job" / "0.h5", 5), 100)
        with few_cores(2):
            done = mpiexec(4, "-m", "odl", "step", "rank", 4, *words(folder, 1))
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert done.stderr.startswith("odl rank: ") and "5.h5 was changed" in done.stderr

    @pytest.mark.parametrize("killed", [True, False], ids=["a killed rank", "SIGTERM"])
    def test_a_signal_ends_the_launcher_and_all_ranks(self, killed, folder):
        """Kill -9 of one of four ranks on two cores in the middle of the exchange, or SIGTERM of the launcher."""
        import psutil

        start = [MPIEXEC, "-n", "4", sys.executable, "-m", "odl", "step", "rank", "4"]
        start += map(str, words(folder, 0, SLOW))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with few_cores(2):
            process = subprocess.Popen(start, env=environment(), **pipes)
        try:
            ranks = wait_for_ranks(psutil, process)
            below = psutil.Process(process.pid).children(recursive=True)  # a proxy, the ranks
            (ranks[1].kill if killed else process.terminate)()
            process.communicate(timeout=60)
        finally:
            process.kill()
        _, alive = psutil.wait_procs(below, timeout=10)
        for each in alive:
            each.kill()
        assert not alive and len(below) >= 5 and not (folder / "job" / "0.h5").exists()
        assert process.returncode != 0


def wait_for_ranks(psutil, process):
    """Return the processes of the four ranks, when all of them compute."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(process.pid).children(recursive=True)
            ranks = [each for each in children if each.cmdline()[:1] == [sys.executable] and "rank" in each.cmdline()]
            if len(ranks) == 4 and min(sum(each.cpu_times()[:2]) for each in ranks) > 2:
                return ranks
        time.sleep(0.1)
    raise AssertionError(process.communicate(timeout=5))


def test_shares_of_agents():
    assert messages.first_agents(6, 4).tolist() == [0, 1, 3, 4, 6]
    assert np.diff(messages.first_agents(10, 3)).tolist() == [3, 3, 4]
    with pytest.raises(ParameterError, match="2 ranks for 1 agents"):
        messages.first_agents(1, 2)
