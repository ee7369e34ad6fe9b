"""How well clusters of documents agree with their topics: purity, B-cubed, topics found.

A cluster is a number from 0, -1 means none. Two rules for documents with several topics: with ``all`` two documents
are of one topic if their sets of topics overlap, and a document counts for each of its topics; with ``dominant`` only
the first topic of each counts. With one topic each, the two are the same. Documents without topics are ignored.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from odl.errors import ParameterError

RULES = ("all", "dominant")


class Agreement(NamedTuple):
    """B-cubed precision, recall and their harmonic mean; nan where undefined.

    Examples
    --------
    >>> from odl.papers.agreement import b_cubed
    >>> b_cubed([0, 0, 0, 0], [("oil",), ("oil",), ("space",), ("space",)]).precision
    0.5
    """

    precision: float
    recall: float
    f1: float


def _labelled(clusters, topics, rule):
    """Return clusters and topics of the documents that have topics, under the rule."""
    clusters = np.asarray(clusters, dtype=np.int64)
    if rule not in RULES:
        raise ParameterError(f"topics is {rule!r}", "'all' or 'dominant'", "choose one of these")
    if clusters.shape != (len(topics),):
        defect = f"clusters of shape {clusters.shape} and topics of {len(topics)} documents"
        raise ParameterError(defect, "one of each for each document", "pass two lists of one length")
    rows = [row for row, names in enumerate(topics) if names]
    topics_of = [tuple(dict.fromkeys(topics[row])) if rule == "all" else (topics[row][0],) for row in rows]
    return clusters[rows], topics_of


def counts(
    clusters: ArrayLike, topics: Sequence[tuple[str, ...]], rule: str = "all"
) -> list[tuple[int, dict[str, int]]]:
    """Count the topics of every cluster.

    Parameters
    ----------
    clusters : array-like of int, shape (n_documents,)
        -1 for documents in no cluster.
    topics : list of tuple of str
        The dominant topic first.
    rule : {"all", "dominant"}

    Returns
    -------
    list of (int, dict of str to int)
        By cluster from 0 to the largest: its documents that have topics, and how many hold each topic.

    Examples
    --------
    >>> from odl.papers.agreement import counts
    >>> counts([0, 0, 1, -1], [("oil",), ("oil", "gas"), ("space",), ("space",)])
    [(2, {'oil': 2, 'gas': 1}), (1, {'space': 1})]
    """
    clusters, topics_of = _labelled(clusters, topics, rule)
    tallies = [(int((clusters == number).sum()), {}) for number in range(int(clusters.max(initial=-1)) + 1)]
    for number, names in zip(clusters, topics_of, strict=True):
        for name in names if number >= 0 else ():
            tallies[number][1][name] = tallies[number][1].get(name, 0) + 1
    return tallies


def purity(clusters: ArrayLike, topics: Sequence[tuple[str, ...]], rule: str = "all") -> float:
    """Share of the documents in clusters that hold the most frequent topic of their cluster.

    Parameters
    ----------
    clusters, topics, rule
        As for `counts`.

    Returns
    -------
    float
        Between 0 and 1; nan if no labelled document is in a cluster. Documents in no cluster do not count, so read
        it beside their number.

    Raises
    ------
    ParameterError
        If lengths differ or the rule is unknown.

    Examples
    --------
    >>> from odl.papers.agreement import purity
    >>> purity([0, 0, 0, 1], [("oil",), ("oil",), ("space",), ("space",)])
    0.75
    """
    tallies = counts(clusters, topics, rule)
    total = sum(size for size, _ in tallies)
    return sum(max(topics_of.values(), default=0) for _, topics_of in tallies) / total if total else float("nan")


def b_cubed(clusters: ArrayLike, topics: Sequence[tuple[str, ...]], rule: str = "all") -> Agreement:
    """B-cubed precision and recall of clusters (Bagga and Baldwin, 1998), documents in no cluster included.

    With C(i) the documents in the cluster of i, itself among them, and T(i) those of the same topic (see the module):
    precision is the mean of ``|C(i) & T(i)| / |C(i)|`` over the documents in clusters, recall the mean of
    ``|C(i) & T(i)| / |T(i)|`` over all documents, 0 for one in no cluster. Where every document is in a cluster
    and has one topic, this is the usual measure.

    Parameters
    ----------
    clusters, topics, rule
        As for `counts`.

    Returns
    -------
    Agreement
        nan where there is no labelled document, or (precision and f1) none in a cluster.

    Raises
    ------
    ParameterError
        If lengths differ or the rule is unknown.

    Examples
    --------
    >>> from odl.papers.agreement import b_cubed
    >>> b_cubed([0, 0, 1, -1], [("oil",), ("oil",), ("space",), ("space",)])
    Agreement(precision=1.0, recall=0.625, f1=0.7692307692307693)
    """
    clusters, topics_of = _labelled(clusters, topics, rule)
    if not topics_of:
        return Agreement(float("nan"), float("nan"), float("nan"))
    number = {name: column for column, name in enumerate(dict.fromkeys(name for names in topics_of for name in names))}
    rows = np.repeat(np.arange(len(topics_of)), [len(names) for names in topics_of])
    columns = [number[name] for names in topics_of for name in names]
    holds = sparse.csr_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(len(topics_of), len(number)))
    same = sparse.coo_array(holds @ holds.T)
    first, second = same.coords
    topic = np.bincount(first, minlength=len(topics_of))
    both = np.bincount(first[(clusters[first] == clusters[second]) & (clusters[first] >= 0)], minlength=len(topics_of))
    placed = clusters >= 0
    recall = float(np.mean(both / topic))
    if not placed.any():
        return Agreement(float("nan"), recall, float("nan"))
    sizes = np.bincount(clusters[placed])[clusters[placed]]
    precision = float(np.mean(both[placed] / sizes))
    return Agreement(precision, recall, 2 * precision * recall / (precision + recall))


def majorities(clusters: ArrayLike, topics: Sequence[tuple[str, ...]], rule: str = "all") -> set[str]:
    """Topics that more than half of the labelled documents of some cluster hold.

    Returns
    -------
    set of str

    Examples
    --------
    >>> from odl.papers.agreement import majorities
    >>> majorities([0, 0, 0, 1, 1], [("oil",), ("oil",), ("space",), ("space",), ("sport",)])
    {'oil'}
    """
    tallies = counts(clusters, topics, rule)
    return {name for size, topics_of in tallies for name, number in topics_of.items() if 2 * number > size}
