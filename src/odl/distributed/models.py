"""The general model of dictionary learning over agents, as small parts that combine.

For one document x and dictionary W (terms x atoms),

    min_y  f(x - W y) + h(y),        learning:  + h_W(W),  W in a set of columns

with a residual loss f, a strongly convex penalty h on the code, a penalty h_W on the dictionary and a set for
its columns. The inference is solved by its dual (equations 25 to 28),

    max_nu  g(nu) = -f*(nu) + nu^T x - sum_k h*(W_k^T nu),        nu in V_f, the domain of f*,

which is a sum over agents k that own the atoms W_k. Every part has the pieces its place asks for: value,
conjugate, maximiser, prox or projection.

Documents are vectors over terms along the last axis, codes vectors over atoms; any leading axes are batches.
Source: J. Chen, Z. J. Towfic and A. H. Sayed, "Dictionary learning over distributed models", 2014,
tables I and II (numbers of equations are that paper's).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from odl.errors import ParameterError


def soft(values, threshold):
    """Return sign(v) max(|v| - threshold, 0), entry by entry."""
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)


def _positive(part, name, value, why):
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"{part} with {name}={value!r}", f"a finite {name} above 0, for {why}", f"raise {name}")


def _not_negative(part, name, value):
    if not (np.isfinite(value) and value >= 0):
        raise ParameterError(f"{part} with {name}={value!r}", "a finite number of at least 0", f"correct {name}")


@dataclass(frozen=True)
class Squared:
    """f(u) = 1/2 ||u||^2; f*(nu) = 1/2 ||nu||^2 for every nu.

    Attributes
    ----------
    curvature : float
        c_f, the second derivative of f* per term: the gradient of f* is c_f nu.
    limit : float
        Largest |nu_i| in V_f.
    """

    name: ClassVar[str] = "squared residual"
    curvature: ClassVar[float] = 1.0
    limit: ClassVar[float] = np.inf

    def value(self, u):
        """Return f(u)."""
        return 0.5 * np.sum(np.square(u), axis=-1)

    def gradient(self, u):
        """Return the gradient of f: the dual variable of the residual u."""
        return np.array(u, dtype=float)

    def conjugate(self, nu):
        """Return f*(nu) = max_u nu^T u - f(u)."""
        return 0.5 * np.sum(np.square(nu), axis=-1)

    def maximiser(self, nu):
        """Return the u that attains f*(nu)."""
        return np.array(nu, dtype=float)

    def project(self, nu):
        """Return the nearest point of V_f (here everything)."""
        return np.array(nu, dtype=float)


@dataclass(frozen=True)
class Huber:
    """f(u) = sum_i L_eta(u_i), L_eta(u) = u^2/(2 eta) if |u| < eta, else |u| - eta/2.

    f*(nu) = eta/2 ||nu||^2 where ||nu||_inf <= 1, infinite elsewhere; projection on V_f: clip (eq. 36).

    Parameters
    ----------
    eta : float
        Size of residuals from which they count linearly.
    """

    eta: float
    name: ClassVar[str] = "Huber residual"
    limit: ClassVar[float] = 1.0

    def __post_init__(self):
        _positive(self.name, "eta", self.eta, "f is not differentiable otherwise")

    @property
    def curvature(self):
        """c_f = eta."""
        return self.eta

    def value(self, u):
        """Return f(u)."""
        size = np.abs(u)
        return np.sum(np.where(size < self.eta, size**2 / (2.0 * self.eta), size - self.eta / 2.0), axis=-1)

    def gradient(self, u):
        """Return the gradient of f: the dual variable of the residual u."""
        return np.clip(np.asarray(u) / self.eta, -1.0, 1.0)

    def conjugate(self, nu):
        """Return f*(nu) = max_u nu^T u - f(u)."""
        inside = np.max(np.abs(nu), axis=-1, initial=0.0) <= 1.0
        return np.where(inside, 0.5 * self.eta * np.sum(np.square(nu), axis=-1), np.inf)

    def maximiser(self, nu):
        """Return a u that attains f*(nu); the only one where |nu_i| < 1."""
        return self.eta * np.asarray(nu)

    def project(self, nu):
        """Return the nearest point of V_f = {||nu||_inf <= 1}."""
        return np.clip(nu, -1.0, 1.0)


@dataclass(frozen=True)
class ElasticNet:
    """h(y) = gamma ||y||_1 + delta/2 ||y||^2; h*(a) = delta/2 ||T(a)||^2, T(a) = soft(a, gamma)/delta.

    Parameters
    ----------
    gamma, delta : float
        Weights of the l1 and the squared l2 penalty. delta > 0: h must be strongly convex.
    """

    gamma: float
    delta: float
    name: ClassVar[str] = "elastic net"
    non_negative: ClassVar[bool] = False

    def __post_init__(self):
        _not_negative(self.name, "gamma", self.gamma)
        _positive(self.name, "delta", self.delta, "h must be strongly convex to have a dual over agents")

    def value(self, y):
        """Return h(y)."""
        return self.gamma * np.sum(np.abs(y), axis=-1) + 0.5 * self.delta * np.sum(np.square(y), axis=-1)

    def maximiser(self, a):
        """Return the only y that attains h*(a): the code of an atom with a = w^T nu."""
        return soft(a, self.gamma) / self.delta

    def conjugate(self, a):
        """Return h*(a) = max_y a^T y - h(y)."""
        return 0.5 * self.delta * np.sum(np.square(self.maximiser(a)), axis=-1)


@dataclass(frozen=True)
class NonNegativeElasticNet(ElasticNet):
    """The elastic net on y >= 0, infinite elsewhere; T(a) = max(a - gamma, 0)/delta."""

    name: ClassVar[str] = "non-negative elastic net"
    non_negative: ClassVar[bool] = True

    def value(self, y):
        """Return h(y)."""
        return np.where(np.min(y, axis=-1, initial=0.0) >= 0.0, super().value(y), np.inf)

    def maximiser(self, a):
        """Return the only y that attains h*(a)."""
        return np.maximum(np.asarray(a) - self.gamma, 0.0) / self.delta


@dataclass(frozen=True)
class NoPenalty:
    """h_W = 0."""

    beta: ClassVar[float] = 0.0

    def value(self, W):
        """Return h_W(W)."""
        return 0.0

    def prox(self, W, step):
        """Return argmin_V 1/2 ||V - W||^2 + step h_W(V)."""
        return np.array(W, dtype=float)


@dataclass(frozen=True)
class L1Penalty:
    """h_W = beta sum |W_ij|: sparse atoms.

    Parameters
    ----------
    beta : float
    """

    beta: float

    def __post_init__(self):
        _not_negative("l1 penalty on the dictionary", "beta", self.beta)

    def value(self, W):
        """Return h_W(W)."""
        return self.beta * float(np.sum(np.abs(W)))

    def prox(self, W, step):
        """Return argmin_V 1/2 ||V - W||^2 + step h_W(V)."""
        return soft(W, step * self.beta)


@dataclass(frozen=True)
class L2Ball:
    """Columns w with ||w||_2 <= 1 (eq. 3)."""

    non_negative: ClassVar[bool] = False

    def project(self, W):
        """Return the nearest dictionary in the set, column by column; one inside stays as it is."""
        W = np.asarray(W, dtype=float)
        return W / np.maximum(1.0, np.sqrt(np.sum(np.square(W), axis=0)))


@dataclass(frozen=True)
class NonNegativeL2Ball:
    """Columns w with ||w||_2 <= 1 and w >= 0 (eq. 4)."""

    non_negative: ClassVar[bool] = True

    def project(self, W):
        """Return the nearest dictionary in the set, column by column; one inside stays as it is."""
        return L2Ball().project(np.maximum(W, 0.0))


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
    """

    residual: object
    code: object
    dictionary: object = NoPenalty()
    columns: object = L2Ball()

    def __post_init__(self):
        for place, needs in PLACES.items():
            part = getattr(self, place)
            missing = [name for name in needs if not hasattr(part, name)]
            if missing:
                given = f"{type(part).__name__} as the {place} part of a model lacks {', '.join(missing)}"
                raise ParameterError(given, f"a part with {', '.join(needs)}", "choose a part made for this place")

    def primal(self, x, W, y):
        """Return f(x - W y) + h(y); x (..., terms), W (terms, atoms), y (..., atoms)."""
        return self.residual.value(x - y @ np.transpose(W)) + self.code.value(y)

    def dual(self, x, W, nu):
        """Return g(nu), at most the primal value, equal at the optimum; -inf outside V_f."""
        return -self.residual.conjugate(nu) + np.sum(nu * x, axis=-1) - self.code.conjugate(nu @ W)

    def codes(self, W, nu):
        """Recover the codes y = T(W^T nu) from a dual variable (eq. 42)."""
        return self.code.maximiser(nu @ W)

    def cost(self, x, W_k, nu, n_agents, share):
        """Return J_k(nu) = f*(nu)/N - share nu^T x + h*(W_k^T nu) (eq. 29).

        Parameters
        ----------
        share : float
            1/|N_I| for an agent that sees the document, else 0.
        """
        own = self.residual.conjugate(nu) / n_agents - share * np.sum(nu * x, axis=-1)
        return own + self.code.conjugate(nu @ W_k)

    def gradient(self, x, W_k, nu, n_agents, share):
        """Return the gradient of J_k: c_f nu/N - share x + W_k T(W_k^T nu)."""
        return self.residual.curvature / n_agents * nu - share * x + self.codes(W_k, nu) @ np.transpose(W_k)

    def learn(self, W, nu, y, step):
        """Return Proj(prox_{step h_W}(W + step nu y^T)): one document's update (eqs 51 to 56)."""
        return self.columns.project(self.dictionary.prox(W + step * np.outer(nu, y), step))

    def largest_step(self, norms, n_agents):
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


def task(name, *, gamma, delta, eta=None, beta=0.0):
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
    """
    if name not in TASKS:
        raise ParameterError(f"the task {name!r}", f"one of {', '.join(TASKS)}", "choose one of these")
    if name == "nmf_huber" and eta is None:
        raise ParameterError("the task 'nmf_huber' without eta", "an eta above 0", "pass eta")
    if name != "biclustering" and beta:
        given = f"the task {name!r} with beta={beta!r}"
        raise ParameterError(given, "no penalty on the dictionary in this task", "set beta to 0 or choose biclustering")
    if name.startswith("nmf"):
        residual = Huber(eta) if name == "nmf_huber" else Squared()
        return Model(residual, NonNegativeElasticNet(gamma, delta), NoPenalty(), NonNegativeL2Ball())
    penalty = L1Penalty(beta) if name == "biclustering" else NoPenalty()
    return Model(Squared(), ElasticNet(gamma, delta), penalty, L2Ball())
