"""Whole schedules of a kernel with one matmul: each combination of CTAs, instructions and warps, with its legality and its cost.

The cheapest legal one is chosen; where it is cheaper by less than ``MIN_GAIN``, the first one. They come in this order: a pair
of CTAs for tiles of 256 rows, else one CTA; the fastest family; as many warps as tiles of that size get. What follows from a
combination (CTAs per SM, stages, fragments that are read ahead) is expected here as the passes will choose it.

Fewer warps read operands less often from shared memory, and leave registers for the fragments of the next step, or for another CTA,
which computes during the prologue and the epilogue of the first. Each CTA of a pair has half of the rows, and loads half of the
right operand: in one CTA, each of two MMAs of 128 rows reads all of it from shared memory, which bounds the loop. Where the columns
are the larger side, the transpose is divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import NamedTuple

from ...ir.casting import tile_shape, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.layouts.tmem_layout import ALL_COLUMNS, PAIR, PAIR_COLUMN_UNIT, ROWS, allocated_columns, has_pair_shape
from ...target.sm_limits import WARP
from ..analysis.copied_operands import may_cp_async
from ..analysis.dot_loop_registers import live_tile_registers
from ..analysis.enclosing_control_flow import accumulates_from_zero, is_in_counted_loop
from ..analysis.op_queries import dots_in
from ..analysis.peak_registers import registers_beside_loops
from ..analysis.resource_model import (
    FRAGMENT_REG_OVERHEAD,
    MAX_CP_ASYNC_STAGES,
    MAX_CTAS_PER_SM,
    MAX_TMA_STAGES,
    MIN_STAGES,
    MIN_WARPS,
    STAGES_SMEM_OVERHEAD,
    WARPGROUP,
    choose_stages,
    choose_warps,
    ctas_by_accumulators,
    registers_allow_mma_warp,
    registers_at_launch,
    registers_fit,
    registers_of_thread,
    uses_setmaxnreg,
    warps_of_tile,
)
from ..analysis.scale_lines import scales_are_lines_of_vectors
from ..analysis.stored_operands import stored_bytes
from ..analysis.tma_operands import tma_loads_allowed
from ..common.optimization_hints import hint, occupancy
from ..job import Job
from ..mma.family import MmaFamily, Storage, family_with_fragments, fastest_family
from ..pipelining_strategies import choose as choose_strategy
from . import dot_operands
from .choose import DECIDES, MIN_GAIN, Limit, Resource, WholeSchedule, cheapest, hear_schedules, is_listening
from .cost import STEP_BYTES, cost
from .grid_clusters import grid_cluster_limit, shared_operand
from .kernel import Dot, Kernel
from .schedule import CHUNK_BYTES, Schedule
from .schedule_attribute import is_declined, schedule_of
from .stage_counts import written_stages

WORD_BYTES = 4
NEIGHBOURS = 2  # tile programs of a cluster
MIN_PAIR_COLUMNS = 128  # with fewer columns, the left operand bounds the loop, which a pair does not share


class _Cluster(NamedTuple):
    """CTAs of a tile program; ``kernel``: one CTA's share of it, the transpose where the columns are divided. ``neighbours``: tile
    programs that form a cluster.
    """

    ctas: int
    kernel: Kernel
    refused: str | None = None
    remedy: str | None = None
    neighbours: int | None = None


class Candidates:
    """The whole schedules of a kernel with one dot of two dimensions, which nobody has divided yet or ``num_ctas`` have."""

    def __init__(self, func: TableOp, dot: TableOp, job: Job):
        self.func, self.dot, self.job, self.target = func, dot, job, job.target
        self.usual, self.asked = choose_warps(func, job), func.num_warps or schedule_of(func).num_warps
        self.registers_beside_loops = registers_beside_loops(dot, job.target)

    @cached_property
    def kernel(self) -> Kernel:
        return dot_operands.described(self.func, self.dot, self.transposed, self.job)

    @cached_property
    def neighbours(self) -> Kernel:
        """The kernel where neighbouring tile programs share an operand."""
        return replace(self.kernel, ctas=NEIGHBOURS, shares_left=shared_operand(self.dot) == 0)

    @cached_property
    def loads_scales(self) -> bool:
        """Whether warps of their own load the block scales of an asynchronous MMA; only clusters are weighed then."""
        return dot_operands.loads_scales(self.dot, self.job)

    @cached_property
    def copied(self) -> bool:
        """Whether TMA copies both operands to where the instruction, or threads, read them."""
        if self.transposed or not choose_strategy(self.job).uses_tma:
            return False
        return tma_loads_allowed(self.func) and dot_operands.copies_both(self.dot, self.job)

    @cached_property
    def transposed(self) -> tuple[int, ...]:
        """The operands that TMA loads, and threads transpose for an asynchronous MMA."""
        return dot_operands.transposed_operands(self.func, self.dot, self.job)

    @cached_property
    def written(self) -> bool:
        """Whether threads copy an operand to where an asynchronous MMA reads it, as it is."""
        return not self.copied and not self.transposed and dot_operands.writes_operands(self.dot, self.job)

    @cached_property
    def computed(self) -> tuple[int, ...]:
        """The operands that threads compute, or transpose, for an asynchronous MMA."""
        others = () if self.copied or self.written else dot_operands.computed_operands(self.func, self.dot, self.job)
        return self.transposed or others

    @cached_property
    def copied_by_threads(self) -> tuple[int, ...]:
        """The operands that all threads copy ahead by cp.async, and read fragments of."""
        family = family_with_fragments(self.dot, self.target)
        reads_fragments = Storage.REGISTERS in family.b_storage and is_in_counted_loop(self.dot)
        if self.copied or self.written or self.computed or not reads_fragments or not self.target.has("cp_async"):
            return ()
        return tuple(index for index in (0, 1) if may_cp_async(self.dot, index))

    @cached_property
    def family(self) -> MmaFamily:
        in_shared = self.copied or self.written or bool(self.computed)
        return fastest_family(self.target) if in_shared else family_with_fragments(self.dot, self.target)

    @cached_property
    def registers(self) -> int:
        """Registers of all threads for the tiles that are live at once: the result, what a loop keeps beside it, and both operands where
        one is transposed, as the other one passes through registers, too.
        """
        family = fastest_family(self.target)
        kept = live_tile_registers(self.func, family, lambda dot: family.lhs_stays_in_smem(dot, self.job))
        moved = (stored_bytes(self.dot, 0) + stored_bytes(self.dot, 1)) // WORD_BYTES if self.transposed else 0
        return max(prod(tile_shape(self.dot.result)), kept) + moved

    @classmethod
    def of(cls, func: TableOp, job: Job) -> Candidates | None:
        """None for other kernels: they have one candidate, what the passes prefer. Block scales have a cost where warps multiply
        them, and where a pair of CTAs could: scales of asynchronous MMAs need warps of their own, and others are multiplied before.
        """
        dots = dots_in(func)
        if len(dots) != 1 or len(tile_shape(dots[0].result)) != 2:
            return None
        if dot_operands.loads_scales(dots[0], job) and not scales_are_lines_of_vectors(dots[0]):
            return None
        return cls(func, dots[0], job) if job.opt_level != 0 and choose_strategy(job).passes else None

    def best_of_clusters(self) -> WholeSchedule | None:
        """The cheapest legal candidate with one CTA or a pair; None where there is no pair to weigh."""
        is_large = self._has_pairs and max(tile_shape(self.dot.result)) == PAIR * ROWS
        if is_listening() and self.target.has("tma_multicast") and not self.loads_scales:
            return self._best((*self._clusters(), self._neighbours_of_any_grid()))
        return self._best(self._clusters()) if is_large else None

    @property
    def _has_pairs(self) -> bool:
        """Whether two CTAs of a cluster compute one MMA."""
        return self.target.has("tma_cta_group")

    def best_neighbours(self) -> WholeSchedule | None:
        """The cheapest legal candidate with a cluster of neighbouring tile programs; None where others take no more time."""
        if self.loads_scales or self._neighbours_limit()[0] is not None:
            return None  # before the kernel is described, which takes longer
        together = cheapest(self._of([self._neighbours()]))
        if together is None or together.cost is None:
            return None
        alone = cheapest(self._of(self._clusters()))
        assert alone is not None
        return together if together.nanoseconds < (1 - MIN_GAIN) * alone.nanoseconds else None

    def in_one_cta(self) -> WholeSchedule | None:
        """The cheapest legal candidate with one CTA; None where a pair of CTAs is cheaper."""
        whole = None if self.loads_scales else cheapest(self._of([_Cluster(1, self.kernel)]))
        if whole is None or (best := cheapest(self._of(self._clusters()))) is None or best.schedule.num_ctas:
            return None
        return whole

    def best(self) -> WholeSchedule | None:
        """The cheapest legal candidate with the CTAs that the kernel has; None where there are no fewer warps to weigh."""
        if self.loads_scales:
            return None
        half = self.usual // 2
        is_large = self.asked is None and half >= MIN_WARPS and registers_fit(self.registers, half, 1, self.target)
        return self._best([_Cluster(self.kernel.ctas, self.kernel)]) if is_large or is_listening() else None

    def more_ctas(self, one: WholeSchedule) -> int | None:
        """The CTAs per SM of a candidate that has more than the passes would choose."""
        ctas = one.schedule.occupancy or 1
        return ctas if ctas > self._expected_ctas(self.kernel, unwrap(one.schedule.num_warps)) else None

    def _best(self, clusters: Iterable[_Cluster]) -> WholeSchedule | None:
        found = self._of(clusters)
        hear_schedules(self.func, found)
        return cheapest(found)

    def _of(self, clusters: Iterable[_Cluster]) -> list[WholeSchedule]:
        return [
            self._candidate(cluster, warps, ctas)
            for cluster in clusters
            for warps in self._warps(cluster.kernel)
            for ctas in self._ctas(cluster.kernel, warps)
        ]

    # ---- what could be ---------------------------------------------------------------------------
    def _clusters(self) -> Iterator[_Cluster]:
        one = _Cluster(1, self.kernel)
        dot, refused = self.kernel.dots[0], self._pair_limit()
        turned = dot.m < PAIR * ROWS
        pair = _Cluster(PAIR, (self.kernel.transposed() if turned else self.kernel).divided(PAIR), *refused)
        yield from (one, pair) if turned else (pair, one)

    def _neighbours(self, refused: str | None = None, remedy: str | None = None) -> _Cluster:
        """A cluster of tile programs that are neighbours along axis 0 of the grid."""
        return _Cluster(1, self.neighbours, refused, remedy, NEIGHBOURS)

    def _neighbours_of_any_grid(self) -> _Cluster:
        """The same for a kernel whose grid no launch has to fit."""
        refused, remedy = self._neighbours_limit()
        if refused is not None:
            return self._neighbours(refused, remedy)
        return self._neighbours(
            f"the grid of a launch may have an extent along axis 0 that is no multiple of {NEIGHBOURS}",
            "variants=1 adds a kernel for others; or grid_cluster in a schedule file",
        )

    def _warps(self, kernel: Kernel) -> Iterator[int]:
        dot, usual = kernel.dots[0], self.usual
        if self.asked is not None:
            yield self.asked
            return
        if kernel.dots != self.kernel.dots:
            usual = warps_of_tile(max(dot.m * dot.n, dot.m * dot.k, dot.k * dot.n))
        yield usual
        if usual // 2 >= MIN_WARPS and self._may_have_fewer(kernel):
            yield usual // 2

    def _ctas(self, kernel: Kernel, warps: int) -> Iterator[int]:
        """CTAs per SM: as the passes prefer, and more where threads multiply what TMA copies, or write operands before."""
        yield (expected := self._expected_ctas(kernel, warps))
        if self._weighs_ctas(kernel) and expected < MAX_CTAS_PER_SM:
            yield MAX_CTAS_PER_SM

    def _weighs_ctas(self, kernel: Kernel) -> bool:
        """Not where threads add partial sums of what they transpose, for which they need registers."""
        waits = self.copied and self.family.async_ops is None or bool(self.computed)
        if self.transposed and self.family.adds_partial_sums(unwrap(self.family.row_for(self.dot, self.target))):
            return False
        return waits and kernel.ctas == 1 and not self._ctas_asked

    def _may_have_fewer(self, kernel: Kernel) -> bool:
        """Early pruning: whether fewer warps may leave space for another CTA, and the loop has, besides conversions of loaded tiles,
        no more work than an instruction for each element of the operands. Nothing limits the registers of threads that TMA copies for; a persistent kernel with
        accumulators in tensor memory overlaps its epilogue already; warpgroups follow from the rows.
        """
        shares_tiles = kernel.ctas > kernel.split_k and not self._is_pair(kernel)
        if self.family.group is not None or hint(self.func, self.job, "occupancy") or shares_tiles:
            return False
        [dot] = kernel.dots
        gains = (
            not (kernel.is_persistent if self.family.accumulator is Storage.TENSOR else self.copied) or dot.is_scaled
        )
        converted = 0 if dot.is_computed else dot.trips * (dot.a_work + dot.b_work)
        others = sum(kernel.loop.values()) - converted
        return gains and others <= dot.trips * dot.k * (dot.m + dot.n)

    def _is_pair(self, kernel: Kernel) -> bool:
        """Whether the CTAs of a cluster compute one MMA: each has rows of its own, and half of the columns that both need."""
        rows_fit = all(has_pair_shape(dot.m, dot.n) for dot in kernel.dots)
        may_pair = self._has_pairs and not is_declined(self.func, "two_cta_mma")
        has_rows_each = kernel.split_k == 1 and not kernel.shares_left
        return kernel.ctas % PAIR == 0 and may_pair and rows_fit and has_rows_each

    @property
    def _ctas_asked(self) -> int | None:
        """CTAs per SM that somebody asks for."""
        return schedule_of(self.func).occupancy or hint(self.func, self.job, "occupancy")

    # ---- what is legal ---------------------------------------------------------------------------
    def _pair_limit(self) -> tuple[str | None, str | None]:
        """Why no pair of CTAs computes the kernel, and what would allow it."""
        if not self._has_pairs:
            return f"{self.target.name} has no MMAs of CTA pairs", "num_ctas in a schedule file"
        if is_declined(self.func, "two_cta_mma"):
            return "the schedule file declines two_cta_mma", None
        if (schedule_of(self.func).grid_cluster or 1) > 1 or occupancy(self.func, self.job):
            return "another cluster, or a number of CTAs per SM, is asked for", "drop grid_cluster and occupancy"
        if not self.copied:
            return "TMA does not copy both operands", "see the family of the dot"
        if self.family.row_for(self.dot, self.target) is None or not accumulates_from_zero(self.dot):
            return "the dot has no instruction of pairs, or accumulates into another tile", "accumulate from zeros"
        dot = self.kernel.dots[0]
        if dot.a_work or dot.b_work:
            return "threads convert an operand, and write none for a pair", "operands of the type that is multiplied"
        if self.loads_scales and dot.m < PAIR * ROWS:
            return "the CTAs would divide the columns, whose block scales are not swapped", "tiles of 256 rows"
        if self.loads_scales and dot_operands.columns(dot) <= ALL_COLUMNS:
            return (
                "both CTAs would load the scales of all columns, and one has the tensor memory that it needs",
                "num_ctas=2",
            )
        rows, columns = max(dot.m, dot.n), min(dot.m, dot.n) if dot.m < PAIR * ROWS else dot.n
        if rows != PAIR * ROWS or columns not in range(MIN_PAIR_COLUMNS, PAIR * ROWS + 1, PAIR_COLUMN_UNIT):
            shape = f"{PAIR * ROWS} rows or columns, and {MIN_PAIR_COLUMNS} to {PAIR * ROWS} of the other"
            return f"a {dot.m} x {dot.n} tile: a pair needs {shape}", "other tile sizes"
        return None, None

    def _neighbours_limit(self) -> tuple[str | None, str | None]:
        """Why neighbouring tile programs form no cluster, and what would allow it."""
        refused, remedy = grid_cluster_limit(self.func, self.job)
        if refused is not None:
            return refused, remedy
        if schedule_of(self.func).num_ctas or hint(self.func, self.job, "num_cta_in_cga"):
            return "another cluster is asked for", "drop num_ctas"
        if not self.copied:
            return "TMA does not copy both operands", "see the family of the dot"
        if shared_operand(self.dot) is None:
            return (
                "neighbours along axis 0 of the grid share no operand",
                "a row, or a column, of results per ct.bid(0)",
            )
        return None, None

    def _limit(self, schedule: Schedule, kernel: Kernel) -> tuple[Limit | None, str | None]:
        """What an SM does not hold of a schedule, and the remedy."""
        warps, ctas, dot = schedule.num_warps or 1, schedule.occupancy or 1, kernel.dots[0]
        is_asked = schedule_of(self.func).occupancy is not None
        least = ctas if is_asked or ctas > self._expected_ctas(kernel, warps) else 1
        if not registers_fit(registers := self._share(self.registers, kernel), warps, least, self.target):
            needed, available = registers_of_thread(registers, warps, least, self.target)
            text = f"a thread needs {needed} for its part of the tiles, and has {available}"
            return Limit(Resource.REGISTERS, text), "more num_warps"
        columns = (
            ctas * allocated_columns(dot_operands.columns(dot)) if self.family.accumulator is Storage.TENSOR else 0
        )
        if columns > ALL_COLUMNS:
            text = f"{ctas} CTAs per SM need {columns} columns, an SM has {ALL_COLUMNS}"
            return Limit(Resource.TENSOR, text), "smaller tiles"
        stages = MIN_STAGES * dot_operands.stage_bytes(kernel, self.dot, self.computed)
        needed, available = stages + self._beside(kernel), self.target.shared_memory_of(ctas)
        if (self.copied or self.computed) and needed > available:
            text = f"two stages are {needed} bytes, a CTA has {available} with {ctas} per SM"
            return Limit(Resource.SHARED, text), "smaller tiles"
        return None, None

    # ---- what follows ----------------------------------------------------------------------------
    def _candidate(self, cluster: _Cluster, warps: int, ctas: int) -> WholeSchedule:
        kernel = cluster.kernel.with_two_stages(self.target.max_shared_memory - STAGES_SMEM_OVERHEAD)
        schedule = self._expected(cluster, kernel, warps, ctas)
        refused, remedy = (cluster.refused, cluster.remedy) if cluster.refused else self._limit(schedule, kernel)
        decides = (*DECIDES, "occupancy") if self._weighs_ctas(kernel) else DECIDES
        if refused is not None:
            return WholeSchedule(schedule, refused, remedy, decides=decides)
        price = cost(kernel, self._priced(schedule, kernel, ctas), self.target)
        return WholeSchedule(schedule, cost=price, decides=decides)

    def _priced(self, schedule: Schedule, kernel: Kernel, ctas: int) -> Schedule:
        """The schedule whose cost is compared: threads load tiles as if cp.async copied them ahead, since ptxas issues loads ahead, too. As
        if they waited for each load, eight warps would be chosen for 128 x 128 tiles of single elements on sm_80, which take a third
        more by `estimate` than four.
        """
        if self.copied or self.computed:
            return schedule
        fitting = (self.target.shared_memory_of(ctas) - self._beside(kernel)) // max(kernel.stage_bytes, 1)
        stages = max(1, min(MAX_CP_ASYNC_STAGES, fitting))
        ahead = self._fragments_fit(kernel.dots[0], unwrap(schedule.num_warps), ctas) or None
        schedule = replace(schedule, num_stages=None, cp_async_stages=(stages,), prefetch_fragments=ahead)
        # Operands that threads compute are in registers as whole tiles, which bound the CTAs per SM.
        return replace(schedule, occupancy=None if any(dot.written for dot in kernel.dots) else ctas)

    def _expected(self, cluster: _Cluster, kernel: Kernel, warps: int, ctas: int) -> Schedule:
        """The schedule of a combination."""
        is_pair, dot = self._is_pair(kernel), kernel.dots[0]
        size = dot_operands.stage_bytes(kernel, self.dot, self.computed) - is_pair * dot.b_bytes // 2
        fitting = (self.target.shared_memory_of(ctas) - self._beside(kernel)) // max(size, 1)
        stages = min(MAX_CP_ASYNC_STAGES if self.copied_by_threads else MAX_TMA_STAGES, fitting)
        if self.written:
            sizes, used = (dot.a_size(), dot.b_size()), self._beside(kernel)
            stages, ctas = written_stages(self.dot, sizes, self.family, used, ctas, self.job)
        is_read = len(self.copied_by_threads) == 2 and not dot.a_work and not dot.b_work  # as it was copied
        ahead = is_read and self._fragments_fit(dot, warps, ctas) or None
        found = Schedule(num_warps=warps, occupancy=ctas, mma=(self.family.name,), prefetch_fragments=ahead)
        found = replace(found, mma_warp=self._has_mma_warp(kernel, warps) or None)
        if self.copied or self.written or self.computed:
            found = replace(found, num_stages=max(1, stages))
        elif self.copied_by_threads:
            found = replace(found, cp_async_stages=(max(1, stages),))
        else:  # tiles that threads load to registers do not limit CTAs
            found = replace(found, occupancy=self._ctas_asked)
        if kernel.split_k > 1:
            return replace(found, split_k=kernel.split_k)
        if neighbours := cluster.neighbours or schedule_of(self.func).grid_cluster:
            shares = (is_pair or None, not is_pair or None) if kernel.ctas > 1 else (None, None)
            return replace(found, grid_cluster=neighbours, two_cta_mma=shares[0], multicast=shares[1])
        return replace(found, num_ctas=cluster.ctas if cluster.ctas > 1 else None, two_cta_mma=is_pair or None)

    def _expected_ctas(self, kernel: Kernel, warps: int) -> int:
        """As registers allow, or fewer where that leaves too few stages."""
        if asked := self._ctas_asked:
            return asked
        producers = WARPGROUP if uses_setmaxnreg(self.func, self.job, warps) else choose_strategy(self.job).uses_tma
        ctas = ctas_by_accumulators(self._share(self.registers, kernel) // (WARP * warps), warps + producers, self.job)
        ctas = ctas if registers_fit(self._share(self.registers_beside_loops, kernel), warps, ctas, self.target) else 1
        size = max(dot_operands.stage_bytes(kernel, self.dot, self.computed), 1)
        return choose_stages(size, self._beside(kernel), ctas, self.job)[1]

    def _has_mma_warp(self, kernel: Kernel, warps: int) -> bool:
        """Whether a warp of its own issues the MMAs of the next tile while others store the last one."""
        may_wait = kernel.is_persistent and self.copied and self.family.accumulator is Storage.TENSOR
        if not may_wait or is_declined(self.func, "mma_warp"):
            return False
        return registers_allow_mma_warp(self._share(self.registers, kernel), self.func, self.job, warps)

    def _beside(self, kernel: Kernel) -> int:
        """Bytes of shared memory beside the stages of operands: also of results, where stages of the next tile are loaded meanwhile."""
        results = min(CHUNK_BYTES[0], int(kernel.stored)) if kernel.is_persistent and self.copied else 0
        return STAGES_SMEM_OVERHEAD + MAX_CP_ASYNC_STAGES * kernel.dots[0].scale_bytes + results

    def _share(self, registers: int, kernel: Kernel) -> int:
        """Registers of one CTA's share."""
        share, whole = kernel.dots[0], self.kernel.dots[0]
        return registers * (share.m * share.n) // (whole.m * whole.n)

    def _fragments_fit(self, dot: Dot, warps: int, ctas: int) -> bool:
        """Whether threads have registers for the fragments of two steps, which they read at once where they copied the operands."""
        steps = max(1.0, dot.a_size() / dot.m / STEP_BYTES)
        fragments = self.family.shared_bytes(dot, warps) / steps / (4 * WARP * warps)
        needed = dot.m * dot.n / (WARP * warps) + 2 * fragments + FRAGMENT_REG_OVERHEAD
        row = self.family.row_for(self.dot, self.target)
        has_steps = row is not None and not dot.is_scaled and dot.k > row.k
        return (
            has_steps
            and Storage.REGISTERS in self.family.b_storage
            and needed <= registers_at_launch(warps * ctas, self.target)
        )
