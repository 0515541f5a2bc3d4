"""Agents of a warp each that bring the scales of products to shared memory, in the order of tensor memory."""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ....ir.casting import owner
from ....ir.dialects import arith
from ....ir.dialects.nv_tileas.ops import AdvanceOp, ProducerCommitOp, StoreScalesOp, UmmaAcquireOp
from ....ir.dialects.op_definition import TableOperation
from ...analysis.scale_factor_groups import groups_loaded
from ...analysis.view_chains import ScalarSlice
from ..rewriter import Insert, binary, constant_i32, is_first_of, runs_at
from ..software_pipelining.cp_async_loads import is_outside
from ..speculation_guards import speculated
from .pipeline_buffers import Ring, State, Tokens, scales_of, stage_of
from .producer_partitions import AgentSlice
from .scale_pipeline import if_holds, next_token

SIDES = (0, 1)  # the operands of a product: each has a warp for its scales


class CopyingAgent(AgentSlice):
    """Brings the scales of one operand of each product, those of one or two groups at a time."""

    def __init__(self, rings: list[Ring], slice: ScalarSlice, side: int):
        super().__init__(rings, slice)
        self.side = side

    def states(self, loop: Operation | None = None) -> list[State]:
        return scales_of(self.rings, loop)

    def awaited(self) -> list[State]:
        """Both operands' scales are given back together."""
        return self.states() if self.side == SIDES[0] else []

    def act(self, op: TableOperation, insert: Insert, tokens: Tokens) -> None:
        scaled = (ring for ring in self.rings if ring.copies)
        if (ring := next((ring for ring in scaled if op is ring.copies[self.side].load), None)) is None:
            return
        scales, steps, token = ring.scales, ring.product.scale_steps, tokens[ring.scales]
        index = self.value(ring.loops[-1].regions[0].blocks[0].args[0])
        begins = is_first_of(index, steps * groups_loaded(steps), insert)
        if_holds(begins, insert, lambda inside: self._copy_groups(ring, index, token, inside))
        moves = is_first_of(index, steps, insert) if steps > 1 else None
        tokens[scales] = next_token(scales, token, moves, insert)

    def _copy_groups(self, ring: Ring, index: SSAValue, token: SSAValue, insert: Insert) -> None:
        """All are on their way before a stage is waited for; those behind the loop's end are outside the tensor, or not used."""
        starts, steps = [index], ring.product.scale_steps
        while len(starts) < groups_loaded(steps):
            starts.append(insert(binary(arith.AddiOp, starts[-1], insert(constant_i32(steps)))))
        tiles = [self._load(ring, start, insert) for start in starts]
        self._fill(ring, tiles[0], token, insert)
        for start, tile in zip(starts[1:], tiles[1:]):
            token = insert(AdvanceOp.make([ring.scales.pipeline, token], [i32]))
            runs = runs_at(ring.loops[-1], start)
            runs.operands = [start, self.value(ring.loops[-1].upper)]
            if_holds(insert(runs), insert, partial(self._fill, ring, tile, token))

    def _load(self, ring: Ring, index: SSAValue, insert: Insert) -> SSAValue:
        copy, block = ring.copies[self.side], ring.loops[-1].regions[0].blocks[0]
        known: dict[SSAValue, SSAValue] = {block.args[0]: index}

        def at(value: SSAValue) -> SSAValue:
            """``value`` computed for this index."""
            if value not in known and is_outside(value, block):
                return self.value(value)
            if value not in known:
                known[value] = speculated(owner(value), [at(operand) for operand in owner(value).operands], insert)
            return known[value]

        return copy.loaded([at(coord) for coord in copy.load.coords], insert)

    def _fill(self, ring: Ring, tile: SSAValue, token: SSAValue, insert: Insert) -> None:
        scales = ring.scales
        insert(UmmaAcquireOp.make([scales.pipeline, token], []))
        stage = stage_of(insert, scales.pipeline, token)
        insert(StoreScalesOp.make([tile, scales.buffers[self.side], stage], []))
        insert(ProducerCommitOp.make([scales.pipeline, token], []))
