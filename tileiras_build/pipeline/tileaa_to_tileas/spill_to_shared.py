"""Spill tiles that are live across a reduction to shared memory, so that more CTAs share an SM.

In:    nv_tileas operations with layouts; kernels with reductions and without dots, with no loop, or with a single one and a
       hint ``occupancy``: the grid of a loop over rows has as many CTAs as its author expects to share an SM.
Out:   ``spill`` before a reduction and ``reload`` after it, for tiles of 32-bit elements that are live across it;
       ``occupancy``, the CTAs for which registers and shared memory then suffice. ``late`` on loads after the last
       reduction whose elements are consumed one by one, unless other tiles take all remaining registers. ``whole`` on
       loads of 16-bit elements before the first reduction whose elements take many instructions: one bounds check.
After: all passes that add operations with tiles. Before: allocate_shared_memory, which places spilled tiles.
Sound: spilling does not change a tile. Each thread has slots that it alone accesses. A tile may reuse the slot of
       another one after that one's last use; in a loop, the next iteration spills after the uses of this one. A late
       load may follow stores, as no token orders anything after it.

The threads of a CTA load together, synchronize, and store together. Meanwhile DRAM is idle unless another CTA has loads
in flight, so a kernel whose row takes all registers of an SM cannot reach full memory bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from xdsl.ir import Block, Operation, SSAValue

from ...ir.casting import parent_block, unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ReloadOp, SpillOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_combiner_region, is_counted_loop
from ..analysis.live_across_reduction import LiveTile, ReductionBlock, analyze_reduction_block
from ..analysis.resource_model import (
    SPILLED_ROW_REG_OVERHEAD,
    UNSPILLABLE_REG_OVERHEAD,
    ctas_worth_spilling_for,
    reduces_only,
    registers_left,
)
from ..analysis.scratch_memory_sizes import SPILL_VECTOR_REGS, largest_scratch, spill_bytes
from ..common.optimization_hints import hint
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.schedule_attribute import set_knobs
from .op_insertion import insert_before


class SpillToShared(EdgePass):
    """Tiles that are spilled to shared memory across reductions."""

    name = "tileas-spill-to-shared"
    knob = "spill"

    def run_on_function(self, func: TableOp, job: Job) -> bool:
        if not reduces_only(walk(func)) or (rows := analyze_reduction_block(_block_of_rows(func, job))) is None:
            return False
        wanted = ctas_worth_spilling_for(rows.max_regs, func, job)
        # In tiles that are computed late, f16 elements stay live as they are if mixed-precision adds read them.
        block = analyze_reduction_block(rows.block, folds_halves=job.target.has("mixed_float"))
        return _spill(func, wanted, unwrap(block), job)


def _block_of_rows(func: Operation, job: Job) -> Block:
    """The body of a kernel, or of its only loop."""
    body = func.regions[0].blocks[0]
    structured = [op for op in body.ops if op.regions and not is_combiner_region(op)]
    if len(structured) != 1 or not is_counted_loop(structured[0]) or hint(func, job, "occupancy") is None:
        return body
    return structured[0].regions[0].blocks[0]


def _spill(func: TableOp, wanted: range, rows: ReductionBlock, job: Job) -> bool:
    """Spill for the largest number of CTAs per SM that the kernel profits from and that have shared memory for it; False where none has."""
    warps, scratch = unwrap(func.num_warps), largest_scratch(walk(func), job, None)
    for ctas, overhead in product(wanted, SPILLED_ROW_REG_OVERHEAD):
        most = registers_left(UNSPILLABLE_REG_OVERHEAD, warps, ctas, job.target)
        spilled = _select_spills(rows, registers_left(overhead, warps, ctas, job.target), most)
        slots = _assign_spill_slots(spilled) if spilled is not None else []
        spilled_bytes = spill_bytes(sum(slot.regs for slot in slots), warps)
        if slots and spilled_bytes + scratch <= job.target.shared_memory_of(ctas):
            for slot in slots:
                _insert_spills(slot, rows)
            _mark_lazy_loads(rows)
            set_knobs(func, occupancy=ctas)
            return True
    return False


# ---- selection --------------------------------------------------------------------------------------
def _select_spills(rows: ReductionBlock, max_live_regs: int, max_unspillable_regs: int) -> dict[LiveTile, int] | None:
    """Registers of a thread to spill, by tile, so that at most ``max_live_regs`` others are live at a barrier.

    None if more than ``max_unspillable_regs`` remain that cannot be spilled, or are loaded after the last barrier at
    once.
    """
    spilled: dict[LiveTile, int] = {}
    for barrier in rows.reductions:
        here = [one for one in rows.live_tiles if one.is_live_across(barrier)]
        left = sum(one.regs - spilled.get(one, 0) for one in here)
        for one in sorted(filter(lambda one: one.is_spillable, here), key=lambda one: -one.regs):
            more = min(
                _round_up_to_vector(max(left - max_live_regs, 0)),
                one.regs // SPILL_VECTOR_REGS * SPILL_VECTOR_REGS - spilled.get(one, 0),
            )
            if more:
                spilled[one] = spilled.get(one, 0) + more
                left -= more
        if left + rows.regs_loaded_after(barrier) > max_unspillable_regs:
            return None
    return spilled


def _round_up_to_vector(regs: int) -> int:
    return -(-regs // SPILL_VECTOR_REGS) * SPILL_VECTOR_REGS


@dataclass
class _SpillSlot:
    """Tiles that are spilled to the same shared memory one after the other, the last ``regs`` registers of each."""

    tiles: list[LiveTile]
    regs: int


def _assign_spill_slots(spilled: dict[LiveTile, int]) -> list[_SpillSlot]:
    slots: list[_SpillSlot] = []
    for one in sorted(spilled, key=lambda one: one.def_position):
        regs = spilled[one]
        free = next(
            (slot for slot in slots if slot.tiles[-1].uses[-1] <= one.def_position and _fits_slot(slot, one)), None
        )
        if free is None:
            slots.append(_SpillSlot([one], regs))
        else:
            free.tiles.append(one)
            free.regs = max(free.regs, regs)
    return slots


def _fits_slot(slot: _SpillSlot, one: LiveTile) -> bool:
    """Whether each tile has at least as many registers as any of the others spills."""
    return one.regs >= slot.regs and all(tile.regs >= one.regs for tile in slot.tiles)


def _mark_lazy_loads(rows: ReductionBlock) -> None:
    """Mark lazy loads: computing a reduction is bound by issue slots, multiplying a row by others by registers."""
    for load in rows.loads_before():
        load.full_tile_version = True
    for load in rows.lazy_loads_after():
        load.lazy = True


# ---- rewriting -------------------------------------------------------------------------------------
def _insert_spills(slot: _SpillSlot, rows: ReductionBlock) -> None:
    before: SSAValue | None = None
    for one in slot.tiles:
        before = _insert_spill_and_reloads(one, slot.regs, before, rows)


def _insert_spill_and_reloads(one: LiveTile, regs: int, before: SSAValue | None, rows: ReductionBlock) -> SSAValue:
    """Spill a tile where it is defined, and reload it for its uses after each barrier; return the spilled tile."""
    instead = [] if before is None else [before]
    spill = SpillOp.make([[one.tile], instead], [one.tile.type], regs=regs)
    definition = rows.ops[one.def_position]
    parent_block(definition).insert_op_after(spill, definition)
    for barrier, positions in _uses_by_barrier(one, rows.reductions).items():
        users, found = [rows.ops[number] for number in positions], spill.results[0]
        if barrier is not None:
            found = insert_before(ReloadOp.make([[found]], [one.tile.type]), users[0])
        for user in users:
            user.operands = [found if operand is one.tile else operand for operand in user.operands]
    return spill.results[0]


def _uses_by_barrier(one: LiveTile, reductions: tuple[int, ...]) -> dict[int | None, list[int]]:
    """The users of a tile after its definition, in order, by the last barrier before them that the tile is live across."""
    found: dict[int | None, list[int]] = {}
    for use in one.uses:
        if use > one.def_position:
            passed = [barrier for barrier in reductions if one.def_position < barrier < use]
            found.setdefault(passed[-1] if passed else None, []).append(use)
    return found
