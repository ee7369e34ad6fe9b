"""The work of hierarchy.py by spams-bin (GPL), in its own environment: `spams_peer.py IN OUT`.

IN is an npz file with the inputs, OUT an npz file for results and CPU seconds of each call.
"""

import os
import sys
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import spams  # noqa: E402
from scipy import sparse  # noqa: E402


def tree_of(parents):
    """Return the groups of a tree for spams: nodes in preorder, one atom each."""
    groups = sparse.lil_matrix((len(parents), len(parents)), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            groups[node, parent] = True
    count = len(parents)
    return {
        "eta_g": np.ones(count),
        "groups": groups.tocsc(),
        "own_variables": np.arange(count, dtype=np.int32),
        "N_own_variables": np.ones(count, dtype=np.int32),
    }


def timed(function, repeats):
    """Return (median CPU seconds, result)."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        result = function()
        times.append(time.process_time() - began)
    return float(np.median(times)), result


def main(source, target):
    given = np.load(source)
    found, repeats = {}, int(given["repeats"])
    if "U" in given:
        U, tree = np.asfortranarray(given["U"].T), tree_of(given["prox_parents"])
        for norm in ("l2", "linf"):
            options = {
                "numThreads": 1,
                "lambda1": float(given["prox_lam"]),
                "regul": f"tree-{norm}",
            }
            seconds, V = timed(
                lambda options=options: spams.proximalTree(U, tree, False, **options), repeats
            )
            found[f"prox_{norm}"], found[f"prox_{norm}_s"] = V.T, seconds
    P, D = np.asfortranarray(given["P"].T), np.asfortranarray(given["D"])
    tree, start = tree_of(given["parents"]), np.zeros((D.shape[1], P.shape[1]), order="F")
    for norm in ("l2", "linf"):
        for most in given["iterations"]:
            options = {
                "numThreads": 1,
                "lambda1": float(given["lam"]),
                "regul": f"tree-{norm}",
                "loss": "square",
            }
            options |= {
                "pos": True,
                "compute_gram": True,
                "max_it": int(most),
                "tol": 0.0,
                "L0": 0.1,
            }
            seconds, X = timed(
                lambda options=options: spams.fistaTree(P, D, start, tree, False, **options), 1
            )
            found[f"codes_{norm}_{most}"], found[f"codes_{norm}_{most}_s"] = X.T, seconds
    np.savez(target, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
