"""Documents of the first batch, or of a later one, as atoms."""

import numbers

import numpy as np
from scipy import sparse

from odl.errors import ParameterError
from odl.learners.matrices import largest_per_row


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
