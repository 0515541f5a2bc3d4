"""What a kernel takes of a multiprocessor, and what fits: warps, registers, CTAs side by side, stages in shared memory.

Every pass that chooses something by its cost asks here, so that what one leaves free is what a later one finds. Limits
of the hardware are the target's; numbers here are choices, each with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...ir.casting import parent, row
from ...ir.dialects.cute import layout_of
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ...target.targets import WARP, Target
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint, occupancy
from ..job import Job
from .live_tile_registers import kept_words

# ---- warps -----------------------------------------------------------------------------------------
# Elements of the largest tile -> warps. A tile of 1,024 gives each of 128 threads two 16-byte accesses of f32; past 8,192
# elements a thread would hold more than 64 of them.
STEPS = ((256, 1), (512, 2), (8192, 4), (32768, 8))
# The same of kernels that reduce and multiply no matrices: what a reduction costs beside its elements, shuffles, a barrier
# and the shared memory between warps, is paid by each warp, so each has more of them.
ROW_STEPS = ((1024, 1), (4096, 2), (8192, 4), (16384, 8))
MOST_WARPS = 16
# Fewer warps than this leave nothing to set one aside for.
LEAST_WARPS = 4


def choose_warps(func: Operation, job: Job) -> int:
    """The number of warps (a power of two) for the largest tile of a kernel: its tiles stay in registers, and no more
    warps than there is work for. What a pass has chosen for the kernel stays.
    """
    if (chosen := row(func).num_warps) is not None:
        return chosen
    operations = walk(func)
    types = {id(result._type): result._type for op in operations for result in op.results}
    largest = max(map(_size, types.values()), default=1)
    steps = ROW_STEPS if reduces_only(operations) else STEPS
    return next((warps for limit, warps in steps if largest <= limit), MOST_WARPS)


def reduces_only(operations: Sequence[Operation]) -> bool:
    """Whether a kernel of these operations reduces tiles and multiplies none."""
    names = {op.name for op in operations}
    return "nv_tileas.reduce" in names and "nv_tileas.dot" not in names


def _size(type: Attribute) -> int:
    return prod(type.get_shape()) if isinstance(type, TensorType) else 1


# ---- registers -------------------------------------------------------------------------------------
# From so many computing warps on registers are short: a whole warpgroup fetches, and gives its own away.
MANY_WARPS, WARPGROUP = 8, 4
# setmaxnreg takes from 24 to 256 (PTX ISA 9.0, section 9.7.20.5); a kernel's threads never have 256.
FETCHING_REGISTERS, MOST_REGISTERS = 24, 240
# What one needs that copies scales beside 32 bytes of each of four lines, for each group that it loads at once: the lines'
# addresses, whether they are inside the array; it is given more, where there are more.
BESIDE_COPIED, COPIED_REGISTERS, MORE_REGISTERS = 32, 32, 16
# What a thread needs beside the sums of a warpgroup's product: descriptors, addresses, counters of the ring.
BESIDE_SUMS = 26
# And beside the accumulators of a warp's: operands of the product at hand, addresses, indices.
BESIDE_ACCUMULATORS = 64
# And beside the fragments of two steps: addresses of copies, of stages and of global memory, the loop's counters.
BESIDE_FRAGMENTS = 48


def divides_registers(func: Operation, job: Job, warps: int) -> bool:
    """Whether threads that fetch give registers to those that compute.

    Not where several CTAs share them, nor where mma.sync multiplies and its tiles fit into what all threads start with;
    but always where a thread holds a whole row of scores, or the kernel says so.
    """
    if row(func).divides_registers or any(op.name == "nv_tileas.dot" and row(op).rescaled for op in walk(func)):
        return True
    if warps < MANY_WARPS or not job.target.has("setmaxnreg") or (occupancy(func, job) or 1) > 1:
        return False
    if job.target.tier.matrix_product != "mma_sync":
        return True
    needed = _needed(kept_words(func, job.target, lambda product: False), warps)
    return needed > _launched(warps + WARPGROUP, job.target)


def divided_registers(warps: int, target: Target, ctas: int = 1, apart: int = FETCHING_REGISTERS) -> list[int]:
    """Registers of a thread that fetches (``apart``), and of one of ``warps`` warps that compute, of each of so many CTAs.

    No more than all threads were launched with, in whole units each: a thread waits in vain for others.
    """
    fetching, computing = WARP * WARPGROUP, WARP * warps
    left = _launched((WARPGROUP + warps) * ctas, target) * (fetching + computing) - apart * fetching
    return [apart, min(_whole_units(left // computing, target), MOST_REGISTERS)]


def has_registers_for_issuing(words: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether beside two warps that compute nothing the others have registers for ``words`` 32-bit words."""
    if divides_registers(func, job, warps):
        return True
    return _needed(words, warps) <= _launched((warps + 2) * (occupancy(func, job) or 1), job.target)


def copying_registers(groups: int, words: int, func: Operation, job: Job, warps: int) -> int | None:
    """Registers of each thread of a warpgroup that copies so many groups of scales at once, beside ``warps`` that compute.

    None where it, or they for ``words`` 32-bit words, have too few.
    """
    ctas, needed = occupancy(func, job) or 1, BESIDE_COPIED + COPIED_REGISTERS * groups
    launched = _launched((warps + WARPGROUP) * ctas, job.target)
    own = others = min(launched, needed + MORE_REGISTERS)
    if divides_registers(func, job, warps):
        others = divided_registers(warps, job.target, ctas, own)[1]
    return own if own >= needed and _needed(words, warps) <= others else None


def has_registers_for_fragments(kernel: TableOperation, product: TableOperation, registers: int, job: Job) -> bool:
    """Whether threads have the fragments of two steps of a product in registers, of so many each, beside its sum.

    Of each CTA that shares a multiprocessor, as far as rings leave them shared memory.
    """
    needed = _registers_of(product.result) + 2 * registers + BESIDE_FRAGMENTS
    if kernel.agent_registers is not None:
        return needed <= kernel.agent_registers[1]
    warps = kernel.num_warps + (kernel.producer_warps or 0)
    ctas = min(resident_ctas(kernel, parent(product), job), _ctas_with_rings(kernel, job.target))
    return needed <= _launched(warps * ctas, job.target)


def _ctas_with_rings(kernel: Operation, target: Target) -> int:
    """CTAs of a multiprocessor that have shared memory for the rings of a kernel."""
    taken = sum(row(op).result.type.size_bytes for op in walk(kernel) if op.name == "nv_tileas.alloc_tensor")
    return next((ctas for ctas in range(MOST_CTAS, 1, -1) if taken <= target.shared_memory_of(ctas)), 1)


def sums_fit(words: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether the threads that compute have registers for a tile of so many 32-bit words, beside all else."""
    if not divides_registers(func, job, warps):
        return words_fit(words, warps, occupancy(func, job) or 1, job.target)
    return divided_words_fit(words, warps, occupancy(func, job) or 1, job.target)


def kept_words_fit(words: int, warps: int, target: Target) -> bool:
    """Whether the threads of a CTA that has a multiprocessor to itself may have registers for as many 32-bit words."""
    divides = warps >= MANY_WARPS and target.has("setmaxnreg")
    return words_fit(words, warps, 1, target) or (divides and divided_words_fit(words, warps, 1, target))


def divided_words_fit(words: int, warps: int, ctas: int, target: Target) -> bool:
    """``words_fit`` where threads that fetch give registers away."""
    return _needed(words, warps) <= divided_registers(warps, target, ctas)[1]


def words_fit(words: int, warps: int, ctas: int, target: Target) -> bool:
    """Whether each of so many CTAs of a multiprocessor, with a fetching warp where there is one, has registers for as many
    32-bit words."""
    return _needed(words, warps) <= _launched((warps + target.has("tma")) * ctas, target)


def _launched(warps: int, target: Target) -> int:
    """Registers with which each thread of so many warps of a multiprocessor can start."""
    return min(target.multiprocessor.registers_of(warps), MOST_REGISTERS)


def _whole_units(registers: int, target: Target) -> int:
    unit = target.multiprocessor.register_unit
    return registers // unit * unit


def _needed(words: int, warps: int) -> int:
    """Registers of a thread for its share of so many 32-bit words, and all else."""
    return words // (WARP * warps) + BESIDE_SUMS


# ---- CTAs of a multiprocessor ----------------------------------------------------------------------
MOST_CTAS = 2  # a third hides less than more stages do


def resident_ctas(kernel: Operation, loop: Operation | Block, job: Job) -> int:
    """CTAs that share a multiprocessor: what the kernel's hint asks for, else what its accumulators leave registers for."""
    if asked := occupancy(kernel, job):
        return asked
    accumulators = sum(_registers_of(op.results[0]) for op in walk(loop) if op.name == "nv_tileas.dot")
    return _ctas_beside(accumulators, row(kernel).num_warps + row(kernel).producer_warps, job)


def ctas_before_layouts(kernel: Operation, job: Job) -> int:
    """The same of a kernel's products before tiles have layouts and agents their warps: at least as many."""
    if asked := occupancy(kernel, job):
        return asked
    warps = choose_warps(kernel, job)
    words = sum(_size(op.results[0].type) for op in walk(kernel) if op.name == "nv_tileas.dot")
    fetching = WARPGROUP if divides_registers(kernel, job, warps) else 1
    return _ctas_beside(words // (WARP * warps), warps + fetching, job)


def _ctas_beside(accumulators: int, warps: int, job: Job) -> int:
    taken = WARP * warps * (accumulators + BESIDE_ACCUMULATORS)
    return max(1, min(MOST_CTAS, job.target.multiprocessor.registers // taken))


def _registers_of(tile: SSAValue) -> int:
    """Of a thread, for its elements of a tile; small ones may have one each."""
    return layout_of(tile).num_registers * max(1, element_of(tile.type).bits // 32)


# What a thread needs beside a row that waits for a reduction: the numbers at hand, addresses, sums.
BESIDE_ROW = 40


def ctas_beside_rows(words: int, warps: int, target: Target) -> int:
    """CTAs of a multiprocessor whose threads have registers for so many 32-bit words of all of a CTA's threads."""
    room, needed = target.multiprocessor, words // (WARP * warps) + BESIDE_ROW
    most = min(room.threads // (WARP * warps), room.ctas)
    return next((ctas for ctas in range(most, 1, -1) if _launched(warps * ctas, target) >= needed), 1)


# The same where a part of the row is parked in shared memory, if there is room for more of it, and if not: computing and
# dividing elements takes more registers than waiting. What cannot be parked leaves a thread so many.
BESIDE_PARKED, BESIDE_UNPARKED = (44, 40), 24


def row_ctas(words: int, func: Operation, job: Job) -> range:
    """CTAs of a multiprocessor that are worth parking for, the most first, where a thread keeps so many 32-bit words at once."""
    warps = choose_warps(func, job)
    most = hint(func, job, "occupancy") or job.target.multiprocessor.row_ctas
    have = next((ctas for ctas in range(most, 0, -1) if kept_beside(BESIDE_ROW, warps, ctas, job.target) >= words), 0)
    return range(most, have, -1)


def kept_beside(others: int, warps: int, ctas: int, target: Target) -> int:
    """32-bit words that each thread of so many CTAs of a multiprocessor has registers for, beside ``others``."""
    return _launched(warps * ctas, target) - others


# ---- stages in shared memory -----------------------------------------------------------------------
LEAST_STAGES = 2  # one fills while another is read
MOST_COPIED_STAGES = 4  # of all threads' copies: more hide no more latency
# Of TMA, as far as shared memory goes; where each stage has columns of tensor memory for its scales, too, those are short.
MOST_FETCHED_STAGES, MOST_SCALED_STAGES = 16, 6
# Bytes beside the stages of a ring: mbarriers, and what aligning it may cost.
BESIDE_STAGES = 1024


def least_stages(ctas: int) -> int:
    """Of each of so many CTAs that share a multiprocessor: where another one computes meanwhile, one is enough."""
    return max(1, LEAST_STAGES // ctas)


def two_stages_fit(size: int, job: Job, parts: int = 1, taken: int = 0) -> bool:
    """Whether a CTA has shared memory for the fewest stages of ``size`` bytes, each cut into ``parts``, beside ``taken`` ones."""
    return LEAST_STAGES * size // parts + BESIDE_STAGES + taken <= job.target.max_shared_memory


def most_stages(product: TableOperation) -> int:
    """The most stages of the tiles that TMA fetches for a product."""
    return MOST_FETCHED_STAGES if product.lhs_scale is None else MOST_SCALED_STAGES


def choose_stages(size: int, taken: int, ctas: int, job: Job, least: int = LEAST_STAGES) -> tuple[int, int]:
    """(stages of ``size`` bytes beside ``taken`` ones, CTAs that have them): fewer CTAs rather than less than the ``least``.

    Less than that where so many do not fit.
    """
    stages = 0
    for count in range(ctas, 0, -1):
        stages = max(0, (job.target.shared_memory_of(count) - taken) // size)
        if stages >= least:
            return stages, count
    return stages, 1
