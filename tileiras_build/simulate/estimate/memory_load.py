"""The memory as one SM sees it: the latency of a load and its share of the bandwidth."""

from __future__ import annotations

from dataclasses import dataclass

from ...target.gpu_models import GpuModel
from ...target.gpu_rates import L2_BYTES_PER_CLOCK
from .constant_bank_values import Launch
from .cta_work_counts import CtaWork


@dataclass(frozen=True)
class MemoryLoad:
    """The utilization of L2 and DRAM by the whole launch, from 0 to 1. A latency grows with the square, to twice at 1."""

    l2: float = 0.0
    dram: float = 0.0

    def latency(self, machine: GpuModel, dram_share: float) -> float:
        """The mean latency of a load, of which ``dram_share`` go to DRAM."""
        dram, l2 = machine.dram_latency * (1 + self.dram**2), machine.l2_latency * (1 + self.l2**2)
        return dram_share * dram + (1 - dram_share) * l2


IDLE = MemoryLoad()


def latency_and_rate(
    machine: GpuModel, launch: Launch, work: CtaWork, read: float, load: MemoryLoad
) -> tuple[float, float]:
    """The latency of a load in clocks, and the bytes a clock of one SM, where the launch reads ``read`` bytes from DRAM.

    Warps of a CTA that read the same at the same time wait for the same answer: what one of them requests counts for the latency.
    """
    requested = (sum(work.read.values()) + work.async_load_bytes) * launch.blocks
    latency = load.latency(machine, _share(read, requested - work.reread * launch.blocks))
    dram_share = _share(read, requested)
    busy = min(launch.blocks, machine.sm_count)
    rate = min(L2_BYTES_PER_CLOCK, machine.dram_bytes / busy / dram_share if dram_share else L2_BYTES_PER_CLOCK)
    return latency, rate


def _share(read: float, requested: float) -> float:
    return min(read / requested, 1.0) if requested > 0 else 1.0
