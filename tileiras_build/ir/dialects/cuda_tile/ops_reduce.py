"""Reductions and scans of tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Operation, Region
from xdsl.irdl import prop_def, region_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from .element_types import BF16, F16
from .op_base import TileOperation, define, fail, tile_type
from .ops_control import YieldOp, types_of
from .ops_module import block_types
from .types import TileType


def _combiner_arguments(op: Operation, region: Region) -> None:
    expected = [TileType((), tile_type(value, "operand").element_type) for value in op.operands for _ in range(2)]
    if list(block_types(region)) != expected:
        fail(
            "the arguments of the body must be a pair of scalars per operand, "
            f"expected ({', '.join(map(str, expected))})"
        )
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        fail("the body must end in a yield")
    if [tile_type(value, "yielded value").element_type for value in last.operands] != [
        type.element_type for type in expected[::2]
    ]:
        fail("the body must yield one value per operand, of its element type")
    for inner in region.block.ops:
        if inner is not last and not inner.has_trait(Pure):
            fail(f"only pure operations are allowed inside, got {inner.name}", inner)


HALVES = {BF16, F16}


def _identities(op: Aggregate) -> None:
    identities = op.identities.data
    if len(identities) != len(op.operands):
        fail(
            f"expect identities to match the number of operands but got: {len(op.operands)} operands "
            f"and {len(identities)} identities"
        )
    for identity, operand in zip(identities, op.operands):
        element_type, actual = tile_type(operand, "operand").element_type, getattr(identity, "type", None)
        if actual != element_type and {actual, element_type} != HALVES:
            fail(f"expect the identity {identity} to have type {element_type}")


class Aggregate(TileOperation):
    """Combine the elements of tiles along dimension ``dim`` with a body of pure scalar operations.

    The body's arguments are pairs (lhs, rhs), one pair per operand. ``identities`` are the neutral
    elements (IntegerAttr or FloatAttr), one per operand. ``op.operands`` and ``op.results`` are the tiles.
    """

    arguments = var_operand_def()
    dim = prop_def(IntegerAttr)
    identities = prop_def(ArrayAttr)
    results_ = var_result_def()
    body = region_def()

    def _tiles(self) -> None:
        if not self.operands:
            fail("expect at least 1 operand")
        if len(self.operands) != len(self.results):
            fail("expect same number of operands and results")
        shape = tile_type(self.operands[0], "operand").shape
        if any(tile_type(operand, "operand").shape != shape for operand in self.operands):
            fail("all operands must have the same shape")
        dim = self.dim.value.data
        if not 0 <= dim < len(shape):
            fail(f"dimension ({dim}) is out of bound [0, {len(shape)})")

    def _body(self) -> None:
        _combiner_arguments(self, self.body)

    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (_tiles, _identities, _body)


@define
class ReduceOp(Aggregate):
    """Reduce along a dimension, which is dropped."""

    name = "cuda_tile.reduce"

    def _results(self) -> None:
        dim = self.dim.value.data
        for operand, result in zip(self.operands, self.results):
            whole = tile_type(operand, "operand")
            expected = TileType(whole.shape[:dim] + whole.shape[dim + 1 :], whole.element_type)
            if result.type != expected:
                fail(f"expected a result of type {expected}, got {result.type}")

    CHECKS: ClassVar = (_results,)


@define
class ScanOp(Aggregate):
    """All inclusive prefix combinations along a dimension, from its end if ``reverse``."""

    name = "cuda_tile.scan"
    reverse = prop_def(IntegerAttr)

    def _results(self) -> None:
        if types_of(self.operands) != types_of(self.results):
            fail("the results must have the types of the operands")

    CHECKS: ClassVar = (_results,)
