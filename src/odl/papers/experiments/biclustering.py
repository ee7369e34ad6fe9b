"""Bi-clustering of gene expression by a dictionary that is distributed over agents.

The expression matrix is approximated by rank-one layers w_j y_j^T, sparse in subjects and in genes.
Genes are documents and subjects are terms, so an atom is a pattern over subjects, and a code is the
weight of the pattern in a gene. Every agent has one atom. Learning does not use the classes of
subjects. The adjusted Rand index between clusters and classes is compared with that of the
truncated singular value decomposition.

Source: Chen, Towfic and Sayed 2014, section IV; Lee, Shen, Huang and Marron 2010 (data and figure).
The data are the expression of 5000 genes, those with the largest variance among 12625, of 56
subjects with and without lung cancer (Bhattacharjee et al. 2001, Affymetrix 95av2), from the R
package sparseBC, centred per gene.
"""

import csv
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.corpora.checks import check_content, check_sources, lines, opening, unpacked_text
from odl.distributed import coding, models, networks
from odl.evaluation.averages import grouped, spread
from odl.papers.experiments import write
from odl.report.page import mean_sd
from odl.report.plots import INK, new_figure, style

LUNG_FILE = "lung_5000x56.csv.gz"
SUBJECT_CLASSES = {"Carcinoid": 20, "Colon": 13, "Normal": 17, "SmallCell": 6}
GENES = 5000
TITLE = "Bi-clustering of lung cancer expression"
TAKES, ALGORITHMS = ("files",), ("diffusion",)
SETTINGS = {
    "atoms": {"type": "integer", "minimum": 1, "default": 3},
    "betas": {
        "type": "array",
        "items": {"type": "number", "minimum": 0},
        "minItems": 1,
        "default": [0.01, 0.05, 0.1],
    },
    "iterations": {"type": "integer", "minimum": 1, "default": 2000},
    "seeds": {
        "type": "array",
        "items": {"type": "integer", "minimum": 0},
        "minItems": 1,
        "default": list(range(10)),
    },
}
GAMMA, DELTA = 0.5, 0.1  # l1 and l2 penalties of the codes
DICTIONARY_STEP, MU = 0.005, 0.01  # step sizes of the dictionary, and of diffusion on the grid
# network -> share of the agents that see a gene; 0 stands for agent 0 only
INFORMED_SHARE = {"fully_connected": 1.0, "grid": 0.0}
RECOVERY_COLUMNS = (
    "method",
    "network",
    "beta",
    "seed",
    "ari",
    "explained",
    "atoms_nonzero",
    "codes_nonzero",
)
SVD_METHOD, RAW_METHOD = "singular vectors", "all genes"


def learn(values, model, owner, network, iterations, rng):
    """Learn atoms in one pass over the genes in random order, from random unit vectors.

    Parameters
    ----------
    values : ndarray, shape (genes, subjects)
    model : Model
    owner : ndarray of int
        Agent of each atom.
    network : Network
    iterations : int
        Maximum number of exchanges for a gene.
    rng : numpy.random.Generator

    Returns
    -------
    atoms : ndarray, shape (subjects, atoms)
    codes : ndarray, shape (genes, atoms)
        Optimal code of every gene for the learned atoms.
    """
    start = rng.standard_normal((values.shape[1], len(owner)))
    A = sparse.csc_array(start / np.linalg.norm(start, axis=0))
    stream = sparse.csr_array(values[rng.permutation(len(values))])
    if network.exact:
        A = coding.learn_centralised(stream, A, model, DICTIONARY_STEP, tolerance=1e-3)
    else:
        stopping = {"iterations": iterations, "tolerance": 1e-3}
        A = coding.learn_over_network(
            stream, A, model, DICTIONARY_STEP, owner, network, mu=MU, **stopping
        )
    return A.toarray(), coding.centralised(sparse.csr_array(values), A, model).codes.toarray()


def _row(values, classes, atoms, codes, **names):
    """Return a row with the quality of the factorisation codes atoms^T of values.

    Subjects are clustered by the atoms, each multiplied by the l2 norm of its codes. `names` are
    further columns of the row: method, network, beta and seed.
    """
    residual = values - codes @ atoms.T
    return {
        **names,
        "ari": recovery(atoms * np.linalg.norm(codes, axis=0), classes),
        "explained": 1.0 - np.sum(residual**2) / np.sum(values**2),
        "atoms_nonzero": np.mean(atoms != 0),
        "codes_nonzero": np.mean(codes != 0),
    }


def decompose(values, k):
    """Return (first k singular vectors over subjects, coordinates of the genes)."""
    left, sizes, right = np.linalg.svd(values.T, full_matrices=False)
    return left[:, :k], (sizes[:k, None] * right[:k]).T


def measure(expression, settings):
    """Learn atoms for every network, beta and seed.

    Returns
    -------
    rows : list of dict
        Rows of the table ``recovery``.
    first : dict of float to (ndarray, ndarray)
        For each beta, the atoms and codes that were learned with the first network and seed.
    """
    values, classes, k = expression.values, expression.classes, settings["atoms"]
    rows = [_row(values, classes, *decompose(values, k), method=SVD_METHOD)]
    rows.append({"method": RAW_METHOD, "ari": recovery(values.T, classes), "explained": 1.0})
    first, owner = {}, np.arange(k)
    for name, seen_by in INFORMED_SHARE.items():
        network = networks.network(name, k, seen_by=seen_by)
        for beta in settings["betas"]:
            model = models.task("biclustering", gamma=GAMMA, delta=DELTA, beta=beta)
            for seed in settings["seeds"]:
                rng = np.random.default_rng(seed)
                atoms, codes = learn(values, model, owner, network, settings["iterations"], rng)
                names = {"method": "diffusion", "network": name, "beta": beta, "seed": seed}
                rows.append(_row(values, classes, atoms, codes, **names))
                first.setdefault(beta, (atoms, codes))
    return rows, first


def run(settings, folder, files):
    """Write the table ``recovery.tsv`` and the figure ``checkerboard``."""
    expression = read_expression(files)
    rows, first = measure(expression, settings)
    middle = first[settings["betas"][len(settings["betas"]) // 2]]
    write(
        folder,
        {"recovery": (rows, RECOVERY_COLUMNS)},
        {"checkerboard": draw_layers(expression, *middle)},
    )


def shown(tables):
    """Return values for the template: rows by method, network and beta, and class sizes."""
    rows = []
    for (method, network, beta), runs in grouped(tables["recovery"], ("method", "network", "beta")):
        name, seeds = method, ""
        if method == "diffusion":
            name, seeds = f"diffusion, {networks.shown(network)}, beta {beta:g}", len(runs)
        cells = [mean_sd(*spread([row[key] for row in runs])) for key in RECOVERY_COLUMNS[4:]]
        rows.append([name, seeds, *cells])
    classes = ", ".join(f"{number} {name}" for name, number in SUBJECT_CLASSES.items())
    return {"methods": rows, "genes": GENES, "classes": classes}


def recovery(points, classes):
    """Return the adjusted Rand index between k-means clusters of points and their classes.

    k is the number of classes, or the number of distinct points if it is smaller. The clustering is
    the best of 20 random initialisations with a fixed seed.

    Parameters
    ----------
    points : ndarray, shape (n, dimensions)
    classes : sequence of str, length n

    Returns
    -------
    float
        1 if clusters and classes are equal, near 0 if they are independent.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    n_groups = min(len(set(classes)), len(np.unique(points, axis=0)))
    groups = KMeans(n_groups, n_init=20, random_state=0).fit_predict(points)
    return float(adjusted_rand_score(classes, groups))


class Expression(NamedTuple):
    """Gene expression of a group of subjects.

    Attributes
    ----------
    values : ndarray, shape (genes, subjects)
        Expression, centred so that every gene has mean 0.
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
            raise ValueError(
                f"rows of {values.shape} finite numbers below {len(header) - 1} subjects"
            )
    return Expression(values, [row[0] for row in rows], header[1:])


def read_expression(sources):
    """Read the expression file of the registry, and check its content.

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
        If the file is missing, damaged or has other content.
    """
    (path,) = check_sources("lung", sources, [LUNG_FILE])
    expression = parse_expression(path)
    expected = {"number of genes": GENES, "classes of subjects": SUBJECT_CLASSES}
    sizes = {name: expression.classes.count(name) for name in dict.fromkeys(expression.classes)}
    check_content(
        path, {"number of genes": len(expression.genes), "classes of subjects": sizes}, expected
    )
    return expression


@style()
def draw_layers(expression, atoms, codes):
    """Draw the data and every layer, with subjects sorted by class and genes by their codes.

    Parameters
    ----------
    expression : Expression
    atoms : ndarray, shape (subjects, atoms)
    codes : ndarray, shape (genes, atoms)
    """
    names = list(dict.fromkeys(expression.classes))
    class_of = np.array([names.index(name) for name in expression.classes])
    # Subjects of class i lie between edges[i] and edges[i + 1] on the axis
    edges = np.searchsorted(np.sort(class_of), np.arange(len(names) + 1)) - 0.5
    # (title, matrix, atom by whose codes the genes are sorted) of each panel
    panels = [("data", expression.values.T, 0)]
    for j in range(atoms.shape[1]):
        panels.append((f"layer of atom {j + 1}", np.outer(atoms[:, j], codes[:, j]), j))
    figure, axes = new_figure(7.6, 1.75 * len(panels) + 0.3, len(panels), 1)
    subjects = np.argsort(class_of, kind="stable")
    for axis, (title, matrix, j) in zip(axes[:, 0], panels, strict=True):
        limit = max(np.quantile(np.abs(matrix), 0.99), 1e-12)
        ordered = matrix[subjects][:, np.argsort(-codes[:, j], kind="stable")]
        image = axis.imshow(
            ordered, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest"
        )
        image.set_rasterized(True)
        for edge in edges[1:-1]:
            axis.axhline(edge, color=INK, linewidth=0.8)
        axis.set_yticks([(low + high) / 2 for low, high in pairwise(edges)], names)
        axis.set(title=title, xlabel="genes" if axis is axes[-1, 0] else "")
        axis.tick_params(axis="y", length=0)
        figure.colorbar(image, ax=axis, pad=0.01, aspect=12)
    return figure
