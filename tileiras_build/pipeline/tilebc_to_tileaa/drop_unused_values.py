"""Drop what loops and branches pass on and nothing needs.

In:    nv_tileaa operations. Loops that carry a value which only its own next value needs, as the accumulator of a dot whose
       result is not stored; loops and ifs with results that are not used.
Out:   the same loops and ifs without these values, and no operation that computed them alone.
After: cse. Before: all passes that match loops or count what they carry.
Sound: a value is needed if an operation with effects, a bound or a condition uses it, or an operation that a needed value comes from; so is
       a loop's result where the value in its place is that the loop carries.
       Only pure operations are erased; a loop stays, also if it has no results any more, as it may have no end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, Pure

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import erase, insert_before, walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    is_break,
    is_counted_loop,
    is_function,
    is_if,
    is_loop,
    is_loop_exit,
    is_structured_control_flow,
    is_yield,
)
from ..common.cse import is_pure
from ..common.rebuilt_loops import control_operands, rebuilt
from ..job import Job
from ..pass_manager import EdgePass


class DropUnusedValues(EdgePass):
    """Loops and ifs that pass on what is needed."""

    name = "tileaa-drop-unused-values"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.opt_level == 0:
            return
        for kernel in [op for op in walk(module) if is_function(op)]:
            _Needed(kernel).drop_others()


class _Needed:
    """The values of a kernel that something with effects needs, and the ends of its regions."""

    def __init__(self, kernel: Operation):
        self.operations = [op for op in walk(kernel) if op is not kernel]
        self.structures = [as_op(op) for op in self.operations if is_structured_control_flow(op)]
        self.ends: dict[Operation, list[Operation]] = defaultdict(list)
        for op in self.operations:
            if (owner := _ended_by(op)) is not None:
                self.ends[owner].append(op)
        self.values: set[SSAValue] = set()
        self._follow([value for op in self.operations for value in self._always_needed(op)])

    def _always_needed(self, op: Operation) -> Iterable[SSAValue]:
        if is_structured_control_flow(op):
            return control_operands(as_op(op))
        return () if _may_be_erased(op) or _ended_by(op) is not None else op.operands

    def _follow(self, found: list[SSAValue]) -> None:
        while found:
            value = found.pop()
            if value not in self.values:
                self.values.add(value)
                found += self._sources(value)

    def _sources(self, value: SSAValue) -> Iterable[SSAValue]:
        """What a needed value comes from."""
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            place = value.index - 1 if loop is not None and is_counted_loop(loop) else value.index
            return self._carried(as_op(loop), place) if loop is not None and is_loop(loop) and place >= 0 else ()
        assert isinstance(value, OpResult)
        if not is_structured_control_flow(value.op):
            return [operand for op in walk(value.op) for operand in op.operands]
        if is_loop(value.op):
            return self._carried(as_op(value.op), value.index)
        return [end.operands[value.index] for end in self.ends[value.op]]

    def _carried(self, loop: TableOp, place: int) -> list[SSAValue]:
        """A carried value, the loop's result in its place, and what both come from: passes take results for what a loop carries."""
        groups = (_carried_arguments(loop), loop.results, loop.initial, *(end.operands for end in self.ends[loop]))
        return [value for group in groups for value in group[place : place + 1]]

    # ---- rewriting -------------------------------------------------------------------------------------------------------
    def drop_others(self) -> None:
        """Erase what is not needed."""
        kept = {op: (self._kept_values(op), self._kept_results(op)) for op in self.structures}
        for structure, (values, results) in kept.items():
            for end in self.ends[structure]:
                places = values if is_loop(structure) and not is_break(end) else results
                end.operands = [end.operands[place] for place in places]
        for op in reversed(self.operations):
            if op in kept:
                _rebuild(as_op(op), *kept[as_op(op)])
            elif _may_be_erased(op) and self.values.isdisjoint(op.results):
                erase(op)

    def _kept_values(self, op: TableOp) -> list[int]:
        return [place for place, value in enumerate(_carried_arguments(op)) if value in self.values]

    def _kept_results(self, op: TableOp) -> list[int]:
        return [place for place, value in enumerate(op.results) if value in self.values]


def _may_be_erased(op: Operation) -> bool:
    """Whether an operation that nothing needs has no effects: also a reduction, whose region computes."""
    return is_pure(op) or (bool(op.regions) and op.has_trait(Pure) and not op.has_trait(IsTerminator))


def _ended_by(op: Operation) -> TableOp | None:
    """The loop or if whose region, iteration or run an operation ends; None for other operations."""
    around = op.parent_op()
    if is_loop_exit(op):
        while around is not None and not is_loop(around):
            around = around.parent_op()
        return as_op(around)
    return as_op(around) if is_yield(op) and around is not None and is_if(around) else None


def _carried_arguments(op: TableOp) -> list[BlockArgument]:
    return list(op.regions[0].blocks[0].args[is_counted_loop(op) :]) if is_loop(op) else []


def _rebuild(op: TableOp, values: list[int], results: list[int]) -> None:
    """The same loop or if with some of its values and results."""
    arguments = _carried_arguments(op)
    if len(values) == len(arguments) and len(results) == len(op.results):
        return
    for place in sorted({*range(len(arguments))} - {*values}, reverse=True):
        arguments[place].block.erase_arg(arguments[place])
    operands: list[SSAValue | list[SSAValue]] = [*control_operands(op)]
    operands += [[op.initial[place] for place in values]] if is_loop(op) else []
    insert_before(rebuilt(op, operands, results), op)
    erase(op)
