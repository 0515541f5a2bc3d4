"""Operations of cuda_tile that convert or reinterpret the elements of tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from xdsl.dialects.builtin import Float8E8M0FNUType, FloatTF32Type, UnitAttr, i8, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def

from .element_types import (
    BF16,
    BITS,
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F8E8M0,
    F16,
    F32,
    F64,
    FLOATS,
    FNV8,
    INTEGERS,
    NUMERIC_TYPES,
    TF32,
    i4,
)
from .enums import IntegerOverflowAttr, RoundingMode, RoundingModeAttr, SignednessAttr
from .op_base import PureOperation, define, elements, fail, one_of, pointers, same_shapes, tile
from .types import TileType

WIDE_INTEGERS = (*INTEGERS, i4)


class Retyping(PureOperation):
    """The same bits with another type."""

    source = operand_def()
    result = result_def()


class Conversion(PureOperation):
    """Other elements in the same shape."""

    from_ = operand_def()
    to = result_def()
    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (same_shapes("from_", "to"),)


EVEN, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.ZERO
DOWN, UP, AWAY = RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF, RoundingMode.NEAREST_AWAY

# Element type -> types that represent all its values: the rounding mode is then without effect.
WIDER: dict[Attribute, set[Attribute]] = {
    F32: {F64},
    TF32: {F64, F32},
    F16: {F64, F32, TF32},
    BF16: {F64, F32, TF32},
    F8E4M3: {F64, F32, TF32, F16, BF16},
    F8E5M2: {F64, F32, TF32, F16, BF16},
    F4E2M1: {F64, F32, TF32, F16, BF16},
    FNV8: {F64, F32, TF32, BF16},
    F8E8M0: {F64},
}
# Rounding modes of conversions between floats, as the 13.5 tools accept them: per (from, to) and per target.
PAIR_ROUNDING: dict[tuple[Attribute, Attribute], tuple[RoundingMode, ...]] = {
    (F64, F32): (EVEN, ZERO, DOWN, UP),
    (F32, TF32): (EVEN, ZERO, AWAY),
}
TARGET_ROUNDING: dict[Attribute, tuple[RoundingMode, ...]] = {
    F8E8M0: (ZERO, UP),
    F8E4M3: (EVEN,),
    F8E5M2: (EVEN,),
    F4E2M1: (EVEN,),
    FNV8: (EVEN,),
}
WIDENING_ROUNDING = (EVEN, ZERO, DOWN, UP, AWAY)
NARROWING_ROUNDING = (EVEN, ZERO)


@define
class BitcastOp(Retyping):
    """The same bits as another element type of the same width."""

    name = "cuda_tile.bitcast"

    def _widths(self) -> None:
        before, after = tile(self, "source").element_type, tile(self, "result").element_type
        if BITS[before] != BITS[after]:
            fail(
                f"types must be equal width, cannot convert {self.source.type} of width {BITS[before]} "
                f"to type {self.result.type} of width {BITS[after]}"
            )

    CHECKS: ClassVar = (same_shapes("source", "result"), elements(NUMERIC_TYPES, "source", "result"), _widths)


@define
class ExtIOp(Conversion):
    """Widen integers."""

    name = "cuda_tile.exti"
    signedness = prop_def(SignednessAttr)

    def _widths(self) -> None:
        if BITS[tile(self, "to").element_type] <= BITS[tile(self, "from_").element_type]:
            fail("extending to smaller or identical integer")

    CHECKS: ClassVar = (elements(WIDE_INTEGERS, "from_", "to"), _widths)


def float_rounding(before: Attribute, after: Attribute) -> tuple[RoundingMode, ...]:
    """The rounding modes with which one float type may be converted to another."""
    if (modes := PAIR_ROUNDING.get((before, after)) or TARGET_ROUNDING.get(after)) is not None:
        return modes
    return WIDENING_ROUNDING if after in WIDER.get(before, ()) else NARROWING_ROUNDING


@define
class FToFOp(Conversion):
    """Convert floats to another float type."""

    name = "cuda_tile.ftof"
    rounding_mode = prop_def(RoundingModeAttr)

    def _rounding(self) -> None:
        before, after = tile(self, "from_").element_type, tile(self, "to").element_type
        if before == after:
            fail("converting tiles must not be a no-op")
        modes = float_rounding(before, after)
        if self.rounding_mode.data not in modes:
            listed = ", ".join(mode.value for mode in modes)
            fail(
                f"the rounding mode of a conversion from {before} to {after} must be one of {listed}, "
                f"got {self.rounding_mode.data.value}"
            )

    CHECKS: ClassVar = (elements(FLOATS, "from_", "to"), _rounding)


@define
class FToIOp(Conversion):
    """Convert floats to integers, toward zero; ``saturating`` clamps (since bytecode 13.4)."""

    name = "cuda_tile.ftoi"
    signedness = prop_def(SignednessAttr)
    rounding_mode = prop_def(RoundingModeAttr)
    saturating = opt_prop_def(UnitAttr)
    CHECKS: ClassVar = (
        elements(FLOATS, "from_"),
        elements(INTEGERS, "to"),
        one_of("rounding_mode", RoundingMode.NEAREST_INT_TO_ZERO),
    )


@define
class IToFOp(Conversion):
    """Convert integers to floats, to the nearest."""

    name = "cuda_tile.itof"
    signedness = prop_def(SignednessAttr)
    rounding_mode = prop_def(RoundingModeAttr)

    def _not_scale(self) -> None:
        if isinstance(tile(self, "to").element_type, Float8E8M0FNUType):
            fail("integer to f8E8M0FNU conversion is not supported, please first convert to another float type")

    CHECKS: ClassVar = (
        elements(INTEGERS, "from_"),
        elements(FLOATS, "to"),
        one_of("rounding_mode", RoundingMode.NEAREST_EVEN),
        _not_scale,
    )


@define
class IntToPtrOp(Retyping):
    """Addresses as pointers."""

    name = "cuda_tile.int_to_ptr"
    CHECKS: ClassVar = (same_shapes("source", "result"), elements((i64,), "source"), pointers("result"))


def _tile_bits(type: TileType) -> int:
    bits = 32 if isinstance(type.element_type, FloatTF32Type) else BITS[type.element_type]
    return bits * type.num_elements


def _same_bytes(op: Operation) -> None:
    source, result = tile(op, "source"), tile(op, "result")
    if source.rank != 1 or result.rank != 1:
        fail("expects source and result to be rank-1 tiles")
    if BITS[source.element_type] == BITS[result.element_type]:
        fail("expects source and result to have different element type widths")
    if _tile_bits(source) % 8 or _tile_bits(source) != _tile_bits(result):
        fail(
            "expects source and result to have the same size in bytes, but got "
            f"{_tile_bits(source)} and {_tile_bits(result)} bits"
        )


@define
class PackOp(Retyping):
    """A tile as its bytes (since bytecode 13.3)."""

    name = "cuda_tile.pack"
    CHECKS: ClassVar = (elements((*NUMERIC_TYPES, i4), "source"), elements((i8,), "result"), _same_bytes)


@define
class UnpackOp(Retyping):
    """Bytes as a tile of another type (since bytecode 13.3)."""

    name = "cuda_tile.unpack"
    CHECKS: ClassVar = (elements((i8,), "source"), elements((*NUMERIC_TYPES, i4), "result"), _same_bytes)


@define
class PtrToIntOp(Retyping):
    """Pointers as addresses."""

    name = "cuda_tile.ptr_to_int"
    CHECKS: ClassVar = (same_shapes("source", "result"), pointers("source"), elements((i64,), "result"))


@define
class PtrToPtrOp(Retyping):
    """Pointers to another pointee type."""

    name = "cuda_tile.ptr_to_ptr"
    CHECKS: ClassVar = (same_shapes("source", "result"), pointers("source", "result"))


@define
class TruncIOp(Conversion):
    """Narrow integers."""

    name = "cuda_tile.trunci"
    overflow = prop_def(IntegerOverflowAttr)

    def _widths(self) -> None:
        if BITS[tile(self, "to").element_type] >= BITS[tile(self, "from_").element_type]:
            fail("truncating to larger or identical integer")

    CHECKS: ClassVar = (elements(WIDE_INTEGERS, "from_", "to"), _widths)
