"""Agents of a warp each that bring the scales of products to shared memory, in the order of tensor memory."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...dialects.definition import TableOperation
from ...dialects.nv_tileas.ops import ProducerCommitOp, StoreScalesOp, UmmaAcquireOp
from ..analysis.operand_chains import ScalarSlice
from .agent_rings import Ring, State, Tokens, scales_of, stage_of
from .agent_slices import AgentSlice
from .inserted import Insert, is_first_of
from .scale_turns import if_holds, next_token

SIDES = (0, 1)  # the operands of a product: each has a warp for its scales


class CopyingAgent(AgentSlice):
    """Brings the scales of one operand of each product."""

    def __init__(self, rings: list[Ring], slice: ScalarSlice, side: int):
        super().__init__(rings, slice)
        self.side = side

    def states(self, loop: Operation | None = None) -> list[State]:
        return scales_of(self.rings, loop)

    def act(self, op: TableOperation, insert: Insert, tokens: Tokens) -> None:
        scaled = (ring for ring in self.rings if ring.copies)
        if (ring := next((ring for ring in scaled if op is ring.copies[self.side].load), None)) is None:
            return
        scales, steps = ring.scales, ring.product.scale_steps
        token, index = tokens[scales], self.value(ring.loops[-1].regions[0].blocks[0].args[0])
        first = is_first_of(index, steps, insert) if steps > 1 else None
        if_holds(first, insert, lambda inside: self._copy(ring, token, inside))
        tokens[scales] = next_token(scales, token, first, insert)

    def _copy(self, ring: Ring, token: SSAValue, insert: Insert) -> None:
        """The registers are on their way before the stage is waited for."""
        scales, copy = ring.scales, ring.copies[self.side]
        tile = copy.loaded([self.value(coord) for coord in copy.load.coords], insert)
        insert(UmmaAcquireOp.make([scales.pipeline, token], []))
        stage = stage_of(insert, scales.pipeline, token)
        line_dim = copy.columns.line_dim
        insert(StoreScalesOp.make([tile, scales.buffers[self.side], stage], [], line_dim=line_dim))
        insert(ProducerCommitOp.make([scales.pipeline, token], []))
