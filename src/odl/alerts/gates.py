"""Gates before the budget: a period speaks where its words, a new topic or a lone document pass a level for a period.

Of a set R of n items and a word w that x >= 2 of them have, with df_w among the N documents before the period,

    a_w = df_w + 1/2 + (N + 1)/2000,   t_w = -log10 P(X_w >= x),   T(R) = max_w t_w,

where X_w is negative binomial of mean l_w = n a_w / (N + 1) and shape r_w, 1 / r_w = 1 / a_w + `SPREAD`: a Poisson
number of items whose rate N documents tell, as a gamma distribution of shape a_w and rate N + 1, and which itself
varies from period to period. Common words do so as subjects come and go, and by more than a known rate allows with few
documents before. P(X_w >= x) is the regularised incomplete beta function I(x, r_w) at l_w / (r_w + l_w).

The largest of many is Gumbel's; of decimal logarithms of independent tails its scale is s = 1 / ln 10. With mean m,
deviation d and mean size n' of the last B <= 40 periods (at least 2), and c of 5 for all items, of 1 for the pool,

    beta^2 = (c s^2 + (B - 1) 6 d^2 / pi^2) / (B - 1 + c),   z = -log(-log(1 - `WORDS`)),
    T(R) >= m + beta ((z - 0.5772) (1 + 3.57 / (B - 1 + c)) + log(n / n'))                                    (1)

opens the gate of words, for R the pool of novel items or all items of the period. z is the quantile where m and beta
are known. What few periods tell of the scale is held to s as if c more had told it; the words of a pool come together
in its items, so that T(R) varies by more. The factor with B is that of a prediction: of B + 1 draws of scale s the last
one passes with a probability of .002 to .010 for B of 2 to 40.
A period that speaks is remembered by the T(R) from which on it does: what enters hides nothing that enters later.
Before there are two periods all items open the gate from `EARLY` on; before there are 5 the pool never does: what is
novel is alike in its own way (templates of log lines), which only other pools tell. Fewer than `SUPPORT` items are no
set: two say little of it. The gate of topics opens for a new topic of two pool items more than any of the periods
remembered had, at least 4. The lone gate opens for an item above all recent scores, and all scores of the periods
remembered, where n P(s) is at most `LONE`: odd items, one in some thousands, are no tail that the recent scores tell.
Of N of these the k largest (2 %, at least 30) exceed the next, u, by y_1 <= ... <= y_k:

    a_0 = mean(y),  a_1 = mean((1 - (i - 0.35) / k) y_i),  xi = (2 - a_0 / (a_0 - 2 a_1)) / 2,                  (2)
    sigma = a_0 (1 - xi),  xi' = xi + 1 / k,  P(s) = k / N (1 + xi' (s - u) / sigma)^(-1 / xi').                (3)

(2) are the probability-weighted moments of Hosking and Wallis (1987) with the shape halved: of few excesses it is the
shape that errs. The 1 / k is that of a prediction: of exponential excesses, (1 + y / (k a_0))^-k is the probability of
the next one, their scale being not known but estimated. What (3) says below 1 / (1 + N) is extrapolated: no rank can.
"""

import collections
import itertools
from typing import NamedTuple

import numpy as np
from scipy import special

PERIODS, FEWEST = 40, 5  # that a period is compared with; of pools and births at least
WORDS, LONE = 0.01, 0.015  # levels of a period
EARLY = 5.0  # t_w from which on words of all items open the gate before there are two periods
FLOOR = 1 / 2000  # share of documents that a word unseen so far is expected in
SPREAD = 0.04  # relative variance of a word's rate between periods: .01 to .1 of posts, Reuters, arXiv as they came
TAIL, EXCESSES = 0.02, 30  # share of the scores that are its tail, and fewest of them
SUPPORT = 3  # items of a set whose words are compared
BIRTH, LEAD = 4, 2  # pool items of a topic that opens the gate, and how many more than the largest before
RARE = 0.01  # share of the documents before that have a word which brings items together
GATES = ("words", "topic", "lone")
NOBODY = np.zeros(0, dtype=np.int64)
EULER = 0.5772156649
SCALE, KNOWN = np.log10(np.e), {"items": 5, "pool": 1}  # s, and c of the sets of items
PREDICTION = 3.57  # over B - 1 + c: what a mean and a deviation of B periods add to the quantile of the next one
LEAST_TAIL = 1e-300


class Past(NamedTuple):
    """Statistics of the last periods, oldest first: what the gates carry on, six numbers a period.

    Attributes
    ----------
    pool, items : ndarray of float64, shape (at most `PERIODS`, 2)
        T(R) and the size of R.
    births : ndarray of int64, shape (at most `PERIODS`,)
        Pool items of the largest new topic.
    highest : ndarray of float64, shape (at most `PERIODS`,)
        Highest score; a file of before has none.
    """

    pool: np.ndarray = np.zeros((0, 2))
    items: np.ndarray = np.zeros((0, 2))
    births: np.ndarray = np.zeros(0, dtype=np.int64)
    highest: np.ndarray = np.zeros(0)


class Period(NamedTuple):
    """Items of a period that the gates look at.

    Items are compared with documents: a document and its near-duplicates count once now, each by itself in the past.

    Attributes
    ----------
    X : csr_array, shape (n_items, n_terms)
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before the period that have the word.
    n_documents : int
        Documents before the period.
    score : ndarray of float64, shape (n_items,)
    pool : ndarray of int64
        Rows of the novel items.
    born : ndarray of int64, shape (n_items,)
        Number of the topic of each item that is new in the period, 0 for none.
    """

    X: object
    frequencies: np.ndarray
    n_documents: int
    score: np.ndarray
    pool: np.ndarray
    born: np.ndarray


class Opened(NamedTuple):
    """Rows of the items that open a gate, each in rising order; all empty: nothing is new.

    Attributes
    ----------
    words, topics, lone : ndarray of int64
    terms : ndarray of int64
        Those that open the gate of words, the largest t_w first.
    beside : ndarray of int64
        These, and those whose t_w among all items is above the usual T(R), in rising order.
    """

    words: np.ndarray = NOBODY
    topics: np.ndarray = NOBODY
    lone: np.ndarray = NOBODY
    terms: np.ndarray = NOBODY
    beside: np.ndarray = NOBODY

    @property
    def rows(self):
        """All of them once, in rising order."""
        return np.unique(np.concatenate([self.words, self.topics, self.lone]))

    def among(self, rows):
        """Return the same by the rows of documents, of which these are the items."""
        return self._replace(words=rows[self.words], topics=rows[self.topics], lone=rows[self.lone])

    def of(self, row):
        """Return the gate that an item opens, the first of `GATES`; empty for none."""
        opened = zip(GATES, (self.words, self.topics, self.lone), strict=True)
        return next((name for name, rows in opened if row in rows), "")

    def terms_of(self, row, X):
        """Return the terms by which a row of X opens the gate of words; none where it does not."""
        own = {*X.indices[X.indptr[row] : X.indptr[row + 1]].tolist()}
        return [term for term in self.terms.tolist() if term in own] if row in self.words else []


def excess(X, frequencies, n_documents):
    """Return t_w of each column of the items, 0 where fewer than two have it.

    Parameters
    ----------
    X : csr_array, shape (n_items, n_terms)
        Entries are words that the items have.
    frequencies : ndarray of int64, shape (n_terms,)
        Documents before that have the word.
    n_documents : int
    """
    n, N, x = X.shape[0], n_documents + 1, np.bincount(X.indices, minlength=X.shape[1])
    shared = x >= 2
    a = frequencies[shared] + 0.5 + N * FLOOR
    shape, mean = 1 / (1 / a + SPREAD), n * a / N
    tail = special.betainc(x[shared], shape, mean / (shape + mean))
    t = np.zeros(X.shape[1])
    t[shared] = -np.log10(np.maximum(tail, LEAST_TAIL))
    return t


def least_excess(past, n, level=WORDS, known=KNOWN["items"]):
    """Return the t from which on a set of n items opens the gate of words by (1)."""
    if len(past) < 2:
        return EARLY
    (values, sizes), weight = past.T, len(past) - 1 + known
    beta = np.sqrt((known * SCALE**2 + (len(past) - 1) * values.var(ddof=1) * 6 / np.pi**2) / weight)
    quantile = -np.log(-np.log1p(-level)) - EULER
    ratio = n / max(sizes.mean(), 1.0)
    return values.mean() + beta * (quantile * (1 + PREDICTION / weight) + np.log(max(ratio, 1e-12)))


def pareto_tail(scores, recent):
    """Return P(s) of (3), 1 for scores that are not in the tail.

    Parameters
    ----------
    scores, recent : ndarray of float64
    """
    k = min(max(round(TAIL * len(recent)), EXCESSES), len(recent) // 2)
    ordered = np.sort(recent)
    edge = ordered[-k - 1]
    y = ordered[-k:] - edge
    y = y[y > 0]
    above, k = scores > edge, len(y)
    if not k:  # more than that share have the largest score: nothing is known of a tail
        return np.where(above, 1 / (1 + len(recent)), 1.0)
    mean = y.mean()
    gap = mean - 2 * np.mean((1 - (np.arange(1, k + 1) - 0.35) / k) * y)
    shape = (2 - mean / gap) / 2  # at most .5: the gap is above 0, since the y rise and their weights fall
    scale, shape = mean * (1 - shape), shape + 1 / k
    z = np.maximum(scores - edge, 0) / scale
    tail = np.exp(-z) if abs(shape) < 1e-9 else np.maximum(1 + shape * z, 0) ** (-1 / shape)
    return np.where(above, k / len(recent) * tail, 1.0)


def judge_words(past, period, warm_up=False):
    """Return which items of a period open the gate of words, and what the next period is compared with.

    Parameters
    ----------
    past : Past
    period : Period
        Its `born` is not looked at.
    warm_up : bool
        The period is silent, and only the words of all its items are remembered.

    Returns
    -------
    Opened, Past
    """
    sets = {"items": np.arange(period.X.shape[0]), "pool": period.pool}
    words, after = [NOBODY], {"pool": past.pool, "items": past.items}
    excesses, unusual = np.zeros(period.X.shape[1]), np.zeros(period.X.shape[1], dtype=bool)
    for name, rows in sets.items():
        if (warm_up and name == "pool") or len(rows) < SUPPORT:
            continue
        X = period.X[rows]
        t, seen = excess(X, period.frequencies, period.n_documents), getattr(past, name)
        waits = name == "pool" and len(seen) < FEWEST
        limit = np.inf if waits else least_excess(seen, len(rows), known=KNOWN[name])
        telling = t >= limit
        excesses = np.maximum(excesses, np.where(telling, t, 0.0))  # of the words that open the gate
        unusual |= t > seen[:, 0].mean() if name == "items" and len(seen) >= 2 else telling
        words.append(rows[np.unique(np.repeat(np.arange(len(rows)), np.diff(X.indptr))[telling[X.indices]])])
        after[name] = np.vstack([seen, [min(t.max(initial=0.0), limit), len(rows)]])[-PERIODS:]
    if warm_up:
        return Opened(), past._replace(**after)
    terms = np.argsort(-excesses, kind="stable")[: np.count_nonzero(excesses)]
    beside = np.flatnonzero(unusual) if len(terms) else NOBODY
    return Opened(words=np.unique(np.concatenate(words)), terms=terms, beside=beside), past._replace(**after)


def judge(past, period, recent, warm_up=False):
    """Return which items of a period open the gates of topics and lone items, and what the next one is compared with.

    Parameters
    ----------
    past : Past
    period : Period
    recent : ndarray of float64
        Scores before the period.
    warm_up : bool
        The period is silent, and only its highest score is remembered.

    Returns
    -------
    Opened, Past
    """
    highest = np.append(past.highest, period.score.max(initial=-np.inf))[-PERIODS:]
    if warm_up:
        return Opened(), past._replace(highest=highest)
    sizes = np.bincount(period.born[period.pool], minlength=1)
    sizes[0] = 0
    known = len(past.births) >= FEWEST
    least = max(BIRTH, int(past.births.max()) + LEAD) if known else np.inf
    topics = period.pool[np.isin(period.born[period.pool], np.flatnonzero(sizes >= least))]
    births = np.append(past.births, int(sizes.max()))[-PERIODS:]
    opened = Opened(topics=np.unique(topics), lone=_lone(past, period, recent))
    return opened, past._replace(births=births, highest=highest)


def together(period, opened):
    """Return items that words which open the gate bring together: of each group of words the rows that have one.

    A word joins the first group, by the largest t_w, that has at least half of the items with it. A second word, one of
    `Opened.beside`, goes with it where more items have both than chance allows. If at least half of the items with a
    word have such a one, the others are of other subjects. A word that more than a share `RARE` of the documents before
    have is of many subjects: of its items only those count, and of second words those with which at most `RARE` would
    have both if words came independently.

    Parameters
    ----------
    period : Period
    opened : Opened

    Returns
    -------
    list of ndarray of int64
        Rows in rising order; a row may be in several.
    """
    groups: list[set[int]] = []
    groups_of = collections.defaultdict(set)  # by item
    share = period.frequencies / max(period.n_documents, 1)
    has, both = (period.X[:, opened.terms] > 0).tocsc(), (period.X[:, opened.beside] > 0).tocsr()
    rate = np.bincount(both.indices, minlength=both.shape[1]) / max(both.shape[0], 1)
    for at, term in enumerate(opened.terms.tolist()):
        rows, broad = np.sort(has.indices[has.indptr[at] : has.indptr[at + 1]]), share[term] > RARE
        items = both[rows]
        second = _companions(items, rate)
        second = second[opened.beside[second] != term]
        if broad:
            second = second[share[term] * share[opened.beside[second]] <= RARE]
        with_one = np.repeat(np.arange(len(rows)), np.diff(items.indptr))[np.isin(items.indices, second)]
        alike = rows[np.unique(with_one)]
        if broad or 2 * len(alike) >= len(rows):
            rows = alike
        if not len(rows):
            continue
        members = set(rows.tolist())
        shared = collections.Counter(itertools.chain.from_iterable(groups_of[row] for row in members))
        group = min((group for group, x in shared.items() if 2 * x >= len(members)), default=len(groups))
        if group == len(groups):
            groups.append(set())
        groups[group] |= members
        for row in members:
            groups_of[row].add(group)
    return [np.array(sorted(group), dtype=np.int64) for group in groups]


def _companions(items, rate):
    """Return the words that some items have oftener than chance allows, where a share `rate` of all items has each.

    At least `SUPPORT` have it, and the chance of as many of a Poisson number of mean len(items) rate is at most `WORDS`
    over the number of words.
    """
    shared = np.bincount(items.indices, minlength=len(rate))
    often = np.flatnonzero(shared >= SUPPORT)
    chance = special.pdtrc(shared[often] - 1, items.shape[0] * rate[often])
    return often[chance * len(rate) <= WORDS]


def _lone(past, period, recent):
    """Return the rows of the pool that open the lone gate."""
    pool = np.sort(period.pool)
    above = pool[period.score[pool] > max(recent.max(initial=-np.inf), past.highest.max(initial=-np.inf))]
    tail = pareto_tail(period.score[above], recent)
    return above[len(period.score) * tail <= LONE]
