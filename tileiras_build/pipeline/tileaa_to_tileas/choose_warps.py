"""How many warps run a kernel: enough to keep tiles in registers, no more than there is work for; and their registers."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ..analysis.kept_tiles import kept_words
from ..job import Job
from ..shared.optimization_hints import occupancy

# Elements of the largest tile -> warps. A tile of 1,024 gives each of 128 threads two 16-byte accesses of f32; past 8,192
# elements a thread would hold more than 64 of them.
STEPS = ((256, 1), (512, 2), (8192, 4), (32768, 8))
MOST_WARPS = 16
# From so many computing warps on registers are short: a whole warpgroup fetches, and gives its own away.
MANY_WARPS, WARPGROUP = 8, 4
# setmaxnreg takes multiples of 8 from 24 to 256 (PTX ISA 9.0, section 9.7.20.5); a kernel's threads never have 256.
FETCHING_REGISTERS, MOST_REGISTERS, REGISTER_UNIT = 24, 240, 8
REGISTER_FILE = 65536
# What a thread needs beside the sums of a warpgroup's product: descriptors, addresses, counters of the ring.
BESIDE_SUMS = 26


def choose_warps(func: Operation, job: Job) -> int:
    """The number of warps (a power of two) for the largest tile of a kernel."""
    largest = max((_size(result.type) for op in func.walk() for result in op.results), default=1)
    return next((warps for limit, warps in STEPS if largest <= limit), MOST_WARPS)


def _size(type: object) -> int:
    if not isinstance(type, TensorType):
        return 1
    size = 1
    for extent in type.get_shape():
        size *= extent
    return size


def divides_registers(func: Operation, job: Job, warps: int) -> bool:
    """Whether threads that fetch give registers to those that compute.

    Not where several CTAs share them, nor where mma.sync multiplies and its tiles fit into what all threads start with.
    """
    if warps < MANY_WARPS or not job.target.has("setmaxnreg") or (occupancy(func, job) or 1) > 1:
        return False
    if job.target.tier.matrix_product != "mma_sync":
        return True
    needed = _needed(kept_words(func, job.target), warps)
    return needed > _launched(32 * (warps + WARPGROUP))


def divided_registers(warps: int) -> list[int]:
    """Registers of a thread that fetches, and of one of ``warps`` warps that compute.

    No more than all threads were launched with, in whole units each: a thread waits in vain for others.
    """
    fetching, computing = 32 * WARPGROUP, 32 * warps
    left = _launched(fetching + computing) * (fetching + computing) - FETCHING_REGISTERS * fetching
    return [FETCHING_REGISTERS, min(left // computing // REGISTER_UNIT * REGISTER_UNIT, MOST_REGISTERS)]


def _launched(threads: int) -> int:
    """Registers with which each of so many threads of a multiprocessor can start."""
    return min(REGISTER_FILE // threads // REGISTER_UNIT * REGISTER_UNIT, MOST_REGISTERS)


def _needed(words: int, warps: int) -> int:
    """Registers of a thread for its share of so many 32-bit words, and all else."""
    return words // (32 * warps) + BESIDE_SUMS


def has_registers_for_issuing(words: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether another warp that computes nothing leaves the others their registers, or enough for ``words`` 32-bit words."""
    if divides_registers(func, job, warps):
        return True
    ctas = occupancy(func, job) or 1
    before, after = (_launched(32 * (warps + agents) * ctas) for agents in (1, 2))
    return after == before or _needed(words, warps) <= after


def sums_fit(words: int, func: Operation, job: Job, warps: int) -> bool:
    """Whether the threads that compute have registers for a tile of so many 32-bit words, beside all else."""
    if not divides_registers(func, job, warps):
        return fit(words, warps, occupancy(func, job) or 1)
    return _needed(words, warps) <= divided_registers(warps)[1]


def fit(words: int, warps: int, ctas: int) -> bool:
    """Whether each of so many CTAs of a multiprocessor, with a fetching warp, has registers for as many 32-bit words."""
    return _needed(words, warps) <= _launched(32 * (warps + 1) * ctas)
