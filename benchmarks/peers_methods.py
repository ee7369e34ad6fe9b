"""Methods of other packages that score a stream, each in an environment of its own: run by `peers.py`.

    python peers_methods.py NAME STREAM SEED SECONDS SCORES

Needs numpy, scipy and what PACKAGES of the method says. It scores each batch of the folder STREAM before it learns it,
sees no label, and writes SCORES: those of the timesteps that it reached in so many CPU seconds.
"""

import inspect
import json
import sys
import time
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

WIDTH = 1 << 15  # columns for methods whose vocabulary cannot grow: numbers of words, modulo this
TOPICS, DIMENSIONS, NEAREST, FIRST = 50, 200, 5, 10  # FIRST: passes over the first batch


class Batch:
    """A timestep as `peers.py` wrote it: weights (log tf, idf of the past, unit l2), counts, texts where there are."""

    def __init__(self, folder, t):
        self.t, held = t, np.load(folder / f"{t}.npz")
        self.P, self.counts = (self._matrix(held, name) for name in ("weights", "counts"))
        path = folder / f"{t}.json"
        self.texts = json.loads(path.read_text()) if path.exists() else None

    def _matrix(self, held, name):
        parts = (held[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        return sparse.csr_matrix(tuple(parts), shape=held[f"{name}_shape"])

    @cached_property
    def fixed(self):
        """The weights in `WIDTH` columns."""
        return folded(self.P)

    @cached_property
    def fixed_counts(self):
        """The counts in `WIDTH` columns."""
        return folded(self.counts)


def folded(matrix):
    """Return a matrix in `WIDTH` columns."""
    found = sparse.csr_matrix((matrix.data, matrix.indices % WIDTH, matrix.indptr), shape=(matrix.shape[0], WIDTH))
    found.sum_duplicates()
    return found


class Meaning:
    """Vectors of documents: the first batch's truncated SVD of the weights (latent semantic indexing), unit length."""

    def of(self, batch):
        if not hasattr(batch, "vectors"):
            if not hasattr(self, "axes"):
                start = np.random.default_rng(0).standard_normal(min(batch.fixed.shape))
                self.axes = linalg.svds(batch.fixed.astype(np.float64), k=DIMENSIONS, v0=start)[2].T
            found = np.asarray(batch.fixed @ self.axes)
            batch.vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        return batch.vectors


def perplexity(shares, topics, counts):
    """Return the log perplexity of documents from their shares of topics and the topics' words, both of sum 1."""
    found = np.zeros(counts.shape[0])
    for row in range(counts.shape[0]):
        own = slice(counts.indptr[row], counts.indptr[row + 1])
        words = np.maximum(shares[row] @ topics[:, counts.indices[own]], 1e-30)
        found[row] = -(counts.data[own] @ np.log(words)) / max(counts.data[own].sum(), 1)
    return found


class MiniBatchKMeans:
    PACKAGES = ("scikit-learn",)

    def __init__(self, seed):
        from sklearn.cluster import MiniBatchKMeans

        self.model = MiniBatchKMeans(100, n_init=1, random_state=seed)

    def score(self, batch):
        return self.model.transform(batch.fixed).min(axis=1)

    def learn(self, batch):
        self.model.partial_fit(batch.fixed)


class MiniBatchNMF:
    PACKAGES = ("scikit-learn",)

    def __init__(self, seed):
        from sklearn.decomposition import MiniBatchNMF

        self.model, self.passes = MiniBatchNMF(TOPICS, init="random", random_state=seed), FIRST

    def score(self, batch):
        H, W = self.model.components_, self.model.transform(batch.fixed)
        return 1.0 - 2.0 * (W * (batch.fixed @ H.T)).sum(axis=1) + ((W @ (H @ H.T)) * W).sum(axis=1)

    def learn(self, batch):
        for _ in range(self.passes):
            self.model.partial_fit(batch.fixed)
        self.passes = 1


class OnlineLDA:
    PACKAGES = ("scikit-learn",)

    def __init__(self, seed):
        from sklearn.decomposition import LatentDirichletAllocation

        self.model = LatentDirichletAllocation(TOPICS, total_samples=20_000, random_state=seed)
        self.passes = FIRST

    def score(self, batch):
        counts, topics = batch.fixed_counts, self.model.components_
        return perplexity(self.model.transform(counts), topics / topics.sum(axis=1)[:, None], counts)

    def learn(self, batch):
        for _ in range(self.passes):
            self.model.partial_fit(batch.fixed_counts)
        self.passes = 1


class GensimLDA:
    PACKAGES = ("gensim",)

    def __init__(self, seed):
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        words = {number: str(number) for number in range(WIDTH)}
        self.model = LdaModel(id2word=words, num_topics=TOPICS, chunksize=1000, random_state=seed)
        self.corpus, self.passes = lambda counts: Sparse2Corpus(counts, documents_columns=False), FIRST

    def score(self, batch):
        shares, _ = self.model.inference(list(self.corpus(batch.fixed_counts)))
        return perplexity(shares / shares.sum(axis=1)[:, None], self.model.get_topics(), batch.fixed_counts)

    def learn(self, batch):
        self.model.update(self.corpus(batch.fixed_counts), passes=self.passes)
        self.passes = 1


class RiverTextClust:
    PACKAGES = ("river",)

    def __init__(self, seed):
        from river.cluster import TextClust

        self.model = TextClust(real_time_fading=False, fading_factor=0.001, tgap=100, auto_r=True, radius=0.9)

    def rows(self, batch):
        for row in range(batch.counts.shape[0]):
            own = slice(batch.counts.indptr[row], batch.counts.indptr[row + 1])
            yield dict(zip(batch.counts.indices[own].tolist(), batch.counts.data[own].tolist(), strict=True))

    def score(self, batch):
        model, found = self.model, []
        idf = model._calculate_idf(model.micro_clusters.values())
        for row in self.rows(batch):
            one = model.MicroCluster({word: {"tf": count} for word, count in row.items()}, model.t, 1, None, -1)
            found.append(model._get_closest_mc(one, idf, model._micro_distance)[1])
        return np.array(found)

    def learn(self, batch):
        for row in self.rows(batch):
            self.model.learn_one(row)


class BERTopicOnline:
    PACKAGES, TEXTS = ("torch==2.13.0", "bertopic"), True

    def __init__(self, seed):
        from bertopic import BERTopic
        from bertopic.vectorizers import OnlineCountVectorizer
        from sklearn.cluster import MiniBatchKMeans
        from sklearn.decomposition import IncrementalPCA

        self.meaning = Meaning()
        self.model = BERTopic(
            umap_model=IncrementalPCA(n_components=50),
            hdbscan_model=MiniBatchKMeans(n_clusters=TOPICS, n_init=1, random_state=seed),
            vectorizer_model=OnlineCountVectorizer(stop_words="english", decay=0.01),
        )

    def score(self, batch):
        reduced = self.model.umap_model.transform(self.meaning.of(batch))
        return self.model.hdbscan_model.transform(reduced).min(axis=1)

    def learn(self, batch):
        self.model.partial_fit(batch.texts, embeddings=self.meaning.of(batch))


class TurftopicKeyNMF:
    PACKAGES, TEXTS, KEYWORDS = ("torch==2.13.0", "turftopic"), True, 25

    def __init__(self, seed):
        from turftopic import KeyNMF

        self.model = KeyNMF(TOPICS, encoder=SimpleNamespace(encode=None), random_state=seed)

    def keywords(self, batch):
        found = []
        for row in range(batch.P.shape[0]):
            own = slice(batch.P.indptr[row], batch.P.indptr[row + 1])
            best = np.argsort(-batch.P.data[own], kind="stable")[: self.KEYWORDS]
            found.append({f"w{batch.P.indices[own][at]}": float(batch.P.data[own][at]) for at in best})
        return found

    def score(self, batch):
        W = self.model.transform(batch.texts, keywords=self.keywords(batch))
        return -np.asarray(W).max(axis=1)

    def learn(self, batch):
        self.model.partial_fit(batch.texts, keywords=self.keywords(batch))


class FaissFlat:
    PACKAGES = ("faiss-cpu", "scipy")

    def __init__(self, seed):
        import faiss

        faiss.omp_set_num_threads(1)
        self.meaning, self.index = Meaning(), self.made(faiss)

    def made(self, faiss):
        return faiss.IndexFlatIP(DIMENSIONS)

    def score(self, batch):
        return 1.0 - self.index.search(self.meaning.of(batch).astype(np.float32), NEAREST)[0].mean(axis=1)

    def learn(self, batch):
        self.index.add(self.meaning.of(batch).astype(np.float32))


class FaissHNSW(FaissFlat):
    def made(self, faiss):
        return faiss.IndexHNSWFlat(DIMENSIONS, 32, faiss.METRIC_INNER_PRODUCT)


class SparseDotTopn:
    PACKAGES = ("sparse_dot_topn",)

    def __init__(self, seed):
        from sparse_dot_topn import sp_matmul_topn

        self.topn, self.past = sp_matmul_topn, None

    def score(self, batch):
        self.past.resize(self.past.shape[0], batch.P.shape[1])
        return 1.0 - np.asarray(self.topn(batch.P, self.past.T.tocsr(), top_n=NEAREST).sum(axis=1)).ravel() / NEAREST

    def learn(self, batch):
        self.past = batch.P if self.past is None else sparse.vstack([self.past, batch.P], format="csr")


METHODS = {
    "BERTopic online": BERTopicOnline,
    "turftopic KeyNMF": TurftopicKeyNMF,
    "river TextClust": RiverTextClust,
    "gensim LdaModel": GensimLDA,
    "scikit-learn LDA": OnlineLDA,
    "scikit-learn MiniBatchNMF": MiniBatchNMF,
    "scikit-learn MiniBatchKMeans": MiniBatchKMeans,
    "faiss flat": FaissFlat,
    "faiss HNSW": FaissHNSW,
    "sparse_dot_topn": SparseDotTopn,
}


def lines_of(method):
    """Return the lines that a class and its bases take beside blank ones."""
    sources = [inspect.getsource(one).splitlines()[1:] for one in method.__mro__ if one is not object]
    return sum(bool(line.strip()) for lines in sources for line in lines)


def follow(method, folder, seed, seconds, read=Batch):
    """Score and learn a stream until it ends or so many CPU seconds have passed.

    Returns
    -------
    scores : dict of int to ndarray
    spent : dict of str to float
        CPU seconds of all batches but the first.
    documents : int
    """
    scores, spent, documents = {}, {"score": 0.0, "learn": 0.0}, 0
    model = method(seed)
    for t in range(len(list(folder.glob("*.npz")))):
        batch = read(folder, t)
        for phase in ("score", "learn") if t else ("learn",):
            began = time.process_time()
            found = getattr(model, phase)(batch)
            if phase == "score":
                scores[t], documents = np.asarray(found, dtype=np.float64), documents + len(found)
            if t:
                spent[phase] += time.process_time() - began
        if time.process_time() > seconds:
            break
    return scores, spent, documents


def run(methods, read):
    """Run the method that the command names; say in JSON what it cost."""
    name, folder, seed, seconds, output = sys.argv[1:]
    scores, spent, documents = follow(methods[name], Path(folder), int(seed), float(seconds), read)
    np.savez(output, **{str(t): found for t, found in scores.items()})
    print(json.dumps({**spent, "documents": documents, "lines": lines_of(methods[name])}))


def main():
    """Run a method of another package."""
    run(METHODS, Batch)


if __name__ == "__main__":
    main()
