"""Check the block scales that MMAs read in tensor memory, along a run of the partition that issues the MMAs.

A slot holds the scales of a group of iterations. They are loaded once, and MMA n of the group uses those of iteration n.
If tcgen05.cp copies them, the slot is a stage in shared memory that was waited for and is not released. If all threads
write them:

- The threads synchronize before an MMA reads them.
- The last MMA that read a slot is complete before the slot is overwritten: its operand stage was refilled, or the
  accumulator that was committed after it was waited for.
"""

from __future__ import annotations

from typing import NoReturn, Protocol

from xdsl.ir import SSAValue

from ...ir.casting import cast, unwrap
from ...ir.dialects.nv_tileas.types import PipelineType
from ...ir.dialects.op_definition import TableOp

ScaleSlot = tuple[SSAValue, int | None]  # a tile of scales in tensor memory, and the index of its slot


class Run(Protocol):
    """The part of ``PartitionInterpreter`` that is used: known integers, and the number of waited items of each
    pipeline.
    """

    known_integers: dict[SSAValue, int | None]
    waited: dict[SSAValue, int]

    def fail(self, message: str) -> NoReturn: ...


class TmemScaleFactors:
    """The number of MMAs that have used each slot, and the operand item of the last one."""

    def __init__(self, run: Run):
        self.run = run
        self.uses: dict[ScaleSlot, int] = {}
        self.readers: dict[ScaleSlot, tuple[SSAValue, int]] = {}
        self.unseen: set[ScaleSlot] = set()

    def copy(self, tile: SSAValue, stage: int | None) -> None:
        """Copy the scales by the thread that issues MMAs, in order before the MMAs."""
        self.uses[tile, stage] = 0

    def store(self, op: TableOp) -> None:
        """Write the scales by all threads."""
        slot = op.dest, self.run.known_integers.get(op.stage)
        if slot in self.readers:
            pipeline, item = self.readers[slot]
            if self.run.waited[pipeline] <= item + cast(PipelineType, pipeline.type).stages.data:
                self.run.fail(f"scales in slot {slot[1]} are overwritten while MMA {item} may read them")
        self.unseen.add(slot)
        self.uses[slot] = 0

    def finish(self, readers: dict[ScaleSlot, tuple[SSAValue, int]]) -> None:
        """Mark the MMAs complete that had read slots at a commit."""
        for slot, dot in readers.items():
            if self.readers.get(slot) == dot:
                del self.readers[slot]

    def barrier(self) -> None:
        """Synchronize all threads."""
        self.unseen.clear()

    def use(self, op: TableOp, item: int) -> int:
        """Read the scales of the MMA of an operand item; return the slot."""
        known = self.run.known_integers.get(op.rhs_stage if op.scale_iteration is None else op.scale_iteration)
        stage, own = divmod(unwrap(known), op.scale_steps)
        for tile in (op.lhs_scale, op.rhs_scale):
            if (tile, stage) in self.unseen:
                self.run.fail(f"MMA {item} reads scales in slot {stage} before all threads have written them")
            if self.uses.get((tile, stage)) != own:
                self.run.fail(f"MMA {item} reads scales of iteration {own} in slot {stage}, which are not there")
            self.uses[tile, stage] = own + 1
            self.readers[tile, stage] = op.pipeline, item
        return stage
