"""The tiles that are live in registers across a reduction over warps, in a block without loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import as_op, defining_op, unwrap
from ...ir.dialects.cute import layout_of
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    LayoutTrait,
    is_combiner_region,
    is_function,
    is_rematerializable,
    is_view_like,
    traits_of,
)
from ..common.llvm_element_types import element_of
from .foldable_f16_extensions import needs_no_extension, reads_unextended
from .op_queries import LOADS, REDUCE, TILED_LOAD, is_tile

REGISTER_BITS = 32
# Operations without loads that consume loaded elements one by one, each when the final store needs it.
STREAMING_STORE_OPS = frozenset(("nv_tileas.tiled_store", "nv_tileas.block_tile"))
# Operations that take many instructions per element.
DIVISION = "nv_tileas.divf"
EXPENSIVE_OPS = frozenset(("math.exp", "nv_tileas.exp2", DIVISION))
# Accesses of a late load in flight at once: those of the current elements, and of the next ones.
LAZY_ACCESSES_IN_FLIGHT = 2
OUTSIDE = -1


@dataclass(frozen=True, eq=False)
class LiveTile:
    """A tile that is live across a reduction. Operations are numbered in the order of their block.

    ``regs``: 32-bit registers of a thread; ``uses``: the positions of its users. A tile from outside of a loop's body
    is defined at ``OUTSIDE`` and used to the end.
    """

    tile: SSAValue
    regs: int
    def_position: int
    uses: tuple[int, ...]

    def is_live_across(self, reduction: int) -> bool:
        """Whether the tile is live across a reduction."""
        return self.def_position < reduction < self.uses[-1]

    @property
    def is_spillable(self) -> bool:
        """Whether each element has a 32-bit register of its own."""
        if self.def_position == OUTSIDE or element_of(self.tile.type).bits != REGISTER_BITS:
            return False
        return not is_rematerializable(defining_op(self.tile))


@dataclass(frozen=True)
class ReductionBlock:
    """The tiles that are live in a block. ``reductions`` are the positions of its reductions across warps."""

    block: Block
    ops: tuple[Operation, ...]
    reductions: tuple[int, ...]
    live_tiles: tuple[LiveTile, ...]

    @property
    def max_regs(self) -> int:
        """The most 32-bit registers of a thread that are live across one reduction."""
        return max((self.regs_at(reduction) for reduction in self.reductions), default=0)

    def regs_at(self, reduction: int) -> int:
        """32-bit registers of a thread that are live across one reduction."""
        return sum(one.regs for one in self.live_tiles if one.is_live_across(reduction))

    def regs_loaded_after(self, reduction: int) -> int:
        """32-bit registers of a thread for loads after a reduction: loads do not move across the stores at the end, and
        lazy loads not across the last reduction.
        """
        lazy = set(self.lazy_loads_after())
        all_at_once = (op for op in self.ops[reduction:] if op.name in LOADS and op not in lazy)
        regs = sum(_registers(result) for op in all_at_once for result in op.results if is_tile(result))
        return regs + sum(map(_in_flight_registers, lazy)) if reduction == self.reductions[-1] else regs

    def loads_before(self) -> list[TableOp]:
        """Loads of f16 before all reductions that need bounds checks, and whose elements take many instructions.

        After a branch all elements are in registers, which would be too many for f32.
        """
        if not any(map(_is_expensive_elementwise, self.ops)):
            return []
        loads = _plain_loads(self.ops[: self.reductions[0]])
        halves = (load for load in loads if element_of(load.value.type).bits < REGISTER_BITS)
        return [load for load in halves if not all(load.in_bounds or (False,))]

    def lazy_loads_after(self) -> list[TableOp]:
        """Loads after all reductions whose elements are consumed one by one, and that no operation is ordered after.

        A tile division computes all quotients at once.
        """
        after = self.ops[self.reductions[-1] :]
        if any(op.name == DIVISION and _is_expensive_elementwise(op) for op in after):
            return []
        return [load for load in _plain_loads(after) if not any(load.result_token.uses) and _is_stored(load.value)]


def analyze_reduction_block(block: Block, *, folds_halves: bool = False) -> ReductionBlock | None:
    """The live tiles of a block without loops and branches; None if it has any.

    ``folds_halves``: additions read f16 directly.
    """
    ops = tuple(block.ops)
    if any(op.regions and not is_combiner_region(op) for op in ops):
        return None
    positions = {op: number for number, op in enumerate(ops)}
    reductions = tuple(number for op, number in positions.items() if _is_cross_warp_reduction(op))
    tiles = [tile for op in ops for tile in op.results if is_tile(tile) and tile.first_use is not None]
    stored = [tile for tile in tiles if not is_rematerializable(op := defining_op(tile)) or is_view_like(op)]
    narrow: set[SSAValue] = {tile for tile in stored if folds_halves and needs_no_extension(tile)}
    found = [_live_tile(tile, positions, narrow) for tile in stored if tile not in narrow]
    if not is_function(unwrap(block.parent_op())):
        found += [
            LiveTile(tile, _registers(tile), OUTSIDE, (len(ops),)) for tile in _tiles_from_outside(ops, positions)
        ]
    return ReductionBlock(
        block, ops, reductions, tuple(one for one in found if any(map(one.is_live_across, reductions)))
    )


def _tiles_from_outside(ops: Sequence[Operation], positions: dict[Operation, int]) -> list[SSAValue]:
    """Tiles in registers that a block's operations use and others define; those that a loop carries, too."""
    used = dict.fromkeys(tile for op in ops for tile in op.operands if is_tile(tile))
    return [tile for tile in used if not isinstance(op := tile.owner, Operation) or _is_outside(op, positions)]


def _is_outside(op: Operation, positions: dict[Operation, int]) -> bool:
    return op not in positions and not is_rematerializable(op)


def _is_expensive_elementwise(op: Operation) -> bool:
    """Whether an operation computes an exponential or a quotient of each of many elements."""
    return op.name in EXPENSIVE_OPS and is_tile(op.results[0]) and _registers(op.results[0]) > 1


def _plain_loads(ops: Sequence[Operation]) -> list[TableOp]:
    """Loads of views by the threads themselves, in whole vectors, that no token orders with other threads' accesses."""
    loads = map(as_op, filter(lambda op: op.name == TILED_LOAD, ops))
    return [load for load in loads if load.mem_semantic == "weak" and not load.has_boundary_tile and not load.tma]


def _is_stored(tile: SSAValue) -> bool:
    """Whether the thread that holds an element stores all values that depend on it."""
    return all(_only_feeds_stores(use.operation) for use in tile.uses)


def _only_feeds_stores(op: Operation) -> bool:
    if op.name in STREAMING_STORE_OPS:
        return not as_op(op).has_boundary_tile
    passes = traits_of(op).layouts is LayoutTrait.ELEMENTWISE or is_view_like(op)
    return passes and all(_is_stored(result) for result in op.results)


def _in_flight_registers(load: TableOp) -> int:
    """32-bit registers for the elements of a lazy load that are live at once."""
    bits = element_of(load.value.type).bits
    return min(_registers(load.value), LAZY_ACCESSES_IN_FLIGHT * -(-(load.vector or 1) * bits // REGISTER_BITS))


def _is_cross_warp_reduction(op: Operation) -> bool:
    return op.name == REDUCE and bool(layout_of(op.operands[0]).bits_along(as_op(op).axis)["warp"])


def _live_tile(tile: SSAValue, positions: dict[Operation, int], narrow: set[SSAValue]) -> LiveTile:
    """The live range of a tile. A lazily extended tile is live from its extension on; until then, and for its own
    users, the narrow tile is live.
    """
    uses = {positions[use.operation] for use in tile.uses} | {
        _def_position(wide, positions) for wide in _lazily_extended(tile)
    }
    results = (result for use in tile.uses for result in use.operation.results if result in narrow)
    uses |= {positions[use.operation] for result in results for use in result.uses}
    return LiveTile(tile, _registers(tile), _def_position(tile, positions), tuple(sorted(uses)))


def _def_position(tile: SSAValue, positions: dict[Operation, int]) -> int:
    """The position at which the elements of a tile are first needed."""
    return (
        min((positions[op] for op in _direct_uses(tile)), default=positions[defining_op(tile)])
        if _is_lazily_extended(tile)
        else positions[defining_op(tile)]
    )


def _lazily_extended(tile: SSAValue) -> list[SSAValue]:
    return [result for use in tile.uses for result in use.operation.results if _is_lazily_extended(result)]


def _is_lazily_extended(tile: SSAValue) -> bool:
    """Whether a reduction reads the narrow tile from which its operand is extended."""
    return any(reads_unextended(use.operation) for use in tile.uses)


def _direct_uses(tile: SSAValue) -> list[Operation]:
    return [use.operation for use in tile.uses if not reads_unextended(use.operation)]


def _registers(tile: SSAValue) -> int:
    layout = layout_of(tile)
    distinct = layout.num_registers >> layout.free_bits("register").bit_count()
    return -(-distinct * element_of(tile.type).bits // REGISTER_BITS)
