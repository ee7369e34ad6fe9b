"""Bi-clustering of gene expression over agents: rank-one layers w_j y_j^T, sparse in subjects and in genes.

Genes are the stream and subjects the terms, so an atom is a pattern over subjects and a code says how a gene follows
it. Every agent owns one atom. What the atoms know of the subjects' classes, which learning never sees, is measured
against the truncated singular value decomposition.
Source: Chen, Towfic and Sayed 2014, section IV; Lee, Shen, Huang and Marron 2010 (the data and the picture).
The data: lung cancer (Bhattacharjee et al. 2001, Affymetrix 95av2), values centred per gene, 56 subjects, the 5000
genes of highest variance of 12625 as the R package sparseBC ships them.
"""

import csv
import os
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.corpora.checks import check_content, check_sources, lines, opening, unpacked_text
from odl.distributed import coding, models, networks
from odl.files import tables
from odl.report import page

FILE = "lung_5000x56.csv.gz"
CLASSES = {"Carcinoid": 20, "Colon": 13, "Normal": 17, "SmallCell": 6}
GENES = 5000
TITLE = "Bi-clustering of lung cancer expression"
TAKES, ALGORITHMS = ("files",), ("diffusion",)
SETTINGS = {
    "atoms": {"type": "integer", "minimum": 1, "default": 3},
    "gamma": {"type": "number", "minimum": 0, "default": 0.5},
    "delta": {"type": "number", "exclusiveMinimum": 0, "default": 0.1},
    "betas": {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 1, "default": [0.01, 0.05, 0.1]},
    "mu_w": {"type": "number", "exclusiveMinimum": 0, "default": 0.005},
    "mu": {"type": "number", "exclusiveMinimum": 0, "default": 0.01},
    "iterations": {"type": "integer", "minimum": 1, "default": 2000},
    "networks": {
        "type": "array",
        "items": {"type": "string", "enum": ["fully_connected", "grid", "ring"]},
        "minItems": 1,
        "default": ["fully_connected", "grid"],
    },
    "seen_by": {"type": "number", "minimum": 0, "default": 0.0},
    "seeds": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "default": list(range(10))},
}
COLUMNS = ("method", "network", "beta", "seed", "ari", "purity", "accuracy", "explained", "atoms_nonzero")
COLUMNS += ("codes_nonzero",)
SVD, RAW = "singular vectors", "all genes"
DEGREE = 2  # of the ring


def learn(values, model, owner, network, step, rng, **inference):
    """Go once through the genes, in drawn order, from atoms drawn on the sphere.

    Parameters
    ----------
    values : ndarray, shape (genes, subjects)
    model : Model
    owner : ndarray of int
        Agent of each atom.
    network : Network
    step : float
        mu_w.
    inference
        mu, iterations and tolerance of the diffusion.

    Returns
    -------
    atoms : ndarray, shape (subjects, atoms)
    codes : ndarray, shape (genes, atoms)
        The optimum of every gene on the atoms that were learned.
    """
    start = rng.standard_normal((values.shape[1], len(owner)))
    A = sparse.csc_array(start / np.linalg.norm(start, axis=0))
    P = sparse.csr_array(values)
    stream = sparse.csr_array(values[rng.permutation(len(values))])
    if network.exact:
        A = coding.learn_centralised(stream, A, model, step, tolerance=inference["tolerance"])
    else:
        A = coding.learn_over_network(stream, A, model, step, owner, network, **inference)
    return A.toarray(), coding.centralised(P, A, model).codes.toarray()


def coordinates(atoms, codes):
    """Return the subjects' coordinates: each atom times the length of its codes, as U S of the singular vectors."""
    return atoms * np.linalg.norm(codes, axis=0)


def _row(values, classes, atoms, codes, **names):
    rest = values - codes @ atoms.T
    return {
        **names,
        **recovery(coordinates(atoms, codes), classes),
        "explained": 1.0 - np.sum(rest**2) / np.sum(values**2),
        "atoms_nonzero": np.mean(atoms != 0),
        "codes_nonzero": np.mean(codes != 0),
    }


def decompose(values, k):
    """Return the first k singular vectors over subjects and the codes of the genes on them."""
    left, sizes, right = np.linalg.svd(values.T, full_matrices=False)
    return left[:, :k], (sizes[:k, None] * right[:k]).T


def measure(expression, settings):
    """Return the rows of the table, and the atoms and codes of the first run of every beta on the first network."""
    values, classes, k = expression.values, expression.classes, settings["atoms"]
    rows = [_row(values, classes, *decompose(values, k), method=SVD)]
    rows.append({"method": RAW, **recovery(values.T, classes), "explained": 1.0})
    shown, owner = {}, np.arange(k)
    inference = {"mu": settings["mu"], "iterations": settings["iterations"], "tolerance": 1e-3}
    for name in settings["networks"]:
        seen = 1.0 if name == "fully_connected" else settings["seen_by"]
        network = networks.network(name, k, seen_by=seen, degree=DEGREE)
        for beta in settings["betas"]:
            model = models.task("biclustering", gamma=settings["gamma"], delta=settings["delta"], beta=beta)
            for seed in settings["seeds"]:
                rng = np.random.default_rng(seed)
                atoms, codes = learn(values, model, owner, network, settings["mu_w"], rng, **inference)
                names = {"method": "diffusion", "network": name, "beta": beta, "seed": seed}
                rows.append(_row(values, classes, atoms, codes, **names))
                shown.setdefault(beta, (atoms, codes))
    return rows, shown


def run(settings, folder, files):
    """Measure, write ``recovery.tsv`` and ``atoms.tsv``, draw the checkerboard, the atoms and the recovery."""
    from odl.papers import biclusterplots
    from odl.report import plots

    expression = read_expression(files)
    rows, shown = measure(expression, settings)
    tables.write_table(os.path.join(folder, "recovery.tsv"), rows, COLUMNS)
    beta = settings["betas"][len(settings["betas"]) // 2]
    atoms, codes = shown[beta]
    subjects = [
        {"subject": i, "class": name, **{f"atom{j}": value for j, value in enumerate(atoms[i])}}
        for i, name in enumerate(expression.classes)
    ]
    tables.write_table(os.path.join(folder, "atoms.tsv"), subjects)
    drawn = [{**row, "network": networks.shown(row.get("network", ""), degree=DEGREE)} for row in rows]
    for name, figure in (
        ("checkerboard", biclusterplots.checkerboard(expression, atoms, codes)),
        ("atoms", biclusterplots.by_subject(expression.classes, atoms, decompose(expression.values, len(atoms.T))[0])),
        ("recovery", biclusterplots.recovery(drawn)),
    ):
        plots.save(figure, os.path.join(folder, name))


def _summary(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["method"], row["network"], row["beta"]), []).append(row)
    for (method, network, beta), runs in groups.items():
        name = (
            method if method != "diffusion" else f"diffusion, {networks.shown(network, degree=DEGREE)}, beta {beta:g}"
        )
        cells = [page.mean_sd(*_spread([row[key] for row in runs])) for key in COLUMNS[4:]]
        yield [name, len(runs) if method == "diffusion" else "", *cells]


def _spread(values):
    values = np.array(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def section(folder):
    """Return what the page says of a finished run."""
    rows = tables.read_table(os.path.join(folder, "recovery.tsv"))
    header = ["", "seeds", "adjusted Rand", "purity", "accuracy", "explained", "atoms not 0", "codes not 0"]
    classes = ", ".join(f"{number} {name}" for name, number in CLASSES.items())

    def picture(name, caption, alt):
        return page.picture(os.path.join(folder, name), caption, alt)

    return [
        page.element(
            "p",
            f"Expression of {GENES} genes in 56 subjects ({classes}): the genes of highest variance of 12625, not "
            "the whole array, so the classes are easier to find than on the array. Genes are learned one by one, in a "
            "drawn order, once each; an agent owns one atom over the subjects. The classes are not shown to any "
            "method.",
        ),
        page.table(
            header,
            list(_summary(rows)),
            "How well the subjects' classes are recovered, mean ± sd over seeds. Adjusted Rand index and purity of "
            "k-means with as many groups as classes on the subjects' coordinates (atoms times the length of their "
            "codes; "
            "singular vectors times singular values); accuracy of the nearest class mean, each subject left out in "
            "turn.",
        ),
        picture(
            "recovery",
            "Adjusted Rand index of the groups found, dots are seeds; grey: without learning.",
            "Adjusted Rand index of every method; the table above has the values.",
        ),
        picture(
            "checkerboard",
            "The data and the layers w_j y_jᵀ of the middle beta, first seed. Rows: subjects by class; columns: "
            "genes, in "
            "the order of their codes on the atom of the panel (data: on the first atom). Colours are capped at the "
            "99th "
            "percentile of a panel.",
            "Heat maps of subjects by genes: blocks of one colour, bounded by the classes of the subjects.",
        ),
        picture(
            "atoms",
            "Entries of the atoms (above) and of the singular vectors (below) by subject; an atom is sparse where "
            "it is 0.",
            "Atoms by subject: values differ by class.",
        ),
    ]


def recovery(points, classes, starts=20, seed=0):
    """Return how well classes are recovered from points that were found without them.

    Parameters
    ----------
    points : ndarray, shape (n, dimensions)
    classes : sequence of str, length n
    starts, seed : int
        Of k-means.

    Returns
    -------
    dict
        ari, purity: adjusted Rand index and purity of k-means with as many groups as classes; accuracy: share that the
        nearest class mean gets right, each point left out of its mean in turn.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    _, truth = np.unique(np.asarray(classes), return_inverse=True)
    n_classes = int(truth.max()) + 1
    distinct = len(np.unique(points, axis=0))
    groups = KMeans(min(n_classes, distinct), n_init=starts, random_state=seed).fit_predict(points)
    counts = np.zeros((int(groups.max()) + 1, n_classes))
    np.add.at(counts, (groups, truth), 1)
    return {
        "ari": float(adjusted_rand_score(truth, groups)),
        "purity": float(counts.max(axis=1).sum() / len(truth)),
        "accuracy": nearest_mean_accuracy(np.asarray(points), truth),
    }


def nearest_mean_accuracy(points, truth):
    """Return the share of points nearer to the mean of the others of their class than to any other class mean."""
    sums = np.array([points[truth == group].sum(axis=0) for group in range(truth.max() + 1)])
    sizes = np.bincount(truth)
    right = 0
    for point, own in zip(points, truth, strict=True):
        others, number = sums.copy(), sizes.astype(float)
        others[own] -= point
        number[own] -= 1
        distances = np.sum((others / np.maximum(number, 1)[:, None] - point) ** 2, axis=1)
        distances[number == 0] = np.inf
        right += int(np.argmin(distances) == own)
    return right / len(truth)


class Expression(NamedTuple):
    """Gene expression of some subjects.

    Attributes
    ----------
    values : ndarray, shape (genes, subjects)
        Mean 0 for every gene.
    genes : list of str
    classes : list of str
        Class of each subject.
    """

    values: np.ndarray
    genes: list
    classes: list


def parse_expression(path):
    """Read a table of genes (rows) and subjects (columns, named by their class).

    Raises
    ------
    DataError
        If the file is not such a table.
    """
    with opening(path, "a gzipped CSV of numbers, genes as rows"), unpacked_text(path) as file:
        header, *rows = csv.reader(lines(file, path))
        if not all(rows):
            raise ValueError("an empty row")
        values = np.array([[float(cell) for cell in row[1:]] for row in rows])
        if values.ndim != 2 or values.shape[1] != len(header) - 1 or not np.isfinite(values).all():
            raise ValueError(f"rows of {values.shape} finite numbers below {len(header) - 1} subjects")
    return Expression(values, [row[0] for row in rows], header[1:])


def read_expression(sources):
    """Read the file of the registry.

    Parameters
    ----------
    sources : list of path-like
        ``lung_5000x56.csv.gz``.

    Returns
    -------
    Expression

    Raises
    ------
    DataError
        If the file is missing, damaged or another one.
    """
    (path,) = check_sources("lung", sources, [FILE])
    found = parse_expression(path)
    known = {"number of genes": GENES, "classes of subjects": CLASSES}
    counted = {name: found.classes.count(name) for name in dict.fromkeys(found.classes)}
    check_content(path, {"number of genes": len(found.genes), "classes of subjects": counted}, known)
    return found
