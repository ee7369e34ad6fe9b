"""Inpainting of natural image patches: dictionaries with the l1 penalty against dictionaries in a tree.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.1: table 1, figures 2 and 3.
"""

import os
from dataclasses import replace
from itertools import product

import numpy as np

from odl import hierarchy
from odl.errors import ConfigError
from odl.experiments import patches, patchplots
from odl.experiments.common import branched, deviation, spread
from odl.page import element, number, picture, table
from odl.tables import read_table, write_table

TITLE = "Inpainting of image patches: flat against tree"
PENALTIES = ("flat", "tree")
SHRINK = 4  # of the dictionaries of a race one in so many goes on, with so many times the patches
# Table 1 of the paper: missing percentage -> mean square error x 100, flat and tree.
PUBLISHED = {50: (19.3, 18.6), 60: (26.8, 25.7), 70: (36.7, 35.0), 80: (50.6, 48.0), 90: (72.1, 65.9)}
WHOLE = {"type": "integer", "minimum": 1}
EXPONENTS = {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": -60, "maximum": 20}}
SETTINGS = {
    "patch": {**WHOLE, "minimum": 2, "default": 8},
    "train": {**WHOLE, "default": 6000},
    "validation": {**WHOLE, "default": 300},
    "test": {**WHOLE, "default": 1000},
    "missing": {
        "type": "array",
        "minItems": 1,
        "items": {"type": "integer", "minimum": 1, "maximum": 99},
        "default": [50, 60, 70, 80, 90],
    },
    "trees": {"type": "array", "minItems": 1, "items": {"type": "string"}, "default": ["10,2,2"]},
    "lam_train": {**EXPONENTS, "default": [-6, -5, -4, -3, -2, -1]},
    "lam_test": {**EXPONENTS, "default": [-8, -7, -6, -5, -4]},
    "refine": {"type": "integer", "minimum": 0, "maximum": 3, "default": 0},
    "screen": {"type": "integer", "minimum": 0, "default": 0},
    "seeds": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}, "default": [0, 1, 2, 3]},
    "norm": {"type": "string", "enum": ["linf", "l2"], "default": "linf"},
    "epochs": {**WHOLE, "default": 2},
    "batch": {**WHOLE, "default": 500},
    "forgetting": {"type": "number", "minimum": 0, "default": 1.0},
    "tolerance": {"type": "number", "exclusiveMinimum": 0, "default": 0.01},
    "iterations": {**WHOLE, "default": 200},
    "drawn_tree": {"type": "string", "default": "10,2,2"},
    "drawn_patch": {**WHOLE, "minimum": 2, "default": 16},
    "drawn_lam": {"type": "integer", "default": -4},
}


def problem_of(settings, penalty, tree, exponent):
    """Return the problem of one penalty with lam = 2^exponent: signed codes, atoms in the unit l2 ball (mu = 0)."""
    return hierarchy.Problem(
        2.0**exponent,
        tree if penalty == "tree" else None,
        settings["norm"],
        mu=0.0,
        nonnegative_codes=False,
        nonnegative_atoms=False,
        tolerance=settings["tolerance"],
        iterations=settings["iterations"],
    )


class Bench:
    """One seed: its patches, its missing pixels, and the dictionaries learned so far.

    Parameters
    ----------
    settings : dict
    seed : int
        Of the starts, the order of the patches and the missing pixels. The patches are the same for every seed.
    train, validation, test : ndarray, shape (n_patches, n_pixels)
    """

    def __init__(self, settings, seed, train, validation, test):
        self.settings, self.seed, self.train = settings, seed, train
        self.parts = {"validation": validation, "test": test}
        self.known = {
            (part, missing): patches.hide(*X.shape, missing / 100, np.random.default_rng([seed, missing, number]))
            for number, (part, X) in enumerate(self.parts.items())
            for missing in settings["missing"]
        }
        self.learned, self.errors = {}, {}

    def dictionary(self, penalty, shape, exponent, share=1.0):
        """Return the dictionary learned with lam = 2^exponent; flat and tree start from the same patches.

        From a share of the training patches, but from as many as there are atoms at least.
        """
        tree = branched(shape)
        count = max(int(np.ceil(share * len(self.train))), tree.n_atoms)
        key = penalty, shape, exponent, count
        if key not in self.learned:
            rng = np.random.default_rng([self.seed, 1000])
            if tree.n_atoms > len(self.train):
                given = f"{len(self.train)} training patches for the {tree.n_atoms} atoms of the tree '{shape}'"
                raise ConfigError(given, "at least one patch for each atom", "raise train")
            start = self.train[np.sort(rng.choice(len(self.train), tree.n_atoms, replace=False))].T.copy()
            options = {name: self.settings[name] for name in ("batch", "epochs", "forgetting")}
            problem = problem_of(self.settings, penalty, tree, exponent)
            self.learned[key] = hierarchy.learn_online(problem, self.train[:count], start, rng, **options)[0]
        return self.learned[key]

    def error(self, part, missing, penalty, shape, exponents, share=1.0):
        """Return the mean square error x 100 of the estimates D x of whole patches, x coded on the known pixels.

        Of the first patches of the part, a share of them, with the dictionary of the same share of training patches.
        """
        count = int(np.ceil(share * len(self.parts[part])))
        key = part, missing, penalty, shape, exponents, count
        if key not in self.errors:
            X, known = self.parts[part][:count], self.known[part, missing][:count]
            D = self.dictionary(penalty, shape, exponents[0], share)
            problem = problem_of(self.settings, penalty, branched(shape), exponents[1])
            codes = problem.codes(X, D, mask=known).X
            self.errors[key] = 100.0 * float(np.mean(((X - codes @ D.T) ** 2).sum(axis=1)))
        return self.errors[key]

    def chosen(self, missing, penalty, shapes, refine=0):
        """Return (shape, (exponent of training, exponent of coding)) with the smallest error on validation patches.

        `refine` steps of 2^(1/4) to every side of the best point of the grid are tried after it.
        """
        settings = self.settings
        share = min(settings["screen"] / len(self.parts["validation"]), 1.0) or 1.0
        grid = list(product(shapes, product(settings["lam_train"], settings["lam_test"])))
        best = self._best(missing, penalty, grid, share)
        if refine:
            steps = [step / 4 for step in range(-refine, refine + 1)]
            shape, (first, second) = best
            grid = [(shape, (first + a, second + b)) for a, b in product(steps, steps)]
            best = self._best(missing, penalty, grid, max(share, 1 / SHRINK**2))
        return best

    def _best(self, missing, penalty, cells, share):
        """Return the best cell of a race: all on a share of the patches, the better part on four times as many, ...

        Of dictionaries the better quarter goes on, each with the lam of coding that suited it and those beside it.
        """
        reach = min(np.diff(sorted({second for _, (_, second) in cells})), default=0)
        while True:
            known = f"{share:.3g} of the patches"
            print(f"seed {self.seed}, {penalty}, {missing} % missing: {len(cells)} points on {known}", flush=True)
            costs = {cell: self.error("validation", missing, penalty, *cell, share) for cell in cells}
            if share == 1.0:
                return min(cells, key=costs.get)
            best = {}  # of each dictionary
            for cell in sorted(cells, key=costs.get):
                best.setdefault((cell[0], cell[1][0]), cell)
            ahead = dict(list(best.items())[: -(-len(best) // SHRINK)])
            cells = [
                (shape, (first, second))
                for shape, (first, second) in cells
                if (shape, first) in ahead and abs(second - ahead[shape, first][1][1]) <= reach
            ]
            share = min(SHRINK * share, 1.0)


def raced(bench, penalty):
    """Return rows of what was tried for one penalty, of the test patches, and of every tree where most is missing."""
    settings, hardest = bench.settings, max(bench.settings["missing"])
    tests = [
        _tested(bench, missing, penalty, bench.chosen(missing, penalty, settings["trees"], settings["refine"]))
        for missing in settings["missing"]
    ]
    structures = [
        _tested(bench, hardest, penalty, bench.chosen(hardest, penalty, [shape])) for shape in settings["trees"]
    ]
    tried = [
        {**_row(bench.seed, *key[1:5], error), "patches": key[5]}
        for key, error in bench.errors.items()
        if key[0] == "validation" and key[2] == penalty
    ]
    return tried, tests, structures


def run(settings, folder, files):
    """Learn on whole patches, choose on validation patches, and reconstruct test patches.

    Writes ``validation.tsv`` (what was tried on how many validation patches), ``test.tsv`` (the chosen ones),
    ``structures.tsv`` (every tree at the largest share of missing pixels), ``summary.tsv``, ``depths.tsv`` (of the
    drawn tree) and the figures.
    """
    for shape in [*settings["trees"], settings["drawn_tree"]]:
        branched(shape)
    images = patches.read_images(files)
    sizes = [settings[part] for part in ("train", "validation", "test")]
    drawn = patches.draw(images, settings["patch"], sum(sizes), np.random.default_rng(0))
    parts = np.split(drawn, np.cumsum(sizes)[:-1])
    validation, tests, structures = [], [], []
    for seed, penalty in product(settings["seeds"], PENALTIES):
        found = raced(Bench(settings, seed, *parts), penalty)
        for rows, more in zip((validation, tests, structures), found, strict=True):
            rows += more
    summary = summarise(tests)
    for name, rows in (("validation", validation), ("test", tests), ("structures", structures), ("summary", summary)):
        write_table(os.path.join(folder, f"{name}.tsv"), rows)
    patchplots.errors(summary, os.path.join(folder, "errors"))
    patchplots.structures(structures, os.path.join(folder, "structures"))
    _draw(settings, images, folder)


def _row(seed, missing, penalty, shape, exponents, error):
    return {
        "seed": seed,
        "missing": missing,
        "penalty": penalty,
        "tree": shape,
        "atoms": branched(shape).n_atoms,
        "lam_train": exponents[0],
        "lam_test": exponents[1],
        "error": error,
    }


def _tested(bench, missing, penalty, chosen):
    return _row(bench.seed, missing, penalty, *chosen, bench.error("test", missing, penalty, *chosen))


def summarise(tests):
    """Return a row for each share of missing pixels: means, deviations over seeds, and paired differences.

    `better` counts the seeds in which the tree has the smaller error.
    """
    rows = []
    for missing in sorted({row["missing"] for row in tests}):
        flat, tree = (
            np.array([row["error"] for row in tests if (row["missing"], row["penalty"]) == (missing, penalty)])
            for penalty in PENALTIES
        )
        published = PUBLISHED.get(missing, (float("nan"),) * 2)
        row = {"missing": missing, "seeds": len(flat)}
        for name, values in (("flat", flat), ("tree", tree), ("difference", tree - flat)):
            row |= {name: float(values.mean()), f"{name}_sd": deviation(values)}
        rows.append({**row, "better": int((tree < flat).sum()), "flat_paper": published[0], "tree_paper": published[1]})
    return rows


def _draw(settings, images, folder):
    """Learn the dictionary that is shown, on larger patches, and say what its depths hold."""
    tree = branched(settings["drawn_tree"])
    side, rng = settings["drawn_patch"], np.random.default_rng(0)
    X = patches.draw(images, side, max(settings["train"], tree.n_atoms), rng)
    start = X[: tree.n_atoms].T.copy()
    problem = replace(problem_of(settings, "tree", tree, settings["drawn_lam"]), norm="linf")
    options = {name: settings[name] for name in ("batch", "epochs", "forgetting")}
    D = hierarchy.learn_online(problem, X, start, rng, **options)[0]
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
            number(row["flat_paper"], ".1f"),
            number(row["tree_paper"], ".1f"),
        ]
        for row in summary
    ]
    headers = ["missing pixels", "flat", "tree", "tree - flat", "seeds where the tree is better"]
    headers += ["flat, published", "tree, published"]
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
        picture(os.path.join(folder, "errors"), "Error against the share of missing pixels, and the mean of tree minus "
                "flat with its standard deviation over seeds.", "Errors of flat and tree dictionaries. " + verdict),
        picture(os.path.join(folder, "structures"), "Every tree, and a flat dictionary of as many atoms, at the "
                "largest share of missing pixels. The axis does not start at 0.",
                "Errors of each tree and of flat dictionaries of as many atoms."),
        picture(os.path.join(folder, "dictionary"), "A learned dictionary as a tree, its root in the middle.",
                "Image patches of a dictionary, placed as a tree around its root."),
        table(["depth", "atoms", "roughness", "like its parent", "like other atoms of that depth"], below,
              "The drawn dictionary by depth: sum of squared differences of neighbouring pixels, and mean absolute "
              "cosine with the parent and with all atoms of the parent's depth"),
    ]  # fmt: skip
