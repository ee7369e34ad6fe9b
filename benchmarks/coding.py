"""Compare the exact coder with other solvers of the same problem: one table, one thread.

    python benchmarks/coding.py [--documents 1000] [--skip highspy ...]

Every solver gets the same documents and dictionary; slow ones get fewer of the documents. Times are
CPU time of this process (all its threads), including checks and conversions.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from scipy.optimize import linprog  # noqa: E402

from odl.coding import exact  # noqa: E402
from odl.coding.admm import objectives, psi_max, soft  # noqa: E402


def stream(documents=1000, terms=19_500, topics=100, tokens=300, seed=0):
    """Return documents in rows (unit l1 norm, tf-idf, about 125 terms each) and the topic of each.

    Half of the tokens follow one Zipf law for all, half the law of the document's topic (its own
    400 words).
    """
    rng = np.random.default_rng(seed)
    zipf = 1.0 / np.arange(1, terms + 1)
    zipf, local = zipf / zipf.sum(), 1.0 / np.arange(1, 401) / (1.0 / np.arange(1, 401)).sum()
    words = np.array([rng.choice(terms, 400, replace=False) for _ in range(topics)])
    topic = rng.integers(topics, size=documents)
    shared = rng.choice(terms, (documents, tokens // 2), p=zipf)
    own = np.array([words[t][rng.choice(400, tokens // 2, p=local)] for t in topic])
    columns = np.hstack([shared, own]).ravel()
    rows = np.repeat(np.arange(documents), columns.size // documents)
    P = sparse.csr_array((np.ones(columns.size), (rows, columns)), shape=(documents, terms))
    frequency = np.bincount(P.indices, minlength=terms)
    P = sparse.csr_array(P @ sparse.diags_array(np.log((1 + documents) / (1 + frequency)) + 1))
    return sparse.csr_array(sparse.diags_array(1.0 / P.sum(axis=1)) @ P), topic


def dictionary(P, topic, atoms, words, seed=1):
    """Return a sparse dictionary, shape (terms, atoms).

    Each atom has the `words` heaviest words of the mean of four documents of one topic, scaled to
    mass 1.
    """
    rng = np.random.default_rng(seed)
    A = np.zeros((P.shape[1], atoms))
    for j in range(atoms):
        rows = rng.choice(np.flatnonzero(topic == topic[rng.integers(len(topic))]), 4)
        mean = np.asarray(P[rows].mean(axis=0))
        heaviest = np.argsort(-mean, kind="stable")[:words]
        A[heaviest, j] = mean[heaviest] / mean[heaviest].sum()
    return sparse.csc_array(A)


def reduced(P, A, lam):
    """Yield the screened problem (p, A_S, d, c + lam, atoms) of each document.

    All exact solvers get it.
    """
    A = sparse.csr_array(A)
    mass, inside = np.asarray(A.sum(axis=0)), (P > 0).astype(float) @ A
    for row in range(P.shape[0]):
        part = slice(P.indptr[row], P.indptr[row + 1])
        g = inside[[row]].toarray().ravel()
        atoms = np.flatnonzero(2.0 * g > mass + lam)
        weights = sparse.csc_array(A[P.indices[part]][:, atoms])
        touched = np.unique(weights.indices)
        yield (
            P.data[part][touched],
            weights[touched],
            (mass - g + lam)[atoms],
            (mass + lam)[atoms],
            atoms,
        )


def dual_model(p, weights, bound):
    """Return the restricted dual of one document as a HiGHS model.

    max p^T y  subject to  A_S^T y <= c + lam,  0 <= y <= 2.
    """
    import highspy

    model, columns = highspy.HighsLp(), sparse.csc_array(weights.T)
    model.num_col_, model.num_row_ = len(p), len(bound)
    model.col_cost_, model.col_lower_, model.col_upper_ = -p, np.zeros(len(p)), np.full(len(p), 2.0)
    model.row_lower_, model.row_upper_ = np.full(len(bound), -highspy.kHighsInf), bound
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
    model.a_matrix_.value_ = columns.data
    return model


def by_highspy(P, A, lam):
    """Return codes from the restricted dual, one model for each document, in one solver object."""
    import highspy

    solver = highspy.Highs()
    for name, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
        solver.setOptionValue(name, value)
    X = sparse.lil_array((P.shape[0], A.shape[1]))
    for row, (p, weights, _, bound, atoms) in enumerate(reduced(P, A, lam)):
        if not len(atoms):
            continue
        solver.passModel(dual_model(p, weights, bound))
        solver.run()
        X[row, atoms] = np.maximum(-np.asarray(solver.getSolution().row_dual), 0.0)
    return sparse.csr_array(X)


def by_linprog(P, A, lam):
    """Return codes from scipy's linprog on the terms of the document.

    The constraints are A x + u - v = p, and all variables are >= 0.
    """
    X = sparse.lil_array((P.shape[0], A.shape[1]))
    A = sparse.csr_array(A)
    mass = np.asarray(A.sum(axis=0))
    for row in range(P.shape[0]):
        part = slice(P.indptr[row], P.indptr[row + 1])
        weights, p = A[P.indices[part]], P.data[part]
        unit = sparse.eye_array(len(p))
        cost = np.concatenate([mass - np.asarray(weights.sum(axis=0)) + lam, np.ones(2 * len(p))])
        equal = sparse.hstack([weights, unit, -unit], format="csc")
        X[row, :] = linprog(cost, A_eq=equal, b_eq=p, bounds=(0, None), method="highs").x[
            : A.shape[1]
        ]
    return sparse.csr_array(X)


def by_dense_admm(P, A, lam, iterations=100, phi=5.0, gamma=1.89):
    """Return codes from the papers' ADMM on dense arrays with all terms (papers' orientation)."""
    kappa = 1.0 / psi_max(A)
    P, A = P.toarray().T.copy(), A.toarray()
    X, rho, fitted = np.zeros((A.shape[1], P.shape[1])), np.zeros_like(P), np.zeros_like(P)
    for _ in range(iterations):
        target = P + rho / phi
        E = soft(target - fitted, 1.0 / phi)
        X = np.maximum(X - kappa * (A.T @ (fitted + E - target)) - lam * kappa / phi, 0.0)
        fitted = A @ X
        rho += gamma * phi * (P - fitted - E)
    return sparse.csr_array(X.T)


SOLVERS = {
    "exact coder (this package)": (lambda P, A, lam: exact.codes(P, A, lam)[0], None, 5),
    "highspy, restricted dual": (by_highspy, 200, 1),
    "scipy linprog, terms of the document": (by_linprog, 20, 1),
    "dense ADMM, 100 iterations": (by_dense_admm, 4, 1),
}


def compare(P, A, lam=0.1, skip=()):
    """Time every solver on the documents P (CSR) and one dictionary A.

    Returns
    -------
    list of dict
        `solver`; `documents`, their number; `ms`, CPU milliseconds per document; `ratio` to the
        exact coder; `excess`, the largest objective minus that of the exact coder, relative to the
        norm of the document; and for the exact coder `gap`, its largest certified distance from the
        optimum (absolute, over all documents).
    """
    P, A = sparse.csr_array(P), sparse.csc_array(A)
    exact.codes(P[:2], A, lam)
    _, best, gap = exact.codes(P, A, lam, return_gap=True)
    rows = []
    for name, (solve, limit, repeats) in SOLVERS.items():
        if any(word in name for word in skip):
            continue
        few = P[: limit or P.shape[0]]
        if "highspy" in name:
            solve(few[:2], A, lam)
        times = []
        for _ in range(repeats):
            began = time.process_time()
            X = solve(few, A, lam)
            times.append(time.process_time() - began)
        excess = objectives(few, A, lam, X) - best[: few.shape[0]]
        ms = 1000.0 * min(times) / few.shape[0]
        rows.append(
            {
                "solver": name,
                "documents": few.shape[0],
                "ms": ms,
                "ratio": ms / rows[0]["ms"] if rows else 1.0,
            }
        )
        rows[-1]["excess"] = float((excess / np.maximum(np.asarray(few.sum(axis=1)), 1e-300)).max())
    rows[0]["gap"] = float(gap.max())
    return rows


def table(rows, title):
    """Format the rows of `compare` as a table."""
    lines = [
        title,
        f"{'solver':38}{'documents':>10}{'CPU ms/document':>17}{'ratio':>11}{'worst excess':>14}",
    ]
    for row in rows:
        lines.append(
            f"{row['solver']:38}{row['documents']:>10}{row['ms']:>17.4f}{row['ratio']:>11,.0f}"
            f"{row['excess']:>14.1e}"
        )
    return "\n".join([*lines, f"worst certified gap of the exact coder: {rows[0]['gap']:.1e}"])


def main():
    """Print one table for each made dictionary."""
    parser = argparse.ArgumentParser(
        description="The exact coder against other solvers of the same problem."
    )
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument(
        "--skip", nargs="*", default=[], help="omit solvers whose names contain one of these words"
    )
    options = parser.parse_args()
    P, topic = stream(options.documents)
    for atoms, words in ((200, 7), (200, 40), (500, 7), (500, 40)):
        A = dictionary(P, topic, atoms, words)
        print(
            table(
                compare(P, A, skip=options.skip),
                f"\nmade stream, {atoms} atoms of up to {words} words, lam 0.1",
            )
        )


if __name__ == "__main__":
    main()
