"""Values in the shape of a group: most have it already, and NumPy's ``broadcast_to`` takes as long where nothing is to be done."""

from __future__ import annotations

import numpy as np


def spread(value: np.ndarray | np.generic | bool | int, shape: tuple[int, ...]) -> np.ndarray:
    """A value in a shape that it can be broadcast to; nobody may write it."""
    if isinstance(value, np.ndarray) and value.shape == shape:
        return value
    return np.broadcast_to(value, shape)
