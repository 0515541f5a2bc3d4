"""Operations of cuda_tile that create, select and rearrange tiles."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, Float4E2M1FNType, IntegerAttr, i1, i32
from xdsl.irdl import operand_def, prop_def, result_def, var_operand_def

from .address_overflow_checks import check_elements
from .attrs import ASSUMPTIONS, BoundedAttr, DenseConstantAttr, DivByAttr, SameElementsAttr
from .constant_min_max import constant_range
from .element_types import BITS, INTEGERS, NUMERIC_TYPES
from .op_base import (
    PureOperation,
    TileOperation,
    define,
    elements,
    fail,
    pointer_type,
    pointers,
    same_elements,
    same_ranks,
    same_shapes,
    same_types,
    tile,
    tiles,
)
from .types import TileType


@define
class AssumeOp(TileOperation):
    """value, with the assumption that ``predicate`` holds for it."""

    name = "cuda_tile.assume"
    value = operand_def()
    predicate = prop_def()
    result = result_def()

    def assumption(self) -> DivByAttr | SameElementsAttr | BoundedAttr:
        """The assumption."""
        if not isinstance(self.predicate, ASSUMPTIONS):
            fail(f"unexpected predicate {self.predicate}")
        return self.predicate

    def _predicate(self) -> None:
        self.assumption().verify_with(self.value.type)

    CHECKS: ClassVar = (same_types("value", "result"), _predicate)


@define
class BroadcastOp(PureOperation):
    """Repeat along the dimensions of size one."""

    name = "cuda_tile.broadcast"
    source = operand_def()
    result = result_def()

    def _shapes(self) -> None:
        source, result = tile(self, "source").shape, tile(self, "result").shape
        if any(before not in (1, after) for before, after in zip(source, result)):
            fail(
                "expects the shape of source tile to be compatible with that of the result tile, "
                f"but got: {source} and {result}"
            )

    CHECKS: ClassVar = (same_ranks("source", "result"), same_elements("source", "result"), _shapes)


@define
class CatOp(PureOperation):
    """lhs followed by rhs along dimension ``dim``."""

    name = "cuda_tile.cat"
    lhs = operand_def()
    rhs = operand_def()
    dim = prop_def(IntegerAttr)
    result = result_def()

    def _shapes(self) -> None:
        lhs, rhs, result = (list(tile(self, name).shape) for name in ("lhs", "rhs", "result"))
        dim = self.dim.value.data
        if not 0 <= dim < len(lhs):
            fail(f"expect dim to be [0, {len(lhs)}), but got: {dim}")
        if lhs[dim] + rhs[dim] != result[dim]:
            fail(f"invalid concat at position {dim}, expected: {lhs[dim] + rhs[dim]} but got: {result[dim]}")
        if not lhs[:dim] + lhs[dim + 1 :] == rhs[:dim] + rhs[dim + 1 :] == result[:dim] + result[dim + 1 :]:
            fail(f"expect lhs, rhs and result shapes to match at non-concat positions, got {lhs}, {rhs} and {result}")

    CHECKS: ClassVar = (same_ranks("lhs", "rhs", "result"), same_elements("lhs", "rhs", "result"), _shapes)


@define
class ConstantOp(PureOperation):
    """A constant tile; ``op.value.as_array()`` are its values (a splat is not expanded)."""

    name = "cuda_tile.constant"
    value = prop_def(DenseConstantAttr)
    result = result_def()

    def _type(self) -> None:
        if self.value.type != self.result.type:
            fail(f"'value' and 'result' must have the same type, got {self.value.type} and {self.result.type}")

    CHECKS: ClassVar = (_type, elements(NUMERIC_TYPES, "result"))


def _indices_match_source(op: ExtractOp | InsertOp, whole: TileType, part: TileType) -> None:
    if any(large % small for large, small in zip(whole.shape, part.shape)):
        fail(f"every dimension of {whole} must be evenly divisible by that of {part}")
    if len(op.indices) != whole.rank:
        fail(f"expected {whole.rank} indices, but got {len(op.indices)}")
    for index in op.indices:
        if index.type != TileType((), i32):
            fail(f"indices must be scalar tiles of i32, got {index.type}")


@define
class ExtractOp(PureOperation):
    """The slice at ``indices`` of source, which is partitioned into slices of the shape of the result."""

    name = "cuda_tile.extract"
    source = operand_def()
    indices = var_operand_def()
    result = result_def()

    def _shapes(self) -> None:
        _indices_match_source(self, tile(self, "source"), tile(self, "result"))

    CHECKS: ClassVar = (same_elements("source", "result"), same_ranks("source", "result"), _shapes)


@define
class InsertOp(PureOperation):
    """destination with its slice at ``indices`` replaced by source (since bytecode 13.4)."""

    name = "cuda_tile.insert"
    source = operand_def()
    destination = operand_def()
    indices = var_operand_def()
    result = result_def()

    def _shapes(self) -> None:
        _indices_match_source(self, tile(self, "destination"), tile(self, "source"))

    CHECKS: ClassVar = (
        tiles("source"),
        same_types("destination", "result"),
        same_elements("source", "result"),
        same_ranks("source", "result"),
        _shapes,
    )


@define
class IotaOp(PureOperation):
    """0, 1, 2, ... in a one-dimensional tile."""

    name = "cuda_tile.iota"
    result = result_def()

    def _range(self) -> None:
        result = tile(self, "result")
        if result.rank != 1:
            fail("expects result type to be 1-d tile")
        if result.num_elements > 1 << BITS[result.element_type]:
            fail(
                f"the number of elements {result.num_elements} exceeds the maximum value of element type "
                f"{result.element_type}"
            )

    CHECKS: ClassVar = (elements(INTEGERS, "result"), _range)


def _offset_fits(op: OffsetOp) -> None:
    pointee = pointer_type(op.ptr, "ptr").pointee_type
    for count in constant_range(op.offset) or ():
        check_elements("an offset", count, BITS[pointee], pointee)


@define
class OffsetOp(PureOperation):
    """ptr moved by offset elements."""

    name = "cuda_tile.offset"
    ptr = operand_def()
    offset = operand_def()
    result = result_def()
    CHECKS: ClassVar = (
        pointers("ptr"),
        elements(INTEGERS, "offset"),
        same_types("ptr", "result"),
        same_shapes("ptr", "offset"),
        _offset_fits,
    )


@define
class PermuteOp(PureOperation):
    """Dimension d of the result is dimension ``permutation[d]`` of source."""

    name = "cuda_tile.permute"
    source = operand_def()
    permutation = prop_def(DenseArrayBase)
    result = result_def()

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
class ReshapeOp(PureOperation):
    """The same elements, in row-major order, in another shape."""

    name = "cuda_tile.reshape"
    source = operand_def()
    result = result_def()

    def _count(self) -> None:
        if tile(self, "source").num_elements != tile(self, "result").num_elements:
            fail("expected source tile and result tile to have the same number of elements")

    CHECKS: ClassVar = (same_elements("source", "result"), _count)


@define
class SelectOp(PureOperation):
    """val_if_true where cond holds, else val_if_false."""

    name = "cuda_tile.select"
    cond = operand_def()
    val_if_true = operand_def()
    val_if_false = operand_def()
    result = result_def()

    def _not_f4(self) -> None:
        if isinstance(tile(self, "result").element_type, Float4E2M1FNType):
            fail("cannot operate on sub-byte type f4E2M1FN")

    CHECKS: ClassVar = (
        elements((i1,), "cond"),
        same_types("val_if_true", "val_if_false", "result"),
        same_shapes("cond", "result"),
        _not_f4,
    )
