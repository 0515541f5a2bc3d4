"""Reads of memory that nobody has written, told by what it holds.

Who allocates memory without values fills it with a pattern of 64-bit words that depend on their addresses (``fill``). A
granule of 16 bytes that still holds it has been written by nobody, neither the host nor a kernel: that another value is the
same has a chance of 2^-128. Whether a value that was read matters is for the caller to find out: kernels read more than they
use. Of each byte the sign and the lowest two bits vary, the others are 01111: floats of every width then have exponents just
below the bias, and are no numbers that hide what is computed from them, as infinities, NaNs and tiny ones do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UNINITIALISED, EmulatorFault
from ..memory.address_space import bytes_at

if TYPE_CHECKING:
    from ..ptx.ast import Instruction
    from ..simt.geometry import Geometry

WORD_BYTES, GRANULE = 8, 16
CHUNK = 1 << 20  # bytes that are looked at together
VARYING, FIXED = 0x83, 0x3C  # bits of a byte
_VARYING, _FIXED = (np.uint64(0x0101010101010101 * bits) for bits in (VARYING, FIXED))
# The constants of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
_STEP, _FIRST, _SECOND = (np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def unwritten_pattern(words: np.ndarray) -> np.ndarray:
    """What unwritten memory holds at the words of these numbers, which are addresses / 8 (uint64)."""
    with np.errstate(over="ignore"):
        mixed = (words + np.uint64(1)) * _STEP
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return (mixed ^ (mixed >> np.uint64(31))) & _VARYING | _FIXED


def words_at(address: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(the words that lie whole in a piece of memory, their numbers)."""
    first, end = -(-address // WORD_BYTES), (address + size) // WORD_BYTES
    count = max(end - first, 0)
    return bytes_at(first * WORD_BYTES, count * WORD_BYTES).view(np.uint64), np.arange(
        first, first + count, dtype=np.uint64
    )


def fill_unwritten(address: int, size: int) -> None:
    """Let a piece of memory hold what tells that nobody has written it."""
    for start in range(address, address + size, CHUNK):
        words, numbers = words_at(start, min(CHUNK, address + size - start))
        words[:] = unwritten_pattern(numbers)


def flip_varying_bits(address: int, size: int) -> None:
    """Turn the VARYING bits of every byte that nobody has written: another value, of about the same size."""
    start, end = -(-address // GRANULE) * GRANULE, (address + size) // GRANULE * GRANULE
    for at in range(start, end, CHUNK):
        words, numbers = words_at(at, min(CHUNK, end - at))
        untouched = np.repeat((words == unwritten_pattern(numbers)).reshape(-1, 2).all(axis=1), 2)
        words[untouched] ^= _VARYING


class Initcheck:
    """The first read of a launch of a granule in one of ``spans`` (address, bytes) that nobody has written."""

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
            for number in (word, word + 1):
                untouched &= words[number - low // WORD_BYTES] == unwritten_pattern(number.astype(np.uint64))
            if untouched.any():
                one = inside[np.argmax(untouched)]
                self._note(geometry, ins, int(flat[one]), int(start[one]), size)
                return

    def _note(self, geometry: Geometry, ins: Instruction, flat: int, address: int, size: int) -> None:
        self.first = EmulatorFault(
            "which nobody has written, and what the kernel writes depends on it",
            instruction=ins.text, line=ins.line, thread=geometry.thread_at(flat),
            address=address, kind=UNINITIALISED, size=size,
        )  # fmt: skip
