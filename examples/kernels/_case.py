"""What every example declares beside its kernel: inputs, a NumPy reference, and how close the two must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tileiras_build.bytecode.export import Array, Case, Scalar

Values = dict[str, Any]
"""Launch arguments by name, in order: a NumPy array per Array (outputs included), a number per Scalar."""

ALIGNMENT = 128
"""Bytes: enough for every vector width and for TMA; device allocators promise more."""

CANARY = 0xA5
"""What the memory around an array is filled with."""


@dataclass(frozen=True)
class Tolerance:
    """``|actual - expected| <= absolute + relative * |expected|``; both 0 demands equality."""

    relative: float = 0.0
    absolute: float = 0.0


EXACT = Tolerance()


@dataclass(frozen=True)
class Example(Case):
    """A case that can be run and checked.

    ``make_inputs(rng)`` builds the launch arguments; outputs come poisoned, so an element that is never written shows.
    ``reference(values)`` maps each array that the kernel writes to what it must hold, computed in float64 from the
    values before the launch and rounded once; every other array must stay as it was. ``grid(values)`` counts tile
    blocks.
    """

    grid: Callable[[Values], tuple[int, int, int]]
    make_inputs: Callable[[np.random.Generator], Values]
    reference: Callable[[Values], Values]
    tolerance: Tolerance = EXACT

    def find_faults(self, before: Values, after: Values) -> list[str]:
        """What is wrong after a launch, one sentence each; empty if nothing is.

        ``before`` and ``after`` hold the same arguments, in arrays of their own; only ``after`` was launched on.
        """
        expected = self.reference(before)
        arrays = {name: value for name, value in after.items() if isinstance(value, np.ndarray)}
        faults = [_compare(name, after[name], value, self.tolerance) for name, value in expected.items()]
        faults += [_compare(name, arrays[name], before[name]) for name in arrays.keys() - expected.keys()]
        faults += [_check_canaries(name, value) for name, value in arrays.items()]
        return sorted(fault for fault in faults if fault)


def epsilon(dtype: str) -> float:
    """Distance from 1 to the next number of a floating type."""
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


def allocate(shape: tuple[int, ...], dtype: str, *, unit_axis: int = -1, padded: bool = False) -> np.ndarray:
    """An array with stride 1 along ``unit_axis`` on ``ALIGNMENT`` bytes, amid ``CANARY`` bytes.

    ``padded`` rounds the length of that axis up in memory, so that all other strides are multiples of 16 bytes:
    what TMA and 16-byte copies need when the matrix itself has an odd width.
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


def place(values: np.ndarray, dtype: str, **layout) -> np.ndarray:
    """``values`` rounded to ``dtype`` in an array that ``allocate`` lays out."""
    array = allocate(values.shape, dtype, **layout)
    array[...] = values.astype(dtype)
    return array


def poisoned(shape: tuple[int, ...], dtype: str, **layout) -> np.ndarray:
    """An output array of NaN, or of the largest integer."""
    array = allocate(shape, dtype, **layout)
    kind = np.dtype(dtype).kind
    array[...] = np.iinfo(dtype).max if kind in "iu" else np.array(np.nan).astype(dtype)
    return array


def wide(array: np.ndarray) -> np.ndarray:
    """The array in float64, where the references are computed."""
    return array.astype(np.float64)


def first_tiles(name: str, *tiles: int) -> Callable[[Values], tuple[int, int, int]]:
    """A grid with one block per tile of the array called ``name``, its leading axes cut into ``tiles``."""

    def grid(values: Values) -> tuple[int, int, int]:
        counts = [ceil_div(length, tile) for length, tile in zip(values[name].shape, tiles)]
        return tuple(counts + [1] * (3 - len(counts)))

    return grid


# ---- checking a launch ---------------------------------------------------------------------------------------------
def _compare(name: str, actual: np.ndarray, expected: np.ndarray, close: Tolerance = EXACT) -> str | None:
    allowed = close.absolute + close.relative * np.abs(wide(expected))
    wrong = ~(np.abs(wide(actual) - wide(expected)) <= allowed)  # a NaN is wrong
    if not wrong.any():
        return None
    first = tuple(int(number) for number in np.argwhere(wrong)[0])
    differ = f"{wrong.sum()} of {wrong.size} elements differ"
    return f"{name}: {differ}, the first at {first}: {actual[first]} instead of {expected[first]}"


def _check_canaries(name: str, array: np.ndarray) -> str | None:
    """Whether all bytes around and between the elements of an array from ``allocate`` are as they were."""
    raw = array.base.copy()
    start = array.ctypes.data - array.base.ctypes.data
    elements = np.ndarray((*array.shape, array.itemsize), np.uint8, raw, start, (*array.strides, 1))
    elements[...] = CANARY
    return None if (raw == CANARY).all() else f"{name}: memory beside its elements has changed"


__all__ = [
    "EXACT", "Array", "Case", "Example", "Scalar", "Tolerance", "Values", "allocate", "ceil_div", "epsilon",
    "first_tiles", "place", "poisoned", "tolerate", "wide",
]  # fmt: skip
