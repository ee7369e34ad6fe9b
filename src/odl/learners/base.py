"""Base classes of the learners: hyper-parameters, state, and the functions to score and learn.

A batch is scored with the current dictionary, then learned by ``accumulate`` and ``update``
(GENNVL, ICASSP 2013). Hyper-parameters are fields of a frozen dataclass. Everything that changes is
in the `State`. Checkpoints store the complete state, so a resumed run and an uninterrupted run give
the same bytes.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.config.setting import Section
from odl.config.setting import setting as setting  # learners import it from this module
from odl.errors import CheckpointError
from odl.learners import sparse_atoms
from odl.learners.sparse_atoms import renumber_terms, widen, with_terms


class ArraySpec(NamedTuple):
    """Layout, shape, type and limits of an array of a state.

    Attributes
    ----------
    layout : {"csr", "csc", "dense"}
    shape : tuple of str or int
        Size of each dimension: an integer, or the name of a size. "terms" and "atoms" are the sizes
        of the dictionary; only sparse arrays have a dimension "terms". "positions" allows any size,
        one entry for each position in a batch.
    dtype : type
    between : (str or int, str or int)
        Smallest and largest value of a dense array: a number, "atoms", or "start" (initial number
        of atoms).

    Examples
    --------
    >>> from odl.learners.base import ArraySpec
    >>> total = ArraySpec("csc", ("terms", "atoms"))
    >>> total.zeros({"terms": 5, "atoms": 2}).shape, total.text({"terms": 5, "atoms": 2})
    ((5, 2), 'csc float64 of 5 terms x 2 atoms')
    """

    layout: str
    shape: tuple
    dtype: type = np.float64
    between: tuple = (-np.inf, np.inf)

    def zeros(self, sizes: Mapping[str, int]) -> Any:
        """Return an array of zeros with the named sizes and without positions."""
        shape = tuple({**sizes, "positions": 0}.get(size, size) for size in self.shape)
        if self.layout == "dense":
            return np.zeros(shape, dtype=self.dtype)
        return (sparse.csr_array if self.layout == "csr" else sparse.csc_array)(
            shape, dtype=self.dtype
        )

    def fits(self, value: Any, sizes: Mapping[str, int]) -> bool:
        """Return whether a value matches the specification for the named sizes."""
        if (_layout(value), value.dtype, value.ndim) != (self.layout, self.dtype, len(self.shape)):
            return False
        for dimension, size in zip(self.shape, value.shape, strict=True):
            if dimension != "positions" and size != sizes.get(dimension, dimension):
                return False
        if self.layout != "dense":
            return True
        low, high = (sizes.get(bound, bound) for bound in self.between)
        return bool(np.all(np.isfinite(value) & (low <= value) & (value <= high)))

    def text(self, sizes: Mapping[str, int]) -> str:
        """Return a description for error messages, with the named sizes."""
        shape = [f"{sizes[size]} {size}" if size in sizes else str(size) for size in self.shape]
        low, high = (sizes.get(bound, bound) for bound in self.between)
        description = f"{self.layout} {np.dtype(self.dtype)} of {' x '.join(shape)}"
        return description if low == -np.inf else f"{description} within {low} to {high}"


DICTIONARY = ArraySpec("csc", ("terms", "atoms"))


def check_arrays(specs, dictionary, arrays, start, path):
    """Raise CheckpointError unless the arrays of a checkpoint match their specifications.

    The kernels do not check the sizes and indices of arrays.

    Parameters
    ----------
    specs : dict of str to ArraySpec
        Arrays of the learner other than the dictionary.
    dictionary, arrays
        As in `odl.learners.State`.
    start : int
        Initial number of atoms.
    path : path-like
        Checkpoint that the message names.

    Raises
    ------
    CheckpointError
        If an array is missing, unknown, or has another layout, size, type or value. The message
        names the first such array.
    """
    sizes = {**dict(zip(("terms", "atoms"), dictionary.shape, strict=False)), "start": start}
    expected_specs, stored = (
        {"dictionary": DICTIONARY, **specs},
        {"dictionary": dictionary, **arrays},
    )
    for name in sorted(expected_specs | stored):
        layout = _text(stored[name]) if name in stored else "nothing"
        expected = expected_specs[name].text(sizes) if name in expected_specs else "nothing"
        if "nothing" in (layout, expected) or not expected_specs[name].fits(stored[name], sizes):
            todo = f"delete {path} and run the same command again"
            raise CheckpointError(f"{path} contains {layout} as {name}", expected, todo)


def _layout(value):
    """Return the layout of an array: "csr", "csc" or "dense"."""
    return getattr(value, "format", "dense")


def _text(value):
    """Return a description of an array for error messages."""
    description = (
        f"{_layout(value)} {value.dtype} of {' x '.join(map(str, value.shape)) or 'no dimension'}"
    )
    if _layout(value) == "dense" and value.size:
        description += f" within {value.min()} to {value.max()}"
    return description


@dataclass(frozen=True)
class State:
    """Dictionary, further arrays and update count of a learner.

    Parameters
    ----------
    dictionary : csc_array, shape (n_terms, n_atoms)
        Atoms in columns.
    arrays : dict of str to csr_array, csc_array or ndarray
        Other arrays of the algorithm, as `Learner.array_specs` declares them.
    updates : int
        Number of updates, which step sizes depend on.

    Attributes
    ----------
    derived : dict
        Cache of data computed from the other fields, such as inverted lists. It is not stored.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> state = learners.make("dual_averaging").start(P, 1, np.random.default_rng(0))
    >>> state.dictionary.shape, list(state.arrays), state.updates
    ((4, 1), ['gradient_sum'], 0)
    """

    dictionary: sparse.csc_array
    arrays: dict = field(default_factory=dict)
    updates: int = 0
    derived: dict = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getattr__(self, name):
        """Build the attribute `dictionary` of a state of `from_columns` when it is first read."""
        if name != "dictionary":
            raise AttributeError(name)
        object.__setattr__(self, name, self.columns.matrix(self.shape[0]))
        return self.dictionary

    def __getstate__(self):
        """Return the state without cached data, for copies and for other processes."""
        return {
            "dictionary": self.dictionary,
            "arrays": self.arrays,
            "updates": self.updates,
            "derived": {},
        }

    @classmethod
    def from_columns(cls, columns: Any, n_terms: int, arrays: dict, updates: int) -> "State":
        """Return a state with the dictionary given as columns.

        The matrix is built when `dictionary` is first read.

        Parameters
        ----------
        columns : odl.learners.likeness.Columns
        n_terms : int
        arrays, updates
            As in the class.
        """
        state = object.__new__(cls)
        size = n_terms, len(columns.spans)
        state.__dict__.update(
            columns=columns, size=size, arrays=arrays, updates=updates, derived={}
        )
        return state

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of terms and atoms."""
        return self.__dict__.get("size") or self.dictionary.shape

    def with_arrays(self, arrays: dict, n_terms: int = 0) -> "State":
        """Return a copy with other arrays and at least n_terms terms.

        The copy shares cached data, which does not depend on terms without weights.
        """
        state, size = object.__new__(type(self)), (max(n_terms, self.shape[0]), self.shape[1])
        state.__dict__.update({**self.__dict__, "arrays": arrays})
        if "size" in state.__dict__:
            state.__dict__["size"] = size
        if "dictionary" in state.__dict__:
            state.__dict__["dictionary"] = widen(self.dictionary, n_rows=n_terms)
        return state


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a batch: codes, and the residual and penalty of each document.

    The score of a document is its residual plus its penalty.

    Parameters
    ----------
    coding : csr_array, shape (n_documents, n_atoms), or callable
        Codes, or a function without arguments that computes them when `codes` is first read.
    residual, penalty : ndarray, shape (n_documents,)
    gap : float
        Largest relative duality gap of the codes.
    nearest : tuple
        Nearest atoms of each document, from a cluster learner, so that `shares` does not search for
        these atoms again.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners
    >>> P = csr_array([[0.5, 0.5, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> scores = learner.score(learner.start(P, 1, np.random.default_rng(0)), P)
    >>> scores.codes.shape, (scores.residual + scores.penalty).round(2)
    ((3, 1), array([0.1 , 0.28, 0.28]))
    """

    coding: sparse.csr_array | Callable[[], sparse.csr_array]
    residual: np.ndarray
    penalty: np.ndarray
    gap: float
    nearest: tuple = ()

    @cached_property
    def codes(self) -> sparse.csr_array:
        """Codes of the documents, shape (n_documents, n_atoms)."""
        return self.coding() if callable(self.coding) else self.coding


@dataclass(frozen=True)
class Learner(Section, abc.ABC):
    """Base class of all learners: validated hyper-parameters and the order of the steps.

    A subclass is a frozen dataclass. The pipeline reads its class attributes.

    Attributes
    ----------
    algorithm : str
        Name of the learner in the configuration, and of its module.
    norm : {"l1", "l2"}
        Norm to which documents are scaled before the learner gets them.
    needs_history : bool
        Whether `learn` needs the documents of all earlier timesteps.
    grows : bool
        Whether learning adds atoms. The column of an atom never changes.
    opens : bool
        Whether a document can open an atom. `n_atoms` may then exceed the number of documents in
        the first batch.
    numbers_per_atom : int
        Numbers stored for each atom in addition to its `terms`, for a learner whose setting
        `memory` determines the number of atoms; 0 for other learners.
    uses_codes : bool
        Whether `learn` reads the codes X; if not, X may be None.
    has_regret : bool
        Whether the workflow can measure regret, which is defined for online learners of the L1
        objective with a fixed number of atoms.
    over_ranks : bool
        Whether the learner has agents that can run on several MPI ranks.

    Notes
    -----
    Documents are rows: P (documents x terms), A (terms x atoms), X (documents x atoms).

    Examples
    --------
    >>> from odl import learners
    >>> learner = learners.make("batch")
    >>> isinstance(learner, learners.Learner), learner.needs_history, learner.norm
    (True, True, 'l1')
    """

    algorithm: ClassVar[str] = ""
    norm: ClassVar[str] = "l1"
    needs_history: ClassVar[bool] = False
    grows: ClassVar[bool] = False
    opens: ClassVar[bool] = False
    numbers_per_atom: ClassVar[int] = 0
    uses_codes: ClassVar[bool] = True
    has_regret: ClassVar[bool] = False
    over_ranks: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.place = cls.__name__  # prefix of setting names in messages

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """Specifications of the arrays in the state, by name, without the dictionary."""
        return {}

    @property
    def in_batch(self) -> bool:
        """Whether the score of a document depends on the other documents of its batch."""
        return False

    @abc.abstractmethod
    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary.

        Parameters
        ----------
        P : csr_array, shape (n_documents, n_terms)
            First batch, with rows of unit norm.
        n_atoms : int
        rng : numpy.random.Generator

        Returns
        -------
        State

        Raises
        ------
        ParameterError
            If there are fewer non-empty documents than atoms.
        """

    def fresh(self, dictionary: sparse.csc_array) -> State:
        """Return a state with this dictionary, in which all other arrays are zero."""
        sizes = dict(zip(("terms", "atoms"), dictionary.shape, strict=True))
        return State(
            dictionary, {name: array.zeros(sizes) for name, array in self.array_specs.items()}
        )

    def fit_terms(self, state: State, n_terms: int) -> State:
        """Return the state with zero rows appended for new terms."""
        if n_terms <= state.shape[0]:
            return state
        arrays = {
            name: with_terms(value, self.array_specs[name].shape, n_terms)
            for name, value in state.arrays.items()
        }
        return state.with_arrays(arrays, n_terms)

    def move_terms(self, state: State, places: np.ndarray, n_terms: int) -> State:
        """Return the state with terms renumbered and dropped; the order of atoms does not change.

        Parameters
        ----------
        state : State
        places : ndarray of int64
            New number of each term, ascending; -1 for a term that left the vocabulary.
        n_terms : int
            Number of terms afterwards.
        """
        arrays = {
            name: renumber_terms(value, self.array_specs[name].shape, places, n_terms)
            for name, value in state.arrays.items()
        }
        return replace(
            state,
            dictionary=renumber_terms(state.dictionary, DICTIONARY.shape, places, n_terms),
            arrays=arrays,
        )

    @abc.abstractmethod
    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Code documents with the dictionary, and score them.

        The score of a document is the minimum of the learner's objective over codes.

        Returns
        -------
        Scores
        """

    def word_loss(self, residual: np.ndarray) -> np.ndarray:
        """Return the loss of each entry of p - A x.

        Callers normalise the losses of a document, so a factor common to its entries does not
        matter.
        """
        return residual**2

    def shares(self, state: State, P: sparse.csr_array, scores: Scores) -> sparse.csr_array:
        """Return the contribution of each word to the scores, in the sparsity pattern of P.

        A row sums, up to rounding, to the score of the document without the part that depends on
        other documents of its batch.
        """
        return sparse_atoms.split_scores(
            P, widen(state.dictionary, n_rows=P.shape[1]), scores, self.word_loss
        )

    def with_room(self, state: State, n_atoms: int) -> State:
        """Return a state whose dictionary may grow to n_atoms.

        Learners of fixed size return the state unchanged.
        """
        return state

    def learn(
        self,
        state: State,
        P: sparse.csr_array,
        X: sparse.csr_array,
        history: Sequence[sparse.csr_array] = (),
    ) -> State:
        """Return the state after learning a batch: `update` with the result of `accumulate`.

        Parameters
        ----------
        state : State
        P : csr_array, shape (n_documents, n_terms)
        X : csr_array, shape (n_documents, n_atoms)
            Codes of `score`.
        history : sequence of csr_array
            Documents of earlier timesteps, oldest first, with the weights of their time; only for
            learners with `needs_history`.

        Returns
        -------
        State
        """
        state = self.fit_terms(state, P.shape[1])
        return self.update(state, self.accumulate(state, P, X))

    def accumulate(self, state: State, P: sparse.csr_array, X: sparse.csr_array) -> Any:
        """Return statistics of a batch; learners that override `learn` need no `accumulate`."""
        raise NotImplementedError

    def update(self, state: State, statistics: Any) -> State:
        """Return the updated state; learners that override `learn` need no `update`."""
        raise NotImplementedError


def parameters(learner_class: type[Learner]) -> dict[str, Field]:
    """Return the hyper-parameters of a learner class as a dict of name to dataclass field.

    Examples
    --------
    >>> from odl import learners
    >>> list(learners.parameters(learners.learner_class("projected_gradient")))
    ... # doctest: +NORMALIZE_WHITESPACE
    ['lam', 'rounds', 'start_terms', 'carry', 'solver', 'iterations', 'phi', 'relaxation',
     'per_document', 'eta']
    """
    return {entry.name: entry for entry in fields(learner_class)}
