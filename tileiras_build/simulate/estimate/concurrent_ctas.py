"""CTAs that share an SM: how long they take together, and the clock that the board holds under that load.

The resident CTAs of an SM are the customers of a closed queueing network, and its pipes and memories the stations: each CTA
waits where another one is served. Mean value analysis has the exact throughput of such a network for exponential times
[Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27(2), 1980]: overlap is
imperfect where few CTAs are resident, and nearly perfect where many are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .roofline import RooflineInputs, roofline

_ITERATIONS = 8  # the clock depends on the load, and that on the clock


def batch_clocks(ctas: int, alone: float, demands: Sequence[float]) -> float:
    """Cycles of ``ctas`` resident CTAs in steady state: each takes ``alone`` by itself, and ``demands`` of each resource."""
    served = _stations(alone, demands)
    elsewhere = max(alone - sum(served), 0.0)
    waiting, throughput = [0.0] * len(served), 0.0
    for count in range(1, ctas + 1):
        responses = [demand * (1 + others) for demand, others in zip(served, waiting, strict=True)]
        throughput = count / (elsewhere + sum(responses))
        waiting = [throughput * response for response in responses]
    return ctas / throughput


def _stations(alone: float, demands: Sequence[float]) -> list[float]:
    """The demands one after the other: where a CTA uses resources at the same time, the busiest one has all of its time, and
    the others what is left."""
    busiest, *others = sorted(demands, reverse=True) or [0.0]
    busiest, wanted = min(busiest, alone), sum(others)
    share = min((alone - busiest) / wanted, 1.0) if wanted else 0.0
    return [busiest, *(demand * share for demand in others)]


def sm_clocks(ctas: int, resident: int, alone: float, demands: Sequence[float]) -> float:
    """Cycles of an SM that runs ``ctas`` CTAs, at most ``resident`` of them at once."""
    full, rest = divmod(ctas, resident)
    found = full * batch_clocks(resident, alone, demands) if full else 0.0
    return found + (batch_clocks(rest, alone, demands) if rest else 0.0)


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
        clocks = max(sm_clocks(waves.busiest_sm_ctas, waves.resident, alone, demands), *bounds.values())
        # The average SM has fewer CTAs than the busiest one.
        share = waves.even_ctas_per_sm / waves.busiest_sm_ctas / clocks
        load, fma = inputs.work.tensor_load * waves.busiest_sm_ctas, bounds.get("FMA pipe", 0.0)
        clock = (clock + gpu.sustained_mhz(min(load * share, 1.0), min(fma * share, 1.0))) / 2
    return Sustained(clock, bounds, clocks)
