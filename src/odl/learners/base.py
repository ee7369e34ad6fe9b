"""What every learner is: hyper-parameters, an explicit state, and four functions between them.

The mechanism (ICASSP 2013, GENNVL) is ``score`` with the dictionary of the past, then ``accumulate``
over blocks of the batch and ``update``. Hyper-parameters are a frozen dataclass; everything that
changes is in the `State`, which is what a checkpoint stores, so a run continued from a checkpoint
continues bit for bit.
"""

import numbers
import operator
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.coding import sparse_code
from odl.errors import ParameterError

BLOCK = 512  # documents summed at a time: fixed, so that sums do not depend on sharding
ROUNDING = 1e-12  # residuals of unit-norm documents below this are zero


@dataclass(frozen=True)
class State:
    """Everything of a learner that changes.

    Parameters
    ----------
    dictionary : csc_array, shape (n_terms, n_atoms)
        Atoms in columns.
    arrays : dict of str to csr_array, csc_array or ndarray
        What the algorithm keeps beside the dictionary; grows in terms with it.
    updates : int
        Updates counted for step sizes.
    """

    dictionary: sparse.csc_array
    arrays: dict = field(default_factory=dict)
    updates: int = 0


class Scores(NamedTuple):
    """Codes (documents x atoms, CSR) and the two parts of the objective, one value a document."""

    codes: sparse.csr_array
    residual: np.ndarray
    penalty: np.ndarray
    gap: float


class Block(NamedTuple):
    """A run of documents of a batch that starts at position `start` in it."""

    P: sparse.csr_array
    start: int


def blocks(P):
    """Cut a batch into blocks of `BLOCK` documents."""
    return [Block(P[start : start + BLOCK], start) for start in range(0, P.shape[0], BLOCK)]


def domain(given, expected):
    """Return the error for a hyper-parameter outside its domain."""
    return ParameterError(given, expected, "correct the learner's settings")


RELATIONS = {"minimum": (operator.ge, "of at least"), "exclusiveMinimum": (operator.gt, "above")}
KINDS = {float: "a finite number", int: "a whole number", bool: "True or False", str: "text"}


def _is(value, kind):
    """Tell whether a value is of the kind of a hyper-parameter; numbers of numpy are, True is no number."""
    if kind in (bool, str):
        return isinstance(value, kind)
    number = numbers.Integral if kind is int else numbers.Real
    return isinstance(value, number) and not isinstance(value, bool) and abs(value) < float("inf")


def widen(matrix, n_rows=None, n_columns=None):
    """Return the sparse matrix with zero rows or columns appended; entries and format unchanged."""
    shape = (max(n_rows or 0, matrix.shape[0]), max(n_columns or 0, matrix.shape[1]))
    if shape == matrix.shape:
        return matrix
    matrix = matrix.copy()
    matrix.resize(shape)
    return matrix


def largest_per_row(matrix, most):
    """Keep the `most` largest entries in size of every row (0: all); equal sizes by lower column."""
    sizes = np.diff(matrix.indptr)
    if most == 0 or not len(sizes) or sizes.max() <= most:
        return matrix.sorted_indices()
    matrix = matrix.sorted_indices()
    keep = np.ones(matrix.nnz, dtype=bool)
    for row in np.flatnonzero(sizes > most):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        keep[span.start + np.argsort(-np.abs(matrix.data[span]), kind="stable")[most:]] = False
    totals = np.concatenate([[0], np.cumsum(keep)])
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], totals[matrix.indptr]), shape=matrix.shape)


@dataclass(frozen=True)
class L1Learner:
    """Common part of the learners of min ||P - X A^T||_1 + lam ||X||_1, A and X non-negative.

    Parameters
    ----------
    lam : float
        Weight of the l1 penalty on the codes.
    rounds : int
        Alternations of coding and updating on the first batch.
    start_terms : int
        Heaviest terms of a document that its atom starts from; 0 takes the whole document. An atom enters a
        code only if more than (1 + lam)/2 of its mass is on words of the document, so an atom made of a
        whole document explains hardly any other one and gives the learner little to learn from.
    carry : bool
        Whether the algorithm's own memory and update count go on from the initialisation.
    solver : {"exact", "admm"}
        Sparse coder.
    iterations, phi, relaxation : int, float, float
        Iterations, penalty and step of the dual (gamma in NIPS 2012) of the ADMM coder.

    Notes
    -----
    Documents are rows: P (documents x terms), A (terms x atoms), X (documents x atoms).
    Source: ICASSP 2013 sections 2.1 and 3.
    """

    lam: float = 0.1
    rounds: int = 30
    start_terms: int = 10
    carry: bool = False
    solver: str = "exact"
    iterations: int = 100
    phi: float = 5.0
    relaxation: float = 1.89

    algorithm: ClassVar[str] = ""
    norm: ClassVar[str] = "l1"
    needs_history: ClassVar[bool] = False
    grows: ClassVar[bool] = False
    choices: ClassVar[dict] = {"solver": ("exact", "admm")}
    bounds: ClassVar[dict] = {
        "lam": {"minimum": 0},
        "rounds": {"minimum": 0},
        "start_terms": {"minimum": 0},
        "iterations": {"minimum": 1},
        "phi": {"exclusiveMinimum": 0},
        "relaxation": {"exclusiveMinimum": 0},
    }

    def __post_init__(self):
        name = type(self).__name__
        for key, entry in parameters(type(self)).items():
            if not _is(getattr(self, key), entry.type):
                raise domain(f"{name}: {key}={getattr(self, key)!r}", KINDS[entry.type])
        for key, bound in self.bounds.items():
            for relation, limit in bound.items():
                if not RELATIONS[relation][0](getattr(self, key), limit):
                    expected = f"{KINDS[parameters(type(self))[key].type]} {RELATIONS[relation][1]} {limit}"
                    raise domain(f"{name}: {key}={getattr(self, key)!r}", expected)
        for key, allowed in self.choices.items():
            if getattr(self, key) not in allowed:
                raise domain(f"{name}: {key}={getattr(self, key)!r}", f"one of {', '.join(allowed)}")

    def start(self, P, n_atoms, rng):
        """Learn the first dictionary: documents as atoms, then alternations by the learner's own rule.

        Parameters
        ----------
        P : csr_array, shape (n_documents, n_terms)
            First batch, rows of unit l1 norm.
        n_atoms : int
        rng : numpy.random.Generator
            Draws the documents that the atoms start from.

        Returns
        -------
        State

        Raises
        ------
        ParameterError
            If there are fewer non-empty documents than atoms.
        """
        if not _is(n_atoms, int):
            raise ParameterError(f"{n_atoms!r} atoms", "a whole number", "correct the number of atoms")
        filled = np.flatnonzero(np.diff(P.indptr))
        if not 1 <= n_atoms <= len(filled):
            raise ParameterError(
                f"{n_atoms} atoms for {len(filled)} documents with known terms in the first batch",
                "from 1 atom to one for each document",
                "lower atoms or raise batches.initial",
            )
        rows = np.sort(rng.choice(filled, size=n_atoms, replace=False))
        atoms = largest_per_row(P[rows], self.start_terms)
        atoms.data /= np.repeat(np.asarray(atoms.sum(axis=1)), np.diff(atoms.indptr))
        state = self.fresh(sparse.csc_array(atoms.T))
        for _ in range(self.rounds):
            state = self.learn(state, P, self.score(state, P).codes)
        return state if self.carry else self.fresh(state.dictionary)

    def fresh(self, dictionary):
        """Return the state of a learner that has the dictionary but no memory."""
        return State(dictionary)

    def fit_terms(self, state, n_terms):
        """Return the state with zero rows for terms that are new; nothing else changes."""
        return replace(state, dictionary=widen(state.dictionary, n_rows=n_terms))

    def score(self, state, P):
        """Code documents on the dictionary: min_{x >= 0} ||p - A x||_1 + lam ||x||_1.

        Returns
        -------
        Scores
        """
        A = widen(state.dictionary, n_rows=P.shape[1])
        gap = 0.0
        if self.solver == "exact":
            X, objective = sparse_code(P, A, self.lam, solver="exact")
        else:
            options = {"iterations": self.iterations, "phi": self.phi, "gamma": self.relaxation}
            X, objective, gaps = sparse_code(P, A, self.lam, solver=self.solver, return_gap=True, **options)
            gap = float(np.max(gaps / np.maximum(objective - gaps, 1e-300), initial=0.0))
        penalty = self.lam * np.asarray(X.sum(axis=1)).ravel()
        return Scores(X, objective - penalty, penalty, gap)

    def learn(self, state, P, X):
        """Return the state after learning a whole batch with the codes X."""
        state = self.fit_terms(state, P.shape[1])
        parts = [self.accumulate(state, block, X[block.start : block.start + BLOCK]) for block in blocks(P)]
        return self.update(state, self.merge(parts))

    def accumulate(self, state, block, X):
        """Return the statistics of one block of documents at the current dictionary."""
        raise NotImplementedError

    def merge(self, parts):
        """Sum the statistics of blocks, in the order given."""
        raise NotImplementedError

    def update(self, state, statistics):
        """Return the next state."""
        raise NotImplementedError


@dataclass(frozen=True)
class SubgradientLearner(L1Learner):
    """Learners that see a batch only through the subgradient sign(X A^T - P)^T X, sign(0) = 0.

    Parameters
    ----------
    per_document : bool
        Divide the subgradient by the number of documents (the papers sum over the batch).
    """

    per_document: bool = False

    def accumulate(self, state, block, X):
        """Return the subgradient of the block (terms x atoms, CSC) and its number of documents."""
        residual = sparse.csr_array(X @ state.dictionary.T - block.P)
        # An exact fit leaves rounding noise, which has a sign: it would count as a full subgradient.
        signs = np.sign(np.where(np.abs(residual.data) > ROUNDING, residual.data, 0.0))
        signs = sparse.csr_array((signs, residual.indices, residual.indptr), shape=residual.shape)
        return sparse.csc_array(signs.T @ X), block.P.shape[0]

    def merge(self, parts):
        """Sum the subgradients; divide by the documents if `per_document`."""
        total, n_documents = parts[0]
        for gradient, size in parts[1:]:
            total, n_documents = total + gradient, n_documents + size
        return total / n_documents if self.per_document else total


def parameters(learner_class):
    """Return the hyper-parameters of a learner class as a dict of name to dataclass field."""
    return {entry.name: entry for entry in fields(learner_class)}
