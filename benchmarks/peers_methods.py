"""Methods of other packages that score a stream; `peers.py` runs each in its own environment.

    python peers_methods.py NAME STREAM SEED SECONDS SCORES

Needs numpy, scipy and PACKAGES of the method. A method scores each batch of the folder STREAM
before it learns it, and sees no labels. SCORES is the file for the scores of the timesteps that
were reached in SECONDS of CPU time.
"""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
from peers_stream import WIDTH, Batch, Meaning, perplexity, run
from scipy import sparse

TOPICS, NEAREST, FIRST = 50, 5, 10  # FIRST is the number of passes over the first batch
KEYWORDS = 25  # words of a document, for methods that are too slow with more


def keywords(batch, values):
    """Return the words with the largest weights of each document, with their `values`."""
    found = []
    for row in range(batch.P.shape[0]):
        own = slice(batch.P.indptr[row], batch.P.indptr[row + 1])
        best = np.argsort(-batch.P.data[own], kind="stable")[:KEYWORDS]
        words = batch.P.indices[own][best]
        held = values[row].toarray().ravel()[words]
        found.append({f"w{word}": float(value) for word, value in zip(words, held, strict=True)})
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
        return perplexity(
            self.model.transform(counts), topics / topics.sum(axis=1)[:, None], counts
        )

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
        self.corpus, self.passes = (
            lambda counts: Sparse2Corpus(counts, documents_columns=False),
            FIRST,
        )

    def score(self, batch):
        shares, _ = self.model.inference(list(self.corpus(batch.fixed_counts)))
        return perplexity(
            shares / shares.sum(axis=1)[:, None], self.model.get_topics(), batch.fixed_counts
        )

    def learn(self, batch):
        self.model.update(self.corpus(batch.fixed_counts), passes=self.passes)
        self.passes = 1


class RiverTextClust:
    PACKAGES, SLOW = ("river",), True

    def __init__(self, seed):
        from river.cluster import TextClust

        self.model = TextClust(
            real_time_fading=False, fading_factor=0.001, tgap=100, auto_r=True, radius=0.9
        )

    def score(self, batch):
        model, scores = self.model, []
        clusters, distance = model.micro_clusters.values(), model.Distances(model.micro_distance)
        occurrences = Counter(word for cluster in clusters for word in cluster.tf)
        idf = {word: 1 + math.log(len(clusters) / n) for word, n in occurrences.items()}
        for row in keywords(batch, batch.counts):
            one = model.MicroCluster(
                {word: {"tf": count} for word, count in row.items()}, model.t, 1, None, -1
            )
            scores.append(
                min((distance.dist(one, cluster, idf) for cluster in clusters), default=1)
            )
        return np.array(scores)

    def learn(self, batch):
        for row in keywords(batch, batch.counts):
            self.model.learn_one(row)


class BERTopicOnline:
    PACKAGES = ("torch==2.13.0", "bertopic")

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
        # The reduction removes novel directions, so distances are measured in the original space.
        centres = self.model.umap_model.inverse_transform(self.model.hdbscan_model.cluster_centers_)
        vectors = self.meaning.vectors_of(batch)
        squares = (
            (vectors**2).sum(axis=1)[:, None] - 2.0 * vectors @ centres.T + (centres**2).sum(axis=1)
        )
        return squares.min(axis=1)

    def learn(self, batch):
        self.model.partial_fit(batch.texts, embeddings=self.meaning.vectors_of(batch))


class TurftopicKeyNMF:
    PACKAGES = ("torch==2.13.0", "turftopic")

    def __init__(self, seed):
        from turftopic import KeyNMF

        self.model = KeyNMF(TOPICS, encoder=SimpleNamespace(encode=None), random_state=seed)

    def score(self, batch):
        W = self.model.transform(batch.texts, keywords=keywords(batch, batch.P))
        return -np.asarray(W).max(axis=1)

    def learn(self, batch):
        self.model.partial_fit(batch.texts, keywords=keywords(batch, batch.P))


class FaissFlat:
    PACKAGES = ("faiss-cpu", "scipy")

    def __init__(self, seed):
        import faiss

        faiss.omp_set_num_threads(1)
        self.meaning, self.faiss, self.index = Meaning(), faiss, None

    def made(self, dimensions):
        return self.faiss.IndexFlatIP(dimensions)

    def score(self, batch):
        return 1.0 - self.index.search(self.meaning.vectors_of(batch).astype(np.float32), NEAREST)[
            0
        ].mean(axis=1)

    def learn(self, batch):
        vectors = self.meaning.vectors_of(batch).astype(np.float32)
        self.index = self.index or self.made(vectors.shape[1])
        self.index.add(vectors)


class FaissHNSW(FaissFlat):
    def made(self, dimensions):
        return self.faiss.IndexHNSWFlat(dimensions, 32, self.faiss.METRIC_INNER_PRODUCT)


class SparseDotTopn:
    PACKAGES = ("sparse_dot_topn",)

    def __init__(self, seed):
        from sparse_dot_topn import sp_matmul_topn

        self.topn, self.past = sp_matmul_topn, None

    def score(self, batch):
        self.past.resize(self.past.shape[0], batch.P.shape[1])
        return (
            1.0
            - np.asarray(self.topn(batch.P, self.past.T.tocsr(), top_n=NEAREST).sum(axis=1)).ravel()
            / NEAREST
        )

    def learn(self, batch):
        self.past = (
            batch.P if self.past is None else sparse.vstack([self.past, batch.P], format="csr")
        )


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


def main():
    """Run a method of another package."""
    run(METHODS, Batch)


if __name__ == "__main__":
    main()
