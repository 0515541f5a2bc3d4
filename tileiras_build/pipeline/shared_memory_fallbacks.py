"""FALLBACKS: what a kernel gives up, row by row, until its shared memory fits.

Tiles are first placed as if they fit. If they do not, the lowering to nv_tileas runs again under the next row. Each row
includes the restrictions of the rows before it, and its remark reports the cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from ..ir.dialects.fast_xdsl import walk
from .common.llvm_element_types import element_of
from .job import Job
from .pipelining_strategies import AUTO, is_automatic
from .schedule.schedule_file import requested

KIB = 1024


@dataclass(frozen=True)
class Fallback:
    """A way to use less shared memory. ``remark`` states its cost.

    ``max_chunk_bytes``: the limit for a tile in scratch, if it can be chunked. ``strategy`` replaces "auto".
    """

    remark: str
    chunk_bytes: int
    strategy: str = AUTO


FALLBACKS = (
    Fallback("", 32 * KIB),
    Fallback("layout conversions go through shared memory in chunks of 8 KiB", 8 * KIB),
    Fallback("no producer warp loads tiles by TMA (no warp specialization)", 8 * KIB, "unspecialize"),
    Fallback("loads are not software-pipelined", 2 * KIB, "none"),
)


def fallback_jobs(job: Job) -> Iterator[Job]:
    """``job`` with each row that its options and its schedule allow: an explicit strategy or chunk size is kept."""
    if (chunk := requested(job).conversion_chunk_bytes) is not None:
        yield replace(job, fallback=next(number for number, row in enumerate(FALLBACKS) if row.chunk_bytes == chunk))
        return
    for number, row in enumerate(FALLBACKS):
        if row.strategy == AUTO:
            yield replace(job, fallback=number)
        elif is_automatic(job) and job.opt_level != 0:
            yield replace(job, fallback=number, strategy=row.strategy)


def fallback_of(job: Job) -> Fallback:
    """The row of a job."""
    return FALLBACKS[job.fallback]


def may_exceed_shared_memory(module: ModuleOp, job: Job) -> bool:
    """Whether one stage of all dot operands and the largest tiles of a kernel may exceed the shared memory of the target."""
    return any(_required_bytes(func) > job.target.max_shared_memory // 2 for func in module.body.block.ops)


def _required_bytes(func: Operation) -> int:
    """The bytes of dot operands, with elements of at least two bytes, plus twice the largest tile."""
    operands = 0
    types: dict[int, Attribute] = {}
    for op in walk(func):
        types |= {id(result.type): result.type for result in op.results}
        if op.name.endswith(".dot"):
            operands += sum(max(_tile_bytes(value.type), 2 * _size(value.type)) for value in op.operands[:2])
    return operands + 2 * max(map(_tile_bytes, types.values()), default=0)


def _size(type: Attribute) -> int:
    return prod(type.get_shape()) if isinstance(type, TensorType) else 0


def _tile_bytes(type: Attribute) -> int:
    return _size(type) * element_of(type).bytes if isinstance(type, TensorType) else 0
