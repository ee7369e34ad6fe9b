import numpy as np
from numpy.typing import NDArray

from odl.kernels.records import Merging

ATOMS: int
BLOCK: int
LANES: int
CANDIDATES: int
UNKNOWN: int
NEVER: int

def search_changed(atoms: Merging) -> None: ...
def group(atoms: Merging, target: int) -> NDArray[np.int64]: ...
