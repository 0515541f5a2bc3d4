"""The slice of a kernel that a warp or a thread of its own executes: the producer, the MMA issuer, a scale loader.

A slice has the control flow of the kernel around its own operations: the same loops and branches, with only the scalars that
decide where they go and what those operations read, and a token for each pipeline that it uses (``pipelines.py``).
It leaves loops, and returns, where the kernel does, and waits for other grids where the kernel does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....ir.casting import as_op
from ....ir.dialects.fast_xdsl import walk
from ....ir.dialects.nv_tileaa.ops import ReturnOp
from ....ir.dialects.nv_tileas.ops import COUNTERPARTS
from ....ir.dialects.op_definition import TableOp
from ....ir.dialects.op_traits import (
    is_break,
    is_counted_loop,
    is_if,
    is_loop_exit,
    is_return,
    is_structured_control_flow,
    is_yield,
)
from ...analysis.enclosing_control_flow import is_grid_wait
from ...analysis.scalar_slice import TOKEN, ScalarSlice
from ..op_insertion import Inserter, insertion_at_end, is_not_first_iteration
from .pipelines import Mainloop, Pipeline, PipelineState

CreateTokenOp, YieldOp = (COUNTERPARTS[f"nv_tileaa.{name}"] for name in ("create_mem_token", "yield"))


@dataclass(frozen=True)
class _Frame:
    """A loop or a branch of the slice: the values that it carries, the results that it has, the pipelines whose tokens follow."""

    carried: list[int]
    results: list[int]
    pipelines: list[Pipeline]


class PartitionSlice:
    """Clones the slice of a program that a partition of one thread, or of one warp, executes.

    A role defines the pipelines whose tokens it has, and the operations around loops and in place of loads and dots.
    """

    def __init__(self, mainloops: list[Mainloop], slice: ScalarSlice):
        self.mainloops, self.slice = mainloops, slice
        self.values: dict[SSAValue, SSAValue] = {}
        self.loops: list[_Frame] = []
        self.branches: list[_Frame] = []

    def run(self, body: Block) -> Block:
        block = Block()
        insert = insertion_at_end(block)
        state = PipelineState(insert, {pipeline: insert.constant(0) for pipeline in self.pipelines()})
        self._block(body, state)
        self._end(state)
        block.add_op(YieldOp.make([[]], []))
        return block

    def pipelines(self, place: Operation | None = None) -> list[Pipeline]:
        """The pipelines whose tokens the role has, or those used inside ``place``, a loop or a branch."""
        raise NotImplementedError

    def pipelines_to_drain(self) -> list[Pipeline]:
        """The pipelines whose stages the role waits for at its end: commits or other CTAs release them, and could
        otherwise arrive after the CTA's end.
        """
        return []

    def emit(self, op: TableOp, state: PipelineState) -> None:
        """Emit operations in place of one that is not cloned."""
        raise NotImplementedError

    def enter_loop(self, loop: TableOp, state: PipelineState) -> None:
        """Before a loop."""

    def exit(self, op: TableOp, state: PipelineState) -> None:
        """After a loop or a branch."""

    def value(self, value: SSAValue) -> SSAValue:
        """The role's copy of a value of the program."""
        return self.values.get(value, value)

    def is_later_iteration(self, loop: TableOp, state: PipelineState) -> SSAValue:
        """Whether an iteration of a loop is not its first."""
        later = is_not_first_iteration(loop, loop.regions[0].blocks[0].args[0])
        later.operands = [self.value(operand) for operand in later.operands]
        return state.insert(later)

    def _block(self, source: Block, state: PipelineState) -> None:
        for op in source.ops:
            if is_structured_control_flow(op) and self._has(op):
                self._structure(op, state)
            elif is_return(op):
                self._end(state)
                state.insert(ReturnOp.make([[]], []))
            elif is_loop_exit(op) or (is_yield(op) and self.branches):
                self._leave(op, state)
            elif op in self.slice.needed or is_grid_wait(op):
                self._clone(op, state.insert)
            else:
                self.emit(op, state)

    def _has(self, op: Operation) -> bool:
        """Whether a loop or a branch is part of the slice."""
        return bool(self.pipelines(op)) or any(result in self.slice.values for result in op.results) or self._acts(op)

    def _acts(self, op: Operation) -> bool:
        """Whether a loop or a branch contains an operation of the slice, or leaves another one that is part of it."""
        kept = (inner for inner in walk(op) if inner is not op)
        return any(
            inner in self.slice.needed or is_grid_wait(inner) or is_return(inner) or self._leaves(inner, op)
            for inner in kept
        )

    def _leaves(self, exit: Operation, op: Operation) -> bool:
        return is_loop_exit(exit) and is_if(op) and op in self.slice.control

    def _end(self, state: PipelineState) -> None:
        """Emit the last operations of the role, at its end or before a return."""
        for pipeline in self.pipelines_to_drain():
            state.tail(pipeline)

    def _clone(self, op: Operation, insert: Inserter) -> None:
        clone = type(op).create(
            operands=[self._operand(operand, insert) for operand in op.operands],
            result_types=[result.type for result in op.results],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        insert(clone)
        self.values.update(zip(op.results, clone.results))

    def _operand(self, value: SSAValue, insert: Inserter) -> SSAValue:
        """No token of the program orders what a slice loads."""
        return insert(CreateTokenOp.make([], [value.type])) if value.type.name == TOKEN else self.value(value)

    # ---- loops and branches --------------------------------------------------------------------------------
    def _structure(self, op: TableOp, state: PipelineState) -> None:
        if is_if(op):
            self._if(op, state)
        else:
            self.enter_loop(op, state)
            self._loop(op, state)
        self.exit(op, state)

    def _leave(self, op: Operation, state: PipelineState) -> None:
        """The end of an arm, of an iteration or of a loop, with the values of the slice."""
        frame = self.branches[-1] if is_yield(op) else self.loops[-1]
        indices = frame.carried if is_loop_exit(op) and not is_break(op) else frame.results
        values = [self.value(op.operands[index]) for index in indices]
        state.insert(as_op(op).make([[*values, *(state.tokens[pipeline] for pipeline in frame.pipelines)]], []))

    def _if(self, choice: TableOp, state: PipelineState) -> None:
        """A branch that contains operations of the role, chooses scalars, or leaves a loop or the kernel."""
        frame = _Frame([], self._needed(choice.results), self.pipelines(choice))
        arms = [Block() for _ in choice.regions]
        self.branches.append(frame)
        for region, arm in zip(choice.regions, arms):
            self._block(region.blocks[0], state.inside(insertion_at_end(arm)))
        self.branches.pop()
        self._replace(choice, frame, [self.value(choice.condition)], arms, state)

    def _loop(self, loop: TableOp, state: PipelineState) -> None:
        block, counted = loop.regions[0].blocks[0], is_counted_loop(loop)
        kept = self._needed(block.args[counted:])
        frame = _Frame(kept, kept if counted else self._needed(loop.results), self.pipelines(loop))
        arguments = [*block.args[:counted], *(block.args[counted + index] for index in kept)]
        inner = Block(arg_types=[*(argument.type for argument in arguments), *[i32] * len(frame.pipelines)])
        self.values.update(zip(arguments, inner.args))
        self.loops.append(frame)
        carried = zip(frame.pipelines, inner.args[len(arguments) :])
        self._block(block, state.inside(insertion_at_end(inner), carried))
        self.loops.pop()
        bounds = [self.value(value) for value in (loop.lower, loop.upper, loop.step)] if counted else []
        initial = [self.value(loop.initial[index]) for index in kept]
        initial += [state.tokens[pipeline] for pipeline in frame.pipelines]
        self._replace(loop, frame, [*bounds, initial], [inner], state)

    def _needed(self, values: Sequence[SSAValue]) -> list[int]:
        return [index for index, value in enumerate(values) if value in self.slice.values]

    def _replace(
        self,
        op: TableOp,
        frame: _Frame,
        operands: list[SSAValue | list[SSAValue]],
        blocks: list[Block],
        state: PipelineState,
    ) -> None:
        """Insert the loop or branch of the slice in place of ``op``."""
        types = [*(op.results[index].type for index in frame.results), *[i32] * len(frame.pipelines)]
        new_op = type(op).make(operands, types, dict(op.attributes), list(map(Region, blocks)))
        state.insert(new_op)
        self.values.update((op.results[index], result) for index, result in zip(frame.results, new_op.results))
        state.tokens.update(zip(frame.pipelines, new_op.results[len(frame.results) :]))
