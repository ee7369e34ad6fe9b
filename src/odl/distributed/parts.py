"""Parts of a model: residual losses, penalties on codes and on the dictionary, sets of columns.

Every part has the pieces its place in `odl.distributed.models.Model` asks for: value, conjugate, maximiser, prox or
projection. Documents are vectors over terms along the last axis, codes over atoms; any leading axes are batches.
Source: Chen, Towfic and Sayed 2014, table II (numbers of equations are that paper's).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from odl.errors import ParameterError


def soft(values: np.ndarray, threshold: float) -> np.ndarray:
    """Return sign(v) max(|v| - threshold, 0), entry by entry.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import soft
    >>> soft(np.array([-2.0, 0.5, 3.0]), 1.0)
    array([-1.,  0.,  2.])
    """
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

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import Squared
    >>> Squared().value(np.array([3.0, 4.0]))
    np.float64(12.5)
    """

    name: ClassVar[str] = "squared residual"
    curvature: ClassVar[float] = 1.0
    limit: ClassVar[float] = np.inf

    def value(self, u: np.ndarray) -> Any:
        """Return f(u)."""
        return 0.5 * np.sum(np.square(u), axis=-1)

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of f: the dual variable of the residual u."""
        return np.array(u, dtype=float)

    def conjugate(self, nu: np.ndarray) -> Any:
        """Return f*(nu) = max_u nu^T u - f(u)."""
        return 0.5 * np.sum(np.square(nu), axis=-1)

    def maximiser(self, nu: np.ndarray) -> np.ndarray:
        """Return the u that attains f*(nu)."""
        return np.array(nu, dtype=float)

    def project(self, nu: np.ndarray) -> np.ndarray:
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

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import Huber
    >>> Huber(0.2).value(np.array([0.1, 2.0])).round(3), Huber(0.2).project(np.array([0.5, 3.0]))
    (np.float64(1.925), array([0.5, 1. ]))
    """

    eta: float
    name: ClassVar[str] = "Huber residual"
    limit: ClassVar[float] = 1.0

    def __post_init__(self):
        _positive(self.name, "eta", self.eta, "f is not differentiable otherwise")

    @property
    def curvature(self) -> float:
        """c_f = eta."""
        return self.eta

    def value(self, u: np.ndarray) -> Any:
        """Return f(u)."""
        size = np.abs(u)
        return np.sum(np.where(size < self.eta, size**2 / (2.0 * self.eta), size - self.eta / 2.0), axis=-1)

    def gradient(self, u: np.ndarray) -> np.ndarray:
        """Return the gradient of f: the dual variable of the residual u."""
        return np.clip(np.asarray(u) / self.eta, -1.0, 1.0)

    def conjugate(self, nu: np.ndarray) -> Any:
        """Return f*(nu) = max_u nu^T u - f(u)."""
        inside = np.max(np.abs(nu), axis=-1, initial=0.0) <= 1.0
        return np.where(inside, 0.5 * self.eta * np.sum(np.square(nu), axis=-1), np.inf)

    def maximiser(self, nu: np.ndarray) -> np.ndarray:
        """Return a u that attains f*(nu); the only one where |nu_i| < 1."""
        return self.eta * np.asarray(nu)

    def project(self, nu: np.ndarray) -> np.ndarray:
        """Return the nearest point of V_f = {||nu||_inf <= 1}."""
        return np.clip(nu, -1.0, 1.0)


@dataclass(frozen=True)
class ElasticNet:
    """h(y) = gamma ||y||_1 + delta/2 ||y||^2; h*(a) = delta/2 ||T(a)||^2, T(a) = soft(a, gamma)/delta.

    Parameters
    ----------
    gamma, delta : float
        Weights of the l1 and the squared l2 penalty. delta > 0: h must be strongly convex.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import ElasticNet
    >>> ElasticNet(0.5, 2.0).maximiser(np.array([-1.5, 0.2, 2.5]))
    array([-0.5,  0. ,  1. ])
    """

    gamma: float
    delta: float
    name: ClassVar[str] = "elastic net"
    non_negative: ClassVar[bool] = False

    def __post_init__(self):
        _not_negative(self.name, "gamma", self.gamma)
        _positive(self.name, "delta", self.delta, "h must be strongly convex to have a dual over agents")

    def value(self, y: np.ndarray) -> Any:
        """Return h(y)."""
        return self.gamma * np.sum(np.abs(y), axis=-1) + 0.5 * self.delta * np.sum(np.square(y), axis=-1)

    def maximiser(self, a: np.ndarray) -> np.ndarray:
        """Return the only y that attains h*(a): the code of an atom with a = w^T nu."""
        return soft(a, self.gamma) / self.delta

    def conjugate(self, a: np.ndarray) -> Any:
        """Return h*(a) = max_y a^T y - h(y)."""
        return 0.5 * self.delta * np.sum(np.square(self.maximiser(a)), axis=-1)


@dataclass(frozen=True)
class NonNegativeElasticNet(ElasticNet):
    """The elastic net on y >= 0, infinite elsewhere; T(a) = max(a - gamma, 0)/delta.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import NonNegativeElasticNet
    >>> NonNegativeElasticNet(0.5, 2.0).maximiser(np.array([-1.5, 0.2, 2.5]))
    array([0., 0., 1.])
    """

    name: ClassVar[str] = "non-negative elastic net"
    non_negative: ClassVar[bool] = True

    def value(self, y: np.ndarray) -> Any:
        """Return h(y)."""
        return np.where(np.min(y, axis=-1, initial=0.0) >= 0.0, super().value(y), np.inf)

    def maximiser(self, a: np.ndarray) -> np.ndarray:
        """Return the only y that attains h*(a)."""
        return np.maximum(np.asarray(a) - self.gamma, 0.0) / self.delta


@dataclass(frozen=True)
class NoPenalty:
    """h_W = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import NoPenalty
    >>> NoPenalty().prox(np.array([[0.5]]), 0.1)
    array([[0.5]])
    """

    beta: ClassVar[float] = 0.0

    def value(self, W: Any) -> float:
        """Return h_W(W)."""
        return 0.0

    def prox(self, W: Any, step: float) -> Any:
        """Return argmin_V 1/2 ||V - W||^2 + step h_W(V)."""
        return np.array(W, dtype=float)


@dataclass(frozen=True)
class L1Penalty:
    """h_W = beta sum |W_ij|: sparse atoms.

    Parameters
    ----------
    beta : float

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import L1Penalty
    >>> L1Penalty(2.0).prox(np.array([[0.5, -0.1]]), 0.1)
    array([[ 0.3, -0. ]])
    """

    beta: float

    def __post_init__(self):
        _not_negative("l1 penalty on the dictionary", "beta", self.beta)

    def value(self, W: Any) -> float:
        """Return h_W(W)."""
        return self.beta * float(np.sum(np.abs(W)))

    def prox(self, W: Any, step: float) -> Any:
        """Return argmin_V 1/2 ||V - W||^2 + step h_W(V)."""
        return soft(W, step * self.beta)


@dataclass(frozen=True)
class L2Ball:
    """Columns w with ||w||_2 <= 1 (eq. 3).

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import L2Ball
    >>> L2Ball().project(np.array([[3.0, 0.1], [4.0, -0.2]]))
    array([[ 0.6,  0.1],
           [ 0.8, -0.2]])
    """

    non_negative: ClassVar[bool] = False

    def project(self, W: np.ndarray) -> np.ndarray:
        """Return the nearest dictionary in the set, column by column; one inside stays as it is."""
        W = np.asarray(W, dtype=float)
        return W / np.maximum(1.0, np.sqrt(np.sum(np.square(W), axis=0)))


@dataclass(frozen=True)
class NonNegativeL2Ball:
    """Columns w with ||w||_2 <= 1 and w >= 0 (eq. 4).

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed.parts import NonNegativeL2Ball
    >>> NonNegativeL2Ball().project(np.array([[3.0, 0.1], [4.0, -0.2]]))
    array([[0.6, 0.1],
           [0.8, 0. ]])
    """

    non_negative: ClassVar[bool] = True

    def project(self, W: np.ndarray) -> np.ndarray:
        """Return the nearest dictionary in the set, column by column; one inside stays as it is."""
        return L2Ball().project(np.maximum(W, 0.0))
