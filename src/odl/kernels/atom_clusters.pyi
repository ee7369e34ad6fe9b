import numpy as np
from numpy.typing import NDArray

from odl.kernels.records import Merging

MERGE: int
JOIN: int
RETIRE: int

def learn(
    pieces: tuple,
    owner: NDArray[np.int64],
    weight: NDArray[np.float64],
    total: NDArray[np.float64],
    atoms: Merging,
    used: NDArray[np.int64],
    birth: NDArray[np.int64],
    seen: int,
    same: float,
    full: int,
) -> None: ...
def settle(changed: NDArray[np.int64], atoms: Merging) -> None: ...
