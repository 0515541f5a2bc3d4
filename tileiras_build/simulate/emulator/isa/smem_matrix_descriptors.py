"""Shared memory matrix descriptors of wgmma and tcgen05 (PTX ISA 9.0, 9.7.15.5.1, 9.7.16.4.1 and 9.7.16.10.6).

Descriptors and this module count in chunks of 16 bytes: an index is the index of a chunk in the CTA's shared memory, and a
swizzle permutes chunks. A matrix is K-major (a row of M or N is 32 bytes, two chunks) or MN-major (for each k, the chunks
along M or N). The fields of the descriptors differ between the two instructions; the layouts are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

CHUNK = 16  # bytes
ROW_CHUNKS = 2  # chunks along k of one MMA: 32 bytes for all types


@dataclass(frozen=True)
class Swizzle:
    """A swizzling mode: ``width`` chunks in a row of its pattern; MN-major patterns repeat over ``rows`` of k.

    The index of a chunk is XORed with ``(index >> 3 & mask) << shift``, bits of the index of its 128-byte row.
    """

    width: int
    rows: int
    mask: int
    shift: int


NONE, BYTES_32, BYTES_64, BYTES_128 = Swizzle(1, 8, 0, 0), Swizzle(2, 8, 1, 0), Swizzle(4, 8, 3, 0), Swizzle(8, 8, 7, 0)
BYTES_128_ATOM_32B = Swizzle(8, 4, 3, 1)  # 128 bytes in atoms of 32 bytes
TCGEN05_SWIZZLES = {0: NONE, 1: BYTES_128_ATOM_32B, 2: BYTES_128, 4: BYTES_64, 6: BYTES_32}  # bits 61-63
WGMMA_SWIZZLES = {0: NONE, 1: BYTES_128, 2: BYTES_64, 3: BYTES_32}  # bits 62-63


# -- layouts -----------------------------------------------------------------------------------------
@lru_cache(maxsize=4096)
def k_major_offsets(swizzle: Swizzle, leading: int, stride: int, rows: int, columns: int = ROW_CHUNKS) -> np.ndarray:
    """Chunks (rows, columns) from the start of a K-major matrix, before the swizzle.

    Eight rows are a core matrix; core matrices are ``stride`` apart. ``leading`` applies only without a swizzle.
    """
    row, chunk = np.ogrid[:rows, :columns]
    along = chunk * leading if swizzle is NONE else chunk
    return row % 8 * swizzle.width + row // 8 * stride + along


@lru_cache(maxsize=4096)
def mn_major_offsets(swizzle: Swizzle, leading: int, stride: int, depth: int, chunks: int) -> np.ndarray:
    """Chunks (depth of k, chunks along M or N) from the start of an MN-major matrix, before the swizzle."""
    k, chunk = np.ogrid[:depth, :chunks]
    if swizzle is NONE:
        return k % 8 + k // 8 * leading + chunk * stride
    inside = k % swizzle.rows * swizzle.width + chunk % swizzle.width
    return inside + k // swizzle.rows * stride + chunk // swizzle.width * leading


def apply_swizzle(swizzle: Swizzle, chunks: np.ndarray, base: int) -> np.ndarray:
    """The positions of chunks after the swizzle; the rows of the pattern start at the base offset."""
    if swizzle is NONE:
        return chunks
    return chunks ^ (((chunks >> 3) - base & swizzle.mask) << swizzle.shift)


# -- tcgen05 -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Descriptor:
    """A decoded descriptor; ``start``, ``leading`` and ``stride`` in chunks."""

    start: int
    leading: int
    stride: int
    base: int
    swizzle: Swizzle


@lru_cache(maxsize=4096)
def read_descriptor(descriptor: int) -> Descriptor | str:
    """The fields of a 64-bit descriptor (Table 40), or an error message."""
    if descriptor >> 46 & 7 != 1:
        return f"bits 46-48 of the shared-memory descriptor {descriptor:#x} must be 0b001"
    if descriptor >> 52 & 1:
        return "absolute leading-dimension addresses in a shared-memory descriptor are not supported"
    if descriptor >> 53 & 0xFF:
        return f"bits 53-60 of the shared-memory descriptor {descriptor:#x} must be 0"
    if descriptor >> 61 not in TCGEN05_SWIZZLES:
        return f"invalid swizzling mode {descriptor >> 61} in the shared-memory descriptor {descriptor:#x}"
    swizzle = TCGEN05_SWIZZLES[descriptor >> 61]
    return Descriptor(
        descriptor & 0x3FFF, descriptor >> 16 & 0x3FFF, descriptor >> 32 & 0x3FFF, descriptor >> 49 & 7, swizzle
    )


@lru_cache(maxsize=1024)
def k_major_chunks(d: Descriptor, rows: int, columns: int = ROW_CHUNKS) -> np.ndarray:
    """Chunk indices (rows, columns) of a K-major matrix."""
    return apply_swizzle(d.swizzle, d.start + k_major_offsets(d.swizzle, d.leading, d.stride, rows, columns), d.base)


@lru_cache(maxsize=1024)
def mn_major_chunks(d: Descriptor, depth: int, chunks: int) -> np.ndarray:
    """Chunk indices (depth of k, chunks along M or N) of an MN-major matrix."""
    return apply_swizzle(d.swizzle, d.start + mn_major_offsets(d.swizzle, d.leading, d.stride, depth, chunks), d.base)
