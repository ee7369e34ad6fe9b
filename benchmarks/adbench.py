"""Two rows of Text-ADBench (arXiv 2507.12295): `levels`, `adaptive` and five nearest documents on its splits and texts.

    ODL_MIRROR=... python benchmarks/adbench.py [--rows newsgroups reuters]

The past is normal training posts, and what is judged all other posts at once: of 20 Newsgroups misc.forsale is the
anomaly, of Reuters-21578 all but earn and acq. Texts are cleaned as there: without headers, footers and quotes, in
lower case, without punctuation, stop words and words of one or two letters. Half a CPU minute.
"""

import argparse
import os
import re
import string
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from odl import learners, novelty
from odl.corpora import news20, reuters21578
from odl.corpora.checks import documents_of, tar_members
from odl.evaluation import baselines, metrics
from odl.stream import features

QUOTED = re.compile(r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)")
SPACES = str.maketrans(string.punctuation, " " * len(string.punctuation))
TOKENS = {"lowercase": False, "pattern": r"\S+"}  # texts are cleaned already
BATCH = 1000
LEARNERS = {"levels": 1, "adaptive": 500}  # atoms; `levels` has what its memory holds


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
    """Yield (of the training part, anomalous, text) of 20 Newsgroups."""
    posts = ((news20.MEMBER.search(name), data) for name, data in tar_members(folder / "20news/20news-bydate.tar.gz"))
    for match, data in sorted((match.groups(), data) for match, data in posts if match):
        split, group, _ = match
        yield split == "train", group == "misc.forsale", own_words(news20.split_post(data)[1])


def reuters(folder):
    """Yield the same of Reuters-21578, ModApte split, documents of one topic."""
    for _, data in sorted(tar_members(folder / "reuters21578/reuters21578.tar.gz", re.compile(r".*\.sgm").fullmatch)):
        for attributes, inside in reuters21578.elements(data.decode("latin-1")):
            split = re.search(r'TOPICS="YES" LEWISSPLIT="(TRAIN|TEST)"', attributes)
            topics = re.findall(r"<D>(.*?)</D>", reuters21578.between(inside, "TOPICS") or "")
            if split and len(topics) == 1:
                kind = reuters21578.TEXT.search(inside)
                text = reuters21578.title_and_text(kind[1], inside[kind.end() :])[1]
                yield split[1] == "TRAIN", topics[0] not in ("earn", "acq"), text


def scores(texts, is_past):
    """Return the scores of the texts that are judged, by method."""
    documents = documents_of(((str(row), 0, (), "", text) for row, text in enumerate(texts)), {"tokens": TOKENS})
    past = features.follow(documents.select(np.flatnonzero(is_past)))
    judged = features.follow(documents.select(np.flatnonzero(~is_past)), past)
    P, Q = (batch.weighed(tf="log", norm="l2")[:] for batch in (past, judged))
    results = {}
    for name, atoms in LEARNERS.items():
        learner = learners.make(name)
        state = learner.start(P[:BATCH], atoms, novelty.generator(0, "start"))
        for first in range(BATCH, P.shape[0], BATCH):
            state = learner.learn(state, P[first : first + BATCH], None)
        results[name] = novelty.score(learner, learner.fit_terms(state, Q.shape[1]), Q).score
    return results | {"five nearest": baselines.nearest(judged, [past], {"logtf": "log"})["nearest5-logtf"]}


def measured(rows):
    """Return documents of the past, those judged, anomalous ones, and AUROC in % by method."""
    training, anomalous, texts = zip(*((*labels, cleaned(text)) for *labels, text in rows), strict=True)
    kept = np.array([bool(text) for text in texts])
    training, anomalous, texts = np.array(training)[kept], np.array(anomalous)[kept], [text for text in texts if text]
    is_past = training & ~anomalous
    labels = anomalous[~is_past]
    found = {name: 100 * metrics.auc(score, labels) for name, score in scores(texts, is_past).items()}
    return int(is_past.sum()), len(labels), int(labels.sum()), found


def main():
    """Measure the rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", default=["newsgroups", "reuters"], choices=["newsgroups", "reuters"])
    for row in parser.parse_args().rows:
        past, judged, anomalous, found = measured(
            {"newsgroups": newsgroups, "reuters": reuters}[row](Path(os.environ["ODL_MIRROR"]))
        )
        print(f"{row}: {past} past, {judged} judged, {anomalous} of them anomalous", flush=True)
        for name, value in found.items():
            print(f"{row}\t{name}\t{value:.1f}", flush=True)


if __name__ == "__main__":
    main()
