"""The cycles of a trip of a loop whose asynchronous MMA reads stages, by when threads wait for it: behind the next one's issue, or at once.

An MMA that stays in flight keeps the tensor core busy, but its stage is released only when the next one has arrived: of S stages, S - 1 are
being filled. Where threads wait at once, all S are, and the tensor core is idle from one MMA to the next, unless other warps multiply.
"""

from __future__ import annotations

from ...target.gpu_models import GpuModel
from ...target.gpu_rates import CLUSTER_LATENCY, L2_BYTES_PER_CLOCK, TMA_LATENCY

LOADED_LATENCY = 1.4  # of L2 under load, times the idle one
MMA_LATENCY, BARRIER_LATENCY = 33, 20  # cycles of an MMA that warps execute [Luo et al., arXiv 2402.13499]
STEP_OVERHEAD = 30  # cycles of a trip: wait for a stage, issue, release
BETWEEN_MMAS = MMA_LATENCY + BARRIER_LATENCY + STEP_OVERHEAD  # of a group of warps that waits at once


def fill_clocks(bytes: float, gpu: GpuModel, *, by_tma: bool = True, in_cluster: bool = False) -> float:
    """The cycles from a load of so many bytes to its data."""
    copies, cluster = TMA_LATENCY if by_tma else 0, CLUSTER_LATENCY if in_cluster else 0
    return LOADED_LATENCY * gpu.l2_latency + copies + cluster + bytes / L2_BYTES_PER_CLOCK


def trip_in_flight(multiplied: float, filled: float, stages: int) -> float:
    """Of a loop whose MMA takes ``multiplied`` cycles, and a stage ``filled``, where the MMA stays in flight."""
    return max(multiplied, filled / (stages - 1))


def trip_at_once(multiplied: float, filled: float, stages: int, groups: int) -> float:
    """The same where each of ``groups`` of warps waits for its part of the MMA at once."""
    return max(multiplied, multiplied / groups + BETWEEN_MMAS, (filled + multiplied + BETWEEN_MMAS) / stages)
