"""What limits the stages of a mainloop: the latency that they hide, and the shared memory of block scales beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from ....ir.casting import parent_block
from ....ir.dialects.op_definition import TableOp
from ....target.sm_limits import WARP
from ....target.targets import Target
from ...analysis.loop_trips import are_short
from ...analysis.peak_registers import peak_of_block
from ...analysis.resource_model import (
    MAX_CP_ASYNC_STAGES,
    MIN_STAGES,
    STAGES_SMEM_OVERHEAD,
    max_copied_stages,
    max_stages,
    min_stages,
    registers_at_launch,
)
from ...analysis.scale_stage_counts import smem_scale_groups
from ...analysis.scratch_memory_sizes import STAGE_ALIGNMENT
from ...common.llvm_element_types import element_of
from ..shared_memory_of_dots import loops_in_turn
from .pipelines import Mainloop


def min_stages_of(mainloop: Mainloop, ctas: int, warps: int, target: Target, *, has_others: bool) -> int:
    """The stages that hide the latency of copies; those by TMA start only when an MMA has released a stage. The first load of short loops
    is not hidden by more of them, but by other CTAs per SM, nor is that of a dot before the loop (``has_others``), where threads compute
    operands in each iteration.
    """
    if mainloop.dot.copied:
        return MAX_CP_ASYNC_STAGES
    waits = has_others and _computes_in_few_registers(
        mainloop, warps, registers_at_launch(warps * ctas, target), target
    )
    return min_stages(ctas) if waits or are_short(mainloop.loops) else MIN_STAGES


def _computes_in_few_registers(mainloop: Mainloop, warps: int, registers: int, target: Target) -> bool:
    """Whether threads compute operands in each iteration, and half of so many registers hold the tiles from which they do."""
    computes = any(not operand.is_invariant for operand in mainloop.stored)
    return computes and 2 * peak_of_block(parent_block(mainloop.dot), target) <= WARP * warps * registers


def max_stages_of(mainloop: Mainloop) -> int:
    if not mainloop.dot.copied:
        return max_stages(mainloop.dot)
    return max_copied_stages(bool(mainloop.loads))


def stages_of_rings(firsts: Sequence[Mainloop], stages: int, left: int) -> dict[Mainloop, int]:
    """The stages of each ring, by its first reader: ``stages``, or one more where so many bytes are ``left``. Of a single one the next tile
    is loaded only when MMAs have read this one. Of two the last of several dots that read a stage may be an iteration behind the first
    (``rotate_mma_loop.py``), which would wait for a load otherwise.
    """
    counts = dict.fromkeys(firsts, stages)
    for first in firsts:
        is_short = stages < MIN_STAGES or (stages == MIN_STAGES and len(first.readers) > 1)
        if is_short and first.stage_bytes <= left:
            counts[first] += 1
            left -= first.stage_bytes
    return counts


def bytes_of_loaded_scales(mainloop: Mainloop) -> int:
    """Shared memory for the block scales that scale load warps load for a dot."""
    bytes = (copy.columns.placement.size_bytes for copy in mainloop.scale_loads)
    return STAGES_SMEM_OVERHEAD + sum(mainloop.scale_groups * size for size in bytes)


def bytes_of_copied_scales(dot: TableOp) -> int:
    """Shared memory for the rings of scales that all threads copy ahead (SoftwarePipelineLoads)."""
    scales = [] if dot.lhs_scale is None else [dot.lhs_scale, dot.rhs_scale]
    bytes = (prod(value.type.get_shape()) * element_of(value.type).bytes for value in scales)
    groups = smem_scale_groups(dot.scale_steps, MAX_CP_ASYNC_STAGES)
    return sum(-(-groups * size // STAGE_ALIGNMENT) * STAGE_ALIGNMENT for size in bytes)


def bytes_written_in_turn(groups: Sequence[Sequence[Mainloop]], func: Operation) -> int:
    """The bytes that tiles of loops one after another have in common, where stages are placed by live ranges (``disjoint_stages.py``).
    ``groups``: of mainloops that share buffers.
    """
    if not loops_in_turn([mainloop.loops for group in groups for mainloop in group], func):
        return 0
    written = Counter[TableOp]()
    for first in (group[0] for group in groups):
        written[first.loops[-1]] += first.written_bytes
    return written.total() - max(written.values())
