"""The part `lars`: the l2 coder and scikit-learn's LARS path, on dictionaries of L2-BATCH."""

import warnings

import numpy as np
from inside import LAM, in_turn, spread
from material import SEED
from measure import Row, say, within

from odl import learners, novelty
from odl.coding import lars


def lars_rows(material):
    """Time the LARS coder on every batch except the first, in turn with scikit-learn's path.

    The latter gets some of the documents.
    """
    size, rows = material.size, []
    learner = learners.make("batch_l2", **({} if size.rounds is None else {"rounds": size.rounds}))
    P = [batch.weighed(**material.settings["features"], norm="l2")[:] for batch in material.batches]
    for atoms in size.atoms:
        say(f"lars: k = {atoms}")
        state = learner.start(P[0], atoms, novelty.generator(SEED, "start"))
        pairs = [(batch, learner.fit_terms(state, batch.shape[1]).dictionary) for batch in P[1:]]
        found = [lars.codes(batch, A, LAM) for batch, A in pairs]
        some = [(spread(batch, max(size.highs // 5, 1)), A) for batch, A in pairs]
        known = [lars.codes(batch, A, LAM) for batch, A in some]
        few, documents = sum(len(one.gap) for one in known), sum(len(one.gap) for one in found)
        calls = {
            "ours": (
                lambda pairs=pairs: [lars.codes(batch, A, LAM) for batch, A in pairs],
                documents,
                size.repeats,
            ),
            "path": (
                lambda some=some, known=known: by_path(some, known),
                few,
                min(3, size.repeats),
            ),
        }
        theirs = by_path(some, known)
        ms = in_turn(calls)
        apart = max(
            float(np.abs(excess(*pair, X, one)).max())
            for pair, X, one in zip(some, theirs, known, strict=True)
        )
        what = f"{material.name}, L2-BATCH, k = {atoms}"
        rows += [
            Row("lars", f"{what}: a document", ms["ours"], "CPU ms", within(50e-6)),
            Row("lars", f"{what}: a document, scikit-learn, lars_path_gram", ms["path"], "CPU ms"),
            Row("lars", f"{what}: scikit-learn over ours", ms["path"] / ms["ours"], "times",
                ">= 20"),
            Row("lars", f"{what}: objective differs from scikit-learn's by at most", apart,
                "objective", "<= 1e-9"),
            Row("lars", f"{what}: worst gap of {documents} documents",
                max(float(codes.gap.max()) for codes in found), "objective", "<= 1e-9"),
        ]  # fmt: skip
    return rows


def by_path(pairs, known):
    """Return the codes of scikit-learn's positive LARS path on Gram matrices.

    The path stops at mu = lam ||p - A x||_2 of our solution; otherwise it would continue to the end
    and then have to be searched for the optimum.
    """
    from sklearn.linear_model import lars_path_gram

    values = []
    for (batch, A), one in zip(pairs, known, strict=True):
        gram, products, X = (A.T @ A).toarray(), (batch @ A).toarray(), []
        for row in range(batch.shape[0]):
            stop = LAM * one.residual[row]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                path = lars_path_gram(
                    products[row], gram.copy(), n_samples=1, alpha_min=stop, method="lasso",
                    positive=True, return_path=False,
                )  # fmt: skip
            X.append(path[2])
        values.append(np.array(X))
    return values


def excess(P, A, X, found):
    """Return the objectives of codes minus those of the coder."""
    residual = np.linalg.norm(P.toarray() - X @ A.T, axis=1)
    return residual + LAM * X.sum(axis=1) - found.objective
