"""Left operands that a loop multiplies again and again: whether warpgroups read them in shared memory, where TMA puts them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from ...ir.casting import block_of, given, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ..common.optimization_hints import occupancy
from ..job import Job
from ..pipelining_strategies import choose, runs
from .axis_info import AxisAnalysis
from .buffer_sharing import is_computed_inside
from .chained_dots import DOT, resident_load
from .live_tile_registers import tile_words
from .resource_model import BESIDE_STAGES, choose_warps, divided_words_fit, kept_words_fit, least_stages, words_fit
from .tma_operands import Found, as_read, boxed, fetched, may_fetch, may_run_ahead, placed, warpgroup_row
from .view_chains import choices_around_loops, kernel_of, load_behind

# From so many columns on a warpgroup's product reads both operands from shared memory in less time than it multiplies:
# 64 rows and 128 columns of 16 bits along k of 16 are 6 KiB in 64 clocks, of the 8 KiB that shared memory has in them.
WIDE_PRODUCT = 128
FETCHING = "tileas-select-async"


def stays_in_shared(product: TableOperation, job: Job) -> bool:
    """Whether the left operand of a product comes from before its loop, and shared memory keeps it."""
    return resident_operand(product, job) is not None


def resident_operand(product: TableOperation, job: Job) -> Found | None:
    """The load, the chain and the box of such an operand; None where there is none, or registers keep it."""
    if resident_load(product) is None or warpgroup_row(product, job) is None:
        return None
    func = kernel_of(product)
    if not may_fetch(func) or row(func).num_ctas is not None or not runs(FETCHING, choose(job)):
        return None
    readers = readers_of(product)
    found = [one for reader in readers if (one := _found(reader, job, AxisAnalysis())) is not None]
    # All that read it do so there, and alike: none would find it in registers.
    if len(found) < len(readers) or len({placed(one) for one in found}) > 1:
        return None
    kept = any(_is_worth_it(reader, job) for reader in readers) and all(_has_room(reader, job) for reader in readers)
    return found[readers.index(product)] if kept else None


def readers_of(product: TableOperation) -> list[TableOperation]:
    """The products whose left operand comes from the load that this one's comes from."""
    load = given(load_behind(product.lhs))[0]
    dots = [row(op) for op in walk(kernel_of(product)) if op.name == DOT]
    return [dot for dot in dots if (source := load_behind(dot.lhs)) is not None and source[0] is load]


def _found(product: TableOperation, job: Job, analysis: AxisAnalysis) -> Found | None:
    """Where an instruction finds the operand, if TMA may bring it, and the right one, ahead of the program."""
    source, atom = resident_load(product), warpgroup_row(product, job)
    if source is None or atom is None or choices_around_loops(product) or not may_run_ahead(product):
        return None
    held, right = boxed(*source, job, analysis), fetched(product, 1, job, analysis)
    if held is None or right is None or as_read(right, 0, atom) is None:
        return None
    return as_read(held, 1, atom)


def _is_worth_it(product: TableOperation, job: Job) -> bool:
    """Whether shared memory serves the product in time, or threads have no registers for the operand beside all else."""
    if product.rhs.type.get_shape()[1] >= WIDE_PRODUCT:
        return True
    func = kernel_of(product)
    words, warps = sum(map(tile_words, _tiles(product))), choose_warps(func, job)
    ctas = occupancy(func, job) or 1
    if row(func).divides_registers:
        return not divided_words_fit(words, warps, ctas, job.target)
    return not (kept_words_fit(words, warps, job.target) if ctas == 1 else words_fit(words, warps, ctas, job.target))


def _tiles(product: TableOperation) -> dict[SSAValue, None]:
    """What the products of a loop would have in registers: sums, and left operands that are computed or stay."""
    dots = _beside(product)
    lefts = [dot.lhs for dot in dots if is_computed_inside(dot) or resident_load(dot) is not None]
    return dict.fromkeys([*(dot.result for dot in dots), *lefts])


def _beside(product: TableOperation) -> list[TableOperation]:
    return [row(op) for op in block_of(product).ops if op.name == DOT]


def _has_room(product: TableOperation, job: Job) -> bool:
    """Whether as many stages of what the loop fetches fit beside the operand as without it, or as many as are needed."""
    ctas = occupancy(kernel_of(product), job) or 1
    without = _stages(product, 0, ctas, job)
    held = sum(_held(dot, job, AxisAnalysis()) for dot in _beside(product) if dot.lhs is product.lhs)
    return _stages(product, held, ctas, job) >= min(max(without, 1), least_stages(ctas))


def stages_fit(product: TableOperation, ctas: int, job: Job) -> bool:
    """Whether each of so many CTAs has shared memory for the stages of the loop of a product, and what stays there."""
    held = _held(product, job, AxisAnalysis()) if stays_in_shared(product, job) else 0
    return _stages(product, held, ctas, job) >= least_stages(ctas)


def _stages(product: TableOperation, held: int, ctas: int, job: Job) -> int:
    """The stages of the loop of a product that a CTA has shared memory for, beside so many bytes."""
    analysis, dots = AxisAnalysis(), _beside(product)
    size = sum(box.tile_bytes for dot in dots for box in _stage(dot, job, analysis))
    room = job.target.shared_memory_of(ctas) - BESIDE_STAGES * (len(dots) + 1) - held
    return room // size if size else 0


def _stage(dot: TableOperation, job: Job, analysis: AxisAnalysis) -> Iterator:
    """The boxes of the operands that come in each iteration."""
    for index in (0, 1):
        if (found := fetched(dot, index, job, analysis)) is not None:
            yield found[2]


def _held(dot: Operation, job: Job, analysis: AxisAnalysis) -> int:
    source = resident_load(row(dot))
    box = None if source is None else boxed(*source, job, analysis)
    return 0 if box is None else box[2].tile_bytes
