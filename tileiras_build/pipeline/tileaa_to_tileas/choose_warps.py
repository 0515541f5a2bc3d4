"""How many warps run a kernel: enough to keep tiles in registers, no more than there is work for."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ..job import Job

# Elements of the largest tile -> warps. A tile of 1,024 gives each of 128 threads two 16-byte accesses of f32; past 8,192
# elements a thread would hold more than 64 of them.
STEPS = ((256, 1), (512, 2), (8192, 4), (32768, 8))
MOST_WARPS = 16


def choose_warps(func: Operation, job: Job) -> int:
    """The number of warps (a power of two) for the largest tile of a kernel."""
    largest = max((_size(result.type) for op in func.walk() for result in op.results), default=1)
    return next((warps for limit, warps in STEPS if largest <= limit), MOST_WARPS)


def _size(type: object) -> int:
    if not isinstance(type, TensorType):
        return 1
    size = 1
    for extent in type.get_shape():
        size *= extent
    return size
