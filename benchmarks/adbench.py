"""Text-ADBench (arXiv 2507.12295), two rows on its splits and texts: learners, nearest documents, vectors beside words.

    ODL_MIRROR=... python benchmarks/adbench.py [--rows newsgroups reuters] [--encoders wordllama minilm] [--choose]

The past is normal training posts, and what is judged all other posts at once: of 20 Newsgroups misc.forsale is the
anomaly, of Reuters-21578 all but earn and acq. Texts are cleaned as there: without headers, footers and quotes, in
lower case, without punctuation, stop words and words of one or two letters. Half a CPU minute; `wordllama` (extra
`meaning`) adds a minute, `minilm` (minilm.py says what it needs) a quarter of an hour. `--vectors FOLDER` keeps vectors
there.

`--choose` takes the setting that is best on a validation part: of the normal training posts a fifth is judged, the rest
is the past, and one normal topic after another is left out of the past and is what is new. The test sees the choice.
"""

import argparse
import os
import re
import string
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import minilm
import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from odl import learners, novelty
from odl.corpora import news20, reuters21578
from odl.corpora.checks import documents_of, tar_members
from odl.evaluation import baselines, metrics
from odl.learners.vectors import weight_of
from odl.stream import dense, features
from odl.text import encoder

QUOTED = re.compile(r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)")
SPACES = str.maketrans(string.punctuation, " " * len(string.punctuation))
TOKENS = {"lowercase": False, "pattern": r"\S+"}  # texts are cleaned already
BATCH, AT_ONCE = 1000, 500
NORMAL = {"newsgroups": lambda topic: topic != "misc.forsale", "reuters": lambda topic: topic in ("earn", "acq")}
ENCODERS = {"wordllama": lambda: encoder.encoder_of("wordllama"), "minilm": minilm.MiniLM}
FIVE = "5 nearest by"
ATOMS = 500  # of `adaptive`; `levels` has what its memory holds
LEARNERS = {"levels": {}, "adaptive": {}}
NEAREST, WEIGHTS = (5,), (None,)  # None: by length
# What is chosen from, with `LEARNERS`.
MORE = {"levels, 60,000 numbers": {"memory": 60_000}, "levels, 600,000 numbers": {"memory": 600_000}}
AROUND = {"levels": {"context": 0.5}, "adaptive": {"contrast": 0.3, "context": 0.5}}  # the same atoms
MORE_NEAREST, MORE_WEIGHTS = (1, 5, 20), (None, 0.25, 0.5, 0.75)


def own_words(body):
    """Return the body of a post without lines that quote, and without what follows its last ruled or empty line."""
    rows = "\n".join(line for line in body.split("\n") if not QUOTED.search(line)).strip().split("\n")
    ruled = [place for place, line in enumerate(rows) if line.strip().strip("-") == ""]
    return "\n".join(rows[: ruled[-1]] if ruled and ruled[-1] > 0 else rows)


def cleaned(text):
    """Return the words of a text that are left."""
    words = text.lower().translate(SPACES).split()
    return " ".join(word for word in words if len(word) > 2 and word not in ENGLISH_STOP_WORDS)


def newsgroups(folder):
    """Yield (of the training part, topic, text) of 20 Newsgroups."""
    posts = ((news20.MEMBER.search(name), data) for name, data in tar_members(folder / "20news/20news-bydate.tar.gz"))
    for match, data in sorted((match.groups(), data) for match, data in posts if match):
        split, group, _ = match
        yield split == "train", group, own_words(news20.split_post(data)[1])


def reuters(folder):
    """Yield the same of Reuters-21578, ModApte split, documents of one topic."""
    for _, data in sorted(tar_members(folder / "reuters21578/reuters21578.tar.gz", re.compile(r".*\.sgm").fullmatch)):
        for attributes, inside in reuters21578.elements(data.decode("latin-1")):
            split = re.search(r'TOPICS="YES" LEWISSPLIT="(TRAIN|TEST)"', attributes)
            topics = re.findall(r"<D>(.*?)</D>", reuters21578.between(inside, "TOPICS") or "")
            if split and len(topics) == 1:
                kind = reuters21578.TEXT.search(inside)
                text = reuters21578.title_and_text(kind[1], inside[kind.end() :])[1]
                yield split[1] == "TRAIN", topics[0], text


class Posts(NamedTuple):
    """Cleaned posts that have a word left."""

    documents: Any
    training: np.ndarray
    topics: np.ndarray
    vectors: dict[str, np.ndarray]  # by encoder

    @classmethod
    def of(cls, rows, encoders=(), folder=None):
        """Return the posts of (of the training part, topic, text); vectors are kept in a folder."""
        rows = [(training, topic, text) for training, topic, raw in rows if (text := cleaned(raw))]
        training, topics, texts = zip(*rows, strict=True)
        documents = documents_of(((str(row), 0, (), "", text) for row, text in enumerate(texts)), {"tokens": TOKENS})
        vectors = {name: vectors_of(name, texts, folder and folder / f"{name}.npy") for name in encoders}
        return cls(documents, np.array(training), np.array(topics), vectors)


def vectors_of(name, texts, file):
    """Return the vectors of texts, from a file where it exists."""
    if file and file.exists():
        return np.load(file)
    made = ENCODERS[name]()
    vectors = [made.add(text) for text in texts] and made.vectors()
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, vectors)
    return vectors


def nearest(today, past, numbers):
    """Return 1 - the mean of the largest cosines of rows, for each of several numbers of them."""
    most, largest = max(numbers), []
    for first in range(0, today.shape[0], AT_ONCE):
        cosines = today[first : first + AT_ONCE] @ past.T
        cosines = cosines.toarray() if sparse.issparse(cosines) else cosines
        largest.append(np.sort(np.partition(cosines, -most, axis=1)[:, -most:], axis=1))
    return {number: 1.0 - np.concatenate(largest)[:, -number:].mean(axis=1) for number in numbers}


def learned(settings, P, Q, around=False):
    """Return the scores of Q by learners of P, by their names; using the batch too where it is asked for."""
    results = {}
    for name, setting in settings.items():
        algorithm = name.partition(",")[0]
        learner = learners.make(algorithm, **setting)
        state = learner.start(P[:BATCH], ATOMS, novelty.generator(0, "start"))
        for first in range(BATCH, P.shape[0], BATCH):
            state = learner.learn(state, P[first : first + BATCH], None)
        state = learner.fit_terms(state, Q.shape[1])
        results[name] = novelty.score(learner, state, Q).score
        if around:
            learner = learners.make(algorithm, **setting, **AROUND[algorithm])
            results[f"{name}, using the batch"] = novelty.score(learner, state, Q).score
    return results


def scores(posts, past, judged, more=False):
    """Return the scores of the posts that are judged, by method.

    Parameters
    ----------
    posts : Posts
    past, judged : ndarray of int
        Places.
    more : bool
        All methods that are chosen from.
    """
    before = features.follow(posts.documents.select(past))
    today = features.follow(posts.documents.select(judged), before)
    P, Q = (batch.weighed(tf="log", norm="l2")[:] for batch in (before, today))
    results = learned(LEARNERS | (MORE if more else {}), P, Q, more)
    numbers = MORE_NEAREST if more else NEAREST
    words, counts = baselines.weighed(today, "log"), list(baselines.blocks(before, today))
    views = {"words": (words, sparse.vstack([baselines.weighed(today, "log", part) for part in counts]))}
    for name, vectors in posts.vectors.items():
        mean = dense.total(vectors[past]) / len(past)
        views[name] = tuple(dense.centred(vectors[rows], mean) for rows in (judged, past))
    for view, rows in views.items():
        results |= {f"{number} nearest by {view}": score for number, score in nearest(*rows, numbers).items()}
    by_length = weight_of(np.diff(before.counts[:].indptr))
    for own, view, weight in product((*LEARNERS, f"{FIVE} words"), posts.vectors, MORE_WEIGHTS if more else WEIGHTS):
        a, rule = (by_length, "length") if weight is None else (weight, f"a = {weight:g}")
        mixed = (1.0 - a) * rankdata(results[own]) + a * rankdata(results[f"{FIVE} {view}"])
        results[f"{own} and {view}, ranks by {rule}"] = mixed
    return results


def aucs(found, labels):
    """Return AUROC in %, by method."""
    return {name: 100 * metrics.auc(score, labels) for name, score in found.items()}


def measured(posts, normal, more=False):
    """Return posts of the past, those judged, anomalous ones, and AUROC in % by method."""
    anomalous = np.array([not normal(topic) for topic in posts.topics])
    is_past = posts.training & ~anomalous
    labels = anomalous[~is_past]
    found = aucs(scores(posts, np.flatnonzero(is_past), np.flatnonzero(~is_past), more), labels)
    return int(is_past.sum()), len(labels), int(labels.sum()), found


def validated(posts, normal):
    """Return AUROC in % by method, the mean over normal topics that are left out of the past and judged as new."""
    known = np.flatnonzero(posts.training & np.array([normal(topic) for topic in posts.topics]))
    judged, rest = known[::5], np.setdiff1d(known, known[::5])
    folds = []
    for topic in np.unique(posts.topics[judged]):
        past = rest[posts.topics[rest] != topic]
        folds.append(aucs(scores(posts, past, judged, more=True), posts.topics[judged] == topic))
    return {name: float(np.mean([fold[name] for fold in folds])) for name in folds[0]}


def main():
    """Measure the rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", default=["newsgroups", "reuters"], choices=["newsgroups", "reuters"])
    parser.add_argument("--encoders", nargs="*", default=[], choices=list(ENCODERS))
    parser.add_argument("--vectors", type=Path, help="folder that keeps vectors")
    parser.add_argument("--choose", action="store_true", help="choose a method on normal topics")
    given = parser.parse_args()
    for row in given.rows:
        texts = {"newsgroups": newsgroups, "reuters": reuters}[row](Path(os.environ["ODL_MIRROR"]))
        posts = Posts.of(texts, given.encoders, given.vectors and given.vectors / row)
        validation = validated(posts, NORMAL[row]) if given.choose else {}
        past, judged, anomalous, found = measured(posts, NORMAL[row], given.choose)
        print(f"{row}: {past} past, {judged} judged, {anomalous} of them anomalous", flush=True)
        for name in sorted(found, key=lambda name: -validation.get(name, 0)):
            print(f"{row}\t{name}\t{validation.get(name, float('nan')):.1f}\t{found[name]:.1f}", flush=True)


if __name__ == "__main__":
    main()
