"""Queries about values and operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import LayoutTrait, is_return, traits_of

DOT, REDUCE = "nv_tileas.dot", "nv_tileas.reduce"
TILED_LOAD, POINTER_LOAD = "nv_tileas.tiled_load", "nv_tileas.load"
LOADS = (TILED_LOAD, POINTER_LOAD)
ASYNC_COPIES = ("nv_tileas.async_tiled_load", "nv_tileas.async_load")  # by threads, with cp.async
DIVISIONS = frozenset(f"arith.{name}" for name in "divui divsi remui remsi ceildivui ceildivsi floordivsi".split())
# Operations whose tiles repeat a scalar, as far as they come from one.
REPEATS = frozenset(
    f"{dialect}.{name}" for dialect in ("nv_tileaa", "nv_tileas") for name in ("splat", "broadcast", "view")
)
ASSERTIONS = frozenset(("nv_tileaa.assert", "nv_tileas.assert"))
SHIFTS = frozenset(f"arith.{name}" for name in ("shli", "shrui", "shrsi"))
ELEMENTWISE, FREE, SHAPE, POINTER = (
    LayoutTrait.ELEMENTWISE,
    LayoutTrait.FREE,
    LayoutTrait.SHAPE_DERIVED,
    LayoutTrait.POINTER,
)


def element_kind(op: Operation) -> LayoutTrait:
    """How layouts propagate through an operation."""
    return traits_of(op).layouts


def is_tile(value: SSAValue) -> bool:
    # The class of tiles has no subclasses: isinstance would call ABCMeta for each value of another class.
    return value.type.__class__ is TensorType


def is_own(buffer: SSAValue) -> bool:
    """Whether each warp reads of a buffer only what it has copied to it itself."""
    return isinstance(buffer.owner, Operation) and "own" in buffer.owner.attributes


def has_dots(func: Operation) -> bool:
    """Whether a scheduled kernel has dots: most questions about warps and TMA are then asked."""
    return DOT in [op.name for op in walk(func)]  # twice as fast as a generator


def operands_of(top: Operation) -> list[SSAValue]:
    """The operands of an operation, and of those inside it."""
    return [operand for op in walk(top) for operand in op.operands]


def dots_in(top: Operation) -> list[TableOp]:
    """The dots of a scheduled kernel, loop or partition, in program order."""
    return [as_op(op) for op in walk(top) if op.name == DOT]


def operations_behind(
    values: Iterable[SSAValue], block: Block | None, operands: Callable[[Operation], Iterable[SSAValue]] = operands_of
) -> set[Operation]:
    """The operations of a block that compute values. ``operands``: what an operation is computed from."""
    found: set[Operation] = set()
    waiting = list(values)
    while waiting:
        op = waiting.pop().owner
        if isinstance(op, Operation) and op.parent is block and op not in found:
            found.add(op)
            waiting += operands(op)
    return found


def is_outside(value: SSAValue, block: Block) -> bool:
    """Whether a value is defined outside a block."""
    owner = value.owner
    return owner is not block and (isinstance(owner, Block) or owner.parent is not block)


def is_pure(op: Operation) -> bool:
    """Whether an operation has no side effects."""
    return any(isinstance(trait, Pure) for trait in op.traits.traits)


def may_divide_by_zero(op: Operation) -> bool:
    """Whether an operation divides integers by a divisor that may be 0, or -1: undefined behavior in LLVM.

    If it were executed after the program has ended, LLVM could conclude that the program does not end there.
    """
    if op.name not in DIVISIONS:
        return False
    divisor = op.operands[1].owner
    while isinstance(divisor, Operation) and divisor.name in REPEATS:
        divisor = divisor.operands[0].owner
    if not isinstance(divisor, Operation) or divisor.name != "arith.constant":
        return True
    value = divisor.properties["value"]
    return not isinstance(value, IntegerAttr) or value.value.data in (0, -1)


def may_end(op: Operation) -> bool:
    """Whether a program may end inside an operation: at a return, or at an assertion."""
    return any(is_return(inner) or inner.name in ASSERTIONS for inner in walk(op))


def tiles(values: Iterable[SSAValue]) -> list[SSAValue]:
    return [value for value in values if is_tile(value)]
