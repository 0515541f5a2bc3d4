"""Whole schedules of a kernel with reductions and no dots (softmax, norms): each number of warps, with its legality and its cost.

Each warp has instructions of its own besides those of its elements: addresses, and its part of each reduction. More warps have
fewer registers each for a row that waits for a reduction, and finish a CTA sooner, so that fewer CTAs keep DRAM busy. CTAs per SM
follow from the warps, as the passes will choose them. The first candidate is what tiles of that size usually get; others must be
cheaper (``candidates.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from ...ir.casting import unwrap
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOp
from ...target.sm_limits import WARP
from ..analysis.resource_model import (
    MAX_WARPS,
    SPILLED_ROW_REG_OVERHEAD,
    choose_warps,
    ctas_by_row_registers,
    has_rows_in_loop,
    largest_tile,
    reduces_only,
    registers_at_launch,
    row_registers,
)
from ..analysis.row_registers import (
    held_words,
    late_words,
    peak_words,
    row_and_single_words,
    row_words,
    single_words,
)
from ..analysis.scratch_memory_sizes import spill_bytes
from ..common.optimization_hints import occupancy
from ..job import Job
from .choose import Limit, Resource, WholeSchedule, cheapest, hear_schedules, is_listening
from .cost import cost
from .kernel import Kernel, describe
from .schedule import POWERS, Schedule
from .schedule_attribute import is_declined, schedule_of

# Of a thread, of one tile after a reduction: by `estimate`, 32 take 0.84 of the clocks of 64 for an RMS norm of 4,096 elements, and as long as 16.
MOST_SINGLE_LOADS = 32
# Within what costs are the same, and what a CTA by itself must take less: by `estimate`, costs 0.7 % higher may be 4 % more clocks.
SAME_COST, MIN_GAIN_ALONE = 0.005, 0.1


class RowCandidates:
    """The whole schedules of a kernel that reduces tiles, and multiplies none."""

    def __init__(self, func: TableOp, job: Job):
        self.func, self.job, self.target = func, job, job.target
        self.usual, self.asked = choose_warps(func, job), func.num_warps or schedule_of(func).num_warps

    @classmethod
    def of(cls, func: TableOp, job: Job) -> RowCandidates | None:
        """None for other kernels, and where nothing is optimized."""
        return cls(func, job) if job.opt_level != 0 and reduces_only(walk(func)) else None

    def best(self) -> WholeSchedule | None:
        """The cheapest legal candidate; None where none is legal, or nothing could be cheaper than the usual one."""
        if not is_listening() and self.asked is not None:
            return None
        found = [self._candidate(self.usual), *(self._candidate(warps) for warps in self._others())]
        hear_schedules(self.func, found)
        return _quickest(found)

    def more_ctas(self, one: WholeSchedule) -> None:
        """They follow from the warps."""

    @cached_property
    def kernel(self) -> Kernel:
        return describe(self.func, self.job)

    @cached_property
    def is_free(self) -> bool:
        """Whether others than the usual warps are possible. The launch of a loop over rows has as many CTAs as its author chose, which is
        not known here.
        """
        return self.asked is None and not has_rows_in_loop(self.func, walk(self.func))

    @cached_property
    def words(self) -> int:
        """Of the tiles that are live across a reduction."""
        return row_words(self.func)

    @cached_property
    def single_words(self) -> list[int]:
        """Of each tile that is loaded by pointers to single elements after a reduction."""
        return single_words(self.func)

    @cached_property
    def row_and_single_words(self) -> int:
        """Of both, for which a thread has registers at the same time."""
        return row_and_single_words(self.func)

    @cached_property
    def late_words(self) -> int:
        """Of the tiles that are loaded after a reduction."""
        return late_words(self.func)

    @cached_property
    def held_words(self) -> int:
        """Of the tiles that a loop with reductions carries, or has from outside, where the warps are free."""
        return held_words(self.func) if self.is_free else 0

    @cached_property
    def peak_words(self) -> int:
        """Of the floats that are live at once, where the warps are free."""
        return peak_words(self.func) if self.is_free else 0

    @cached_property
    def size(self) -> int:
        """Elements of the largest tile."""
        return largest_tile(walk(self.func))

    def _others(self) -> Iterator[int]:
        """The other numbers of warps."""
        if self.is_free:
            yield from (warps for warps in POWERS if warps <= MAX_WARPS and warps != self.usual)

    def _candidate(self, warps: int) -> WholeSchedule:
        schedule = self._expected(warps)
        refused, remedy = self._limit(warps)
        if refused is not None:
            return WholeSchedule(schedule, refused, remedy)
        return WholeSchedule(schedule, cost=cost(self.kernel, schedule, self.target))

    def _limit(self, warps: int) -> tuple[Limit | None, str | None]:
        """What a number of warps lacks, and the remedy."""
        if warps > 1 and WARP * warps > self.size:
            text = f"{warps} warps have {WARP * warps}, and the largest tile {self.size} elements"
            return Limit(Resource.THREADS, text), "fewer num_warps"
        needed, available = self._registers(warps), registers_at_launch(warps, self.target)
        if needed > available and warps < MAX_WARPS:
            text = f"a thread needs {needed} for its part of the tiles, and has {available}"
            return Limit(Resource.REGISTERS, text), "more num_warps"
        singles = max(self.single_words, default=0) // (WARP * warps)
        if singles > MOST_SINGLE_LOADS and warps < MAX_WARPS:
            text = f"a thread loads {singles} single elements of a tile after a reduction, of which few are in flight"
            return Limit(Resource.REGISTERS, text), "more num_warps"
        return None, None

    def _registers(self, warps: int) -> int:
        """Registers of a thread for a row, what a loop carries beside it and what is loaded after its reductions, or for a tile that is
        reduced; or for all that is live at once where it computes with them.
        """
        waiting = row_registers(max(self.words + self.held_words + self.late_words, self.size), warps)
        return max(waiting, self.peak_words // (WARP * warps))

    # ---- what follows ----------------------------------------------------------------------------
    def _expected(self, warps: int) -> Schedule:
        """The schedule with so many warps."""
        if (asked := occupancy(self.func, self.job)) is not None:
            return Schedule(num_warps=warps, occupancy=asked)
        fitting = ctas_by_row_registers(self.row_and_single_words, warps, self.target)
        most = self.target.sm_limits.memory_bound_ctas_per_sm
        if fitting < most and self._spills_fit(warps, most):
            return Schedule(num_warps=warps, occupancy=most, spill=True)
        is_divided = self.words and self.late_words and fitting > 1
        return Schedule(num_warps=warps, occupancy=fitting if is_divided else None)

    def _spills_fit(self, warps: int, ctas: int) -> bool:
        """Whether shared memory holds what registers do not for so many CTAs per SM (``spill_to_shared.py``)."""
        needed = self.words // (WARP * warps) + SPILLED_ROW_REG_OVERHEAD[0]
        spilled = spill_bytes(needed - registers_at_launch(warps * ctas, self.target), warps)
        return not is_declined(self.func, "spill") and spilled <= self.target.shared_memory_of(ctas)


def _quickest(found: Sequence[WholeSchedule]) -> WholeSchedule | None:
    """The cheapest legal candidate; of those that cost as much, one whose CTA takes less by itself, as that of a small launch does."""
    best = cheapest(found)
    if best is None or best.cost is None:
        return best
    as_cheap = [one for one in found if one.refused is None and one.nanoseconds <= (1 + SAME_COST) * best.nanoseconds]
    quickest = min(as_cheap, key=_alone)
    return quickest if _alone(quickest) < (1 - MIN_GAIN_ALONE) * _alone(best) else best


def _alone(one: WholeSchedule) -> float:
    return unwrap(one.cost).alone
