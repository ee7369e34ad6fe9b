"""Consensus ADMM on the dual of a network, which diffusion is compared with: many gradient steps an exchange.

Source: Chen, Towfic and Sayed 2014, equations 38 and 39.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from odl.distributed.inference import Inference, Share
from odl.errors import ParameterError


def consensus_admm(
    share: Share,
    x: np.ndarray,
    *,
    penalty: float | None = None,
    iterations: int = 1000,
    inner: int = 20,
    exchange: Callable[[np.ndarray], np.ndarray] = lambda nu: nu,
    record: Callable[[int, np.ndarray], Any] | None = None,
) -> Inference:
    """Maximise the dual by consensus ADMM with Jacobi updates: all agents at once (compare eqs 38 and 39).

    min sum_k J_k(nu_k) such that nu_k = nu_l for neighbours:

        p_k  <- p_k + c sum_{l in N_k} (nu_k - nu_l)
        nu_k <- argmin_{nu in V_f} J_k(nu) + p_k^T nu + c sum_{l in N_k} ||nu - (nu_k + nu_l)/2||^2

    (Mateos, Bazerque and Giannakis 2010; the printed recursion of the paper is lost, this is the edge-based one of
    that structure). The argmin is found by `inner` projected gradient steps: the third time scale.

    Parameters
    ----------
    share, x, iterations, exchange, record
        As in `odl.distributed.inference.diffuse`; what is exchanged is nu_k.
    penalty : float, optional
        c; default c_f/N + 1/(delta N), the scale of the curvatures of the J_k.
    inner : int
        Gradient steps of each agent between exchanges.

    Returns
    -------
    Inference
        Converges to the optimum itself.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.distributed import consensus_admm, inference, models, networks
    >>> model, network = models.task("nmf", gamma=0.05, delta=0.1), networks.network("ring", 3, degree=2)
    >>> share = inference.share_all(model, network, [np.eye(3)[:, [agent]] for agent in range(3)])
    >>> found = consensus_admm.consensus_admm(share, np.array([0.6, 0.8, 0.0]))
    >>> np.concatenate(found.codes).round(2), round(-float(found.costs.sum()), 3)  # the codes, the score
    (array([0.5 , 0.68, 0.  ]), 0.107)
    """
    model, n_agents = share.model, share.network.n_agents
    if penalty is None:
        penalty = (model.residual.curvature + 1.0 / model.code.delta) / n_agents
    if not penalty > 0:
        raise ParameterError(f"penalty={penalty!r}", "a penalty above 0", "raise it or leave it to the default")
    pattern = share._weights.copy()
    pattern.data[:] = 1.0
    places = np.searchsorted(share.heard, share.agents)
    pattern = sparse.lil_array(pattern)
    pattern[np.arange(len(places)), places] = 0.0
    pattern = sparse.csr_array(pattern)
    degrees = np.asarray(pattern.sum(axis=1))[:, None]
    curvature = model.residual.curvature / n_agents + share.norms[:, None] / model.code.delta
    steps = 1.0 / (curvature + 2.0 * penalty * degrees)
    nu = share.start(x)
    price = np.zeros_like(nu)
    for used in range(1, iterations + 1):
        others = pattern @ exchange(nu)
        price = price + penalty * (degrees * nu - others)
        middle = 0.5 * (degrees * nu + others)
        for _ in range(inner):
            slope = share.gradients(nu, x) + price + 2.0 * penalty * (degrees * nu - middle)
            nu = model.residual.project(nu - steps * slope)
        if record:
            record(used, nu)
    return share.finish(nu, x, iterations, iterations * inner)
