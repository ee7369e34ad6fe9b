import numpy as np
from numpy.typing import NDArray

def code_documents(
    documents: tuple,
    by_term: tuple,
    by_atom: tuple,
    gram: NDArray[np.float64],
    lam: float,
    squared: bool,
    settings: tuple,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
]: ...
