import numpy as np
from numpy.typing import NDArray

def code_documents(
    batch: tuple, by_term: tuple, by_atom: tuple, mass: NDArray[np.float64], lam: float, limit: int
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.bool_],
]: ...
