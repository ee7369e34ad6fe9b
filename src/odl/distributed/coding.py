"""Inference and learning for batches of sparse documents, by compiled kernels.

Documents are the rows of P (CSR), atoms the columns of A (CSC). `centralised` computes the optimal
codes, to which diffusion over a fully connected network converges. `over_network` computes codes by
diffusion on any network. `learn_centralised` and `learn_over_network` update the dictionary after
each document. Source: Chen, Towfic and Sayed 2014, sections III-C to III-G.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.distributed import networks
from odl.distributed.inference import CHECK_INTERVAL
from odl.distributed.models import Huber, Model
from odl.distributed.networks import Network
from odl.errors import ParameterError
from odl.kernels import adapt_then_combine, agent_descent, fixed_point, records
from odl.prox.projections import check_signs, check_terms, parts, real_matrix


def _dictionary(columns, n_terms):
    """Return atoms (starts, terms, weights) as CSC with sorted indices and without zeros."""
    starts, terms, weights = columns
    A = sparse.csc_array((weights, terms.view(np.int32), starts), shape=(n_terms, len(starts) - 1))
    A.sort_indices()
    A.eliminate_zeros()
    return A


def constants(model):
    """Return the constants of a model as the kernels need them."""
    eta = float(model.residual.eta) if isinstance(model.residual, Huber) else 0.0
    return records.AgentModel(
        float(model.code.gamma), float(model.code.delta), eta, not model.code.non_negative
    )


def check_inputs(P, A, model):
    """Return documents (CSR) and atoms (CSC) as sparse float arrays.

    Raises
    ------
    ParameterError
        If the numbers of terms differ, or if an atom has negative entries and codes are
        non-negative.
    """
    P, A = real_matrix(P, "P"), real_matrix(A, "A", sparse.csc_array)
    check_terms(P, A)
    if model.code.non_negative:
        check_signs(A, "A")
    return P, A


MAX_SWEEPS = 1000  # maximum number of sweeps of coordinate descent
# Largest number N of agents for which the fixed point is computed, with a dense (N, N) matrix.
MAX_AGENTS = 5000


class Coded(NamedTuple):
    """Codes of a batch, their objectives, and the communication between agents.

    Attributes
    ----------
    codes : csr_array, shape (n_documents, n_atoms)
    residual, penalty : ndarray, shape (n_documents,)
        f(x - W y) and h(y) of each document. Over a network, the residual is the score minus the
        penalty.
    score : ndarray, shape (n_documents,)
        Objective of each document, the sum of residual and penalty. It equals g(nu) up to the gap.
        Over a network, it is -sum_k J_k(nu_k).
    gap : ndarray, shape (n_documents,)
        Duality gap of each document; nan over a network, where the optimum is not known.
    costs : ndarray, shape (n_documents, n_agents), or None
        J_k(nu_k) of each document and agent.
    iterations : ndarray, shape (n_documents,), or None
        Number of exchanges between agents.
    floats : ndarray, shape (n_documents, n_agents), or None
        Number of floats that each agent sends, for messages with only the terms of the document and
        of its active atoms.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.distributed import coding, models
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> P = csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> A = csc_array([[0.6, 0.0], [0.8, 0.0], [0.0, 0.8]])
    >>> coded = coding.centralised(P, A, model)
    >>> bool((coded.gap <= 1e-6).all()), (coded.residual + coded.penalty - coded.score).round(6)
    (True, array([0., 0.]))
    """

    codes: sparse.csr_array
    residual: np.ndarray
    penalty: np.ndarray
    score: np.ndarray
    gap: np.ndarray
    costs: np.ndarray | None = None
    iterations: np.ndarray | None = None
    floats: np.ndarray | None = None


def penalty(model, codes):
    """Return h(y) for each row y of the codes (CSR)."""
    sums = np.asarray(abs(codes).sum(axis=1)), np.asarray(codes.multiply(codes).sum(axis=1))
    return model.code.gamma * sums[0].ravel() + 0.5 * model.code.delta * sums[1].ravel()


def empty_cost(P, model):
    """Return f(x) for each document x, its objective if all codes are zero."""
    costs = model.residual.value(P.data[:, None])
    return np.bincount(
        np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)), costs, minlength=P.shape[0]
    )


def centralised(
    P: sparse.csr_array, A: sparse.csc_array, model: Model, *, tolerance: float = 1e-6
) -> Coded:
    """Compute the optimal codes argmin_y f(x - A y) + h(y) by coordinate descent.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    A : csc_array, shape (n_terms, n_atoms)
    model : Model
    tolerance : float
        Duality gap, relative to the objective, at which coordinate descent stops.

    Returns
    -------
    Coded

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.distributed import coding, models
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> P = csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> A = csc_array([[0.6, 0.0], [0.8, 0.0], [0.0, 0.8]])
    >>> coded = coding.centralised(P, A, model)
    >>> coded.codes.toarray().round(2), coded.score.round(3)
    (array([[0.86, 0.  ],
           [0.  , 1.01]]), array([0.09, 0.12]))
    """
    P, A = check_inputs(P, A, model)
    limits = (constants(model), float(tolerance), MAX_SWEEPS)
    codes, values = agent_descent.code_documents(parts(P), parts(A), P.shape[1], *limits)
    return Coded(sparse.csr_array(codes), values[0], values[1], values[0] + values[1], values[2])


def owners(n_atoms: int, n_agents: int) -> np.ndarray:
    """Return the agent of each atom, for a division of consecutive atoms into nearly equal parts.

    Raises
    ------
    ParameterError
        If there are more agents than atoms.

    Examples
    --------
    >>> from odl.distributed import coding
    >>> coding.owners(5, 2)
    array([0, 0, 0, 1, 1])
    """
    if not 1 <= n_agents <= n_atoms:
        raise ParameterError(
            f"{n_agents} agents for {n_atoms} atoms", "at least one atom per agent", "lower agents"
        )
    return np.arange(n_atoms) * n_agents // n_atoms


def safe_step(model: Model, owner: np.ndarray, network: Network) -> float:
    """Return the step size 0.9/(c_f/N + n/delta), where an agent has at most n atoms.

    Atoms are in the unit ball, so ||W_k||_2^2 <= n. An agent therefore does not need the norms of
    other agents, and the step size remains stable while the dictionary changes.

    Examples
    --------
    >>> from odl.distributed import coding, models, networks
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> ring = networks.network("ring", 4, degree=2)
    >>> round(float(coding.safe_step(model, coding.owners(4, 4), ring)), 4)
    0.0878
    """
    return 0.9 * model.largest_step(np.bincount(owner), network.n_agents)


def _has_one_dual(network):
    """Return whether all agents have the same dual variable from the start."""
    return network.exact and bool(network.seen.all())


class Iteration(NamedTuple):
    """Settings of diffusion: step size, stopping rule and initial value.

    Attributes
    ----------
    mu : float
        Step size. 0 stands for `safe_step`.
    iterations, tolerance
        As in `odl.distributed.inference.diffuse`.
    at_fixed_point : bool
        Whether to start at the fixed point, which is computed directly (`odl.kernels.fixed_point`).
        The first check of the stopping rule then ends the iterations.

    Examples
    --------
    >>> from odl.distributed.coding import Iteration
    >>> Iteration(iterations=20)
    Iteration(mu=0.0, iterations=20, tolerance=0.001, at_fixed_point=False)
    """

    mu: float = 0.0
    iterations: int = 10_000
    tolerance: float = 1e-3
    at_fixed_point: bool = False


def _kernel_iteration(model, owner, network, iteration):
    """Return the network and the settings of diffusion as the kernel needs them.

    If all agents have the same dual variable, the network is replaced by one agent that owns all
    atoms, which gives the same result in less time.

    Raises
    ------
    ParameterError
        If mu is negative, or if the network is too large for `at_fixed_point`.
    """
    mu = iteration.mu or safe_step(model, owner, network)
    if mu < 0:
        raise ParameterError(
            f"mu is {mu!r}", "a step size above 0, or 0 for the default", "raise mu or set it to 0"
        )
    if _has_one_dual(network):
        # one agent with step size mu/N: nu = Proj(nu - (mu/N) grad sum_k J_k(nu))
        owner, mu = np.zeros_like(owner), mu / network.n_agents
        network = networks.network("fully_connected", 1)
    weights, spread = network.weights, np.zeros((2, 0, 0))
    if iteration.at_fixed_point:
        if network.n_agents > MAX_AGENTS:
            raise ParameterError(
                f"the network has {network.n_agents} agents, and the fixed point stores a number "
                "for each pair of agents",
                f"at most {MAX_AGENTS} agents",
                "set solver: diffusion, or lower agents",
            )
        spread = fixed_point.spread(
            weights.toarray(), float(mu), mu * model.residual.curvature / network.n_agents
        )
    mixing = (weights.indptr.astype(np.int64), weights.indices.astype(np.int64), weights.data)
    stopping = (float(mu), int(iteration.iterations), float(iteration.tolerance), CHECK_INTERVAL)
    return records.NetworkIteration(
        owner.astype(np.int64), *mixing, network.shares, *stopping, spread
    )


def over_network(
    P: sparse.csr_array,
    A: sparse.csc_array,
    model: Model,
    owner: np.ndarray,
    network: Network,
    **iteration: Any,
) -> Coded:
    """Compute codes by diffusion over a network (eqs 31 and 37).

    Results are equal to those of `odl.distributed.inference.diffuse`.

    Equation `fixed-point` of docs/method.md.

    Parameters
    ----------
    P, A, model
        As in `centralised`.
    owner : ndarray of int, shape (n_atoms,)
        Agent of each atom.
    network : Network
    **iteration
        As in `Iteration`. With `at_fixed_point`, `iterations` and `floats` of the result do not
        describe a network.

    Returns
    -------
    Coded

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.distributed import coding, models, networks
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> P = csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> A = csc_array([[0.6, 0.0], [0.8, 0.0], [0.0, 0.8]])
    >>> network, owner = networks.network("fully_connected", 2), coding.owners(2, 2)
    >>> coding.over_network(P, A, model, owner, network).score.round(3)
    array([0.09, 0.12])
    """
    P, A = check_inputs(P, A, model)
    arguments = (constants(model), _kernel_iteration(model, owner, network, Iteration(**iteration)))
    codes, costs, used, reached = adapt_then_combine.code_documents(
        parts(P), parts(A), P.shape[1], *arguments
    )
    if _has_one_dual(network):
        costs = np.repeat(costs / network.n_agents, network.n_agents, axis=1)
    codes, score = sparse.csr_array(codes), -costs.sum(axis=1)
    h = penalty(model, codes)
    floats = np.multiply.outer(used * reached, network.neighbours)
    return Coded(codes, score - h, h, score, np.full(len(score), np.nan), costs, used, floats)


def learn_centralised(
    P: sparse.csr_array, A: sparse.csc_array, model: Model, step: float, *, tolerance: float = 1e-3
) -> sparse.csc_array:
    """Return the dictionary after the update W = Proj(prox(W + step nu y^T)) for each document.

    nu and y are the optimal dual variable and code of the document.

    Parameters
    ----------
    P, A, model, tolerance
        As in `centralised`.
    step : float
        Step size of the dictionary update.

    Returns
    -------
    csc_array, shape (n_terms, n_atoms)

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.distributed import coding, models
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> P = csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> A = csc_array([[0.6, 0.0], [0.8, 0.0], [0.0, 0.8]])
    >>> coding.learn_centralised(P, A, model, step=0.1).toarray().round(2)
    array([[0.6 , 0.  ],
           [0.8 , 0.  ],
           [0.  , 0.82]])
    """
    P, A = check_inputs(P, A, model)
    limits = (constants(model), float(tolerance), MAX_SWEEPS)
    steps = float(step), float(model.beta)
    return _dictionary(
        agent_descent.learn_documents(parts(P), parts(A), P.shape[1], *limits, *steps), P.shape[1]
    )


def learn_over_network(
    P: sparse.csr_array,
    A: sparse.csc_array,
    model: Model,
    step: float,
    owner: np.ndarray,
    network: Network,
    **iteration: Any,
) -> sparse.csc_array:
    """Return the dictionary after an update for each document over a network (eqs 51 to 56).

    Each agent uses its own dual variable and codes.

    Parameters
    ----------
    P, A, model, owner, network, iteration
        As in `over_network`.
    step : float
        Step size of the dictionary update.

    Returns
    -------
    csc_array, shape (n_terms, n_atoms)

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.distributed import coding, models, networks
    >>> model = models.task("nmf", gamma=0.05, delta=0.1)
    >>> P = csr_array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> A = csc_array([[0.6, 0.0], [0.8, 0.0], [0.0, 0.8]])
    >>> network, owner = networks.network("fully_connected", 2), coding.owners(2, 2)
    >>> coding.learn_over_network(P, A, model, 0.1, owner, network).toarray().round(2)
    array([[0.6 , 0.  ],
           [0.8 , 0.  ],
           [0.  , 0.82]])
    """
    P, A = check_inputs(P, A, model)
    steps = (
        _kernel_iteration(model, owner, network, Iteration(**iteration)),
        float(step),
        float(model.beta),
    )
    learned = adapt_then_combine.learn_documents(
        parts(P), parts(A), P.shape[1], constants(model), *steps
    )
    return _dictionary(learned, P.shape[1])
