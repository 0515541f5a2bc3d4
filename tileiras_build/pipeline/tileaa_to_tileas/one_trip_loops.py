"""Loops of one trip around dots that stand in no counted loop, so that they get the pipelines of those that do.

Outside loops, in a branch, in a loop that only a break ends: each such dot, with the loads of its operands, is the body of a
loop of its own, whose accumulator is loop-carried.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region

from ...ir.casting import as_op, parent_block
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..analysis.dot_operand_chains import dot_operand_load
from ..analysis.op_queries import TILED_LOAD
from .op_insertion import insert_before, insertion_before

ForOp, ContinueOp, CreateTokenOp = (
    COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "continue", "create_mem_token")
)
ACCUMULATOR = 2  # operand of a dot


@dataclass(frozen=True)
class OneTripLoop:
    """A loop around a dot; ``moved``: the operations in it, each with the one that it stood before."""

    loop: TableOp
    dot: TableOp
    moved: list[tuple[Operation, Operation | None]]

    @classmethod
    def around(cls, dot: TableOp) -> OneTripLoop:
        """Move a dot and its loads to a loop of one trip."""
        inner, acc = Block(arg_types=[i32, dot.acc.type]), dot.acc
        bounds = [insertion_before(dot).constant(number) for number in (0, 1, 1)]
        loop = ForOp.make([*bounds, [acc]], [acc.type], {}, [Region(inner)])
        insert_before(loop, dot)
        dot.result.replace_all_uses_with(loop.results[0])
        moved = [(op, op.next_op) for op in _with_operands(dot)]
        for op, _ in moved:
            op.detach()
            inner.add_op(op)
        dot.operands[ACCUMULATOR] = inner.args[1]
        inner.add_op(ContinueOp.make([[dot.result]], []))
        return cls(loop, dot, moved)

    def keep(self) -> None:
        """Tokens after a load, which is complete when the dot is, become those before it."""
        for load in (as_op(op) for op, _ in self.moved if op.name == TILED_LOAD):
            if load.result_token is not None and list(load.result_token.uses):
                token = load.token or insert_before(CreateTokenOp.make([], [load.result_token.type]), self.loop)
                load.result_token.replace_all_uses_with(token)

    def undo(self) -> None:
        """Move the operations back to where they were."""
        block = parent_block(self.loop)
        for op, following in reversed(self.moved):
            op.detach()
            block.insert_op_before(op, following or self.loop)
        self.dot.operands[ACCUMULATOR] = self.loop.initial[0]
        self.loop.results[0].replace_all_uses_with(self.dot.result)
        bounds = [value.owner for value in (self.loop.lower, self.loop.upper, self.loop.step)]
        for op in (self.loop, *bounds):
            op.detach()
            op.erase()


def _with_operands(dot: TableOp) -> list[Operation]:
    """A dot, the loads of its operands, and the operations between, in program order."""
    found = [load_and_chain for index in (0, 1) if (load_and_chain := dot_operand_load(dot, index)) is not None]
    ops = {op for load, chain in found for op in (load, *chain)} | {dot}
    return [op for op in parent_block(dot).ops if op in ops]
