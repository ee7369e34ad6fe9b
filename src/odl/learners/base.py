"""Base of the learners: hyper-parameters, an explicit state of declared arrays, and four functions between them.

The mechanism (ICASSP 2013, GENNVL) is ``score`` with the dictionary of the past, then ``accumulate``
and ``update``. Hyper-parameters are a frozen dataclass; everything that
changes is in the `State`, which is what a checkpoint stores, so a run continued from a checkpoint
continues bit for bit.
"""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odl.config.setting import Section
from odl.config.setting import setting as setting  # of learners, from here
from odl.errors import CheckpointError
from odl.learners import sparse_atoms
from odl.learners.sparse_atoms import moved, widen, with_terms


class ArraySpec(NamedTuple):
    """What an array of a state is.

    Attributes
    ----------
    layout : {"csr", "csc", "dense"}
    shape : tuple of str or int
        Of each dimension a number, or "terms" or "atoms", as many as the dictionary has ("terms" for sparse arrays
        only), or "positions", documents of a batch, of which there may be any number.
    dtype : type
    between : (str or int, str or int)
        Smallest and largest value of a dense array: a number, "atoms", or "start", the atoms that the run began with.

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
        """Return the array for sizes by name, with nothing in it and no positions."""
        shape = tuple({**sizes, "positions": 0}.get(size, size) for size in self.shape)
        if self.layout == "dense":
            return np.zeros(shape, dtype=self.dtype)
        return (sparse.csr_array if self.layout == "csr" else sparse.csc_array)(shape, dtype=self.dtype)

    def fits(self, value: Any, sizes: Mapping[str, int]) -> bool:
        """Tell whether a value is such an array, for sizes by name."""
        if (_layout(value), value.dtype, value.ndim) != (self.layout, self.dtype, len(self.shape)):
            return False
        free = {**sizes, "positions": None}
        if any(free.get(want, want) not in (None, size) for want, size in zip(self.shape, value.shape, strict=True)):
            return False
        low, high = (sizes.get(bound, bound) for bound in self.between)
        return self.layout != "dense" or bool(np.all(np.isfinite(value) & (low <= value) & (value <= high)))

    def text(self, sizes: Mapping[str, int]) -> str:
        """Return in words what it is, for sizes by name."""
        shape = [f"{sizes[size]} {size}" if size in sizes else str(size) for size in self.shape]
        low, high = (sizes.get(bound, bound) for bound in self.between)
        words = f"{self.layout} {np.dtype(self.dtype)} of {' x '.join(shape)}"
        return words if low == -np.inf else f"{words} within {low} to {high}"


DICTIONARY = ArraySpec("csc", ("terms", "atoms"))


def check_arrays(kept, dictionary, arrays, start, path):
    """Refuse the arrays of a checkpoint that are none of the learner's: kernels would trust them.

    Parameters
    ----------
    kept : dict of str to ArraySpec
        What the learner keeps beside its dictionary.
    dictionary, arrays
        As in `odl.learners.State`.
    start : int
        Atoms that the run began with.
    path : path-like
        The checkpoint, for the message.

    Raises
    ------
    CheckpointError
        Naming the first array that is missing, too much, or of another layout, size, type or value.
    """
    sizes = {**dict(zip(("terms", "atoms"), dictionary.shape, strict=False)), "start": start}
    wanted, stored = {"dictionary": DICTIONARY, **kept}, {"dictionary": dictionary, **arrays}
    for name in sorted(wanted | stored):
        layout = _text(stored[name]) if name in stored else "nothing"
        expected = wanted[name].text(sizes) if name in wanted else "nothing"
        if "nothing" in (layout, expected) or not wanted[name].fits(stored[name], sizes):
            todo = f"delete {path} and run the same command again"
            raise CheckpointError(f"{path} holds {layout} as {name}", expected, todo)


def _layout(value):
    return getattr(value, "format", "dense")


def _text(value):
    """Return in words what an array is."""
    words = f"{_layout(value)} {value.dtype} of {' x '.join(map(str, value.shape)) or 'no dimension'}"
    if _layout(value) == "dense" and value.size:
        words += f" within {value.min()} to {value.max()}"
    return words


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

    Attributes
    ----------
    derived : dict
        What learners have made of the rest and would make again, such as inverted lists. It is not saved.

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
        """Make the dictionary where there are only its columns (`from_columns`), once somebody asks for it."""
        if name != "dictionary":
            raise AttributeError(name)
        object.__setattr__(self, name, self.columns.matrix(self.shape[0]))
        return self.dictionary

    def __getstate__(self):
        return {"dictionary": self.dictionary, "arrays": self.arrays, "updates": self.updates, "derived": {}}

    @classmethod
    def from_columns(cls, columns: Any, n_terms: int, arrays: dict, updates: int) -> "State":
        """Return the state of some columns, of which a matrix is made when it is needed.

        Parameters
        ----------
        columns : odl.learners.likeness.Columns
        n_terms : int
        arrays, updates
            As of the class.
        """
        state = object.__new__(cls)
        size = n_terms, len(columns.spans)
        state.__dict__.update(columns=columns, size=size, arrays=arrays, updates=updates, derived={})
        return state

    @property
    def shape(self) -> tuple[int, int]:
        """Terms and atoms."""
        return self.__dict__.get("size") or self.dictionary.shape

    def with_arrays(self, arrays: dict, n_terms: int = 0) -> "State":
        """Return a copy with other arrays and at least n_terms terms.

        Cached data is shared, as it does not depend on terms without weights.
        """
        state, size = object.__new__(type(self)), (max(n_terms, self.shape[0]), self.shape[1])
        state.__dict__.update({**self.__dict__, "arrays": arrays})
        if "size" in state.__dict__:
            state.__dict__["size"] = size
        if "dictionary" in state.__dict__:
            state.__dict__["dictionary"] = widen(self.dictionary, n_rows=n_terms)
        return state


class Scores(NamedTuple):
    """Codes (documents x atoms, CSR) and the two parts of the objective, one value a document.

    `nearest` is what a learner of nearest atoms need not look for again where the words' shares are asked for.

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

    codes: sparse.csr_array
    residual: np.ndarray
    penalty: np.ndarray
    gap: float
    nearest: tuple = ()


@dataclass(frozen=True)
class Learner(Section, abc.ABC):
    """Common part of all learners: checked hyper-parameters and the order of the steps.

    A subclass is a frozen dataclass. Its class attributes say what the pipeline has to know of it.

    Attributes
    ----------
    algorithm : str
        Name in the configuration and name of the file.
    norm : {"l1", "l2"}
        Norm to which its documents are scaled.
    needs_history : bool
        Whether `learn` wants the documents of all the timesteps before.
    grows : bool
        Whether atoms are added as the stream goes by. The number of an old atom never changes.
    opens : bool
        Whether it opens atoms on demand, so that there may be more of them than documents in the first batch.
    beside : int
        Numbers stored for an atom beside its `terms`, where the number of atoms follows from its `memory`; else 0.
    has_regret : bool
        Whether its regret can be measured: online, of the L1 objective, of a fixed number of atoms.
    over_ranks : bool
        Whether it has agents that can live on several MPI ranks.

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
    has_regret: ClassVar[bool] = False
    over_ranks: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.place = cls.__name__  # what messages call its settings by

    @property
    def array_specs(self) -> dict[str, ArraySpec]:
        """What the state holds beside the dictionary: name of the array to `odl.learners.base.ArraySpec`."""
        return {}

    @property
    def in_batch(self) -> bool:
        """Whether the score of a document depends on the others of its batch."""
        return False

    @abc.abstractmethod
    def start(self, P: sparse.csr_array, n_atoms: int, rng: np.random.Generator) -> State:
        """Learn the first dictionary.

        Parameters
        ----------
        P : csr_array, shape (n_documents, n_terms)
            First batch, rows of unit norm.
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
        """Return the state of a learner that has the dictionary but no memory."""
        sizes = dict(zip(("terms", "atoms"), dictionary.shape, strict=True))
        return State(dictionary, {name: array.zeros(sizes) for name, array in self.array_specs.items()})

    def fit_terms(self, state: State, n_terms: int) -> State:
        """Return the state with zero rows for terms that are new; nothing else changes."""
        if n_terms <= state.shape[0]:
            return state
        arrays = {
            name: with_terms(value, self.array_specs[name].shape, n_terms) for name, value in state.arrays.items()
        }
        return state.with_arrays(arrays, n_terms)

    def move_terms(self, state: State, places: np.ndarray, n_terms: int) -> State:
        """Return the state under other numbers of terms, without those that have left; atoms keep theirs.

        Parameters
        ----------
        state : State
        places : ndarray of int64
            New number of each term, rising; -1 for one that has left the vocabulary.
        n_terms : int
            Terms there are now.
        """
        arrays = {
            name: moved(value, self.array_specs[name].shape, places, n_terms) for name, value in state.arrays.items()
        }
        return replace(state, dictionary=moved(state.dictionary, DICTIONARY.shape, places, n_terms), arrays=arrays)

    @abc.abstractmethod
    def score(self, state: State, P: sparse.csr_array) -> Scores:
        """Code documents on the dictionary; the score of a document is its objective.

        Returns
        -------
        Scores
        """

    def word_loss(self, residual: np.ndarray) -> np.ndarray:
        """Return the loss of single entries of p - A x, up to a factor of the document."""
        return residual**2

    def shares(self, state: State, P: sparse.csr_array, scores: Scores) -> sparse.csr_array:
        """Return the part of each word in the scores of documents, entries where P has them.

        What a document has is its score (up to rounding), but for what the rest of its batch adds.
        """
        return sparse_atoms.of_codes(P, widen(state.dictionary, n_rows=P.shape[1]), scores, self.word_loss)

    def with_room(self, state: State, n_atoms: int) -> State:
        """Return the state of a dictionary that may grow to so many atoms; of one with a fixed size as it is."""
        return state

    def learn(
        self, state: State, P: sparse.csr_array, X: sparse.csr_array, history: Sequence[sparse.csr_array] = ()
    ) -> State:
        """Return the state after learning a batch with the codes X: that of `update` by what `accumulate` sums.

        Parameters
        ----------
        state : State
        P : csr_array, shape (n_documents, n_terms)
        X : csr_array, shape (n_documents, n_atoms)
            Codes of `score`.
        history : sequence of csr_array
            Documents of the timesteps before, oldest first, as they were weighed then; only for learners with
            `needs_history`.

        Returns
        -------
        State
        """
        state = self.fit_terms(state, P.shape[1])
        return self.update(state, self.accumulate(state, P, X))

    def accumulate(self, state: State, P: sparse.csr_array, X: sparse.csr_array) -> Any:
        """Return the statistics of a batch at the current dictionary, of a learner that has no `learn` of its own."""
        raise NotImplementedError

    def update(self, state: State, statistics: Any) -> State:
        """Return the next state, of a learner that has no `learn` of its own."""
        raise NotImplementedError


def parameters(learner_class: type[Learner]) -> dict[str, Field]:
    """Return the hyper-parameters of a learner class as a dict of name to dataclass field.

    Examples
    --------
    >>> from odl import learners
    >>> [name for name in learners.parameters(learners.learner_class("projected_gradient"))]
    ['lam', 'rounds', 'start_terms', 'carry', 'solver', 'iterations', 'phi', 'relaxation', 'per_document', 'eta']
    """
    return {entry.name: entry for entry in fields(learner_class)}
