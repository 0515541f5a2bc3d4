"""What a kernel uses of an SM, and what fits: warps, registers, CTAs per SM, stages in shared memory.

Every pass that chooses something by its cost asks here, so that what one leaves free is what a later one finds. Limits
of the hardware are the target's; constants here are choices, each with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.casting import as_op, parent_op
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint, occupancy
from ..job import Job
from ..mma.family import Storage, fastest_family
from .dot_loop_registers import live_tile_registers

# ---- warps -----------------------------------------------------------------------------------------
# Elements of the largest tile -> warps. A tile of 1,024 gives each of 128 threads two 16-byte accesses of f32; past 8,192
# elements a thread would hold more than 64 of them.
WARP_STEPS = ((256, 1), (512, 2), (8192, 4), (32768, 8))
# The same of kernels that reduce and multiply no matrices: what a reduction costs beside its elements, shuffles, a barrier
# and the shared memory between warps, is paid by each warp, so each has more of them.
REDUCTION_WARP_STEPS = ((1024, 1), (4096, 2), (8192, 4), (16384, 8))
MAX_WARPS = 16
# Fewer warps than this leave nothing to set one aside for.
MIN_WARPS = 4


def choose_warps(func: Operation, job: Job) -> int:
    """The number of warps (a power of two) for the largest tile of a kernel: its tiles stay in registers, and no more
    warps than there is work for. What a pass has chosen for the kernel stays.
    """
    if (chosen := as_op(func).num_warps) is not None:
        return chosen
    operations = walk(func)
    types = {id(result._type): result._type for op in operations for result in op.results}
    largest = max(map(_size, types.values()), default=1)
    steps = REDUCTION_WARP_STEPS if reduces_only(operations) else WARP_STEPS
    return next((warps for limit, warps in steps if largest <= limit), MAX_WARPS)


def reduces_only(operations: Sequence[Operation]) -> bool:
    """Whether a kernel of these operations reduces tiles and multiplies none."""
    names = {op.name for op in operations}
    return "nv_tileas.reduce" in names and "nv_tileas.dot" not in names


def _size(type: Attribute) -> int:
    return prod(type.get_shape()) if isinstance(type, TensorType) else 1


# ---- registers -------------------------------------------------------------------------------------
# From so many computing warps on registers are short: a whole warpgroup loads, and gives its own away.
MIN_WARPS_FOR_SETMAXNREG, WARPGROUP = 8, 4
# setmaxnreg takes from 24 to 256 (PTX ISA 9.0, section 9.7.20.5); a kernel's threads never have 256.
PRODUCER_REGISTERS, MAX_REGISTERS = 24, 240
# What one needs that copies scales beside 32 bytes of each of four lines, for each group that it loads at once: the lines'
# addresses, whether they are inside the array; it is given more, where there are more.
SCALE_LOAD_REG_OVERHEAD, SCALE_GROUP_REGISTERS, SCALE_LOAD_SPARE_REGISTERS = 32, 32, 16
# What a thread needs beside the accumulators of a warpgroup's dot: descriptors, addresses, counters of the ring.
ASYNC_MMA_REG_OVERHEAD = 26
# And beside the accumulators of a warp's: operands of the dot at hand, addresses, indices.
SYNC_MMA_REG_OVERHEAD = 64
# And beside the fragments of two steps: addresses of copies, of stages and of global memory, the loop's counters.
FRAGMENT_REG_OVERHEAD = 48


def uses_setmaxnreg(func: Operation, job: Job, warps: int) -> bool:
    """Whether threads that load give registers to those that compute.

    Not where several CTAs share them, nor where mma.sync multiplies and its tiles fit into what all threads start with;
    but always where a thread holds a whole row of scores, or the kernel says so.
    """
    if as_op(func).uses_setmaxnreg or any(op.name == "nv_tileas.dot" and as_op(op).rescaled for op in walk(func)):
        return True
    if warps < MIN_WARPS_FOR_SETMAXNREG or not job.target.has("setmaxnreg") or (occupancy(func, job) or 1) > 1:
        return False
    if Storage.SHARED in fastest_family(job.target).b_storage:
        return True
    needed = _registers_needed(live_tile_registers(func, job.target, lambda dot: False), warps)
    return needed > _registers_at_launch(warps + WARPGROUP, job.target)


def setmaxnreg_split(
    warps: int, target: Target, ctas: int = 1, producer_registers: int = PRODUCER_REGISTERS
) -> list[int]:
    """Registers of a thread that loads (``apart``), and of one of ``warps`` warps that compute, of each of so many CTAs.

    No more than all threads were launched with, in whole units each: a thread waits in vain for others.
    """
    producer_warps, computing = WARP * WARPGROUP, WARP * warps
    left = (
        _registers_at_launch((WARPGROUP + warps) * ctas, target) * (producer_warps + computing)
        - producer_registers * producer_warps
    )
    return [producer_registers, min(_round_to_allocation_unit(left // computing, target), MAX_REGISTERS)]


def registers_allow_mma_warp(regs: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether beside two warps that compute nothing the others have registers for ``words`` 32-bit words."""
    if uses_setmaxnreg(func, job, warps):
        return True
    return _registers_needed(regs, warps) <= _registers_at_launch((warps + 2) * (occupancy(func, job) or 1), job.target)


def scale_load_registers(groups: int, regs: int, func: Operation, job: Job, warps: int) -> int | None:
    """Registers of each thread of a warpgroup that copies so many groups of scales at once, beside ``warps`` that compute.

    None where it, or they for ``words`` 32-bit words, have too few.
    """
    ctas, needed = occupancy(func, job) or 1, SCALE_LOAD_REG_OVERHEAD + SCALE_GROUP_REGISTERS * groups
    launched = _registers_at_launch((warps + WARPGROUP) * ctas, job.target)
    own = others = min(launched, needed + SCALE_LOAD_SPARE_REGISTERS)
    if uses_setmaxnreg(func, job, warps):
        others = setmaxnreg_split(warps, job.target, ctas, own)[1]
    return own if own >= needed and _registers_needed(regs, warps) <= others else None


def registers_allow_fragment_prefetch(kernel: TableOp, dot: TableOp, registers: int, job: Job) -> bool:
    """Whether threads have the fragments of two steps of a dot in registers, of so many each, beside its accumulator.

    Of each CTA that shares an SM, as far as rings leave them shared memory.
    """
    needed = _registers_per_thread(dot.result) + 2 * registers + FRAGMENT_REG_OVERHEAD
    if kernel.partition_registers is not None:
        return needed <= kernel.partition_registers[1]
    warps = kernel.num_warps + (kernel.producer_warps or 0)
    ctas = min(ctas_per_sm(kernel, parent_op(dot), job), _ctas_by_stage_buffers(kernel, job.target))
    return needed <= _registers_at_launch(warps * ctas, job.target)


def _ctas_by_stage_buffers(kernel: Operation, target: Target) -> int:
    """CTAs of an SM that have shared memory for the rings of a kernel."""
    taken = sum(as_op(op).result.type.size_bytes for op in walk(kernel) if op.name == "nv_tileas.alloc_tensor")
    return next((ctas for ctas in range(MAX_CTAS_PER_SM, 1, -1) if taken <= target.shared_memory_of(ctas)), 1)


def accumulators_fit(regs: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether the threads that compute have registers for a tile of so many 32-bit words, beside all else."""
    if not uses_setmaxnreg(func, job, warps):
        return registers_fit(regs, warps, occupancy(func, job) or 1, job.target)
    return registers_fit_with_setmaxnreg(regs, warps, occupancy(func, job) or 1, job.target)


def live_registers_fit(regs: int, warps: int, target: Target) -> bool:
    """Whether the threads of a CTA that has an SM to itself may have registers for as many 32-bit words."""
    divides = warps >= MIN_WARPS_FOR_SETMAXNREG and target.has("setmaxnreg")
    return registers_fit(regs, warps, 1, target) or (divides and registers_fit_with_setmaxnreg(regs, warps, 1, target))


def registers_fit_with_setmaxnreg(regs: int, warps: int, ctas: int, target: Target) -> bool:
    """``registers_fit`` where threads that load give registers away."""
    return _registers_needed(regs, warps) <= setmaxnreg_split(warps, target, ctas)[1]


def registers_fit(regs: int, warps: int, ctas: int, target: Target) -> bool:
    """Whether each of so many CTAs of an SM, with a loading warp where there is one, has registers for as many
    32-bit words."""
    return _registers_needed(regs, warps) <= _registers_at_launch((warps + target.has("tma")) * ctas, target)


def _registers_at_launch(warps: int, target: Target) -> int:
    """Registers with which each thread of so many warps of an SM can start."""
    return min(target.sm_limits.registers_of(warps), MAX_REGISTERS)


def _round_to_allocation_unit(registers: int, target: Target) -> int:
    unit = target.sm_limits.register_unit
    return registers // unit * unit


def _registers_needed(regs: int, warps: int) -> int:
    """Registers of a thread for its share of so many 32-bit words, and all else."""
    return regs // (WARP * warps) + ASYNC_MMA_REG_OVERHEAD


# ---- CTAs of an SM ----------------------------------------------------------------------
MAX_CTAS_PER_SM = 2  # a third hides less than more stages do


def ctas_per_sm(kernel: Operation, loop: Operation | Block, job: Job) -> int:
    """CTAs that share an SM: what the kernel's hint asks for, else what its accumulators leave registers for."""
    if requested := occupancy(kernel, job):
        return requested
    accumulators = sum(_registers_per_thread(op.results[0]) for op in walk(loop) if op.name == "nv_tileas.dot")
    return _ctas_by_accumulators(accumulators, as_op(kernel).num_warps + as_op(kernel).producer_warps, job)


def estimated_ctas_per_sm(kernel: Operation, job: Job) -> int:
    """The same of a kernel's dots before tiles have layouts and partitions their warps: at least as many."""
    if requested := occupancy(kernel, job):
        return requested
    warps = choose_warps(kernel, job)
    regs = sum(_size(op.results[0].type) for op in walk(kernel) if op.name == "nv_tileas.dot")
    producer_warps = WARPGROUP if uses_setmaxnreg(kernel, job, warps) else 1
    return _ctas_by_accumulators(regs // (WARP * warps), warps + producer_warps, job)


def _ctas_by_accumulators(accumulators: int, warps: int, job: Job) -> int:
    taken = WARP * warps * (accumulators + SYNC_MMA_REG_OVERHEAD)
    return max(1, min(MAX_CTAS_PER_SM, job.target.sm_limits.registers // taken))


def _registers_per_thread(tile: SSAValue) -> int:
    """Of a thread, for its elements of a tile; small ones may have one each."""
    return layout_of(tile).num_registers * max(1, element_of(tile.type).bits // 32)


# What a thread needs beside a row that waits for a reduction: the current values, addresses, accumulators.
REDUCED_ROW_REG_OVERHEAD = 40


def ctas_by_row_registers(regs: int, warps: int, target: Target) -> int:
    """CTAs of an SM whose threads have registers for so many 32-bit words of all of a CTA's threads."""
    limits, needed = target.sm_limits, regs // (WARP * warps) + REDUCED_ROW_REG_OVERHEAD
    most = min(limits.threads // (WARP * warps), limits.ctas)
    return next((ctas for ctas in range(most, 1, -1) if _registers_at_launch(warps * ctas, target) >= needed), 1)


# The same where a part of the row is spilled to shared memory, if more of it fits, and if not: computing and
# dividing elements takes more registers than waiting. What cannot be spilled leaves a thread so many.
SPILLED_ROW_REG_OVERHEAD, UNSPILLABLE_REG_OVERHEAD = (44, 40), 24


def ctas_worth_spilling_for(regs: int, func: Operation, job: Job) -> range:
    """CTAs per SM that are worth spilling for, the most first, where a thread has ``regs`` 32-bit registers live at once."""
    warps = choose_warps(func, job)
    most = hint(func, job, "occupancy") or job.target.sm_limits.memory_bound_ctas_per_sm
    have = next(
        (
            ctas
            for ctas in range(most, 0, -1)
            if registers_left(REDUCED_ROW_REG_OVERHEAD, warps, ctas, job.target) >= regs
        ),
        0,
    )
    return range(most, have, -1)


def registers_left(overhead: int, warps: int, ctas: int, target: Target) -> int:
    """32-bit words that each thread of so many CTAs of an SM has registers for, beside ``others``."""
    return _registers_at_launch(warps * ctas, target) - overhead


# ---- stages in shared memory -----------------------------------------------------------------------
MIN_STAGES = 2  # one fills while another is read
MAX_CP_ASYNC_STAGES = 4  # of all threads' copies: more hide no more latency
# Of TMA, as far as shared memory goes; where each stage has columns of tensor memory for its scales, too, those are short.
MAX_TMA_STAGES, MAX_BLOCK_SCALED_STAGES = 16, 6
# Bytes beside the stages of a ring: mbarriers, and what aligning it may cost.
STAGES_SMEM_OVERHEAD = 1024


def min_stages(ctas: int) -> int:
    """Of each of so many CTAs that share an SM: where another one computes meanwhile, one is enough."""
    return max(1, MIN_STAGES // ctas)


def two_stages_fit(size: int, job: Job, k_splits: int = 1, used_bytes: int = 0) -> bool:
    """Whether a CTA has shared memory for the fewest stages of ``size`` bytes, each cut into ``parts``, beside ``taken`` ones."""
    return MIN_STAGES * size // k_splits + STAGES_SMEM_OVERHEAD + used_bytes <= job.target.max_shared_memory


def max_stages(dot: TableOp) -> int:
    """The most stages of the tiles that TMA loads for a dot."""
    return MAX_TMA_STAGES if dot.lhs_scale is None else MAX_BLOCK_SCALED_STAGES


def choose_stages(size: int, used_bytes: int, ctas: int, job: Job, min_stages: int = MIN_STAGES) -> tuple[int, int]:
    """(stages of ``size`` bytes beside ``taken`` ones, CTAs that have them): fewer CTAs rather than less than the ``least``.

    Less than that where so many do not fit.
    """
    stages = 0
    for count in range(ctas, 0, -1):
        stages = max(0, (job.target.shared_memory_of(count) - used_bytes) // size)
        if stages >= min_stages:
            return stages, count
    return stages, 1
