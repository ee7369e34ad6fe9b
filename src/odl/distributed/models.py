"""Models of dictionary learning over agents: residual losses, penalties, and tasks.

The code y of a document x and the dictionary W (terms x atoms) solve

    min_y  f(x - W y) + h(y)        and        min_W  E f(x - W y) + h(y) + h_W(W)

with a residual loss f, a strongly convex penalty h on the code, a penalty h_W on the dictionary and
a constraint on its columns. Codes follow from the dual problem (equations 25 to 28),

    max_nu  g(nu) = -f*(nu) + nu^T x - sum_k h*(W_k^T nu),        nu in V_f, the domain of f*.

Its last term is a sum over agents k, where W_k are the atoms that agent k owns.

The last axis of documents is that of terms, and the last axis of codes that of atoms. Other axes
are batches. Source: J. Chen, Z. J. Towfic and A. H. Sayed, "Dictionary learning over distributed
models", 2014, tables I and II. Equations are numbered as in the paper.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from odl.errors import ParameterError
from odl.prox.projections import number


def soft(values: np.ndarray, threshold: float) -> np.ndarray:
    """Return sign(v) max(|v| - threshold, 0) for each entry v.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.models import soft
    >>> soft(np.array([-2.0, 0.5, 3.0]), 1.0)
    array([-1.,  0.,  2.])
    """
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)


def _positive(part, name, value, why):
    """Raise ParameterError unless a parameter is finite and positive, for the reason `why`."""
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(
            f"{name} of the {part} is {value!r}",
            f"a finite {name} above 0, since {why}",
            f"raise {name}",
        )


@dataclass(frozen=True)
class Squared:
    """Squared loss f(u) = 1/2 ||u||^2, with the conjugate f*(nu) = 1/2 ||nu||^2.

    Attributes
    ----------
    curvature : float
        c_f, the second derivative of f* per term: the gradient of f* is c_f nu.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.models import Squared
    >>> Squared().value(np.array([3.0, 4.0]))
    np.float64(12.5)
    """

    curvature: ClassVar[float] = 1.0

    def value(self, u: np.ndarray) -> Any:
        """Return f(u)."""
        return 0.5 * np.sum(np.square(u), axis=-1)

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of f at u, the dual variable of the residual u."""
        return np.array(u, dtype=float)

    def conjugate(self, nu: np.ndarray) -> Any:
        """Return f*(nu) = max_u nu^T u - f(u)."""
        return 0.5 * np.sum(np.square(nu), axis=-1)

    def project(self, nu: np.ndarray) -> np.ndarray:
        """Return nu, since V_f contains all vectors."""
        return np.array(nu, dtype=float)


@dataclass(frozen=True)
class Huber:
    """Huber loss f(u) = sum_i L_eta(u_i), L_eta(u) = u^2/(2 eta) if |u| < eta, else |u| - eta/2.

    Its conjugate f*(nu) is eta/2 ||nu||^2 if ||nu||_inf <= 1, and infinite otherwise. Entries are
    clipped to project on its domain (eq. 36).

    Parameters
    ----------
    eta : float
        Absolute residual above which the loss is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.models import Huber
    >>> Huber(0.2).value(np.array([0.1, 2.0])).round(3), Huber(0.2).project(np.array([0.5, 3.0]))
    (np.float64(1.925), array([0.5, 1. ]))
    """

    eta: float
    name: ClassVar[str] = "Huber residual"

    def __post_init__(self):
        _positive(self.name, "eta", self.eta, "f is not differentiable otherwise")

    @property
    def curvature(self) -> float:
        """Second derivative c_f = eta of f* per term."""
        return self.eta

    def value(self, u: np.ndarray) -> Any:
        """Return f(u)."""
        size = np.abs(u)
        quadratic, linear = size**2 / (2.0 * self.eta), size - self.eta / 2.0
        return np.sum(np.where(size < self.eta, quadratic, linear), axis=-1)

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of f at u, the dual variable of the residual u."""
        return np.clip(np.asarray(u) / self.eta, -1.0, 1.0)

    def conjugate(self, nu: np.ndarray) -> Any:
        """Return f*(nu) = max_u nu^T u - f(u)."""
        inside = np.max(np.abs(nu), axis=-1, initial=0.0) <= 1.0
        return np.where(inside, 0.5 * self.eta * np.sum(np.square(nu), axis=-1), np.inf)

    def project(self, nu: np.ndarray) -> np.ndarray:
        """Return the nearest point of V_f = {||nu||_inf <= 1}."""
        return np.clip(nu, -1.0, 1.0)


@dataclass(frozen=True)
class ElasticNet:
    """Elastic net h(y) = gamma ||y||_1 + delta/2 ||y||^2.

    Its conjugate is h*(a) = delta/2 ||T(a)||^2 with T(a) = soft(a, gamma)/delta.

    Parameters
    ----------
    gamma, delta : float
        Weights of the l1 and the squared l2 penalty. delta must be positive, since h must be
        strongly convex.
    non_negative : bool
        Whether h is infinite unless y >= 0. Then T(a) = max(a - gamma, 0)/delta.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.models import ElasticNet
    >>> a = np.array([-1.5, 0.2, 2.5])
    >>> ElasticNet(0.5, 2.0).maximiser(a), ElasticNet(0.5, 2.0, non_negative=True).maximiser(a)
    (array([-0.5,  0. ,  1. ]), array([0., 0., 1.]))
    """

    gamma: float
    delta: float
    non_negative: bool = False

    def __post_init__(self):
        number(self.gamma, "gamma")
        _positive(
            "elastic net",
            "delta",
            self.delta,
            "h must be strongly convex to have a dual over agents",
        )

    def value(self, y: np.ndarray) -> Any:
        """Return h(y)."""
        l1, l2 = np.sum(np.abs(y), axis=-1), np.sum(np.square(y), axis=-1)
        value = self.gamma * l1 + 0.5 * self.delta * l2
        if self.non_negative:
            return np.where(np.min(y, axis=-1, initial=0.0) >= 0.0, value, np.inf)
        return value

    def maximiser(self, a: np.ndarray) -> np.ndarray:
        """Return the y that attains h*(a), the code of an atom w with a = w^T nu."""
        if self.non_negative:
            return np.maximum(np.asarray(a) - self.gamma, 0.0) / self.delta
        return soft(a, self.gamma) / self.delta

    def conjugate(self, a: np.ndarray) -> Any:
        """Return h*(a) = max_y a^T y - h(y)."""
        return 0.5 * self.delta * np.sum(np.square(self.maximiser(a)), axis=-1)


@dataclass(frozen=True)
class Model:
    """Residual loss with penalties on codes and dictionary.

    Atoms are in the unit l2 ball (eq. 3), and non-negative if codes are non-negative (eq. 4).

    Parameters
    ----------
    residual : Squared or Huber
    code : ElasticNet
    beta : float
        Weight of the l1 penalty on the dictionary, h_W = beta sum |W_ij|.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.models import ElasticNet, Model, Squared
    >>> model = Model(Squared(), ElasticNet(0.1, 0.5))
    >>> model.primal(np.array([0.6, 0.8]), np.eye(2), np.array([0.5, 0.5])).round(3)
    np.float64(0.275)
    """

    residual: Squared | Huber
    code: ElasticNet
    beta: float = 0.0

    def __post_init__(self):
        number(self.beta, "beta")

    def project(self, W: np.ndarray) -> np.ndarray:
        """Return W with each column projected on its constraint set."""
        W = np.maximum(W, 0.0) if self.code.non_negative else np.asarray(W, dtype=float)
        return W / np.maximum(1.0, np.sqrt(np.sum(np.square(W), axis=0)))

    def primal(self, x: np.ndarray, W: np.ndarray, y: np.ndarray) -> Any:
        """Return f(x - W y) + h(y); x (..., terms), W (terms, atoms), y (..., atoms).

        Equation `agents` of docs/method.md.
        """
        return self.residual.value(x - y @ np.transpose(W)) + self.code.value(y)

    def dual(self, x: np.ndarray, W: np.ndarray, nu: np.ndarray) -> Any:
        """Return g(nu), a lower bound on the primal value; -inf outside V_f."""
        return -self.residual.conjugate(nu) + np.sum(nu * x, axis=-1) - self.code.conjugate(nu @ W)

    def codes(self, W: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """Return the codes y = T(W^T nu) of a dual variable (eq. 42).

        Equation `agent-codes` of docs/method.md.
        """
        return self.code.maximiser(nu @ W)

    def cost(
        self, x: np.ndarray, W_k: np.ndarray, nu: np.ndarray, n_agents: int, share: float
    ) -> Any:
        """Return the cost J_k(nu) = f*(nu)/N - share nu^T x + h*(W_k^T nu) of agent k (eq. 29).

        Equation `agent-cost` of docs/method.md.

        Parameters
        ----------
        x : ndarray, shape (..., terms)
            Document.
        W_k : ndarray, shape (terms, atoms of the agent)
            Atoms of agent k.
        nu : ndarray, shape (..., terms)
            Dual variable of agent k.
        n_agents : int
            Number of agents N.
        share : float
            1/|N_I| if agent k is one of the |N_I| agents that see the document, else 0.

        Returns
        -------
        float or ndarray
            Cost of each document.
        """
        residual_part = self.residual.conjugate(nu) / n_agents - share * np.sum(nu * x, axis=-1)
        return residual_part + self.code.conjugate(nu @ W_k)

    def gradient(
        self, x: np.ndarray, W_k: np.ndarray, nu: np.ndarray, n_agents: int, share: float
    ) -> np.ndarray:
        """Return the gradient of J_k: c_f nu/N - share x + W_k T(W_k^T nu)."""
        return (
            self.residual.curvature / n_agents * nu
            - share * x
            + self.codes(W_k, nu) @ np.transpose(W_k)
        )

    def learn(self, W: np.ndarray, nu: np.ndarray, y: np.ndarray, step: float) -> np.ndarray:
        """Return Proj(prox_{step h_W}(W + step nu y^T)), W after a document (eqs 51 to 56).

        Equation `agent-atoms` of docs/method.md.
        """
        W = W + step * np.outer(nu, y)
        return self.project(soft(W, step * self.beta) if self.beta else W)

    def largest_step(self, norms: ArrayLike, n_agents: int) -> float:
        """Return 1/max_k (c_f/N + ||W_k||_2^2/delta), below which step sizes are stable.

        Parameters
        ----------
        norms : array_like
            ||W_k||_2^2 of the agents.
        n_agents : int
            Number of agents N.
        """
        largest = np.max(norms, initial=0.0)
        return 1.0 / (self.residual.curvature / n_agents + largest / self.code.delta)


TASKS = ("sparse_svd", "biclustering", "nmf", "nmf_huber")  # table I


def task(
    name: str, *, gamma: float, delta: float, eta: float | None = None, beta: float = 0.0
) -> Model:
    """Return the model of a task of table I.

    Parameters
    ----------
    name : {"sparse_svd", "biclustering", "nmf", "nmf_huber"}
    gamma, delta : float
        Weights of the elastic net of the codes.
    eta : float, optional
        Threshold of the Huber loss. It is required for "nmf_huber" and otherwise ignored.
    beta : float
        Weight of the l1 penalty on the dictionary, only for "biclustering".

    Returns
    -------
    Model

    Raises
    ------
    ParameterError
        If the task does not exist, or a parameter is not allowed with it.

    Examples
    --------
    >>> from odl.distributed import models
    >>> models.task("nmf", gamma=0.05, delta=0.1).residual
    Squared()
    """
    if name not in TASKS:
        raise ParameterError(
            f"the task {name!r} does not exist", f"one of {', '.join(TASKS)}", "correct task"
        )
    if name == "nmf_huber" and eta is None:
        raise ParameterError("the task 'nmf_huber' has no eta", "an eta above 0", "pass eta")
    if name != "biclustering" and beta:
        raise ParameterError(
            f"the task {name!r} has beta {beta!r}",
            "no penalty on the dictionary in this task",
            "set beta to 0 or choose the task biclustering",
        )
    residual = Huber(eta) if name == "nmf_huber" and eta is not None else Squared()
    return Model(residual, ElasticNet(gamma, delta, non_negative=name.startswith("nmf")), beta)
