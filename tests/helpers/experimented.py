"""Small settings of experiments and planted data for them."""

import io
import tarfile

import numpy as np

from odl.papers import experiments

SMALL = {
    "convergence": {
        "agents": 4,
        "terms": 6,
        "documents": 1,
        "steps": 60,
        "fixed_point_iterations": 50,
    },
}

TREES = {
    "train": 300,
    "validation": 30,
    "test": 40,
    "trees": ["3,2"],
    "lam_train": [-4],
    "lam_test": [-6],
}

TREES |= {
    "epochs": 1,
    "batch": 100,
    "drawn_tree": "2,2",
    "drawn_patch": 4,
    "patch": 4,
    "missing": [50, 90],
}


def settings_of(name, **given):
    return experiments.complete(name, given)


def archive(path, images):
    """Write a tar.gz of grey PNG images."""
    from PIL import Image

    with tarfile.open(path, "w:gz") as tar:
        for number, image in enumerate(images):
            data = io.BytesIO()
            Image.fromarray(image).save(data, "png")
            member = tarfile.TarInfo(f"images/{number}.png")
            member.size = data.tell()
            data.seek(0)
            tar.addfile(member, data)
    return path


def smooth(rng):
    """Return two grey images of smooth noise."""
    noise = rng.normal(size=(2, 60, 50)).cumsum(axis=1).cumsum(axis=2)
    return [np.uint8(255 * (one - one.min()) / (one.max() - one.min())) for one in noise]


def planted(rng, tree, count, noise=0.01):
    """Patches of 36 pixels that use all atoms from a leaf to the root alike, and the dictionary."""
    D = rng.normal(size=(36, tree.n_nodes))
    D /= np.linalg.norm(D, axis=0)
    X = np.zeros((count, tree.n_nodes))
    leaves = [node for node in range(tree.n_nodes) if not tree.children[node]]
    for row in range(count):
        node = rng.choice(leaves)
        while node >= 0:
            X[row, node] = rng.choice([-1.0, 1.0])
            node = tree.parents[node]
    P = X @ D.T + noise * rng.normal(size=(count, 36))
    return P / np.linalg.norm(P, axis=1, keepdims=True), D
