"""Software-pipeline the operand loads of dots, and the loads of loops without dots, through multistage buffers in shared memory (cp.async).

In:    counted loops that load tiles of views and convert them to an operand of a dot or to its scales, or use them beside the
       result of one in tensor memory, for which they wait in each iteration. Innermost loops of kernels without dots that load tiles.
Out:   asynchronous copies, several iterations ahead, into buffers of nv_tileas.alloc_tensor, and local_loads of the
       operands (ldmatrix where the placement allows). Each iteration waits for its stage, executes one barrier (its first, if it has barriers), and
       issues the copy to the stage that the previous iteration released: after its first dot, if there are more than
       two stages. If two stages do not fit, the operands of one dot are copied while another is computed, with a wait
       and a barrier next to each dot. ``occupancy`` on a kernel whose only loop has one dot and nothing else, if
       registers and stages of several CTAs fit and no copy ends inside a vector: it limits the registers that ptxas
       assigns.
       Without dots, each warp copies its own elements, and waits for its own copies alone: there is no barrier, and no thread has
       registers for tiles in flight (``software_pipelining/own_stages.py``). Loops whose iterations compute for as long as a load of few elements
       takes have no stages: ``prefetch_gathered_tiles`` loads those to registers.
After: assign_layouts (operand fragments are known). Before: allocate_shared_memory (stages need shared memory).
Sound: a loop is changed only if nothing in it writes memory, so a load may move before earlier iterations. A copy past
       the last iteration is disabled and leaves zeros in a stage that is not read; its coordinates are computed without
       a division by 0 (``speculation_guards.py``). A stage is overwritten after the barrier that follows its last read;
       a nested loop starts with a barrier.
       In a loop with synchronization, a load is copied ahead only if its memory token is ready before the loop.
       With one stage, the barrier after a dot precedes all copies to the operands of another dot, hence follows all
       reads of them.
       Without dots, no token orders such a load after a write of the loop. An element of its tile that several warps have is copied once for
       each. A thread copies to the stage that it read in the iteration before, after that read in program order; where lanes read what others
       copied, after a barrier of the warp in between.
"""

from __future__ import annotations

from itertools import chain

from xdsl.ir import Block, Operation

from ...ir.casting import as_op, parent_block
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import BarrierOp, CreatePipelineOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import (
    has_side_effects,
    is_async_mma,
    is_continue,
    is_counted_loop,
    is_loop,
    is_loop_exit,
    is_return,
)
from ..analysis.buffer_liveness import LiveRange, rings_of_loops
from ..analysis.enclosing_control_flow import enclosing_kernel, has_no_early_exit
from ..analysis.integer_ranges import trips_of
from ..analysis.op_queries import DOT, is_tile
from ..analysis.resource_model import (
    MAX_CP_ASYNC_STAGES,
    MIN_CTAS_BESIDE_OWN_STAGES,
    MIN_OWN_STAGES,
    MIN_STAGES,
    STAGES_SMEM_OVERHEAD,
    choose_stages,
    ctas_beside_own_stages,
    ctas_per_sm,
)
from ..analysis.scratch_memory_sizes import chunk_limit, largest_scratch
from ..analysis.unrolled_loops import is_unrolled
from ..common.optimization_hints import hint, occupancy
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.choose import Candidate, is_listening, select
from ..schedule.iteration_latency import least_own_stages
from ..schedule.schedule_attribute import set_knobs
from ..schedule.schedule_file import requested
from ..schedule.stage_counts import StageBudget, fitting_own_stages, own_stages
from .software_pipelining.cp_async_loads import CpAsyncLoad, cp_async_load
from .software_pipelining.loads_to_registers import may_load_next_iteration
from .software_pipelining.multi_dot_prefetch_loop import SingleStageLoop
from .software_pipelining.multistage_loop import MultistageLoop
from .software_pipelining.own_stages import OwnCopy, OwnStagesLoop, loads_of_iteration


class SoftwarePipelineLoads(EdgePass):
    """Multistage cp.async pipelines for the loops of dots, and for those of kernels without dots."""

    name = "tileas-software-pipeline-loads"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        chosen: list[int] = []
        multiplies = any(op.name == DOT or is_async_mma(op) for op in walk(func))
        pipeline = _pipeline if multiplies else _pipeline_rows
        for loop in filter(is_counted_loop, walk(func)):
            pipeline(loop, job, chosen)
        set_knobs(func, cp_async_stages=tuple(chosen) or None)


def _pipeline(loop: TableOp, job: Job, chosen: list[int]) -> None:
    """Copy the loads of a loop ahead, and add its stages to the ``chosen`` ones."""
    block = loop.regions[0].blocks[0]
    if not _is_simple(block):
        return
    kernel = as_op(enclosing_kernel(loop))
    num_warps = kernel.num_warps
    loads = [found for op in block.ops if (found := cp_async_load(op, block, num_warps)) is not None]
    if not loads:
        return
    chosen.append(_copy_ahead(kernel, loop, loads, len(chosen), job))


def _copy_ahead(kernel: TableOp, loop: TableOp, loads: list[CpAsyncLoad], place: int, job: Job) -> int:
    """Copy the loads ahead; return the stages of the copies, 0 where they are not copied ahead."""
    stages, ctas = _choose_stages(kernel, loop, loads, place, job)
    if stages >= MIN_STAGES:
        if ctas > 1 and occupancy(kernel, job) is None and _only_feeds_dots(kernel, parent_block(loads[0].load), loads):
            set_knobs(kernel, occupancy=ctas)
        MultistageLoop(loop, loads, stages).run()
        return stages
    operands = [load for load in loads if not (load.is_scale or load.is_beside)]
    if not operands or _requested(job, place) == 0:
        return 0
    if (stages := _choose_stages(kernel, loop, operands, place, job)[0]) >= MIN_STAGES:
        MultistageLoop(loop, operands, stages).run()
        return stages
    if stages and len({operand.dot for operand in operands}) > 1:
        SingleStageLoop(loop, operands).run()
        return stages
    return 0


def _pipeline_rows(loop: TableOp, job: Job, chosen: list[int]) -> None:
    """Copy what an innermost loop of a kernel without dots loads ahead, and add its stages to the ``chosen`` ones."""
    block = loop.regions[0].blocks[0]
    if job.opt_level == 0 or not has_no_early_exit(loop) or any(is_loop(op) for op in walk(loop) if op is not loop):
        return
    loads = loads_of_iteration(block)
    copies = [copy for load in loads if (copy := OwnCopy.of(load, block)) is not None]
    if not copies or len(copies) < len(loads):
        return  # threads would wait for the other loads as long
    stages = _choose_own_stages(as_op(enclosing_kernel(loop)), loop, copies, len(chosen), job)
    chosen.append(stages)
    if stages:
        OwnStagesLoop(loop, copies, stages).run()


def _choose_own_stages(kernel: TableOp, loop: TableOp, copies: list[OwnCopy], place: int, job: Job) -> int:
    """As many stages as keep DRAM busy, of those that fit beside other CTAs, or the requested ones; 0 for few, and for fewer iterations."""
    wanted, size, loads = _requested(job, place), sum(copy.bytes for copy in copies), [copy.load for copy in copies]
    used = _used_shared_memory(kernel, loop, set(), job)
    fitting, ctas = fitting_own_stages(size, used, kernel, loop, job)
    preferred = min(fitting, own_stages(size, job.target))
    is_short = is_unrolled(loop, loads) or (trips_of(loop) or MIN_OWN_STAGES) < MIN_OWN_STAGES
    least = least_own_stages(loop, kernel, job.target)
    if is_short or preferred < least or may_load_next_iteration(loop, loads, kernel, job):
        preferred = 0
    if ctas < min(ctas_beside_own_stages(kernel, loop, job), MIN_CTAS_BESIDE_OWN_STAGES):
        preferred = 0
    if wanted is None and not is_listening():
        return preferred
    candidates = StageBudget(fitting, size, used, ctas).candidates(preferred, wanted, job, MIN_STAGES)
    return select(kernel, job, "cp_async_stages", wanted, chain(candidates, [Candidate(0)] if preferred else []), place)


def _requested(job: Job, place: int) -> int | None:
    """The stages that a schedule file requests for a loop."""
    found = requested(job).cp_async_stages or ()
    return found[place] if place < len(found) else None


def _choose_stages(
    kernel: Operation, loop: Operation, loads: list[CpAsyncLoad], place: int, job: Job
) -> tuple[int, int]:
    """As many stages as hide the latency and fit beside the other shared memory of the loop, or the requested ones; and
    the CTAs that fit then.
    """
    wanted = _requested(job, place)
    most = max(_most_stages(loads, job), wanted or 0)
    gone = {op for load in loads for op in load.chain}
    size, used = sum(load.bytes for load in loads), _used_shared_memory(kernel, loop, gone, job)
    stages, ctas = choose_stages(size, used, ctas_per_sm(kernel, loop, job), job)
    available = job.target.shared_memory_of(ctas) - used
    # The tile of a group of iterations has one copy.
    while stages < most and sum(load.bytes * load.tiles(stages + 1) for load in loads) <= available:
        stages += 1
    preferred = min(stages, _most_stages(loads, job))
    if wanted is not None or is_listening():
        budget = StageBudget(stages, size, used, ctas)
        candidates = chain(budget.candidates(preferred, wanted, job, MIN_STAGES), [Candidate(0)])
        return select(kernel, job, "cp_async_stages", wanted, candidates, place), ctas
    return preferred, ctas


def _most_stages(loads: list[CpAsyncLoad], job: Job) -> int:
    """The stages that hide the latency of copies."""
    latencies = [latency for one in loads if (latency := hint(one.load, job, "latency"))]
    return max(max(latencies) + 1, MIN_STAGES) if latencies else MAX_CP_ASYNC_STAGES


def _only_feeds_dots(kernel: Operation, block: Block, loads: list[CpAsyncLoad]) -> bool:
    """Whether a kernel has one dot, and its loop loads only whole vectors for it. A count of valid bytes per copy needs
    more registers.
    """
    if any(load.has_boundary_tile for load in loads):
        return False
    moved = {op for load in loads for op in (load.load, *load.chain)}
    tiles = (op for op in block.ops if op not in moved and any(map(is_tile, op.results)))
    return [op.name for op in walk(kernel) if op.name == DOT] == [op.name for op in tiles] == [DOT]


def _used_shared_memory(kernel: Operation, loop: Operation, gone: set[Operation], job: Job) -> int:
    """Bytes not available to a ring of this loop: other rings, and scratch that is live at the same time, but for operations that are ``gone``
    then.
    """
    rings = [as_op(op) for op in walk(kernel) if op.name == "nv_tileas.alloc_tensor"]
    live_ranges = [LiveRange.of(ring) for ring in rings]
    concurrent = {op for op in walk(kernel) if any(live_range.covers(op) for live_range in live_ranges)}.union(
        walk(loop)
    ) - gone
    small = STAGES_SMEM_OVERHEAD * sum(op.name == CreatePipelineOp.name for op in walk(kernel))
    return (
        sum(ring.result.type.size_bytes for ring in rings_of_loops(rings)[0])
        + small
        + largest_scratch(concurrent, job, chunk_limit(kernel))
    )


def _is_simple(block: Block) -> bool:
    """Whether nothing writes memory, and the only terminator is the ``continue`` at the end."""
    last = block.last_op
    if last is None or not is_continue(last):
        return False
    acts = (op for op in walk(block) if has_side_effects(op) and not isinstance(op, BarrierOp))
    exits = (op for op in walk(block) if (is_loop_exit(op) or is_return(op)) and op is not last)
    return not any(acts) and not any(exits)
