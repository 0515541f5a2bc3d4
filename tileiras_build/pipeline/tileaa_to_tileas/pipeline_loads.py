"""Load the operands of matrix products ahead of time, through a ring of buffers in shared memory.

In:    counted loops in which tiles are loaded from views and converted to an operand of a product or to its scales.
Out:   the loads are asynchronous copies, several iterations ahead, into nv_tileas.alloc_tensor rings; the operands are
       read by local_load (ldmatrix where the placement allows). Each iteration waits for its stage, meets at one
       barrier, and starts the copy of the stage that the last iteration freed. Where no two stages fit, the operands
       of one product are copied while another is computed, and next to each product stand a wait and a barrier.
After: assign_layouts (operand fragments are known). Before: assign_scratch (rings need room).
Sound: a loop is changed only if nothing in it writes memory, so a load may move before earlier iterations; a copy that
       would run past the last iteration is disabled and leaves zeros in a stage that no one reads. A stage is
       overwritten after the barrier that follows its last reading: a loop inside another one starts with a barrier.
       A load of a loop in which threads meet is copied ahead only if its memory token has it wait for nothing.
       With one stage, the barrier after a product comes before any copy to the operands of another, hence after all
       that read them.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...dialects.nv_tileas.ops import BarrierOp, CreatePipelineOp
from ..analysis.operand_chains import ORDERED
from ..analysis.scratch_sizes import largest_scratch
from ..contracts import EdgePass
from ..job import Job
from ..shared.optimization_hints import hint, occupancy
from .choose_warps import REGISTER_FILE
from .copied_loads import CopiedLoad, copied_load
from .pipelined_loop import PipelinedLoop
from .rotated_loop import RotatedLoop
from .select_async import SMALL_BYTES

# A ring deeper than this hides no more latency; a third CTA on a multiprocessor hides less than more stages do.
MOST_STAGES, LEAST_STAGES, MOST_CTAS = 4, 2, 2
# Registers of a thread beside its accumulators: operands of the product at hand, addresses, indices.
OTHER_REGISTERS = 64


class PipelineLoads(EdgePass):
    """Multi-stage copies for the loops of products."""

    name = "tileas-pipeline-loads"

    def run(self, module: ModuleOp, job: Job) -> None:
        for op in list(module.walk()):
            if op.name == "nv_tileas.for":
                _pipeline(op, job)


def _pipeline(loop: Any, job: Job) -> None:
    block = loop.regions[0].blocks[0]
    if not _is_simple(block):
        return
    kernel = kernel_of(loop)
    num_warps = kernel.attributes["num_warps"].value.data
    loads = [found for op in block.ops if (found := copied_load(op, block, num_warps)) is not None]
    if not loads:
        return
    if (stages := _choose_stages(kernel, loop, loads, job)) >= LEAST_STAGES:
        return PipelinedLoop(loop, loads, stages).run()
    operands = [load for load in loads if not load.is_scale]
    if operands and (stages := _choose_stages(kernel, loop, operands, job)) >= LEAST_STAGES:
        PipelinedLoop(loop, operands, stages).run()
    elif stages and len({operand.product for operand in operands}) > 1:
        RotatedLoop(loop, operands).run()


def _choose_stages(kernel: Operation, loop: Operation, loads: list[CopiedLoad], job: Job) -> int:
    """As many stages as shared memory holds for the CTAs that fit by registers; fewer CTAs rather than one stage."""
    latencies = [latency for one in loads if (latency := hint(one.load, job, "latency"))]
    most = max(latencies) + 1 if latencies else MOST_STAGES
    size = sum(load.bytes for load in loads)
    taken = _taken(kernel, loop, loads, job)
    for ctas in range(resident_ctas(kernel, loop, job), 0, -1):
        stages = (job.target.max_shared_memory // ctas - taken) // size
        if stages >= LEAST_STAGES:
            return max(min(stages, most), LEAST_STAGES)
    return int(taken + size <= job.target.max_shared_memory)


def resident_ctas(kernel: Operation, loop: Operation, job: Job) -> int:
    """CTAs that share a multiprocessor: what the kernel's hint asks for, else what its accumulators leave registers for."""
    if asked := occupancy(kernel, job):
        return asked
    warps = (kernel.attributes[key].value.data for key in ("num_warps", "producer_warps") if key in kernel.attributes)
    threads = 32 * sum(warps)
    products = [op for op in loop.walk() if op.name == "nv_tileas.dot"]
    accumulators = sum(op.result.type.encoding.data.num_registers for op in products)
    return max(1, min(MOST_CTAS, REGISTER_FILE // (threads * (accumulators + OTHER_REGISTERS))))


def _taken(kernel: Operation, loop: Operation, loads: list[CopiedLoad], job: Job) -> int:
    """Bytes that a ring of this loop must leave: rings of other loops, and scratch that is used while it turns."""
    rings = sum(op.result.type.size_bytes for op in kernel.walk() if op.name == "nv_tileas.alloc_tensor")
    gone = {op for load in loads for op in load.chain}
    small = SMALL_BYTES * sum(op.name == CreatePipelineOp.name for op in kernel.walk())
    return rings + small + largest_scratch((op for op in loop.walk() if op not in gone), job)


def kernel_of(op: Operation) -> Operation:
    """The function around an operation."""
    while op.name != "nv_tileaa.func":
        op = op.parent_op()
    return op


def _is_simple(block: Block) -> bool:
    """Nothing writes memory, and the only way on is the ``continue`` at the end."""
    last = block.last_op
    if last is None or last.name != "nv_tileas.continue":
        return False
    exits = ("nv_tileas.continue", "nv_tileas.break")
    acts = ORDERED - {BarrierOp.name}
    return not any(op.name in acts or (op.name in exits and op is not last) for op in block.walk())
