"""Traits of the operations of tile programs, which passes query: columns of an operation's row, by ``traits_of``.

    ViewOp = define("nv_tileaa.view", …, op_traits=OpTraits(LayoutTrait.SHAPE, forwarding=ValueForwarding.VIEW_LIKE | ValueForwarding.PRESERVES_ZERO))

An operation without traits is an error: no default is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import TYPE_CHECKING, Generic, TypeGuard, TypeVar

from xdsl.ir import Operation

from ...core.errors import InternalError

if TYPE_CHECKING:
    from .op_definition import TableOp

Kind = TypeVar("Kind", bound=Operation)


class LayoutTrait(Enum):
    """How the register layouts of an operation's tiles are related."""

    NONE = "no tiles"
    ELEMENTWISE = "one layout for all tiles"
    FREE = "any layout, at no cost"
    SHAPE_DERIVED = "the result's follows from the operand's by its dimensions"
    POINTER = "one layout for all tiles, chosen by how memory is accessed"
    CUSTOM = "a rule of its own"


class MemoryEffect(Flag):
    """The side effects of an operation that order it with others."""

    NONE = 0
    READ = auto()  # of global memory, ordered by tokens
    WRITE = auto()
    COPY = auto()  # of global memory, asynchronous: in the order of its pipeline or group
    FENCE = auto()  # orders accesses by its token
    BARRIER = auto()  # barrier of all threads
    OUTPUT = auto()  # visible to the user
    GRID = auto()  # waits for another grid, or lets one begin


class ValueForwarding(Flag):
    """The relation of an operation's result to its first operand."""

    NONE = 0
    VIEW_LIKE = auto()  # the same elements under other coordinates
    LAYOUT_CAST = auto()  # the same tile in another layout
    ROUNDING = auto()  # the same values in another format
    EXTENSION = auto()  # the same value, perhaps wider
    PRESERVES_ZERO = auto()  # zeros where the operand is


class MmaRole(Flag):
    """What an operation does of a matrix multiply-accumulate."""

    NONE = 0
    MULTIPLY = auto()  # its attribute ``mma`` names the instruction
    ISSUE = auto()  # the instruction reads stages in shared memory, and completes later
    RELEASE = auto()  # a stage is released when what was issued so far is complete
    COMMIT = auto()  # others learn when it is complete
    WAIT = auto()  # wait until at most so many are in flight
    ACQUIRE = auto()  # wait until the accumulator may be overwritten


class RegionKind(Enum):
    """The control flow of an operation with regions, or of a terminator."""

    FUNCTION = "a kernel or function"
    RETURN = "the end of it"
    FOR = "a loop whose first argument counts"
    LOOP = "a loop until break"
    IF = "one of two regions"
    AGENT_SWITCH = "concurrent regions, each run by its own warps"
    COMBINER = "how two elements become one"
    YIELD = "the end of a region with its values"
    CONTINUE = "the end of an iteration"
    BREAK = "the end of a loop"


@dataclass(frozen=True)
class OpTraits:
    """The traits of one operation; ``cheap``: computing it again costs less than moving its result elsewhere."""

    layouts: LayoutTrait
    effect: MemoryEffect = MemoryEffect.NONE
    forwarding: ValueForwarding = ValueForwarding.NONE
    region_kind: RegionKind | None = None
    rematerializable: bool = False
    mma: MmaRole = MmaRole.NONE


# Traits of many rows.
NO_TILES = OpTraits(LayoutTrait.NONE)
ELEMENTWISE = OpTraits(LayoutTrait.ELEMENTWISE)
CHEAP = OpTraits(LayoutTrait.ELEMENTWISE, rematerializable=True)
CUSTOM_LAYOUT = OpTraits(LayoutTrait.CUSTOM)
ENTRY = OpTraits(LayoutTrait.NONE, region_kind=RegionKind.FUNCTION)
RETURN = OpTraits(LayoutTrait.NONE, region_kind=RegionKind.RETURN)


def region_traits(structure: RegionKind) -> OpTraits:
    """The traits of control flow, which forwards tiles."""
    return OpTraits(LayoutTrait.CUSTOM, region_kind=structure)


_MATH = "absf absi atan2 ceil cos cosh exp floor log log2 powf fpowi sin sinh tan tanh"
# By operation name: other dialects' here, those of rows when they are defined.
OP_TRAITS: dict[str, OpTraits] = {
    **{f"math.{name}": ELEMENTWISE for name in _MATH.split()},
    "arith.constant": OpTraits(LayoutTrait.FREE, rematerializable=True),
    "builtin.module": NO_TILES,
    "builtin.unrealized_conversion_cast": NO_TILES,
    "func.func": ENTRY,
    "func.return": RETURN,
    "gpu.func": ENTRY,
    "gpu.module": NO_TILES,
    "llvm.return": RETURN,
}


def traits_of(op: Operation) -> OpTraits:
    """The traits of an operation; raises InternalError where it has none."""
    return traits_of_name(op.name)


def traits_of_name(name: str) -> OpTraits:
    """The traits of the operation of a name; raises InternalError where it has none."""
    try:
        return OP_TRAITS[name]
    except KeyError:
        raise InternalError("operation-traits", f"{name} has no traits") from None


def register_traits(traits: Mapping[str, OpTraits]) -> None:
    """Add the traits of rows; raises InternalError where an operation has other traits already."""
    for name, known in traits.items():
        if OP_TRAITS.setdefault(name, known) != known:
            raise InternalError("operation-traits", f"{name} has two rows with different traits")


# ---- queries -------------------------------------------------------------------------------------
class _TraitPredicates(Generic[Kind]):
    """Queries that hold for operations of one class only."""

    def make(self, predicate: Callable[[OpTraits], bool]) -> Callable[[Operation], TypeGuard[Kind]]:
        """One query. Passes ask it for every operation of a walk: the answer is cached by name."""
        known: dict[str, bool] = {}

        def query(op: Operation) -> TypeGuard[Kind]:
            try:
                return known[op.name]
            except KeyError:
                return known.setdefault(op.name, predicate(traits_of(op)))

        return query


_of_all: _TraitPredicates[Operation] = _TraitPredicates()
# False for the operations of other dialects above.
_of_rows: _TraitPredicates[TableOp] = _TraitPredicates()

LOOP_KINDS = frozenset({RegionKind.FOR, RegionKind.LOOP})
STRUCTURED_KINDS = LOOP_KINDS | {RegionKind.IF}
LOOP_EXIT_KINDS = frozenset({RegionKind.CONTINUE, RegionKind.BREAK})
REGION_END_KINDS = LOOP_EXIT_KINDS | {RegionKind.YIELD}

is_function = _of_all.make(lambda traits: traits.region_kind is RegionKind.FUNCTION)
is_counted_loop = _of_rows.make(lambda traits: traits.region_kind is RegionKind.FOR)
is_loop = _of_rows.make(lambda traits: traits.region_kind in LOOP_KINDS)
is_if = _of_rows.make(lambda traits: traits.region_kind is RegionKind.IF)
# A loop or an if: passes values into regions, or out of them.
is_structured_control_flow = _of_rows.make(lambda traits: traits.region_kind in STRUCTURED_KINDS)
# Of reductions and scans.
is_combiner_region = _of_rows.make(lambda traits: traits.region_kind is RegionKind.COMBINER)
is_agent_switch = _of_rows.make(lambda traits: traits.region_kind is RegionKind.AGENT_SWITCH)
# Ends of regions: an iteration's, a loop's, both of these, any other's, all but a function's.
is_continue = _of_rows.make(lambda traits: traits.region_kind is RegionKind.CONTINUE)
is_break = _of_rows.make(lambda traits: traits.region_kind is RegionKind.BREAK)
is_loop_exit = _of_rows.make(lambda traits: traits.region_kind in LOOP_EXIT_KINDS)
is_yield = _of_rows.make(lambda traits: traits.region_kind is RegionKind.YIELD)
is_return = _of_all.make(lambda traits: traits.region_kind is RegionKind.RETURN)
is_region_end = _of_rows.make(lambda traits: traits.region_kind in REGION_END_KINDS)

is_rematerializable = _of_all.make(lambda traits: traits.rematerializable)
# The result is the operand under other coordinates; or that, laid out anew, or rounded; the same number; zeros if it is.
is_view_like = _of_all.make(lambda traits: ValueForwarding.VIEW_LIKE in traits.forwarding)
is_value_forwarding = _of_all.make(
    lambda traits: bool(
        traits.forwarding & (ValueForwarding.VIEW_LIKE | ValueForwarding.LAYOUT_CAST | ValueForwarding.ROUNDING)
    )
)
preserves_value = _of_all.make(lambda traits: ValueForwarding.EXTENSION in traits.forwarding)
preserves_zero = _of_all.make(lambda traits: ValueForwarding.PRESERVES_ZERO in traits.forwarding)

# Accesses that tokens order, and those that write; an atomic does both.
_ACCESS, _LATER = MemoryEffect.READ | MemoryEffect.WRITE, MemoryEffect.WRITE | MemoryEffect.FENCE | MemoryEffect.BARRIER
is_access = _of_rows.make(lambda traits: bool(traits.effect & _ACCESS) and MemoryEffect.COPY not in traits.effect)
is_atomic_rmw = _of_rows.make(lambda traits: traits.effect == _ACCESS)
is_store = _of_rows.make(lambda traits: traits.effect == MemoryEffect.WRITE)
is_fence = _of_rows.make(lambda traits: MemoryEffect.FENCE in traits.effect)
# Barriers to moving reads; barriers to moving side effects; operations that tokens order.
writes_memory = _of_all.make(lambda traits: bool(traits.effect & _LATER))
has_side_effects = _of_all.make(lambda traits: bool(traits.effect & (_LATER | MemoryEffect.OUTPUT)))
is_token_ordered = _of_all.make(lambda traits: bool(traits.effect & (_ACCESS | MemoryEffect.FENCE)))
waits_for_grid = _of_all.make(lambda traits: MemoryEffect.GRID in traits.effect)

is_mma = _of_rows.make(lambda traits: MmaRole.MULTIPLY in traits.mma)
is_async_mma = _of_rows.make(lambda traits: MmaRole.ISSUE in traits.mma)
releases_on_completion = _of_rows.make(lambda traits: MmaRole.RELEASE in traits.mma)
