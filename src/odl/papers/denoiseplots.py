"""Pictures of denoising: PSNR against noise, images, atoms."""

import numpy as np
import seaborn

from odl.report.plots import GREY, LINES, look_of, new_figure, styled


@styled
def curves(rows):
    """Draw PSNR against noise, a panel an image, a line a method.

    Parameters
    ----------
    rows : list of dict
        image, noise, method, psnr.
    """
    images = list(dict.fromkeys(row["image"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = new_figure(max(3.8, 3.4 * min(len(images), 3)), 3.6, 1, min(len(images), 3), sharey=True)
    for axis, image in zip(axes[0], images, strict=False):
        for method in methods:
            part = [row for row in rows if row["image"] == image and row["method"] == method]
            levels = sorted({row["noise"] for row in part})
            values = [[row["psnr"] for row in part if row["noise"] == level] for level in levels]
            look = look_of(methods.index(method) - 2)
            if method in ("noisy", "cosines"):
                line = LINES[1 if method == "noisy" else 2]
                look = {"color": GREY, "marker": "x" if method == "noisy" else "+", "linestyle": line}
            spread = [np.std(held, ddof=1) if len(held) > 1 else 0.0 for held in values]
            means = [np.mean(held) for held in values]
            axis.errorbar(levels, means, yerr=spread, label=method, capsize=2.5, markersize=5, linewidth=1.4, **look)
        axis.set(title=f"image {image + 1}", xlabel="noise, standard deviation · 255", xticks=levels)
    axes[0, 0].set_ylabel("PSNR in dB")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=min(5, len(methods)))
    seaborn.despine(figure)
    return figure


@styled
def images(shown):
    """Draw images side by side with their PSNR.

    Parameters
    ----------
    shown : dict of str to ndarray
        "clean" first.
    """
    columns = 3
    rows = -(-len(shown) // columns)
    figure, axes = new_figure(2.4 * columns, 2.6 * rows, rows, columns)
    for axis in axes.flat:
        axis.axis("off")
    for axis, (name, image) in zip(axes.flat, shown.items(), strict=False):
        error = np.mean((image - shown["clean"]) ** 2)
        axis.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axis.set_title(name if error == 0 else f"{name}, {-10 * np.log10(error):.2f} dB")
    return figure


@styled
def atoms(dictionaries, size):
    """Draw dictionaries as mosaics of patches.

    Parameters
    ----------
    dictionaries : dict of str to ndarray, shape (pixels, atoms)
    size : int
        Pixels of a patch's side.
    """
    figure, axes = new_figure(2.5 * len(dictionaries), 2.8, 1, len(dictionaries))
    for axis, (name, dictionary) in zip(axes[0], dictionaries.items(), strict=True):
        axis.imshow(_mosaic(dictionary, size), cmap="gray", vmin=-1, vmax=1, interpolation="nearest")
        axis.set_title(name)
        axis.axis("off")
    return figure


def _mosaic(dictionary, size):
    """Atoms as one picture, each scaled to its largest entry, white lines between."""
    count = dictionary.shape[1]
    columns = int(np.ceil(np.sqrt(count)))
    rows = -(-count // columns)
    picture = np.ones((rows * (size + 1) - 1, columns * (size + 1) - 1))
    for number, atom in enumerate(dictionary.T):
        row, column = divmod(number, columns)
        tile = (atom / max(np.abs(atom).max(), 1e-12)).reshape(size, size)
        picture[row * (size + 1) : row * (size + 1) + size, column * (size + 1) : column * (size + 1) + size] = tile
    return picture
