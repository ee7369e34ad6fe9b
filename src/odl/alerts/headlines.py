"""Headlines of a period: choice of their words, grouping of words, and names.

A headline starts with the word of largest t_w that is in no headline yet. Its documents are all
documents that contain this first word. Another word belongs to the headline if two conditions hold:
a share `OVERLAP` of the documents with the rarer of the two words contains both, and a share
`MIN_WORD_SHARE` of the headline's documents contains the other word. Words are sorted by t_w, then
by their number of documents, then by their term.
"""

import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import phrasing, surprise
from odl.text.words import fold_case

# Largest share of the earlier documents with a word that names a headline. Values from 0.02 to 0.2
# change one of 50 events.
MAX_DOCUMENT_SHARE = 0.05
# Share of the documents with the rarer of two words that must contain both, so that the words share
# a headline. Values from 0.34 to 0.7 give the same headlines.
OVERLAP = 0.5
MIN_T = 1.0  # t_w below which a word is in no headline
MAX_COMPARED = 300  # number of words, the strongest ones, that are compared with each other
MAX_NAME_PARTS, MAX_NAME_COLUMNS = 3, 60  # longest name in phrases, and in columns of a terminal
# Smallest share of a headline's documents that contain one of its words; at least two must.
MIN_WORD_SHARE = 0.25
# If a headline has only new words and a larger share of the period's documents, the form of the
# documents has changed (such as their markup), not their subject.
FORM_SHARE = 0.8
STORED_EXAMPLES = 10  # documents stored as examples of each headline that is shown
TEXTS_READ = 50  # largest number of documents whose texts are read to name a headline
# Words that name dates, such as weekdays and months. Lines of the file that begin with # are
# comments.
CALENDAR = frozenset(
    word
    for line in (files("odl.text") / "calendar.txt").read_text(encoding="utf-8").splitlines()
    for word in (() if line.startswith("#") else line.split())
)
HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}")
HEX = re.compile(r"(?=.*\d)[0-9a-f]{7,}")
# If a part of a name with at least this number of letters is the beginning of another part, only
# the first of both parts is used.
STEM_LETTERS = 4
# A name is extended by a part or word that is next to a larger share of its occurrences: joined
# by a hyphen, and separated by a space.
JOINED_SHARE, NEIGHBOUR_SHARE = 0.5, 0.8
JOINED = (
    re.compile(r"((?:[^\W_]+[-\u2010\u2011])+)$"),
    re.compile(r"^((?:[-\u2010\u2011][^\W_]+)+)"),
)
NEIGHBOURS = re.compile(r"([^\W\d_]+) $"), re.compile(r"^ ([^\W\d_]+)")  # words before and after
# A year, also with letters after it, since the space after a date may be missing.
YEAR = re.compile(r"(?:19|20)\d\d[^\W\d_]*")


class Draft(NamedTuple):
    """A headline before it has a name.

    Attributes
    ----------
    terms : ndarray of int64
        Words of the headline, the largest evidence first.
    rows : ndarray of int64
        Rows of the documents that contain the first word.
    t, t_all, t_recent : float
        Evidence of the first word (`odl.alerts.surprise.Evidence`).
    form : bool
        Whether the headline is a change of form (`FORM_SHARE`).
    p : float
        Probability of such a headline in a period in which nothing is new, divided by the share of
        its gate.
    gate : str
        Gate that the draft opens: "words", "certain" or "two periods"; "" if it opens none.
    """

    terms: np.ndarray
    rows: np.ndarray
    t: float
    t_all: float
    t_recent: float
    form: bool = False
    p: float = 1.0
    gate: str = ""


@cache
def may_name(word):
    """Return whether a word may name a headline.

    Dates, hosts, handles, hashes, and words without letters or digits may not.

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
    """Return the terms that may be in headlines, the largest evidence first.

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


def group_terms(terms, evidence, X, new, max_headlines):
    """Group terms whose documents overlap into headlines.

    Parameters
    ----------
    terms : ndarray of int64
        Result of `find_terms`.
    evidence : odl.alerts.surprise.Evidence
    X : csr_array, shape (n_items, n_terms)
        Words of texts and titles.
    new : ndarray of bool, shape (n_terms,)
        Whether no earlier document has the term.
    max_headlines : int

    Returns
    -------
    list of Draft
        At most `max_headlines`, the largest t first.
    """
    if not len(terms):
        return []
    has = sparse.csc_array(surprise.presence(X[:, terms]))
    n_both = (has.T @ has).toarray()  # at most MAX_COMPARED rows and columns
    sizes = np.diag(n_both)
    overlap = n_both / np.maximum(np.minimum(sizes, sizes[:, None]), 1)
    free, drafts = np.ones(len(terms), dtype=bool), []
    for first, term in enumerate(terms.tolist()):
        if len(drafts) == max_headlines:
            break
        if not free[first]:
            continue
        members = free & (overlap[first] >= OVERLAP)
        members[first] = True
        free &= ~members
        rows = np.sort(has.indices[has.indptr[first] : has.indptr[first + 1]]).astype(np.int64)
        members &= n_both[first] >= (max(2, MIN_WORD_SHARE * len(rows)) if len(rows) > 1 else 1)
        members[first] = True
        words = terms[members]
        form = bool(len(rows) > FORM_SHARE * X.shape[0] and X.shape[0] >= 10 and new[words].all())
        kinds = (evidence.t, evidence.t_all, evidence.t_recent)
        drafts.append(Draft(words, rows, *(float(values[term]) for values in kinds), form))
    return drafts


def name_headline(draft, evidence, vocabulary, texts, period=None):
    """Return the name of a headline: its first words or phrases, spelled as in the texts.

    Parameters
    ----------
    draft : Draft
    evidence : odl.alerts.surprise.Evidence
    vocabulary : list of str
    texts : callable
        Maps rows of items to their texts; returns an empty list if texts are not stored.
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
    return _fit_columns(_compound(part, read, words) for part in parts)


def _compound(part, texts, words=()):
    """Extend a word or phrase to the longer expression that contains it in most texts.

    First, parts that a hyphen joins to more than half of the occurrences are added ("ons" becomes
    "add-ons"). Then, a word that is next to more than `NEIGHBOUR_SHARE` of the occurrences is added
    on each side. The extended phrase has its most frequent spelling. A phrase that cannot be
    extended is returned unchanged.

    Parameters
    ----------
    part : str
        Word or phrase of a headline's name.
    texts : list of str
        Texts of the headline's documents.
    words : collection of str
        Words in lower case that may be added as neighbours, without stop words.

    Examples
    --------
    >>> from odl.alerts.headlines import _compound
    >>> _compound("ons", ["Add-ons fail", "my add-ons and add ons", "all add-ons"])
    'add-ons'
    >>> texts = ["Cancelled Flighted!", "is Cancelled Flighted today"]
    >>> _compound("flighted", texts, {"cancelled", "today"})
    'Cancelled Flighted'
    """
    if phrasing.is_unspaced(part):
        return part
    spans = [(text, *span) for text in texts for span in _whole_spans(part, text)]
    is_extended = False
    for before, after, min_share, allowed in (
        (*JOINED, JOINED_SHARE, None),
        (*NEIGHBOURS, NEIGHBOUR_SHARE, words),
    ):
        for pattern, is_after in ((before, False), (after, True)):
            extended = [_extend_span(span, pattern, is_after) for span in spans]
            counts = Counter(fold_case(neighbour) for neighbour, _ in extended if neighbour)
            if not counts:
                continue
            usual, count = min(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            is_frequent = count > max(1, min_share * len(spans))  # once is no evidence
            if is_frequent and (allowed is None or usual in allowed):
                spans = [span for neighbour, span in extended if fold_case(neighbour) == usual]
                is_extended = True
    if not is_extended:
        return part
    spellings = Counter(text[first:last] for text, first, last in spans)
    return max(sorted(spellings), key=spellings.get)


def _whole_spans(part, text):
    """Return the spans (start, end) at which a phrase occurs in a text, ignoring case.

    No letter or digit may be next to the phrase.
    """
    lowered, wanted, spans = text.lower(), part.lower(), []
    if len(lowered) != len(text) or len(wanted) != len(part):
        pattern = re.compile(rf"(?<![^\W_]){re.escape(part)}(?![^\W_])", re.IGNORECASE)
        return [match.span() for match in pattern.finditer(text)]
    first = lowered.find(wanted)
    while first >= 0:
        last = first + len(wanted)
        alone = not (lowered[first - 1 : first].isalnum() or lowered[last : last + 1].isalnum())
        if alone:
            spans.append((first, last))
        first = lowered.find(wanted, last if alone else first + 1)
    return spans


def _extend_span(span, pattern, after):
    """Return the text that a pattern matches next to a span, and the span extended by the match.

    A span is (text, start, end). Without a match, the result is "" and the span itself.
    """
    text, first, last = span
    before = text[max(0, first - MAX_NAME_COLUMNS) : first]
    match = pattern.search(text[last : last + MAX_NAME_COLUMNS] if after else before)
    if not match:
        return "", span
    n = len(match[0])
    return match[1], ((text, first, last + n) if after else (text, first - n, last))


def _fit_columns(parts):
    """Return the first parts of a name that fit into `MAX_NAME_COLUMNS`, as a tuple.

    At most `MAX_NAME_PARTS` are returned. A part is omitted if it begins with a chosen part, or a
    chosen part begins with it (`STEM_LETTERS`).
    """
    chosen, room = [], MAX_NAME_COLUMNS
    for part in parts:
        pairs = [sorted((part.casefold(), other.casefold()), key=len) for other in chosen]
        is_repeated = any(
            short == long or (len(short) >= STEM_LETTERS and long.startswith(short))
            for short, long in pairs
        )
        if chosen and (is_repeated or len(part) + 2 > room):
            continue
        chosen.append(part[:MAX_NAME_COLUMNS])
        room -= len(part) + 2
        if len(chosen) == MAX_NAME_PARTS:
            break
    return tuple(chosen)


def find_central(Q, rows, languages, max_rows):
    """Return those of `rows` that are the most central documents, the most central one first.

    These documents have the largest inner products with the sum of the documents `rows`. Only
    documents in the most frequent language are considered.

    Parameters
    ----------
    Q : csr_array, shape (n_items, n_terms)
        Rows of unit l2 norm.
    rows : ndarray of int64
    languages : list of str or None
        Language of each item.
    max_rows : int
        Largest number of rows to return.
    """
    if languages is not None and len(rows) > 1:
        names = [languages[row] for row in rows.tolist()]
        usual = max(sorted({*names}), key=names.count)
        rows = rows[[name == usual for name in names]]
    members = Q[rows]
    total = np.bincount(members.indices, members.data, minlength=Q.shape[1])
    likeness = members @ total
    return rows[np.lexsort((rows, -np.round(likeness, 9)))][:max_rows]
