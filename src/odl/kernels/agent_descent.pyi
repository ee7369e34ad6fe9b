import numpy as np
from numpy.typing import NDArray

from odl.kernels.records import Model

Rows = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]

def code_documents(
    documents: Rows, atoms: Rows, n_terms: int, model: Model, tolerance: float, sweeps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def learn_documents(
    documents: Rows,
    atoms: Rows,
    n_terms: int,
    model: Model,
    tolerance: float,
    sweeps: int,
    step: float,
    beta: float,
) -> Rows: ...
