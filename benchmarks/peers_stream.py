"""Reading a stream of `peers.py`, and scoring it by a method. Needs numpy and scipy only.

    python peers_stream.py STREAM

writes the vectors of the texts, {t}-vectors.npy, in an environment with `wordllama`.
"""

import inspect
import json
import signal
import sys
import time
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

# Number of columns for methods whose vocabulary cannot grow; the column of a word is its number
# modulo this.
WIDTH = 1 << 15
DIMENSIONS = 200
ENCODER = ("scipy", "wordllama")
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENS = "tokenizers/l2_supercat_tokenizer_config.json"


class Batch:
    """A batch that `peers.py` wrote: weights, counts, texts, vectors.

    Weights have log tf, the idf of earlier documents, and unit l2 norm.
    """

    def __init__(self, folder, t):
        self.t, self.folder = t, folder
        with np.load(folder / f"{t}.npz") as held:
            self.P, self.counts = (self._matrix(held, name) for name in ("weights", "counts"))

    def _matrix(self, held, name):
        parts = (held[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(tuple(parts), shape=held[f"{name}_shape"])

    @cached_property
    def fixed(self):
        """Weights in `WIDTH` columns."""
        return folded(self.P)

    @cached_property
    def fixed_counts(self):
        """Counts in `WIDTH` columns."""
        return folded(self.counts)

    @cached_property
    def texts(self):
        """Texts; for a stream without texts, the numbers of words, repeated by their counts."""
        path = self.folder / f"{self.t}.json"
        if path.exists():
            return json.loads(path.read_text())
        words = np.char.add("w", self.counts.indices.astype(str))
        repeated = np.split(
            np.repeat(words, self.counts.data.astype(int)), np.cumsum(self.lengths)[:-1]
        )
        return [" ".join(row) for row in repeated]

    @property
    def lengths(self):
        """Number of words of each document."""
        return np.asarray(self.counts.sum(axis=1)).ravel().astype(int)

    @cached_property
    def vectors(self):
        """Unit vectors of the encoder, centred by the mean of the first batch; None without."""
        path = self.folder / f"{self.t}-vectors.npy"
        if not path.exists():
            return None
        mean = np.load(self.folder / "0-vectors.npy").mean(axis=0)
        return unit((np.load(path) - mean).astype(np.float64))


def folded(matrix):
    """Add columns of a matrix whose numbers are equal modulo `WIDTH`."""
    found = sparse.csr_matrix(
        (matrix.data, matrix.indices % WIDTH, matrix.indptr), shape=(matrix.shape[0], WIDTH)
    )
    found.sum_duplicates()
    return found


def unit(rows):
    """Scale rows to unit length; zero rows stay zero."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class Meaning:
    """Unit vectors of documents, of the encoder or by a truncated SVD.

    The SVD is that of the weights of the first batch.
    """

    def vectors_of(self, batch):
        if batch.vectors is None:
            if not hasattr(self, "axes"):
                start = np.random.default_rng(0).standard_normal(min(batch.fixed.shape))
                self.axes = linalg.svds(batch.fixed.astype(np.float64), k=DIMENSIONS, v0=start)[2].T
            batch.vectors = unit(np.asarray(batch.fixed @ self.axes))
        return batch.vectors


def perplexity(shares, topics, counts):
    """Return the log perplexity of documents.

    `shares` has the topics of documents, `topics` the words of topics; rows of both sum to 1.
    """
    found = np.zeros(counts.shape[0])
    for row in range(counts.shape[0]):
        own = slice(counts.indptr[row], counts.indptr[row + 1])
        words = np.maximum(shares[row] @ topics[:, counts.indices[own]], 1e-30)
        found[row] = -(counts.data[own] @ np.log(words)) / max(counts.data[own].sum(), 1)
    return found


def lines_of(method):
    """Return the number of non-blank source lines of a class and its bases."""
    sources = [
        inspect.getsource(one).splitlines()[1:] for one in method.__mro__ if one is not object
    ]
    return sum(bool(line.strip()) for lines in sources for line in lines)


def follow(method, folder, seed, seconds, read=Batch):
    """Score and learn a stream until it ends or the CPU time is used up.

    An interrupted batch does not count.

    Returns
    -------
    scores : dict of int to ndarray
    spent : dict of str to float
        CPU seconds without the first batch.
    documents : int
    """
    scores, spent, documents, model = {}, {"score": 0.0, "learn": 0.0}, 0, method(seed)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        for t in range(len(list(folder.glob("*.npz")))):
            batch, took = read(folder, t), {}
            for phase in ("score", "learn") if t else ("learn",):
                began = time.process_time()
                found = getattr(model, phase)(batch)
                took[phase] = (time.process_time() - began, found)
            if t:
                scored = np.asarray(took["score"][1], dtype=np.float64)
                scores[t], documents = scored, documents + len(scored)
                spent = {phase: spent[phase] + took[phase][0] for phase in spent}
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return scores, spent, documents


def _stop(signum, frame):
    raise TimeoutError


def run(methods, read):
    """Run the method of the command line; print its cost as JSON."""
    name, folder, seed, seconds, output = sys.argv[1:]
    scores, spent, documents = follow(methods[name], Path(folder), int(seed), float(seconds), read)
    np.savez(output, **{str(t): found for t, found in scores.items()})
    print(json.dumps({**spent, "documents": documents, "lines": lines_of(methods[name])}))


def encode(folder):
    """Write the mean token vectors of the texts of each batch; print the cost as JSON."""
    import importlib.util

    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    place = Path(importlib.util.find_spec("wordllama").submodule_search_locations[0])
    table, tokenizer = (
        next(iter(load_file(place / WEIGHTS).values())),
        Tokenizer.from_file(str(place / TOKENS)),
    )
    began, documents = time.process_time(), 0
    for path in folder.glob("*.json"):
        found = []
        for text in json.loads(path.read_text()):
            rows = table[tokenizer.encode(text, add_special_tokens=False).ids]
            found.append(rows.mean(axis=0) if len(rows) else np.zeros(table.shape[1]))
        np.save(folder / f"{path.stem}-vectors.npy", np.array(found, dtype=np.float32))
        documents += len(found)
    print(json.dumps({"us": 1e6 * (time.process_time() - began) / max(documents, 1)}))


if __name__ == "__main__":
    encode(Path(sys.argv[1]))
