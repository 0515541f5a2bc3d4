"""The slice of a kernel that one warp partition executes.

A slice has the same loops and branches as the kernel, with only the scalars that its own operations depend on, and a token for each
pipeline and each accumulator that it uses (``mma_pipelines.py``). It returns where the kernel returns.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import terminator
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileaa.ops import ReturnOp
from ....ir.dialects.nv_tileas.ops import (
    COUNTERPARTS,
    ProducerTailOp,
)
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import is_counted_loop, is_if, is_return
from ...analysis.scalar_slice import ScalarSlice
from ..op_insertion import Inserter, constant_i32, insertion_at_end
from .mma_pipelines import (
    MmaPipeline,
    PipelineResource,
    Tokens,
)

ForOp, IfOp, YieldOp, ContinueOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("for", "if", "yield", "continue"))


class PartitionSlice:
    """Clones the slice of a program that a partition of one thread, or of one warp, executes.

    A subclass defines the resources whose tokens it has (``states``), and the operations around loops and in place of
    loads and dots.
    """

    def __init__(self, mma_pipelines: list[MmaPipeline], slice: ScalarSlice):
        self.mma_pipelines, self.slice = mma_pipelines, slice
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self, body: Block) -> Block:
        block = Block()
        insert = insertion_at_end(block)
        tokens = {state: insert(constant_i32(0)) for state in self.states()}
        self._block(body, block, tokens)
        self._end(insert, tokens)
        block.add_op(YieldOp.make([[]], []))
        return block

    def states(self, loop: Operation | None = None) -> list[PipelineResource]:
        """The resources whose tokens the partition has, or those used inside ``loop`` or a branch."""
        raise NotImplementedError

    def stages_to_drain(self) -> list[PipelineResource]:
        """The stages that the partition waits for at its end: commits release them, and could otherwise arrive after
        the CTA's end.
        """
        return []

    def emit(self, op: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """Emit operations in place of one that is not cloned."""
        raise NotImplementedError

    def enter_loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """Before a loop."""

    def exit_loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """After a loop."""

    def _block(self, source: Block, target: Block, tokens: Tokens) -> None:
        insert = insertion_at_end(target)
        for op in source.ops:
            if is_counted_loop(op) and any(op in ring.loops for ring in self.mma_pipelines):
                self.enter_loop(op, insert, tokens)
                self._loop(op, insert, tokens)
                self.exit_loop(op, insert, tokens)
            elif is_return(op):
                self._end(insert, tokens)
                insert(ReturnOp.make([[]], []))
            elif is_if(op) and (self.states(op) or any(map(is_return, walk(op)))):
                self._if(op, insert, tokens)
            elif op in self.slice.needed:
                insert(self._clone(op))
            else:
                self.emit(op, insert, tokens)

    def _end(self, insert: Inserter, tokens: Tokens) -> None:
        """Emit the last operations of the partition, at its end or before a return."""
        for state in self.stages_to_drain():
            insert(ProducerTailOp.make([state.pipeline, tokens[state]], []))

    def value(self, value: SSAValue) -> SSAValue:
        """The partition's copy of a value of the program."""
        return self.values.get(value, value)

    def _clone(self, op: Operation) -> Operation:
        clone = type(op).create(
            operands=[self.value(operand) for operand in op.operands],
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        self.values.update(zip(op.results, clone.results))
        return clone

    def _if(self, choice: TableOp, insert: Inserter, tokens: Tokens) -> None:
        """A branch that contains operations of the partition, or a return."""
        states, arms = self.states(choice), [Block() for _ in choice.regions]
        for region, arm in zip(choice.regions, arms):
            left = dict(tokens)
            self._block(region.blocks[0], arm, left)
            if arm.last_op is None or not is_return(arm.last_op):
                arm.add_op(YieldOp.make([[left[state] for state in states]], []))
        regions = [Region(arm) for arm in arms]
        new_op = IfOp.make([self.value(choice.condition)], [i32] * len(states), dict(choice.attributes), regions)
        insert(new_op)
        tokens.update(zip(states, new_op.results))

    def _loop(self, loop: TableOp, insert: Inserter, tokens: Tokens) -> None:
        block = loop.regions[0].blocks[0]
        states = self.states(loop)
        kept = [arg.index - 1 for arg in block.args[1:] if arg in self.slice.arguments]
        types = [block.args[1 + index].type for index in kept] + [i32] * len(states)
        inner = Block(arg_types=[block.args[0].type, *types])
        self.values[block.args[0]] = inner.args[0]
        self.values.update((block.args[1 + index], arg) for index, arg in zip(kept, inner.args[1:]))
        carried = tokens | dict(zip(states, inner.args[1 + len(kept) :]))
        self._block(block, inner, carried)
        following = [self.value(terminator(block).operands[index]) for index in kept]
        inner.add_op(ContinueOp.make([[*following, *(carried[state] for state in states)]], []))
        initial = [self.value(loop.initial[index]) for index in kept] + [tokens[state] for state in states]
        bounds = [self.value(value) for value in (loop.lower, loop.upper, loop.step)]
        new_op = ForOp.make([*bounds, initial], types, dict(loop.attributes), [Region(inner)])
        insert(new_op)
        tokens.update(zip(states, new_op.results[len(kept) :]))
