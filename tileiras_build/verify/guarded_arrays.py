"""Copies of a launch's arrays in separate allocations, each aligned and surrounded by guard bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..frontend.cases_api import CANARY
from ..frontend.kernel_case import Values
from .compare_arrays import flat_arrays

ALIGNMENT = 256
"""Alignment of every array in bytes, as device allocators guarantee."""

_GUARD_BYTES = 256  # bytes on both sides


class Mappable(Protocol):
    """A memory of the interpreter or of the emulator."""

    def map(self, address: int, size: int, keep: object = None) -> None:
        """Map bytes of this process."""


@dataclass
class GuardedAllocation:
    """The bytes of one array, or of several that overlap."""

    low: int
    high: int
    arrays: list[np.ndarray] = field(default_factory=list)
    raw: np.ndarray = field(init=False)

    def allocate(self) -> None:
        """Allocate the guarded copy: ``raw[start]`` corresponds to the address ``low``."""
        self.raw = np.full(self.high - self.low + ALIGNMENT + 2 * _GUARD_BYTES, CANARY, np.uint8)
        self.start = -(self.raw.ctypes.data + _GUARD_BYTES) % ALIGNMENT + _GUARD_BYTES

    def moved(self, array: np.ndarray) -> np.ndarray:
        """``array`` in the new memory, with the same strides and contents."""
        offset = self.start + array.ctypes.data - self.low
        made = np.ndarray(array.shape, array.dtype, self.raw, offset, array.strides)
        made[...] = array
        self.arrays.append(made)
        return made

    def is_guard_changed(self) -> bool:
        """Whether bytes around or between the elements have changed."""
        rest = self.raw.copy()
        for array in self.arrays:
            at = array.ctypes.data - self.raw.ctypes.data
            np.ndarray((*array.shape, array.itemsize), np.uint8, rest, at, (*array.strides, 1))[...] = CANARY
        return bool((rest != CANARY).any())


class GuardedArguments:
    """A copy of a launch's arguments for one run; ``tables`` are additional arrays that the kernel reads."""

    def __init__(self, values: Values):
        self._pieces = _pieces(array for _, array in flat_arrays(values))
        for piece in self._pieces:
            piece.allocate()
        self.values: Values = {name: self._moved(value) for name, value in values.items()}
        self.tables: list[np.ndarray] = []

    def _moved(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(self._moved, value))
        if not isinstance(value, np.ndarray):
            return value
        low, _ = np.lib.array_utils.byte_bounds(value)
        [piece] = [piece for piece in self._pieces if piece.low <= low < max(piece.high, piece.low + 1)][:1]
        return piece.moved(value)

    def map_into(self, memory: Mappable) -> None:
        """Map the bytes that the kernel may access, those of the elements, into ``memory``."""
        for piece in self._pieces:
            memory.map(piece.raw.ctypes.data + piece.start, piece.high - piece.low, piece.raw)
        for table in self.tables:
            memory.map(table.ctypes.data, table.nbytes, table)

    def changed_guards(self) -> list[str]:
        """The arrays with changed bytes around or between their elements."""
        changed = {id(array) for piece in self._pieces if piece.is_guard_changed() for array in piece.arrays}
        return [name for name, array in flat_arrays(self.values) if id(array) in changed]


def _pieces(arrays: Iterable[np.ndarray]) -> list[GuardedAllocation]:
    """One allocation per array, or per group of overlapping arrays: an argument may be passed twice."""
    pieces: list[GuardedAllocation] = []
    for low, high in sorted({np.lib.array_utils.byte_bounds(array) for array in arrays}):
        if pieces and low < pieces[-1].high:
            pieces[-1].high = max(high, pieces[-1].high)
        else:
            pieces.append(GuardedAllocation(low, high))
    return pieces
