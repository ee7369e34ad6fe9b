"""Image patches: images in, centred patches of unit length and masks of known pixels out."""

import io

import numpy as np

from odl.corpora.checks import opening, tar_members
from odl.errors import ParameterError

FLAT = 1e-6  # a patch whose centred values have at most this length is constant
LARGEST = 1 << 24  # pixels of an image
ROUNDS = 100  # draws before images are taken for constant ones


def read_images(files, scale=1.0):
    """Return grey images as arrays of float64 from 0 to 1.

    Parameters
    ----------
    files : sequence of path-like
        tar.gz archives of PNG images; if there are none, the two sample images of scikit-learn are taken, which need
        no download.
    scale : float
        Factor by which sides are enlarged, bicubic; 1 leaves the pixels as they are. Values may leave 0 to 1.

    Raises
    ------
    DataError
        If an archive is damaged or holds no PNG image.
    """
    return [enlarged(image, scale) for image in _read(files)]


def enlarged(image, scale):
    """Return an image with sides multiplied by a factor and rounded, by bicubic interpolation; itself at 1."""
    sides = [max(round(side * scale), 1) for side in image.shape]
    if tuple(sides) == image.shape:
        return image
    from PIL import Image

    resized = Image.fromarray(np.asarray(image, dtype=np.float32)).resize(sides[::-1], Image.Resampling.BICUBIC)
    return np.asarray(resized, dtype=np.float64)


def _read(files):
    if not files:
        from sklearn.datasets import load_sample_images

        return [_grey(image / 255.0) for image in load_sample_images().images]

    images = []
    for path in files:
        members = {name: data for name, data in tar_members(path) if name.lower().endswith(".png")}
        with opening(path, "an archive of PNG images"):
            if not members:
                raise ValueError("it holds no PNG image")
            images += [_opened(members[name]) for name in sorted(members)]
    return images


def _opened(data):
    """Return one PNG image in grey; its header says how large it is before anything is unpacked."""
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
        if image.width * image.height > LARGEST:
            raise ValueError(f"an image of {image.width} x {image.height} pixels")
        return _grey(np.asarray(image) / 255.0)


def _grey(image):
    return np.asarray(image if image.ndim == 2 else image[..., :3].mean(axis=2), dtype=np.float64)


def contrast(images, size, share):
    """Return the l2 norm of centred patches that a share of the places of all images is below; 0 for none.

    Parameters
    ----------
    images : list of ndarray
    size : int
        Pixels of a side.
    share : float
        From 0 to below 1; 0.8 leaves the top fifth.
    """
    if not share:
        return 0.0
    squares = np.sort(np.concatenate([_energy(image, size).ravel() for image in images if min(image.shape) >= size]))
    return float(np.sqrt(squares[int(share * len(squares))]))


def _energy(image, size):
    """Return the sum of squares of the centred patch at every place, from running sums."""
    centred = image - image.mean()
    total, square = (_boxes(values, size) for values in (centred, centred * centred))
    return np.maximum(square - total * total / size**2, 0.0)


def _boxes(values, size):
    """Return the sums over all squares of a side."""
    sums = np.pad(values, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    return sums[size:, size:] - sums[:-size, size:] - sums[size:, :-size] + sums[:-size, :-size]


def draw(images, size, count, rng, least=0.0):
    """Draw square patches, every place of every image as likely as any other, none twice.

    Patches are centred and scaled to unit l2 norm; constant ones are drawn again (ICML 2010, section 4.1).

    Parameters
    ----------
    images : list of ndarray
    size : int
        Pixels of a side.
    count : int
    rng : numpy.random.Generator
    least : float
        Least l2 norm of a centred patch, as `contrast` finds it; those below are drawn again.

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
    places = np.cumsum([0, *(window.shape[0] * window.shape[1] for window in windows)])
    seen, drawn = set(), []
    for _ in range(ROUNDS if count <= places[-1] else 0):
        for place in rng.integers(places[-1], size=count - len(drawn)):
            if place in seen:
                continue
            seen.add(place)
            image = int(np.searchsorted(places, place, side="right")) - 1
            row, column = divmod(int(place - places[image]), windows[image].shape[1])
            patch = windows[image][row, column].ravel()
            patch = patch - patch.mean()
            length = np.linalg.norm(patch)
            if length > FLAT and length >= least:
                drawn.append(patch / length)
        if len(drawn) == count:
            return np.array(drawn)
    defect = f"{count} patches of {size} x {size} pixels from {len(images)} images with {places[-1]} places for them"
    raise ParameterError(defect, "fewer or smaller patches that are not constant", "ask for fewer, or add images")


def hide(count, pixels, missing, rng):
    """Return which pixels are known: each is missing with the given probability, one at least is known.

    Returns
    -------
    ndarray of bool, shape (count, pixels)
    """
    known = rng.random((count, pixels)) >= missing
    known[np.arange(count), rng.integers(pixels, size=count)] |= ~known.any(axis=1)
    return known
