"""Files of emerging topics, their agreement with topic labels, and their section of the report.

Clusters are numbered from 0, and -1 stands for no cluster. Documents without topics are ignored. A
document counts for each of its topics.
"""

import json
import os
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from odl.errors import DataError, StorageError
from odl.evaluation.scorefiles import read_scores
from odl.files import storage
from odl.files.tables import read_table, write_table

EMERGING_KIND = "emerging"
WEIGHTING_KEYS = ("tf", "idf", "min_df", "vocabulary")
EMERGING_COLUMNS = (
    "run",
    "t",
    "selected",
    "novel_share",
    "clusters",
    "clustered",
    "purity",
    "precision",
    "recall",
    "f1",
    "novel_topics",
    "reachable",
    "found",
    "found_share",
)
EMERGING_OVER_SEEDS = (
    "corpus",
    "run",
    "algorithm",
    "k",
    "t",
    "seeds",
    "selected",
    "novel_share",
    "clusters",
    "clustered",
    "purity_mean",
    "purity_sd",
    "f1_mean",
    "f1_sd",
    "precision",
    "recall",
    "novel_topics",
    "reachable",
    "found",
    "found_share",
)


@dataclass
class EmergingTopics:
    """Emerging topics of one timestep: n selected documents in m clusters, the largest first.

    Attributes
    ----------
    t : int
        Timestep.
    run : dict
        corpus, seed, run, atoms and algorithm of the scores.
    settings : dict
        Fields of `odl.config.sections.SmallDictionary`.
    rows : ndarray of int64, shape (n,)
        Rows of the selected documents in the batch, most novel first.
    ids : list of str
        Ids of the selected documents.
    cluster : ndarray of int32, shape (n,)
        Cluster of each selected document; -1 for a document in no cluster.
    residual : ndarray of float64, shape (n,)
        ``||q - B z||_1`` of each selected document with the small dictionary.
    objective : float
        Objective of the small dictionary over the selected documents.
    words, weights : list of str
        Words of each cluster with the largest weights, and these weights.
    representative : ndarray of int64, shape (m,)
        Row of the document with the smallest residual in each cluster.
    """

    t: int
    run: dict
    settings: dict
    rows: np.ndarray
    ids: list
    cluster: np.ndarray
    residual: np.ndarray
    objective: float
    words: list
    weights: list
    representative: np.ndarray


def write(path, emerging):
    """Write the emerging topics of one timestep."""
    settings = json.dumps(emerging.settings, sort_keys=True)
    with storage.writing(
        path,
        EMERGING_KIND,
        t=emerging.t,
        **emerging.run,
        settings=settings,
        objective=emerging.objective,
    ) as file:
        storage.write_array(file, "rows", emerging.rows.astype(np.int64))
        storage.write_strings(file, "ids", emerging.ids)
        storage.write_array(file, "cluster", emerging.cluster.astype(np.int32))
        storage.write_array(file, "residual", emerging.residual)
        group = file.create_group("clusters")
        for name in ("words", "weights"):
            storage.write_strings(group, name, getattr(emerging, name))
        storage.write_array(group, "representative", emerging.representative.astype(np.int64))


def read_emerging(path):
    """Read a file written by `write`.

    Raises
    ------
    StorageError
        If the file is missing, damaged or of another kind.
    """
    with storage.reading(path, EMERGING_KIND) as file:
        emerging = EmergingTopics(
            t=int(file.attrs["t"]),
            run={
                **{name: str(file.attrs[name]) for name in ("corpus", "run", "algorithm")},
                **{name: int(file.attrs[name]) for name in ("seed", "atoms")},
            },
            settings=json.loads(file.attrs["settings"]),
            objective=float(file.attrs["objective"]),
            ids=storage.read_strings(file, "ids"),
            **{name: storage.read_array(file, name, "i") for name in ("rows", "cluster")},
            residual=storage.read_array(file, "residual"),
            **{
                name: storage.read_strings(file, f"clusters/{name}")
                for name in ("words", "weights")
            },
            representative=storage.read_array(file, "clusters/representative", "i"),
        )
    return emerging


def check_pair(emerging, batch, path="the file of emerging topics"):
    """Raise DataError unless emerging topics and scores have the same timestep and documents."""
    rows_exist = len(batch.ids) > emerging.rows.max(initial=-1)
    ids = [batch.ids[row] for row in emerging.rows] if rows_exist else None
    if (emerging.t, emerging.ids) != (batch.t, ids):
        raise DataError(
            f"{path} and the scores have different documents",
            "files of the same timestep and seed",
            "run `odl step topics` again with these scores",
        )


def _select_topics(topics, rule):
    """Return the topics of each document, or with the rule "dominant" only its first topic."""
    return topics if rule == "all" else [names[:1] for names in topics]


def counts(clusters, topics):
    """Return (number of documents with topics, their Counter of topics) of each cluster.

    Examples
    --------
    >>> from odl.papers.emergingfiles import counts
    >>> counts([0, 0, 1, -1], [("oil",), ("oil", "gas"), ("space",), ("space",)])
    [(2, Counter({'oil': 2, 'gas': 1})), (1, Counter({'space': 1}))]
    """
    members = [[] for _ in range(max(clusters, default=-1) + 1)]
    for number, names in zip(clusters, topics, strict=True):
        if number >= 0 and names:
            members[number].append(names)
    return [
        (len(labelled), Counter(name for names in labelled for name in set(names)))
        for labelled in members
    ]


def purity(clusters, topics):
    """Return the share of clustered documents that have the most frequent topic of their cluster.

    Documents without topics are ignored. The result is nan if no document remains.

    Examples
    --------
    >>> from odl.papers.emergingfiles import purity
    >>> purity([0, 0, 0, 1], [("oil",), ("oil",), ("space",), ("space",)])
    0.75
    """
    tallies = counts(clusters, topics)
    total = sum(size for size, _ in tallies)
    n_frequent = sum(max(tally.values(), default=0) for _, tally in tallies)
    return n_frequent / total if total else float("nan")


def majorities(clusters, topics):
    """Return the set of topics that more than half of the labelled documents of a cluster have."""
    return {
        name
        for size, tally in counts(clusters, topics)
        for name, number in tally.items()
        if 2 * number > size
    }


def b_cubed(clusters, topics):
    """Return B-cubed precision, recall and F1 of clusters (Bagga and Baldwin, 1998).

    Only documents with topics are used. Let C(i) be the documents in the cluster of document i, and
    T(i) the documents that share a topic with i, both including i. Precision is the mean of
    ``|C(i) & T(i)| / |C(i)|`` over the documents in clusters. Recall is the mean of
    ``|C(i) & T(i)| / |T(i)|`` over all documents, where a document in no cluster counts 0. A
    measure is nan if its mean is over no documents.

    Examples
    --------
    >>> from odl.papers.emergingfiles import b_cubed
    >>> b_cubed([0, 0, 1, -1], [("oil",), ("oil",), ("space",), ("space",)])
    (1.0, 0.625, 0.7692307692307693)
    """
    nan, rows = float("nan"), [row for row, names in enumerate(topics) if names]
    if not rows:
        return nan, nan, nan
    clusters = np.asarray(clusters)[rows]
    pairs = [(row, name) for row, at in enumerate(rows) for name in set(topics[at])]
    documents = [row for row, _ in pairs]
    names, columns = np.unique([name for _, name in pairs], return_inverse=True)
    has_topic = sparse.csr_array(
        (np.ones(len(pairs), dtype=np.int64), (documents, columns)), shape=(len(rows), len(names))
    )
    # all pairs of documents with a common topic
    first, second = sparse.coo_array(has_topic @ has_topic.T).coords
    clustered = clusters >= 0
    in_one_cluster = (clusters[first] == clusters[second]) & clustered[first]
    both = np.bincount(first[in_one_cluster], minlength=len(rows))  # |C(i) & T(i)|
    recall = float(np.mean(both / np.bincount(first, minlength=len(rows))))
    if not clustered.any():
        return nan, recall, nan
    sizes = np.bincount(clusters[clustered])[clusters[clustered]]
    precision = float(np.mean(both[clustered] / sizes))
    return precision, recall, 2 * precision * recall / (precision + recall)


def judge(emerging, batch, topics="all"):
    """Compare the clusters of a timestep with the topics of its documents.

    A novel topic is a topic of a novel document in the batch. It is *reachable* if a selected
    document has it. It is *found* if more than half of the documents with topics in some cluster
    have it.

    Parameters
    ----------
    emerging : EmergingTopics
    batch : odl.evaluation.scorefiles.ScoredBatch
        Scores from which `emerging` was computed.
    topics : {"all", "dominant"}
        Topics of a document that count.

    Returns
    -------
    dict
        Row with the columns `EMERGING_COLUMNS`. Undefined values are nan.
    """
    topics_of, labels = _select_topics(batch.topics, topics), batch.labels(topics)
    selected = [topics_of[row] for row in emerging.rows]
    selected_labels = labels[emerging.rows]
    is_novel = selected_labels[selected_labels >= 0] == 1  # of the labelled selected documents
    novel_topics = set()
    for row in np.flatnonzero(labels == 1):
        novel_topics.update(topics_of[row])
    found = novel_topics & majorities(emerging.cluster, selected)
    precision, recall, f1 = b_cubed(emerging.cluster, selected)
    return {
        "run": emerging.run["run"],
        "t": emerging.t,
        "selected": len(emerging.rows),
        "novel_share": float(np.mean(is_novel)) if len(is_novel) else float("nan"),
        "clusters": len(emerging.representative),
        "clustered": int((emerging.cluster >= 0).sum()),
        "purity": purity(emerging.cluster, selected),
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "novel_topics": len(novel_topics),
        "reachable": len(novel_topics & set().union(*selected)),
        "found": len(found),
        "found_share": len(found) / len(novel_topics) if novel_topics else float("nan"),
    }


def describe(emerging, batch, topics="all"):
    """Return the clusters of a timestep as rows of the report.

    Returns
    -------
    list of dict
        For each cluster: size, labelled (number of documents with topics), novel (number of novel
        documents), share_novel (novel / labelled), topic (most frequent topic, among equals the
        first by name), topic_share, words, representative (id) and title.
    """
    counted = counts(
        emerging.cluster, _select_topics([batch.topics[row] for row in emerging.rows], topics)
    )
    labels, rows = batch.labels(topics)[emerging.rows], []
    for number, words in enumerate(emerging.words):
        members = labels[emerging.cluster == number]
        labelled, topic_counts = counted[number] if number < len(counted) else (0, {})
        topic = min(topic_counts, key=lambda name: (-topic_counts[name], name), default="")
        novel, best = int((members == 1).sum()), int(emerging.representative[number])
        rows.append(
            {
                "size": len(members),
                "novel": novel,
                "labelled": labelled,
                "share_novel": novel / labelled if labelled else float("nan"),
                "topic": topic,
                "topic_share": topic_counts[topic] / labelled if topic else float("nan"),
                "words": words.split(),
                "representative": batch.ids[best],
                "title": batch.titles[best],
            }
        )
    return rows


def table(pairs, topics="all"):
    """Return the table of a run with the columns `EMERGING_COLUMNS` and a row for each timestep.

    Parameters
    ----------
    pairs : list of (path-like, path-like)
        File of emerging topics and score file of each timestep.
    topics : {"all", "dominant"}
        As in `judge`.

    Raises
    ------
    DataError
        If the files of a pair have different documents.
    StorageError
        If a file is missing or damaged.
    """
    rows = []
    for path, scores in pairs:
        emerging, batch = read_emerging(path), read_scores(scores)
        check_pair(emerging, batch, path)
        rows.append(judge(emerging, batch, topics))
    return sorted(rows, key=lambda row: row["t"])


def gather(plan, path, tables):
    """Write the table of the emerging topics of a study, with means over seeds, ignoring nan.

    Parameters
    ----------
    plan : list of dict or path-like
        As in `odl.evaluation.study.summarise`.
    path : path-like
        Table to write, with the columns `EMERGING_OVER_SEEDS`.
    tables : list of path-like
        Files ``emerging.tsv`` of the runs with emerging topics.
    """
    import pandas

    from odl.evaluation.study import RUN_KEY, aggregate, collect, load_plan, means_of, spread_of

    folders = {os.path.dirname(os.fspath(table)) for table in tables}
    entries = [entry for entry in load_plan(plan) if entry["folder"] in folders]
    rows = pandas.DataFrame(
        collect(entries, "emerging.tsv", EMERGING_COLUMNS),
        columns=[*RUN_KEY, *EMERGING_COLUMNS[1:]],
    )
    means = [name for name in EMERGING_COLUMNS[2:] if name not in ("purity", "f1")]
    measured = {"seeds": ("t", "size"), **means_of(*means)}
    measured |= {**spread_of("purity"), **spread_of("f1")}
    write_table(path, aggregate(rows, (*RUN_KEY, "t"), **measured), EMERGING_OVER_SEEDS)


def score_run(path):
    """Read the run and the weighting of terms of a score file.

    Returns
    -------
    run : dict
        corpus, run, algorithm, seed and atoms.
    weighting : dict
        Settings of term weights.

    Raises
    ------
    StorageError
        If the file is not a score file of a learner.
    """
    with storage.reading(path, "scores") as file:
        for name in ("corpus", "seed", "run", "atoms", "algorithm", "weighting"):
            if name not in file.attrs:
                raise StorageError(
                    f"{path} has no attribute {name}",
                    "a score file of a learner",
                    "name a file that `odl step` wrote for a run of a learner",
                )
        weighting = json.loads(str(file.attrs["weighting"]))
        if not isinstance(weighting, dict) or not weighting.keys() <= set(WEIGHTING_KEYS):
            raise ValueError("the attribute weighting does not contain settings of term weights")
        texts = {name: str(file.attrs[name]) for name in ("corpus", "run", "algorithm")}
        return {**texts, **{name: int(file.attrs[name]) for name in ("seed", "atoms")}}, weighting


def section(table, selection):
    """Return the HTML of the report about the clusters of each timestep and their topics.

    It is empty if no run of the shown seed has emerging topics. Otherwise it describes the run
    shown in detail, or the first run with emerging topics if that run has none.

    Parameters
    ----------
    table : path-like
        Table that `gather` wrote.
    selection : odl.report.selection.Selection
    """
    from odl.report.page import Markup, render
    from odl.report.selection import thin
    from odl.report.studypage import MOST_STEPS

    rows = [
        row for row in read_table(table, EMERGING_OVER_SEEDS) if row["corpus"] == selection.corpus
    ]
    runs_with_topics = {(row["run"], row["k"]) for row in rows}
    entries = [entry for entry in selection.plan if entry["seed"] == selection.shown["seed"]]
    entries = [entry for entry in entries if (entry["run"], entry["k"]) in runs_with_topics]
    if not entries:
        return Markup("")
    entry = selection.shown if selection.shown in entries else entries[0]
    steps = []
    rule = selection.settings.get("topics", "all")
    for t in thin([t for t in entry["timesteps"] if t > 0], MOST_STEPS):
        emerging = read_emerging(os.path.join(entry["folder"], "emerging", f"{t}.h5"))
        batch = selection.batch(entry, t)
        steps.append((t, judge(emerging, batch, rule), describe(emerging, batch, rule)))
    means = [row for row in rows if (row["run"], row["k"]) == (entry["run"], entry["k"])]
    return render("papers/emergingfiles.jinja", entry=entry, means=means, steps=steps)
