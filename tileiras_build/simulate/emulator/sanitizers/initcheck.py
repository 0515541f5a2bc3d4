"""Initcheck: detect reads of uninitialized memory by its contents.

An allocation without initial values is filled with a pattern of 64-bit words derived from their addresses
(``fill_unwritten``). A granule of 16 bytes that still has this pattern is uninitialized: neither the host nor a kernel wrote
it. Only the first read is recorded. The caller decides whether it matters, because kernels may load values that they never
use.

In each byte, the sign and the lowest two bits vary, and the other bits are 01111. Floats of every width then have exponents
just below the bias. Infinities, NaNs and tiny values would mask the effect on a kernel's results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UNINITIALISED, EmulatorFault
from ..memory.address_space import bytes_at
from ..ptx.ast import Instruction
from ..simt.geometry import Geometry

WORD_BYTES, GRANULE = 8, 16
CHUNK = 1 << 20  # bytes per step
VARYING, FIXED = 0x83, 0x3C  # bits of a byte
_VARYING, _FIXED = (np.uint64(0x0101010101010101 * bits) for bits in (VARYING, FIXED))
# The constants of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
_STEP, _FIRST, _SECOND = (np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def unwritten_pattern(words: np.ndarray) -> np.ndarray:
    """The pattern of uninitialized memory at 64-bit words, given as their addresses / 8 (uint64)."""
    with np.errstate(over="ignore"):
        mixed = (words + np.uint64(1)) * _STEP
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return (mixed ^ (mixed >> np.uint64(31))) & _VARYING | _FIXED


def words_at(address: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(the aligned 64-bit words inside a span of memory, their addresses / 8)."""
    first, end = -(-address // WORD_BYTES), (address + size) // WORD_BYTES
    count = max(end - first, 0)
    return bytes_at(first * WORD_BYTES, count * WORD_BYTES).view(np.uint64), np.arange(
        first, first + count, dtype=np.uint64
    )


def fill_unwritten(address: int, size: int) -> None:
    """Fill a span of memory with the pattern of uninitialized memory."""
    for start in range(address, address + size, CHUNK):
        words, indices = words_at(start, min(CHUNK, address + size - start))
        words[:] = unwritten_pattern(indices)


def flip_varying_bits(address: int, size: int) -> None:
    """Flip the VARYING bits of every uninitialized byte, which keeps the magnitude of the values."""
    start, end = -(-address // GRANULE) * GRANULE, (address + size) // GRANULE * GRANULE
    for at in range(start, end, CHUNK):
        words, indices = words_at(at, min(CHUNK, end - at))
        untouched = np.repeat((words == unwritten_pattern(indices)).reshape(-1, 2).all(axis=1), 2)
        words[untouched] ^= _VARYING


class Initcheck:
    """Records the first read of an uninitialized granule of ``spans`` (address, bytes) in a launch."""

    def __init__(self, spans: Sequence[tuple[int, int]]):
        self.spans = spans
        self.first: EmulatorFault | None = None

    def access(self, geometry: Geometry, ins: Instruction, flat: np.ndarray, start: np.ndarray, size: int) -> None:
        """Threads ``flat`` (n) of the batch read ``size`` bytes at addresses ``start`` (n)."""
        if self.first is not None:
            return
        for address, length in self.spans:
            low, high = -(-address // GRANULE) * GRANULE, (address + length) // GRANULE * GRANULE
            (inside,) = np.nonzero((start >= low) & (start < high))
            if not len(inside):
                continue
            word = start[inside] // GRANULE * (GRANULE // WORD_BYTES)
            words = bytes_at(low, high - low).view(np.uint64)
            untouched = np.ones(len(word), bool)
            for index in (word, word + 1):
                untouched &= words[index - low // WORD_BYTES] == unwritten_pattern(index.astype(np.uint64))
            if untouched.any():
                first = inside[np.argmax(untouched)]
                self._record(geometry, ins, int(flat[first]), int(start[first]), size)
                return

    def _record(self, geometry: Geometry, ins: Instruction, flat: int, address: int, size: int) -> None:
        self.first = EmulatorFault(
            "which is uninitialized, and the values that the kernel stores depend on it",
            instruction=ins.text, line=ins.line, thread=geometry.thread_at(flat),
            address=address, kind=UNINITIALISED, size=size,
        )  # fmt: skip
