"""Control flow of ``cuda_tile``: loops, branches and terminators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsTerminator, Pure

from .element_types import INTEGERS
from .op_base import TileOperation, define, elements, fail, scalars
from .ops_module import EntryOp, block_types
from .types import TensorViewType
from .view_types import TileView


def _reject_views(types: Sequence[Attribute], what: str) -> None:
    for index, type in enumerate(types):
        if isinstance(type, (TensorViewType, TileView)):
            fail(f"{what} {index} is a view, which is not supported")


def _ends_in_terminator(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            if block.last_op is None or not isinstance(block.last_op, TERMINATORS):
                fail("a block must end in a terminator")


def types_of(values: Iterable[SSAValue]) -> tuple[Attribute, ...]:
    return tuple(value.type for value in values)


@define
class ForOp(TileOperation):
    """A counted loop over [lower_bound, upper_bound) by step, carrying values."""

    name = "cuda_tile.for"
    lower_bound = operand_def()
    upper_bound = operand_def()
    step = operand_def()
    init_values = var_operand_def()
    unsigned_cmp = opt_prop_def(UnitAttr, prop_name="unsignedCmp")
    result_values = var_result_def()
    region = region_def()

    def _loop(self) -> None:
        bound = self.lower_bound.type
        if self.upper_bound.type != bound or self.step.type != bound:
            fail("the bounds and the step must have the same type")
        inits = types_of(self.init_values)
        if block_types(self.region) != (bound, *inits):
            fail(
                "the arguments of the body must be the induction variable and the carried values, "
                f"expected ({bound}, {', '.join(map(str, inits))})"
            )
        if types_of(self.results) != inits:
            fail("the results must have the types of the initial values")
        _reject_views(inits, "loop-carried value")

    CHECKS: ClassVar = (elements(INTEGERS, "lower_bound"), scalars("lower_bound"), _loop, _ends_in_terminator)


@define
class LoopOp(TileOperation):
    """A loop until a break, carrying values; its results are the operands of the break."""

    name = "cuda_tile.loop"
    init_values = var_operand_def()
    result_values = var_result_def()
    region = region_def()

    def _loop(self) -> None:
        inits = types_of(self.operands)
        if block_types(self.region) != inits:
            fail("the arguments of the body must have the types of the initial values")
        _reject_views(inits, "loop-carried value")
        _reject_views(types_of(self.results), "result")

    CHECKS: ClassVar = (_loop, _ends_in_terminator)


@define
class IfOp(TileOperation):
    """Run one of two regions; ``op.results`` are its yielded values."""

    name = "cuda_tile.if"
    condition = operand_def()
    results_ = var_result_def()
    then_region = region_def()
    else_region = region_def()

    def _branches(self) -> None:
        expected = types_of(self.results)
        _reject_views(expected, "result")
        if not self.then_region.blocks:
            fail("must define then branch")
        if expected and not self.else_region.blocks:
            fail("has non-empty return type, must define else branch")
        for region in self.regions:
            if not region.blocks:
                continue
            if block_types(region):
                fail("branches have no arguments")
            last = region.block.last_op
            if isinstance(last, YieldOp) and types_of(last.operands) != expected:
                fail(
                    f"a branch yields ({', '.join(map(str, types_of(last.operands)))}) but the results are "
                    f"({', '.join(map(str, expected))})"
                )

    CHECKS: ClassVar = (elements((i1,), "condition"), scalars("condition"), _branches, _ends_in_terminator)


class Terminator(TileOperation):
    """Ends a block; the values it passes are ``op.operands``."""

    arguments = var_operand_def()
    traits = traits_def(IsTerminator())


def _enclosing(op: Operation, targets: tuple[type[Operation], ...]) -> Operation | None:
    """The nearest ancestor of one of the classes, through branches only."""
    parent = op.parent_op()
    while isinstance(parent, IfOp):
        parent = parent.parent_op()
    if parent is None:
        return None
    if not isinstance(parent, targets):
        wanted: tuple[type[Operation], ...] = (*targets, IfOp)
        listed = ", ".join(target.name for target in wanted)
        fail(f"can only be nested within {listed}, not {parent.name}")
    return parent


def _passes(op: Operation, expected: Sequence[Attribute], what: str) -> None:
    actual = types_of(op.operands)
    if actual != tuple(expected):
        fail(f"passes ({', '.join(map(str, actual))}) but {what} are ({', '.join(map(str, expected))})")


@define
class BreakOp(Terminator):
    """Leave the enclosing loop with its results."""

    name = "cuda_tile.break"

    def _loop(self) -> None:
        if (loop := _enclosing(self, (LoopOp,))) is not None:
            _passes(self, types_of(loop.results), "the results of the loop")

    CHECKS: ClassVar = (_loop,)


@define
class ContinueOp(Terminator):
    """Start the next iteration of the enclosing loop with these carried values."""

    name = "cuda_tile.continue"

    def _loop(self) -> None:
        loop = _enclosing(self, (ForOp, LoopOp))
        if isinstance(loop, LoopOp):
            _passes(self, types_of(loop.operands), "the carried values of the loop")
        elif loop is not None:
            _passes(self, types_of(loop.results), "the carried values of the loop")

    CHECKS: ClassVar = (_loop,)


@define
class ReturnOp(Terminator):
    """Leave the kernel."""

    name = "cuda_tile.return"

    def _entry(self) -> None:
        parent = self.parent_op()
        if parent is not None and not isinstance(parent, (EntryOp, IfOp, LoopOp)):
            fail(f"expects a parent entry, if or loop, not {parent.name}")
        if self.operands:
            fail(f"has {len(self.operands)} operands, but entry function must return 0 operands")

    CHECKS: ClassVar = (_entry,)


_YIELD_PARENTS = ("cuda_tile.if", "cuda_tile.reduce", "cuda_tile.scan")


@define
class YieldOp(Terminator):
    """Yield the values of a branch or a combiner to the enclosing operation."""

    name = "cuda_tile.yield"
    traits = traits_def(Pure())

    def _parent(self) -> None:
        parent = self.parent_op()
        if parent is not None and parent.name not in _YIELD_PARENTS:
            fail(f"expects a parent if, reduce or scan, not {parent.name}")

    CHECKS: ClassVar = (_parent,)


TERMINATORS = (BreakOp, ContinueOp, ReturnOp, YieldOp)
