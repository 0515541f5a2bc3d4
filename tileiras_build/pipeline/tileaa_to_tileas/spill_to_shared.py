"""Let tiles wait for a reduction in shared memory, as far as more CTAs of a multiprocessor have no registers for them.

In:    nv_tileas operations with layouts; kernels that reduce tiles and multiply no matrices.
Out:   park in front of a reduction and take_back behind it, around tiles of 32-bit elements that are used on both sides;
       ``occupancy``, the CTAs for which registers and shared memory are then enough. ``late`` on loads behind the last
       reduction whose elements are stored one after the other; not where others take all registers that are left. ``whole`` on
       loads of halves in front of the first one, where each element takes many instructions: bounds are asked once.
After: all passes that add operations with tiles. Before: assign_scratch, which gives parked tiles their places.
Sound: a tile that comes back is the tile. Each thread has places of its own, which it alone writes and reads; a tile takes
       those of another one behind the last use of that. In a loop, the next iteration parks behind the uses of this one. A
       late load may follow stores, for no token orders anything behind it.

The threads of a CTA load together, wait for each other, and store together. While one CTA does neither, DRAM rests, unless
another one's loads are under way: a row that takes all registers of a multiprocessor is never read as fast as it could be.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...ir.casting import block_of, given, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ParkOp, TakeBackOp
from ...ir.dialects.op_traits import is_entry
from ..analysis.live_across_reduction import Rows, Waiting, rows_of
from ..analysis.resource_model import BESIDE_PARKED, BESIDE_UNPARKED, kept_beside, reduces_only, row_ctas
from ..analysis.scratch_memory_sizes import PARKED_WORDS, largest_scratch, parked_bytes
from ..job import Job
from ..pass_manager import EdgePass
from .rewriter import insert_before


class ParkRows(EdgePass):
    """Tiles that wait in shared memory."""

    name = "tileas-park-rows"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if is_entry(func) and reduces_only(walk(func)) and (rows := rows_of(func.regions[0].blocks[0])) is not None:
                wanted = row_ctas(rows.most_words, func, job)
                # Of what is computed late, halves wait that sums take as they are.
                late = rows_of(rows.block, halves=job.target.has("mixed_float"))
                _park(func, wanted, given(late), job)


def _park(func: Operation, wanted: range, rows: Rows, job: Job) -> None:
    """Park what the largest number of CTAs demands that the kernel wants and that have shared memory for it."""
    warps, scratch = given(row(func).num_warps), largest_scratch(walk(func), job)
    for ctas, beside in product(wanted, BESIDE_PARKED):
        most = kept_beside(BESIDE_UNPARKED, warps, ctas, job.target)
        parked = _choose(rows, kept_beside(beside, warps, ctas, job.target), most)
        chains = _chains(parked) if parked is not None else []
        taken = parked_bytes(sum(chain.words for chain in chains), warps)
        if chains and taken + scratch <= job.target.shared_memory_of(ctas):
            for chain in chains:
                _write(chain, rows)
            _mark_loads(rows)
            row(func).occupancy = ctas
            return


# ---- what is parked --------------------------------------------------------------------------------
def _choose(rows: Rows, kept: int, most: int) -> dict[Waiting, int] | None:
    """Words of a thread to park, by tile, so that no more than ``kept`` of others wait in registers at a meeting.

    None where more than ``most`` are left that cannot be parked, or are loaded behind the last meeting, and all at once.
    """
    parked: dict[Waiting, int] = {}
    for meeting in rows.meetings:
        here = [one for one in rows.waiting if one.waits_at(meeting)]
        left = sum(one.words - parked.get(one, 0) for one in here)
        for one in sorted(filter(lambda one: one.may_park, here), key=lambda one: -one.words):
            more = min(_up(max(left - kept, 0)), one.words // PARKED_WORDS * PARKED_WORDS - parked.get(one, 0))
            if more:
                parked[one] = parked.get(one, 0) + more
                left -= more
        if left + rows.loaded_behind(meeting) > most:
            return None
    return parked


def _up(words: int) -> int:
    return -(-words // PARKED_WORDS) * PARKED_WORDS


@dataclass
class _Chain:
    """Tiles that are parked in the same places, one after the other, the last ``words`` of each."""

    tiles: list[Waiting]
    words: int


def _chains(parked: dict[Waiting, int]) -> list[_Chain]:
    chains: list[_Chain] = []
    for one in sorted(parked, key=lambda one: one.made):
        words = parked[one]
        free = next((chain for chain in chains if chain.tiles[-1].uses[-1] <= one.made and _is_held(chain, one)), None)
        if free is None:
            chains.append(_Chain([one], words))
        else:
            free.tiles.append(one)
            free.words = max(free.words, words)
    return chains


def _is_held(chain: _Chain, one: Waiting) -> bool:
    """Whether each tile has as many words as any of the others parks."""
    return one.words >= chain.words and all(tile.words >= one.words for tile in chain.tiles)


def _mark_loads(rows: Rows) -> None:
    """Issue slots are short where shares of a sum are computed, and registers where a row is multiplied by others."""
    for load in rows.early_loads():
        load.whole = True
    for load in rows.late_loads():
        load.late = True


# ---- how -------------------------------------------------------------------------------------------
def _write(chain: _Chain, rows: Rows) -> None:
    before: SSAValue | None = None
    for one in chain.tiles:
        before = _write_one(one, chain.words, before, rows)


def _write_one(one: Waiting, words: int, before: SSAValue | None, rows: Rows) -> SSAValue:
    """Park a tile where it is made, and take it back for its uses behind each meeting; the parked tile."""
    instead = [] if before is None else [before]
    park = ParkOp.make([[one.tile], instead], [one.tile.type], words=words)
    made = rows.ops[one.made]
    block_of(made).insert_op_after(park, made)
    for meeting, numbers in _by_meeting(one, rows.meetings).items():
        users, found = [rows.ops[number] for number in numbers], park.results[0]
        if meeting is not None:
            found = insert_before(TakeBackOp.make([[found]], [one.tile.type]), users[0])
        for user in users:
            user.operands = [found if operand is one.tile else operand for operand in user.operands]
    return park.results[0]


def _by_meeting(one: Waiting, meetings: tuple[int, ...]) -> dict[int | None, list[int]]:
    """The operations that use a tile once it is parked, in order, by the last meeting before them at which it waits."""
    found: dict[int | None, list[int]] = {}
    for use in one.uses:
        if use > one.made:
            passed = [meeting for meeting in meetings if one.made < meeting < use]
            found.setdefault(passed[-1] if passed else None, []).append(use)
    return found
