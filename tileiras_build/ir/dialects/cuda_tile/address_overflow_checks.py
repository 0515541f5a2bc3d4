"""Checks that static offsets between elements fit in 64 bits: otherwise addresses would wrap around silently.

The caller is responsible for dynamic sizes, strides and offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatTF32Type
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

MAX_BYTE_OFFSET = 1 << 63  # addresses are signed 64-bit integers
_TF32_BITS = 32  # in memory

Dims = Sequence[int | None]


def check_elements(what: str, count: int, bits: int, element_type: Attribute) -> None:
    """Raise VerifyException if ``count`` elements of ``bits`` bits exceed 64 bits in bytes."""
    bits = _TF32_BITS if isinstance(element_type, FloatTF32Type) else bits
    if not -MAX_BYTE_OFFSET <= count * bits // 8 < MAX_BYTE_OFFSET:
        raise VerifyException(f"{what} of {count} elements of {element_type} does not fit in 64 bits, counted in bytes")


def check_tensor(shape: Dims, strides: Dims, bits: int, element_type: Attribute) -> None:
    """The strides of a tensor, and the distance from its first to its last element; None where dynamic."""
    span = 0
    for size, stride in zip(shape, strides):
        if size is not None and size >= MAX_BYTE_OFFSET:
            raise VerifyException(f"a size of {size} elements does not fit in 64 bits")
        if stride is None:
            continue
        check_elements("a stride", stride, bits, element_type)
        span += ((size or 1) - 1) * stride
    check_elements("the distance between the first and the last element,", span, bits, element_type)


def check_tiles(
    tile_shape: Sequence[int], steps: Sequence[int], strides: Dims, bits: int, element_type: Attribute
) -> None:
    """The distance between neighboring tiles, and the extent of one; ``strides`` are those of the tile's dimensions."""
    across = 0
    for size, step, stride in zip(tile_shape, steps, strides):
        if stride is not None:
            check_elements("the distance between neighboring tiles,", step * stride, bits, element_type)
            across += (size - 1) * stride
    check_elements("the distance across a tile,", across, bits, element_type)
