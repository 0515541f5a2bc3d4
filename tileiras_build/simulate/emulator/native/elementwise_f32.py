"""Elementwise float32 operations in native code, for those that take NumPy several passes.

An operation of ``OPERATIONS`` returns correctly rounded results, or rejects an element (a NaN, or a value too close to a
rounding boundary); then NumPy computes all elements. The bits are therefore NumPy's on every CPU.
"""

from __future__ import annotations

import numpy as np

from .native_code import RESULT_COST, is_ready, kernel

MIN_ELEMENTS = 64  # elements from which a call pays off

# Name -> (number in elementwise.c, type of the results)
_NAMES = ("ex2", "ex2.ftz", "fma", "f16", "bf16", "add", "sub", "mul", "max", "min")
OPERATIONS: dict[str, tuple[int, type[np.generic]]] = {
    name: (number, np.uint16 if name in ("f16", "bf16") else np.float32) for number, name in enumerate(_NAMES)
}


def try_apply(name: str, *operands: np.ndarray | np.generic) -> np.ndarray | None:
    """An operation on float32 arrays of one shape, or scalars; None if NumPy must do it."""
    largest = operands[0]
    for operand in operands:
        if operand.size > largest.size:
            largest = operand
    if largest.size < MIN_ELEMENTS or largest.ndim > 2 or not is_ready(RESULT_COST * largest.size):
        return None
    number, dtype = OPERATIONS[name]
    out = np.empty(largest.shape, dtype)
    objects = [*map(id, operands), *[id(operands[0])] * (3 - len(operands))]
    return None if kernel("apply", 5)(number, id(out), *objects) else out
