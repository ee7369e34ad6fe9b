"""Explanation of a novelty score: the share of each word in the score, and the nearest atoms."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import novelty
from odl.alerts import phrasing
from odl.alerts.breakdown import LEAST_SHARE
from odl.alerts.excerpts import excerpt
from odl.alerts.model import Document, Near, Reason, Rest
from odl.alerts.surprise import take_rows
from odl.files import storage
from odl.files.documents import TITLE_CHARACTERS
from odl.learners import likeness, sparse_atoms
from odl.learners.base import Learner, State

ATOM_WORDS = 8  # largest number of words that describe an atom
EXCERPT_WORDS = 12  # largest number of words that choose an excerpt
LEAST_NORM = 1e-150  # lower bound of the norms by which products are divided


class Origins(NamedTuple):
    """Where documents come from, and their texts; an unknown entry is an empty string.

    Attributes
    ----------
    files, urls : list of str
    sources : list of str
        Source of each document: its file, or its value in the column `source`. The gate of volume
        counts the documents of each source.
    authors : list of str
        Author of each document; an empty list if no document has one.
    texts : odl.alerts.phrasing.Texts
    """

    files: list
    sources: list
    urls: list
    authors: list
    texts: phrasing.Texts


class Atom(NamedTuple):
    """An atom near a document.

    Attributes
    ----------
    number : int
        Row of the dictionary.
    cosine : float
        Cosine of the document and the atom.
    code : float
        Weight of the atom in the document's code; 0 if the code does not use it.
    words : list of (str, float)
        Heaviest words of the atom and their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> from odl.alerts.reasons import explain
    >>> P = csr_array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state, new = learner.start(P, 1, np.random.default_rng(0)), csr_array([[0.4, 0.4, 0.2]])
    >>> scored = novelty.score(learner, state, new)
    >>> (why,) = explain(learner, state, new, scored, ["crude", "oil", "orbit"])
    >>> [(word, round(weight, 2)) for word, weight in why.atoms[0].words]
    [('crude', 0.58), ('oil', 0.42)]
    >>> round(why.atoms[0].cosine, 2)
    0.93
    """

    number: int
    cosine: float
    code: float
    words: list


class Explanation(NamedTuple):
    """Explanation of the score of one document.

    Attributes
    ----------
    score : float
    words : dict of str to float
        Word of the document -> its share of the score, largest first.
    context : float
        Part of the score that belongs to no word (`odl.novelty.shares`). The shares and the context
        add up to the score.
    atoms : list of Atom
        The nearest known atoms, nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> from odl.alerts.reasons import explain
    >>> P = csr_array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state, new = learner.start(P, 1, np.random.default_rng(0)), csr_array([[0.4, 0.4, 0.2]])
    >>> scored = novelty.score(learner, state, new)
    >>> (why,) = explain(learner, state, new, scored, ["crude", "oil", "orbit"])
    >>> round(why.score, 2), round(sum(why.words.values()) + why.context, 2)
    (0.38, 0.38)
    """

    score: float
    words: dict
    context: float
    atoms: list


def explain(
    learner: Learner,
    state: State,
    P: sparse.csr_array,
    scored: novelty.Novelty,
    names: Sequence[str],
    *,
    n_words: int | None = None,
    n_atoms: int = 3,
    fold: Callable[[sparse.csr_array], sparse.csr_array] | None = None,
) -> list[Explanation]:
    """Return an `Explanation` of the score of each document.

    Parameters
    ----------
    learner : odl.learners.Learner
    state : odl.learners.State
        State with which the documents were scored.
    P : csr_array, shape (n_documents, n_terms)
    scored : odl.novelty.Novelty
        Their scores and codes.
    names : sequence of str
        Name of each term.
    n_words : int, optional
        Largest number of words; all by default.
    n_atoms : int
        Largest number of atoms.
    fold : callable, optional
        Maps shares of all terms to shares of words. Needed if the first columns of P are pieces of
        words.

    Returns
    -------
    list of Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from odl import learners, novelty
    >>> from odl.alerts.reasons import explain
    >>> P = csr_array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    >>> learner = learners.make("dual_averaging")
    >>> state, new = learner.start(P, 1, np.random.default_rng(0)), csr_array([[0.4, 0.4, 0.2]])
    >>> scored = novelty.score(learner, state, new)
    >>> (why,) = explain(learner, state, new, scored, ["crude", "oil", "orbit"])
    >>> {word: round(share, 2) for word, share in why.words.items()}
    {'orbit': 0.2, 'oil': 0.14, 'crude': 0.04}
    """
    words, context = novelty.shares(learner, state, P, scored)
    n_pieces = 0  # number of the first columns of P that are pieces of words
    if fold:
        words, n_pieces = fold(words), P.shape[1] - len(names)
    near, cosines = nearest_atoms(P, state.dictionary, n_atoms)
    words_of = {}
    for atom in np.unique(near[near >= 0]).tolist():
        weights = sparse.csc_array(state.dictionary[:, [atom]])[n_pieces:]
        (heaviest,) = novelty.top_terms(weights, ATOM_WORDS)
        words_of[atom] = [(names[term], weight) for term, weight in heaviest]
    explanations = []
    parts = zip(scored.score.tolist(), context.tolist(), strict=True)
    for row, (score, remainder) in enumerate(parts):
        atoms = [
            Atom(atom, cosine, float(scored.codes[row, atom]), words_of[atom])
            for atom, cosine in zip(near[row].tolist(), cosines[row].tolist(), strict=True)
            if atom >= 0
        ]
        shares = sorted(shares_of(words, row).items(), key=lambda pair: (-pair[1], pair[0]))
        largest = {names[term]: share for term, share in shares[:n_words]}
        explanations.append(Explanation(score, largest, remainder, atoms))
    return explanations


def nearest_atoms(P, A, max_atoms):
    """Return the atoms with the largest cosines to each document, nearest first.

    Parameters
    ----------
    P : csr_array, shape (n_documents, n_terms)
    A : csc_array, shape (at most n_terms, n_atoms)
        Dictionary. Terms without a row have weight 0 in each atom.
    max_atoms : int

    Returns
    -------
    atoms : ndarray of int64, shape (n_documents, max_atoms)
        -1 if fewer atoms have a positive cosine.
    cosines : ndarray of float64, shape (n_documents, max_atoms)
    """
    atoms, cosines = np.full((P.shape[0], max_atoms), -1), np.zeros((P.shape[0], max_atoms))
    norms = np.sqrt(np.asarray(A.power(2).sum(axis=0))).ravel()
    lengths = np.sqrt(np.asarray(P.power(2).sum(axis=1))).ravel()
    scale = np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > LEAST_NORM)
    found = likeness.nearest_columns(P, A, max_atoms, scale)
    n_columns = found.columns.shape[1]  # fewer than `max_atoms` in a small dictionary
    atoms[:, :n_columns] = found.columns
    cosines[:, :n_columns] = found.similarity / np.maximum(lengths, LEAST_NORM)[:, None]
    return atoms, cosines


def word_shares(parts, counts, pieces=None):
    """Return the share of each word in each document's score, as float32.

    The result is a matrix with the sparsity pattern of `counts`. `parts` contains the shares that
    `odl.novelty.shares` returns. If `pieces` (`odl.stream.weighting.Pieces`) are given, the first
    columns of `parts` are pieces of words, and each piece's share is added to its words.
    """
    parts = pieces.folded(parts, counts) if pieces else parts
    return sparse_atoms.with_data(counts, sparse_atoms.entries(parts, counts)).astype(np.float32)


def shared_terms(frequencies, Q, firsts):
    """Return whether each term is in at least two documents, as a boolean array.

    `frequencies` counts the earlier documents; the rows `firsts` of Q are the new ones.
    """
    new = np.bincount(take_rows(Q, firsts).indices, minlength=Q.shape[1])
    return frequencies + new >= 2


def items(period, rows, words, data, atoms, origins, max_reasons):
    """Return records of documents with near-duplicates and reasons, ready to be stored and printed.

    Parameters
    ----------
    period : odl.alerts.model.Period
    rows : ndarray of int64
        Rows of the documents.
    words : csr_array
        Shares of the words of all documents (`odl.novelty.shares`).
    data : odl.stream.features.FeatureFile
    atoms : dict of int to (str, str)
        Words of each atom that is near to a document of `rows`, and the id of the document most
        similar to the atom.
    origins : Origins
        Origins of all documents.
    max_reasons : int
        Largest number of reasons; the other words of their phrases are added.

    Returns
    -------
    items : list of odl.alerts.model.Document
        The records, with rank 0.
    texts : odl.alerts.phrasing.PeriodTexts
        Texts of the period, by which phrases were chosen.
    """
    firsts = np.flatnonzero(period.item == np.arange(len(period.item)))
    shared = shared_terms(data.frequencies, words, firsts)
    texts = phrasing.PeriodTexts.from_counts(
        origins.texts(firsts.tolist()), take_rows(words, firsts), data.vocabulary
    )
    documents = []
    for row in rows.tolist():
        text, members = origins.texts.stored[row], np.flatnonzero(period.item == period.item[row])
        shares, leading = shares_of(words, row), lead(words, row, shared, None)
        own = {term for term in shares if not shared[term]}  # terms of no other document
        min_share = LEAST_SHARE * period.score[row]
        weights = {
            data.vocabulary[term]: shares[term]
            for term in leading
            if term not in own and shares[term] >= min_share
        }
        first_words = {data.vocabulary[term] for term in leading[:max_reasons]}
        phrases = _phrases_with(first_words, text, weights, texts)
        reason_words = first_words.union(*(phrase_words for _, phrase_words in phrases))
        terms = [term for term in leading if data.vocabulary[term] in reason_words]
        listed = own.union(terms)
        left_over = [share for term, share in shares.items() if term not in listed]
        reasons = tuple(Reason(data.vocabulary[term], shares[term]) for term in terms)
        excerpt_words = [word for word, _ in reasons[:EXCERPT_WORDS]]
        documents.append(
            Document(
                **period.facts_of(row),
                rank=0,
                id=data.ids[row],
                members=tuple(data.ids[member] for member in members.tolist()),
                title=data.titles[row],
                time=int(data.times[row]),
                source=origins.files[row],
                url=origins.urls[row],
                reasons=reasons,
                nearest=_nearest(atoms, period.near[row].tolist(), period.likeness[row].tolist()),
                led=sum(term not in own for term in terms),
                own=float(sum(share for term, share in shares.items() if term in own)),
                rest=_summary(left_over),
                text=excerpt(_behind(data.titles[row], text), excerpt_words),
                phrases=phrases,
            )
        )
    return documents, texts


def _phrases_with(words, text, weights, period):
    """Return the phrases of a text that contain one of `words`; none if the text is empty.

    The parameters `weights` and `period` are those of `odl.alerts.phrasing.phrases`.
    """
    found = phrasing.phrases([text], weights, period=period) if text else []
    return tuple(phrase for phrase in found if not words.isdisjoint(phrase[1]))


def _nearest(words_of, atoms, likeness):
    """Return `Near` records of the atoms near to a document; -1 in `atoms` is no atom."""
    atoms_found = [
        (atom, cosine, *words_of.get(atom, ("", "")))
        for atom, cosine in zip(atoms, likeness, strict=True)
        if atom >= 0
    ]
    return tuple(
        Near(atom, tuple(words.split()), cosine, ident)
        for atom, cosine, words, ident in atoms_found
    )


def _behind(title, text):
    """Return a text without the title at its beginning, unless the title was cut at its limit."""
    return text.removeprefix(f"{title} ") if len(title) < TITLE_CHARACTERS else text


def join(item, words, text, period):
    """Add phrases to a document for the words that none of its phrases contains.

    Nothing is added if `text`, the document's text, is empty.
    """
    missing = [word for word in words if all(word not in inside for _, inside in item.phrases)]
    if text:
        item.phrases = (*item.phrases, *phrasing.phrases([text], missing, period=period))


def origins(batch, n):
    """Return the `Origins` of the n documents of a batch.

    The batch file is read. Entries are empty if the file, or its data set, does not exist. Without
    the data set "sources", the source of a document is its file.
    """
    columns = {name: [""] * n for name in ("files", "urls", "texts")}
    columns |= {"authors": [], "sources": []}
    if batch is not None and os.path.exists(batch):
        with storage.reading(batch, "batch") as file:
            stored = columns.keys() & set(file)
            columns |= {name: storage.read_strings(file, name) for name in stored}
    return Origins(
        columns["files"], columns["sources"] or columns["files"], columns["urls"],
        columns["authors"], phrasing.Texts(columns["texts"]),
    )  # fmt: skip


def lead(words, row, shared, max_terms):
    """Return up to `max_terms` terms of a document with positive shares, largest first.

    Terms that only this document has come last, because they do not describe a topic.
    """
    span = slice(words.indptr[row], words.indptr[row + 1])
    terms, parts = words.indices[span], words.data[span]
    order = np.lexsort((terms, -parts, ~shared[terms]))
    return terms[order[parts[order] > 0]][:max_terms].tolist()


def shares_of(words, row):
    """Return {term: share} of a document."""
    span = slice(words.indptr[row], words.indptr[row + 1])
    return dict(zip(words.indices[span].tolist(), words.data[span].tolist(), strict=True))


def _summary(shares):
    """Return the `Rest` record of the shares of words that are no reasons."""
    positive = [share for share in shares if share > 0]
    negative = [share for share in shares if share < 0]
    return Rest(len(positive), max(positive, default=0.0), len(negative), float(np.sum(negative)))
