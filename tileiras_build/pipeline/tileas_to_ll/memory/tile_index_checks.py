"""Bounds checks of tile indices: a tile is out of bounds if its index is not that of a tile of the tensor.

Indices are unsigned: a negative one is far past the end. ``index_checks`` of the access selects the checks.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Block, SSAValue

from ....ir.casting import cast, int_array_attr
from ....ir.dialects.nvvm.target_independent_intrinsics import UMinOp
from ....ir.dialects.op_definition import TableOp
from ...analysis.integer_ranges import BoundsCheck
from ..emission.compile_time_memrefs import TiledView
from ..emission.function_builder import Value
from ..emission.instruction_builder import InstructionBuilder
from ..emission.kernel_emitter import KernelEmitter

BRANCHES = (llvm.BrOp, llvm.CondBrOp)


def computes_early(b: InstructionBuilder, *operands: Value) -> AbstractContextManager[None]:
    """Insert code that uses only these values before the loops in which they are invariant.

    That is the prologue, or the end of the block that defines the last of them, which dominates the current block.
    ptxas does not hoist it out of loops.
    """
    blocks = {_block(operand) for operand in operands if not isinstance(operand, int)} - {b.prologue}
    if not blocks:
        return b.at_function_start()
    [block, *others] = blocks
    return nullcontext() if others or not isinstance(block.last_op, BRANCHES) else b.at_end_of(block)


def _block(value: SSAValue) -> Block:
    return value.owner if isinstance(value.owner, Block) else cast(Block, value.owner.parent)


class TileBoundsChecks:
    """The indices of the tile that an operation accesses, as integers of ``type``."""

    def __init__(self, e: KernelEmitter, op: TableOp, view: TiledView, type: Attribute):
        self.e, self.view, self.type = e, view, type
        known = "index_checks" in op.attributes
        self.checks = int_array_attr(op, "index_checks") if known else (BoundsCheck.ANY,) * len(op.coords)

    def start(self, dim: int, index: Value) -> Value:
        """The first element of the tile along a dimension; for an out-of-bounds tile, that of the first tile past the
        end.
        """
        b, step = self.e.b, self.view.type.steps[dim]
        if self.checks[dim] != BoundsCheck.ANY:
            return b.mul(index, step, self.type)
        with computes_early(b, index, self._extent(dim)):
            return b.mul(self._is_at_most(index, self._count(dim)), step, self.type)

    def is_inside(self, dim: int, index: Value) -> Value | None:
        """Whether the tile is one of the tensor's along a dimension; None where it always is."""
        if self.checks[dim] == BoundsCheck.NONE:
            return None
        with computes_early(self.e.b, index, self._extent(dim)):
            return self.e.b.compare("ult", index, self._count(dim), self.type)

    def _is_at_most(self, index: Value, count: Value) -> Value:
        if isinstance(index, int) and isinstance(count, int):
            return min(index, count) if index >= 0 else count
        b = self.e.b
        return b.issue(UMinOp, b.of(index, self.type), b.of(count, self.type), type=self.type)

    def _extent(self, dim: int) -> Value:
        return self.view.memory.sizes[self.view.type.dim_map[dim]]

    def _count(self, dim: int) -> Value:
        """The number of tiles that begin in bounds."""
        b, step = self.e.b, self.view.type.steps[dim]
        size = self.view.memory.size(self.e.b, self.view.type.dim_map[dim], self.type)
        if isinstance(size, int):
            return -(-size // step)
        return size if step == 1 else b.binary("udiv", b.add(size, step - 1, self.type), step, self.type)
