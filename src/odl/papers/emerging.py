"""Emerging topics: clusters of the most novel documents of a timestep.

A cluster consists of the documents whose largest code is that of one atom of a small dictionary B,
which is fitted to these documents:

    min ||Q - Z B^T||_1 + lam ||Z||_1  over Z >= 0 and B >= 0 with columns of l1 norm at most 1.

The method follows NIPS 2012, appendix D, and Kasiviswanathan, Melville, Banerjee and Sindhwani,
CIKM 2011. Its initial atoms and its definition of a cluster are not those of the CIKM paper, whose
description was not available.
"""

from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odl.coding import sparse_code
from odl.config.sections import SmallDictionary
from odl.dictionary.l1 import fit_dictionary
from odl.errors import DataError, ParameterError
from odl.evaluation.scorefiles import read_scores
from odl.learners.sparse_atoms import largest_per_row, top_entries
from odl.novelty import top_terms
from odl.papers import emergingfiles
from odl.stream import features

NO_CLUSTER = -1  # cluster of documents that are in no cluster
MAX_STARTS = 500  # maximum number of candidates for initial atoms
MIN_GAIN = 1e-9  # smallest decrease of the summed cost that is not a rounding error
FIT: dict[str, Any] = {"iterations": 300, "tolerance": 1e-4}  # stopping rule of a dictionary update
MIN_DECREASE = 1e-5  # relative decrease of the objective at which alternation stops


class Topics(NamedTuple):
    """Clusters of the most novel documents of a timestep, the largest first.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Rows of the selected documents in the batch, most novel first.
    cluster : ndarray of int, shape (n,)
        Cluster of each document; -1 for a document in no cluster.
    residual : ndarray, shape (n,)
        ``||q - B z||_1`` of each document with the small dictionary.
    atoms : csc_array, shape (n_terms, n_clusters)
        Atom of each cluster.
    representative : ndarray of int, shape (n_clusters,)
        Row in the batch of the document with the smallest residual in each cluster.
    objective : float
        ``||Q - Z B^T||_1 + lam ||Z||_1`` over the selected documents.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.papers import emerging
    >>> P = csr_array(np.repeat([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]], 4, axis=0))
    >>> clusters = emerging.find(P, np.ones(8), emerging.SmallDictionary(share=1.0))
    >>> clusters.atoms.toarray().T.round(2), clusters.representative
    (array([[0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5]]), array([0, 4]))
    """

    rows: np.ndarray
    cluster: np.ndarray
    residual: np.ndarray
    atoms: sparse.csc_array
    representative: np.ndarray
    objective: float


def most_novel(score: np.ndarray, P: sparse.csr_array, share: float) -> np.ndarray:
    """Return the rows of the most novel documents, most novel first.

    Documents with equal scores are in the order of the stream.

    Parameters
    ----------
    score : ndarray, shape (n_documents,)
        Larger scores are more novel.
    P : csr_array, shape (n_documents, n_terms)
        Empty rows are not selected.
    share : float
        Share of the non-empty rows that are selected, rounded up.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.papers import emerging
    >>> P = csr_array(np.repeat([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]], 4, axis=0))
    >>> emerging.most_novel(np.arange(8) / 8, P, share=0.25)
    array([7, 6])
    """
    filled = np.flatnonzero(np.diff(P.indptr))
    order = filled[np.argsort(-np.asarray(score)[filled], kind="stable")]
    return order[: int(np.ceil(share * len(filled)))]


def short_atoms(Q, start_terms, min_support):
    """Return a candidate for an initial atom for each document.

    Parameters
    ----------
    Q : csr_array, shape (n_documents, n_terms)
    start_terms : int
        Maximum number of terms of a candidate, those of the document with the largest weights.
        0 stands for all terms.
    min_support : int
        Minimum number of documents that contain a term of a candidate.

    Returns
    -------
    csr_array, shape (n_documents, n_terms)
        Rows of unit l1 norm. A row is empty if no term of the document has `min_support`.
    """
    support = np.bincount(Q.indices, minlength=Q.shape[1])  # number of documents with each term
    atoms = Q.copy()
    atoms.data[support[atoms.indices] < min_support] = 0.0
    atoms.eliminate_zeros()
    atoms = largest_per_row(atoms, start_terms)
    rows = np.repeat(np.arange(Q.shape[0]), np.diff(atoms.indptr))
    atoms.data /= np.bincount(rows, atoms.data, minlength=Q.shape[0])[rows]
    return atoms


def choose_initial_atoms(Q, settings):
    """Choose the initial atoms greedily among the candidates of `short_atoms`.

    The candidates are those of the `MAX_STARTS` most novel documents. The cost of document q with
    atom b is ``min_{z >= 0} ||q - z b||_1 + lam z``, or ``||q||_1`` without an atom. Each step adds
    the candidate with the largest decrease of the sum of costs, where each document has its
    cheapest atom. The choice ends with `settings.atoms` atoms, or when no candidate decreases the
    sum by more than `MIN_GAIN`.

    Parameters
    ----------
    Q : csr_array, shape (n_documents, n_terms)
        Selected documents, most novel first.
    settings : SmallDictionary

    Returns
    -------
    csc_array, shape (n_terms, at most `settings.atoms`)
    """
    candidates = short_atoms(Q, settings.start_terms, settings.min_support)[:MAX_STARTS]
    columns = sparse.csc_array(candidates.T)
    # cost[j, i]: cost of document i with candidate j as its only atom
    cost = np.array(
        [sparse_code(Q, columns[:, [j]], settings.lam)[1] for j in range(columns.shape[1])]
    )
    cheapest = np.asarray(Q.sum(axis=1)).ravel()  # cost of each document with the chosen atoms
    chosen = []
    while len(chosen) < min(settings.atoms, columns.shape[1]):
        gain = np.maximum(cheapest - cost, 0.0).sum(axis=1)
        candidate = int(np.argmax(gain))
        if gain[candidate] <= MIN_GAIN:
            break
        chosen.append(candidate)
        cheapest = np.minimum(cheapest, cost[candidate])
    return columns[:, chosen]


def alternate(
    Q: sparse.csr_array, B: sparse.csc_array, lam: float, rounds: int
) -> tuple[sparse.csc_array, sparse.csr_array, np.ndarray]:
    """Minimise ``||Q - Z B^T||_1 + lam ||Z||_1`` over Z >= 0 and B in 𝒜, in alternation.

    𝒜 = {B >= 0, every column of l1 norm at most 1}. The objective, which is not jointly convex,
    never increases.

    Equation `emerging-topics` of docs/method.md.

    Parameters
    ----------
    Q : csr_array, shape (n_documents, n_terms)
    B : csc_array, shape (n_terms, n_atoms)
        Initial atoms.
    lam : float
        Weight of the penalty.
    rounds : int
        Maximum number of alternations. Alternation stops earlier if the relative decrease of the
        objective is at most `MIN_DECREASE`.

    Returns
    -------
    B : csc_array
    Z : csr_array, shape (n_documents, n_atoms)
    objective : ndarray, shape (n_documents,)
        Objective of each document at B and Z.

    Examples
    --------
    >>> from scipy.sparse import csc_array, csr_array
    >>> from odl.papers.emerging import alternate
    >>> Q, B = csr_array([[0.5, 0.5], [0.5, 0.5]]), csc_array([[0.6], [0.4]])
    >>> B, Z, objective = alternate(Q, B, 0.1, 5)
    >>> B.toarray().ravel().round(3), objective.round(3)
    (array([0.6, 0.4]), array([0.25, 0.25]))
    """
    Z, objective = sparse_code(Q, B, lam)
    for _ in range(rounds if B.shape[1] else 0):
        fitted = fit_dictionary(Q, Z, B, **FIT).dictionary
        codes, value = sparse_code(Q, fitted, lam)
        decrease = objective.sum() - value.sum()
        if decrease > 0.0:
            B, Z, objective = fitted, codes, value
        if decrease <= MIN_DECREASE * value.sum():
            break
    return B, Z, objective


def group(Z, min_support):
    """Assign every document to the cluster of the atom with its largest code.

    Parameters
    ----------
    Z : csr_array, shape (n_documents, n_atoms)
    min_support : int
        Minimum number of documents of a cluster.

    Returns
    -------
    cluster : ndarray of int, shape (n_documents,)
        Cluster of each document, numbered by decreasing size; -1 if the code is zero or the cluster
        has fewer than `min_support` documents. Among equal codes, the code of the first atom
        counts as largest.
    atoms : ndarray of int
        Atom of each cluster.
    """
    atom_of = np.full(Z.shape[0], NO_CLUSTER)
    for row, pairs in enumerate(top_entries(Z, 1)):
        if pairs and pairs[0][1] > 0.0:
            atom_of[row] = pairs[0][0]
    sizes = np.bincount(atom_of[atom_of != NO_CLUSTER], minlength=Z.shape[1])
    order = np.argsort(-sizes, kind="stable")
    atoms = order[sizes[order] >= min_support]
    # The last entry is for documents without an atom, whose `atom_of` is -1.
    cluster_of = np.full(Z.shape[1] + 1, NO_CLUSTER)
    cluster_of[atoms] = np.arange(len(atoms))
    return cluster_of[atom_of], atoms


def find(P: sparse.csr_array, score: np.ndarray, settings: SmallDictionary | None = None) -> Topics:
    """Find the emerging topics of a timestep.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
        Rows of the batch, of unit l1 norm.
    score : ndarray, shape (n_documents,)
        Novelty scores. Larger scores are more novel.
    settings : SmallDictionary, optional

    Returns
    -------
    Topics

    Raises
    ------
    ParameterError
        If the number of scores differs from the number of documents, or a score is nan.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl.papers import emerging
    >>> P = csr_array(np.repeat([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]], 4, axis=0))
    >>> emerging.find(P, np.ones(8), emerging.SmallDictionary(share=1.0)).cluster
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    settings = settings or SmallDictionary()
    score = np.asarray(score, dtype=np.float64)
    if score.shape != (P.shape[0],) or np.isnan(score).any():
        with_nan = " with nan" if np.isnan(score).any() else ""
        raise ParameterError(
            f"scores have the shape {score.shape} for {P.shape[0]} documents{with_nan}",
            "a finite score for each document",
            "pass the scores of this batch",
        )
    rows = most_novel(score, P, settings.share)
    Q = P[rows]
    initial = choose_initial_atoms(Q, settings)
    B, Z, objective = alternate(Q, initial, settings.lam, settings.rounds)
    cluster, atoms = group(Z, settings.min_support)
    residual = objective - settings.lam * np.asarray(Z.sum(axis=1)).ravel()
    members = [np.flatnonzero(cluster == number) for number in range(len(atoms))]
    best = np.array([rows_in[np.argmin(residual[rows_in])] for rows_in in members], dtype=np.int64)
    return Topics(
        rows=rows,
        cluster=cluster,
        residual=residual,
        atoms=B[:, atoms],
        representative=rows[best],
        objective=float(objective.sum()),
    )


def find_in_files(scores, source, settings=None, corpus_features=None):
    """Find the emerging topics of one timestep from its files.

    The documents are weighted as in the run that computed the scores, and scaled to unit l1 norm.

    Parameters
    ----------
    scores : path-like
        File of the scores of one learner at one timestep.
    source : path-like
        Features file of the same timestep.
    settings : SmallDictionary, optional
    corpus_features : path-like, optional
        Features of the last timestep, which ``idf: corpus`` needs.

    Returns
    -------
    emerging : EmergingTopics
        Clusters, with the words of their atoms.
    batch : ScoredBatch
        Scores, ids and topics of the documents.

    Raises
    ------
    DataError
        If scores and features belong to different timesteps or documents.
    ParameterError, StorageError
        If a setting is out of range, or a file is missing or damaged.
    """
    settings = settings or SmallDictionary()
    (run, weighting), batch = emergingfiles.score_run(scores), read_scores(scores)
    data = features.read(source)
    if (data.t, data.ids) != (batch.t, batch.ids):
        raise DataError(
            f"{source} (timestep {data.t}) and {scores} (timestep {batch.t}) have different "
            "documents",
            "features and scores of the same documents",
            "name files of the same timestep and seed",
        )
    last_features = features.read(corpus_features) if corpus_features else None
    P = data.weighed(**weighting, norm="l1", corpus=last_features)[:]
    clusters = find(P, batch.scores[run["run"]], settings)  # run["run"] is the name of the run
    terms_of_clusters = top_terms(clusters.atoms, settings.terms)
    emerging = emergingfiles.EmergingTopics(
        t=batch.t,
        run=run,
        settings=asdict(settings),
        rows=clusters.rows,
        ids=[batch.ids[row] for row in clusters.rows],
        cluster=clusters.cluster,
        residual=clusters.residual,
        objective=clusters.objective,
        words=[" ".join(data.vocabulary[term] for term, _ in pairs) for pairs in terms_of_clusters],
        weights=[" ".join(f"{weight:.3g}" for _, weight in pairs) for pairs in terms_of_clusters],
        representative=clusters.representative,
    )
    return emerging, batch
