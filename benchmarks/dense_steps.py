"""One update of the three online learners on dense matrices, as ICASSP 2013 prints them.

    python benchmarks/dense_steps.py --terms 19528 --documents 1000 --atoms 100 300 500 --repeats 3

The updates of the package are sparse. This times the printed updates (figures 1 b and 1 d) on
random matrices of the size in the paper: the time of dense products does not depend on their
values.
"""

import argparse

import numpy as np
from measure import cpu

GAMMA, ETA, BETA = 4.0, 11.0, 9.0  # constants of the updates; they do not change the time


def project(A):
    """Project all columns on {a >= 0, sum(a) <= 1}, by sorting."""
    A = np.maximum(A, 0.0)
    ordered = -np.sort(-A, axis=0)
    excess = np.cumsum(ordered, axis=0) - 1.0
    reached = (ordered > excess / np.arange(1, len(A) + 1)[:, None]).sum(axis=0)
    level = excess[np.maximum(reached, 1) - 1, np.arange(A.shape[1])] / np.maximum(reached, 1)
    return np.maximum(A - np.maximum(level, 0.0), 0.0)


def dual_averaging(P, X, A, total, dual):
    """Return the dictionary after the third update of dual averaging, equation (3).

    The gradient is added to `total` in place.
    """
    total += np.sign(X @ A.T - P).T @ X
    return project(-GAMMA / np.sqrt(3.0) * total)


def projected_gradient(P, X, A, total, dual):
    """Return the projection of A - eta G, with G a subgradient of |P - X A'|_1."""
    return project(A - ETA * np.sign(X @ A.T - P).T @ X)


def online_admm(P, X, A, total, dual):
    """Return the dictionary after one update of online ADMM, equation (4).

    Gamma is updated first, then the dictionary; the multipliers `dual` are changed in place.
    """
    gap = P - X @ A.T
    scaled = gap + dual / BETA
    gamma = np.sign(scaled) * np.maximum(np.abs(scaled) - 1.0 / BETA, 0.0)
    step = 1.0 / (2.0 * np.linalg.eigvalsh(X.T @ X)[-1])
    A = project(A + step * (scaled - gamma).T @ X)
    dual += BETA * (P - X @ A.T - gamma)
    return A


def main():
    """Print the CPU time of an update in ms: the minimum of some repeats after a warm-up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--terms", type=int, default=19528)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--atoms", type=int, nargs="+", default=[100, 300, 500])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    P = rng.random((options.documents, options.terms))
    P /= P.sum(axis=1, keepdims=True)
    print("atoms\tlearner\tCPU ms")
    for atoms in options.atoms:
        X, A = rng.random((options.documents, atoms)), project(rng.random((options.terms, atoms)))
        for step in (dual_averaging, projected_gradient, online_admm):
            total, dual = np.zeros((options.terms, atoms)), rng.random(P.shape)
            seconds = [cpu(step, P, X, A, total, dual)[0] for _ in range(options.repeats + 1)][1:]
            print(f"{atoms}\t{step.__name__}\t{1000 * min(seconds):.0f}", flush=True)


if __name__ == "__main__":
    main()
