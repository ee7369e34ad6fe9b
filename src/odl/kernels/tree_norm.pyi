import numpy as np
from numpy.typing import NDArray

from odl.kernels.records import Layout

def prox_rows(
    V: NDArray[np.float64], layout: Layout, lam: NDArray[np.float64], infinity: bool, positive: bool
) -> None: ...
def value_rows(V: NDArray[np.float64], layout: Layout, infinity: bool) -> NDArray[np.float64]: ...
def dual_norm(z: NDArray[np.float64], layout: Layout, lam: float, infinity: bool) -> float: ...
