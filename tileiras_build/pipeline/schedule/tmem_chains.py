"""Chained dots (attention) whose accumulators stay in tensor memory: what an SM holds of them, and how a tile of 256 rows is computed.

An SM has the registers and columns of two tiles of 128 rows: the MMAs of one run while the softmax of the other is computed. They are two
CTAs, or the two halves of a tile of 256 rows (``query_tiles``), which then load keys and values once for both. Where those do not fit, or cost
more, a tile of 256 rows is computed slice by slice (``loop_over_tile_slices.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Operation

from ...ir.casting import as_op, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import ALL_COLUMNS, COLUMN_BITS, MAX_TMEM_COLUMNS, ROWS, WARPS, allocated_columns
from ..analysis.axis_info import AxisAnalysis
from ..analysis.chained_dots import ChainedDots, chained_dots_of, stationary_lhs_load
from ..analysis.op_queries import has_dots
from ..analysis.resource_model import MIN_WARPS, STAGES_SMEM_OVERHEAD, min_stages, registers_fit_with_setmaxnreg
from ..analysis.tma_operands import (
    TmaOperand,
    may_prefetch_in_loop,
    operand_placement,
    tma_loads_allowed,
    tma_operand,
    with_tma_box,
)
from ..common.llvm_element_types import element_of
from ..common.optimization_hints import hint
from ..job import Job
from ..mma.family import Storage, fastest_family
from .choose import Candidate, WholeSchedule, cheapest, choose, hear, hear_schedules
from .cost import cost
from .kernel import describe
from .schedule import Schedule
from .schedule_attribute import is_declined, schedule_of, set_knobs
from .schedule_file import requested

REGISTER_BYTES = 4
TILES = 2  # of 128 rows per SM, in one or two CTAs


@dataclass(eq=False)
class TmemChain:
    """The dots of one loop, what TMA loads for them, and their instructions."""

    dots: ChainedDots
    job: Job

    @cached_property
    def boxes(self) -> tuple[Mapping[int, TmaOperand], Mapping[int, TmaOperand]] | None:
        """The TMA boxes of the operands of each dot, as its instruction reads them: all but the left operand of the second one."""
        first, last, analysis = self.dots.first, self.dots.last, AxisAnalysis()
        found = stationary_lhs_load(first)
        held = None if found is None else with_tma_box(*found, self.job, analysis)
        right, other = (tma_operand(dot, 1, self.job, analysis) for dot in (first, last))
        if held is None or right is None or other is None:
            return None
        read = self._reads(first, {0: held, 1: right}), self._reads(last, {1: other})
        return None if None in read else (unwrap(read[0]), unwrap(read[1]))

    def _reads(self, dot: TableOp, loaded: dict[int, TmaOperand]) -> Mapping[int, TmaOperand] | None:
        target = self.job.target
        fits = dot.rhs.type.get_shape()[1] <= MAX_TMEM_COLUMNS
        return fastest_family(target).reads(dot, loaded, target) if fits else None

    @property
    def pair(self) -> tuple[TableOp, TableOp]:
        """Both dots, in program order."""
        return self.dots.first, self.dots.last

    @property
    def stationary_lhs(self) -> TmaOperand:
        """What TMA loads before the loop."""
        return unwrap(self.boxes)[0][0]

    @property
    def is_supported(self) -> bool:
        """Whether tensor memory has instructions for both dots, and they read what TMA loads."""
        return all(map(_is_plain, self.pair)) and self.boxes is not None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, and columns of both accumulators."""
        m, n = self.dots.first.result.type.get_shape()
        return m, n, self.dots.last.result.type.get_shape()[1]

    @property
    def query_tiles(self) -> int:
        """Tiles of 128 rows, each with accumulators, an MMA issuer and four warps of its own."""
        return self.shape[0] // ROWS

    @property
    def warps(self) -> int:
        """One thread for each row."""
        return WARPS * self.query_tiles

    def fitting_ctas(self, func: Operation) -> int | None:
        """How many CTAs share an SM; None where they do not fit, or the hint asks for fewer.

        Where it asks for more, no other way of computing the chain has them, or is faster.
        """
        m, n, columns = self.shape
        if m % ROWS or TILES % self.query_tiles or self.warps < MIN_WARPS:
            return None
        ctas = TILES // self.query_tiles
        if (hint(func, self.job, "occupancy") or ctas) < ctas or not self._is_asked(ctas):
            return None
        columns_needed = self.query_tiles * (n + columns)
        fits = ctas * allocated_columns(columns_needed) <= ALL_COLUMNS and self.stages(ctas) >= min_stages(ctas)
        words = max(m * n + self._loaded_registers(ctas), m * columns)
        has_registers = registers_fit_with_setmaxnreg(words, self.warps, ctas, self.job.target)
        return ctas if fits and has_registers else None

    def _loaded_registers(self, ctas: int) -> int:
        """Registers of loaded tiles: of two layouts where shared memory has no place to convert them at once beside the fewest stages."""
        loaded = self.dots.loaded_registers
        return loaded if self.stages(ctas, REGISTER_BYTES * loaded) >= min_stages(ctas) else 2 * loaded

    def _is_asked(self, ctas: int) -> bool:
        """Whether the schedule file allows so many CTAs per SM, and the warps; of halves that run one after the other, those of one."""
        asked, warps = requested(self.job), self.warps
        if asked.query_tiles == 1:
            ctas, warps = TILES, WARPS
        return asked.occupancy in (None, ctas) and asked.num_warps in (None, warps)

    def stages(self, ctas: int, scratch_bytes: int = 0) -> int:
        """The stages that shared memory holds beside the stationary tile and scratch, for each of so many CTAs."""
        size = sum(boxes[1][2].tile_bytes for boxes in unwrap(self.boxes))
        beside = self.stationary_lhs[2].tile_bytes + STAGES_SMEM_OVERHEAD * (len(self.pair) + 1)
        return (self.job.target.shared_memory_of(ctas) - beside - scratch_bytes) // size


def _is_plain(dot: TableOp) -> bool:
    """Whether a loop multiplies unscaled matrices with 32-bit accumulators, and its loads may run
    ahead.
    """
    if element_of(dot.result.type).bits != COLUMN_BITS:
        return False
    return len(dot.lhs.type.get_shape()) == 2 and dot.lhs_scale is None and may_prefetch_in_loop(dot)


def chains_in_tmem(func: Operation, job: Job) -> list[TmemChain]:
    """The chained dots of a kernel, if all accumulators may stay in tensor memory; none otherwise."""
    if not has_dots(func) or not _is_allowed(func, job):
        return []
    chains = [TmemChain(found, job) for found in chained_dots_of(func)]
    if not chains or not all(chain.is_supported for chain in chains) or len({chain.shape for chain in chains}) > 1:
        return []
    if len({operand_placement(chain.stationary_lhs) for chain in chains}) > 1 or chains[0].fitting_ctas(func) is None:
        return []
    return chains


def choose_chains(func: TableOp, job: Job) -> list[TmemChain]:
    """The chained dots of a kernel that stay in tensor memory, whose warps and CTAs per SM it then has; none for other kernels."""
    if not (chains := chains_in_tmem(func, job)):
        return []
    ctas, tiles = unwrap(chains[0].fitting_ctas(func)), chains[0].query_tiles
    set_knobs(func, num_warps=chains[0].warps, tmem_accumulators=True)
    if ctas > 1 or schedule_of(func).occupancy:
        set_knobs(func, occupancy=ctas)
    hear(func, "occupancy", ctas, [Candidate(ctas)])
    if tiles > 1 or schedule_of(func).query_tiles:
        set_knobs(func, query_tiles=tiles)
    return chains


def _is_allowed(func: Operation, job: Job) -> bool:
    """Whether the target and the schedule file allow tcgen05 for all dots of a CTA."""
    fastest = fastest_family(job.target)
    if fastest.accumulator is not Storage.TENSOR or as_op(func).num_ctas is not None or not tma_loads_allowed(func):
        return False
    return not is_declined(func, "tmem_accumulators") and set(requested(job).mma or ()) <= {fastest.name}


# ---- tiles of 256 rows -----------------------------------------------------------------------------
def has_query_tiles(func: TableOp, job: Job) -> bool:
    """Choose whether a CTA computes both halves of tiles of 256 rows at once; False where the kernel has none that could."""
    if not (found := _schedules(func, job)):
        return False
    hear_schedules(func, found)
    best = schedule_of(func).query_tiles or unwrap(cheapest(found)).schedule.query_tiles
    order = sorted(range(1, TILES + 1), key=lambda tiles: tiles != best)
    return choose(func, job, "query_tiles", map(Candidate, order)) == TILES


def may_have_query_tiles(func: TableOp, job: Job) -> bool:
    """Whether a CTA computes one half of tiles of 256 rows after the other, and could compute both at once."""
    found = _schedules(func, job)
    return bool(found) and unwrap(cheapest(found)).schedule.query_tiles != TILES


def _schedules(func: TableOp, job: Job) -> list[WholeSchedule]:
    """One half after the other, and both at once, which persistent kernels prefer: they are launched with a CTA for each SM, and
    that leaves it to another one half of the time. None for kernels without such tiles.
    """
    chains = chains_in_tmem(func, job)
    if not chains or chains[0].query_tiles < TILES:
        return []
    kernel = describe(func, job)
    schedules = [_expected(chains[0], tiles, len(kernel.dots), job) for tiles in (1, TILES)]
    if kernel.is_persistent:
        schedules.reverse()
    shares = (kernel.divided(TILES // (one.query_tiles or 1)) for one in schedules)
    return [
        WholeSchedule(one, cost=cost(share, one, job.target), decides=("query_tiles",))
        for one, share in zip(schedules, shares)
    ]


def _expected(chain: TmemChain, query_tiles: int, dots: int, job: Job) -> Schedule:
    ctas = TILES // query_tiles
    return Schedule(
        num_warps=WARPS * query_tiles,
        occupancy=ctas,
        mma=(fastest_family(job.target).name,) * dots,
        tmem_accumulators=True,
        query_tiles=query_tiles,
        num_stages=max(1, chain.stages(1) // ctas),
    )
