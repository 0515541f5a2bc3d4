"""Keep the accumulators of chained dots in tensor memory, so that two tiles of 128 rows share an SM.

In:    nv_tileas dots without layouts, in kernels whose dots are all chained (``chained_dots.py``): the result of the
       first dot becomes the left operand of the second, whose accumulator is rescaled in each iteration.
Out:   ``rescaled`` on the second dot: its accumulator stays in tensor memory, and its left operand overwrites the
       accumulator of the first dot after it was read. ``stationary`` on the first dot: its left operand is loaded before
       the loop and stays in shared memory. ``mma`` on both, ``tma`` on the loads. On the kernel, ``num_warps`` (one thread
       per row), and ``occupancy`` if two CTAs have a tile of 128 rows each.
After: select_mma_and_tma (whose choice it replaces). Before: expand_block_scales, assign_layouts.
Sound: rescaling by 1 is exact. A thread overwrites only the scores of its own row, which it already holds in registers.
       The MMAs of one thread (``mma_issuer.py``) execute in the order of issue, so the next scores are written
       after the dot that reads what they overwrite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.casting import as_op, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ...ir.layouts.matrix_descriptor import WIDE
from ...ir.layouts.tmem_layout import ALL_COLUMNS, COLUMN_BITS, MAX_TMEM_COLUMNS, ROWS, WARPS, allocated_columns
from ..analysis.axis_info import AxisAnalysis
from ..analysis.chained_dots import ChainedDots, chained_dots_of, stationary_lhs_load
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
from ..pass_manager import EdgePass
from ..schedule.choose import is_declined
from ..schedule.schedule_attribute import schedule_of, set_knobs
from ..schedule.schedule_file import requested

# Tiles of 128 rows per SM, in one or two CTAs: the MMAs of one tile overlap the softmax of the other.
TILES = 2


class KeepAccumulatorsInTmem(EdgePass):
    """Accumulators of chained dots that stay in tensor memory."""

    name = "tileas-keep-accumulators-in-tmem"

    def run(self, module: ModuleOp, job: Job) -> None:
        if fastest_family(job.target).accumulator is not Storage.TENSOR:
            return
        for func in module.body.block.ops:
            if (
                is_function(func)
                and tma_loads_allowed(func)
                and as_op(func).num_ctas is None
                and _is_allowed(func, job)
            ):
                _keep_in_tmem(as_op(func), job)


def _is_allowed(func: Operation, job: Job) -> bool:
    """Whether a schedule file allows tcgen05 for all dots."""
    families = requested(job).mma or ()
    return not is_declined(func, "tmem_accumulators") and set(families) <= {fastest_family(job.target).name}


def _keep_in_tmem(func: TableOp, job: Job) -> None:
    chains = [_ChainedDots(found, job) for found in chained_dots_of(func)]
    if not chains or not all(chain.is_supported for chain in chains) or len({chain.shape for chain in chains}) > 1:
        return
    if (
        len({operand_placement(chain.stationary_lhs) for chain in chains}) > 1
        or (ctas := chains[0].fitting_ctas(func)) is None
        or requested(job).num_warps not in (None, chains[0].warps)
    ):
        return
    set_knobs(func, num_warps=chains[0].warps, tmem_accumulators=True)
    if ctas > 1 or schedule_of(func).occupancy:
        set_knobs(func, occupancy=ctas)
    for chain in chains:
        chain.mark()


@dataclass(eq=False)
class _ChainedDots:
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
    def _pair(self) -> tuple[TableOp, TableOp]:
        return self.dots.first, self.dots.last

    @property
    def stationary_lhs(self) -> TmaOperand:
        return unwrap(self.boxes)[0][0]

    @property
    def is_supported(self) -> bool:
        """Whether tensor memory has instructions for both dots, and they read what TMA loads."""
        return all(map(_is_plain, self._pair)) and self.boxes is not None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, and columns of both accumulators."""
        m, n = self.dots.first.result.type.get_shape()
        return m, n, self.dots.last.result.type.get_shape()[1]

    @property
    def tiles(self) -> int:
        return self.shape[0] // ROWS

    @property
    def warps(self) -> int:
        return WARPS * self.tiles

    def fitting_ctas(self, func: Operation) -> int | None:
        """How many CTAs share an SM; None where they do not fit, or the hint asks for fewer.

        Where it asks for more, no other way of computing the chain has them, or is faster.
        """
        m, n, columns = self.shape
        if m % ROWS or TILES % self.tiles or self.warps < MIN_WARPS:
            return None
        ctas = TILES // self.tiles
        if (hint(func, self.job, "occupancy") or ctas) < ctas or requested(self.job).occupancy not in (None, ctas):
            return None
        columns_needed = self.tiles * (n + columns)
        fits = ctas * allocated_columns(columns_needed) <= ALL_COLUMNS and self._shared_bytes(
            ctas
        ) <= self.job.target.shared_memory_of(ctas)
        return (
            ctas
            if fits and registers_fit_with_setmaxnreg(m * max(n, columns), self.warps, ctas, self.job.target)
            else None
        )

    def _shared_bytes(self, ctas: int) -> int:
        """Shared memory per CTA, for ``ctas`` CTAs: the stationary tile, and the fewest stages."""
        held = self.stationary_lhs[2].tile_bytes
        size = sum(boxes[1][2].tile_bytes for boxes in unwrap(self.boxes))
        beside = STAGES_SMEM_OVERHEAD * (len(self._pair) + 1)
        return held + min_stages(ctas) * size + beside

    def mark(self) -> None:
        target = self.job.target
        for dot, boxes in zip(self._pair, unwrap(self.boxes), strict=True):
            dot.mma = unwrap(fastest_family(target).row_for(dot, target)).name
            for load, _, box in boxes.values():
                load.tma, load.swizzle = True, WIDE if box.swizzle == WIDE else None
        self.dots.first.stationary, self.dots.last.rescaled = True, True


def _is_plain(dot: TableOp) -> bool:
    """Whether a loop multiplies unscaled matrices with 32-bit accumulators, and its loads may run
    ahead.
    """
    if element_of(dot.result.type).bits != COLUMN_BITS:
        return False
    return len(dot.lhs.type.get_shape()) == 2 and dot.lhs_scale is None and may_prefetch_in_loop(dot)
