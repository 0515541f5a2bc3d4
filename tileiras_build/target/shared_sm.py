"""CTAs that share an SM: how long they take together.

The resident CTAs of an SM are the customers of a closed queueing network, and its pipes and memories the stations: each CTA
waits where another one is served. Mean value analysis has the exact throughput of such a network for exponential times
[Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM 27(2), 1980]: overlap is
imperfect where few CTAs are resident, and nearly perfect where many are.
"""

from __future__ import annotations

from collections.abc import Sequence


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
