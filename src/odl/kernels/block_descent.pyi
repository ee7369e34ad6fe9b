import numpy as np
from numpy.typing import NDArray

def project_rows(D: NDArray[np.float64], mu: float, nonnegative: bool, epsilon: float) -> None: ...
def descend(
    D: NDArray[np.float64],
    R: NDArray[np.float64],
    A: NDArray[np.float64],
    mu: float,
    nonnegative: bool,
    epsilon: float,
    sweeps: int,
    smallest: float,
) -> None: ...
