"""Structure and control flow of cuda_tile: module, entry, loops, branches, reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, UnitAttr, i1
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsTerminator, Pure

from .element_types import BF16, F16, INTEGERS
from .op_base import TileOperation, define, elements, fail, scalars, tile_type
from .ops_module import EntryOp, block_types
from .types import TensorViewType, TileType
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


def _types(values: Iterable[SSAValue]) -> tuple[Attribute, ...]:
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
        inits = _types(self.init_values)
        if block_types(self.region) != (bound, *inits):
            fail(
                "the arguments of the body must be the induction variable and the carried values, "
                f"expected ({bound}, {', '.join(map(str, inits))})"
            )
        if _types(self.results) != inits:
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
        inits = _types(self.operands)
        if block_types(self.region) != inits:
            fail("the arguments of the body must have the types of the initial values")
        _reject_views(inits, "loop-carried value")
        _reject_views(_types(self.results), "result")

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
        expected = _types(self.results)
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
            if isinstance(last, YieldOp) and _types(last.operands) != expected:
                fail(
                    f"a branch yields ({', '.join(map(str, _types(last.operands)))}) but the results are "
                    f"({', '.join(map(str, expected))})"
                )

    CHECKS: ClassVar = (elements((i1,), "condition"), scalars("condition"), _branches, _ends_in_terminator)


def _combiner_arguments(op: Operation, region: Region) -> None:
    expected = [TileType((), tile_type(value, "operand").element_type) for value in op.operands for _ in range(2)]
    if list(block_types(region)) != expected:
        fail(
            "the arguments of the body must be a pair of scalars per operand, "
            f"expected ({', '.join(map(str, expected))})"
        )
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        fail("the body must end in a yield")
    if [tile_type(value, "yielded value").element_type for value in last.operands] != [
        type.element_type for type in expected[::2]
    ]:
        fail("the body must yield one value per operand, of its element type")
    for inner in region.block.ops:
        if inner is not last and not inner.has_trait(Pure):
            fail(f"only pure operations are allowed inside, got {inner.name}", inner)


HALVES = {BF16, F16}


def _identities(op: Aggregate) -> None:
    identities = op.identities.data
    if len(identities) != len(op.operands):
        fail(
            f"expect identities to match the number of operands but got: {len(op.operands)} operands "
            f"and {len(identities)} identities"
        )
    for identity, operand in zip(identities, op.operands):
        element_type, actual = tile_type(operand, "operand").element_type, getattr(identity, "type", None)
        if actual != element_type and {actual, element_type} != HALVES:
            fail(f"expect the identity {identity} to have type {element_type}")


class Aggregate(TileOperation):
    """Combine the elements of tiles along dimension ``dim`` with a body of pure scalar operations.

    The body's arguments are pairs (lhs, rhs), one pair per operand. ``identities`` are the neutral
    elements (IntegerAttr or FloatAttr), one per operand. ``op.operands`` and ``op.results`` are the tiles.
    """

    arguments = var_operand_def()
    dim = prop_def(IntegerAttr)
    identities = prop_def(ArrayAttr)
    results_ = var_result_def()
    body = region_def()

    def _tiles(self) -> None:
        if not self.operands:
            fail("expect at least 1 operand")
        if len(self.operands) != len(self.results):
            fail("expect same number of operands and results")
        shape = tile_type(self.operands[0], "operand").shape
        if any(tile_type(operand, "operand").shape != shape for operand in self.operands):
            fail("all operands must have the same shape")
        dim = self.dim.value.data
        if not 0 <= dim < len(shape):
            fail(f"dimension ({dim}) is out of bound [0, {len(shape)})")

    def _body(self) -> None:
        _combiner_arguments(self, self.body)

    CHECKS: ClassVar[tuple[Callable[[Self], None], ...]] = (_tiles, _identities, _body)


@define
class ReduceOp(Aggregate):
    """Reduce along a dimension, which is dropped."""

    name = "cuda_tile.reduce"

    def _results(self) -> None:
        dim = self.dim.value.data
        for operand, result in zip(self.operands, self.results):
            whole = tile_type(operand, "operand")
            expected = TileType(whole.shape[:dim] + whole.shape[dim + 1 :], whole.element_type)
            if result.type != expected:
                fail(f"expected a result of type {expected}, got {result.type}")

    CHECKS: ClassVar = (_results,)


@define
class ScanOp(Aggregate):
    """All inclusive prefix combinations along a dimension, from its end if ``reverse``."""

    name = "cuda_tile.scan"
    reverse = prop_def(IntegerAttr)

    def _results(self) -> None:
        if _types(self.operands) != _types(self.results):
            fail("the results must have the types of the operands")

    CHECKS: ClassVar = (_results,)


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
    actual = _types(op.operands)
    if actual != tuple(expected):
        fail(f"passes ({', '.join(map(str, actual))}) but {what} are ({', '.join(map(str, expected))})")


@define
class BreakOp(Terminator):
    """Leave the enclosing loop with its results."""

    name = "cuda_tile.break"

    def _loop(self) -> None:
        if (loop := _enclosing(self, (LoopOp,))) is not None:
            _passes(self, _types(loop.results), "the results of the loop")

    CHECKS: ClassVar = (_loop,)


@define
class ContinueOp(Terminator):
    """Start the next iteration of the enclosing loop with these carried values."""

    name = "cuda_tile.continue"

    def _loop(self) -> None:
        loop = _enclosing(self, (ForOp, LoopOp))
        if isinstance(loop, LoopOp):
            _passes(self, _types(loop.operands), "the carried values of the loop")
        elif loop is not None:
            _passes(self, _types(loop.results), "the carried values of the loop")

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


@define
class YieldOp(Terminator):
    """Yield the values of a branch or a combiner to the enclosing operation."""

    name = "cuda_tile.yield"
    traits = traits_def(Pure())

    def _parent(self) -> None:
        parent = self.parent_op()
        if parent is not None and not isinstance(parent, (IfOp, Aggregate)):
            fail(f"expects a parent if, reduce or scan, not {parent.name}")

    CHECKS: ClassVar = (_parent,)


TERMINATORS = (BreakOp, ContinueOp, ReturnOp, YieldOp)
