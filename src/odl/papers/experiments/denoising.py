"""Denoising of image patches over agents: sparse SVD, atoms owned by agents of a sparse network.

Noisy patches are centred and coded; the image is the mean of its overlapping coded patches. Every dictionary is learned
from the noisy image itself and every image is coded by the same model, so that only the dictionary and the way of
inference differ: diffusion over the network, the optimum (fully connected), or a dictionary of scikit-learn.
Source: Chen, Towfic and Sayed 2014, section IV; Elad and Aharon 2006 for the patches of the noisy image.
"""

import numpy as np
from scipy import sparse
from scipy.fft import idctn

from odl.distributed import coding, models, networks
from odl.errors import ParameterError
from odl.evaluation.means import grouped, spread
from odl.papers import patches
from odl.papers.experiments import write
from odl.report.page import mean_sd
from odl.report.plots import GREY, LINES, legend_below, look_of, new_figure, styled

TITLE = "Denoising of image patches"
TAKES, ALGORITHMS = ("files",), ("diffusion",)
WHOLE = {"type": "integer", "minimum": 1}
LIST = {"type": "array", "minItems": 1}
SETTINGS = {
    "size": {"type": "integer", "minimum": 0, "default": 128},
    "images": {**WHOLE, "default": 2},
    "noise": {**LIST, "items": {"type": "number", "exclusiveMinimum": 0}, "default": [10, 25, 50]},
    "atoms": {**WHOLE, "default": 64},
    "agents": {**WHOLE, "default": 16},
    "iterations": {**WHOLE, "default": 300},
    "seeds": {**LIST, "items": {"type": "integer", "minimum": 0}, "default": [0, 1, 2]},
}
SIZE, STRIDE = 8, 4  # side of a patch, and step from patch to patch
WEIGHT, DELTA = 1.0, 0.1  # gamma in units of the noise; of the squared l2 penalty on the codes
STEP, TOLERANCE = 0.5, 1e-3  # mu_w, and where inference ends
COLUMNS = ("image", "noise", "seed", "method", "psnr", "floats")
SPARSE = "sparse network"
LEARNED = ("fully connected", SPARSE, "scikit-learn")
METHODS = ("noisy", "cosines", *LEARNED)


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
    basis = np.eye(size * size).reshape(-1, size, size)
    return idctn(basis, axes=(1, 2), norm="ortho").reshape(len(basis), -1).T


def dictionaries(centred, model, agents, settings, seed):
    """Learn one dictionary by each method, the agents' from the same start, a draw of the patches.

    Parameters
    ----------
    centred : ndarray, shape (patches, pixels)
    model : Model
    agents : tuple of (ndarray of int, Network)
        The agent of each atom, and how they are linked.
    settings : dict
    seed : int

    Returns
    -------
    dict of str to ndarray, shape (pixels, atoms)
    """
    from sklearn.decomposition import MiniBatchDictionaryLearning

    rng, k = np.random.default_rng(seed), settings["atoms"]
    drawn = centred[rng.permutation(len(centred))]
    start = drawn[np.argsort(-np.linalg.norm(drawn[: 4 * k], axis=1), kind="stable")[:k]].T
    start = sparse.csc_array(start / np.maximum(np.linalg.norm(start, axis=0), 1e-12))
    stream, ends = sparse.csr_array(drawn), {"iterations": settings["iterations"], "tolerance": TOLERANCE}
    central = coding.learn_centralised(stream, start, model, STEP, tolerance=TOLERANCE)
    linked = coding.learn_over_network(stream, start, model, STEP, *agents, mu=0.0, **ends)
    learner = MiniBatchDictionaryLearning(
        k, alpha=model.code.gamma, max_iter=2, batch_size=256, fit_algorithm="cd", random_state=seed, shuffle=True
    )
    learned = (central.toarray(), linked.toarray(), learner.fit(drawn).components_.T)
    return dict(zip(LEARNED, learned, strict=True))


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
    sigma = level / 255.0
    noisy = clean + sigma * np.random.default_rng([seed, round(1000 * level)]).standard_normal(clean.shape)
    taken, places = cut(noisy, SIZE, STRIDE)
    means = taken.mean(axis=1, keepdims=True)
    model = models.task("sparse_svd", gamma=WEIGHT * sigma, delta=DELTA)
    agents = coding.owners(settings["atoms"], settings["agents"]), network
    atoms = {"cosines": cosines(SIZE), **dictionaries(taken - means, model, agents, settings, seed)}
    P, images, floats = sparse.csr_array(taken - means), {"noisy": noisy}, float("nan")
    for method, A in atoms.items():
        if method == SPARSE:
            ends = {"iterations": settings["iterations"], "tolerance": TOLERANCE}
            coded = coding.over_network(P, sparse.csc_array(A), model, *agents, mu=0.0, **ends)
            floats = float(coded.floats.mean())
        else:
            coded = coding.centralised(P, sparse.csc_array(A), model, tolerance=TOLERANCE)
        images[method] = join(np.asarray(coded.codes @ A.T) + means, places, clean.shape, SIZE)
    return images, atoms, floats


def middle(image, size):
    """Return the square of that size in the middle of an image; 0: the whole image."""
    if not size:
        return image
    if size > min(image.shape):
        defect = f"a square of {size} pixels in an image of {image.shape[0]} x {image.shape[1]}"
        raise ParameterError(defect, "a smaller one", "lower size")
    row, column = ((length - size) // 2 for length in image.shape)
    return image[row : row + size, column : column + size]


def measure(clean_images, settings):
    """Return the rows of the table, and what `denoise` made of the first image and seed at the middle noise."""
    network, rows, kept = networks.network("grid", settings["agents"]), [], {}
    for number, clean in enumerate(clean_images):
        for level in settings["noise"]:
            for seed in settings["seeds"]:
                images, atoms, floats = denoise(clean, level, settings, network, seed)
                kept.setdefault((number, level), ({"clean": clean, **images}, atoms))
                for method in METHODS:
                    row = {"image": number, "noise": level, "seed": seed, "method": method}
                    row |= {"psnr": psnr(clean, images[method])}
                    rows.append(row | {"floats": floats if method == SPARSE else float("nan")})
    return rows, kept[0, settings["noise"][len(settings["noise"]) // 2]]


def run(settings, folder, files):
    """Measure, write ``psnr.tsv``, draw the curves, the images and the atoms."""
    whole = patches.read_images(files)[: settings["images"]]
    rows, (images, atoms) = measure([middle(image, settings["size"]) for image in whole], settings)
    figures = {"psnr": draw_curves(rows), "images": draw_images(images)}
    figures["atoms"] = draw_atoms({name: atoms[name] for name in LEARNED})
    write(folder, {"psnr": (rows, COLUMNS)}, figures)


def shown(tables):
    """Return the values of the page: rows by image and noise, and the floats that an agent sends."""
    rows, values = [], dict(grouped(tables["psnr"], ("image", "noise", "method")))
    for (image,), of_image in grouped(tables["psnr"], ("image",)):
        rows.append([f"image {image + 1}"])
        for (level,), _ in grouped(of_image, ("noise",)):
            psnrs = [[row["psnr"] for row in values[image, level, method]] for method in METHODS]
            rows.append([f"noise {level:g}/255", *(mean_sd(*spread(sample), ".2f") for sample in psnrs)])
    floats = np.nanmean([row["floats"] for row in tables["psnr"]])
    return {"methods": list(METHODS), "rows": rows, "floats": floats}


@styled
def draw_curves(rows):
    """Draw PSNR against noise, a panel an image, a line a method.

    Parameters
    ----------
    rows : list of dict
        image, noise, method, psnr.
    """
    images = grouped(rows, ("image",))
    across = min(len(images), 3)
    figure, axes = new_figure(max(3.8, 3.4 * across), 3.6, 1, across, sharey=True)
    for axis, ((image,), of_image) in zip(axes[0], images, strict=False):
        for number, ((method,), part) in enumerate(grouped(of_image, ("method",))):
            values = sorted(
                (level, [row["psnr"] for row in of_level]) for (level,), of_level in grouped(part, ("noise",))
            )
            levels, means, spreads = np.array([(level, *spread(sample)) for level, sample in values]).T
            look = look_of(number - 2) if number > 1 else {
                "color": GREY, "marker": "x+"[number], "linestyle": LINES[1 + number]
            }  # fmt: skip
            look |= {"capsize": 2.5, "markersize": 5, "linewidth": 1.4}
            axis.errorbar(levels, means, yerr=np.nan_to_num(spreads), label=method, **look)
        axis.set(title=f"image {image + 1}", xlabel="noise, standard deviation · 255", xticks=levels)
    axes[0, 0].set_ylabel("PSNR in dB")
    return legend_below(figure, 5)


@styled
def draw_images(images):
    """Draw images side by side with their PSNR; the first is the clean one."""
    down = -(-len(images) // 3)
    figure, axes = new_figure(2.4 * 3, 2.6 * down, down, 3)
    for axis in axes.flat:
        axis.axis("off")
    for axis, (name, image) in zip(axes.flat, images.items(), strict=False):
        axis.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axis.set_title(name if name == "clean" else f"{name}, {psnr(images['clean'], image):.2f} dB")
    return figure


@styled
def draw_atoms(atoms_of):
    """Draw dictionaries as mosaics of patches, each atom scaled to its largest entry, white lines between."""
    figure, axes = new_figure(2.5 * len(atoms_of), 2.8, 1, len(atoms_of))
    for axis, (name, atoms) in zip(axes[0], atoms_of.items(), strict=True):
        across = int(np.ceil(np.sqrt(atoms.shape[1])))
        tiles = np.ones((-(-atoms.shape[1] // across) * across, SIZE + 1, SIZE + 1))
        scaled = atoms / np.maximum(np.abs(atoms).max(axis=0), 1e-12)
        tiles[: atoms.shape[1], :SIZE, :SIZE] = scaled.T.reshape(-1, SIZE, SIZE)
        mosaic = tiles.reshape(-1, across, SIZE + 1, SIZE + 1).transpose(0, 2, 1, 3).reshape(-1, across * (SIZE + 1))
        axis.imshow(mosaic[:-1, :-1], cmap="gray", vmin=-1, vmax=1, interpolation="nearest")
        axis.set_title(name)
        axis.axis("off")
    return figure
