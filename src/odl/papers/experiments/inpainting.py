"""Inpainting of natural image patches: dictionaries with the l1 penalty against dictionaries in a tree.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.1: table 1, figures 2 and 3.
"""

import os
from dataclasses import replace

import numpy as np

from odl.dictionary import structured
from odl.files.tables import read_table, write_table
from odl.papers import patches, patchplots
from odl.papers.common import branched, deviation, spread
from odl.papers.reconstruction import (
    PART,
    PENALTIES,
    RESUMES,
    SETTINGS,
    UNMEASURED,
    measure,
    problem_of,
)
from odl.report.page import element, number, picture, table

__all__ = ["PART", "RESUMES", "SETTINGS", "TITLE", "UNMEASURED", "finish", "measure", "section"]

TITLE = "Inpainting of image patches: flat against tree"
TAKES, ALGORITHMS = ("files",), ("hierarchical",)
# Table 1 of the paper: missing percentage -> mean square error x 100, flat and tree.
PUBLISHED = {50: (19.3, 18.6), 60: (26.8, 25.7), 70: (36.7, 35.0), 80: (50.6, 48.0), 90: (72.1, 65.9)}


def finish(settings, folder, files, rows_by):
    """Write what was measured, learn the dictionary that is drawn, and draw.

    Writes ``validation.tsv`` (what was tried on how many validation patches), ``test.tsv`` (the chosen ones),
    ``structures.tsv`` (every tree at the largest share of missing pixels, if asked for), ``equal.tsv`` (flat
    dictionaries of as many atoms as the chosen tree), ``gaussian.tsv``, ``summary.tsv``, ``beside.tsv``, ``depths.tsv``
    (of the drawn tree) and the figures.
    """
    summary = summarise(rows_by["test"])
    for name, rows in {**rows_by, "summary": summary, "beside": beside(rows_by)}.items():
        if rows:
            write_table(os.path.join(folder, f"{name}.tsv"), rows)
    patchplots.errors(summary, os.path.join(folder, "errors"))
    if rows_by["structures"]:
        patchplots.structures(rows_by["structures"], os.path.join(folder, "structures"))
    _draw(settings, patches.read_images(files, settings["scale"]), folder)


def summarise(tests):
    """Return a row for each share of missing pixels: means, deviations over seeds, and paired differences.

    `better` counts the seeds in which the tree has the smaller error; `*_missing_pixels` leaves the known pixels out,
    which the codes do not reproduce exactly.
    """
    rows = []
    for missing in sorted({row["missing"] for row in tests}):
        pair = [[row for row in tests if (row["missing"], row["penalty"]) == (missing, name)] for name in PENALTIES]
        flat, tree = (np.array([row["error"] for row in rows]) for rows in pair)
        published = PUBLISHED.get(missing, (float("nan"),) * 2)
        row = {"missing": missing, "seeds": len(flat)}
        for name, values in (("flat", flat), ("tree", tree), ("difference", tree - flat)):
            row |= {name: float(values.mean()), f"{name}_sd": deviation(values)}
        for name, rows_of in zip(PENALTIES, pair, strict=True):
            row[f"{name}_missing_pixels"] = float(np.mean([test["missing_pixels"] for test in rows_of]))
        rows.append({**row, "better": int((tree < flat).sum()), "flat_paper": published[0], "tree_paper": published[1]})
    return rows


def beside(rows_by):
    """Return a row for each share of missing pixels: the flat dictionary of the tree's size, and the Gaussian estimate.

    Means, deviations over seeds, and the difference of tree and flat dictionary of as many atoms, paired.
    """
    rows = []
    for missing in sorted({row["missing"] for row in rows_by["test"]}):
        trees = [row for row in rows_by["test"] if (row["missing"], row["penalty"]) == (missing, "tree")]
        equal, gaussian = (
            [row for row in rows_by[name] if row["missing"] == missing] for name in ("equal", "gaussian")
        )
        errors = [np.array([row["error"] for row in rows_of]) for rows_of in (equal, trees, gaussian)]
        row = {"missing": missing, "seeds": len(trees), "atoms": float(np.mean([row["atoms"] for row in trees]))}
        named = {"flat_equal": errors[0], "difference_equal": errors[1] - errors[0], "gaussian": errors[2]}
        for name, values in named.items():
            row |= {name: float(values.mean()), f"{name}_sd": deviation(values)}
        rows.append({**row, "better_equal": int((errors[1] < errors[0]).sum())})
    return rows


def _draw(settings, images, folder):
    """Learn the dictionary that is shown, on larger patches, and say what its depths hold."""
    tree = branched(settings["drawn_tree"])
    side, rng = settings["drawn_patch"], np.random.default_rng(0)
    least = patches.contrast(images, side, settings["min_contrast"])
    X = patches.draw(images, side, max(settings["train"], tree.n_atoms), rng, least)
    start = X[: tree.n_atoms].T.copy()
    problem = replace(problem_of(settings, "tree", tree, settings["drawn_lam"]), norm="linf")
    options = {name: settings[name] for name in ("batch", "epochs", "forgetting")}
    D = structured.learn_online(problem, X, start, rng, **options)[0]
    write_table(os.path.join(folder, "depths.tsv"), depths(tree, D, side))
    patchplots.dictionary(tree, D, side, os.path.join(folder, "dictionary"))


def depths(tree, D, side):
    """Return for every depth of a tree: atoms, roughness, and how like its atoms are to their parents.

    Roughness is the sum of squared differences of neighbouring pixels over the sum of squares; likeness the mean
    absolute cosine between an atom and its parent's, beside that with all atoms of the parents' depth.
    """
    unit = D / np.maximum(np.linalg.norm(D, axis=0), 1e-300)
    atoms = unit.T.reshape(-1, side, side)
    rough = (np.diff(atoms, axis=1) ** 2).sum(axis=(1, 2)) + (np.diff(atoms, axis=2) ** 2).sum(axis=(1, 2))
    like, depth = np.abs(unit.T @ unit), np.array(tree.depths)
    rows = []
    for level in range(max(depth) + 1):
        nodes = np.flatnonzero(depth == level)
        above = np.flatnonzero(depth == level - 1)
        own = [like[node, tree.parents[node]] for node in nodes if level]
        others = [float(like[node, above].mean()) for node in nodes if level]
        row = {"depth": level, "atoms": len(nodes), "roughness": float(rough[nodes].mean())}
        row["parent"] = float(np.mean(own)) if own else float("nan")
        rows.append({**row, "others": float(np.mean(others)) if others else float("nan")})
    return rows


def section(folder):
    """Return the part of the page: the table beside the published one, the trees, the dictionary."""
    summary = read_table(os.path.join(folder, "summary.tsv"))
    rows = [
        [
            f"{row['missing']:g} %",
            *(spread(row[name], row[f"{name}_sd"]) for name in ("flat", "tree", "difference")),
            f"{row['better']:g} of {row['seeds']:g}",
            *(number(row[f"{name}_missing_pixels"], ".1f") for name in PENALTIES),
            *(number(row[f"{name}_paper"], ".1f") for name in PENALTIES),
        ]
        for row in summary
    ]
    headers = ["missing pixels", "flat", "tree", "tree - flat", "seeds where the tree is better"]
    headers += ["flat, missing pixels alone", "tree, missing pixels alone", "flat, published", "tree, published"]
    caption = "Mean square error x 100 of test patches, mean ± standard deviation over seeds; differences are paired"
    worse = [f"{row['missing']:g} %" for row in summary if row["difference"] > 0]
    verdict = "The tree has the smaller mean error at every share of missing pixels."
    if worse:
        verdict = f"The flat dictionary has the smaller mean error at {', '.join(worse)} missing pixels."
    below = [
        [
            f"{row['depth']:g}",
            f"{row['atoms']:g}",
            *(number(row[key], ".2f") for key in ("roughness", "parent", "others")),
        ]
        for row in read_table(os.path.join(folder, "depths.tsv"))
    ]
    return [
        element("p", "Dictionaries are learned from whole patches. The codes of a test patch come from its known "
                "pixels alone, and the estimate is the dictionary times the code. Tree, both lam and, for flat and "
                "tree alike, the number of atoms are those with the smallest error on validation patches."),
        element("p", verdict),
        table(headers, rows, caption),
        *_beside(folder),
        picture(os.path.join(folder, "errors"), "Error against the share of missing pixels, and the mean of tree minus "
                "flat with its standard deviation over seeds.", "Errors of flat and tree dictionaries. " + verdict),
        *_structures(os.path.join(folder, "structures")),
        picture(os.path.join(folder, "dictionary"), "A learned dictionary as a tree, its root in the middle.",
                "Image patches of a dictionary, placed as a tree around its root."),
        table(["depth", "atoms", "roughness", "like its parent", "like other atoms of that depth"], below,
              "The drawn dictionary by depth: sum of squared differences of neighbouring pixels, and mean absolute "
              "cosine with the parent and with all atoms of the parent's depth"),
    ]  # fmt: skip


def _structures(stem):
    """Return the picture of every tree, where they were measured."""
    if not os.path.exists(f"{stem}.svg"):
        return []
    caption = "Every tree, and a flat dictionary of as many atoms, at the largest share of missing pixels. "
    caption += "The axis does not start at 0."
    return [picture(stem, caption, "Errors of each tree and of flat dictionaries of as many atoms.")]


def _beside(folder):
    """Return what the page says of flat dictionaries of the tree's size and of the Gaussian estimate."""
    rows = [
        [
            f"{row['missing']:g} %",
            f"{row['atoms']:.0f}",
            *(spread(row[name], row[f"{name}_sd"]) for name in ("flat_equal", "difference_equal")),
            f"{row['better_equal']:g} of {row['seeds']:g}",
            spread(row["gaussian"], row["gaussian_sd"]),
        ]
        for row in read_table(os.path.join(folder, "beside.tsv"))
    ]
    headers = ["missing pixels", "atoms", "flat, equal size", "tree - flat, equal size"]
    headers += ["seeds where the tree is better", "linear Gaussian estimate"]
    caption = (
        "The flat dictionary above is free in its size. Here it has as many atoms as the tree that was chosen "
        "(atoms: mean over seeds), its lam chosen for that size. The last column needs no dictionary: it is the mean "
        "of the missing pixels given the known ones, of a Gaussian with the covariance of the training patches"
    )
    return [table(headers, rows, caption)]
