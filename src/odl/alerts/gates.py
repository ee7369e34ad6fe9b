"""Gates: the probability that a period without anything new is as unusual as this one, for each kind of sign.

Words. T is the largest t_w (`odl.alerts.surprise`) of the words of a period that may name a headline. The largest of
many is Gumbel's; of decimal logarithms of independent tails its scale is s = 1 / ln 10, and 2 s where titles count
double. Of the last B <= `HISTORY` periods let m be the median of T, q its lower quartile, n' the median size. Half of
the periods may have an event: neither the upper half nor its spread counts.

    b = (m - q) / ln 2,   beta^2 = (`PRIOR` s^2 + (B - 1) b^2) / (B - 1 + `PRIOR`),
    mu = m + beta (ln ln 2 + ln(n / n')),   z = (T - mu) / beta,
    z' = .5772 + (z - .5772) / (1 + `PREDICTION` / (B - 1 + `PRIOR`)),   p = 1 - exp(-exp(-z')).              (1)

beta is at least `LUMPY` s where titles count double: one title or two make the t_w of such periods lumpy, and the
lower half of T narrow. The last factor is that of a prediction from B periods. A period that speaks is remembered by
the T from which on it does: what enters hides nothing that enters later. With fewer than `FEWEST` periods p is
10^(2 - T) / 2.

Two periods. The same of the documents of this period and the last one, without the words of events that spoke in the
last one.

Volume. With median v and median absolute deviation d of the counts of the last `DAYS` periods, each divided by the
factor of its weekday once there are `WEEKS` weeks of them,

    p = P(T_nu >= (n - v) / max(1.4826 d, sqrt(v + 1))),   T_nu Student's t with nu = `FREEDOM` degrees,       (2)

The same is computed for each source (file) that had documents in half of these periods. If S of them are tested, p is
doubled for the stream and multiplied by 2 S for each of them: one half of the level is for all documents, the other
half for the sources. A count that speaks is remembered by v plus its .95 quantile.

Lone documents. A score above all recent ones has the generalised Pareto tail P(s) of the highest scores among the
recent ones and those of its period but the `ALONE` highest; p is n P(s). So the many documents of a period whose scores
rise together do not stand alone. Of N scores the k largest (2 %, at least 30) exceed the next, u, by y_1 <= ... <= y_k:

    a_0 = mean(y),  a_1 = mean((1 - (i - 0.35) / k) y_i),  xi = (2 - a_0 / (a_0 - 2 a_1)) / 2,                  (3)
    sigma = a_0 (1 - xi),  xi' = xi + 1 / k,  P(s) = k / N (1 + xi' (s - u) / sigma)^(-1 / xi'),                (4)

the probability-weighted moments of Hosking and Wallis (1987) with the shape halved: of few excesses it is the shape
that errs. The 1 / k is that of a prediction.

One p. Gate g has the share w_g of the level, `SHARES`: p = min over g of p_g / w_g.
"""

from typing import NamedTuple

import numpy as np
from scipy import special  # scipy.stats takes as long to import as a small run

HISTORY = 40  # periods
FEWEST = 2  # periods before p is estimated from them
PRIOR = 5.0  # periods that the scale s counts for
LUMPY = 1.5  # times s: smallest beta of periods in which titles count double; 1 lets shuffled posts speak
PREDICTION = 3.57  # widening of a quantile that is predicted from B periods, times B
SCALE = float(np.log10(np.e))  # of the largest of independent decimal tails
EULER = 0.5772156649
MIDDLE, LOWER = -np.log(np.log(2)), -np.log(np.log(4))  # median and lower quartile of Gumbel's law
DAYS, LEAST_DAYS = 28, 8  # periods that volume is compared with, and fewest of them
SOURCES = 100  # whose volumes are compared
ALL = 0.8  # share of the documents from which on the volume of a source is that of the stream
WEEKS = 8  # weeks from which on weekdays have factors
FREEDOM = 5  # degrees of Student's t: heavier tails than the normal law's
TAIL, EXCESSES = 0.02, 30  # share of the scores that are its tail, and fewest of them
NO_NAMES: list = []  # of the past before the first period; never changed in place
ALONE = 5  # highest scores of a period, which are left out of the scores that a lone document is compared with
SHARES = {"words": 0.75, "two periods": 0.15, "volume": 0.05, "lone": 0.05}


class GateHistory(NamedTuple):
    """What the gates compare a period with, oldest first.

    Attributes
    ----------
    words, pairs : ndarray of float64, shape (at most `HISTORY`, 3)
        T if titles counted once and if they counted double, and number of documents, of periods and of pairs of these.
    volume : ndarray of float64, shape (at most 7 `WEEKS`, 2)
        Documents of a period, and its weekday from 0, -1 where periods are no days.
    highest : ndarray of float64, shape (at most `HISTORY`,)
        Highest score.
    told_volume : ndarray of float64, shape (at most 1,)
        Documents of the last period if its volume spoke, else 0.
    sources : list of str
        Names of the sources whose volumes are compared, at most `SOURCES`.
    source_counts : ndarray of float64, shape (sources, periods of `volume`)
        Documents of each source in these periods.
    told_sources : ndarray of float64, shape (sources,)
        Documents of a source in the last period if its volume spoke, else 0.
    """

    words: np.ndarray = np.zeros((0, 3))
    pairs: np.ndarray = np.zeros((0, 3))
    volume: np.ndarray = np.zeros((0, 2))
    highest: np.ndarray = np.zeros(0)
    told_volume: np.ndarray = np.zeros(0)
    sources: list = NO_NAMES
    source_counts: np.ndarray = np.zeros((0, 0))
    told_sources: np.ndarray = np.zeros(0)


def _law(past, n, double):
    """Return mu, beta and the factor of prediction of (1)."""
    values, sizes = past[:, int(double)], past[:, 2]
    weight, scale = len(values) - 1 + PRIOR, (2 if double else 1) * SCALE
    middle, lower = np.quantile(values, [0.5, 0.25])
    spread = (middle - lower) / (MIDDLE - LOWER)
    beta = np.sqrt((PRIOR * scale**2 + (len(values) - 1) * spread**2) / weight)
    beta = max(beta, LUMPY * SCALE) if double else beta
    centre = middle - beta * MIDDLE + beta * np.log(max(n, 1) / max(np.median(sizes), 1.0))
    return centre, beta, 1 + PREDICTION / weight


def chance_of(largest, n, past, double=False):
    """Return p of (1) of a period of n documents whose largest t_w is given; `double`: titles count double.

    Equation `words-gate` of docs/method.md.
    """
    if len(past) < FEWEST:
        return min(1.0, 0.5 * 10 ** (2 - largest))
    centre, beta, factor = _law(past, n, double)
    z = EULER + ((largest - centre) / beta - EULER) / factor
    return float(-np.expm1(-np.exp(-z)))


def least_of(p, n, past, double=False):
    """Return the T from which on a period has at most this p by (1)."""
    if len(past) < FEWEST:
        return 2 - np.log10(2 * p)
    centre, beta, factor = _law(past, n, double)
    return float(centre + beta * (EULER + (-np.log(-np.log1p(-p)) - EULER) * factor))


def remembered(past, largest, n, limits):
    """Return the past of words after a period of n documents whose two T count up to limits."""
    return np.vstack([past, [*np.minimum(largest, limits), n]])[-HISTORY:]


def judge_words(past, largest, n, double, level):
    """Return p of (1) of a period, and the past of words after it.

    Parameters
    ----------
    past : ndarray
        `GateHistory.words` or `GateHistory.pairs`.
    largest : tuple of float
        T if titles counted once, and double.
    n : int
    double : bool
        Which of them counts.
    level : float
        p from which on the period speaks, for the limit of what is remembered.
    """
    limits = [least_of(level, n, past, each) for each in (False, True)]
    return chance_of(largest[double], n, past, double), remembered(past, largest, n, limits)


def usual_volume(past, weekday):
    """Return the usual number of documents of a period, its spread, and the factor of the weekday; 0 without a past."""
    counts, days = past.T
    if len(counts) < LEAST_DAYS:
        return (float(np.median(counts)) if len(counts) else 0.0), np.inf, 1.0
    factors = np.ones(8)  # the last one is of weekday -1
    if len(counts) >= 7 * WEEKS and weekday >= 0:
        middle = max(float(np.median(counts)), 1.0)
        for day in range(7):
            of_day = counts[days == day]
            factors[day] = max(float(np.median(of_day)) / middle, 0.1) if len(of_day) >= WEEKS // 2 else 1.0
    plain = (counts / factors[days.astype(np.int64)])[-DAYS:]
    usual = float(np.median(plain))
    spread = max(1.4826 * float(np.median(np.abs(plain - usual))), np.sqrt(usual + 1))
    factor = float(factors[int(weekday)])
    return usual * factor, spread * factor, factor


def chance_of_volume(n, past, weekday):
    """Return p of (2), and the usual number of documents.

    Equation `volume-gate` of docs/method.md.
    """
    usual, spread, _ = usual_volume(past, weekday)
    return float(special.stdtr(FREEDOM, -(n - usual) / spread)), usual


def volume_after(past, n, weekday, spoke):
    """Return the past of volume after a period; one that spoke is remembered by the .95 quantile."""
    usual, spread, _ = usual_volume(past, weekday)
    value = usual + spread * special.stdtrit(FREEDOM, 0.95) if spoke else n
    return np.vstack([past, [value, weekday]])[-7 * WEEKS :]


def with_sources(past, counts):
    """Return the past with the sources of a period: those of the past and new ones, the most frequent `SOURCES`.

    A stream whose documents are all of one source, or of more than `SOURCES` in one period, has none.

    Parameters
    ----------
    past : GateHistory
    counts : dict of str to int
        Documents of each source in the period.
    """
    before = dict(zip(past.sources, past.source_counts, strict=True))
    told = dict(zip(past.sources, past.told_sources.tolist(), strict=True))
    totals = {name: counts.get(name, 0) + float(before[name].sum()) if name in before else counts[name]
              for name in {**before, **counts}}  # fmt: skip
    names = sorted((name for name in totals if name and totals[name]), key=lambda name: (-totals[name], name))
    names = names[:SOURCES] if len(names) > 1 and len(counts) <= SOURCES else []
    none = np.zeros(len(past.volume))
    rows = np.array([before.get(name, none) for name in names]).reshape(len(names), len(none))
    return past._replace(
        sources=names, source_counts=rows, told_sources=np.array([told.get(name, 0.0) for name in names])
    )


def chances_of_sources(past, counts, n, weekday):
    """Return p and the usual number of documents of each source that can be tested, by its row in the past.

    A source can be tested from its ninth period on, if it had documents in half of its last periods, and has less than
    `ALL` of the n documents now.
    """
    found = {}
    for row, (name, before) in enumerate(zip(past.sources, past.source_counts, strict=True)):
        first = int(np.argmax(before > 0)) if before.any() else len(before)
        recent, count = before[first:], counts.get(name, 0)
        if len(recent) < LEAST_DAYS or 2 * np.count_nonzero(recent[-DAYS:]) < min(len(recent), DAYS):
            continue
        if count < ALL * n:
            found[row] = chance_of_volume(count, np.column_stack([recent, past.volume[first:, 1]]), weekday)
    return found


def sources_after(past, counts, weekday, speaking):
    """Return the counts of sources after a period and those that spoke, by `with_sources` and rows that speak."""
    values, told = [], []
    for row, (name, before) in enumerate(zip(past.sources, past.source_counts, strict=True)):
        count = float(counts.get(name, 0))
        if row in speaking:
            first = int(np.argmax(before > 0))
            pairs = np.column_stack([before[first:], past.volume[first:, 1]])
            told.append(count)
            count = volume_after(pairs, count, weekday, True)[-1, 0]
        else:
            told.append(0.0)
        values.append(count)
    rows = np.hstack([past.source_counts, np.array(values).reshape(-1, 1)]) if values else past.source_counts
    return rows[:, -7 * WEEKS :], np.array(told)


def pareto_tail(scores, recent):
    """Return P(s) of (4), 1 for scores that are not in the tail.

    Equation `lone-gate` of docs/method.md.

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


def chance_of_lone(scores, recent, past, n):
    """Return p of each score of a period of n documents by (4), 1 where one of the past is as high.

    Parameters
    ----------
    scores, recent : ndarray of float64
    past : GateHistory
    n : int
    """
    chance = np.ones(len(scores))
    above = scores > max(recent.max(initial=-np.inf), past.highest.max(initial=-np.inf))
    if len(recent) > 2 and above.any():
        others = np.concatenate([recent, np.sort(scores)[:-ALONE]])
        chance[above] = np.minimum(1.0, n * pareto_tail(scores[above], others))
    return chance
