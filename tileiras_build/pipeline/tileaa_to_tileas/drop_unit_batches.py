"""Multiply batches of one matrix as matrices.

In:    nv_tileas dots of rank 3 whose batch is one.
Out:   these dots at rank 2, and so the tiles that loops carry, or that are computed element by element, with their
       accumulators; views where such tiles come from other operations, or go to them.
After: convert_tileaa_to_tileas. Before: request_schedule, and all passes that choose instructions: many have dots of rank 2 alone.
Sound: a view keeps the elements in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, next_op, tile_shape, tile_type, unwrap
from ...ir.dialects.fast_xdsl import set_type
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_traits import LayoutTrait, is_region_end, is_structured_control_flow, traits_of
from ..analysis.op_queries import DOT, dots_in, tiles
from ..analysis.sharding_propagation import loop_carried_group, terminator_target
from ..job import Job
from ..mma.dots import dot_shape
from ..pass_manager import EdgePass
from .op_insertion import insert_before

SPLAT = "nv_tileas.splat"
ViewOp = COUNTERPARTS["nv_tileaa.view"]


class DropUnitBatches(EdgePass):
    """Dots of matrices in place of dots of batches of one."""

    name = "tileas-drop-unit-batches"

    def run(self, module: ModuleOp, job: Job) -> None:
        dots = [dot for dot in dots_in(module) if dot_shape(dot)[0] == 1]
        for batch in list(map(_Batch.of, _computed_with(dot.result for dot in dots))):
            batch.make_matrix()
        for operand in dict.fromkeys(
            operand for dot in dots for operand in dot.operands if len(tile_shape(operand)) == 3
        ):
            _pass_matrix(operand, [(use.operation, use.index) for use in operand.uses if use.operation in dots])


@dataclass
class _Batch:
    """A tile of a batch of one; ``users`` take a matrix in its place, by the index of their operand, and ``others`` do not."""

    value: SSAValue
    becomes_matrix: bool
    users: list[tuple[Operation, int]]
    others: list[tuple[Operation, int]]

    @classmethod
    def of(cls, value: SSAValue) -> _Batch:
        users: dict[bool, list[tuple[Operation, int]]] = {True: [], False: []}
        for use in value.uses:
            users[value in _alike(_region_owner(use.operation), value)].append((use.operation, use.index))
        return cls(value, value in _alike(_owner(value), value), users[True], users[False])

    def make_matrix(self) -> None:
        """Make the tile a matrix, and a view of it a batch; or the other way round."""
        value, type = self.value, self.value.type
        if self.becomes_matrix:
            set_type(value, _matrix_type(value))
            for user, index in self.others:
                user.operands[index] = insert_before(ViewOp.make([value], [type]), user)
        else:
            _pass_matrix(value, self.users)


def _matrix_type(value: SSAValue) -> TensorType:
    type = tile_type(value)
    return TensorType(type.element_type, type.get_shape()[1:])


def _pass_matrix(batch: SSAValue, users: Iterable[tuple[Operation, int]]) -> None:
    """Give users the matrix of a batch, by the index of their operand."""
    made = batch.owner
    if isinstance(made, ViewOp) and made.source.type == _matrix_type(batch):
        matrix = made.source
    else:
        place = unwrap(made.first_op) if isinstance(made, Block) else next_op(made)
        matrix = insert_before(ViewOp.make([batch], [_matrix_type(batch)]), place)
    for user, index in users:
        user.operands[index] = matrix
    if isinstance(made, ViewOp) and not list(batch.uses):
        made.detach()
        made.erase()


def _computed_with(results: Iterable[SSAValue]) -> dict[SSAValue, None]:
    """The tiles that are matrices if ``results`` are, in the order in which they are found."""
    found: dict[SSAValue, None] = {}
    waiting = list(results)
    while waiting:
        if (value := waiting.pop()) not in found:
            found[value] = None
            for op in (_owner(value), *(_region_owner(use.operation) for use in value.uses)):
                waiting += _alike(op, value)
    return found


def _alike(op: Operation, value: SSAValue) -> list[SSAValue]:
    """The tiles of an operation that have the shape of ``value``, one of them, whatever this is; none if it needs a batch."""
    if is_structured_control_flow(op):
        return [other for group in loop_carried_group(op) if value in group for other in group]
    if op.name == DOT:
        accumulators = [as_op(op).acc, as_op(op).result]
        return accumulators if value in accumulators else []
    every = tiles((*op.operands, *op.results))
    is_elementwise = op.name == SPLAT or traits_of(op).layouts is LayoutTrait.ELEMENTWISE
    return every if is_elementwise and len({tile_shape(other) for other in every}) == 1 else []


def _owner(value: SSAValue) -> Operation:
    """The operation that defines a tile, or whose region has it as an argument."""
    return unwrap(value.owner.parent_op()) if isinstance(value.owner, Block) else value.owner


def _region_owner(op: Operation) -> Operation:
    return terminator_target(op) if is_region_end(op) else op
