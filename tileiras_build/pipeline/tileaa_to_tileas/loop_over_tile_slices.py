"""Compute output tiles slice by slice if the registers of an SM do not hold the accumulators.

In:    nv_tileas without layouts; kernels with dots in loops.
Out:   a loop over slices around the kernel's program, as its ``tile_slices`` says: if the accumulators of a loop's dots and the left
       operands in registers exceed the registers of all threads of a CTA, or if chained dots have rows for two tiles of tensor memory
       that are not computed at once (``schedule/tmem_chains.py``). Each iteration loads, computes and stores one of two, four or
       eight equal slices of the tiles: the fewest that fit, if each warp still has rows of its own. Slice-invariant scalars and
       views stay before the loop. Where two warpgroups hold whole tiles, the kernel gets both instead (``num_warps``). Warps of
       attention by fragments are chosen before, with their slices (``schedule/score_rows.py``).
After: plan_cta_cluster (tiles are per CTA; all CTAs of a cluster compute the same slice of theirs). Before: shrink_k_tile (which
       reads tile sizes), choose_cta_shape, and all passes that choose warps and copies.
Sound: slices follow the rules of analysis/sharding_propagation: no slice needs another one, and accesses that tokens
       order are of the same slice of the same view, hence in one iteration. A kernel with operations that must execute
       once is not sliced. No iteration returns early: operations after a return move to the other arm of its branch, or
       the kernel is not sliced.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from ...ir.casting import as_op, parent_block, tile_shape
from ...ir.dialects.fast_xdsl import erase
from ...ir.dialects.op_definition import TableOp
from ..analysis.chained_dots import chained_dots_of
from ..analysis.dot_loop_registers import live_tile_registers
from ..analysis.op_queries import DOT, has_dots
from ..analysis.peak_registers import peak_registers
from ..analysis.resource_model import choose_warps, live_registers_fit
from ..analysis.sharding_propagation import Sharding
from ..analysis.tma_operands import tma_loads_allowed
from ..common.cse import eliminate_dead_code, merge
from ..job import Job
from ..mma.family import Storage, fastest_family
from ..pass_manager import EdgePass
from ..schedule.choose import Candidate, Limit, Resource, select
from ..schedule.cta_shape import two_warpgroups
from ..schedule.schedule_attribute import schedule_of, set_knobs
from ..schedule.schedule_file import requested
from ..schedule.score_rows import choose_score_warps
from ..schedule.tmem_chains import chains_in_tmem, has_query_tiles
from .sliced_program import slice_program, slices_of

SLICE_COUNTS = (2, 4, 8)
# Rows of a dot per warp, on every GPU: with fewer, several warps compute columns of the same rows, and reload the left
# operand.
ROWS_OF_WARP = 16
REGISTERS = Limit(Resource.REGISTERS, "the threads of a CTA do not hold what the dots of a loop keep live")


class LoopOverTileSlices(EdgePass):
    """Loops over slices of output tiles."""

    name = "tileas-loop-over-tile-slices"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if not has_dots(func):
            return
        choose_score_warps(func, job)
        if not tma_loads_allowed(func):
            return
        wanted = requested(job).tile_slices
        fewest = _fewest_slices(func, job)
        warps = _warps_for_whole_tiles(func, job) if fewest > 1 else None
        slices = select(func, job, "tile_slices", wanted, _candidates(func, 1 if warps else fewest, job))
        set_knobs(func, tile_slices=slices if slices > 1 else wanted)
        if slices == 1 and warps is not None:
            set_knobs(func, num_warps=warps)
        elif slices > 1:
            _slice(func, slices, job)
            merge(body := func.regions[0].blocks[0])
            eliminate_dead_code(body)


def _fewest_slices(func: TableOp, job: Job) -> int:
    """The fewest slices that the registers of the usual warps hold; 1 where they hold none, or tiles cannot be sliced."""
    if has_query_tiles(func, job) or _fits(func, job, choose_warps(func, job)):
        return 1
    return next((each for each in SLICE_COUNTS if _limit(func, each, job) is None), 1)


def _warps_for_whole_tiles(func: TableOp, job: Job) -> int | None:
    """The warps of two warpgroups where they hold what one would compute in slices; None where others are requested, or where a row
    of scores would be in two warps.
    """
    if func.num_warps or schedule_of(func).num_warps or chained_dots_of(func):
        return None
    warps = two_warpgroups(func, job)
    return warps if warps is not None and _fits(func, job, warps) else None


def _candidates(func: TableOp, fewest: int, job: Job) -> Iterator[Candidate[int]]:
    """First ``fewest`` slices; then others."""
    yield Candidate(fewest)
    if fewest > 1:
        yield Candidate(1, REGISTERS)
    yield from (Candidate(each, _limit(func, each, job)) for each in SLICE_COUNTS if each != fewest)


def _limit(func: TableOp, slices: int, job: Job) -> str | Limit | None:
    """Why a kernel does not have so many slices; None where it may."""
    trial = as_op(func.clone())
    parent_block(func).insert_op_after(trial, func)
    refused: str | Limit | None = None
    if not _slice(trial, slices, job):
        refused = "slices of its tiles need something of each other, or a warp would have too few of their rows"
    elif not _fits(trial, job, choose_warps(trial, job)):
        refused = REGISTERS
    erase(trial)
    return refused


def _fits(func: TableOp, job: Job, warps: int) -> bool:
    """Whether the registers of a CTA's threads hold what dots keep live, and each row of scores is in one thread; tensor memory holds
    the accumulators of a chain of 128 rows.
    """
    if chains := chains_in_tmem(func, job):
        return chains[0].query_tiles == 1
    family = fastest_family(job.target)
    if (most := family.max_chained_rows) and any(chain.rows > most for chain in chained_dots_of(func)):
        return False
    regs = live_tile_registers(func, family, lambda dot: family.lhs_stays_in_smem(dot, job))
    if family.accumulator is Storage.TENSOR and (peak := peak_registers(func, job.target)):
        regs = min(regs, peak)
    return live_registers_fit(regs, warps, job.target)


def _slice(func: Operation, slices: int, job: Job) -> bool:
    sharding = slices_of(func, slices, job)
    if sharding is None:
        return False
    rows = _min_rows_per_slice(sharding)
    slice_program(func, sharding)
    return rows is None or rows >= ROWS_OF_WARP * choose_warps(func, job)


def _min_rows_per_slice(sharding: Sharding) -> int | None:
    """The fewest rows of a slice of any dot that is sliced by rows; None where none is."""
    dots = [as_op(op) for op in sharding.operations if op.name == DOT]
    shapes = [(tile_shape(dot.result), sharding.dims[dot.result]) for dot in dots]
    return min((shape[dim] // sharding.ctas for shape, dim in shapes if dim == len(shape) - 2), default=None)
