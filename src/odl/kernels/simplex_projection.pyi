import numpy as np
from numpy.typing import NDArray

def project_columns(
    start: NDArray[np.int64], values: NDArray[np.float64], distance: NDArray[np.float64], epsilon: float
) -> None: ...
