import numpy as np
from numpy.typing import NDArray

def grams(
    which: NDArray[np.int64],
    rows: tuple,
    place: NDArray[np.int32],
    lists: tuple,
    owner: NDArray[np.int64],
    sizes: NDArray[np.float64],
    total: NDArray[np.float64],
    numbers: NDArray[np.uint32],
    gram: NDArray[np.float64],
) -> None: ...
def mirror(which: NDArray[np.int64], gram: NDArray[np.float64]) -> None: ...
def nearest(
    apart: bool,
    documents: tuple,
    lists: tuple,
    owner: NDArray[np.int64],
    scale: NDArray[np.float64],
    total: NDArray[np.float64],
    products: NDArray[np.float64],
    neighbours: NDArray[np.int64],
    best: NDArray[np.float64],
) -> None: ...
def number(terms: NDArray[np.uint32], place: NDArray[np.int32], count: int, numbers: NDArray[np.uint32]) -> int: ...
def invert(compressed: tuple, lists: tuple) -> None: ...
def take(spans: NDArray[np.int64], entries: tuple, result: tuple) -> None: ...
def exchange(
    rows: NDArray[np.int64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    entries: tuple,
    place: NDArray[np.int32],
    lists: tuple,
    limits: NDArray[np.int64],
    counters: NDArray[np.int64],
) -> bool: ...
def sums(
    changed: NDArray[np.int64],
    owner: NDArray[np.int64],
    source: NDArray[np.int64],
    factors: NDArray[np.float64],
    rows: tuple,
    most: int,
    power: float,
    entries: tuple,
    dense: NDArray[np.float64],
    free: int,
    spans: NDArray[np.int64],
    sizes: NDArray[np.float64],
) -> int: ...
def flatten(
    starts: NDArray[np.int64], weights: NDArray[np.float64], power: float, values: NDArray[np.float64]
) -> None: ...
def codes(
    documents: tuple,
    atoms: tuple,
    neighbours: NDArray[np.int64],
    sweeps: int,
    x: NDArray[np.float64],
    dense: NDArray[np.float64],
    gram: NDArray[np.float64],
) -> None: ...
def heaviest(most: int, compressed: tuple, ends: NDArray[np.int64], sizes: NDArray[np.float64]) -> None: ...
