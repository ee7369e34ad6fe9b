"""Files of emerging topics, their agreement with topic labels, and their part of the report.

Clusters are numbered from 0; -1 means none. Documents without topic labels are ignored. Two
documents have the same topic if their topics overlap, and a document counts for each of its topics.
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
    run : dict
        corpus, seed, run, atoms and algorithm of the learner whose scores were used.
    settings : dict
        As `odl.config.sections.SmallDictionary`.
    rows : ndarray of int64, shape (n,)
        Rows of the selected documents in the batch, most novel first.
    ids : list of str
        Ids of these documents.
    cluster : ndarray of int32, shape (n,)
        Cluster of each document, -1 for none.
    residual : ndarray of float64, shape (n,)
        ``||q - B z||_1`` of each document with the small dictionary.
    objective : float
        Objective of the small dictionary over the selected documents.
    words, weights : list of str
        Top words of each cluster, heaviest first, and their weights.
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
    """Write the emerging topics of one timestep, atomically and with reproducible bytes."""
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
    """Check that emerging topics were computed from these scores.

    Raises
    ------
    DataError
        If timestep or documents differ.
    """
    rows_exist = len(batch.ids) > emerging.rows.max(initial=-1)
    ids = [batch.ids[row] for row in emerging.rows] if rows_exist else None
    if (emerging.t, emerging.ids) != (batch.t, ids):
        raise DataError(
            f"{path} is of other documents than the scores",
            "two files of one timestep and seed",
            "run `odl step topics` again with these scores",
        )


def _select_topics(topics, rule):
    """Return all topics of documents (rule "all"), or only their first topics ("dominant")."""
    return topics if rule == "all" else [names[:1] for names in topics]


def counts(clusters, topics):
    """Return for each cluster (number of labelled documents, number of documents by topic).

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

    Documents in no cluster and without topics do not count. nan if no document remains.

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
    """Return the set of topics that have a majority in at least one cluster.

    A topic has a majority if more than half of the labelled documents of the cluster have it.
    """
    return {
        name
        for size, tally in counts(clusters, topics)
        for name, number in tally.items()
        if 2 * number > size
    }


def b_cubed(clusters, topics):
    """Return B-cubed precision, recall and F1 of clusters (Bagga and Baldwin, 1998).

    Let C(i) be the documents in the cluster of i, including i, and T(i) those with the same topic.
    Precision is the mean of ``|C(i) & T(i)| / |C(i)|`` over the documents in clusters, recall the
    mean of ``|C(i) & T(i)| / |T(i)|`` over all documents, where a document in no cluster counts 0.
    Only documents with topics are used. If each has one topic and is in a cluster, these are the
    usual measures. Without such documents all three are nan. If none of them is in a cluster,
    precision and F1 are nan.

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
    # All pairs of documents with a common topic
    first, second = sparse.coo_array(has_topic @ has_topic.T).coords
    both = np.bincount(
        first[(clusters[first] == clusters[second]) & (clusters[first] >= 0)], minlength=len(rows)
    )  # |C(i) & T(i)|
    recall = float(np.mean(both / np.bincount(first, minlength=len(rows))))
    clustered = clusters >= 0
    if not clustered.any():
        return nan, recall, nan
    sizes = np.bincount(clusters[clustered])[clusters[clustered]]
    precision = float(np.mean(both[clustered] / sizes))
    return precision, recall, 2 * precision * recall / (precision + recall)


def judge(emerging, batch, topics="all"):
    """Compare the clusters of a timestep with the topics of the documents.

    A novel topic is a topic of a novel document in the batch. It is *reachable* if a selected
    document has this topic. It is *found* if it is the topic of more than half of the labelled
    documents in a cluster.

    Parameters
    ----------
    emerging : EmergingTopics
    batch : odl.evaluation.scorefiles.ScoredBatch
        The scores that `emerging` was computed from.
    topics : {"all", "dominant"}
        Topics that count for a document: all, or only the dominant one.

    Returns
    -------
    dict
        Keys `EMERGING_COLUMNS`; undefined values are nan.
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
        documents), share_novel (novel / labelled, nan without labels), topic (most frequent topic
        of the labelled documents; ties by name), topic_share, words, representative (id) and title.
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
    """Return the table of a run, one row per timestep with the keys `EMERGING_COLUMNS`.

    Parameters
    ----------
    pairs : list of (path-like, path-like)
        For every timestep, the file of emerging topics and the score file.
    topics : {"all", "dominant"}

    Raises
    ------
    DataError, StorageError
        If a file is missing or damaged, or a pair does not belong together.
    """
    rows = []
    for path, scores in pairs:
        emerging, batch = read_emerging(path), read_scores(scores)
        check_pair(emerging, batch, path)
        rows.append(judge(emerging, batch, topics))
    return sorted(rows, key=lambda row: row["t"])


def gather(plan, path, tables):
    """Write the table of the emerging topics of a study.

    Values are means over the seeds of each timestep; nan is ignored.

    Parameters
    ----------
    plan : list of dict or path-like
        As for `odl.evaluation.study.summarise`.
    path : path-like
        Table to write, columns `EMERGING_OVER_SEEDS`.
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
    """Read from a score file which run it belongs to, and how the run weighted terms.

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
            raise ValueError("its attribute weighting is no term weighting")
        texts = {name: str(file.attrs[name]) for name in ("corpus", "run", "algorithm")}
        return {**texts, **{name: int(file.attrs[name]) for name in ("seed", "atoms")}}, weighting


def section(table, selection):
    """Render the part of the report about emerging topics.

    It has the clusters of each timestep, and their agreement with topic labels.

    Parameters
    ----------
    table : path-like
        Table written by `gather`.
    selection : odl.report.selection.Selection
    """
    from odl.report.page import Markup, render
    from odl.report.selection import thin
    from odl.report.studypage import MOST_STEPS

    rows = [
        row for row in read_table(table, EMERGING_OVER_SEEDS) if row["corpus"] == selection.corpus
    ]
    followed = {(row["run"], row["k"]) for row in rows}
    entries = [entry for entry in selection.plan if entry["seed"] == selection.shown["seed"]]
    entries = [entry for entry in entries if (entry["run"], entry["k"]) in followed]
    if not entries:
        return Markup("")
    entry, steps = selection.shown if selection.shown in entries else entries[0], []
    rule = selection.settings.get("topics", "all")
    for t in thin([t for t in entry["timesteps"] if t > 0], MOST_STEPS):
        emerging = read_emerging(os.path.join(entry["folder"], "emerging", f"{t}.h5"))
        pair = emerging, selection.batch(entry, t), rule
        steps.append((t, judge(*pair), describe(*pair)))
    means = [row for row in rows if (row["run"], row["k"]) == (entry["run"], entry["k"])]
    return render("papers/emergingfiles.jinja", entry=entry, means=means, steps=steps)
