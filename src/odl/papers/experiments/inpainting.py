"""Inpainting of natural image patches by flat (l1) and tree-structured dictionaries.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.1: table 1, figures 2 and 3.
"""

import math

import numpy as np
import pandas

from odl.evaluation.averages import spread
from odl.papers import reconstruction
from odl.papers.experiments import write
from odl.papers.reconstruction import PART, PENALTIES, SETTINGS, UNMEASURED, measure, parse_tree
from odl.report import plots

__all__ = ["PART", "SETTINGS", "TITLE", "UNMEASURED", "finish", "measure", "shown"]

TITLE = "Inpainting of image patches: flat against tree"
TAKES, ALGORITHMS = ("files",), ("hierarchical",)
# Table 1 of the paper: missing percentage -> mean square error x 100, flat and tree.
PUBLISHED_ERRORS = {
    50: (19.3, 18.6),
    60: (26.8, 25.7),
    70: (36.7, 35.0),
    80: (50.6, 48.0),
    90: (72.1, 65.9),
}


def finish(settings, folder, files, rows_by):
    """Write all tables, learn the dictionary for the figure, and draw the figures.

    The tables are:

    - ``validation.tsv``: every combination of settings that was tried, with its number of patches;
    - ``test.tsv``: the selected dictionaries;
    - ``structures.tsv``: every tree at the largest percentage of missing pixels, if configured;
    - ``equal.tsv``: flat dictionaries with as many atoms as the selected tree;
    - ``gaussian.tsv``: the Gaussian estimates;
    - ``summary.tsv``: means over seeds;
    - ``depths.tsv``: the depths of the tree in the figure.
    """
    dictionary = _learn_drawn(settings, reconstruction.read_images(files, settings["scale"]))
    tables = {**rows_by, "summary": summarise(rows_by), "depths": depths(*dictionary)}
    figures = {"dictionary": draw_dictionary(*dictionary)}
    if rows_by["structures"]:
        figures["structures"] = draw_structures(rows_by["structures"])
    write(folder, tables, figures)


def summarise(rows_by):
    """Return a row for each percentage of missing pixels, with means and deviations over seeds.

    "flat_equal" is the error of the flat dictionary with as many atoms as the tree, "gaussian" that
    of the Gaussian estimate, and "better" the number of seeds in which the tree has a smaller error
    than the flat dictionary. "*_missing_pixels" are errors of missing pixels only.
    """
    names = ("test", "equal", "gaussian")
    both, *others = (
        pandas.DataFrame(rows_by[name]).set_index(["missing", "seed"]) for name in names
    )
    tests = [both[both["penalty"] == name] for name in PENALTIES]
    flat, tree, equal, gaussian = (table["error"] for table in (*tests, *others))
    errors = {"flat": flat, "tree": tree, "difference": tree - flat, "flat_equal": equal}
    errors = pandas.DataFrame(
        {**errors, "difference_equal": tree - equal, "gaussian": gaussian}
    ).groupby("missing")
    summary = errors.mean().join(errors.std().add_suffix("_sd")).join(errors.size().rename("seeds"))
    summary["atoms"] = tests[1]["atoms"].groupby("missing").mean()
    summary["better"], summary["better_equal"] = (
        (tree < other).groupby("missing").sum() for other in (flat, equal)
    )
    for name, test in zip(PENALTIES, tests, strict=True):
        summary[f"{name}_missing_pixels"] = test["missing_pixels"].groupby("missing").mean()
    published = [PUBLISHED_ERRORS.get(missing, (float("nan"),) * 2) for missing in summary.index]
    summary["flat_paper"], summary["tree_paper"] = zip(*published, strict=True)
    return summary.reset_index().to_dict("records")


def _learn_drawn(settings, images):
    """Return (tree, dictionary, side of a patch in pixels) for the figure, with larger patches."""
    tree = parse_tree(settings["drawn_tree"])
    side, rng = settings["drawn_patch"], np.random.default_rng(0)
    min_norm = reconstruction.contrast(images, side, settings["min_contrast"])
    X = reconstruction.draw(images, side, max(settings["train"], tree.n_nodes), rng, min_norm)
    problem = reconstruction.make_problem(settings, "tree", tree, settings["drawn_lam"])
    start = X[: tree.n_nodes].T.copy()
    return tree, reconstruction.learn_dictionary(problem, X, start, settings, rng), side


def depths(tree, D, side):
    """Return a row for every depth of a tree.

    "roughness" is the sum of squared differences of neighbouring pixels, divided by the sum of
    squared pixels. "parent" is the mean absolute cosine of an atom with its parent, and "others"
    that with all atoms one level above.
    """
    unit = D / np.maximum(np.linalg.norm(D, axis=0), 1e-300)
    atoms = unit.T.reshape(-1, side, side)
    rough = sum((np.diff(atoms, axis=axis) ** 2).sum(axis=(1, 2)) for axis in (1, 2))
    cosines, depth = np.abs(unit.T @ unit), np.array(tree.depths)
    rows = []
    for level in range(max(depth) + 1):
        nodes = np.flatnonzero(depth == level)
        above = np.flatnonzero(depth == level - 1)
        with_parent = [cosines[node, tree.parents[node]] for node in nodes if level]
        others = [float(cosines[node, above].mean()) for node in nodes if level]
        row = {"depth": level, "atoms": len(nodes), "roughness": float(rough[nodes].mean())}
        row["parent"] = float(np.mean(with_parent)) if with_parent else float("nan")
        rows.append({**row, "others": float(np.mean(others)) if others else float("nan")})
    return rows


def shown(tables):
    """Return the percentages of missing pixels for which flat is better, for the template."""
    return {
        "worse": ", ".join(
            f"{row['missing']:g} %" for row in tables["summary"] if row["difference"] > 0
        )
    }


@plots.style()
def draw_structures(rows):
    """Draw a pair of bars, flat and tree, for each tree, sorted by number of atoms."""
    shapes = sorted({(row["atoms"], row["tree"]) for row in rows})
    figure, ((axes,),) = plots.new_figure(max(4.0, 1.6 + 0.5 * len(shapes)), 3.2)
    for position, (name, colour) in enumerate((("flat", "white"), ("tree", plots.COLOURS[1]))):
        part = [row for row in rows if row["penalty"] == name]
        values = np.array(
            [spread([row["error"] for row in part if row["tree"] == shape]) for _, shape in shapes]
        )
        axes.bar(
            np.arange(len(shapes)) + 0.38 * (position - 0.5),
            values[:, 0],
            0.36,
            yerr=np.nan_to_num(values[:, 1]),
            color=colour,
            edgecolor=plots.INK,
            capsize=2,
            label=name,
        )
    labels = [f"{shape}\n{atoms}" for atoms, shape in shapes]
    axes.set_xticks(range(len(shapes)), labels, rotation=0 if len(shapes) < 8 else 90)
    axes.set(xlabel="tree (children at each depth) and atoms", ylabel="mean square error x 100")
    axes.set_ylim(bottom=5 * math.floor(min(row["error"] for row in rows) / 5) - 5)
    axes.set_title(f"{rows[0]['missing']} % missing", loc="left")
    axes.legend(ncols=2)
    return figure


def lay_out(tree):
    """Return a radial layout of a tree, with leaves at evenly spaced angles.

    Returns
    -------
    ndarray, shape (n_nodes, 2)
        Coordinates. The distance from (0, 0) is the depth, plus one in a forest. The angle of a
        parent is the mean angle of its children.
    """
    angle = np.zeros(tree.n_nodes)
    leaves = [node for node in tree.preorder if not tree.children[node]]
    angle[leaves] = 2.0 * np.pi * np.arange(len(leaves)) / len(leaves)
    for node in reversed(tree.preorder):
        if tree.children[node]:
            angle[node] = np.mean(angle[list(tree.children[node])])
    radius = np.array(tree.depths, dtype=float) + (len(tree.roots) > 1)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


@plots.style()
def draw_dictionary(tree, D, side):
    """Draw a dictionary of patches as a tree with its root in the centre.

    The grey scale of each patch is symmetric around 0.
    """
    points = lay_out(tree)
    nearest = np.ones(len(points))  # distance of each node to the nearest other node
    for node in range(len(points) if len(points) > 1 else 0):
        others = points[np.arange(len(points)) != node]
        nearest[node] = np.hypot(*(others - points[node]).T).min()
    depth = np.array(tree.depths)
    limit = np.hypot(*points.T).max() + 0.6
    figure, ((axes,),) = plots.new_figure(7.5, 7.5)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            axes.plot(*points[[parent, node]].T, color=plots.PALE, linewidth=0.8, zorder=1)
    for node, (x, y) in enumerate(points):
        size = 0.68 * min(np.min(nearest[depth == depth[node]]), 0.75)
        top = max(np.abs(D[:, node]).max(), 1e-300)
        extent = (x - size / 2, x + size / 2, y - size / 2, y + size / 2)
        image = D[:, node].reshape(side, side)
        axes.imshow(
            image, "gray", extent=extent, vmin=-top, vmax=top, interpolation="nearest", zorder=2
        )
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    axes.axis("off")
    return figure
