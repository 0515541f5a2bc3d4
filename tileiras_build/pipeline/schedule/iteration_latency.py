"""How long an iteration of a loop without dots computes, and whether a thread may load for the next one meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...ir.casting import as_op, int_attr, tile_size, unwrap
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...target.gpu_models import GpuModel
from ...target.gpu_rates import SM_PARTITIONS
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..analysis.op_queries import REDUCE, operations_behind
from ..analysis.resource_model import (
    MIN_OWN_STAGES,
    MIN_STAGES,
    ctas_beside_own_stages,
    has_rows_in_loop,
    is_program_dependent,
)
from ..analysis.unrolled_loops import is_unrolled
from ..common.llvm_element_types import element_of
from ..job import Job
from .cost import default_gpu
from .kernel import work_of_iteration

# Registers of a thread for one tile of the next iteration. By `estimate` on sm_100: 0.76 to 0.95 of the clocks of stages for recurrences with up to
# 4; rows with 8 take 1.3 of them.
MAX_ELEMENTS_AHEAD = 4
# Clocks of a reduction with one result, and, times those of its rate, of each shuffle with the operation on what it returns: from `estimate` of
# recurrences and losses, whose iterations take 0.9 to 1.7 of both together.
LATENCY_OF_ONE_RESULT, CLOCKS_OF_SHUFFLE = 125, 2


def loads_next_iteration(loop: TableOp, loads: Sequence[TableOp], kernel: TableOp, job: Job) -> bool:
    """Whether threads load for the next iteration of a loop, to registers, and need no stages: few elements, which arrive while they compute
    with what the last one has left, as the CTAs of an SM load less than DRAM delivers. The launch of a loop over rows has few CTAs, which should load more.
    """
    if is_unrolled(loop, loads) or any(layout_of(load.value).num_registers > MAX_ELEMENTS_AHEAD for load in loads):
        return False
    if (
        is_program_dependent(loop.lower)
        or not _waits_for_the_last_one(loop)
        or not takes_as_long_as_a_load(loop, kernel.num_warps, job.target)
    ):
        return False
    gpu, ctas = unwrap(default_gpu(job.target)), ctas_beside_own_stages(kernel, loop, job)
    loaded = ctas * sum(tile_size(load.value) * element_of(load.value.type).bytes for load in loads)
    return loaded <= _clocks(loop, kernel.num_warps, job.target, gpu) * gpu.dram_bytes / gpu.sm_count


def _waits_for_the_last_one(loop: TableOp) -> bool:
    """Whether all reductions of an iteration follow from what the loop carries, as those of recurrences do."""
    block = loop.regions[0].blocks[0]
    reductions, carried = [as_op(op) for op in block.ops if op.name == REDUCE], set(block.args[1:])
    behind = ([op, *operations_behind(op.sources, block)] for op in reductions)
    return bool(reductions) and all(any(carried.intersection(op.operands) for op in ops) for ops in behind)


def least_own_stages(loop: Operation, kernel: TableOp, target: Target) -> int:
    """The fewest stages of a loop that each thread reads itself: copies one iteration ahead suffice where they arrive while it computes, and
    other CTAs hide what they lack under load. The launch of a loop over rows may have none.
    """
    if has_rows_in_loop(kernel, walk(kernel)) or not takes_as_long_as_a_load(loop, kernel.num_warps, target):
        return MIN_OWN_STAGES
    return MIN_STAGES


def takes_as_long_as_a_load(loop: Operation, warps: int, target: Target) -> bool:
    """Whether a CTA alone computes an iteration for as long as DRAM takes to deliver what it loads for the next one; False for a target
    without published latencies.
    """
    gpu = default_gpu(target)
    return gpu is not None and _clocks(loop, warps, target, gpu) >= gpu.dram_latency


def _clocks(loop: Operation, warps: int, target: Target, gpu: GpuModel) -> float:
    """Clocks in which a CTA alone computes an iteration: instructions on elements, and reductions, one after the other."""
    instructions = work_of_iteration(loop, target) / (WARP * min(warps, SM_PARTITIONS))
    reductions = [as_op(op) for op in loop.regions[0].blocks[0].ops if op.name == REDUCE]
    shuffled = CLOCKS_OF_SHUFFLE * WARP * warps * sum(map(_shuffles, reductions)) / gpu.rates.shuffle
    return instructions + LATENCY_OF_ONE_RESULT * len(reductions) + shuffled


def _shuffles(reduction: TableOp) -> int:
    """Instructions of a warp that exchange what its lanes have of each result."""
    layout = layout_of(reduction.sources[0]).distinct_registers()[0]
    along = layout.bits_along(int_attr(reduction, "axis"))
    results = layout.num_registers >> along["register"].bit_count()
    return len(reduction.sources) * results * along["lane"].bit_count()
