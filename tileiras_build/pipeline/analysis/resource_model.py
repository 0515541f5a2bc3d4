"""The resources that a kernel uses of an SM, and what fits: warps, registers, CTAs per SM, stages in shared memory.

All cost-based choices of passes use this module, so that passes agree about the remaining resources. Hardware limits
are the target's; constants here are choices, each with its reason.
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
from ...ir.dialects.op_traits import is_atomic_rmw, is_counted_loop, is_function
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint, occupancy
from ..job import Job
from ..mma.family import Storage, fastest_family
from ..schedule.schedule_attribute import schedule_of
from ..schedule.schedule_file import requested
from .chained_dots import has_scores
from .dot_loop_registers import live_tile_registers
from .op_queries import DOT, REDUCE, dots_in, is_outside

# ---- warps -----------------------------------------------------------------------------------------
PROGRAM_ID, STORES = "nv_tileas.get_program_id", ("nv_tileas.store", "nv_tileas.tiled_store")
# Elements of the largest tile -> warps. With 1,024 elements, each of 128 threads has two 16-byte accesses of f32; above
# 8,192 elements, a thread would hold more than 64 of them.
WARP_STEPS = ((256, 1), (512, 2), (8192, 4), (32768, 8))
# The same for kernels with reductions and without dots: the fixed cost of a reduction (shuffles, a barrier, shared
# memory between warps) is per warp, so each warp has more elements.
REDUCTION_WARP_STEPS = ((1024, 1), (4096, 2), (8192, 4), (16384, 8))
# The same for kernels whose loop has a row in each iteration: the launch has a few CTAs per SM, whose warps alone hide the
# latency of loads and reductions. Threads have at least four elements.
PERSISTENT_ROW_WARP_STEPS = ((256, 1), (512, 2), (16384, 8))
# Elements of the largest tile that atomics update -> warps: ptxas branches around an atomic under a predicate, and waits for each
# before the next, so that a thread has one where CTAs stay small.
ATOMIC_WARP_STEPS, MOST_WARPS_OF_ATOMICS = ((32, 1), (64, 2), (128, 4)), 8
MAX_WARPS = 16
# With fewer warps, none can be reserved for the producer.
MIN_WARPS = 4


def choose_warps(func: Operation, job: Job) -> int:
    """The number of warps (a power of two) for the largest tile of a kernel: its tiles stay in registers, and no warp
    is idle.

    A number that was requested or already chosen is kept.
    """
    if (chosen := as_op(func).num_warps or schedule_of(func).num_warps) is not None:
        return chosen
    operations = walk(func)
    largest = _largest_type(operations)
    size = 1 if largest is None else _size(largest)
    if not reduces_only(operations):
        return max(_warps_of_step(WARP_STEPS, size), _warps_of_atomics(operations))
    warps = _warps_of_step(REDUCTION_WARP_STEPS, size)
    if largest is None or max(_shape(largest), default=1) < size or not has_rows_in_loop(func, operations):
        return warps
    shared_by = hint(func, job, "occupancy") or 1
    most = max(1, job.target.sm_limits.threads // (WARP * shared_by))
    return max(warps, min(_warps_of_step(PERSISTENT_ROW_WARP_STEPS, size), 1 << most.bit_length() - 1))


def _warps_of_atomics(operations: Sequence[Operation]) -> int:
    """The number of warps for the largest tile that atomics update in a kernel without dots; 1 where there is none."""
    if any(op.name == DOT for op in operations):
        return 1
    size = max((_size(as_op(op).value.type) for op in operations if is_atomic_rmw(op)), default=1)
    return next((warps for limit, warps in ATOMIC_WARP_STEPS if size <= limit), MOST_WARPS_OF_ATOMICS)


def largest_tile(operations: Sequence[Operation]) -> int:
    """Elements of the largest tile."""
    largest = _largest_type(operations)
    return 1 if largest is None else _size(largest)


def _largest_type(operations: Sequence[Operation]) -> Attribute | None:
    types = [result.type for op in operations for result in op.results]
    return max({id(type): type for type in types}.values(), key=_size, default=None)


def warps_of_tile(size: int) -> int:
    """The number of warps for a tile of so many elements in a kernel with dots."""
    return _warps_of_step(WARP_STEPS, size)


def _warps_of_step(steps: Sequence[tuple[int, int]], size: int) -> int:
    return next((warps for limit, warps in steps if size <= limit), MAX_WARPS)


def has_rows_in_loop(func: Operation, operations: Sequence[Operation]) -> bool:
    """Whether a loop over rows from the CTA's number on, that the kernel itself has, reduces and stores a row in each iteration."""
    loops = [op for op in operations if is_counted_loop(op) and _counts_from_program(op)]
    return "persistent_axes" not in func.attributes and any(
        REDUCE in (names := {op.name for op in walk(loop)}) and not names.isdisjoint(STORES) for loop in loops
    )


def _counts_from_program(loop: Operation) -> bool:
    """Whether a loop's counter, or what is added to it, begins with the CTA's number."""
    block = loop.regions[0].blocks[0]
    additions = (op for op in block.ops if op.name == "arith.addi" and block.args[0] in op.operands)
    return is_program_dependent(loop.operands[0]) or any(
        is_program_dependent(value) for op in additions for value in op.operands if is_outside(value, block)
    )


def is_program_dependent(value: SSAValue) -> bool:
    """Whether a value is computed from the CTA's number, or in a loop that is."""
    waiting, seen = [value], set[SSAValue]()
    while waiting:
        if (value := waiting.pop()) in seen:
            continue
        seen.add(value)
        op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        if op is None or op.name == PROGRAM_ID:
            return op is not None
        waiting += [] if is_function(op) else op.operands
    return False


def reduces_only(operations: Sequence[Operation]) -> bool:
    """Whether a kernel with these operations has reductions and no dots."""
    names = {op.name for op in operations}
    return REDUCE in names and DOT not in names


def _shape(type: Attribute) -> tuple[int, ...]:
    return tuple(type.get_shape()) if isinstance(type, TensorType) else ()


def _size(type: Attribute) -> int:
    return prod(_shape(type))


# ---- registers -------------------------------------------------------------------------------------
# From this many compute warps on, registers are scarce: a whole warpgroup loads, and releases its registers.
MIN_WARPS_FOR_SETMAXNREG, WARPGROUP = 8, 4
# setmaxnreg accepts 24 to 256 (PTX ISA 9.0, section 9.7.20.5); a kernel's threads never have 256.
PRODUCER_REGISTERS, MAX_REGISTERS = 24, 240
# Registers of a thread that copies scales besides 32 bytes of each of four lines, for each group that it loads at once:
# the lines' addresses and bounds predicates; it gets more, if available.
SCALE_LOAD_REG_OVERHEAD, SCALE_GROUP_REGISTERS, SCALE_LOAD_SPARE_REGISTERS = 32, 32, 16
# Registers of a thread besides the accumulators of a warpgroup's dot: descriptors, addresses, pipeline counters.
ASYNC_MMA_REG_OVERHEAD = 26
# Registers besides the accumulators of a warp's dot: operands of the current dot, addresses, indices.
SYNC_MMA_REG_OVERHEAD = 64
# Registers besides the fragments of two steps: addresses of copies, of stages and of global memory, loop counters.
FRAGMENT_REG_OVERHEAD = 48


def uses_setmaxnreg(func: Operation, job: Job, warps: int) -> bool:
    """Whether producer threads release registers to consumer threads.

    Not if several CTAs share an SM, or if mma.sync tiles fit in the registers at launch; but always if a thread holds a
    whole row of scores, or the kernel requests it.
    """
    if schedule_of(func).setmaxnreg or any(dot.rescaled for dot in dots_in(func)):
        return True
    if warps < MIN_WARPS_FOR_SETMAXNREG or not job.target.has("setmaxnreg") or (occupancy(func, job) or 1) > 1:
        return False
    if Storage.SHARED in fastest_family(job.target).b_storage:
        return True
    regs = live_tile_registers(func, fastest_family(job.target), lambda dot: False)
    overhead = SYNC_MMA_REG_OVERHEAD if has_scores(func) else ASYNC_MMA_REG_OVERHEAD
    return regs // (WARP * warps) + overhead > registers_at_launch(warps + WARPGROUP, job.target)


def setmaxnreg_split(
    warps: int, target: Target, ctas: int = 1, producer_registers: int = PRODUCER_REGISTERS
) -> list[int]:
    """Registers of a producer thread, and of a thread of ``warps`` compute warps, for ``ctas`` CTAs per SM.

    The total does not exceed the registers at launch, in whole allocation units: a thread would wait forever for more.
    """
    producer_warps, computing = WARP * WARPGROUP, WARP * warps
    left = (
        registers_at_launch((WARPGROUP + warps) * ctas, target) * (producer_warps + computing)
        - producer_registers * producer_warps
    )
    return [producer_registers, min(_round_to_allocation_unit(left // computing, target), MAX_REGISTERS)]


def registers_allow_mma_warp(regs: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether, besides two non-compute warps, the compute warps have registers for ``regs`` 32-bit words."""
    if uses_setmaxnreg(func, job, warps):
        return True
    return registers_needed(regs, warps) <= registers_at_launch((warps + 2) * (occupancy(func, job) or 1), job.target)


def scale_load_registers(groups: int, regs: int, func: Operation, job: Job, warps: int) -> int | None:
    """Registers of each thread of a warpgroup that copies ``groups`` groups of scales at once, besides ``warps``
    compute warps.

    None if it, or the compute warps for ``regs`` 32-bit words, have too few.
    """
    ctas, needed = occupancy(func, job) or 1, SCALE_LOAD_REG_OVERHEAD + SCALE_GROUP_REGISTERS * groups
    launched = registers_at_launch((warps + WARPGROUP) * ctas, job.target)
    own = others = min(launched, needed + SCALE_LOAD_SPARE_REGISTERS)
    if uses_setmaxnreg(func, job, warps):
        others = setmaxnreg_split(warps, job.target, ctas, own)[1]
    return own if own >= needed and registers_needed(regs, warps) <= others else None


def registers_allow_fragment_prefetch(kernel: TableOp, dot: TableOp, registers: int, job: Job) -> bool:
    """Whether threads have registers for the fragments of two steps of a dot, besides its accumulator.

    This holds for each of the CTAs that share an SM, as limited by the shared memory of stage buffers.
    """
    needed = _registers_per_thread(dot.result) + 2 * registers + FRAGMENT_REG_OVERHEAD
    if kernel.partition_registers is not None:
        return needed <= kernel.partition_registers[1]
    warps = kernel.num_warps + (kernel.producer_warps or 0)
    ctas = min(ctas_per_sm(kernel, parent_op(dot), job), _ctas_by_stage_buffers(kernel, job.target))
    return needed <= registers_at_launch(warps * ctas, job.target)


def exceeds_registers_of_partition(regs: int, kernel: TableOp, job: Job) -> bool:
    """Whether the computing threads of a kernel have too few registers for ``regs`` 32-bit words, besides all else."""
    if kernel.partition_registers is not None:
        return registers_needed(regs, kernel.num_warps) > kernel.partition_registers[1]
    warps = kernel.num_warps + (kernel.producer_warps or 0)
    return registers_needed(regs, kernel.num_warps) > registers_at_launch(
        warps * (occupancy(kernel, job) or 1), job.target
    )


def _ctas_by_stage_buffers(kernel: Operation, target: Target) -> int:
    """CTAs per SM, as limited by the stage buffers of a kernel."""
    rings = (as_op(op) for op in walk(kernel) if op.name == "nv_tileas.alloc_tensor")
    taken = sum(ring.result.type.size_bytes for ring in rings if ring.over is None)
    return target.ctas_with(taken, MAX_CTAS_PER_SM)


def accumulators_fit(regs: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether the compute threads have registers for a tile of ``regs`` 32-bit words, besides all else."""
    if not uses_setmaxnreg(func, job, warps):
        return registers_fit(regs, warps, occupancy(func, job) or 1, job.target)
    return registers_fit_with_setmaxnreg(regs, warps, occupancy(func, job) or 1, job.target)


def live_registers_fit(regs: int, warps: int, target: Target, ctas: int = 1) -> bool:
    """Whether the threads of each of ``ctas`` CTAs per SM have registers for ``regs`` 32-bit words."""
    may_use_setmaxnreg = warps >= MIN_WARPS_FOR_SETMAXNREG and target.has("setmaxnreg")
    return registers_fit(regs, warps, ctas, target) or (
        may_use_setmaxnreg and registers_fit_with_setmaxnreg(regs, warps, ctas, target)
    )


def registers_fit_with_setmaxnreg(regs: int, warps: int, ctas: int, target: Target) -> bool:
    """``registers_fit`` if producer threads release registers."""
    return registers_needed(regs, warps) <= setmaxnreg_split(warps, target, ctas)[1]


def registers_fit(regs: int, warps: int, ctas: int, target: Target) -> bool:
    """Whether each of ``ctas`` CTAs per SM, including a producer warp if there is one, has registers for ``regs``
    32-bit words.
    """
    needed, available = registers_of_thread(regs, warps, ctas, target)
    return needed <= available


def registers_of_thread(regs: int, warps: int, ctas: int, target: Target) -> tuple[int, int]:
    """The registers that a thread needs for its share of ``regs`` 32-bit words, and that it has (``registers_fit``)."""
    return registers_needed(regs, warps), registers_at_launch((warps + target.has("tma")) * ctas, target)


def registers_at_launch(warps: int, target: Target) -> int:
    """Registers per thread at launch, for ``warps`` warps per SM."""
    return min(target.sm_limits.registers_of(warps), MAX_REGISTERS)


def _round_to_allocation_unit(registers: int, target: Target) -> int:
    unit = target.sm_limits.register_unit
    return registers // unit * unit


def registers_needed(regs: int, warps: int) -> int:
    """Registers of a thread for its share of ``regs`` 32-bit words, and all else."""
    return regs // (WARP * warps) + ASYNC_MMA_REG_OVERHEAD


# ---- CTAs per SM ------------------------------------------------------------------------
MAX_CTAS_PER_SM = 2  # a third CTA hides less latency than more stages do


def ctas_per_sm(kernel: Operation, loop: Operation | Block, job: Job, most: int = MAX_CTAS_PER_SM) -> int:
    """CTAs per SM: the kernel's hint, else as many as its accumulators leave registers for, and ``most``."""
    if requested := occupancy(kernel, job):
        return requested
    accumulators = sum(_registers_per_thread(op.results[0]) for op in walk(loop) if op.name == DOT)
    return ctas_by_accumulators(accumulators, as_op(kernel).num_warps + as_op(kernel).producer_warps, job, most)


def estimated_ctas_per_sm(kernel: Operation, job: Job) -> int:
    """``ctas_per_sm`` for a kernel's dots before layout assignment and warp specialization: a lower bound."""
    if requested := occupancy(kernel, job):
        return requested
    warps = choose_warps(kernel, job)
    regs = sum(_size(dot.result.type) for dot in dots_in(kernel))
    producer_warps = WARPGROUP if uses_setmaxnreg(kernel, job, warps) else 1
    return ctas_by_accumulators(regs // (WARP * warps), warps + producer_warps, job)


def ctas_by_accumulators(accumulators: int, warps: int, job: Job, most: int = MAX_CTAS_PER_SM) -> int:
    """CTAs per SM whose threads have registers for so many 32-bit words of results each; ``warps`` of all roles."""
    taken = WARP * warps * (accumulators + SYNC_MMA_REG_OVERHEAD)
    return max(1, min(most, job.target.sm_limits.registers // taken))


def _registers_per_thread(tile: SSAValue) -> int:
    """Registers of a thread for its elements of a tile; small elements may have one each."""
    return layout_of(tile).num_registers * max(1, element_of(tile.type).bits // 32)


# Registers of a thread besides a row that waits for a reduction: the current values, addresses, accumulators.
REDUCED_ROW_REG_OVERHEAD = 40


def row_registers(regs: int, warps: int) -> int:
    """Registers that a thread needs for its share of ``regs`` 32-bit words that are live across a reduction."""
    return regs // (WARP * warps) + REDUCED_ROW_REG_OVERHEAD


def ctas_by_row_registers(regs: int, warps: int, target: Target) -> int:
    """CTAs per SM for which threads have registers for ``regs`` 32-bit words of all of a CTA's threads."""
    limits, needed = target.sm_limits, row_registers(regs, warps)
    most = min(limits.threads // (WARP * warps), limits.ctas)
    return next((ctas for ctas in range(most, 1, -1) if registers_at_launch(warps * ctas, target) >= needed), 1)


# The same if a part of the row is spilled to shared memory, if more of it fits, and if not: computing and dividing
# elements needs more registers than waiting. The limit for tiles that cannot be spilled is per thread.
SPILLED_ROW_REG_OVERHEAD, UNSPILLABLE_REG_OVERHEAD = (44, 40), 24


def ctas_worth_spilling_for(regs: int, func: Operation, job: Job) -> range:
    """CTAs per SM for which spilling is profitable, largest first, if a thread has ``regs`` live 32-bit registers."""
    warps = choose_warps(func, job)
    most = requested(job).occupancy or hint(func, job, "occupancy") or job.target.sm_limits.memory_bound_ctas_per_sm
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
    """Remaining registers of each thread, in 32-bit words, for ``ctas`` CTAs per SM, besides ``overhead``."""
    return registers_at_launch(warps * ctas, target) - overhead


# ---- stages in shared memory -----------------------------------------------------------------------
MIN_STAGES = 2  # one is filled while another is read
MAX_CP_ASYNC_STAGES = 4  # of cp.async copies: more do not hide more latency
# Of copies that each thread reads itself, in loops without dots. Fewer hide no more than registers an iteration ahead.
MIN_OWN_STAGES, MAX_OWN_STAGES = 3, 8
# Of an SM: what is in flight needs no warps, and so many hide other latencies, or those of reductions. Stages that are as large leave two CTAs.
WARPS_BESIDE_OWN_STAGES, WARPS_THAT_REDUCE, MIN_CTAS_BESIDE_OWN_STAGES = 16, 32, 2
# Of TMA copies, as far as shared memory suffices; lower if each stage also needs tensor memory columns for scales.
MAX_TMA_STAGES, MAX_BLOCK_SCALED_STAGES = 16, 6
# Bytes besides the stages of a buffer: mbarriers, and alignment padding.
STAGES_SMEM_OVERHEAD = 1024


def min_stages(ctas: int) -> int:
    """The minimal stages with this many CTAs per SM: if another CTA computes meanwhile, one suffices."""
    return max(1, MIN_STAGES // ctas)


def ctas_beside_own_stages(kernel: TableOp, loop: Operation, job: Job) -> int:
    """CTAs per SM that the stages of a loop which each thread reads itself leave shared memory for: those that are asked for, or few warps.
    Where a kernel that reduces has more warps than its largest tile usually gets, those are of as many CTAs, with as many bytes in flight.
    """
    if asked := requested(job).occupancy or hint(kernel, job, "occupancy"):
        return asked
    reduces, operations, warps = any(op.name == REDUCE for op in walk(loop)), walk(kernel), kernel.num_warps
    if reduces_only(operations) and not has_rows_in_loop(kernel, operations):
        warps = min(warps, _warps_of_step(REDUCTION_WARP_STEPS, largest_tile(operations)))
    return max(1, (WARPS_THAT_REDUCE if reduces else WARPS_BESIDE_OWN_STAGES) // warps)


def two_stages_fit(size: int, job: Job, k_splits: int = 1, used_bytes: int = 0) -> bool:
    """Whether shared memory has space for the minimal stages of ``size`` bytes, split ``k_splits`` times, besides
    ``used_bytes``.
    """
    return MIN_STAGES * size // k_splits + STAGES_SMEM_OVERHEAD + used_bytes <= job.target.max_shared_memory


def max_stages(dot: TableOp) -> int:
    """The maximal number of stages of the tiles that TMA loads for a dot."""
    return MAX_TMA_STAGES if dot.lhs_scale is None else MAX_BLOCK_SCALED_STAGES


def max_copied_stages(beside_tma: bool) -> int:
    """The same of tiles that threads copy, beside others that TMA loads or alone."""
    return MAX_CP_ASYNC_STAGES if beside_tma else MAX_CP_ASYNC_STAGES + MIN_STAGES


def choose_stages(size: int, used_bytes: int, ctas: int, job: Job, min_stages: int = MIN_STAGES) -> tuple[int, int]:
    """(stages of ``size`` bytes besides ``used_bytes``, CTAs that fit): fewer CTAs rather than fewer than
    ``min_stages`` stages.

    Fewer stages if even one CTA does not fit that many.
    """
    stages = 0
    for count in range(ctas, 0, -1):
        stages = max(0, (job.target.shared_memory_of(count) - used_bytes) // size)
        if stages >= min_stages:
            return stages, count
    return stages, 1
