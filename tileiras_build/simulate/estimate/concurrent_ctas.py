"""The clock that a board holds under the load of a launch, and how long its CTAs take at that clock (``target/shared_sm.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from ...target.shared_sm import batch_clocks
from .roofline import RooflineInputs, roofline

_ITERATIONS = 8  # the clock depends on the load, and that on the clock


@dataclass(frozen=True)
class Sustained:
    """A launch under load: the clock in MHz, and at that clock the bounds and all cycles of the busiest SM."""

    clock_mhz: float
    bounds: Mapping[str, float]
    clocks: float

    def utilization(self, name: str) -> float:
        """The share of the time in which a resource is busy."""
        return self.bounds.get(name, 0.0) / self.clocks


def sustained(inputs: RooflineInputs, alone: float) -> Sustained:
    """The clock and the cycles of a launch each of whose CTAs takes ``alone`` by itself."""
    waves, gpu = inputs.waves, inputs.gpu
    clock = float(gpu.clock_mhz)
    for _ in range(_ITERATIONS):
        bounds = roofline(replace(inputs, gpu=replace(gpu, clock_mhz=clock)))
        demands = [bound / waves.busiest_sm_ctas for bound in bounds.values()]
        together = partial(batch_clocks, alone=alone, demands=demands)
        clocks = max(waves.clocks(together), *bounds.values())
        # The average SM has fewer CTAs than the busiest one.
        share = waves.even_ctas_per_sm / waves.busiest_sm_ctas / clocks
        load, fma = inputs.work.tensor_load * waves.busiest_sm_ctas, bounds.get("FMA pipe", 0.0)
        clock = (clock + gpu.sustained_mhz(min(load * share, 1.0), min(fma * share, 1.0))) / 2
    return Sustained(clock, bounds, clocks)
