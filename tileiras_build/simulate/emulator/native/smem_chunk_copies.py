"""Accesses of 16-byte chunks of shared memory in native code: writes of TMA boxes, and reads of MMA operands.

Unlike NumPy, it needs no index array: it computes positions on the fly, and clears or tests the marks of copies in flight
(``async_copy_hazards.py``) in the same loop.
"""

from __future__ import annotations

import numpy as np

from .native_code import address, kernel

CHUNK = 16


def write_boxes(
    shared: np.ndarray, marks: np.ndarray, source: int, corners: np.ndarray, steps: np.ndarray, targets: np.ndarray,
    row_chunks: int, start: int, swizzle: tuple[int, int], are_rounded: bool = False,
) -> None:  # fmt: skip
    """Copy boxes to shared memory, and clear the marks there.

    The rows of box b start ``corners[b] + steps`` bytes (int64) after ``source``, and have ``row_chunks`` chunks each. They are
    written in order from chunk ``targets[b] + start`` on, with chunk c after ``targets[b]`` at ``c ^ (c >> 3 & mask) << shift``;
    ``swizzle`` is (mask, shift) (``tensor_map.CHUNK_XOR``). ``are_rounded``: round float32 to tf32, to nearest even; infinities
    and NaNs are unchanged.
    """
    kernel("land_boxes", 13)(
        address(shared), address(marks), source, address(corners), address(steps), address(targets),
        len(targets), len(steps), row_chunks, start, *swizzle, are_rounded,
    )  # fmt: skip


def gather(
    shared: np.ndarray, marks: np.ndarray | None, starts: np.ndarray, places: np.ndarray, out: np.ndarray
) -> bool:
    """Read the chunks ``places`` (any shape, int64) relative to each of ``starts`` (int64) into ``out`` (starts, places).

    Returns whether none of them is marked.
    """
    return not kernel("gather_chunks", 7)(
        address(out), address(shared), 0 if marks is None else address(marks), address(starts), address(places), len(starts), places.size,
    )  # fmt: skip


def chunks_equal(shared: np.ndarray, starts: np.ndarray, places: np.ndarray, before: np.ndarray) -> bool:
    """Whether the chunks that ``gather`` reads equal ``before``."""
    tables = map(address, (before, shared, starts, places))
    return not kernel("chunks_differ", 6)(*tables, len(starts), places.size)
