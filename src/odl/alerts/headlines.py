"""Headlines of a period: which words may name one, which words belong together, what a headline is called.

A headline starts with the strongest word that is in none yet. Words belong to it if at least
`OVERLAP` of the documents of the smaller one have both; they are in the order of t_w, equal ones by
documents, then by the word. Those in fewer than `MIN_WORD_SHARE` of its documents are left out. Its
documents are those of its first word.
"""

import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import phrasing
from odl.text.words import fold_case

MAX_DOCUMENT_SHARE = (
    0.05  # share of earlier documents above which a word names nothing; .02 to .2: one event of 50
)
OVERLAP = (
    0.5  # share of the documents of two words that have both; .34 to .7 give the same headlines
)
MIN_T = 1.0  # t_w below which a word is in no headline
MAX_COMPARED = 300  # strongest words that are compared with each other
MAX_NAME_PARTS, MAX_NAME_COLUMNS = 3, 60  # words or phrases of a name, and their columns at most
MIN_WORD_SHARE = (
    0.25  # share of a headline's documents that have each of its words, two documents at least
)
FORM_SHARE = (
    0.8  # share of the documents of a period from which new words alone are a change of form
)
STORED_EXAMPLES = 10  # documents that are stored of a headline that speaks
TEXTS_READ = 50  # documents whose texts are read for a name
CALENDAR = frozenset(  # lines that begin with # say where the words are from
    word
    for line in (files("odl.text") / "calendar.txt").read_text(encoding="utf-8").splitlines()
    for word in (() if line.startswith("#") else line.split())
)
HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}")
HEX = re.compile(r"(?=.*\d)[0-9a-f]{7,}")
STEM_LETTERS = 4  # letters from which on a part that begins another one says nothing beside it
NEIGHBOUR_SHARE = (
    0.8  # share of the places of a word that have the same word beside them: it is part of its name
)
JOINED = (
    re.compile(r"((?:[^\W_]+[-\u2010\u2011])+)$"),
    re.compile(r"^((?:[-\u2010\u2011][^\W_]+)+)"),
)
NEIGHBOURS = re.compile(r"([^\W\d_]+) $"), re.compile(r"^ ([^\W\d_]+)")  # words before and after
YEAR = re.compile(
    r"(?:19|20)\d\d[^\W\d_]*"
)  # with letters behind it, as where the space behind a date is missing


class Draft(NamedTuple):
    """A headline before it has a name.

    Attributes
    ----------
    terms : ndarray of int64
        Its words, the strongest first.
    rows : ndarray of int64
        Its documents, rows of the items.
    t, t_all, t_recent : float
    form : bool
    """

    terms: np.ndarray
    rows: np.ndarray
    t: float
    t_all: float
    t_recent: float
    form: bool = False


@cache
def may_name(word):
    """Return whether a word may name a headline: no date, host, handle, hash or sign such as an emoji.

    Examples
    --------
    >>> from odl.alerts.headlines import may_name
    >>> [may_name(word) for word in ("ebola", "march", "2003", "example.org", "deadbeef01", "@odl")]
    [True, False, False, False, False, False]
    """
    folded = fold_case(word)
    dated = folded in CALENDAR or YEAR.fullmatch(folded)
    no_name = dated or word.startswith("@") or HOST.fullmatch(word) or HEX.fullmatch(word)
    return not no_name and any(map(str.isalnum, word))


def find_terms(evidence, counts, frequencies, n_documents, vocabulary, barred=frozenset()):
    """Return the terms that may be in headlines, by their evidence, the strongest first.

    Parameters
    ----------
    evidence : odl.alerts.surprise.Evidence
    counts : odl.alerts.surprise.Counts
    frequencies : ndarray, shape (n_terms,)
        Documents before the period that have the term.
    n_documents : int
        Documents before the period.
    vocabulary : list of str
    barred : set of str
        Further words that name nothing: accounts and sources.

    Returns
    -------
    ndarray of int64
        At most `MAX_COMPARED`.
    """
    terms = np.flatnonzero((evidence.t > MIN_T) & (frequencies <= MAX_DOCUMENT_SHARE * n_documents))
    order = np.lexsort((terms, -(counts.words + counts.titles)[terms], -evidence.t[terms]))
    chosen = []
    for term in terms[order].tolist():
        if may_name(vocabulary[term]) and vocabulary[term] not in barred:
            chosen.append(term)
            if len(chosen) == MAX_COMPARED:
                break
    return np.array(chosen, dtype=np.int64)


def group_terms(terms, evidence, X, new, most):
    """Group terms whose documents overlap into headlines; return the strongest headlines of a period.

    Parameters
    ----------
    terms : ndarray of int64
        As `find_terms` returns them.
    evidence : odl.alerts.surprise.Evidence
    X : csr_array, shape (n_items, n_terms)
        Words of texts and titles.
    new : ndarray of bool, shape (n_terms,)
        Terms that no document before has.
    most : int
        Headlines at most.

    Returns
    -------
    list of Draft
        By t, largest first.
    """
    if not len(terms):
        return []
    has = sparse.csc_array(X[:, terms] > 0, dtype=np.int64)
    both = (
        has.T @ has
    ).toarray()  # at most MAX_COMPARED rows and columns, whatever the number of documents
    sizes = np.diag(both)
    overlap = both / np.maximum(np.minimum(sizes, sizes[:, None]), 1)
    free, found = np.ones(len(terms), dtype=bool), []
    for first, term in enumerate(terms.tolist()):
        if len(found) == most:
            break
        if not free[first]:
            continue
        members = free & (overlap[first] >= OVERLAP)
        members[first] = True
        free &= ~members
        rows = np.sort(has.indices[has.indptr[first] : has.indptr[first + 1]]).astype(np.int64)
        members &= both[first] >= (max(2, MIN_WORD_SHARE * len(rows)) if len(rows) > 1 else 1)
        members[first] = True
        words = terms[members]
        form = bool(len(rows) > FORM_SHARE * X.shape[0] and X.shape[0] >= 10 and new[words].all())
        values = (float(each[term]) for each in (evidence.t, evidence.t_all, evidence.t_recent))
        found.append(Draft(words, rows, *values, form))
    return found


def single_word_draft(term, rows, t):
    """Return the draft of a headline of one word."""
    return Draft(np.array([term]), rows, t, t, t)


def name_headline(draft, evidence, vocabulary, texts, period=None):
    """Return the name of a headline: its first words or phrases, spelled as in the texts.

    Parameters
    ----------
    draft : Draft
    evidence : odl.alerts.surprise.Evidence
    vocabulary : list of str
    texts : callable
        Of rows of items, their texts; of none where they are not stored.
    period : odl.alerts.phrasing.PeriodTexts, optional

    Returns
    -------
    tuple of str
    """
    weights = {
        vocabulary[term]: float(max(evidence.t[term], MIN_T))
        for term in draft.terms[: 2 * MAX_NAME_PARTS].tolist()
    }
    read = texts(draft.rows[:TEXTS_READ])
    parts = (
        [phrase for phrase, _ in phrasing.phrases(read, weights, 1, period)]
        if read
        else list(weights)
    )
    words = period.holders.keys() - weights if period else set()
    return _fitting(_compound(part, read, words) for part in parts)


def _compound(part, texts, words=()):
    """Return a word or phrase with what hyphens join to most of its places, and the words that nearly all stand beside.

    Parameters
    ----------
    part : str
    texts : list of str
    words : collection of str
        Words that may stand beside it, folded: no stop words.

    Examples
    --------
    >>> from odl.alerts.headlines import _compound
    >>> _compound("ons", ["Add-ons fail", "my add-ons and add ons", "all add-ons"])
    'Add-ons'
    >>> _compound("flighted", ["Cancelled Flighted!", "is Cancelled Flighted today"], {"cancelled", "today"})
    'Cancelled Flighted'
    """
    if phrasing.is_unspaced(part):
        return part
    spans = [(text, *span) for text in texts for span in _whole_spans(part, text)]
    grows = False
    for before, after, share, allowed in (
        (*JOINED, 0.5, None),
        (*NEIGHBOURS, NEIGHBOUR_SHARE, words),
    ):
        for at, pattern in enumerate((before, after)):
            grown = [_grown(span, pattern, at) for span in spans]
            beside = Counter(fold_case(other) for other, _ in grown if other)
            usual, count = min(
                beside.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0)
            )
            if count > max(1, share * len(spans)) and (allowed is None or usual in allowed):
                spans, grows = [span for other, span in grown if fold_case(other) == usual], True
    spelled = Counter(text[first:last] for text, first, last in spans)
    return max(sorted(spelled), key=spelled.get) if grows else part


def _whole_spans(part, text):
    """Return the places of a word or phrase in a text, ignoring case, where no letter or digit is beside it."""
    lowered, wanted, found = text.lower(), part.lower(), []
    if len(lowered) != len(text) or len(wanted) != len(part):
        whole = re.compile(rf"(?<![^\W_]){re.escape(part)}(?![^\W_])", re.IGNORECASE)
        return [match.span() for match in whole.finditer(text)]
    first = lowered.find(wanted)
    while first >= 0:
        last = first + len(wanted)
        alone = not (lowered[first - 1 : first].isalnum() or lowered[last : last + 1].isalnum())
        found += [(first, last)] * alone
        first = lowered.find(wanted, last if alone else first + 1)
    return found


def _grown(span, pattern, after):
    """Return what a pattern finds beside a span of a text, and the span with it."""
    text, first, last = span
    beside = (
        text[last : last + MAX_NAME_COLUMNS]
        if after
        else text[max(0, first - MAX_NAME_COLUMNS) : first]
    )
    match = pattern.search(beside)
    if not match:
        return "", span
    n = len(match[0])
    return match[1], ((text, first, last + n) if after else (text, first - n, last))


def _fitting(parts):
    """Return the first parts of a name that fit in its columns, without those that begin another one or with it."""
    chosen, room = [], MAX_NAME_COLUMNS
    for part in parts:
        pairs = [sorted((part.casefold(), one.casefold()), key=len) for one in chosen]
        again = any(
            one == other or (len(one) >= STEM_LETTERS and other.startswith(one))
            for one, other in pairs
        )
        if chosen and (again or len(part) + 2 > room):
            continue
        chosen.append(part[:MAX_NAME_COLUMNS])
        room -= len(part) + 2
        if len(chosen) == MAX_NAME_PARTS:
            break
    return tuple(chosen)


def find_central(Q, rows, languages, most):
    """Return the rows of the documents that are most like the sum of all, the most central first.

    Only documents in the language of most of them are considered.

    Parameters
    ----------
    Q : csr_array, shape (n_items, n_terms)
        Rows of unit l2 norm.
    rows : ndarray of int64
    languages : list of str or None
        Language of each item.
    most : int
    """
    if languages is not None and len(rows) > 1:
        own = [languages[row] for row in rows.tolist()]
        usual = max(sorted({*own}), key=own.count)
        rows = rows[[one == usual for one in own]]
    members = sparse.csr_array(Q[rows])
    likeness = members @ np.asarray(members.sum(axis=0)).ravel()
    return rows[np.lexsort((rows, -np.round(likeness, 9)))][:most]
