"""A synthetic stream of short documents with topics that enter over time, as JSONL.

    python benchmarks/synthetic.py 1000000 made.jsonl --topics 200 --seed 0
    python benchmarks/synthetic.py 1000000 made.jsonl --leaving --fresh 0.02

A document has an id, a time, topics and a text of about 20 to 30 words. Three quarters are words of
its topic, the others are common words, both with a Zipf-Mandelbrot law. A tenth of the topics
occurs from the start; the others enter one by one, evenly over the first nine tenths of the stream,
and remain. Documents are written as they are drawn, so memory does not depend on their number. With
`--leaving`, half of the first topics remain, and each topic that enters replaces the oldest of the
others. `--fresh` is the share of words that occur only once (names, numbers, typing errors). With
both, timesteps differ in their words only, and the vocabulary grows without end. Documents are
drawn in blocks of `BLOCK` from the seed and the number of the block, so equal arguments give equal
bytes.
"""

import argparse
import gzip
import json
import os
from datetime import UTC, datetime, timedelta

import numpy as np

from odl.files.atomic import replacing

BLOCK = 10_000
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
SYLLABLES = [first + second for first in "bdfghjklmnprstvz" for second in "aeiou"]
COMMON, OWN = 20_000, 200  # numbers of common words, and of words of a topic
SHARE = 0.75  # share of words of a document that belong to its topic
SHORTEST, LONGEST = 22, 31  # smallest and largest number of words of a document
# Coprime to the number of possible words, so that words of consecutive numbers look different
SPREAD = 1_234_567_891


def word(number):
    """Return the word with a number; it has five syllables, so it is no English stop word."""
    parts, number = [], number * SPREAD % len(SYLLABLES) ** 5
    for _ in range(5):
        number, rest = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[rest])
    return "".join(parts)


def zipf(size):
    """Return the cumulative probabilities of ranks 1 to `size`, proportional to 1/(rank + 10)."""
    weights = 1.0 / (np.arange(1, size + 1) + 10.0)
    return np.cumsum(weights) / weights.sum()


def entries(n_documents, n_topics, last=0.9):
    """Return the number of the document at which each topic enters.

    The first tenth of the topics (at least one) enters at 0. `last` is the share of the documents
    before the last entry.
    """
    first = max(1, n_topics // 10)
    later = np.arange(1, n_topics - first + 1) / (n_topics - first + 1)
    return np.concatenate([np.zeros(first), later * last * n_documents]).astype(np.int64)


def blocks(n_documents, n_topics, seed, leaving=False, fresh=0.0):
    """Yield the documents in blocks.

    Parameters
    ----------
    n_documents, n_topics, seed : int
    leaving : bool
        Whether a topic that enters replaces the oldest one, except for half of the first topics.
    fresh : float
        Share of words that occur once.

    Yields
    ------
    first : int
        Number of the block's first document.
    topics : ndarray of int64, shape (n,)
    starts : ndarray of int64, shape (n + 1,)
    terms : ndarray of int64
        Words of document i are ``terms[starts[i]:starts[i + 1]]``: those below `COMMON` are common,
        the next `OWN` are words of topic 0, and so on; larger numbers are words that occur once.
    """
    entry = entries(n_documents, n_topics, 1.0 if leaving else 0.9)
    common, own = zipf(COMMON), zipf(OWN)
    most = int(np.count_nonzero(entry == 0)) if leaving else n_topics
    for number, first in enumerate(range(0, n_documents, BLOCK)):
        rng = np.random.default_rng([seed, number])
        size = min(BLOCK, n_documents - first)
        present = np.searchsorted(entry, first + np.arange(size), side="right")
        gone = np.maximum(present - most, 0)
        topics = (rng.random(size) * (present - gone)).astype(np.int64)
        topics += np.where(topics >= most // 2, gone, 0)
        lengths = rng.integers(SHORTEST, LONGEST + 1, size)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        drawn = rng.random((2, starts[-1]))
        shared = np.searchsorted(common, drawn[0])
        special = COMMON + OWN * np.repeat(topics, lengths) + np.searchsorted(own, drawn[0])
        terms = np.where(drawn[1] < SHARE, special, shared)
        if fresh:
            places = np.flatnonzero(rng.random(len(terms)) < fresh)
            terms[places] = COMMON + OWN * n_topics + number * BLOCK * LONGEST + places
        yield first, topics, starts, terms


def rows(n_documents, n_topics, seed=0, seconds=60, leaving=False, fresh=0.0):
    """Yield a dict for each document: id, time, topics, title, text.

    Parameters
    ----------
    n_documents, n_topics, seed, leaving, fresh
        As for `blocks`.
    seconds : float
        Time between documents.
    """
    words = [word(number) for number in range(COMMON + OWN * n_topics)]
    for first, topics, starts, terms in blocks(n_documents, n_topics, seed, leaving, fresh):
        spelled = [words[term] if term < len(words) else word(term) for term in terms.tolist()]
        for position, topic in enumerate(topics.tolist()):
            number = first + position
            yield {
                "id": f"d{number}",
                "time": (BEGIN + timedelta(seconds=seconds * number)).isoformat(timespec="seconds"),
                "topics": [f"topic{topic}"],
                "title": f"document {number} of topic {topic}",
                "text": " ".join(spelled[starts[position] : starts[position + 1]]),
            }


def write(path, n_documents, n_topics=200, seed=0, seconds=60, leaving=False, fresh=0.0):
    """Write a stream to a .jsonl or .jsonl.gz file, atomically."""
    path = os.fspath(path)
    if not path.endswith((".jsonl", ".jsonl.gz")):
        raise SystemExit(
            f"synthetic: {path} has another ending; expected .jsonl or .jsonl.gz; rename it."
        )
    if n_documents < 1 or n_topics < 1 or seed < 0:
        raise SystemExit(
            "synthetic: documents and topics are at least 1, seeds at least 0; correct them."
        )
    if not 0 <= fresh < 1:
        raise SystemExit(
            f"synthetic: fresh is {fresh}; expected at least 0 and below 1; correct --fresh."
        )
    with replacing(path) as temporary, open(temporary, "wb") as raw, _packed(raw, path) as file:
        for row in rows(n_documents, n_topics, seed, seconds, leaving, fresh):
            file.write(json.dumps(row).encode() + b"\n")


def _packed(raw, path):
    """Return the file, compressed if the name ends in .gz, without name and time in its header."""
    return gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.endswith(".gz") else raw


def main(words=None):
    """Write the stream of the command line."""
    parser = argparse.ArgumentParser(description="Write a made stream of short documents as JSONL.")
    parser.add_argument("documents", type=int)
    parser.add_argument("output", help="file ending in .jsonl or .jsonl.gz")
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=60, help="from one document to the next (default: 60)"
    )
    parser.add_argument(
        "--leaving", action="store_true", help="a topic that enters takes the place of an old one"
    )
    parser.add_argument(
        "--fresh", type=float, default=0, help="share of words that occur once (default: 0)"
    )
    args = parser.parse_args(words)
    write(
        args.output, args.documents, args.topics, args.seed, args.seconds, args.leaving, args.fresh
    )


if __name__ == "__main__":
    main()
