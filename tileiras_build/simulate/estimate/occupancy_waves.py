"""How blocks share the GPU: how many run together on a multiprocessor, in how many waves, and what the last one leaves idle."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import InvalidInput
from ...target.gpu_rates import Machine
from ...target.occupancy import occupancy
from ...target.targets import Target
from .launch_and_constant_banks import Launch


@dataclass(frozen=True)
class Waves:
    """``resident`` blocks on a multiprocessor at once, which ``limit`` bounds; ``waves`` are as many as it takes to start all.

    ``busiest`` is the number of blocks of the multiprocessor that gets the most, ``even`` what each would get if blocks were
    divisible: what is between them is the tail.
    """

    resident: int
    limit: str
    waves: float
    busiest: int
    even: float

    @property
    def tail(self) -> float:
        """How much longer the busiest multiprocessor works than all would if they shared evenly, less 1."""
        return self.busiest / self.even - 1


def spread(target: Target, machine: Machine, launch: Launch, registers: int, shared: int) -> Waves:
    """For a kernel with ``registers`` of a thread and ``shared`` bytes of a block, static and dynamic.

    Raises InvalidInput[estimate-too-large] where not even one block fits.
    """
    found = occupancy(target, launch.threads, registers, shared)
    if not found.ctas:
        what = f"a block of {launch.threads} threads, {registers} registers and {shared} bytes of shared memory"
        raise InvalidInput(
            "estimate-too-large", f"{what} does not fit on a multiprocessor of {target.name}: {found.limit}"
        )
    everywhere = found.ctas * machine.multiprocessors
    even = launch.blocks / machine.multiprocessors
    return Waves(
        found.ctas, found.limit, launch.blocks / everywhere, -(-launch.blocks // machine.multiprocessors), even
    )
