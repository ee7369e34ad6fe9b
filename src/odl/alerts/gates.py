"""Gates: statistical tests of whether something in a period is new.

Four gates test the words of a period, the words of two periods together, the number of documents
(volume), and single unusual documents (lone documents).

The p of a gate is the probability that a period in which nothing is new is as unusual as this one.

Words. T is the largest t_w (`odl.alerts.surprise`) among the words of a period that may name a
headline. The maximum of many numbers has a Gumbel distribution. For decimal logarithms of
independent tail probabilities its scale is s = 1 / ln 10, or 2 s if titles count double. For the
last B <= `HISTORY` periods, let m be the median of T, q the lower quartile of T, and n' the median
number of documents. Events only change the upper half of T, which is not used, as long as at most
half of the periods have an event.

    b = (m - q) / ln 2,   beta^2 = (`PRIOR_PERIODS` s^2 + (B - 1) b^2) / (B - 1 + `PRIOR_PERIODS`),
    mu = m + beta (ln ln 2 + ln(n / n')),   z = (T - mu) / beta,
    z' = .5772 + (z - .5772) / (1 + `PREDICTION` / (B - 1 + `PRIOR_PERIODS`)),
    p = 1 - exp(-exp(-z')).                                                                      (1)

If titles count double, beta is at least `MIN_SCALES_DOUBLED` s: a single title changes t_w by much
in such periods, and the lower half of T is narrow. The divisor in z' accounts for the error of a
prediction from B periods. The history stores at most the T at which a period opens the gate, so
that a large event does not hide the next one. With fewer than `MIN_PERIODS` periods p is
10^(2 - T) / 2.

Two periods. The test of words is applied to the documents of this period together with the
documents of the last period that belong to no event. Own words of events with headlines in the last
period are not new, so they are left out. p is 1 unless a headline with several words contains the
strongest word.

Volume. Let v be the median and d the median absolute deviation of the document counts of the last
`VOLUME_PERIODS` periods. After `WEEKDAY_WEEKS` weeks, counts are first divided by a factor for
their weekday. Then

    p = P(T_nu >= (n - v) / max(1.4826 d, sqrt(v + 1))),                                         (2)

where T_nu has Student's t distribution with nu = `DEGREES` degrees of freedom. The same is computed
for each source (file) that had documents in half of these periods. If S sources are tested, p is
doubled for the stream and multiplied by 2 S for each source: one half of the level is for all
documents, the other half for the sources. If a count opens the gate, the history stores v plus the
.95 quantile instead.

Lone documents. A document with fewer than `MIN_LONE_WORDS` different words is not tested: it has
the largest score as soon as these words are new. A score s above all recent scores has p = n P(s)
in a period of n tested documents. P is a generalised Pareto tail, fitted to the recent scores and
to those of the period without its `LEFT_OUT` highest scores. If more than `LEFT_OUT` documents have
high scores together, the fit includes some of them, and none is a lone document. Of N scores the k
largest (2 %, at least 30) exceed the next, u, by y_1 <= ... <= y_k:

    a_0 = mean(y),  a_1 = mean((1 - (i - 0.35) / k) y_i),  xi = (2 - a_0 / (a_0 - 2 a_1)) / 2,   (3)
    sigma = a_0 (1 - xi),  xi' = xi + 1 / k,  P(s) = k / N (1 + xi' (s - u) / sigma)^(-1 / xi'). (4)

These are the probability-weighted moments of Hosking and Wallis (1987), with the shape halved
because few excesses do not determine it. Adding 1 / k to the shape widens the tail, to allow for
the error of an estimate from k excesses.

One p. Gate g has the share w_g of the level, `LEVEL_SHARES`: p = min over g of p_g / w_g.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import special  # scipy.stats takes as long to import as a small run

HISTORY = 40  # periods that the T of a period is compared with
MIN_PERIODS = 2  # periods before p is estimated from them
PRIOR_PERIODS = 5.0  # weight of the scale s in the estimate of beta, in periods
# Smallest beta in units of s if titles count double. With 1, shuffled posts would open the gate.
MIN_SCALES_DOUBLED = 1.5
PREDICTION = 3.57  # widening of a quantile that is predicted from B periods, times B
# Scale s of the Gumbel distribution of the maximum of independent -log10 p.
DECIMAL_SCALE = float(np.log10(np.e))
EULER = 0.5772156649  # mean of the standard Gumbel distribution
GUMBEL_MEDIAN, GUMBEL_QUARTILE = -np.log(np.log(2)), -np.log(np.log(4))  # median and lower quartile
VOLUME_PERIODS = 28  # periods that volume is compared with
MIN_VOLUME_PERIODS = 8  # periods before volume is tested
MAX_SOURCES = 100  # sources whose volumes are tested
# A source with a larger share of the documents is not tested: the test of all documents covers it.
MAX_SOURCE_SHARE = 0.8
WEEKDAY_WEEKS = 8  # weeks before the usual volume depends on the weekday
DEGREES = 5  # degrees of freedom of Student's t, whose tails are heavier than the normal ones
# Share of the recent scores to which the Pareto tail is fitted, and smallest number of them.
TAIL_SHARE, MIN_EXCESSES = 0.02, 30
MIN_LONE_WORDS = 3  # different words of the shortest document that may be a lone document
# The Pareto tail is fitted without this number of the period's highest scores, which are tested.
LEFT_OUT = 5
LEVEL_SHARES = {"words": 0.75, "two periods": 0.15, "volume": 0.05, "lone": 0.05}
NO_NAMES: list = []  # default of `GateHistory.sources`, shared by all instances: never modified


class GateHistory(NamedTuple):
    """Statistics of the last periods that the gates compare a period with, oldest first.

    Attributes
    ----------
    words, pairs : ndarray of float64, shape (at most `HISTORY`, 3)
        Columns: T if titles count once, T if they count double, number of documents. A row of
        `words` is a period, one of `pairs` a pair of successive periods.
    volume : ndarray of float64, shape (at most 7 `WEEKDAY_WEEKS`, 2)
        Documents of a period, and its weekday (Monday is 0), -1 if periods are not days.
    highest : ndarray of float64, shape (at most `HISTORY`,)
        Highest score of each period.
    told_volume : ndarray of float64, shape (at most 1,)
        Documents of the last period if it had a headline about its volume, else 0.
    sources : list of str
        Names of the sources whose volumes are compared, at most `MAX_SOURCES`.
    source_counts : ndarray of float64, shape (sources, periods of `volume`)
        Documents of each source in these periods.
    told_sources : ndarray of float64, shape (sources,)
        Documents of a source in the last period if it had a headline about them, else 0.
    """

    words: np.ndarray = np.zeros((0, 3))
    pairs: np.ndarray = np.zeros((0, 3))
    volume: np.ndarray = np.zeros((0, 2))
    highest: np.ndarray = np.zeros(0)
    told_volume: np.ndarray = np.zeros(0)
    sources: list = NO_NAMES
    source_counts: np.ndarray = np.zeros((0, 0))
    told_sources: np.ndarray = np.zeros(0)


class LargestLaw(NamedTuple):
    """Gumbel distribution of T, the largest t_w in a period in which nothing is new.

    Without enough earlier periods, the location `mu` is None and a fixed distribution is used.

    Equation `words-gate` of docs/method.md.
    """

    mu: float | None = None
    beta: float = 1.0
    widening: float = 1.0

    def p_value(self, largest):
        """Return the probability of a T at least this large, p of (1)."""
        if self.mu is None:
            return min(1.0, 0.5 * 10 ** (2 - largest))
        z = EULER + ((largest - self.mu) / self.beta - EULER) / self.widening
        return float(-np.expm1(-np.exp(-z)))

    def quantile(self, p):
        """Return the T whose `p_value` is p."""
        if self.mu is None:
            return 2 - np.log10(2 * p)
        return float(
            self.mu + self.beta * (EULER + (-np.log(-np.log1p(-p)) - EULER) * self.widening)
        )


def law_of_largest(past, n, double=False):
    """Estimate the distribution of T for a period of n documents from earlier periods, by (1).

    The scale beta is shrunk towards s, the scale for independent words, as if `PRIOR_PERIODS`
    earlier periods had the scale s.

    Parameters
    ----------
    past : ndarray, shape (n_periods, 3)
        T, T with titles counted double, and the number of documents of each period (`GateHistory`).
    n : int
    double : bool
        Whether titles count double.

    Returns
    -------
    LargestLaw
    """
    if len(past) < MIN_PERIODS:
        return LargestLaw()
    values, sizes = past[:, int(double)], past[:, 2]
    weight, scale = len(values) - 1 + PRIOR_PERIODS, (2 if double else 1) * DECIMAL_SCALE
    median, quartile = np.quantile(values, [0.5, 0.25])
    spread = (median - quartile) / (GUMBEL_MEDIAN - GUMBEL_QUARTILE)
    beta = np.sqrt((PRIOR_PERIODS * scale**2 + (len(values) - 1) * spread**2) / weight)
    beta = max(beta, MIN_SCALES_DOUBLED * DECIMAL_SCALE) if double else beta
    mu = median - beta * GUMBEL_MEDIAN + beta * np.log(max(n, 1) / max(np.median(sizes), 1.0))
    return LargestLaw(mu, beta, 1 + PREDICTION / weight)


def judge_words(past, largest, n, double, level):
    """Test the largest t_w of a period; return its distribution, its p, and the updated history.

    Parameters
    ----------
    past : ndarray, shape (n_periods, 3)
        `GateHistory.words` or `GateHistory.pairs`.
    largest : tuple of float
        T if titles count once, and if they count double.
    n : int
        Documents of the period.
    double : bool
        Whether titles count double.
    level : float
        Largest p that opens the gate. A T with a smaller p is stored as the T that has this p.

    Returns
    -------
    law : LargestLaw
        Distribution of T before the period.
    p : float
    after : ndarray, shape (at most `HISTORY`, 3)
        `past` with a row for the period.
    """
    laws = [law_of_largest(past, n, doubled) for doubled in (False, True)]
    limits = [law.quantile(level) for law in laws]
    after = np.vstack([past, [*np.minimum(largest, limits), n]])[-HISTORY:]
    return laws[double], laws[double].p_value(largest[double]), after


def usual_volume(past, weekday):
    """Return the usual number of documents in a period, and its spread.

    These are f v and the divisor in equation `volume-gate` of docs/method.md. With fewer than
    `MIN_VOLUME_PERIODS` periods the spread is infinite, so that no number is unusual. Without
    earlier periods the usual number is 0.

    Parameters
    ----------
    past : ndarray, shape (n_periods, 2)
        Counts and weekdays (`GateHistory.volume`).
    weekday : int
        Weekday of the period; Monday is 0, -1 if periods are not days.
    """
    counts, days = past.T
    if len(counts) < MIN_VOLUME_PERIODS:
        return (float(np.median(counts)) if len(counts) else 0.0), np.inf
    factors = np.ones(8)  # by weekday; the last one is for weekday -1
    if len(counts) >= 7 * WEEKDAY_WEEKS and weekday >= 0:
        median = max(float(np.median(counts)), 1.0)
        for day in range(7):
            day_counts = counts[days == day]
            if len(day_counts) >= WEEKDAY_WEEKS // 2:
                factors[day] = max(float(np.median(day_counts)) / median, 0.1)
    plain = (counts / factors[days.astype(np.int64)])[-VOLUME_PERIODS:]
    factor, median = float(factors[int(weekday)]), float(np.median(plain))
    usual, deviation = factor * median, factor * float(np.median(np.abs(plain - median)))
    return usual, max(1.4826 * deviation, np.sqrt(usual + 1))


def judge_volume(n, past, weekday):
    """Test the number of documents n of a period; return p (2) and the usual number.

    Equation `volume-gate` of docs/method.md.

    Parameters
    ----------
    n : int
    past : ndarray, shape (n_periods, 2)
        Counts and weekdays (`GateHistory.volume`).
    weekday : int
        Monday is 0; -1 if periods are not days.
    """
    usual, spread = usual_volume(past, weekday)
    return float(special.stdtr(DEGREES, -(n - usual) / spread)), usual


def remember_volume(past, n, weekday, spoke):
    """Return the counts and weekdays `past` with a row for a period of n documents.

    If the period has a headline about its volume (`spoke`), n is unusual. The .95 quantile of usual
    counts is then stored instead, so that later periods are compared with usual counts.
    """
    if spoke:
        usual, spread = usual_volume(past, weekday)
        n = usual + spread * special.stdtrit(DEGREES, 0.95)
    return np.vstack([past, [n, weekday]])[-7 * WEEKDAY_WEEKS :]


def track_sources(past, counts):
    """Return the history with a row for each of the `MAX_SOURCES` most frequent sources.

    There are no rows if all documents have one source, or if the period has more than `MAX_SOURCES`
    sources.

    Parameters
    ----------
    past : GateHistory
    counts : dict of str to int
        Documents of each source in the period.
    """
    before = dict(zip(past.sources, past.source_counts, strict=True))
    last_counts = dict(zip(past.sources, past.told_sources.tolist(), strict=True))
    totals = Counter({name: float(row.sum()) for name, row in before.items()})
    totals.update(counts)
    names = [name for name, total in totals.items() if name and total]
    names = sorted(names, key=lambda name: (-totals[name], name))[:MAX_SOURCES]
    if len(names) == 1 or len(counts) > MAX_SOURCES:
        names = []
    none = np.zeros(len(past.volume))
    rows = np.array([before.get(name, none) for name in names]).reshape(len(names), len(none))
    return past._replace(
        sources=names,
        source_counts=rows,
        told_sources=np.array([last_counts.get(name, 0.0) for name in names]),
    )


def judge_sources(past, counts, n, weekday):
    """Test the number of documents of each source.

    Parameters
    ----------
    past : GateHistory
        As `track_sources` returns it.
    counts : dict of str to int
        Documents of each source in the period.
    n : int
        Documents of the period.
    weekday : int
        Monday is 0; -1 if periods are not days.

    Returns
    -------
    dict of int to (float, float)
        Row of each tested source in the history -> (p by (2), usual number of documents). A source
        is tested under three conditions: at least `MIN_VOLUME_PERIODS` earlier periods since its
        first document, documents in half of the last `VOLUME_PERIODS`, and less than
        `MAX_SOURCE_SHARE` of the n documents of this period.
    """
    tested = {}
    for row, name in enumerate(past.sources):
        volume, count = _own_volume(past, row), counts.get(name, 0)
        recent = volume[-VOLUME_PERIODS:, 0]
        if len(volume) < MIN_VOLUME_PERIODS or 2 * np.count_nonzero(recent) < len(recent):
            continue
        if count < MAX_SOURCE_SHARE * n:
            tested[row] = judge_volume(count, volume, weekday)
    return tested


def remember_sources(past, counts, weekday, speaking):
    """Return `source_counts` and `told_sources` of a `GateHistory` with a further period.

    Parameters
    ----------
    past : GateHistory
        As `track_sources` returns it.
    counts : dict of str to int
    weekday : int
    speaking : set of int
        Rows of the sources that have a headline in the further period.
    """
    values, headline_counts = [], []
    for row, name in enumerate(past.sources):
        count = float(counts.get(name, 0))
        headline_counts.append(count if row in speaking else 0.0)
        volume = remember_volume(_own_volume(past, row), count, weekday, row in speaking)
        values.append(volume[-1, 0])
    rows = (
        np.hstack([past.source_counts, np.array(values).reshape(-1, 1)])
        if values
        else past.source_counts
    )
    return rows[:, -7 * WEEKDAY_WEEKS :], np.array(headline_counts)


def _own_volume(past, row):
    """Return counts and weekdays of a source since its first document (`GateHistory.volume`)."""
    counts = past.source_counts[row]
    first = int(np.argmax(counts > 0)) if counts.any() else len(counts)
    return np.column_stack([counts[first:], past.volume[first:, 1]])


def pareto_tail(scores, recent):
    """Return P(s), equation (4), for each score; 1 for scores that are at most u.

    Equation `lone-gate` of docs/method.md.
    """
    k = min(max(round(TAIL_SHARE * len(recent)), MIN_EXCESSES), len(recent) // 2)
    ordered = np.sort(recent)
    edge = ordered[-k - 1]
    y = ordered[-k:] - edge
    y = y[y > 0]
    above, k = scores > edge, len(y)
    if not k:  # all scores of the tail are equal: its shape is unknown
        return np.where(above, 1 / (1 + len(recent)), 1.0)
    mean = y.mean()
    gap = mean - 2 * np.mean((1 - (np.arange(1, k + 1) - 0.35) / k) * y)
    # The shape is at most .5: the gap is positive, since y rises and its weights fall.
    shape = (2 - mean / gap) / 2
    scale, shape = mean * (1 - shape), shape + 1 / k
    z = np.maximum(scores - edge, 0) / scale
    tail = np.exp(-z) if abs(shape) < 1e-9 else np.maximum(1 + shape * z, 0) ** (-1 / shape)
    return np.where(above, k / len(recent) * tail, 1.0)


def judge_lone(scores, recent, past, n):
    """Return p = n P(s), by (4), for each score of a period with n tested documents.

    p is 1 for scores that do not exceed all earlier scores.

    Parameters
    ----------
    scores : ndarray of float64
    recent : ndarray of float64
        Scores of the documents before the period.
    past : GateHistory
    n : int
    """
    p = np.ones(len(scores))
    above = scores > max(recent.max(initial=-np.inf), past.highest.max(initial=-np.inf))
    if len(recent) > 2 and above.any():
        reference = np.concatenate([recent, np.sort(scores)[:-LEFT_OUT]])
        p[above] = np.minimum(1.0, n * pareto_tail(scores[above], reference))
    return p
