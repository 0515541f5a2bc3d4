"""Issue the loads of a kernel before it computes with their tiles.

In:    kernels without dots, and without loops and branches behind a load, whose loads are done by threads; tiles with layouts.
Out:   all loads stand behind the first one, with the pure operations that compute their operands. ``ends_block`` on the last of them: ptxas
       gives a thread 32 registers where it can, and would compute with one tile before it loads the next. Fewer bytes are in flight then.
       Kernels that compute little, that load at addresses which they load, or whose threads lack registers for what they load, or for
       what they load behind a reduction, are unchanged.
After: spill_to_shared and mark_read_only_loads: no later pass moves loads. Before: the lowering to LLVM IR.
Sound: no token orders such a load after an access behind its new place, nothing between ends the program, and its mask moves with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...ir.casting import as_op, parent_block, tile_size
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import LayoutTrait, is_async_mma, is_combiner_region, is_mma, traits_of
from ...target.sm_limits import WARP
from ..analysis.op_queries import LOADS, REDUCE, is_tile
from ..analysis.resource_model import STORES, registers_at_launch
from ..analysis.row_registers import row_words
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.schedule_attribute import schedule_of
from .load_before_reductions import is_by_threads, movable_loads, move_behind

REGISTER_BITS = 32
REG_OVERHEAD = 16  # registers of a thread besides what it loads: addresses, and values that it computes with
# Words that a thread loads at least, or operations on them: of fewer, ptxas issues all loads first by itself, and the branch behind them
# takes some 30 clocks. By `estimate` for 60 launches of element-wise kernels, norms and losses on sm_100.
MANY_WORDS, MANY_OPERATIONS = 32, 120


class LoadBeforeComputation(EdgePass):
    """Loads ahead of computations."""

    name = "tileas-load-before-computation"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        loads = [as_op(op) for op in func.regions[0].blocks[0].ops if op.name in LOADS]
        if job.opt_level == 0 or not loads or not _is_straight(func, loads[0]):
            return
        if all(map(_may_move, loads)) and _is_worthwhile(func, loads, job):
            _load_first(loads)


def _is_straight(func: TableOp, first: TableOp) -> bool:
    """Whether a kernel has no dots, no loops and branches behind its first load, and no other loads before."""
    inner = [op for op in walk(func) if op is not func]
    branches = [op for op in func.regions[0].blocks[0].ops if op.regions and not is_combiner_region(op)]
    if any(is_mma(op) or is_async_mma(op) for op in inner) or not all(op.is_before_in_block(first) for op in branches):
        return False
    return not any(op.name in LOADS for branch in branches for op in walk(branch))


def _may_move(load: TableOp) -> bool:
    """Whether threads do a load where it stands: lazy ones wait for the uses of their elements."""
    return is_by_threads(load) and "lazy" not in load.attributes


def _is_worthwhile(func: TableOp, loads: Sequence[TableOp], job: Job) -> bool:
    """Whether ptxas would order the accesses of a thread otherwise, and the thread has registers for what they load."""
    operations, words = list(func.regions[0].blocks[0].ops), sum(map(_words, loads))
    first = next((op for op in operations if op.name == REDUCE), None)
    is_chosen = first is None and _chosen_ctas(func, job)  # so that ptxas loads all at once that stands before a store
    if sum(map(_accesses, loads)) < 2 or is_chosen and not _follows_store(loads[-1]):
        return False
    late = sum(_words(load) for load in loads if first and is_tile(load.value) and first.is_before_in_block(load))
    row, registers = row_words(func) // (WARP * func.num_warps), _registers(func, job)
    if words > max(registers - REG_OVERHEAD, row) or late and row + late > registers - REG_OVERHEAD:
        return False
    return words >= MANY_WORDS or words * sum(map(_operations, operations)) >= MANY_OPERATIONS


def _follows_store(load: TableOp) -> bool:
    """Whether a store stands before a load of its block."""
    return any(op.name in STORES and op.is_before_in_block(load) for op in parent_block(load).ops)


def _load_first(loads: Sequence[TableOp]) -> None:
    """Move loads behind the first one, if all of them may, and end a basic block there."""
    place: Operation = loads[0]
    others = movable_loads(parent_block(place), place, loads.__contains__)
    if len(others) + 1 < len(loads) or any(op in loads for _, computation in others for op in computation):
        return
    for load, computation in others:
        place = move_behind(place, (*computation, load))
        place = load if place.is_before_in_block(load) else place
    last = as_op(place)
    if {"has_boundary_tile", "full_tile_version"}.isdisjoint(last.attributes):  # else a branch stands there
        last.ends_block = True


def _registers(func: TableOp, job: Job) -> int:
    """Registers of a thread if an SM has the CTAs that were chosen, or as many as it may."""
    limits, warps = job.target.sm_limits, func.num_warps
    ctas = _chosen_ctas(func, job) or min(limits.ctas, limits.threads // (WARP * warps))
    return registers_at_launch(warps * ctas, job.target)


def _chosen_ctas(func: TableOp, job: Job) -> int | None:
    """The CTAs per SM that were chosen, and not asked for."""
    return None if hint(func, job, "occupancy") else schedule_of(func).occupancy


def _words(load: TableOp) -> int:
    """Registers of a thread for what it loads: whole ones for each access."""
    return _accesses(load) * -(-_vector(load) * element_of(load.value.type).bits // REGISTER_BITS)


def _accesses(load: TableOp) -> int:
    """How many accesses a thread loads a tile with."""
    return layout_of(load.value).num_registers // _vector(load) if is_tile(load.value) else 1


def _vector(load: TableOp) -> int:
    """Elements of an access: no more than a thread has."""
    return min(load.vector or 1, layout_of(load.value).num_registers) if is_tile(load.value) else 1


def _operations(op: Operation) -> int:
    """How many operations on floats an operation has for each element of a tile; a reduction has those of threads and of lanes."""
    if op.name == REDUCE:
        return 2
    if traits_of(op).layouts is not LayoutTrait.ELEMENTWISE or op.name == "nv_tileas.fp_to_fp":
        return 0
    return any(is_tile(value) and tile_size(value) > 1 and element_of(value.type).is_float for value in op.operands)
