"""The arrays passed around: numbers, positions and counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Counts = NDArray[np.int64]
