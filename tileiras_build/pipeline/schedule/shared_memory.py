"""What a kernel gives up where shared memory does not hold it: the size of chunks, and copies by TMA.

Both are chosen before the passes that depend on them: TMA before families of instructions and layouts, chunks with the stages
beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...ir.dialects.op_definition import TableOp
from ..analysis.axis_info import AxisAnalysis
from ..analysis.dot_buffer_sharing import stage_sharing_class
from ..analysis.op_queries import dots_in, has_dots
from ..analysis.resource_model import STAGES_SMEM_OVERHEAD, two_stages_fit
from ..analysis.tma_operands import COPIED_BY_THREADS, TmaOperand, may_prefetch_in_loop, tma_loads_allowed, tma_operand
from ..job import Job
from ..pipelining_strategies import choose as choose_strategy
from ..pipelining_strategies import is_automatic
from .schedule import CHUNK_BYTES
from .schedule_attribute import schedule_of, set_knobs
from .schedule_file import requested

KIB, LARGEST_ELEMENT = 1024, 8
CHUNKS, AND = "layout conversions go through shared memory in chunks of ", "; "
NO_TMA = "no producer warp loads tiles by TMA (no warp specialization): "


def smaller_chunks(func: TableOp, job: Job) -> Iterator[int]:
    """The sizes of chunks below the one that a kernel has, unless a schedule file asks for one."""
    if requested(job).conversion_chunk_bytes is None:
        now = schedule_of(func).conversion_chunk_bytes or CHUNK_BYTES[0]
        yield from (bytes for bytes in CHUNK_BYTES if bytes < now)


def limit_chunks(func: TableOp, bytes: int) -> None:
    """Let the tiles of a kernel go through scratch in chunks of so many bytes, and say so beside what else was given up."""
    set_knobs(func, conversion_chunk_bytes=bytes)
    others = [part for part in (func.shared_memory_fallback or "").split(AND) if part and not part.startswith(CHUNKS)]
    func.shared_memory_fallback = AND.join([*others, f"{CHUNKS}{bytes // KIB} KiB"])


def give_up_tma(func: TableOp, job: Job) -> None:
    """Let all threads copy the tiles of a kernel for which shared memory has too few bytes of stages."""
    if not choose_strategy(job).uses_tma or not is_automatic(job) or not has_dots(func) or not tma_loads_allowed(func):
        return
    if (limit := tma_limit(func, job)) is not None:
        set_knobs(func, strategy=COPIED_BY_THREADS)
        func.shared_memory_fallback = NO_TMA + limit


def tma_limit(func: TableOp, job: Job) -> str | None:
    """Why shared memory does not hold a stage of each operand that TMA would load; None where it does."""
    dots, sizes = dots_in(func), {}
    if sum(map(_most_bytes, dots)) <= job.target.max_shared_memory - CHUNK_BYTES[-1]:
        return None
    loaded = [(dot, found) for dot in dots if (found := _loaded(dot, job))]
    boxes = ((dot, {index: box for index, (_, _, box) in found.items()}) for dot, found in loaded)
    for key, (_, found) in zip(stage_sharing_class(boxes), loaded, strict=True):
        sizes[key] = sum(box.tile_bytes for _, _, box in found.values()) + STAGES_SMEM_OVERHEAD
    needed, available = sum(sizes.values()) + CHUNK_BYTES[-1], job.target.max_shared_memory
    if not sizes or needed <= available:
        return None
    return f"shared memory: a stage of each operand is {needed} bytes; a CTA has {available}"


def _most_bytes(dot: TableOp) -> int:
    """Bytes of the stages of a dot, whatever its operands are loaded as."""
    return STAGES_SMEM_OVERHEAD + LARGEST_ELEMENT * sum(prod(value.type.get_shape()) for value in (dot.lhs, dot.rhs))


def _loaded(dot: TableOp, job: Job) -> dict[int, TmaOperand]:
    """The operands of a dot that TMA would load, by index; none where two stages of them do not fit."""
    analysis = AxisAnalysis()
    if not may_prefetch_in_loop(dot):
        return {}
    found = {index: one for index in (0, 1) if (one := tma_operand(dot, index, job, analysis)) is not None}
    return found if two_stages_fit(sum(box.tile_bytes for _, _, box in found.values()), job) else {}
