"""The scales that products read in tensor memory, along a run of the agent that issues these (``pipelines.py``).

A place holds those of a group of iterations. They are brought once, and product number n of the group uses those of turn n.
Where an agent has them copied there, their stage in shared memory is the same, waited for and not given back. Where all
threads write them,

- the threads meet before a product reads them;
- the last product that read a place is done before it is overwritten: the stage of its operands has been filled again, or the
  sum that was committed behind it, and waited for.
"""

from __future__ import annotations

from typing import NoReturn, Protocol

from xdsl.ir import SSAValue

from ...ir.casting import cast, unwrap
from ...ir.dialects.nv_tileas.types import PipelineType
from ...ir.dialects.op_definition import TableOp

ScaleSlot = tuple[SSAValue, int | None]  # a tile of scales in tensor memory, and which of its ring


class Run(Protocol):
    """What is asked of the run: the integers that are known, and how many items of each pipeline were waited for."""

    known_integers: dict[SSAValue, int | None]
    waited: dict[SSAValue, int]

    def fail(self, message: str) -> NoReturn: ...


class TmemScaleFactors:
    """How many products have used what is in each place, and the item of operands of the last one."""

    def __init__(self, run: Run):
        self.run = run
        self.uses: dict[ScaleSlot, int] = {}
        self.readers: dict[ScaleSlot, tuple[SSAValue, int]] = {}
        self.unseen: set[ScaleSlot] = set()

    def copy(self, tile: SSAValue, stage: int | None) -> None:
        """The thread that issues products copies them, in order before these."""
        self.uses[tile, stage] = 0

    def store(self, op: TableOp) -> None:
        """All threads write them."""
        place = op.dest, self.run.known_integers.get(op.stage)
        if place in self.readers:
            pipeline, item = self.readers[place]
            if self.run.waited[pipeline] <= item + cast(PipelineType, pipeline.type).stages.data:
                self.run.fail(f"scales in place {place[1]} are overwritten while product {item} may read them")
        self.unseen.add(place)
        self.uses[place] = 0

    def finish(self, readers: dict[ScaleSlot, tuple[SSAValue, int]]) -> None:
        """The products that had read places when something was committed are done."""
        for place, product in readers.items():
            if self.readers.get(place) == product:
                del self.readers[place]

    def barrier(self) -> None:
        """All threads have come to a barrier."""
        self.unseen.clear()

    def use(self, op: TableOp, item: int) -> int:
        """A product of an item of operands reads its scales; the place."""
        known = self.run.known_integers.get(op.rhs_stage if op.scale_iteration is None else op.scale_iteration)
        stage, own = divmod(unwrap(known), op.scale_steps)
        for tile in (op.lhs_scale, op.rhs_scale):
            if (tile, stage) in self.unseen:
                self.run.fail(f"product {item} reads scales in place {stage} before all threads have written them")
            if self.uses.get((tile, stage)) != own:
                self.run.fail(f"product {item} reads scales of turn {own} in place {stage}, which are not there")
            self.uses[tile, stage] = own + 1
            self.readers[tile, stage] = op.pipeline, item
        return stage
