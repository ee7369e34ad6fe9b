import numpy as np
from numpy.typing import NDArray

CUT: int
EDGE: int
SIGN: int
LATIN: int
OTHER: int
APART: int
PAIRS: int
NO_WORD: int
NEW: int
NEW_WORD: int
LIST: int
SIZE: int
CASE: int
SEED: int
N_PIECES: int

class Counter:
    def __init__(self, table: tuple, work: tuple, sizes: NDArray[np.int32]) -> None: ...
    def count(self) -> int: ...
