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

from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ReloadOp, SpillOp
from ...ir.dialects.op_traits import is_function
from ..analysis.live_across_reduction import LiveTile, ReductionBlock, analyze_reduction_block
from ..analysis.resource_model import (
    SPILLED_ROW_REG_OVERHEAD,
    UNSPILLABLE_REG_OVERHEAD,
    ctas_worth_spilling_for,
    reduces_only,
    registers_left,
)
from ..analysis.scratch_memory_sizes import SPILL_VECTOR_REGS, largest_scratch, spill_bytes
from ..job import Job
from ..pass_manager import EdgePass
from .rewriter import insert_before


class SpillToShared(EdgePass):
    """Tiles that wait in shared memory."""

    name = "tileas-spill-to-shared"

    def run(self, module: ModuleOp, job: Job) -> None:
        for func in module.body.block.ops:
            if (
                is_function(func)
                and reduces_only(walk(func))
                and (rows := analyze_reduction_block(func.regions[0].blocks[0])) is not None
            ):
                wanted = ctas_worth_spilling_for(rows.max_regs, func, job)
                # Of what is computed late, halves wait that sums take as they are.
                late = analyze_reduction_block(rows.block, folds_halves=job.target.has("mixed_float"))
                _spill(func, wanted, unwrap(late), job)


def _spill(func: Operation, wanted: range, rows: ReductionBlock, job: Job) -> None:
    """Park what the largest number of CTAs demands that the kernel wants and that have shared memory for it."""
    warps, scratch = unwrap(as_op(func).num_warps), largest_scratch(walk(func), job)
    for ctas, beside in product(wanted, SPILLED_ROW_REG_OVERHEAD):
        most = registers_left(UNSPILLABLE_REG_OVERHEAD, warps, ctas, job.target)
        parked = _select_spills(rows, registers_left(beside, warps, ctas, job.target), most)
        chains = _assign_spill_slots(parked) if parked is not None else []
        taken = spill_bytes(sum(chain.regs for chain in chains), warps)
        if chains and taken + scratch <= job.target.shared_memory_of(ctas):
            for chain in chains:
                _insert_spills(chain, rows)
            _mark_lazy_loads(rows)
            as_op(func).occupancy = ctas
            return


# ---- what is parked --------------------------------------------------------------------------------
def _select_spills(rows: ReductionBlock, max_live_regs: int, max_unspillable_regs: int) -> dict[LiveTile, int] | None:
    """Words of a thread to park, by tile, so that no more than ``kept`` of others wait in registers at a meeting.

    None where more than ``most`` are left that cannot be parked, or are loaded behind the last meeting, and all at once.
    """
    parked: dict[LiveTile, int] = {}
    for meeting in rows.reductions:
        here = [one for one in rows.live_tiles if one.is_live_across(meeting)]
        left = sum(one.regs - parked.get(one, 0) for one in here)
        for one in sorted(filter(lambda one: one.is_spillable, here), key=lambda one: -one.regs):
            more = min(
                _round_up_to_vector(max(left - max_live_regs, 0)),
                one.regs // SPILL_VECTOR_REGS * SPILL_VECTOR_REGS - parked.get(one, 0),
            )
            if more:
                parked[one] = parked.get(one, 0) + more
                left -= more
        if left + rows.regs_loaded_after(meeting) > max_unspillable_regs:
            return None
    return parked


def _round_up_to_vector(regs: int) -> int:
    return -(-regs // SPILL_VECTOR_REGS) * SPILL_VECTOR_REGS


@dataclass
class _SpillSlot:
    """Tiles that are parked in the same places, one after the other, the last ``words`` of each."""

    tiles: list[LiveTile]
    regs: int


def _assign_spill_slots(spilled: dict[LiveTile, int]) -> list[_SpillSlot]:
    chains: list[_SpillSlot] = []
    for one in sorted(spilled, key=lambda one: one.def_position):
        words = spilled[one]
        free = next(
            (chain for chain in chains if chain.tiles[-1].uses[-1] <= one.def_position and _fits_slot(chain, one)), None
        )
        if free is None:
            chains.append(_SpillSlot([one], words))
        else:
            free.tiles.append(one)
            free.regs = max(free.regs, words)
    return chains


def _fits_slot(chain: _SpillSlot, one: LiveTile) -> bool:
    """Whether each tile has as many words as any of the others parks."""
    return one.regs >= chain.regs and all(tile.regs >= one.regs for tile in chain.tiles)


def _mark_lazy_loads(rows: ReductionBlock) -> None:
    """Issue slots are short where shares of a sum are computed, and registers where a row is multiplied by others."""
    for load in rows.loads_before():
        load.full_tile_version = True
    for load in rows.lazy_loads_after():
        load.lazy = True


# ---- how -------------------------------------------------------------------------------------------
def _insert_spills(chain: _SpillSlot, rows: ReductionBlock) -> None:
    before: SSAValue | None = None
    for one in chain.tiles:
        before = _insert_spill_and_reloads(one, chain.regs, before, rows)


def _insert_spill_and_reloads(one: LiveTile, regs: int, before: SSAValue | None, rows: ReductionBlock) -> SSAValue:
    """Park a tile where it is made, and take it back for its uses behind each meeting; the parked tile."""
    instead = [] if before is None else [before]
    park = SpillOp.make([[one.tile], instead], [one.tile.type], regs=regs)
    made = rows.ops[one.def_position]
    parent_block(made).insert_op_after(park, made)
    for meeting, numbers in _uses_by_barrier(one, rows.reductions).items():
        users, found = [rows.ops[number] for number in numbers], park.results[0]
        if meeting is not None:
            found = insert_before(ReloadOp.make([[found]], [one.tile.type]), users[0])
        for user in users:
            user.operands = [found if operand is one.tile else operand for operand in user.operands]
    return park.results[0]


def _uses_by_barrier(one: LiveTile, reductions: tuple[int, ...]) -> dict[int | None, list[int]]:
    """The operations that use a tile once it is parked, in order, by the last meeting before them at which it waits."""
    found: dict[int | None, list[int]] = {}
    for use in one.uses:
        if use > one.def_position:
            passed = [meeting for meeting in reductions if one.def_position < meeting < use]
            found.setdefault(passed[-1] if passed else None, []).append(use)
    return found
