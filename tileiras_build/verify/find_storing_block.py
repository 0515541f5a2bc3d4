"""Find the tile block that stores an element: rerun the launch block by block and watch the element's bytes.

A block that stores the value already in memory changes nothing. So elements that no block has changed are watched in a
second run, whose initial bytes are complemented.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Block = tuple[int, int, int]
Element = tuple[str, tuple[int, ...]]
"""An array name (as in ``flat_arrays``) and an index."""

Run = Callable[[Callable[[dict[str, np.ndarray]], None], Callable[[Block], None]], object]
"""Runs a launch. Calls the first argument with the arrays before the launch, the second before each block."""


@dataclass
class _Watched:
    """The bytes of one element in the memory of a run, and the block that last changed them."""

    place: np.ndarray
    last: bytes
    block: Block | None = None


def storing_blocks(elements: Sequence[Element], run: Run) -> dict[Element, Block]:
    """The block that last stored each of ``elements``, without the elements that no block has stored."""
    found: dict[Element, Block] = {}
    for flipped in (False, True):
        left = [element for element in elements if element not in found]
        if left:
            found |= _watch(left, run, flipped)
    return found


def _watch(elements: Sequence[Element], run: Run, flipped: bool) -> dict[Element, Block]:
    watched: dict[Element, _Watched] = {}
    running: list[Block] = []

    def begin(arrays: dict[str, np.ndarray]) -> None:
        for name, index in elements:
            seen = _bytes_of(arrays[name], index)
            if flipped:
                np.bitwise_not(seen, out=seen)
            watched[name, index] = _Watched(seen, seen.tobytes())

    def poll() -> None:
        for one in watched.values():
            if running and one.place.tobytes() != one.last:
                one.last, one.block = one.place.tobytes(), running[-1]

    def started(block: Block) -> None:
        poll()
        running.append(block)

    run(begin, started)
    poll()
    return {element: one.block for element, one in watched.items() if one.block is not None}


def _bytes_of(array: np.ndarray, index: tuple[int, ...]) -> np.ndarray:
    address = array.ctypes.data + sum(at * stride for at, stride in zip(index, array.strides))
    return np.ctypeslib.as_array((ctypes.c_uint8 * array.itemsize).from_address(address))
