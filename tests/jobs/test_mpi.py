"""The diffusion learner over MPI ranks: the same numbers, nothing but dual variables sent, and safe ends."""

import contextlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from functools import partial

import numpy as np
import psutil
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
RING = {
    "algorithm": "diffusion",
    "network": "ring",
    "degree": 2,
    "agents": 6,
    "rounds": 1,
    "iterations": 40,
}
HUBER = {**RING, "task": "nmf_huber", "gamma": 0.4, "delta": 0.4, "mu_w": 0.1, "seen_by": 2}
SIGNED = {**RING, "task": "biclustering", "beta": 0.01, "network": "grid", "seen_by": 0.5}
SPARSE = {**SIGNED, "agents": 0, "gamma": 0.02}  # one atom for each agent
FULL = {**RING, "network": "fully_connected", "solver": "diffusion", "relative": False}
SLOW = {**SPARSE, "iterations": 200_000, "mu": 1e-4, "tolerance": 1e-14}


def started(n, *command, cores=2):
    """Start a Python command on ranks, with so many cores at most for all of them."""
    path = os.pathsep.join([str(ROOT / "src"), str(PROGRAM.parent)])
    variables = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": path,
    }
    variables.pop("ODL_PARENT", None)
    fewer = partial(os.sched_setaffinity, 0, sorted(os.sched_getaffinity(0))[:cores])
    options = {"env": variables, "preexec_fn": fewer, "text": True}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [MPIEXEC, "-n", str(n), sys.executable, *map(str, command)], **options, **pipes
    )


def ended(process):
    """Return the exit status of ranks, and what they complained of."""
    return process.communicate(timeout=300)[1], process.returncode


@pytest.fixture
def folder(tmp_path):
    """A folder with the features of three timesteps of 14 documents; some of the last are empty."""
    chain_of(1, 3, 14, folder=tmp_path)
    return tmp_path


def same(state, whole):
    """Hold the checkpoint of ranks to that of one process."""
    one, other = agentfiles.read_whole(state), checkpoints.read_checkpoint(whole)
    np.testing.assert_allclose(one.dictionary.toarray(), other.dictionary.toarray(), atol=1e-10)
    np.testing.assert_allclose(one.codes.toarray(), other.codes.toarray(), atol=1e-10)
    assert (one.t, one.updates, one.uncoded) == (
        other.t,
        other.updates,
        other.uncoded,
    ) and other.codes.nnz


@pytest.mark.parametrize(
    "learner",
    [RING, *(pytest.param(one, marks=pytest.mark.slow) for one in (HUBER, SIGNED, FULL, SPARSE))],
)
def test_ranks_give_what_one_process_gives(learner, folder):
    """A chain by the code of the ranks, of which there is one, beside the chain of one process; each goes on alike."""
    run, ranks, whole, n_empty = runs.parse(run_of(learner)), folder / "ranks", folder / "alone", 0
    chain(Alone(), folder, "", {"ranks": learner})
    for t in range(3):
        source, before = (
            folder / f"f{t}.h5",
            [place / f"{t - 1}.h5" if t else None for place in (ranks, whole)],
        )
        update.update(
            source, whole / f"{t}.h5", whole / f"{t}.s", run=run, before=runs.Before(before[1])
        )
        same(ranks / f"{t}.h5", whole / f"{t}.h5")
        mpi.collect(source, ranks / f"{t}.h5", ranks / f"{t}.s", run=run, previous=before[0])
        one, other = (read_scores(place / f"{t}.s").scores["toy"] for place in (ranks, whole))
        np.testing.assert_allclose(one, other, atol=1e-10)
        np.testing.assert_allclose(
            agentfiles.read_network(ranks / f"{t}.h5").score, one, atol=1e-12
        )
        empty = np.diff(features.read(source).counts[:].indptr) == 0
        assert (one[empty] == 1.0).all()
        n_empty += np.count_nonzero(empty)
    assert n_empty
    update.update(
        source, folder / "on.h5", folder / "on.s", run=run, before=runs.Before(ranks / "1.h5")
    )
    same(ranks / "2.h5", folder / "on.h5")
    assert (
        checkpoints.read_checkpoint(folder / "on.h5").previous
        == agentfiles.read_network(ranks / "1.h5").digest
    )
    mpi.work(
        Alone(), source, folder / "back.h5", folder / "back.tsv", run=run, previous=whole / "1.h5"
    )
    same(folder / "back.h5", whole / "2.h5")


@pytest.mark.slow
@needs_mpi
def test_results_do_not_depend_on_the_ranks(folder):
    """Byte for byte: 1 rank, 2, and 4 on one core for 6 agents; also where another number goes on with the chain."""
    learners = {"huber": HUBER, "sparse": SPARSE}
    chain(Alone(), folder, "1", learners)
    assert ended(started(2, PROGRAM, "chain", folder, "2", json.dumps(learners))) == ("", 0)

    def later(path, names):
        return [name for name in names if name[0] in "12" and not path.endswith(".agents")]

    shutil.copytree(folder / "2", folder / "mixed", ignore=later)
    assert ended(started(4, PROGRAM, "chain", folder, "mixed", json.dumps(learners), cores=1)) == (
        "",
        0,
    )
    first, *others = (
        {
            path.relative_to(folder / name): path.read_bytes()
            for path in (folder / name).rglob("*.h5")
        }
        for name in ("1", "2", "mixed")
    )
    assert len(first) == 3 * (1 + 6) + 3 * (1 + 9) and others == [first, first]


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


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("error", ["RuntimeError('a')", "DataError('a', 'b', 'c')"])
def test_an_error_of_one_rank_ends_those_that_wait(error):
    """One that nobody foresaw, also of a kind that is agreed upon elsewhere, while the others agree."""
    said, status = ended(started(4, "-c", FAILS.format(error=error)))
    assert status != 0 and f"{error.partition('(')[0]}: a" in said


def replayed(learner, P, A):
    """Yield psi of all agents at each of 20 iterations, dense and in one place; learn from the second pass on."""
    model, W, (owner, net) = learner.model, A.toarray(), learner.agents_of(A.shape[1])
    step = coding.safe_step(model, owner, net)
    for row, learns in ((0, False), (1, False), (0, True), (1, True)):
        share = inference.share_all(
            model, net, [W[:, owner == agent] for agent in range(net.n_agents)]
        )
        nu = share.start(P[row])
        for _ in range(20):
            yield (psi := share.adapt(nu, P[row], step))
            nu = share.combine(psi)
        if learns:
            end = share.finish(nu, P[row], 20)
            learned = zip(share.blocks, nu, end.codes, strict=True)
            W = np.concatenate([model.learn(*each, learner.mu_w) for each in learned], 1)
    yield W


@pytest.mark.slow
@needs_mpi
def test_only_dual_variables_leave_a_rank(tmp_path, rng):
    """Everything sent is decoded: agents' psi, for a rank that has their neighbour, or a count; nothing else."""
    settings = {**RING, "gamma": 0.05, "delta": 0.3, "iterations": 20, "tolerance": 1e-9}
    learner, (_, P, A), total = make(**settings), material("nmf", rng, n_documents=2), 0
    (tmp_path / "batch").write_bytes(pickle.dumps((P, A)))
    assert ended(started(4, PROGRAM, "record", tmp_path, json.dumps(settings))) == ("", 0)
    *psi, W = replayed(learner, P.toarray(), A)
    owner, starts, n_terms = learner.agents_of(9)[0], messages.first_agents(6, 4), P.shape[1]
    for rank in range(4):
        record = pickle.loads((tmp_path / f"rank{rank}").read_bytes())
        own, mine = record["agents"], np.isin(owner, record["agents"])
        secret = np.concatenate([A.toarray()[:, mine].ravel(), record["codes"].ravel()])
        secret = secret[(secret != 0) & (secret != 1)]
        turns = {dest: iter(psi) for dest in ((rank - 1) % 4, (rank + 1) % 4)}
        for dest, message in record["told"]:
            assert message.dtype == float and not np.isin(message, secret).any()
            theirs = set(range(starts[dest], starts[dest + 1]))
            shown = [k for k in own if theirs & {(k + 1) % 6, (k - 1) % 6}]
            decoded = messages.unpack(message, (len(shown), n_terms))
            np.testing.assert_allclose(decoded, next(turns[dest])[shown], atol=1e-10)
            assert len(message) == 1 + int(message[0]) * (1 + len(shown)), "more than was decoded"
            total += len(shown) * n_terms
        assert all(next(turn, "none") == "none" for turn in turns.values())
        # Gathered: a number an agent in each look at the stopping rule, and its norm; nothing else.
        for numbers in record["gathered"]:
            assert numbers.size == len(own) and not np.isin(numbers, secret).any()
        told = sum(message.nbytes for _, message in record["told"])
        assert record["sent"] == told + 3 * 8 * len(own) * len(record["gathered"])
        np.testing.assert_allclose(record["learned"], W[:, mine], atol=1e-10)
    assert total > 10_000


@pytest.mark.parametrize(
    ("learner", "size", "message"),
    [
        (RING, 7, "7 ranks for 6 agents"),
        ({"algorithm": "diffusion"}, 1, "no rank needs all atoms"),
        ({**RING, "solver": "centralised"}, 1, "set solver: diffusion"),
        ({"algorithm": "projected_gradient"}, 1, "'projected_gradient' over ranks"),
    ],
)
def test_what_cannot_go_over_ranks_is_refused(learner, size, message, folder):
    with pytest.raises(ParameterError, match=message):
        mpi.prepare(Alone(size), folder / "f0.h5", run=runs.parse(run_of(learner)))


def step(folder, t, learner=RING):
    """Return the words of a command that works on one timestep over four ranks."""
    state = folder / "job" / f"{t}.h5"
    options = [
        "--state",
        state,
        "--timings",
        state.with_suffix(".tsv"),
        "--run",
        json.dumps(run_of(learner)),
    ]
    options += ["--previous", state.with_name(f"{t - 1}.h5")] if t else []
    return ["-m", "odl", "step", "rank", 4, folder / f"f{t}.h5", *options]


@needs_mpi
class TestCommand:
    @pytest.mark.slow
    def test_the_number_of_ranks_is_checked(self, folder):
        """As where a launcher starts one rank four times over."""
        said, status = ended(started(2, *step(folder, 0)))
        assert status == 1 and "Traceback" not in said and not (folder / "job").exists()
        assert "odl rank: the launcher started 2 ranks; expected 4 ranks" in said

    @pytest.mark.slow
    def test_a_refusal_is_one_sentence_of_one_rank(self, folder):
        chain(Alone(), folder, "", {"job": RING})
        os.truncate(agentfiles.agent_path(folder / "job" / "0.h5", 5), 100)
        said, status = ended(started(4, *step(folder, 1)))
        assert status == 1 and said.count("\n") == 1
        assert said.startswith("odl rank: ") and "5.h5 was changed" in said

    @pytest.mark.slow
    @pytest.mark.parametrize("killed", [True, False], ids=["a killed rank", "SIGTERM"])
    def test_a_signal_ends_the_launcher_and_all_ranks(self, killed, folder):
        """Kill -9 of one of four ranks on two cores in the middle of the exchange, or SIGTERM of the launcher."""
        process, ranks = started(4, *step(folder, 0, SLOW)), []
        while process.poll() is None and len(ranks) < 4:
            time.sleep(0.1)
            below = psutil.Process(process.pid).children(recursive=True)  # a proxy, the ranks
            with contextlib.suppress(psutil.NoSuchProcess):
                ranks = [each for each in below if sum(each.cpu_times()[:2]) > 2]
        (ranks[1].kill if killed else process.terminate)()
        try:
            _, status = ended(process)
        finally:
            _, alive = psutil.wait_procs(below, timeout=10)
            for each in alive:
                each.kill()
        assert (
            status != 0 and not alive and len(below) >= 5 and not (folder / "job" / "0.h5").exists()
        )
