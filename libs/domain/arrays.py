"""Types of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Indices = NDArray[np.int32]
Floats = NDArray[np.float64]
Bytes = NDArray[np.int8]
Bools = NDArray[np.bool_]
Names = NDArray[np.object_]
