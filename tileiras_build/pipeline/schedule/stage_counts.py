"""Stages of multistage buffers: how many fit in shared memory, the preferred number first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from xdsl.ir import Operation

from ...ir.casting import unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...target.sm_limits import WARP
from ...target.targets import Target
from ..analysis.axis_info import AxisAnalysis
from ..analysis.copied_operands import copyable_operands
from ..analysis.op_queries import REDUCE
from ..analysis.resource_model import (
    MAX_CP_ASYNC_STAGES,
    MAX_OWN_STAGES,
    MIN_OWN_STAGES,
    MIN_STAGES,
    UNSPILLABLE_REG_OVERHEAD,
    choose_stages,
    ctas_beside_own_stages,
    max_copied_stages,
    max_stages,
    registers_left,
)
from ..analysis.row_registers import row_words
from ..analysis.tma_operands import tma_operand
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.family import MmaFamily
from .choose import Candidate, Limit, Resource
from .cost import default_gpu
from .iteration_latency import least_own_stages
from .schedule_file import requested

SHOWN_ABOVE = 2  # candidates that do not fit, as explained
LOADED = 2  # times the latency of an idle DRAM: that of a busy one


@dataclass(frozen=True)
class StageBudget:
    """``fitting`` stages of ``size`` bytes fit beside ``used`` bytes with so many CTAs per SM; ``cap``: more gain nothing."""

    fitting: int
    size: int
    used: int
    ctas: int
    cap: int | None = None

    def candidates(self, preferred: int, wanted: int | None, job: Job, least: int = 1) -> Iterator[Candidate[int]]:
        """``preferred``, the other numbers of stages that fit, then those that do not, up to the ``wanted`` one."""
        yield Candidate(preferred)
        for count in range(self.fitting, least - 1, -1):
            if count != preferred:
                yield Candidate(count)
        for count in range(self.fitting + 1, max(self.fitting + SHOWN_ABOVE, wanted or 0) + 1):
            yield Candidate(count, self._limit(count, job))

    def _limit(self, count: int, job: Job) -> str | Limit:
        available = job.target.shared_memory_of(self.ctas)
        needed = count * self.size + self.used
        if needed <= available:
            return f"at most {self.cap} stages are supported here"
        text = f"{count} stages of {self.size} bytes, and {self.used} bytes besides, are {needed} bytes"
        return Limit(Resource.SHARED, f"{text}; a CTA has {available} with {self.ctas} per SM")


def own_stages(size: int, target: Target) -> int:
    """The stages of ``size`` bytes, with which a CTA alone has as many bytes in flight as DRAM delivers to its SM within its latency under load
    (Little's law), as far as more hide more.
    """
    if (gpu := default_gpu(target)) is None:
        return MAX_CP_ASYNC_STAGES
    ahead = ceil(LOADED * gpu.dram_latency * gpu.dram_bytes / gpu.sm_count / size)
    return min(max(1 + ahead, MIN_OWN_STAGES), MAX_OWN_STAGES)


def fitting_own_stages(size: int, used: int, kernel: TableOp, loop: Operation, job: Job) -> tuple[int, int]:
    """The stages of ``size`` bytes that each thread reads itself, and the CTAs per SM that have them: all that an SM has threads for, if they
    have enough stages, and registers for a row.
    """
    ctas, most = ctas_beside_own_stages(kernel, loop, job), _ctas_with_rows(kernel, loop, job)
    if most > ctas and (stages := (job.target.shared_memory_of(most) - used) // size) >= MIN_OWN_STAGES:
        return stages, most
    return choose_stages(size, used, ctas, job, least_own_stages(loop, kernel, job.target))


def _ctas_with_rows(kernel: TableOp, loop: Operation, job: Job) -> int:
    """The CTAs per SM of a loop over rows as far as an SM has threads; 0 where these lack registers for rows, or their number is asked for."""
    asked = requested(job).occupancy or hint(kernel, job, "occupancy")
    if asked or not (words := row_words(kernel)) or not any(op.name == REDUCE for op in walk(loop)):
        return 0
    limits, warps = job.target.sm_limits, kernel.num_warps
    ctas = min(limits.ctas, limits.threads // (WARP * warps))
    return ctas if words // (WARP * warps) <= registers_left(UNSPILLABLE_REG_OVERHEAD, warps, ctas, job.target) else 0


def written_stages(
    dot: TableOp, sizes: tuple[float, float], family: MmaFamily, used: int, ctas: int, job: Job
) -> tuple[int, int]:
    """The stages of an asynchronous MMA for which threads copy or write operands of these ``sizes`` that TMA does not load, and the CTAs per
    SM that have them.
    """
    mn_major, analysis = family.mn_major(unwrap(family.row_for(dot, job.target))), AxisAnalysis()
    written = [index for index in (0, 1) if tma_operand(dot, index, job, analysis) is None]
    copied, beside_tma = copyable_operands(dot, written, family, mn_major), len(written) == 1
    size = sum((2 if index in copied and beside_tma else 1) * round(bytes) for index, bytes in enumerate(sizes))
    stages, ctas = choose_stages(size, used, ctas, job, MAX_CP_ASYNC_STAGES if copied else MIN_STAGES)
    return min(stages, max_copied_stages(beside_tma) if copied else max_stages(dot)), ctas
