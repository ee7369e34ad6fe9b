import numpy as np
from numpy.typing import NDArray

from odl.kernels.agent_descent import Rows
from odl.kernels.records import Diffusion, Model

def code_documents(
    documents: Rows, atoms: Rows, n_terms: int, model: Model, diffusion: Diffusion
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]: ...
def learn_documents(
    documents: Rows, atoms: Rows, n_terms: int, model: Model, diffusion: Diffusion, step: float, beta: float
) -> Rows: ...
