"""The general model of dictionary learning over agents, as small parts that combine.

For one document x and dictionary W (terms x atoms),

    min_y  f(x - W y) + h(y),        learning:  + h_W(W),  W in a set of columns

with a residual loss f, a strongly convex penalty h on the code, a penalty h_W on the dictionary and a set for
its columns. The inference is solved by its dual (equations 25 to 28),

    max_nu  g(nu) = -f*(nu) + nu^T x - sum_k h*(W_k^T nu),        nu in V_f, the domain of f*,

which is a sum over agents k that own the atoms W_k. The parts are in `odl.distributed.parts`.

Documents are vectors over terms along the last axis, codes vectors over atoms; any leading axes are batches.
Source: J. Chen, Z. J. Towfic and A. H. Sayed, "Dictionary learning over distributed models", 2014,
tables I and II (numbers of equations are that paper's).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odl.distributed.parts import (
    ElasticNet,
    Huber,
    L1Penalty,
    L2Ball,
    NonNegativeElasticNet,
    NonNegativeL2Ball,
    NoPenalty,
    Squared,
)
from odl.errors import ParameterError


@dataclass(frozen=True)
class Model:
    """A combination of parts.

    Parameters
    ----------
    residual : Squared or Huber
    code : ElasticNet or NonNegativeElasticNet
    dictionary : NoPenalty or L1Penalty
    columns : L2Ball or NonNegativeL2Ball

    Raises
    ------
    ParameterError
        If a part stands in a place it does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.models import Model
    >>> from odl.distributed.parts import ElasticNet, Squared
    >>> model = Model(Squared(), ElasticNet(0.1, 0.5))
    >>> model.primal(np.array([0.6, 0.8]), np.eye(2), np.array([0.5, 0.5])).round(3)
    np.float64(0.275)
    """

    residual: Squared | Huber
    code: ElasticNet
    dictionary: NoPenalty | L1Penalty = NoPenalty()  # noqa: RUF009  # frozen, without a field
    columns: L2Ball | NonNegativeL2Ball = L2Ball()  # noqa: RUF009

    def __post_init__(self):
        for place, needs in PLACES.items():
            part = getattr(self, place)
            missing = [name for name in needs if not hasattr(part, name)]
            if missing:
                given = f"{type(part).__name__} as the {place} part of a model lacks {', '.join(missing)}"
                raise ParameterError(given, f"a part with {', '.join(needs)}", "choose a part made for this place")

    def primal(self, x: np.ndarray, W: np.ndarray, y: np.ndarray) -> Any:
        """Return f(x - W y) + h(y); x (..., terms), W (terms, atoms), y (..., atoms).

        Equation `agents` of docs/method.md.
        """
        return self.residual.value(x - y @ np.transpose(W)) + self.code.value(y)

    def dual(self, x: np.ndarray, W: np.ndarray, nu: np.ndarray) -> Any:
        """Return g(nu), at most the primal value, equal at the optimum; -inf outside V_f."""
        return -self.residual.conjugate(nu) + np.sum(nu * x, axis=-1) - self.code.conjugate(nu @ W)

    def codes(self, W: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """Recover the codes y = T(W^T nu) from a dual variable (eq. 42).

        Equation `agent-codes` of docs/method.md.
        """
        return self.code.maximiser(nu @ W)

    def cost(self, x: np.ndarray, W_k: np.ndarray, nu: np.ndarray, n_agents: int, share: float) -> Any:
        """Return J_k(nu) = f*(nu)/N - share nu^T x + h*(W_k^T nu) (eq. 29).

        Equation `agent-cost` of docs/method.md.

        Parameters
        ----------
        share : float
            1/|N_I| for an agent that sees the document, else 0.
        """
        own = self.residual.conjugate(nu) / n_agents - share * np.sum(nu * x, axis=-1)
        return own + self.code.conjugate(nu @ W_k)

    def gradient(self, x: np.ndarray, W_k: np.ndarray, nu: np.ndarray, n_agents: int, share: float) -> np.ndarray:
        """Return the gradient of J_k: c_f nu/N - share x + W_k T(W_k^T nu)."""
        return self.residual.curvature / n_agents * nu - share * x + self.codes(W_k, nu) @ np.transpose(W_k)

    def learn(self, W: np.ndarray, nu: np.ndarray, y: np.ndarray, step: float) -> np.ndarray:
        """Return Proj(prox_{step h_W}(W + step nu y^T)): one document's update (eqs 51 to 56).

        Equation `agent-atoms` of docs/method.md.
        """
        return self.columns.project(self.dictionary.prox(W + step * np.outer(nu, y), step))

    def largest_step(self, norms: ArrayLike, n_agents: int) -> float:
        """Return 1/max_k (c_f/N + ||W_k||_2^2/delta): below it diffusion is stable.

        Parameters
        ----------
        norms : array_like
            ||W_k||_2^2 of the agents.
        """
        return 1.0 / (self.residual.curvature / n_agents + np.max(norms, initial=0.0) / self.code.delta)


PLACES = {
    "residual": ("value", "gradient", "conjugate", "maximiser", "project", "curvature", "limit"),
    "code": ("value", "conjugate", "maximiser", "gamma", "delta"),
    "dictionary": ("value", "prox", "beta"),
    "columns": ("project", "non_negative"),
}
TASKS = ("sparse_svd", "biclustering", "nmf", "nmf_huber")  # table I


def task(name: str, *, gamma: float, delta: float, eta: float | None = None, beta: float = 0.0) -> Model:
    """Return the model of a task of table I.

    Parameters
    ----------
    name : {"sparse_svd", "biclustering", "nmf", "nmf_huber"}
    gamma, delta : float
        Elastic net of the codes.
    eta : float, optional
        Of the Huber loss; nmf_huber needs it, the others do not look at it.
    beta : float
        Weight of the l1 penalty on the dictionary, of biclustering.

    Returns
    -------
    Model

    Raises
    ------
    ParameterError
        If the name is not known or the parts do not combine.

    Examples
    --------
    >>> from odl.distributed import models
    >>> models.task("nmf", gamma=0.05, delta=0.1).residual
    Squared()
    """
    if name not in TASKS:
        raise ParameterError(f"the task {name!r}", f"one of {', '.join(TASKS)}", "choose one of these")
    if name == "nmf_huber" and eta is None:
        raise ParameterError("the task 'nmf_huber' without eta", "an eta above 0", "pass eta")
    if name != "biclustering" and beta:
        given = f"the task {name!r} with beta={beta!r}"
        raise ParameterError(given, "no penalty on the dictionary in this task", "set beta to 0 or choose biclustering")
    if name.startswith("nmf"):
        residual = Squared() if eta is None or name != "nmf_huber" else Huber(eta)
        return Model(residual, NonNegativeElasticNet(gamma, delta), NoPenalty(), NonNegativeL2Ball())
    penalty = L1Penalty(beta) if name == "biclustering" else NoPenalty()
    return Model(Squared(), ElasticNet(gamma, delta), penalty, L2Ball())
