import numpy as np
from numpy.typing import NDArray

def spread(weights: NDArray[np.float64], mu: float, pull: float) -> NDArray[np.float64]: ...
