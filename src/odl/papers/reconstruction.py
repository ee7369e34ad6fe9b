"""Inpainting of image patches by dictionaries with flat or tree-structured penalties.

Dictionaries are learned from complete patches. Parameters are selected on validation patches with
missing pixels, and errors are measured on test patches with missing pixels.

Source: ICML 2010 (Jenatton, Mairal, Obozinski, Bach), section 4.1.
"""

import io
from itertools import product

import numpy as np

from odl import trees
from odl.coding.fista import STOPS
from odl.corpora.checks import opening, tar_members
from odl.dictionary import structured
from odl.errors import ConfigError, ParameterError
from odl.kernels import tree_codes

FLAT = 1e-6  # largest l2 norm of a centred patch that counts as constant
MAX_PIXELS = 1 << 24  # largest number of pixels of an image
MAX_DRAWS = 100  # maximum number of rounds of random draws in `draw`
# Ridge added to the variances of pixels, relative to their mean, because the covariance of centred
# patches is singular.
RIDGE = 1e-8
PENALTIES = ("flat", "tree")
# Each round of a search retains 1/SHRINK of the dictionaries and uses SHRINK times as many patches.
SHRINK = 4
MIN_PATCHES = 16  # minimum number of training patches per atom in a search
POSITIVE_INTEGER = {"type": "integer", "minimum": 1}
NON_EMPTY_LIST = {"type": "array", "minItems": 1}
EXPONENTS = {**NON_EMPTY_LIST, "items": {"type": "integer", "minimum": -60, "maximum": 20}}
# Branching factors of a balanced tree, such as "10,2,2"
BRANCHED = {"type": "string", "pattern": r"[1-9][0-9]{0,5}(,[1-9][0-9]{0,5})*"}
SETTINGS = {
    "patch": {**POSITIVE_INTEGER, "minimum": 2, "default": 8},
    "train": {**POSITIVE_INTEGER, "default": 6000},
    "validation": {**POSITIVE_INTEGER, "default": 300},
    "test": {**POSITIVE_INTEGER, "default": 1000},
    "scale": {"type": "number", "minimum": 0.25, "maximum": 4, "default": 1.0},
    "min_contrast": {"type": "number", "minimum": 0, "maximum": 0.99, "default": 0.0},
    "missing": {
        **NON_EMPTY_LIST,
        "items": {**POSITIVE_INTEGER, "maximum": 99},
        "default": [50, 60, 70, 80, 90],
    },
    "trees": {**NON_EMPTY_LIST, "items": BRANCHED, "default": ["10,2,2"]},
    "structures": {"type": "boolean", "default": True},
    "lam_train": {**EXPONENTS, "default": [-6, -5, -4, -3, -2, -1]},
    "lam_test": {**EXPONENTS, "default": [-8, -7, -6, -5, -4]},
    "refine": {"type": "integer", "minimum": 0, "maximum": 3, "default": 0},
    "screen": {"type": "integer", "minimum": 0, "default": 0},
    "seeds": {
        **NON_EMPTY_LIST,
        "items": {"type": "integer", "minimum": 0},
        "default": [0, 1, 2, 3],
    },
    "epochs": {**POSITIVE_INTEGER, "default": 2},
    "batch": {**POSITIVE_INTEGER, "default": 500},
    "stop": {"type": "string", "enum": list(STOPS), "default": "gap"},
    "tolerance": {"type": "number", "exclusiveMinimum": 0, "default": 0.01},
    "iterations": {**POSITIVE_INTEGER, "default": 200},
    "drawn_tree": {**BRANCHED, "default": "10,2,2"},
    "drawn_patch": {**POSITIVE_INTEGER, "minimum": 2, "default": 16},
    "drawn_lam": {**EXPONENTS["items"], "default": -4},
}
PART, UNMEASURED = "seeds", ("drawn_tree", "drawn_patch", "drawn_lam")


def parse_tree(text):
    """Return the balanced tree with branching factors such as "10,2"."""
    return trees.balanced([int(word) for word in text.split(",")])


def make_problem(settings, penalty, tree, exponent):
    """Return the problem of learning a signed dictionary with a penalty and lam = 2^exponent.

    Atoms are in the unit l2 ball (mu = 0).
    """
    signs = {"nonnegative_codes": False, "nonnegative_atoms": False}
    stopping = {name: settings[name] for name in ("tolerance", "iterations", "stop")}
    return structured.Problem(
        2.0**exponent, tree if penalty == "tree" else None, "linf", mu=0.0, **signs, **stopping
    )


def learn_dictionary(problem, X, start, settings, rng):
    """Return the dictionary learned from patches X, shape (n_patches, n_pixels)."""
    options = {name: settings[name] for name in ("batch", "epochs")}
    return structured.learn_online(problem, X, start, rng, forgetting=1.0, **options)[0]


class Bench:
    """Patches and masks of one seed, with a cache of learned dictionaries and errors.

    Parameters
    ----------
    settings : dict
    seed : int
        Seed for the initial atoms, the order of patches and the missing pixels. The patches are
        those of all seeds.
    train, validation, test : ndarray, shape (n_patches, n_pixels)

    Attributes
    ----------
    known : dict
        (part, percentage of missing pixels) -> mask of the known pixels, shape (n_patches,
        n_pixels).
    errors, missing_errors : dict
        Result of `key` -> error of all pixels, and of missing pixels only.
    """

    def __init__(self, settings, seed, train, validation, test):
        self.settings, self.seed, self.train = settings, seed, train
        self.parts = {"validation": validation, "test": test}
        self.known = {}
        for number, (part, patches) in enumerate(self.parts.items()):
            for missing in settings["missing"]:
                # A generator for each mask makes it independent of other settings.
                rng = np.random.default_rng([seed, missing, number])
                self.known[part, missing] = hide(*patches.shape, missing / 100, rng)
        self.dictionaries, self.errors, self.missing_errors = {}, {}, {}
        self.first_trees = {}  # number of atoms -> first tree with this number of atoms

    def dictionary(self, penalty, shape, exponent, share=1.0):
        """Return the dictionary learned with lam = 2^exponent, shape (n_pixels, n_atoms).

        The initial atoms of both penalties are the same patches. Learning uses a share of the
        training patches, but at least `MIN_PATCHES` per atom: with fewer patches, errors do not
        separate good from bad lam.
        """
        tree, n_train = parse_tree(shape), len(self.train)
        count = min(max(int(np.ceil(share * n_train)), MIN_PATCHES * tree.n_nodes), n_train)
        key = penalty, shape, exponent, count
        if key not in self.dictionaries:
            if tree.n_nodes > n_train:
                raise ConfigError(
                    f"train is {n_train} and the tree '{shape}' has {tree.n_nodes} atoms",
                    "at least one training patch for each atom",
                    "raise train",
                )
            rng = np.random.default_rng([self.seed, 1000])
            first = np.sort(rng.choice(n_train, tree.n_nodes, replace=False))
            start = self.train[first].T.copy()
            problem = make_problem(self.settings, penalty, tree, exponent)
            self.dictionaries[key] = learn_dictionary(
                problem, self.train[:count], start, self.settings, rng
            )
        return self.dictionaries[key]

    def error(self, part, missing, penalty, shape, exponents, share=1.0):
        """Return 100 times the mean squared error of reconstructed patches.

        A patch is reconstructed as D x, where x is the code of its known pixels. Only a `share` of
        the patches of the part and of the training patches is used.
        """
        key = self.key(part, missing, penalty, shape, exponents, share)
        if key not in self.errors:
            self.errors[key], self.missing_errors[key] = self._measure(key, share)
        return self.errors[key]

    def _measure(self, key, share):
        """Return (error of all pixels, error of missing pixels) for a result of `key`."""
        part, missing, penalty, shape, exponents, count = key
        X, known = self.parts[part][:count], self.known[part, missing][:count]
        D = self.dictionary(penalty, shape, exponents[0], share)
        problem = make_problem(self.settings, penalty, parse_tree(shape), exponents[1])
        return mean_errors(X - problem.codes(X, D, mask=known).X @ D.T, known)

    def key(self, part, missing, penalty, shape, exponents, share=1.0):
        """Return the cache key of an error.

        A flat dictionary depends only on the number of atoms, so its key has the first tree that
        was requested with this number.
        """
        if penalty == "flat":
            shape = self.first_trees.setdefault(parse_tree(shape).n_nodes, shape)
        return part, missing, penalty, shape, exponents, int(np.ceil(share * len(self.parts[part])))

    def select(self, missing, penalty, shapes, refine=0):
        """Return the (tree, (training exponent, coding exponent)) with the least validation error.

        Exponents define lam = 2^exponent. With a positive `refine`, a second search multiplies both
        lam of the best grid point by 2^(i/4) for i from -`refine` to `refine`.
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
        """Return the cell with the least validation error, by successive elimination.

        A cell is (tree, (training exponent, coding exponent)) as in `select`. The first round uses
        the given share of the patches, and each further round four times as many, up to all. After
        a round, the best quarter of the dictionaries remains, each with its best coding exponent
        and the two neighbours of this exponent on the grid.
        """
        spacing = min(np.diff(sorted({second for _, (_, second) in cells})), default=0)
        while True:
            count = f"{len(cells)} points on {share:.3g} of the patches"
            print(f"seed {self.seed}, {penalty}, {missing} % missing: {count}", flush=True)
            costs = {
                cell: self.error("validation", missing, penalty, *cell, share) for cell in cells
            }
            if share == 1.0:
                return min(cells, key=costs.get)
            best = {}  # best cell of each dictionary
            for cell in sorted(cells, key=costs.get):
                best.setdefault((cell[0], cell[1][0]), cell)
            leading = dict(list(best.items())[: -(-len(best) // SHRINK)])
            cells = [
                (shape, (first, second))
                for shape, (first, second) in cells
                if (shape, first) in leading
                and abs(second - leading[shape, first][1][1]) <= spacing
            ]
            share = min(SHRINK * share, 1.0)


def measure(settings, files):
    """Return {name: rows} of the tables, for all seeds.

    "validation" has a row for each combination that was tried, "test" for each selected dictionary,
    "structures" for each tree, "equal" for each flat dictionary with as many atoms as the selected
    tree, and "gaussian" for each result of `gaussian_errors`.
    """
    parts = np.split(
        draw_parts(settings, files), np.cumsum([settings["train"], settings["validation"]])
    )
    tables = {name: [] for name in ("validation", "test", "structures", "equal", "gaussian")}
    moments = gaussian_moments(parts[0])
    for seed in settings["seeds"]:
        of_tree = search_penalty(Bench(settings, seed, *parts), "tree")
        bench = Bench(settings, seed, *parts)
        of_flat = search_penalty(bench, "flat")
        for number, name in enumerate(("validation", "test", "structures")):
            tables[name] += of_flat[number] + of_tree[number]
        tables["equal"] += [_equal(bench, row) for row in of_tree[1]]
        for missing in settings["missing"]:
            known = bench.known["test", missing]
            error, hidden = gaussian_errors(bench.parts["test"], known, *moments)
            row = {"seed": seed, "missing": missing, "error": error, "missing_pixels": hidden}
            tables["gaussian"].append(row)
    return tables


def draw_parts(settings, files):
    """Return training, validation and test patches as rows of one array, in this order."""
    images = read_images(files, settings["scale"])
    min_norm = contrast(images, settings["patch"], settings["min_contrast"])
    count = sum(settings[part] for part in ("train", "validation", "test"))
    return draw(images, settings["patch"], count, np.random.default_rng(0), min_norm)


def search_penalty(bench, penalty):
    """Select and test dictionaries of one penalty.

    Returns
    -------
    validation, test, structures : list of dict
        Rows of all validation errors, of the selected dictionaries, and of each tree at the largest
        percentage of missing pixels.
    """
    settings, hardest = bench.settings, max(bench.settings["missing"])
    tests = []
    for missing in settings["missing"]:
        selected = bench.select(missing, penalty, settings["trees"], settings["refine"])
        tests.append(_test_row(bench, missing, penalty, selected))
    structures = [
        _test_row(bench, hardest, penalty, bench.select(hardest, penalty, [shape]))
        for shape in settings["trees"]
        if settings["structures"]
    ]
    tried = [
        {**_row(bench.seed, *key[1:5], error), "patches": key[5]}
        for key, error in bench.errors.items()
        if key[0] == "validation" and key[2] == penalty
    ]
    return tried, tests, structures


def _equal(bench, row):
    """Return the test row of a flat dictionary with as many atoms as a selected tree.

    The lam of this dictionary is selected for the flat penalty.
    """
    missing, shape = row["missing"], row["tree"]
    return _test_row(
        bench, missing, "flat", bench.select(missing, "flat", [shape], bench.settings["refine"])
    )


def _row(seed, missing, penalty, shape, exponents, error):
    """Return a row of a table; `exponents` are (training exponent, coding exponent)."""
    return {
        "seed": seed,
        "missing": missing,
        "penalty": penalty,
        "tree": shape,
        "atoms": parse_tree(shape).n_nodes,
        "lam_train": exponents[0],
        "lam_test": exponents[1],
        "error": error,
    }


def _test_row(bench, missing, penalty, cell):
    """Return the row of test errors for a cell (tree, (training exponent, coding exponent))."""
    row = _row(bench.seed, missing, penalty, *cell, bench.error("test", missing, penalty, *cell))
    key = bench.key("test", missing, penalty, *cell)
    return {**row, "missing_pixels": bench.missing_errors[key]}


def gaussian_moments(X):
    """Return (mean, covariance) of the rows of X, with the same bits for any number of cores."""
    mean = X.mean(axis=0)
    return mean, tree_codes.gram_matrix(np.ascontiguousarray(X - mean)) / len(X)


def gaussian_estimates(X, known, mean, covariance):
    """Return rows whose missing entries are replaced by their conditional mean under a Gaussian.

    For Gaussian patches, this estimate has the least mean squared error. With known entries K and
    covariance C, it is ``mean + C[:, K] (C[K, K] + r I)^-1 (x_K - mean_K)``, where r is `RIDGE`
    times the mean variance.

    Equation `gaussian-estimate` of docs/method.md.

    Parameters
    ----------
    X : ndarray, shape (n, n_pixels)
        Rows. Entries that are not `known` are ignored.
    known : ndarray of bool, shape (n, n_pixels)
    mean : ndarray, shape (n_pixels,)
    covariance : ndarray, shape (n_pixels, n_pixels)

    Returns
    -------
    ndarray, shape (n, n_pixels)
    """
    ridge, estimates = RIDGE * np.trace(covariance) / len(covariance), np.array(X, dtype=np.float64)
    for row, mask in enumerate(known):
        observed, missing = np.flatnonzero(mask), np.flatnonzero(~mask)
        regularised = covariance[np.ix_(observed, observed)] + ridge * np.eye(len(observed))
        weights = np.linalg.solve(regularised, X[row, observed] - mean[observed])
        estimates[row, missing] = mean[missing] + covariance[np.ix_(missing, observed)] @ weights
    return estimates


def gaussian_errors(X, known, mean, covariance):
    """Return the `mean_errors` of `gaussian_estimates`, which have equal values."""
    return mean_errors(X - gaussian_estimates(X, known, mean, covariance), known)


def mean_errors(residuals, known):
    """Return 100 times the mean squared l2 norm of residuals, for all and for missing pixels."""
    return tuple(
        100.0 * float(np.mean(squares.sum(axis=1)))
        for squares in (residuals**2, residuals**2 * ~known)
    )


def read_images(files, scale=1.0):
    """Return grey images as arrays of float64 from 0 to 1.

    Parameters
    ----------
    files : sequence of path-like
        tar.gz archives of PNG images. If empty, the two sample images of scikit-learn are used.
    scale : float
        Factor of the sides. Bicubic interpolation may give values outside the range 0 to 1.

    Raises
    ------
    DataError
        If an archive is damaged or contains no PNG image.
    """
    return [resize_image(image, scale) for image in _read(files)]


def resize_image(image, scale):
    """Scale the sides of an image by a factor, rounded to pixels, with bicubic interpolation."""
    sides = [max(round(side * scale), 1) for side in image.shape]
    if tuple(sides) == image.shape:
        return image
    from PIL import Image

    resized = Image.fromarray(np.asarray(image, dtype=np.float32)).resize(
        sides[::-1], Image.Resampling.BICUBIC
    )
    return np.asarray(resized, dtype=np.float64)


def _read(files):
    """Return the grey images of archives, by default the sample images of scikit-learn."""
    if not files:
        from sklearn.datasets import load_sample_images

        return [_grey(image / 255.0) for image in load_sample_images().images]

    images = []
    for path in files:
        members = {name: data for name, data in tar_members(path) if name.lower().endswith(".png")}
        with opening(path, "an archive of PNG images"):
            if not members:
                raise ValueError("it contains no PNG image")
            images += [_opened(members[name]) for name in sorted(members)]
    return images


def _opened(data):
    """Decode a PNG image to greyscale, after checking the size in its header."""
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(f"an image has {image.width} x {image.height} pixels")
        return _grey(np.asarray(image) / 255.0)


def _grey(image):
    """Return the mean over the colour channels of an image, without transparency."""
    return np.asarray(image if image.ndim == 2 else image[..., :3].mean(axis=2), dtype=np.float64)


def contrast(images, size, share):
    """Return a quantile of the l2 norms of centred patches at all positions of all images.

    Parameters
    ----------
    images : list of ndarray
    size : int
        Side of a patch, in pixels.
    share : float
        Order of the quantile, at least 0 and below 1. With 0, the result is 0.
    """
    if not share:
        return 0.0
    squares = [_squared_norms(image, size) for image in images if min(image.shape) >= size]
    squares = np.sort(np.concatenate(squares, axis=None))
    return float(np.sqrt(squares[int(share * len(squares))]))


def _squared_norms(image, size):
    """Return the squared l2 norm of the centred patch at every position of an image."""
    centred = image - image.mean()
    total, square = (_patch_sums(values, size) for values in (centred, centred * centred))
    return np.maximum(square - total * total / size**2, 0.0)


def _patch_sums(values, size):
    """Return the sums over all squares with sides of `size` pixels, from running sums."""
    sums = np.pad(values, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    return sums[size:, size:] - sums[:-size, size:] - sums[size:, :-size] + sums[:-size, :-size]


def draw(images, size, count, rng, min_norm=0.0):
    """Draw square patches uniformly over all positions of all images, without replacement.

    Patches are centred and scaled to unit l2 norm. A constant patch is replaced by another draw
    (ICML 2010, section 4.1).

    Parameters
    ----------
    images : list of ndarray
    size : int
        Side of a patch, in pixels.
    count : int
    rng : numpy.random.Generator
    min_norm : float
        Smallest l2 norm of a centred patch (see `contrast`). Patches with a smaller norm are
        replaced by further draws.

    Returns
    -------
    ndarray, shape (count, size * size)

    Raises
    ------
    ParameterError
        If the images have too few patches.
    """
    large = [image for image in images if min(image.shape) >= size]
    windows = [np.lib.stride_tricks.sliding_window_view(image, (size, size)) for image in large]
    # Positions are numbered over all images; offsets[i] is the first number of image i.
    offsets = np.cumsum([0, *(window.shape[0] * window.shape[1] for window in windows)])
    tried, patches = set(), []
    for _ in range(MAX_DRAWS if count <= offsets[-1] else 0):
        for position in rng.integers(offsets[-1], size=count - len(patches)):
            if position in tried:
                continue
            tried.add(position)
            image = int(np.searchsorted(offsets, position, side="right")) - 1
            row, column = divmod(int(position - offsets[image]), windows[image].shape[1])
            patch = windows[image][row, column].ravel()
            patch = patch - patch.mean()
            norm = np.linalg.norm(patch)
            if norm > FLAT and norm >= min_norm:
                patches.append(patch / norm)
        if len(patches) == count:
            return np.array(patches)
    raise ParameterError(
        f"{count} different patches of {size} x {size} pixels cannot be drawn from {len(images)} "
        f"images with {offsets[-1]} positions",
        "fewer or smaller patches that are not constant",
        "lower train, validation or test, or add images",
    )


def hide(count, pixels, missing, rng):
    """Return a random mask of the known pixels of patches.

    Each pixel is missing with probability `missing`. Every patch has at least one known pixel.

    Returns
    -------
    ndarray of bool, shape (count, pixels)
    """
    known = rng.random((count, pixels)) >= missing
    known[np.arange(count), rng.integers(pixels, size=count)] |= ~known.any(axis=1)
    return known
