"""Denoising of image patches over agents: sparse SVD, atoms owned by agents of a sparse network.

Noisy patches are centred and coded; the image is the mean of its overlapping coded patches. Every dictionary is learned
from the noisy image itself and every image is coded by the same model, so that only the dictionary and the way of
inference differ: diffusion over the network, the optimum (fully connected), or a dictionary of scikit-learn.
Source: Chen, Towfic and Sayed 2014, section IV; Elad and Aharon 2006 for the patches of the noisy image.
"""

import os

import numpy as np
from scipy import sparse

from odl.distributed import coding, models, networks
from odl.errors import ParameterError
from odl.files import tables
from odl.papers import patches
from odl.report import page

TITLE = "Denoising of image patches"
TAKES, ALGORITHMS = ("files",), ("diffusion",)
NETWORKS = ("ring", "grid", "erdos_renyi", "geometric")
SETTINGS = {
    "size": {"type": "integer", "minimum": 0, "default": 128},
    "images": {"type": "integer", "minimum": 1, "default": 2},
    "patch": {"type": "integer", "minimum": 2, "default": 8},
    "stride": {"type": "integer", "minimum": 1, "default": 4},
    "noise": {
        "type": "array",
        "items": {"type": "number", "exclusiveMinimum": 0},
        "minItems": 1,
        "default": [10, 25, 50],
    },
    "atoms": {"type": "integer", "minimum": 1, "default": 64},
    "agents": {"type": "integer", "minimum": 1, "default": 16},
    "network": {"type": "string", "enum": list(NETWORKS), "default": "grid"},
    "seen_by": {"type": "number", "minimum": 0, "default": 1.0},
    "weight": {"type": "number", "minimum": 0, "default": 1.0},
    "delta": {"type": "number", "exclusiveMinimum": 0, "default": 0.1},
    "mu_w": {"type": "number", "exclusiveMinimum": 0, "default": 0.5},
    "passes": {"type": "integer", "minimum": 1, "default": 1},
    "mu": {"type": "number", "minimum": 0, "default": 0.0},
    "iterations": {"type": "integer", "minimum": 1, "default": 300},
    "seeds": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "default": [0, 1, 2]},
}
COLUMNS = ("image", "noise", "seed", "method", "psnr", "floats")
LEARNED = ("fully connected", "sparse network", "scikit-learn")
METHODS = ("noisy", "cosines", *LEARNED)
TOLERANCE = 1e-3


def psnr(clean, image):
    """Return 10 log10(1/MSE) of an image with values from 0 to 1, in dB."""
    return float(-10.0 * np.log10(np.mean((clean - image) ** 2)))


def cut(image, size, stride):
    """Return the patches of an image as rows and their first pixels; the last row and column are always covered.

    Returns
    -------
    patches : ndarray, shape (n, size * size)
    places : list of (int, int)
    """
    rows, columns = (sorted({*range(0, length - size + 1, stride), length - size}) for length in image.shape)
    places = [(row, column) for row in rows for column in columns]
    return np.array([image[row : row + size, column : column + size].ravel() for row, column in places]), places


def join(patches_of, places, shape, size):
    """Return the image whose pixels are the means of the patches over them."""
    total, count = np.zeros(shape), np.zeros(shape)
    for patch, (row, column) in zip(patches_of, places, strict=True):
        total[row : row + size, column : column + size] += patch.reshape(size, size)
        count[row : row + size, column : column + size] += 1
    return total / count


def cosines(size):
    """Return the orthonormal cosine basis of patches, shape (size * size, size * size), atoms in columns."""
    from scipy.fft import idctn

    return np.array([idctn(row.reshape(size, size), norm="ortho").ravel() for row in np.eye(size * size)]).T


def _sklearn(centred, n_atoms, gamma, seed):
    from sklearn.decomposition import MiniBatchDictionaryLearning

    learner = MiniBatchDictionaryLearning(
        *[n_atoms], alpha=gamma, max_iter=2, batch_size=256, fit_algorithm="cd", random_state=seed, shuffle=True
    )
    return learner.fit(centred).components_.T


def dictionaries(centred, model, settings, network, seed):
    """Learn one dictionary by each method, the agents' from the same start, a draw of the patches.

    Returns
    -------
    dict of str to ndarray, shape (pixels, atoms)
    """
    rng, k = np.random.default_rng(seed), settings["atoms"]
    drawn = centred[rng.permutation(len(centred))]
    start = drawn[np.argsort(-np.linalg.norm(drawn[: 4 * k], axis=1), kind="stable")[:k]].T
    start = start / np.maximum(np.linalg.norm(start, axis=0), 1e-12)
    stream, owner = sparse.csr_array(drawn), coding.owners(k, settings["agents"])
    central = spread = sparse.csc_array(start)
    inference = {"mu": settings["mu"], "iterations": settings["iterations"], "tolerance": TOLERANCE}
    for _ in range(settings["passes"]):
        central = coding.learn_centralised(stream, central, model, settings["mu_w"], tolerance=TOLERANCE)
        spread = coding.learn_over_network(stream, spread, model, settings["mu_w"], owner, network, **inference)
    found = (central.toarray(), spread.toarray(), _sklearn(drawn, k, model.code.gamma, seed))
    return dict(zip(LEARNED, found, strict=True))


def _coded(method, centred, A, model, settings, network):
    P, A = sparse.csr_array(centred), sparse.csc_array(A)
    if method != "sparse network":
        return coding.centralised(P, A, model, tolerance=TOLERANCE).codes, float("nan")
    owner = coding.owners(A.shape[1], settings["agents"])
    held = {"mu": settings["mu"], "iterations": settings["iterations"], "tolerance": TOLERANCE}
    found = coding.over_network(P, A, model, owner, network, **held)
    return found.codes, float(found.floats.mean())


def denoise(clean, level, settings, network, seed):
    """Add noise to an image and remove it by every method.

    Parameters
    ----------
    clean : ndarray
        Values from 0 to 1.
    level : float
        Standard deviation of the noise, in units of 1/255; known to all methods.

    Returns
    -------
    images : dict of str to ndarray
    dictionaries : dict of str to ndarray
    floats : float
        That an agent of the sparse network sends a patch, mean.
    """
    sigma, size = level / 255.0, settings["patch"]
    noisy = clean + sigma * np.random.default_rng([seed, round(1000 * level)]).standard_normal(clean.shape)
    taken, places = cut(noisy, size, settings["stride"])
    means = taken.mean(axis=1, keepdims=True)
    model = models.task("sparse_svd", gamma=settings["weight"] * sigma, delta=settings["delta"])
    found = {"cosines": cosines(size), **dictionaries(taken - means, model, settings, network, seed)}
    images, floats = {"noisy": noisy}, float("nan")
    for method, A in found.items():
        codes, sent = _coded(method, taken - means, A, model, settings, network)
        images[method] = join(np.asarray(codes @ A.T) + means, places, clean.shape, size)
        floats = sent if method == "sparse network" else floats
    return images, found, floats


def middle(image, size):
    """Return the square of that size in the middle of an image; 0: the whole image."""
    if not size:
        return image
    if size > min(image.shape):
        given = f"a square of {size} pixels in an image of {image.shape[0]} x {image.shape[1]}"
        raise ParameterError(given, "a smaller one", "lower size")
    row, column = ((length - size) // 2 for length in image.shape)
    return image[row : row + size, column : column + size]


def measure(images, settings):
    """Return the rows of the table, and what `denoise` found for the first image and seed at the middle noise."""
    network = networks.network(settings["network"], settings["agents"], seen_by=settings["seen_by"])
    rows, shown = [], None
    for number, clean in enumerate(images):
        for level in settings["noise"]:
            for seed in settings["seeds"]:
                found, atoms, floats = denoise(clean, level, settings, network, seed)
                rows += [
                    {
                        **{"image": number, "noise": level, "seed": seed, "method": method},
                        "psnr": psnr(clean, found[method]),
                        "floats": floats if method == "sparse network" else float("nan"),
                    }
                    for method in METHODS
                ]
                if number == 0 and level == settings["noise"][len(settings["noise"]) // 2] and shown is None:
                    shown = {"clean": clean, **found}, atoms
    return rows, shown


def run(settings, folder, files):
    """Measure, write ``psnr.tsv``, draw the curves, the images and the atoms."""
    from odl.papers import denoiseplots
    from odl.report import plots

    held = patches.read_images(files)[: settings["images"]]
    rows, (images, atoms) = measure([middle(image, settings["size"]) for image in held], settings)
    tables.write_table(os.path.join(folder, "psnr.tsv"), rows, COLUMNS)
    for name, figure in (
        ("psnr", denoiseplots.curves(rows)),
        ("images", denoiseplots.images(images)),
        ("atoms", denoiseplots.atoms({name: atoms[name] for name in LEARNED}, settings["patch"])),
    ):
        plots.save(figure, os.path.join(folder, name))


def section(folder):
    """Return what the page says of a finished run."""
    rows = tables.read_table(os.path.join(folder, "psnr.tsv"))
    cells = []
    for image in dict.fromkeys(row["image"] for row in rows):
        cells.append(f"image {image + 1}")
        for level in dict.fromkeys(row["noise"] for row in rows):
            held = [[r["psnr"] for r in rows if (r["image"], r["noise"], r["method"]) == (image, level, method)]
                    for method in METHODS]  # fmt: skip
            cells.append([f"noise {level:g}/255", *(_mean_sd(values) for values in held)])
    floats = np.nanmean([row["floats"] for row in rows])

    def picture(name, caption, alt):
        return page.picture(os.path.join(folder, name), caption, alt)

    return [
        page.element(
            "p",
            "Grey images with Gaussian noise, cut into overlapping patches; each method learns a dictionary of the "
            "noisy "
            "patches, codes them with the same penalties, and averages what it makes of them. Fully connected agents "
            "reach the optimum of the whole dictionary; on the sparse network agents hear their neighbours only, and "
            f"learning and inference end after a fixed number of exchanges (an agent sends {floats:.3g} floats a "
            f"patch). "
            "scikit-learn is its MiniBatchDictionaryLearning; cosines are a dictionary that is not learned.",
        ),
        page.table(["PSNR in dB", *METHODS], cells, "Mean ± sd over seeds of noise and start; higher is better."),
        picture("psnr", "PSNR against noise, mean and deviation over seeds.", "PSNR falls with noise for all methods."),
        picture(
            "images", "First image, middle noise, first seed.", "The image clean, noisy, and denoised by each method."
        ),
        picture("atoms", "The atoms that were learned from it, scaled each.", "Patches with edges and stripes."),
    ]


def _mean_sd(values):
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"
