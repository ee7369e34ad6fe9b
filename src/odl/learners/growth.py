"""New atoms of the dictionaries that grow (NIPS 2012 supplement, Algorithms 4 and 5 leave open where they start)."""

import numpy as np
from scipy import sparse

from odl.learners.atoms import atoms_from


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
