"""Shared-memory matrix descriptors of tcgen05 (PTX ISA 9.0, sections 9.7.16.4.1 and 9.7.16.10.6).

Descriptors count in chunks of 16 bytes, and so does everything here: an index is a chunk number in the CTA's shared
memory, and all that a swizzle does is to move chunks. A matrix is either K-major - a row of M or N is 32 bytes, two
chunks - or MN-major - for each of k, the chunks along M or N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

CHUNK = 16  # bytes
ROW_CHUNKS = 2  # chunks along k of one product: 32 bytes, whatever the type


@dataclass(frozen=True)
class Swizzle:
    """One swizzling mode: ``width`` chunks in a row of its pattern, repeated over ``rows`` of k where MN-major.

    A chunk's number is XORed with ``(number >> 3 & mask) << shift``: the bits of the 128-byte row it lies in.
    """

    width: int
    rows: int
    mask: int
    shift: int


SWIZZLES = {
    0: Swizzle(1, 8, 0, 0),  # none
    1: Swizzle(8, 4, 3, 1),  # 128 bytes, 32 bytes move together
    2: Swizzle(8, 8, 7, 0),  # 128 bytes
    4: Swizzle(4, 8, 3, 0),  # 64 bytes
    6: Swizzle(2, 8, 1, 0),  # 32 bytes
}
WIDE_ATOMS = 1


@dataclass(frozen=True)
class Descriptor:
    """A decoded descriptor; ``start``, ``leading`` and ``stride`` in chunks."""

    start: int
    leading: int
    stride: int
    base: int
    mode: int

    @property
    def swizzle(self) -> Swizzle:
        return SWIZZLES[self.mode]


@lru_cache(maxsize=4096)
def read_descriptor(word: int) -> Descriptor | str:
    """The fields of a 64-bit descriptor (Table 40), or what is wrong with it."""
    if word >> 46 & 7 != 1:
        return f"bits 46-48 of the shared-memory descriptor {word:#x} must be 0b001"
    if word >> 52 & 1:
        return "absolute leading-dimension addresses in a shared-memory descriptor are not supported"
    if word >> 53 & 0xFF:
        return f"bits 53-60 of the shared-memory descriptor {word:#x} must be 0"
    if word >> 61 not in SWIZZLES:
        return f"swizzling mode {word >> 61} in the shared-memory descriptor {word:#x} does not exist"
    return Descriptor(word & 0x3FFF, word >> 16 & 0x3FFF, word >> 32 & 0x3FFF, word >> 49 & 7, word >> 61)


@lru_cache(maxsize=1024)
def k_major_chunks(descriptor: Descriptor, rows: int, columns: int = ROW_CHUNKS) -> np.ndarray:
    """Chunk numbers (rows, columns) of a K-major matrix: 8 rows make a core matrix, the next is ``stride`` away."""
    row, chunk = np.ogrid[:rows, :columns]
    along = chunk if descriptor.mode else chunk * descriptor.leading
    return swizzled(descriptor, row % 8 * descriptor.swizzle.width + row // 8 * descriptor.stride + along)


@lru_cache(maxsize=1024)
def mn_major_chunks(descriptor: Descriptor, depth: int, chunks: int) -> np.ndarray:
    """Chunk numbers (depth of k, chunks along M or N) of an MN-major matrix."""
    k, chunk = np.ogrid[:depth, :chunks]
    swizzle = descriptor.swizzle
    if descriptor.mode == 0:
        return k % 8 + k // 8 * descriptor.leading + chunk * descriptor.stride + descriptor.start
    inside = k % swizzle.rows * swizzle.width + chunk % swizzle.width
    beyond = k // swizzle.rows * descriptor.stride + chunk // swizzle.width * descriptor.leading
    return swizzled(descriptor, inside + beyond)


def swizzled(descriptor: Descriptor, offsets: np.ndarray) -> np.ndarray:
    """Where chunks at ``offsets`` from the start really lie; rows count from the base offset."""
    chunks = offsets + descriptor.start
    swizzle = descriptor.swizzle
    return chunks ^ (((chunks >> 3) - descriptor.base & swizzle.mask) << swizzle.shift)
