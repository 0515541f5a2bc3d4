"""How far apart a program's own numbers put two elements: that must fit 64 bits, or addresses would wrap around silently.

Sizes, strides and offsets that are only known when the kernel runs are the caller's to keep in range.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatTF32Type
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

LIMIT = 1 << 63  # addresses are computed as signed 64-bit numbers
MAX_HOPS = 16  # operations that a number is followed through: all of a chain for each of its users would be quadratic
_TF32_BITS = 32  # in memory

# Operations whose result has the values of their first operand.
_PASSING = ("cuda_tile.assume", "cuda_tile.broadcast", "cuda_tile.reshape")

Dims = Sequence[int | None]


def check_elements(what: str, count: int, bits: int, element_type: Attribute) -> None:
    """Raise VerifyException where ``count`` elements of ``bits`` bits are more bytes than 64 bits can say."""
    bits = _TF32_BITS if isinstance(element_type, FloatTF32Type) else bits
    if not -LIMIT <= count * bits // 8 < LIMIT:
        raise VerifyException(f"{what} of {count} elements of {element_type} does not fit in 64 bits, counted in bytes")


def check_tensor(shape: Dims, strides: Dims, bits: int, element_type: Attribute) -> None:
    """The strides of a tensor, and the distance from its first to its last element; None is not known."""
    span = 0
    for size, stride in zip(shape, strides):
        if size is not None and size >= LIMIT:
            raise VerifyException(f"a size of {size} elements does not fit in 64 bits")
        if stride is None:
            continue
        check_elements("a stride", stride, bits, element_type)
        span += ((size or 1) - 1) * stride
    check_elements("the distance between the first and the last element,", span, bits, element_type)


def check_tiles(tile_shape: Dims, steps: Dims, strides: Dims, bits: int, element_type: Attribute) -> None:
    """The distance between neighboring tiles, and across one; ``strides`` are those of the tile's dimensions."""
    across = 0
    for size, step, stride in zip(tile_shape, steps, strides):
        if stride is not None:
            check_elements("the distance between neighboring tiles,", step * stride, bits, element_type)
            across += (size - 1) * stride
    check_elements("the distance across a tile,", across, bits, element_type)


def known_range(value: SSAValue) -> tuple[int, int] | None:
    """The least and the greatest element of an integer tile that the program fixes; None where it does not."""
    for _ in range(MAX_HOPS):
        op = value.owner
        if getattr(op, "name", "") == "cuda_tile.constant":
            constant = op.value
            numbers = constant.splat_value() if constant.is_splat else constant.as_array()
            return int(numbers.min()), int(numbers.max())
        if getattr(op, "name", "") not in _PASSING:
            return None
        value = op.operands[0]
    return None
