"""Occupancy and waves of a launch: CTAs per SM, number of waves, and the tail effect of the last wave."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.byte_sizes import size_text
from ...core.errors import InvalidInput
from ...target.gpu_models import GpuModel
from ...target.occupancy import occupancy
from ...target.targets import Target
from .constant_bank_values import Launch


@dataclass(frozen=True)
class OccupancyWaves:
    """``resident`` CTAs run at once on an SM, bounded by the resource ``limit``; ``waves`` of them run all CTAs.

    ``busiest_sm_ctas`` is the CTA count of the SM that gets the most; ``even_ctas_per_sm`` is the average. Their difference is
    the tail.
    """

    resident: int
    limit: str
    waves: float
    busiest_sm_ctas: int
    even_ctas_per_sm: float

    @property
    def tail(self) -> float:
        """How much longer the busiest SM works than the average one, as a fraction."""
        return self.busiest_sm_ctas / self.even_ctas_per_sm - 1


def occupancy_waves(target: Target, machine: GpuModel, launch: Launch, registers: int, shared: int) -> OccupancyWaves:
    """For a kernel with ``registers`` per thread and ``shared`` bytes per CTA, static and dynamic.

    Raises InvalidInput[estimate-too-large] if not even one CTA fits.
    """
    found = occupancy(target, launch.threads, registers, shared)
    if not found.ctas:
        usage = f"{launch.threads} threads, {registers} registers, {size_text(shared)} shared memory"
        message = f"CTA does not fit on an SM of {target.name} ({usage}): limited by {found.limit}"
        raise InvalidInput("estimate-too-large", message)
    everywhere = found.ctas * machine.sm_count
    even = launch.blocks / machine.sm_count
    return OccupancyWaves(
        found.ctas, found.limit, launch.blocks / everywhere, -(-launch.blocks // machine.sm_count), even
    )
