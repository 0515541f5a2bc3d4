"""Whole schedules of chained dots (attention) that warpgroups compute: CTAs per SM, with their legality and cost.

Each warpgroup has 64 rows, and an SM at least two warpgroups, of one CTA or of two: one issues MMAs while another computes the
softmax. The first candidate is two CTAs; one must be cheaper. Both overlap the dots of two iterations where registers and stages
allow (``rotate``). The warpgroups of a CTA then alternate at the tensor core (``ping_pong``): the model has no cost for that, and does
not say which way is faster; on H100 alternating is [Shah et al., "FlashAttention-3", 2024, section 3.1].
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from ...ir.casting import tile_shape, unwrap
from ...ir.dialects.op_definition import TableOp
from ...target.sm_limits import WARP
from ..analysis.chained_dots import ChainedDots, chained_dots_of
from ..analysis.dot_loop_registers import tile_registers
from ..analysis.resource_model import (
    ASYNC_MMA_REG_OVERHEAD,
    MAX_TMA_STAGES,
    MIN_STAGES,
    STAGES_SMEM_OVERHEAD,
    WARPGROUP,
    registers_at_launch,
    registers_fit_with_setmaxnreg,
    setmaxnreg_split,
)
from ..analysis.tma_operands import tma_loads_allowed
from ..common.optimization_hints import occupancy
from ..job import Job
from ..mma.family import fastest_family
from ..pipelining_strategies import choose as choose_strategy
from .choose import Limit, Resource, WholeSchedule, cheapest, hear_schedules, is_listening
from .cost import cost
from .kernel import Kernel, describe
from .schedule import Schedule
from .schedule_attribute import is_declined, schedule_of, set_knobs

MAX_WARPGROUPS, MIN_WARPGROUPS = 4, 2  # of a CTA, and of all CTAs that share an SM
# Registers besides the accumulators of one instruction: its left operand, descriptors; by ptxas 13.2.
INSTRUCTION_REG_OVERHEAD = 30
# Registers besides the tiles that are live when a bias is added: rows' maxima, denominators, addresses; by ptxas 13.2, 24 suffice, 8 do not.
LOADED_REG_OVERHEAD = 16
CTAS = (2, 1)
DECIDES = ("num_warps", "occupancy")


class _Refusal(NamedTuple):
    """What binds a number of CTAs, and what would allow it."""

    refused: str | Limit | None = None
    remedy: str | None = None


class AttentionCandidates:
    """The whole schedules of a kernel whose dots are all chained, by ``warps`` of warpgroups."""

    def __init__(self, func: TableOp, job: Job, chains: list[ChainedDots], warps: int):
        self.func, self.job, self.target, self.chains, self.warps = func, job, job.target, chains, warps
        self.family = fastest_family(job.target)

    @classmethod
    def of(cls, func: TableOp, job: Job) -> AttentionCandidates | None:
        """None for kernels that have no chained dots, or cannot use warpgroups for all of them."""
        family, chains = fastest_family(job.target), chained_dots_of(func)
        if family.group is None or not chains or not choose_strategy(job).uses_tma:
            return None
        dots = (dot for chain in chains for dot in (chain.first, chain.last))
        if (
            not tma_loads_allowed(func)
            or func.num_ctas is not None
            or any(family.row_for(d, job.target) is None for d in dots)
        ):
            return None
        rows, warps_of_group = family.group
        groups, rest = divmod(chains[0].rows, rows)
        warps = warps_of_group * groups
        if rest or groups > MAX_WARPGROUPS or schedule_of(func).num_warps not in (None, warps):
            return None
        return cls(func, job, chains, warps)

    def best(self) -> WholeSchedule | None:
        """The cheapest legal candidate with the CTAs that are asked for, if any are; None where none is legal."""
        asked = occupancy(self.func, self.job)
        limits = {ctas: self.limit(ctas) for ctas in (CTAS if asked is None else (asked,))}
        is_priced = is_listening() or sum(limit.refused is None for limit in limits.values()) > 1
        found = [self._candidate(ctas, limit, is_priced) for ctas, limit in limits.items()]
        hear_schedules(self.func, found)
        return cheapest(found)

    @cached_property
    def kernel(self) -> Kernel:
        return describe(self.func, self.job)

    def _candidate(self, ctas: int, limit: _Refusal, is_priced: bool) -> WholeSchedule:
        if not is_priced or limit.refused is not None:
            return WholeSchedule(Schedule(num_warps=self.warps, occupancy=ctas), *limit, decides=DECIDES)
        schedule = self._expected(ctas)
        return WholeSchedule(schedule, cost=cost(self.kernel, schedule, self.target), decides=DECIDES)

    # ---- what is legal ---------------------------------------------------------------------------
    def limit(self, ctas: int) -> _Refusal:
        """What an SM does not hold of so many CTAs. What asks the kernel for its shape is answered with this one."""
        if self.warps * ctas < MIN_WARPGROUPS * WARPGROUP:
            return _Refusal("four warps: no others multiply while they compute the softmax", "more rows or CTAs per SM")
        before = schedule_of(self.func)
        set_knobs(self.func, num_warps=self.warps, occupancy=ctas if ctas > 1 else None, setmaxnreg=True)
        limits = [self._limit(chain, ctas) for chain in self.chains]
        set_knobs(self.func, num_warps=before.num_warps, occupancy=before.occupancy, setmaxnreg=before.setmaxnreg)
        return next((limit for limit in limits if limit.refused is not None), _Refusal())

    def _limit(self, chain: ChainedDots, ctas: int) -> _Refusal:
        """Registers hold the tiles that are live at once, and shared memory the stages.

        With two CTAs, threads then have registers for both accumulators; with one, also for two left operands of the second dot,
        which rotate_mma_loop overlaps with the next iteration.
        """
        words = self._words(chain, two_lefts=ctas == 1)
        if not registers_fit_with_setmaxnreg(words, self.warps, ctas, self.target):
            needed, available = words // (WARP * self.warps), setmaxnreg_split(self.warps, self.target, ctas)[1]
            text = f"a thread needs {needed + ASYNC_MMA_REG_OVERHEAD} for scores, results and operands, and has {available}"
            return _Refusal(Limit(Resource.REGISTERS, f"{text} with {ctas} per SM"), "smaller tiles")
        if ctas > 1 and not self._loaded_fit(chain, ctas):
            text = f"the scores, results and what is loaded beside operands with {ctas} per SM"
            return _Refusal(Limit(Resource.REGISTERS, f"a thread does not hold {text}"), "smaller tiles")
        if (least := self._instruction_registers(chain)) > (
            available := registers_at_launch((self.warps + WARPGROUP) * ctas, self.target)
        ):
            text = (
                f"ptxas needs {least} at launch for the instruction of {self._columns(chain)} columns, and a thread has"
            )
            return _Refusal(Limit(Resource.REGISTERS, f"{text} {available} with {ctas} per SM"), "fewer columns")
        if not self.family.stages_fit(chain.first, ctas, self.job):
            text = f"the stages of a CTA do not fit with {ctas} per SM"
            return _Refusal(Limit(Resource.SHARED, text), "smaller tiles")
        return _Refusal()

    def _loaded_fit(self, chain: ChainedDots, ctas: int) -> bool:
        """Whether threads hold tiles such as a bias besides scores and results."""
        if not (loaded := chain.loaded_registers):
            return True
        needed = (self._words(chain, two_lefts=False) + loaded) // (WARP * self.warps) + LOADED_REG_OVERHEAD
        return needed <= setmaxnreg_split(self.warps, self.target, ctas)[1]

    def _columns(self, chain: ChainedDots) -> int:
        """Columns of the largest instruction."""
        widest = max(tile_shape(dot.result)[-1] for dot in (chain.first, chain.last))
        return min(widest, self.family.max_columns)

    def _instruction_registers(self, chain: ChainedDots) -> int:
        """Registers that ptxas wants a kernel to have at launch for its largest instruction, whatever setmaxnreg adds later."""
        rows, warps = unwrap(self.family.group)
        return rows * self._columns(chain) // (warps * WARP) + INSTRUCTION_REG_OVERHEAD

    def _words(self, chain: ChainedDots, *, two_lefts: bool) -> int:
        """32-bit words of the tiles that are live at once, of all threads."""
        tiles = [chain.first.result, chain.last.result, *([chain.last.lhs] if two_lefts else [])]
        if not self.family.lhs_stays_in_smem(chain.first, self.job):
            tiles.append(chain.first.lhs)
        return sum(map(tile_registers, tiles))

    # ---- what follows ----------------------------------------------------------------------------
    def _expected(self, ctas: int) -> Schedule:
        """The schedule with so many CTAs."""
        first = self.kernel.dots[0]
        beside = STAGES_SMEM_OVERHEAD * (len(self.kernel.dots) + 1) + (0 if first.a_bytes else int(first.a_size()))
        fitting = (self.target.shared_memory_of(ctas) - beside) // max(self.kernel.stage_bytes, 1)
        stages = max(1, min(MAX_TMA_STAGES, fitting))
        words = max(self._words(chain, two_lefts=True) + chain.loaded_registers for chain in self.chains)
        has_registers = registers_fit_with_setmaxnreg(words, self.warps, ctas, self.target)
        rotates = stages >= MIN_STAGES and has_registers and not is_declined(self.func, "rotate")
        alternates = rotates and self.warps > WARPGROUP and not is_declined(self.func, "ping_pong")
        return Schedule(
            num_warps=self.warps,
            occupancy=ctas,
            mma=(self.family.name,) * len(self.kernel.dots),
            num_stages=stages,
            rotate=rotates or None,
            ping_pong=alternates or None,
        )
