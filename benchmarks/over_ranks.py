"""The part `ranks`: time and bytes of diffusion over MPI with 1, 2 and 4 ranks.

All numbers of ranks have the same documents and atoms.
mpiexec runs ``over_ranks.py FOLDER`` for each rank; run.py imports `rows_of_ranks`.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Row, child, cpu, say, tool
from scipy import sparse

RANKS = (1, 2, 4)
SETTINGS = {"network": "ring", "degree": 4, "iterations": 50, "tolerance": 1e-3}
SEED, DOCUMENTS = 0, 10


def rows_of_ranks(material):
    """Time the diffusion of a few documents of the second batch over ranks."""
    from odl import learners, novelty
    from odl.distributed import coding

    size = material.size
    k = size.atoms[0]
    learner = learners.make("diffusion", **SETTINGS)
    first, P = (batch.weighed(tf="log", norm="l2")[:] for batch in material.batches[:2])
    centre = learners.make("diffusion")
    state = centre.fit_terms(centre.start(first, k, novelty.generator(SEED, "start")), P.shape[1])
    P, A = P[: min(size.highs, DOCUMENTS)], state.dictionary
    owner, network = learner.agents_of(k)
    coding.over_network(P[:1], A, learner.model, owner, network, iterations=10)  # not counted
    alone, found = cpu(
        lambda: coding.over_network(P, A, learner.model, owner, network, **learner.diffusion),
    )
    rounds = int(found.iterations.sum())
    what = f"{material.name}, {k} agents, ring of degree {SETTINGS['degree']}"
    rows = [
        Row(
            "ranks",
            f"{what}, one process (span): an iteration of all agents",
            1e6 * alone / rounds,
            "CPU us",
        )
    ]
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        sparse.save_npz(place / "P.npz", P)
        sparse.save_npz(place / "A.npz", A)
        for n in (n for n in RANKS if n <= k):
            say(f"ranks: {n}")
            child([tool("mpiexec"), "-n", str(n), sys.executable, __file__, place])
            cost = json.loads((place / "cost.json").read_text())
            off = float(np.abs(np.load(place / "score.npy") - found.score).max())
            where = f"{what}, {n} rank{'s' * (n > 1)}"
            wall, used = 1e6 * cost["wall"] / rounds, 1e6 * cost["cpu"] / rounds
            rows += [
                Row("ranks", f"{where}: an iteration of all agents, on the clock", wall, "us"),
                Row("ranks", f"{where}: the same, all ranks", used, "CPU us"),
                Row(
                    "ranks",
                    f"{where}: learning a document, on the clock",
                    1e3 * cost["learn"] / P.shape[0],
                    "ms",
                ),
                Row(
                    "ranks", f"{where}: sent for a document", cost["sent"] / P.shape[0] / 1e6, "MB"
                ),
                Row("ranks", f"{where}: largest difference to one process", off, "", "<= 1e-10"),
            ]
    return rows


def rank(folder, comm):
    """Run one rank; the first one writes the costs."""
    from odl import learners
    from odl.distributed import messages

    learner = learners.make("diffusion", **SETTINGS)
    P, A = (sparse.load_npz(Path(folder) / f"{name}.npz") for name in "PA")
    P, A = sparse.csr_array(P), sparse.csc_array(A)
    owner, network = learner.agents_of(A.shape[1])
    among = messages.Ranks(comm, network)
    own = np.isin(owner, among.agents)
    cost, score = measure(
        P,
        messages.Agents(among, learner.model, owner, A[:, own], **learner.diffusion),
        learner.mu_w,
    )
    if comm.Get_rank() == 0:
        np.save(Path(folder) / "score.npy", score)
        (Path(folder) / "cost.json").write_text(json.dumps(cost))


def measure(P, agents, step):
    """Return (costs of inference and learning of documents, their scores).

    CPU seconds and bytes are summed over ranks.
    """
    among = agents.ranks
    among.comm.Barrier()
    among.sent = 0
    began, used = time.monotonic(), time.process_time()
    found = agents.infer(P)
    wall, used, sent = time.monotonic() - began, time.process_time() - used, among.sent
    score = -among.gather(found.costs).T.sum(axis=1)
    began = time.monotonic()
    agents.learn(P, step)
    learn = time.monotonic() - began
    total = among.add_up([used, sent])
    return {"wall": wall, "learn": learn, "cpu": float(total[0]), "sent": float(total[1])}, score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", help="with P.npz and A.npz; score.npy and cost.json are written there"
    )
    # Before MPI starts, so that a wrong argument ends with the usual message
    folder = parser.parse_args().folder
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    from odl.distributed import messages

    sys.exit(messages.take_part(None, lambda comm: rank(folder, comm)))
