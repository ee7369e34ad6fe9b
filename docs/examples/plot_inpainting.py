"""
Inpainting with a learned dictionary
====================================

Seven of ten pixels of an image are missing. A dictionary learned from patches of another part of
the image fills them in: each patch is coded by its known pixels alone, and the atoms know the rest.
The penalty is the l1 norm or that of a tree, which are level on this image; the error is the root
mean square of the missing pixels.
"""

import numpy as np
from matplotlib import pyplot as plt

from odl import trees
from odl.dictionary import structured

# %%
# A made image of waves and edges. The dictionary sees its left half, the right half loses pixels.

side = 8
rows, columns = np.mgrid[:96, :192] / 16
image = (
    np.sin(3 * rows + 2 * np.sin(columns))
    + np.sign(np.sin(columns + 0.7 * rows))
    + 0.5 * np.cos(4 * columns)
)
image = (image - image.min()) / np.ptp(image)
seen, hidden = image[:, :96], image[:, 96:]


def patches(picture, step):
    """Return patches as rows."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, (side, side))[::step, ::step]
    return windows.reshape(-1, side * side)


# %%
# Two dictionaries of 91 atoms from centred patches of unit length, from the same start.

train = patches(seen, 2) - patches(seen, 2).mean(axis=1, keepdims=True)
train /= np.linalg.norm(train, axis=1, keepdims=True)
tree = trees.balanced((10, 8))
options = {"mu": 0.0, "nonnegative_codes": False, "nonnegative_atoms": False, "iterations": 200}


def learned(problem):
    rng = np.random.default_rng(0)
    start = train[rng.choice(len(train), tree.n_nodes, replace=False)].T
    return structured.learn_online(problem, train, start, rng, batch=200, epochs=3)[0]


# %%
# Overlapping patches are coded by their known pixels, less the mean of these, and averaged.

known = np.random.default_rng(1).random(hidden.shape) < 0.3


def filled(problem, D):
    mask = patches(known, 2)
    P = np.where(mask, patches(hidden, 2), 0.0)
    mean = P.sum(axis=1, keepdims=True) / np.maximum(mask.sum(axis=1, keepdims=True), 1)
    estimates = problem.codes(np.where(mask, P - mean, 0.0), D, mask=mask).X @ D.T + mean
    total, times = np.zeros(hidden.shape), np.zeros(hidden.shape)
    places = [
        (row, column) for row in range(0, 96 - side + 1, 2) for column in range(0, 96 - side + 1, 2)
    ]
    for (row, column), estimate in zip(places, estimates, strict=True):
        total[row : row + side, column : column + side] += estimate.reshape(side, side)
        times[row : row + side, column : column + side] += 1
    return np.where(known, hidden, total / np.maximum(times, 1))


pictures = {"image": hidden, "three of ten pixels": np.where(known, hidden, np.nan)}
for name, shape, lam in (("l1", None, 0.02), ("tree", tree, 0.01)):
    problem = structured.Problem(lam, shape, **options)
    found = filled(problem, learned(problem))
    error = np.sqrt(np.mean((found - hidden)[~known] ** 2))
    pictures[f"{name}: error {error:.3f}"] = found

# %%
# Missing pixels are red.

colours = plt.get_cmap("gray").with_extremes(bad="tab:red")
fig, axes = plt.subplots(1, 4, figsize=(11, 3.2), sharey=True)
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    ax.imshow(picture, cmap=colours, vmin=0, vmax=1)
    ax.set(xlabel="column of pixels", ylabel="row of pixels", title=name)
    ax.label_outer()
fig.tight_layout()
