"""Documents and dictionaries for networks of agents, and the mark of tests that start MPI ranks."""

import os
import shutil
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from odl.distributed import models, networks

MPIEXEC = shutil.which(
    "mpiexec", path=os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
)
try:
    import mpi4py
except ImportError:
    mpi4py = None
needs_mpi = pytest.mark.skipif(
    not (MPIEXEC and mpi4py), reason="mpi4py or mpiexec is missing: pip install '.[test]'"
)

OPTIONS = {"gamma": 0.05, "delta": 0.3, "eta": 0.2}


def material(name, rng, n_terms=60, n_atoms=9, n_documents=6):
    """Sparse documents of non-negative weights that sparse atoms explain in part; some rows heavy enough to clip."""
    model = models.task(name, **OPTIONS)
    W = np.abs(rng.normal(size=(n_terms, n_atoms))) * (rng.random((n_terms, n_atoms)) < 0.3) * 3.0
    if name in ("sparse_svd", "biclustering"):
        W *= rng.choice([-1.0, 1.0], size=W.shape)
    A = model.project(W)
    X = np.abs(A @ (2.0 * rng.random((n_atoms, n_documents)))) * (
        rng.random((n_terms, n_documents)) < 0.5
    )
    return model, sparse.csr_array(X.T), sparse.csc_array(A)


def text(rng, n=60, m=50, topics=6, own=12, length=15):
    """Documents of so many words and unit l2 norm, from overlapping topics of `own` words each."""
    words = [rng.choice(m, own, replace=False) for _ in range(topics)]
    counts = np.zeros((n, m))
    for row in range(n):
        np.add.at(counts[row], rng.choice(words[row % topics], length), 1.0)
    return sparse.csr_array(counts / np.linalg.norm(counts, axis=1, keepdims=True))


N_TERMS = 15


def problem(
    name, rng, sizes=(1, 2, 1, 3, 1, 1), seed=2, seen_by=1.0, graph="erdos_renyi", gamma=0.1
):
    """A model, a document that its atoms explain in part, atoms of unequal agents and a network."""
    model = models.task(name, gamma=gamma, delta=0.5, eta=0.3)
    blocks = [model.project(rng.normal(size=(N_TERMS, size)) + 0.3) for size in sizes]
    x = np.concatenate(blocks, axis=1) @ np.abs(rng.normal(size=sum(sizes))) + 0.2 * rng.normal(
        size=N_TERMS
    )
    made = networks.network(graph, len(sizes), probability=0.5, seed=seed, seen_by=seen_by)
    return model, x / np.linalg.norm(x), blocks, made


def optimum(model, x, W):
    """Maximise the dual of the whole dictionary by L-BFGS-B on the box."""
    bounds = [(-1.0, 1.0) if hasattr(model.residual, "eta") else (None, None)] * len(x)

    def minus(nu):
        return -float(model.dual(x, W, nu)), model.gradient(x, W, nu, 1, 1.0)

    options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000}
    return minimize(
        minus, np.zeros(len(x)), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x
