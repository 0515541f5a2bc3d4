"""The tiles that wait in registers while the warps of a CTA meet for a reduction, of kernels without loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import owner, row
from ...ir.dialects.cute import layout_of
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import Layouts, facts_of, is_cheap, is_combination, renames
from ..common.llvm_element_types import element_of
from .foldable_extensions import reads_narrow, stays_narrow
from .op_queries import is_tile

REDUCE, TILED_LOAD = "nv_tileas.reduce", "nv_tileas.tiled_load"
LOADS = (TILED_LOAD, "nv_tileas.load")
WORD_BITS = 32
# What loads nothing but is done with loaded elements one after the other, each where the last of them, a store, asks for it.
STORING = frozenset(("nv_tileas.tiled_store", "nv_tileas.block_tile"))
# What takes many instructions an element.
DIVISION = "nv_tileas.divf"
DEAR = frozenset(("math.exp", "nv_tileas.exp2", DIVISION))
# Accesses of a late load that are under way: its elements are used, and the next ones come.
UNDER_WAY = 2


@dataclass(frozen=True, eq=False)
class Waiting:
    """A tile that is there before a meeting and used behind one; operations are numbered in the order of their block.

    ``words`` are 32-bit registers of a thread, ``uses`` the numbers of the operations that use it.
    """

    tile: SSAValue
    words: int
    made: int
    uses: tuple[int, ...]

    def waits_at(self, meeting: int) -> bool:
        """Whether it is there while the warps meet."""
        return self.made < meeting < self.uses[-1]

    @property
    def may_park(self) -> bool:
        """Whether its elements are words of their own."""
        return element_of(self.tile.type).bits == WORD_BITS and not is_cheap(owner(self.tile))


@dataclass(frozen=True)
class Rows:
    """What waits in a block: ``meetings`` are the numbers of its reductions that many warps make."""

    block: Block
    ops: tuple[Operation, ...]
    meetings: tuple[int, ...]
    waiting: tuple[Waiting, ...]

    @property
    def most_words(self) -> int:
        """32-bit registers of a thread at the meeting at which most are taken."""
        return max((self.words_at(meeting) for meeting in self.meetings), default=0)

    def words_at(self, meeting: int) -> int:
        """32-bit registers of a thread at one meeting."""
        return sum(one.words for one in self.waiting if one.waits_at(meeting))

    def loaded_behind(self, meeting: int) -> int:
        """32-bit registers of a thread for what is loaded behind a meeting: no load is moved over the stores at the end, and
        none that is late over the last meeting.
        """
        late = set(self.late_loads())
        all_at_once = (op for op in self.ops[meeting:] if op.name in LOADS and op not in late)
        words = sum(_words(result) for op in all_at_once for result in op.results if is_tile(result))
        return words + sum(map(_words_under_way, late)) if meeting == self.meetings[-1] else words

    def early_loads(self) -> list[TableOperation]:
        """Loads of halves in front of all meetings that have to ask where the tensor ends, and whose elements take issue slots.

        Ways that meet have all elements in registers: those of f32 are too many.
        """
        if not any(map(_computes_share, self.ops)):
            return []
        loads = _plain_loads(self.ops[: self.meetings[0]])
        halves = (load for load in loads if element_of(load.value.type).bits < WORD_BITS)
        return [load for load in halves if not all(load.in_bounds or (False,))]

    def late_loads(self) -> list[TableOperation]:
        """Loads behind all meetings whose elements are used one after the other, and behind which nothing is ordered.

        A division of a tile has all quotients at once.
        """
        behind = self.ops[self.meetings[-1] :]
        if any(op.name == DIVISION and _computes_share(op) for op in behind):
            return []
        return [load for load in _plain_loads(behind) if not any(load.result_token.uses) and _is_stored(load.value)]


def rows_of(block: Block, *, halves: bool = False) -> Rows | None:
    """What waits in a block without loops and branches; None where it has any. ``halves``: sums take them as they are."""
    ops = tuple(block.ops)
    if any(op.regions and not is_combination(op) for op in ops):
        return None
    numbers = {op: number for number, op in enumerate(ops)}
    meetings = tuple(number for op, number in numbers.items() if _is_meeting(op))
    tiles = [tile for op in ops for tile in op.results if is_tile(tile) and tile.first_use is not None]
    kept = [tile for tile in tiles if not is_cheap(op := owner(tile)) or renames(op)]
    narrow: set[SSAValue] = {tile for tile in kept if halves and stays_narrow(tile)}
    found = [_waiting(tile, numbers, narrow) for tile in kept if tile not in narrow]
    return Rows(block, ops, meetings, tuple(one for one in found if any(map(one.waits_at, meetings))))


def _computes_share(op: Operation) -> bool:
    """Whether it computes an exponential or a quotient of each of many elements."""
    return op.name in DEAR and is_tile(op.results[0]) and _words(op.results[0]) > 1


def _plain_loads(ops: Sequence[Operation]) -> list[TableOperation]:
    """Loads of views by the threads themselves, in whole accesses, that nothing of other threads is ordered by."""
    loads = map(row, filter(lambda op: op.name == TILED_LOAD, ops))
    return [load for load in loads if load.mem_semantic == "weak" and not load.ragged and not load.tma]


def _is_stored(tile: SSAValue) -> bool:
    """Whether all that becomes of a tile's elements is stored, by the thread that has them."""
    return all(_stores(use.operation) for use in tile.uses)


def _stores(op: Operation) -> bool:
    if op.name in STORING:
        return not row(op).ragged
    passes = facts_of(op).layouts is Layouts.ELEMENTWISE or renames(op)
    return passes and all(_is_stored(result) for result in op.results)


def _words_under_way(load: TableOperation) -> int:
    """32-bit registers for the elements of a late load that are there at once."""
    bits = element_of(load.value.type).bits
    return min(_words(load.value), UNDER_WAY * -(-(load.vector or 1) * bits // WORD_BITS))


def _is_meeting(op: Operation) -> bool:
    return op.name == REDUCE and bool(layout_of(op.operands[0]).bits_along(row(op).axis)["warp"])


def _waiting(tile: SSAValue, numbers: dict[Operation, int], narrow: set[SSAValue]) -> Waiting:
    """A tile that is widened late is made late; until then the narrow one waits, and always for those who take it so."""
    uses = {numbers[use.operation] for use in tile.uses} | {_made(wide, numbers) for wide in _widened_late(tile)}
    results = (result for use in tile.uses for result in use.operation.results if result in narrow)
    uses |= {numbers[use.operation] for result in results for use in result.uses}
    return Waiting(tile, _words(tile), _made(tile, numbers), tuple(sorted(uses)))


def _made(tile: SSAValue, numbers: dict[Operation, int]) -> int:
    """Where the elements of a tile are first needed as they are."""
    return (
        min((numbers[op] for op in _plain_uses(tile)), default=numbers[owner(tile)])
        if _is_late(tile)
        else numbers[owner(tile)]
    )


def _widened_late(tile: SSAValue) -> list[SSAValue]:
    return [result for use in tile.uses for result in use.operation.results if _is_late(result)]


def _is_late(tile: SSAValue) -> bool:
    """Whether a reduction reads the narrow tile that it is widened from."""
    return any(reads_narrow(use.operation) for use in tile.uses)


def _plain_uses(tile: SSAValue) -> list[Operation]:
    return [use.operation for use in tile.uses if not reads_narrow(use.operation)]


def _words(tile: SSAValue) -> int:
    layout = layout_of(tile)
    distinct = layout.num_registers >> layout.free_bits("register").bit_count()
    return -(-distinct * element_of(tile.type).bits // WORD_BITS)
