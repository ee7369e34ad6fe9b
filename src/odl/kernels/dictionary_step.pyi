import numpy as np
from numpy.typing import NDArray

def reduce(
    p_start: NDArray[np.int64],
    p_document: NDArray[np.uint32],
    p_value: NDArray[np.float64],
    x_start: NDArray[np.int64],
    x_atom: NDArray[np.uint32],
    x_value: NDArray[np.float64],
    total: NDArray[np.float64],
    inside: NDArray[np.float64],
    listed: NDArray[np.int64],
    place: NDArray[np.int64],
    term_of: NDArray[np.int64],
    atom_of: NDArray[np.int64],
    slope: NDArray[np.float64],
    target: NDArray[np.float64],
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    weight: NDArray[np.float64],
) -> tuple[int, int, int]: ...
def iterate(
    target: NDArray[np.float64],
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    weight: NDArray[np.float64],
    slope: NDArray[np.float64],
    begin: NDArray[np.int64],
    members: NDArray[np.int64],
    steps: NDArray[np.float64],
    a: NDArray[np.float64],
    dual: NDArray[np.float64],
    constant: float,
    settings: NDArray[np.float64],
    fit: NDArray[np.float64],
    clipped: NDArray[np.float64],
    gradient: NDArray[np.float64],
    trace: NDArray[np.float64],
    best: NDArray[np.float64],
    bounds: NDArray[np.float64],
) -> int: ...
def project(
    begin: NDArray[np.int64], members: NDArray[np.int64], values: NDArray[np.float64], steps: NDArray[np.float64]
) -> None: ...
