"""Seconds of one timestep of agents over MPI ranks beside those of one process, apart from start-up.

    python benchmarks/timestep_over_ranks.py --ranks 4 --agents 20 --documents 200 --repeats 5

A made stream of short documents; a timestep codes the batch and learns from it. One process (`odl step update`), one
rank and all ranks take turns, so that what else the machine does falls on each of them; ratios are of neighbours.
Ranks that are more than the cores hold no agents (`odl.distributed.crew`), unless `--all` says so. Started by mpiexec
with a folder, this file is a rank.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import child, tool
from scipy import sparse
from synthetic import COMMON, OWN, blocks

TOPICS = 10


def material(documents, agents, folder):
    """Write documents and the atoms before the timestep: documents of the same stream, of unit length."""
    _, _, starts, terms = next(blocks(documents + agents, TOPICS, 0))
    shape = (documents + agents, COMMON + OWN * TOPICS)
    counts = sparse.csr_array((np.ones(len(terms)), terms, starts), shape=shape)
    counts.sum_duplicates()
    counts = counts[:, np.unique(counts.indices)]
    norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    P = sparse.csr_array(sparse.diags_array(1.0 / norms) @ counts)
    P.sort_indices()
    sparse.save_npz(Path(folder) / "P.npz", P[agents:])
    sparse.save_npz(Path(folder) / "A.npz", sparse.csc_array(P[:agents].T))


def load(folder):
    """Return documents, atoms and the learner."""
    from odl import learners

    P, A = (sparse.load_npz(Path(folder) / f"{name}.npz") for name in "PA")
    settings = json.loads((Path(folder) / "settings.json").read_text())
    return sparse.csr_array(P), sparse.csc_array(A), learners.make("diffusion", **settings)


def one_process(folder):
    """Return what a timestep does in one process."""
    from odl.distributed import coding

    P, A, learner = load(folder)
    owner, network = learner.agents_of(A.shape[1])

    def step(P):
        found = coding.over_network(P, A, learner.model, owner, network, **learner.diffusion)
        coding.learn_over_network(P, A, learner.model, learner.mu_w, owner, network, **learner.diffusion)
        return int(found.iterations.sum())

    return P, step, lambda: None


def one_of_ranks(folder, comm):
    """Return what a rank does in a timestep."""
    from odl.distributed import messages, span_ranks

    P, A, learner = load(folder)
    owner, network = learner.agents_of(A.shape[1])
    among = messages.Ranks(comm, network)
    own = np.isin(owner, among.agents)

    def step(P):
        agents = span_ranks.agents_of(among, learner.model, owner, A[:, own], **learner.diffusion)
        found = agents.infer(P)
        agents.learn(P, learner.mu_w)
        return int(found.iterations.sum())

    return P, step, lambda: among.add_up([0.0])


def begin(folder, kind):
    """Measure on this process, or on the ranks that hold agents, or on all ranks."""
    from odl.distributed import crew, messages

    if kind == "ranks":
        return crew.take_part(None, lambda comm: measure(folder, kind, comm))
    return measure(folder, kind, crew.world() if kind == "all" else messages.Alone())


def measure(folder, kind, comm):
    """Time one timestep after a first document has loaded the kernels; the first rank writes what it took."""
    P, step, together = one_process(folder) if kind == "process" else one_of_ranks(folder, comm)
    step(P[:1])
    together()
    began, used = time.monotonic(), time.process_time()
    rounds = step(P)
    used = time.process_time() - used
    together()
    cost = {"wall": time.monotonic() - began, "cpu": used, "rounds": rounds}
    if comm.Get_rank() == 0:
        (Path(folder) / "cost.json").write_text(json.dumps(cost))


def main():
    """Print one line a repeat, then medians with their range."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("ranks", 4), ("agents", 20), ("documents", 200), ("iterations", 200), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--all", action="store_true", help="all ranks hold agents, whatever the cores")
    args = parser.parse_args()
    settings = {"network": "ring", "degree": 4, "iterations": args.iterations}
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        material(args.documents, args.agents, folder)
        (Path(folder) / "settings.json").write_text(json.dumps(settings))
        starts = {kind: [sys.executable, __file__, "--rank", folder, kind] for kind in ("process", "alone", "ranks")}
        starts["ranks"][-1] = "all" if args.all else "ranks"
        starts["ranks"] = [tool("mpiexec"), "-n", str(args.ranks), *starts["ranks"]]
        for _ in range(args.repeats):
            found = {}
            for kind, command in starts.items():
                child(command)
                found[kind] = json.loads((Path(folder) / "cost.json").read_text())
            wall = {kind: cost["wall"] for kind, cost in found.items()}
            ratios.append((wall["ranks"] / wall["process"], wall["ranks"] / wall["alone"]))
            print(
                f"one process {wall['process']:.2f} s, one rank {wall['alone']:.2f} s, {args.ranks} ranks "
                f"{wall['ranks']:.2f} s: {ratios[-1][0]:.2f} times one process, {ratios[-1][1]:.2f} times one rank; "
                f"{found['ranks']['rounds']} iterations, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    for values, what in zip(zip(*ratios, strict=True), ("one process", "one rank"), strict=True):
        print(f"times {what}: median {statistics.median(values):.2f}, {min(values):.2f} to {max(values):.2f}")


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    begin(*sys.argv[2:]) if sys.argv[1:2] == ["--rank"] else main()
