import numpy as np
from numpy.typing import NDArray

from odl.kernels.records import Layout

Rule = tuple[bool, float, int, int]  # by gap, tolerance, most iterations, iterations from one test to the next

def gram_matrix(D: NDArray[np.float64]) -> NDArray[np.float64]: ...
def steepness(gram: NDArray[np.float64], rounds: int) -> float: ...
def code_rows(
    X: NDArray[np.float64],
    squares: NDArray[np.float64],
    correlations: NDArray[np.float64],
    gram: NDArray[np.float64],
    layout: Layout,
    lam: float,
    lipschitz: float,
    infinity: bool,
    positive: bool,
    rule: Rule,
) -> NDArray[np.float64]: ...
def code_masked(
    X: NDArray[np.float64],
    P: NDArray[np.float64],
    mask: NDArray[np.bool_],
    D: NDArray[np.float64],
    layout: Layout,
    lam: float,
    lipschitz: float,
    infinity: bool,
    positive: bool,
    rule: Rule,
) -> NDArray[np.float64]: ...
