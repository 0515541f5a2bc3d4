"""Which asynchronous MMAs threads wait for at once, and which stay in flight into the next iteration."""

from __future__ import annotations

from ....target.targets import Target
from ...analysis.resource_model import MIN_STAGES, WARPGROUP
from ...mma.dots import dot_shape, element_types
from ...mma.family import Storage, family_of
from ...schedule.cost import default_gpu
from ...schedule.stage_waits import fill_clocks, trip_at_once, trip_in_flight
from .pipelines import Mainloop


def waits_at_once(mainloop: Mainloop, warps: int, target: Target) -> bool:
    """Whether the only dot of a loop, whose operands TMA loads, takes less time where its stage is released as soon as it is complete."""
    family, gpu, count = family_of(mainloop.dot), default_gpu(target), mainloop.stages.stage_count
    is_waited_for = family.async_ops is not None and family.accumulator is Storage.REGISTERS
    if gpu is None or not is_waited_for or mainloop.stored or len(mainloop.readers) > 1 or count < MIN_STAGES:
        return False
    _, m, n, k = dot_shape(mainloop.dot)
    multiplied = m * n * k / gpu.rates.multiply_adds(element_types(mainloop.dot)[0])
    filled = fill_clocks(mainloop.stage_bytes, gpu, in_cluster=mainloop.in_cluster)
    at_once = trip_at_once(multiplied, filled, count, max(1, warps // WARPGROUP))
    return at_once < trip_in_flight(multiplied, filled, count)
