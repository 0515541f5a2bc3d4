"""CTAs that share an SM: how long they take together, and the clock that the board holds under that load.

The resident CTAs of an SM are the customers of a closed queueing network: each of them needs the busiest resource for some of
its time, where it waits for the others, and for the rest of it nothing that they need. Mean value analysis has the exact
throughput of such a network for exponential times [Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing
Networks", Journal of the ACM 27(2), 1980]: overlap is imperfect where few CTAs are resident, and nearly perfect where many are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .roofline import RooflineInputs, roofline

_ITERATIONS = 8  # the clock depends on the load, and that on the clock


def batch_clocks(ctas: int, alone: float, busy: float) -> float:
    """Cycles of ``ctas`` resident CTAs in steady state: each takes ``alone`` by itself, ``busy`` of it on the busiest resource."""
    busy = min(busy, alone)
    waiting, throughput = 0.0, 0.0
    for count in range(1, ctas + 1):
        response = busy * (1 + waiting)
        throughput = count / (alone - busy + response)
        waiting = throughput * response
    return ctas / throughput


def sm_clocks(ctas: int, resident: int, alone: float, busy: float) -> float:
    """Cycles of an SM that runs ``ctas`` CTAs, at most ``resident`` of them at once."""
    full, rest = divmod(ctas, resident)
    found = full * batch_clocks(resident, alone, busy) if full else 0.0
    return found + (batch_clocks(rest, alone, busy) if rest else 0.0)


@dataclass(frozen=True)
class Sustained:
    """A launch under load: the clock in MHz, and at that clock the bounds and all cycles of the busiest SM."""

    clock_mhz: float
    bounds: Mapping[str, float]
    clocks: float


def sustained(inputs: RooflineInputs, alone: float) -> Sustained:
    """The clock and the cycles of a launch each of whose CTAs takes ``alone`` by itself."""
    waves, gpu = inputs.waves, inputs.gpu
    clock = float(gpu.clock_mhz)
    for _ in range(_ITERATIONS):
        bounds = roofline(replace(inputs, gpu=replace(gpu, clock_mhz=clock)))
        busiest = max(bounds.values(), default=0.0)
        clocks = max(sm_clocks(waves.busiest_sm_ctas, waves.resident, alone, busiest / waves.busiest_sm_ctas), busiest)
        # The average SM has fewer CTAs than the busiest one.
        share = waves.even_ctas_per_sm / waves.busiest_sm_ctas / clocks
        load, fma = inputs.work.tensor_load * waves.busiest_sm_ctas, bounds.get("FMA pipe", 0.0)
        clock = (clock + gpu.sustained_mhz(min(load * share, 1.0), min(fma * share, 1.0))) / 2
    return Sustained(clock, bounds, clocks)
