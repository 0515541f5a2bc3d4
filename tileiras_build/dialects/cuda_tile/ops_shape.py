"""Operations of cuda_tile that make, convert and rearrange tiles."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatTF32Type,
    IntegerAttr,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from tileiras_build.dialects.cuda_tile.attrs import ASSUMPTIONS, DenseConstantAttr
from tileiras_build.dialects.cuda_tile.base import (
    TileOperation,
    define,
    elements,
    fail,
    one_of,
    pointers,
    same_elements,
    same_ranks,
    same_shapes,
    same_types,
    tile,
    tiles,
)
from tileiras_build.dialects.cuda_tile.enums import (
    IntegerOverflowAttr,
    RoundingMode,
    RoundingModeAttr,
    SignednessAttr,
)
from tileiras_build.dialects.cuda_tile.extents import check_elements, known_range
from tileiras_build.dialects.cuda_tile.types import BITS, FLOATS, INTEGERS, NUMBERS, FloatNV8E5M3FNUType, TileType, i4

WIDE_INTEGERS = (*INTEGERS, i4)
CONVERSION = (same_shapes("from_", "to"),)
RETYPING = (same_shapes("source", "result"),)


@define
class AssumeOp(TileOperation):
    """value, with the promise that ``predicate`` holds for it."""

    name = "cuda_tile.assume"
    value = operand_def()
    predicate = prop_def()
    result = result_def()

    def _predicate(self) -> None:
        if not isinstance(self.predicate, ASSUMPTIONS):
            fail(f"unexpected predicate {self.predicate}")
        self.predicate.verify_with(self.value.type)

    CHECKS: ClassVar = (same_types("value", "result"), _predicate)


@define
class BitcastOp(TileOperation):
    """The same bits as another element type of the same width."""

    name = "cuda_tile.bitcast"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def _widths(self) -> None:
        before, after = tile(self, "source").element_type, tile(self, "result").element_type
        if BITS[before] != BITS[after]:
            fail(f"types must be equal width, cannot convert {self.source.type} of width {BITS[before]} "
                 f"to type {self.result.type} of width {BITS[after]}")

    CHECKS: ClassVar = (*RETYPING, elements(NUMBERS, "source", "result"), _widths)


@define
class BroadcastOp(TileOperation):
    """Repeat along the dimensions of size one."""

    name = "cuda_tile.broadcast"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def _shapes(self) -> None:
        source, result = tile(self, "source").shape, tile(self, "result").shape
        if any(before not in (1, after) for before, after in zip(source, result)):
            fail("expects the shape of source tile to be compatible with that of the result tile, "
                 f"but got: {source} and {result}")

    CHECKS: ClassVar = (same_ranks("source", "result"), same_elements("source", "result"), _shapes)


@define
class CatOp(TileOperation):
    """lhs followed by rhs along dimension ``dim``."""

    name = "cuda_tile.cat"
    lhs = operand_def()
    rhs = operand_def()
    dim = prop_def(IntegerAttr)
    result = result_def()
    traits = traits_def(Pure())

    def _shapes(self) -> None:
        lhs, rhs, result = (list(tile(self, name).shape) for name in ("lhs", "rhs", "result"))
        dim = self.dim.value.data
        if not 0 <= dim < len(lhs):
            fail(f"expect dim to be [0, {len(lhs)}), but got: {dim}")
        if lhs[dim] + rhs[dim] != result[dim]:
            fail(f"invalid concat at position {dim}, expected: {lhs[dim] + rhs[dim]} but got: {result[dim]}")
        if not lhs[:dim] + lhs[dim + 1:] == rhs[:dim] + rhs[dim + 1:] == result[:dim] + result[dim + 1:]:
            fail(f"expect lhs, rhs and result shapes to match at non-concat positions, "
                 f"got {lhs}, {rhs} and {result}")

    CHECKS: ClassVar = (same_ranks("lhs", "rhs", "result"), same_elements("lhs", "rhs", "result"), _shapes)


@define
class ConstantOp(TileOperation):
    """A constant tile; ``op.value.as_array()`` are its values (a splat is not expanded)."""

    name = "cuda_tile.constant"
    value = prop_def(DenseConstantAttr)
    result = result_def()
    traits = traits_def(Pure())

    def _type(self) -> None:
        if self.value.type != self.result.type:
            fail(f"'value' and 'result' must have the same type, got {self.value.type} and {self.result.type}")

    CHECKS: ClassVar = (_type, elements(NUMBERS, "result"))


@define
class ExtIOp(TileOperation):
    """Widen integers."""

    name = "cuda_tile.exti"
    from_ = operand_def()
    signedness = prop_def(SignednessAttr)
    to = result_def()
    traits = traits_def(Pure())

    def _widths(self) -> None:
        if BITS[tile(self, "to").element_type] <= BITS[tile(self, "from_").element_type]:
            fail("extending to smaller or identical integer")

    CHECKS: ClassVar = (*CONVERSION, elements(WIDE_INTEGERS, "from_", "to"), _widths)


def _indices_match_source(op: Operation, whole: TileType, part: TileType) -> None:
    if any(large % small for large, small in zip(whole.shape, part.shape)):
        fail(f"every dimension of {whole} must be evenly divisible by that of {part}")
    if len(op.indices) != whole.rank:
        fail(f"expected {whole.rank} indices, but got {len(op.indices)}")
    for index in op.indices:
        if index.type != TileType((), i32):
            fail(f"indices must be scalar tiles of i32, got {index.type}")


@define
class ExtractOp(TileOperation):
    """The slice number ``indices`` of source, which is cut into slices of the shape of the result."""

    name = "cuda_tile.extract"
    source = operand_def()
    indices = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def _shapes(self) -> None:
        _indices_match_source(self, tile(self, "source"), tile(self, "result"))

    CHECKS: ClassVar = (same_elements("source", "result"), same_ranks("source", "result"), _shapes)


@define
class InsertOp(TileOperation):
    """destination with its slice number ``indices`` replaced by source (since bytecode 13.4)."""

    name = "cuda_tile.insert"
    source = operand_def()
    destination = operand_def()
    indices = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def _shapes(self) -> None:
        _indices_match_source(self, tile(self, "destination"), tile(self, "source"))

    CHECKS: ClassVar = (
        tiles("source"),
        same_types("destination", "result"),
        same_elements("source", "result"),
        same_ranks("source", "result"),
        _shapes,
    )


F64, F32, F16, BF16, TF32 = Float64Type(), Float32Type(), Float16Type(), BFloat16Type(), FloatTF32Type()
F8E4M3, F8E5M2, F8E8M0, F4E2M1 = Float8E4M3FNType(), Float8E5M2Type(), Float8E8M0FNUType(), Float4E2M1FNType()
FNV8 = FloatNV8E5M3FNUType()

EVEN, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.ZERO
DOWN, UP, AWAY = RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF, RoundingMode.NEAREST_AWAY

# Element type -> those that hold all its values: the rounding mode is then without effect.
WIDER = {
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
PAIR_ROUNDING = {(F64, F32): (EVEN, ZERO, DOWN, UP), (F32, TF32): (EVEN, ZERO, AWAY)}
TARGET_ROUNDING = {F8E8M0: (ZERO, UP), F8E4M3: (EVEN,), F8E5M2: (EVEN,), F4E2M1: (EVEN,), FNV8: (EVEN,)}
WIDENING_ROUNDING = (EVEN, ZERO, DOWN, UP, AWAY)
NARROWING_ROUNDING = (EVEN, ZERO)


def float_rounding(before: Attribute, after: Attribute) -> tuple[RoundingMode, ...]:
    """The rounding modes with which one float type may be converted to another."""
    if (modes := PAIR_ROUNDING.get((before, after)) or TARGET_ROUNDING.get(after)) is not None:
        return modes
    return WIDENING_ROUNDING if after in WIDER.get(before, ()) else NARROWING_ROUNDING


@define
class FToFOp(TileOperation):
    """Convert floats to another float type."""

    name = "cuda_tile.ftof"
    from_ = operand_def()
    rounding_mode = prop_def(RoundingModeAttr)
    to = result_def()
    traits = traits_def(Pure())

    def _rounding(self) -> None:
        before, after = tile(self, "from_").element_type, tile(self, "to").element_type
        if before == after:
            fail("converting tiles must not be a no-op")
        modes = float_rounding(before, after)
        if self.rounding_mode.data not in modes:
            listed = ", ".join(mode.value for mode in modes)
            fail(f"the rounding mode of a conversion from {before} to {after} must be one of {listed}, "
                 f"got {self.rounding_mode.data.value}")

    CHECKS: ClassVar = (*CONVERSION, elements(FLOATS, "from_", "to"), _rounding)


@define
class FToIOp(TileOperation):
    """Convert floats to integers, toward zero; ``saturating`` clamps (since bytecode 13.4)."""

    name = "cuda_tile.ftoi"
    from_ = operand_def()
    signedness = prop_def(SignednessAttr)
    rounding_mode = prop_def(RoundingModeAttr)
    saturating = opt_prop_def(UnitAttr)
    to = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (
        *CONVERSION,
        elements(FLOATS, "from_"),
        elements(INTEGERS, "to"),
        one_of("rounding_mode", RoundingMode.NEAREST_INT_TO_ZERO),
    )


@define
class IToFOp(TileOperation):
    """Convert integers to floats, to the nearest."""

    name = "cuda_tile.itof"
    from_ = operand_def()
    signedness = prop_def(SignednessAttr)
    rounding_mode = prop_def(RoundingModeAttr)
    to = result_def()
    traits = traits_def(Pure())

    def _not_scale(self) -> None:
        if isinstance(tile(self, "to").element_type, Float8E8M0FNUType):
            fail("integer to f8E8M0FNU conversion is not supported, please first convert to another float type")

    CHECKS: ClassVar = (
        *CONVERSION,
        elements(INTEGERS, "from_"),
        elements(FLOATS, "to"),
        one_of("rounding_mode", RoundingMode.NEAREST_EVEN),
        _not_scale,
    )


@define
class IntToPtrOp(TileOperation):
    """Addresses as pointers."""

    name = "cuda_tile.int_to_ptr"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (*RETYPING, elements((i64,), "source"), pointers("result"))


@define
class IotaOp(TileOperation):
    """0, 1, 2, ... in a one-dimensional tile."""

    name = "cuda_tile.iota"
    result = result_def()
    traits = traits_def(Pure())

    def _range(self) -> None:
        result = tile(self, "result")
        if result.rank != 1:
            fail("expects result type to be 1-d tile")
        if result.num_elements > 1 << BITS[result.element_type]:
            fail(f"the number of elements {result.num_elements} exceeds the maximum value of element type "
                 f"{result.element_type}")

    CHECKS: ClassVar = (elements(INTEGERS, "result"), _range)


def _offset_fits(op: Operation) -> None:
    pointee = op.ptr.type.element_type.pointee_type
    for count in known_range(op.offset) or ():
        check_elements("an offset", count, BITS[pointee], pointee)


@define
class OffsetOp(TileOperation):
    """ptr moved by offset elements."""

    name = "cuda_tile.offset"
    ptr = operand_def()
    offset = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (
        pointers("ptr"),
        elements(INTEGERS, "offset"),
        same_types("ptr", "result"),
        same_shapes("ptr", "offset"),
        _offset_fits,
    )


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
        fail("expects source and result to have the same size in bytes, but got "
             f"{_tile_bits(source)} and {_tile_bits(result)} bits")


@define
class PackOp(TileOperation):
    """A tile as its bytes (since bytecode 13.3)."""

    name = "cuda_tile.pack"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements((*NUMBERS, i4), "source"), elements((i8,), "result"), _same_bytes)


@define
class UnpackOp(TileOperation):
    """Bytes as a tile of another type (since bytecode 13.3)."""

    name = "cuda_tile.unpack"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (elements((i8,), "source"), elements((*NUMBERS, i4), "result"), _same_bytes)


@define
class PermuteOp(TileOperation):
    """Dimension d of the result is dimension ``permutation[d]`` of source."""

    name = "cuda_tile.permute"
    source = operand_def()
    permutation = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())

    def _shapes(self) -> None:
        source, result = tile(self, "source"), tile(self, "result")
        order = self.permutation.get_values()
        if source.rank < 2:
            fail(f"expects at least rank 2, but got: {source.rank}")
        if sorted(order) != list(range(source.rank)):
            fail(f"expect a permutation of the {source.rank} dimensions, got {list(order)}")
        if tuple(source.shape[dim] for dim in order) != result.shape:
            fail(f"permutation {list(order)} of {source} does not give {result}")

    CHECKS: ClassVar = (same_elements("source", "result"), same_ranks("source", "result"), _shapes)


@define
class PtrToIntOp(TileOperation):
    """Pointers as addresses."""

    name = "cuda_tile.ptr_to_int"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (*RETYPING, pointers("source"), elements((i64,), "result"))


@define
class PtrToPtrOp(TileOperation):
    """Pointers to another pointee type."""

    name = "cuda_tile.ptr_to_ptr"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())
    CHECKS: ClassVar = (*RETYPING, pointers("source", "result"))


@define
class ReshapeOp(TileOperation):
    """The same elements, in row-major order, in another shape."""

    name = "cuda_tile.reshape"
    source = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def _count(self) -> None:
        if tile(self, "source").num_elements != tile(self, "result").num_elements:
            fail("expected source tile and result tile to have the same number of elements")

    CHECKS: ClassVar = (same_elements("source", "result"), _count)


@define
class SelectOp(TileOperation):
    """val_if_true where cond holds, else val_if_false."""

    name = "cuda_tile.select"
    cond = operand_def()
    val_if_true = operand_def()
    val_if_false = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def _not_f4(self) -> None:
        if isinstance(tile(self, "result").element_type, Float4E2M1FNType):
            fail("cannot operate on sub-byte type f4E2M1FN")

    CHECKS: ClassVar = (
        elements((i1,), "cond"),
        same_types("val_if_true", "val_if_false", "result"),
        same_shapes("cond", "result"),
        _not_f4,
    )


@define
class TruncIOp(TileOperation):
    """Narrow integers."""

    name = "cuda_tile.trunci"
    from_ = operand_def()
    overflow = prop_def(IntegerOverflowAttr)
    to = result_def()
    traits = traits_def(Pure())

    def _widths(self) -> None:
        if BITS[tile(self, "to").element_type] >= BITS[tile(self, "from_").element_type]:
            fail("truncating to larger or identical integer")

    CHECKS: ClassVar = (*CONVERSION, elements(WIDE_INTEGERS, "from_", "to"), _widths)


SHAPE_OPS = (
    AssumeOp,
    BitcastOp,
    BroadcastOp,
    CatOp,
    ConstantOp,
    ExtIOp,
    ExtractOp,
    InsertOp,
    FToFOp,
    FToIOp,
    IToFOp,
    IntToPtrOp,
    IotaOp,
    OffsetOp,
    PackOp,
    UnpackOp,
    PermuteOp,
    PtrToIntOp,
    PtrToPtrOp,
    ReshapeOp,
    SelectOp,
    TruncIOp,
)
