"""Occupancy and waves of a launch: CTAs per SM, number of waves, and the tail effect of the last wave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...core.byte_sizes import size_text
from ...core.errors import InvalidInput
from ...target.gpu_models import GpuModel
from ...target.occupancy import occupancy
from ...target.targets import Target
from .constant_bank_values import Launch
from .list_scheduling import launch_clocks


@dataclass(frozen=True)
class OccupancyWaves:
    """``resident`` CTAs run at once on an SM, bounded by the resource ``limit``; ``waves`` of them run all CTAs.

    ``busiest_sm_ctas`` is the CTA count of the SM that gets the most; ``even_ctas_per_sm`` is the average. Their difference is
    the tail. ``lengths``: of CTAs (or clusters, on ``sms`` groups of SMs) that are not equally long, in the order of the
    grid, as multiples of the mean; counts are then those of CTAs of mean length.
    """

    resident: int
    limit: str
    waves: float
    busiest_sm_ctas: float
    even_ctas_per_sm: float
    lengths: tuple[float, ...] = ()
    sms: int = 0

    def of_lengths(self, lengths: tuple[float, ...], sms: int) -> OccupancyWaves:
        """The same for CTAs of these lengths, if there are any."""
        if not lengths:
            return self
        uneven = replace(self, lengths=lengths, sms=max(sms, 1))
        return replace(uneven, busiest_sm_ctas=uneven.clocks(float))

    def clocks(self, together: Callable[[int], float]) -> float:
        """Cycles of the launch, if n CTAs that share an SM take ``together(n)``."""
        if self.lengths:
            return launch_clocks(self.lengths, self.sms, [0.0, *map(together, range(1, self.resident + 1))])
        full, rest = divmod(int(self.busiest_sm_ctas), self.resident)
        return (full * together(self.resident) if full else 0.0) + (together(rest) if rest else 0.0)

    @property
    def tail(self) -> float:
        """How much longer the busiest SM works than the average one, as a fraction."""
        return self.busiest_sm_ctas / self.even_ctas_per_sm - 1


def occupancy_waves(
    target: Target, machine: GpuModel, launch: Launch, registers: int, shared: int, columns: int = 0
) -> OccupancyWaves:
    """For a kernel with ``registers`` per thread, ``shared`` bytes, static and dynamic, and ``columns`` of tensor memory per CTA.

    Raises InvalidInput[estimate-too-large] if not even one CTA fits.
    """
    found = occupancy(target, launch.threads, registers, shared, columns)
    if not found.ctas:
        usage = f"{launch.threads} threads, {registers} registers, {size_text(shared)} shared memory"
        message = f"CTA does not fit on an SM of {target.name} ({usage}): limited by {found.limit}"
        raise InvalidInput("estimate-too-large", message)
    everywhere = found.ctas * machine.sm_count
    even = launch.blocks / machine.sm_count
    return OccupancyWaves(
        found.ctas, found.limit, launch.blocks / everywhere, -(-launch.blocks // machine.sm_count), even
    )
