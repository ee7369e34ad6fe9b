"""Sparse matrices of documents and atoms: growth with the vocabulary, heaviest entries, new atoms, shares of words."""

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from odl.errors import ParameterError

BLOCK = 512  # documents summed at a time, in one order


def blocks(n_documents):
    """Return the rows of a batch in the parts that sums are taken over."""
    return [slice(first, first + BLOCK) for first in range(0, max(n_documents, 1), BLOCK)]


def widen(matrix, n_rows=None, n_columns=None):
    """Return the sparse matrix with zero rows or columns appended; entries and format unchanged."""
    shape = (max(n_rows or 0, matrix.shape[0]), max(n_columns or 0, matrix.shape[1]))
    if shape == matrix.shape:
        return matrix
    matrix = matrix.copy()
    matrix.resize(shape)
    return matrix


def with_terms(value, shape, n_terms):
    """Return an array with nothing for the terms that are new, in the dimension that has a size for each term."""
    if "terms" not in shape:
        return value
    return widen(value, **{("n_rows", "n_columns")[shape.index("terms")]: n_terms})


def moved(value, shape, places, n_terms):
    """Return an array whose terms have other numbers, without those that have none any more.

    Parameters
    ----------
    value : csr_array, csc_array or ndarray
    shape : tuple of str or int
        As of `odl.learners.base.ArraySpec`.
    places : ndarray of int64
        New number of each term, rising; -1 for one that has left.
    n_terms : int
        Terms there are now.
    """
    if "terms" not in shape:
        return value
    axis, minor = shape.index("terms"), 1 if value.format == "csr" else 0
    if axis != minor:
        other = value.tocsc() if value.format == "csr" else value.tocsr()
        return moved(other, shape, places, n_terms).asformat(value.format)
    columns = places[value.indices]
    kept = columns >= 0
    totals = np.concatenate([[0], np.cumsum(kept)]).astype(value.indptr.dtype)
    parts = value.data[kept], columns[kept].astype(value.indices.dtype), totals[value.indptr]
    size = (n_terms, value.shape[1]) if axis == 0 else (value.shape[0], n_terms)
    return type(value)(parts, shape=size)


def largest_per_row(matrix, most):
    """Keep the `most` largest entries in size of every row (0: all); equal sizes by lower column.

    A matrix of which all is kept comes back as it is, not copied.
    """
    sizes = np.diff(matrix.indptr)
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    if most == 0 or not len(sizes) or sizes.max() <= most:
        return matrix
    keep = np.ones(matrix.nnz, dtype=bool)
    for row in np.flatnonzero(sizes > most):
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        keep[span.start + np.argsort(-np.abs(matrix.data[span]), kind="stable")[most:]] = False
    totals = np.concatenate([[0], np.cumsum(keep)])
    return sparse.csr_array((matrix.data[keep], matrix.indices[keep], totals[matrix.indptr]), shape=matrix.shape)


def leading(matrix, most):
    """Return up to `most` pairs of column and value of each row, largest first, equal ones by lower column.

    Rows are gone over once for each of the pairs, which takes a fifth of sorting them. Of a matrix by columns they are
    the columns.
    """
    ends = matrix.indptr
    rows, values = np.flatnonzero(np.diff(ends)), matrix.data[: ends[-1]].astype(np.float64)
    sizes, lists = np.diff(ends)[rows], [[] for _ in range(len(ends) - 1)]
    of_row = np.repeat(np.arange(len(rows)), sizes)
    for _ in range(most if len(rows) else 0):
        best = np.maximum.reduceat(values, ends[rows])
        at = np.flatnonzero((values == np.repeat(best, sizes)) & (values > -np.inf))
        at = at[np.lexsort((matrix.indices[at], of_row[at]))]
        at = at[np.unique(of_row[at], return_index=True)[1]]
        pairs = zip(matrix.indices[at].tolist(), values[at].tolist(), strict=True)
        for row, pair in zip(rows[of_row[at]].tolist(), pairs, strict=True):
            lists[row].append(pair)
        values[at] = -np.inf  # told
    return lists


def check_atoms(P, n_atoms, on_demand=False):
    """Check the number of atoms and return the documents of the first batch that have a known term.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    n_atoms : int
    on_demand : bool
        Atoms are opened when they are needed: there may be more than documents.

    Raises
    ------
    ParameterError
        If it is no whole number from 1 to the number of such documents, or there is no such document.
    """
    if not isinstance(n_atoms, numbers.Integral) or isinstance(n_atoms, bool):
        raise ParameterError(f"{n_atoms!r} atoms", "a whole number", "correct the number of atoms")
    filled = np.flatnonzero(np.diff(P.indptr))
    if not 1 <= (min(n_atoms, len(filled)) if on_demand else n_atoms) <= len(filled):
        raise ParameterError(
            f"{n_atoms} atoms for {len(filled)} documents with known terms in the first batch",
            "at least 1 atom and 1 document" if on_demand else "from 1 atom to one for each document",
            "correct atoms or raise batches.initial" if on_demand else "lower atoms or raise batches.initial",
        )
    return filled


def draw_atoms(P, n_atoms, rng, start_terms=0, norm="l1"):
    """Draw documents of the first batch as atoms.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    n_atoms : int
    rng : numpy.random.Generator
    start_terms : int
        Heaviest terms of a document that its atom is made of; 0 takes the whole document.
    norm : {"l1", "l2"}
        Norm to which the atoms are scaled.

    Returns
    -------
    csc_array, shape (n_terms, n_atoms)

    Raises
    ------
    ParameterError
        If there are fewer non-empty documents than atoms.
    """
    filled = check_atoms(P, n_atoms)
    rows = np.sort(rng.choice(filled, size=n_atoms, replace=False))
    return atoms_from(P[rows], start_terms, norm)


def atoms_from(P, start_terms=0, norm="l1"):
    """Return the documents, cut to their `start_terms` heaviest terms (0: all), as atoms of unit norm in columns."""
    atoms = largest_per_row(P, start_terms)
    sizes = np.asarray(atoms.sum(axis=1)) if norm == "l1" else np.sqrt(np.asarray(atoms.multiply(atoms).sum(axis=1)))
    values = atoms.data / np.repeat(np.ravel(sizes), np.diff(atoms.indptr))
    return sparse.csc_array(sparse.csr_array((values, atoms.indices, atoms.indptr), shape=atoms.shape).T)


def new_atoms(P, novelty, count, enters, *, start_terms=0, norm="l1"):
    """Make atoms of the documents that are explained worst, each of another kind.

    Documents are taken in falling order of novelty, equal ones in their order in the batch. One is passed over if an
    atom chosen before would enter its code, so that a single new topic does not take all new atoms; where too few
    remain, those passed over fill the rest.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        The batch.
    novelty : ndarray, shape (n_documents,)
        Score of each document.
    count : int
        Atoms wanted.
    enters : callable
        (P, atom of shape (n_terms, 1)) to a mask of the documents whose code the atom alone would enter.
    start_terms : int
        Heaviest terms of a document that its atom is made of; 0 takes the whole document.
    norm : {"l1", "l2"}
        Norm of the atoms.

    Returns
    -------
    csc_array, shape (n_terms, count)
        Fewer atoms only if the batch has fewer documents with known terms.
    """
    order = np.argsort(-np.asarray(novelty), kind="stable")
    order = order[np.diff(P.indptr)[order] > 0]
    atoms = [sparse.csc_array((P.shape[1], 0))]
    explained, taken = np.zeros(P.shape[0], dtype=bool), np.zeros(P.shape[0], dtype=bool)
    for fill in (False, True):
        for row in order:
            if len(atoms) > count:
                break
            if taken[row] or (explained[row] and not fill):
                continue
            atoms.append(atoms_from(P[[row]], start_terms, norm))
            explained |= enters(P, atoms[-1])
            taken[row] = True
    return sparse.csc_array(sparse.hstack(atoms, format="csc"))


def of_codes(
    P: sparse.csr_array, A: sparse.csc_array, scores: Any, loss: Callable[[np.ndarray], np.ndarray]
) -> sparse.csr_array:
    """Part the objective of coded documents among their words.

    With r = p - A x, e = A x and S the words of the document, word i of S gets

        rho l(r_i) / sum_k l(r_k)  +  rest |e_i| / sum_{S} |e_i|

    rho is the residual; the rest of the score is the penalty and the residual on words that the document does not
    have: the price of the atoms, borne by the words that they explain (by p_i where they explain none). What a
    document has is its score, up to rounding.

    Equation `word-shares` of docs/method.md.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    A : csc_array, shape (n_terms, n_atoms)
    scores : odl.learners.base.Scores
    loss : callable
        Entries of the residual to their losses l, up to a factor of the document.

    Returns
    -------
    csr_array, shape (n_documents, n_terms)
        Entries where P has them.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.learners import Scores
    >>> from odl.learners.sparse_atoms import of_codes
    >>> P, A, X = csr_array([[0.5, 0.3, 0.2]]), csc_array([[0.5], [0.5], [0.0]]), csr_array([[0.6]])
    >>> scores = of_codes(P, A, Scores(X, np.array([0.4]), np.array([0.06]), 0.0), np.abs)
    >>> scores.toarray().round(3), scores.sum().round(3)
    (array([[0.23, 0.03, 0.2 ]]), np.float64(0.46))
    """
    explained = sparse.csr_array(scores.codes @ A.T)
    residual = sparse.csr_array(P - explained)
    residual.data = loss(residual.data)
    totals = np.asarray(residual.sum(axis=1)).ravel()
    scale = np.where(totals > 0, scores.residual / np.where(totals > 0, totals, 1.0), 0.0)
    own = entries(residual, P) * np.repeat(scale, np.diff(P.indptr))
    rest = scores.residual + scores.penalty - _sums(P, own)
    borne = np.abs(entries(explained, P))
    unborne = np.repeat(_sums(P, borne) <= 0, np.diff(P.indptr))
    borne[unborne] = np.abs(P.data[unborne])
    sums = _sums(P, borne)
    price = np.where(sums > 0, rest / np.where(sums > 0, sums, 1.0), 0.0)
    return with_data(P, own + borne * np.repeat(price, np.diff(P.indptr)))


def entries(matrix, P):
    """Return what a matrix has at the stored entries of P, in their order."""
    return values_at(matrix, np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)), P.indices)


def values_at(matrix, rows, columns):
    """Return what a matrix has in some places."""
    if not len(rows):
        return np.zeros(0)
    return sparse.csr_matrix(matrix)[rows, columns].A1  # of a csr_array that would be sparse itself


def with_data(P, data):
    """Return a matrix with the entries of P at other values."""
    return sparse.csr_array((data, P.indices, P.indptr), shape=P.shape)


def _sums(P, data):
    return np.asarray(with_data(P, data).sum(axis=1)).ravel()
