"""The API of kernel files: cases with their argument types, launches, and references for results.

    from tileiras_build.cases import Array, Case, first_tiles, place, poisoned, tolerate, wide

    def inputs(rng):
        return {"x": place(rng.uniform(-1, 1, 1000), "float16"), "out": poisoned((1000,), "float16")}

    def reference(values):
        return {"out": np.sqrt(wide(values["x"])).astype("float16")}

    CASES = [
        Case("root_f16", root, (Array("float16", 1), Array("float16", 1), 256),
             inputs=inputs, reference=reference, grid=first_tiles("out", 256), tolerance=tolerate("float16")),
    ]

``docs/sources.md`` explains rows; the functions below create arguments, references and tolerances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike

from .kernel_case import EXACT, Array, ArrayList, Case, Checked, Grid, Reference, Scalar, Tolerance, Values
from .tuning_choices import keep_result
from .tuning_space import Tune

ALIGNMENT = 128
"""Bytes: enough for every vector width and for TMA; device allocators promise more."""

CANARY = 0xA5
"""The fill value of the memory around an array."""


def epsilon(dtype: str) -> float:
    """The machine epsilon of a floating type."""
    return float(ml_dtypes.finfo(dtype).eps)


def tolerate(output: str, *, depth: int = 1, magnitude: float = 1.0, accumulator: str = "float32") -> Tolerance:
    """The error of ``depth`` chained roundings in ``accumulator`` on terms up to ``magnitude``, then one to ``output``.

    The last rounding of the reference and of the kernel may fall on either side of a tie, hence a whole epsilon.
    Below the normal range an epsilon is absolute: the smallest subnormal.
    """
    floor = float(ml_dtypes.finfo(output).smallest_subnormal)
    return Tolerance(epsilon(output), floor + depth * magnitude * epsilon(accumulator))


def ceil_div(length: int, tile: int) -> int:
    """How many tiles cover ``length`` elements."""
    return -(-length // tile)


def allocate(shape: Sequence[int], dtype: str, *, unit_axis: int = -1, padded: bool = False) -> np.ndarray:
    """An array with stride 1 along ``unit_axis`` aligned to ``ALIGNMENT`` bytes, between ``CANARY`` bytes.

    ``padded`` rounds the length of that axis up in memory, so that all other strides are multiples of 16 bytes:
    as TMA and 16-byte copies need for a matrix of odd width.
    """
    unit_axis %= len(shape)
    order = [axis for axis in range(len(shape)) if axis != unit_axis] + [unit_axis]
    stored, itemsize = [shape[axis] for axis in order], np.dtype(dtype).itemsize
    if padded:
        stored[-1] = ceil_div(stored[-1] * itemsize, 16) * 16 // itemsize
    size = int(np.prod(stored)) * itemsize
    # At least ALIGNMENT bytes on each side, wherever the allocation begins.
    raw = np.full(size + 3 * ALIGNMENT, CANARY, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT + ALIGNMENT
    block = raw[start : start + size].view(dtype).reshape(stored)
    return block[..., : shape[unit_axis]].transpose(np.argsort(order))


def place(values: ArrayLike, dtype: str, *, unit_axis: int = -1, padded: bool = False) -> np.ndarray:
    """``values`` rounded to ``dtype`` in an array from ``allocate``."""
    source = np.asarray(values)
    array = allocate(source.shape, dtype, unit_axis=unit_axis, padded=padded)
    array[...] = source.astype(dtype)
    return array


def poisoned(shape: Sequence[int], dtype: str, *, unit_axis: int = -1, padded: bool = False) -> np.ndarray:
    """An output array of NaN, or of the largest integer: unwritten elements then fail the comparison."""
    array = allocate(shape, dtype, unit_axis=unit_axis, padded=padded)
    is_integer = np.dtype(dtype).kind in "iu"
    array[...] = np.iinfo(dtype).max if is_integer else np.array(np.nan).astype(dtype)
    return array


def wide(array: np.ndarray) -> np.ndarray:
    """The array in float64, for references."""
    return array.astype(np.float64)


def first_tiles(name: str, *tiles: int | str) -> Callable[[Values], tuple[int, ...]]:
    """A grid with one block per tile of the array ``name``, whose leading axes are divided into ``tiles``.

    A tile is a length or the name of a constant parameter, which a ``Tune`` may set.
    """

    def grid(values: Values) -> tuple[int, ...]:
        lengths = [values[tile] if isinstance(tile, str) else tile for tile in tiles]
        counts = [ceil_div(length, tile) for length, tile in zip(values[name].shape, lengths)]
        return tuple(counts + [1] * (3 - len(counts)))

    return grid


__all__ = [
    "ALIGNMENT", "CANARY", "EXACT", "Array", "ArrayList", "Case", "Checked", "Grid", "Reference", "Scalar", "Tolerance",
    "Tune", "Values", "allocate", "ceil_div", "epsilon", "first_tiles", "keep_result", "place", "poisoned", "tolerate", "wide",
]  # fmt: skip
