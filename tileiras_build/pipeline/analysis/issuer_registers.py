"""The registers of a warp that issues the MMAs of a kernel, and of the other partitions beside it (``tileaa_to_tileas/split_mma_issue.py``)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...ir.casting import int_array_attr
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.nv_tileas.ops import ConsumerWaitOp
from ...ir.dialects.nv_tileas.types import BufferType
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_async_mma, is_loop
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import occupancy
from ..job import Job
from .enclosing_control_flow import enclosing_loops
from .peak_registers import peak_of_block
from .resource_model import PRODUCER_REGISTERS, registers_at_launch, registers_needed, setmaxnreg_split

STEP_BITS = 256  # of k of an instruction


def leaves_registers(func: TableOp, registers: Sequence[int] | None, job: Job) -> bool:
    """Whether threads have as many registers with a further warp: its partition of the SM has registers for one. An issuer in the warpgroup
    of the producer takes only what the live tiles of threads leave.
    """
    warps, ctas = func.num_warps + func.producer_warps, occupancy(func, job) or 1
    if registers is None:
        with_issuer, without = (registers_at_launch((warps + more) * ctas, job.target) for more in (1, 0))
        return with_issuer == without
    bodies = (loop.regions[0].blocks[0] for loop in walk(func) if is_loop(loop))
    live = max(peak_of_block(body, job.target, counts_inner=False) for body in bodies)
    return min(registers_needed(live, func.num_warps), func.partition_registers[1]) <= registers[1]


def partition_registers_with_issuer(
    acts: Sequence[TableOp], sites: Sequence[Operation], func: TableOp, job: Job
) -> list[int] | None:
    """The registers of partitions with an issuer: ptxas keeps the low word of a descriptor for each instruction along k of a left operand
    that stays in shared memory, beside the registers of a producer, and in a nest of loops the tokens that each loop carries, where threads
    have registers without these.
    """
    if func.partition_registers is None:
        return None
    steps = sum(map(_resident_steps, filter(is_async_mma, acts)))
    with_tokens, without = (_with_issuer(words, func, job) for words in (steps + _tokens_of_nests(acts, sites), steps))
    return with_tokens if leaves_registers(func, with_tokens, job) else without


def _with_issuer(words: int, func: TableOp, job: Job) -> list[int]:
    """The registers of partitions where an issuer has ``words`` beside those of a producer."""
    unit = job.target.sm_limits.register_unit
    own = PRODUCER_REGISTERS + -(-words // unit) * unit
    return setmaxnreg_split(func.num_warps, job.target, occupancy(func, job) or 1, own)


def _tokens_of_nests(acts: Sequence[TableOp], sites: Sequence[Operation]) -> int:
    """The tokens that the loops of a nest carry, of stages and of arrivals; 0 where no loop is in another one."""
    depth = max(len(enclosing_loops(op)) for op in acts)
    stages = {op.pipeline for op in acts if isinstance(op, ConsumerWaitOp) and enclosing_loops(op)}
    return depth * (len(stages) + len(sites)) if depth > 1 else 0


def _resident_steps(dot: TableOp) -> int:
    """The instructions along k of a dot whose left operand stays in shared memory."""
    type = dot.lhs.type
    if not isinstance(type, BufferType) or type.stages.data > 1:
        return 0
    return int_array_attr(dot, "shape")[2] * element_of(type.element_type).bits // STEP_BITS
