"""Software-pipeline the operand loads of dots through a ring of buffers in shared memory (cp.async).

In:    counted loops in which tiles are loaded from views and converted to an operand of a dot or to its scales.
Out:   the loads are asynchronous copies, several iterations ahead, into nv_tileas.alloc_tensor rings; the operands are
       read by local_load (ldmatrix where the placement allows). Each iteration waits for its stage, meets at one
       barrier, and starts the copy of the stage that the last iteration freed: after its first dot, where there
       are more than two stages. Where no two stages fit, the operands of one dot are copied while another is
       computed, and next to each dot stand a wait and a barrier. ``occupancy`` on a kernel of one dot in a loop
       of nothing else, where several CTAs have registers and stages and no copy ends inside a vector: told so, ptxas
       leaves each its registers.
After: assign_layouts (operand fragments are known). Before: allocate_shared_memory (rings need shared memory).
Sound: a loop is changed only if nothing in it writes memory, so a load may move before earlier iterations; a copy that
       would run past the last iteration is disabled and leaves zeros in a stage that no one reads; its place is computed
       without a division by 0 (``speculated.py``). A stage is overwritten after the barrier that follows its last reading:
       a loop inside another one starts with a barrier.
       A load of a loop in which threads synchronize is copied ahead only if its memory token has it wait for nothing.
       With one stage, the barrier after a dot comes before any copy to the operands of another, hence after all
       that read them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...ir.casting import as_op
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import BarrierOp, CreatePipelineOp
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import has_side_effects, is_continue, is_counted_loop, is_loop_exit, is_return
from ..analysis.buffer_liveness import LiveRange
from ..analysis.enclosing_control_flow import enclosing_kernel
from ..analysis.op_queries import is_tile
from ..analysis.resource_model import MAX_CP_ASYNC_STAGES, MIN_STAGES, STAGES_SMEM_OVERHEAD, choose_stages, ctas_per_sm
from ..analysis.scratch_memory_sizes import largest_scratch
from ..common.optimization_hints import hint, occupancy
from ..job import Job
from ..pass_manager import EdgePass
from .software_pipelining.cp_async_loads import CpAsyncLoad, cp_async_load
from .software_pipelining.multi_dot_prefetch_loop import SingleStageLoop
from .software_pipelining.multistage_loop import MultistageLoop

DOT = "nv_tileas.dot"


class SoftwarePipelineLoads(EdgePass):
    """Multistage cp.async pipelines for the loops of dots."""

    name = "tileas-software-pipeline-loads"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in walk(module):
            if is_counted_loop(op):
                _pipeline(op, job)


def _pipeline(loop: TableOp, job: Job) -> None:
    block = loop.regions[0].blocks[0]
    if not _is_simple(block):
        return
    kernel = as_op(enclosing_kernel(loop))
    num_warps = kernel.num_warps
    loads = [found for op in block.ops if (found := cp_async_load(op, block, num_warps)) is not None]
    if not loads:
        return
    stages, ctas = _choose_stages(kernel, loop, loads, job)
    if stages >= MIN_STAGES:
        if ctas > 1 and occupancy(kernel, job) is None and _only_feeds_dots(kernel, block, loads):
            kernel.occupancy = ctas
        return MultistageLoop(loop, loads, stages).run()
    operands = [load for load in loads if not load.is_scale]
    if operands and (stages := _choose_stages(kernel, loop, operands, job)[0]) >= MIN_STAGES:
        MultistageLoop(loop, operands, stages).run()
    elif stages and len({operand.dot for operand in operands}) > 1:
        SingleStageLoop(loop, operands).run()


def _choose_stages(kernel: Operation, loop: Operation, loads: list[CpAsyncLoad], job: Job) -> tuple[int, int]:
    """As many stages as hide the latency and fit beside the other shared memory of the loop; and the CTAs that fit
    then.
    """
    latencies = [latency for one in loads if (latency := hint(one.load, job, "latency"))]
    most = max(max(latencies) + 1, MIN_STAGES) if latencies else MAX_CP_ASYNC_STAGES
    size, taken = sum(load.bytes for load in loads), _used_shared_memory(kernel, loop, loads, job)
    stages, ctas = choose_stages(size, taken, ctas_per_sm(kernel, loop, job), job)
    available = job.target.shared_memory_of(ctas) - taken
    # What a group of iterations loads is there once.
    while stages < most and sum(load.bytes * load.tiles(stages + 1) for load in loads) <= available:
        stages += 1
    return min(stages, most), ctas


def _only_feeds_dots(kernel: Operation, block: Block, loads: list[CpAsyncLoad]) -> bool:
    """Whether a kernel has one dot, and its loop loads only whole vectors for it. A count of valid bytes per copy needs
    more registers.
    """
    if any(load.has_boundary_tile for load in loads):
        return False
    moved = {op for load in loads for op in (load.load, *load.chain)}
    tiles = (op for op in block.ops if op not in moved and any(map(is_tile, op.results)))
    return [op.name for op in walk(kernel) if op.name == DOT] == [op.name for op in tiles] == [DOT]


def _used_shared_memory(kernel: Operation, loop: Operation, loads: list[CpAsyncLoad], job: Job) -> int:
    """Bytes not available to a ring of this loop: other rings, and scratch that is live at the same time."""
    rings = [as_op(op) for op in walk(kernel) if op.name == "nv_tileas.alloc_tensor"]
    lives = [LiveRange.of(ring) for ring in rings]
    gone = {op for load in loads for op in load.chain}
    beside = {op for op in walk(kernel) if any(life.covers(op) for life in lives)}.union(walk(loop)) - gone
    small = STAGES_SMEM_OVERHEAD * sum(op.name == CreatePipelineOp.name for op in walk(kernel))
    return sum(ring.result.type.size_bytes for ring in rings) + small + largest_scratch(beside, job)


def _is_simple(block: Block) -> bool:
    """Whether nothing writes memory, and the only terminator is the ``continue`` at the end."""
    last = block.last_op
    if last is None or not is_continue(last):
        return False
    acts = (op for op in walk(block) if has_side_effects(op) and not isinstance(op, BarrierOp))
    exits = (op for op in walk(block) if (is_loop_exit(op) or is_return(op)) and op is not last)
    return not any(acts) and not any(exits)
