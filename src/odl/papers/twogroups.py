"""Classification of two newsgroups by a linear SVM with features learned without labels.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.2.
"""

from itertools import product

import numpy as np
from scipy import sparse

from odl import trees
from odl.corpora import news20
from odl.dictionary import structured
from odl.errors import ConfigError, DataError

LEARNED = ("flat", "tree")  # methods with a parameter lam
METHODS = ("pca", "nmf", "lda", *LEARNED)
# representations by all words: rows of unit l1 norm, counts, rows of unit l2 norm
RAW = ("frequencies", "counts", "directions")
SCALINGS = ("each", "one", "none")  # see `kernels`
MIN_OCCURRENCES = 10  # smallest number of occurrences of a word in the corpus
FOLDS = 5  # number of folds of the cross-validation that selects C
COARSE = 0.01  # tolerance of the SVM solver in cross-validation, which only ranks candidates
POSITIVE_INTEGER = {"type": "integer", "minimum": 1}
NON_EMPTY_LIST = {"type": "array", "minItems": 1}
SETTINGS = {
    "groups": {
        **NON_EMPTY_LIST,
        "items": {"type": "string"},
        "default": ["alt.atheism", "talk.religion.misc"],
    },
    "train": {**POSITIVE_INTEGER, "default": 1000},
    "test": {**POSITIVE_INTEGER, "default": 425},
    "splits": {**NON_EMPTY_LIST, "items": {"type": "integer", "minimum": 0}, "default": [0, 1, 2]},
    "topics": {**NON_EMPTY_LIST, "items": POSITIVE_INTEGER, "default": [3, 7, 15, 31, 63]},
    "methods": {
        **NON_EMPTY_LIST,
        "items": {"type": "string", "enum": list(METHODS)},
        "default": list(METHODS),
    },
    "lam": {
        **NON_EMPTY_LIST,
        "items": {"type": "integer", "minimum": -60, "maximum": 20},
        "default": [-20, -16, -12],
    },
    "svm": {
        **NON_EMPTY_LIST,
        "items": {"type": "integer", "minimum": -20, "maximum": 20},
        "default": [-3, -2, -1, 0, 1],
    },
    "scaling": {
        **NON_EMPTY_LIST,
        "items": {"type": "string", "enum": list(SCALINGS)},
        "default": list(SCALINGS),
    },
    "rounds": {**POSITIVE_INTEGER, "default": 10},
    "decrease": {"type": "number", "minimum": 0, "default": 0.0},
    "tolerance": {"type": "number", "exclusiveMinimum": 0, "default": 0.01},
    "iterations": {**POSITIVE_INTEGER, "default": 200},
    "nmf_iterations": {**POSITIVE_INTEGER, "default": 200},
    "lda_iterations": {**POSITIVE_INTEGER, "default": 10},
}
PART, UNMEASURED = "splits", ()


def measure(settings, files):
    """Return {name: rows} of two tables.

    "accuracy" has a row for each split, representation and scaling. "corpus" has one row with the
    numbers of documents and words.
    """
    counts, labels = two_groups(news20.read(files, {}), settings)
    if settings["train"] + settings["test"] > len(labels):
        raise ConfigError(
            f"train is {settings['train']} and test is {settings['test']}",
            f"at most {len(labels)} documents, the size of the corpus",
            "lower train or test",
        )
    rows = [
        row for split in settings["splits"] for row in split_rows(counts, labels, settings, split)
    ]
    corpus = {"documents": len(labels), "words": counts.shape[1], "first": int(labels.sum())}
    return {"accuracy": rows, "corpus": [corpus]}


def two_groups(documents, settings):
    """Select the documents of two newsgroups.

    Returns
    -------
    counts : csr_array, shape (n_documents, n_words)
        Word counts without rare words; documents without remaining words are omitted.
    labels : ndarray of bool, shape (n_documents,)
        True for documents of the first newsgroup.
    """
    groups = settings["groups"]
    if len(groups) != 2:
        raise ConfigError(f"groups has {len(groups)} names", "two names", "name two newsgroups")
    names = np.array([topics[0] if topics else "" for topics in documents.topics])
    for group in groups:
        if group not in names:
            raise DataError(
                f"the corpus has no newsgroup {group!r}",
                "one of " + ", ".join(sorted(set(names))),
                "correct groups",
            )
    rows = np.flatnonzero(np.isin(names, groups))
    counts = documents.counts[rows]
    inside, total = (
        np.asarray(matrix.sum(axis=0)).ravel() for matrix in (counts, documents.counts)
    )
    counts = sparse.csr_array(counts[:, (total >= MIN_OCCURRENCES) & (inside > 0)], dtype=float)
    filled = np.diff(counts.indptr) > 0
    return counts[np.flatnonzero(filled)], names[rows][filled] == groups[0]


def split_rows(counts, labels, settings, split):
    """Return a row for each representation and scaling, for one random split.

    A row has the selected parameters and the test accuracy. "chosen" is 1 for the scaling with the
    best cross-validation accuracy of a representation.
    """
    order = np.random.default_rng([split, 0]).permutation(len(labels))
    train, test = order[: settings["train"]], order[settings["train"] :][: settings["test"]]
    words = rows_of_norm(counts, 1)
    judge = SelectedSvm(labels, train, test, settings)
    rows = []
    for kind, matrix in zip(RAW, (words, counts, rows_of_norm(counts, 2)), strict=True):
        rows_of = judge.evaluate([(None, matrix[train], matrix[test])])
        rows += [{"method": kind, "topics": counts.shape[1], **row} for row in rows_of]
    for p, method in product(settings["topics"], settings["methods"]):
        source = counts if method == "lda" else words
        rows_of = judge.evaluate(represent(method, p, source[train], source[test], settings, split))
        rows += [{"method": method, "topics": p, **row} for row in rows_of]
    for row in rows:
        parameters = f"lam 2^{row['lam']}, scaling {row['scaling']}, C 4^{row['C']}"
        print(
            f"split {split}: {row['method']}, {row['topics']} topics: {row['accuracy']!r} "
            f"({parameters}, validation {row['validation']:.1f})",
            flush=True,
        )
    return [{"split": split, **row} for row in rows]


def rows_of_norm(counts, power):
    """Scale the rows of counts, which are not empty, to unit l1 (power 1) or l2 norm (power 2)."""
    sizes = np.asarray(counts.power(power).sum(axis=1)).ravel() ** (1.0 / power)
    return sparse.csr_array(sparse.diags_array(1.0 / sizes) @ counts)


def represent(method, p, train, test, settings, seed):
    """Learn representations with p topics from the training documents, without labels.

    Returns
    -------
    list of tuple
        (exponent of lam, training features, test features) for each lam. A method without lam has
        one tuple, whose exponent is None.
    """
    import warnings

    from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation
    from sklearn.exceptions import ConvergenceWarning

    if method in LEARNED:
        return [
            (lam, *codes(method, p, train, test, settings, seed, lam)) for lam in settings["lam"]
        ]
    if method == "pca":
        model = PCA(p, svd_solver="arpack", random_state=seed)
    elif method == "nmf":
        model = NMF(p, init="nndsvd", random_state=seed, max_iter=settings["nmf_iterations"])
    else:
        model = LatentDirichletAllocation(p, random_state=seed, max_iter=settings["lda_iterations"])
    with warnings.catch_warnings():
        # The number of iterations is a setting, so fits need not converge.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [(None, model.fit_transform(train), model.transform(test))]


def codes(method, p, train, test, settings, seed, exponent):
    """Learn a dictionary from the training documents; return the codes of all documents.

    Parameters
    ----------
    method : {"flat", "tree"}
        Penalty of the codes: l1 norm, or groups of a binary tree of p nodes.
    p : int
        Number of atoms, which are non-negative and have l1 norm at most 1.
    train, test : csr_array, shape (n_documents, n_words)
    settings : dict
        tolerance, iterations, rounds and decrease of the fit.
    seed : int
        Seed for the choice of training documents as initial atoms.
    exponent : float
        The weight of the penalty is 2^exponent.

    Returns
    -------
    train_codes, test_codes : ndarray, shape (n_documents, p)
    """
    stopping = {name: settings[name] for name in ("tolerance", "iterations")}
    tree = trees.binary(p) if method == "tree" else None
    problem = structured.Problem(2.0**exponent, tree, "linf", mu=1.0, **stopping)
    rng = np.random.default_rng([seed, p])
    start = train[np.sort(rng.choice(train.shape[0], p, replace=False))].toarray().T
    fit = structured.learn_batch(
        problem, train, start, rounds=settings["rounds"], decrease=settings["decrease"]
    )
    return fit.codes.X.toarray(), problem.codes(test, fit.D).X.toarray()


class SelectedSvm:
    """Linear SVM with C, lam and scaling selected by cross-validation on training documents."""

    def __init__(self, labels, train, test, settings):
        self.y, self.y_test, self.settings = labels[train], labels[test], settings
        fold = np.arange(len(train)) % FOLDS  # documents are in random order
        self.folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(FOLDS)]

    def evaluate(self, candidates):
        """Select a candidate and C by cross-validation; return a row for each scaling.

        Among equal accuracies, the first candidate with the smallest C is selected.

        Parameters
        ----------
        candidates : list of (exponent of lam or None, training features, test features)

        Returns
        -------
        list of dict
            lam, scaling, C (exponent), validation and accuracy (cross-validation and test accuracy
            in percent), and chosen, which is 1 for the scaling with the best validation.
        """
        rows, preferences = [], []
        for scaling in self.settings["scaling"]:
            best_score = -1.0
            for number, (lam, train, test) in enumerate(candidates):
                inner, outer = kernels(train, test, scaling)
                scores = self._cross_validate(inner)
                for exponent, score in zip(sorted(self.settings["svm"]), scores, strict=True):
                    if score > best_score:
                        best_score, best = score, (number, lam, exponent, inner, outer)
            number, lam, exponent, inner, outer = best
            predictions = predict_classes(inner, self.y, outer, exponent)
            rows.append(
                {
                    "lam": lam,
                    "scaling": scaling,
                    "C": exponent,
                    "validation": float(best_score),
                    "accuracy": 100.0 * float(np.mean(predictions == self.y_test)),
                    "chosen": 0,
                }
            )
            preferences.append((-best_score, number))
        rows[preferences.index(min(preferences))]["chosen"] = 1
        return rows

    def _cross_validate(self, inner):
        """Return the cross-validation accuracy in percent for every C, in increasing order."""
        hits = np.zeros(len(self.settings["svm"]))
        for train, fold in self.folds:
            problem = inner[np.ix_(train, train)], self.y[train], inner[np.ix_(fold, train)]
            for number, exponent in enumerate(sorted(self.settings["svm"])):
                hits[number] += np.sum(predict_classes(*problem, exponent, COARSE) == self.y[fold])
        return 100.0 * hits / len(self.y)


def predict_classes(inner, y, outer, exponent, tolerance=1e-3):
    """Predict the classes of test documents by a linear SVM with C = 4^exponent.

    If all training documents have the same class, this class is predicted.

    Parameters
    ----------
    inner : ndarray, shape (n_train, n_train)
        Inner products of the training documents with each other.
    y : ndarray of bool, shape (n_train,)
        Classes of the training documents.
    outer : ndarray, shape (n_test, n_train)
        Inner products of each test document with the training documents.
    exponent : float
    tolerance : float
        Tolerance of the SVM solver.

    Returns
    -------
    ndarray, shape (n_test,)
    """
    from sklearn.svm import SVC

    if y.all() or not y.any():
        return np.full(len(outer), y[0])
    return SVC(C=4.0**exponent, kernel="precomputed", tol=tolerance).fit(inner, y).predict(outer)


def kernels(train, test, scaling):
    """Scale features, and return the inner products of training and of test documents.

    Parameters
    ----------
    train, test : ndarray or sparse array, shape (n_documents, n_features)
    scaling : {"each", "one", "none"}
        "each" scales every feature to unit standard deviation over the training documents. "one"
        multiplies all features by one factor, so that the mean squared norm of training documents
        is 1. Without scaling, features of different methods differ by orders of magnitude, and each
        method needs a different range of C.

    Returns
    -------
    inner : ndarray, shape (n_train, n_train)
        Inner products of training documents.
    outer : ndarray, shape (n_test, n_train)
        Inner products of test documents with training documents.
    """
    n, unit = train.shape[0], np.ones(train.shape[1])
    squares = train.power(2) if sparse.issparse(train) else train**2
    squares = np.asarray(squares.sum(axis=0)).ravel()
    if scaling == "each":
        sums = np.asarray(train.sum(axis=0)).ravel()
        unit = np.sqrt(np.maximum(squares / n - (sums / n) ** 2, 0.0))
        unit[unit <= 1e-12] = 1.0  # features that are constant up to rounding are not scaled
    elif scaling == "one":
        unit *= np.sqrt(max(squares.sum(), 1e-300) / n)  # all features may be zero
    scale = sparse.diags_array(1.0 / unit)
    train, test = train @ scale, test @ scale
    products = train @ train.T, test @ train.T
    return tuple(product.toarray() if sparse.issparse(product) else product for product in products)
