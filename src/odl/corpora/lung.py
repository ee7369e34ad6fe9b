"""Lung cancer gene expression (Bhattacharjee et al. 2001): 56 subjects, the 5000 genes of highest variance.

Affymetrix 95av2, values centred per gene, as used by Lee, Shen, Huang and Marron 2010. The whole array has 12625
genes; this file has the high-variance subset that the R package sparseBC ships. A matrix, not a stream of documents:
the experiment `biclustering` reads it.
"""

import csv
from typing import NamedTuple

import numpy as np

from odl.corpora.checks import check_content, check_sources, lines, opening, unpacked_text

FILE = "lung_5000x56.csv.gz"
CLASSES = {"Carcinoid": 20, "Colon": 13, "Normal": 17, "SmallCell": 6}
GENES = 5000


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


def parse(path):
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


def read(sources):
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
    found = parse(path)
    known = {"number of genes": GENES, "classes of subjects": CLASSES}
    counted = {name: found.classes.count(name) for name in dict.fromkeys(found.classes)}
    check_content(path, {"number of genes": len(found.genes), "classes of subjects": counted}, known)
    return found
