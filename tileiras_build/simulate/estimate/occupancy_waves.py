"""How blocks share the GPU: how many run together on a multiprocessor, in how many waves, and what the last one leaves idle."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import InvalidInput
from ...target.gpu_rates import GpuModel
from ...target.occupancy import occupancy
from ...target.targets import Target
from .launch_and_constant_banks import Launch


@dataclass(frozen=True)
class OccupancyWaves:
    """``resident`` blocks on a multiprocessor at once, which ``limit`` bounds; ``waves`` are as many as it takes to start all.

    ``busiest`` is the number of blocks of the multiprocessor that gets the most, ``even`` what each would get if blocks were
    divisible: what is between them is the tail.
    """

    resident: int
    limit: str
    waves: float
    busiest_sm_ctas: int
    even_ctas_per_sm: float

    @property
    def tail(self) -> float:
        """How much longer the busiest multiprocessor works than all would if they shared evenly, less 1."""
        return self.busiest_sm_ctas / self.even_ctas_per_sm - 1


def occupancy_waves(target: Target, machine: GpuModel, launch: Launch, registers: int, shared: int) -> OccupancyWaves:
    """For a kernel with ``registers`` of a thread and ``shared`` bytes of a block, static and dynamic.

    Raises InvalidInput[estimate-too-large] where not even one block fits.
    """
    found = occupancy(target, launch.threads, registers, shared)
    if not found.ctas:
        what = f"a block of {launch.threads} threads, {registers} registers and {shared} bytes of shared memory"
        raise InvalidInput(
            "estimate-too-large", f"{what} does not fit on a multiprocessor of {target.name}: {found.limit}"
        )
    everywhere = found.ctas * machine.sm_count
    even = launch.blocks / machine.sm_count
    return OccupancyWaves(
        found.ctas, found.limit, launch.blocks / everywhere, -(-launch.blocks // machine.sm_count), even
    )
