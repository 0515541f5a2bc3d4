"""The pipeline of block scales to tensor memory: steps of the first and the last iteration of a group.

A group of iterations has one stage, in shared memory and in tensor memory. One warp for each operand fills the stage in
shared memory. The thread that issues MMAs copies it to its tensor memory columns before the group's first MMA. A commit
after the group's last MMA releases both, so neither is overwritten while an MMA reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue

from ....ir.dialects import arith
from ....ir.dialects.nv_tileas.ops import AdvanceOp, ConsumerWaitOp, CopyScalesOp
from ....ir.dialects.op_definition import TableOp
from ..op_insertion import (
    Inserter,
    build_if,
    constant_i1,
    insertion_at_end,
    is_first_of_group,
    loop_continues_at,
)
from .mma_pipelines import MmaPipeline, ScaleStageBuffers, stage_of


@dataclass(frozen=True)
class ScaleStage:
    """One iteration of the MMA partition of ``ring``, in ``loop`` at ``index``; ``token``: that of its scales."""

    mma_pipeline: MmaPipeline
    loop: TableOp
    index: SSAValue
    token: SSAValue

    @property
    def steps(self) -> int:
        return self.mma_pipeline.dot.scale_steps

    def acquire(self, insert: Inserter) -> SSAValue:
        """Wait until the scales of the group are in tensor memory; return the iteration's index in the ring of groups."""
        first = is_first_of_group(self.index, self.steps, insert) if self.steps > 1 else None
        emit_if(first, insert, self._copy)
        stage = stage_of(insert, self.mma_pipeline.scales.pipeline, self.token)
        if self.steps == 1:
            return stage
        own = insert.binary("and", self.index, self.steps - 1)
        return insert.binary("add", insert.binary("mul", stage, self.steps), own)

    def _copy(self, insert: Inserter) -> None:
        scales = self.mma_pipeline.scales
        insert(ConsumerWaitOp.make([scales.pipeline, self.token], []))
        stage = stage_of(insert, scales.pipeline, self.token)
        for buffer, tile in zip(scales.buffers, scales.tiles):
            insert(CopyScalesOp.make([buffer, tile, stage], []))

    def release(self, insert: Inserter, value: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """After the MMA: the last one of a group releases its stage. Return the token of the next iteration.

        ``value``: the partition's copy of a value of the program.
        """
        last, scales = self._is_last(insert, value), self.mma_pipeline.scales
        release = self.mma_pipeline.tmem_ops.release.make([scales.pipeline, self.token], [])
        emit_if(last, insert, lambda inside: inside(release))
        return advance_if(scales, self.token, last, insert)

    def _is_last(self, insert: Inserter, value: Callable[[SSAValue], SSAValue]) -> SSAValue | None:
        if self.steps == 1:
            return None
        following = insert.binary("add", self.index, value(self.loop.step))
        continues = loop_continues_at(self.loop, following)
        continues.operands = [following, value(self.loop.upper)]
        begins = is_first_of_group(following, self.steps, insert)
        return insert(arith.SelectOp.make([insert(continues), begins, insert(constant_i1(True))], [begins.type]))


def emit_if(condition: SSAValue | None, insert: Inserter, emit: Callable[[Inserter], object]) -> None:
    """Insert the operations of ``emit`` under a condition, if there is one."""
    if condition is None:
        emit(insert)
        return
    block = Block()
    emit(insertion_at_end(block))
    insert(build_if(condition, block))


def advance_if(scales: ScaleStageBuffers, token: SSAValue, condition: SSAValue | None, insert: Inserter) -> SSAValue:
    """The token of the next stage where the partition advances to it, else the same token."""
    following = insert(AdvanceOp.make([scales.pipeline, token], [i32]))
    return following if condition is None else insert(arith.SelectOp.make([condition, following, token], [i32]))
