"""
Exact codes with a certificate, beside scikit-learn
===================================================

:func:`odl.sparse_code` finds the minimum of ``||p - A x||_1 + lam ||x||_1`` over ``x >= 0`` and
returns with it a bound on how far the objective can be from the optimum. scikit-learn's `Lasso` has
the squared loss, another objective: it is not worse, but it answers another question. Mass on words
that do not belong shows the difference: it pulls the codes of the squared loss, and leaves those of
the l1 loss where they are.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import Lasso

import odl

# %% Documents mix two of eight atoms. Then a fifth of each document's mass is moved to one word
# drawn at random.

rng = np.random.default_rng(0)
A = rng.dirichlet(np.full(60, 0.2), 8).T
X_true = np.zeros((200, 8))
for row in X_true:
    row[rng.choice(8, 2, replace=False)] = rng.dirichlet([2, 2])
P = 0.8 * X_true @ A.T
P[np.arange(200), rng.integers(60, size=200)] += 0.2

# %% Both coders, each with its own penalty. Lasso divides the squared loss by twice the number of
# words.

lam = 0.05
X, objective, gap = odl.sparse_code(P, A, lam=lam, return_gap=True)
X = X.toarray()
lasso = Lasso(alpha=1e-3 / len(A), positive=True, fit_intercept=False, tol=1e-10, max_iter=100_000)
Y = np.array([lasso.fit(A, p).coef_ for p in P])


def value(codes):
    return np.abs(P - codes @ A.T).sum(axis=1) + lam * codes.sum(axis=1)


print(f"largest gap of the exact codes: {gap.max():.1e}")
print(f"objective by its definition, largest difference: {np.abs(value(X) - objective).max():.1e}")
print(
    f"the l1 objective at Lasso's codes is above by {np.mean(value(Y) - objective):.4f} on average"
)

# %%
# Left: weights that were put in and weights found. Right: the certificate, and how far Lasso's
# codes are from the optimum of the l1 objective, which is not theirs. What is below 1e-18 is drawn
# there.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.plot([0, 0.8], [0, 0.8], color="black", linewidth=0.8)
left.scatter(0.8 * X_true, Y, s=8, alpha=0.5, color="tab:orange", label="Lasso, squared loss")
left.scatter(0.8 * X_true, X, s=8, alpha=0.5, color="tab:blue", label="odl.sparse_code, l1 loss")
left.set(xlabel="weight of an atom in the document", ylabel="weight found", title="Codes")
left.legend(loc="lower right", frameon=False)
bins = np.logspace(-18, 0, 60)
right.hist(np.maximum(gap, 1e-18), bins, color="tab:blue", label="certificate of odl.sparse_code")
right.hist(
    np.maximum(value(Y) - objective, 1e-18),
    bins,
    color="tab:orange",
    label="l1 objective of Lasso's codes",
)
right.set(
    xscale="log",
    xlabel="distance from the optimum, at most",
    ylabel="documents",
    title="How near the optimum",
    ylim=(0, 90),
)
right.set_xticks([1e-18, 1e-12, 1e-6, 1])
right.legend(loc="upper center", frameon=False)
fig.tight_layout()
