"""The roofline: for each resource, a lower bound of the cycles of a launch.

A row of ``BOUNDS`` is a function of the work, the waves and the GPU. Bounds of an SM are those of the SM with the most CTAs;
bounds of L2 and DRAM are those of the whole GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...target.gpu_models import GpuModel, dram_efficiency
from ...target.gpu_rates import CLUSTER_BYTES_PER_CLOCK, L2_BYTES_PER_CLOCK, SHARED_BYTES_PER_CLOCK, SM_PARTITIONS
from .constant_bank_values import Launch
from .cta_work_counts import CtaWork
from .instruction_throughput import ALU, FMA, FMA_HEAVY, FP64, SHUFFLE, UNIFORM, XU
from .occupancy_waves import OccupancyWaves


@dataclass(frozen=True)
class RooflineInputs:
    """The inputs of the bounds; ``read`` and ``written`` are DRAM bytes of the whole launch."""

    work: CtaWork
    waves: OccupancyWaves
    gpu: GpuModel
    launch: Launch
    read: float
    written: float


def _per_cta(cycles_per_cta: Callable[[RooflineInputs], float]) -> Callable[[RooflineInputs], float]:
    """A bound of the busiest SM, from the cycles of one CTA."""

    return lambda inputs: cycles_per_cta(inputs) * inputs.waves.busiest_sm_ctas


def _pipe(name: str, *others: str) -> Callable[[RooflineInputs], float]:
    return _per_cta(lambda inputs: sum(inputs.work.pipes[pipe] for pipe in (name, *others)))


def _fma(inputs: RooflineInputs) -> float:
    """Integer multiplies occupy only the heavy half of the pipe, if it has two halves."""
    rates = inputs.gpu.rates
    heavy = inputs.work.pipes[FMA_HEAVY]
    shared = inputs.work.pipes[FMA] + heavy * rates.integer_multiply / rates.float32
    return max(heavy, shared)


def _shared(inputs: RooflineInputs) -> float:
    """Wavefronts, MMA operands, and the bytes that asynchronous copies write and read."""
    work = inputs.work
    return (
        work.shared
        + (work.async_load_bytes + _stored_by_copies(inputs.work, inputs.launch) / inputs.launch.blocks)
        / SHARED_BYTES_PER_CLOCK
    )


def _stored_by_copies(work: CtaWork, launch: Launch) -> float:
    """Bytes stored by TMA: outputs that no store instruction writes."""
    if not work.async_stores:
        return 0.0
    return float(sum(one.size for n, one in launch.buffers.items() if one.is_written and not work.written[n]))


def _l2_bytes(inputs: RooflineInputs) -> float:
    return inputs.work.l2_bytes * inputs.launch.blocks + _stored_by_copies(inputs.work, inputs.launch)


def _l2(inputs: RooflineInputs) -> float:
    machine = inputs.gpu
    reached = inputs.launch.blocks if inputs.launch.blocks < machine.sm_count else machine.sm_count
    return _l2_bytes(inputs) / min(machine.l2_rate, L2_BYTES_PER_CLOCK * reached)


def _dram(inputs: RooflineInputs) -> float:
    total = inputs.read + inputs.written
    return total / (inputs.gpu.dram_bytes * dram_efficiency(inputs.read, inputs.written)) if total else 0.0


BOUNDS: dict[str, Callable[[RooflineInputs], float]] = {
    "tensor pipe": _per_cta(lambda inputs: inputs.work.tensor),
    "issue slots": _per_cta(lambda inputs: inputs.work.instructions / SM_PARTITIONS),
    "FMA pipe": _per_cta(_fma),
    "ALU pipe": _pipe(ALU),
    "SFU and conversions": _pipe(XU),
    "FP64 pipe": _pipe(FP64),
    "shuffles": _pipe(SHUFFLE),
    "uniform pipe": _pipe(UNIFORM),
    "shared memory": _per_cta(_shared),
    "shared memory of the cluster": _per_cta(lambda inputs: inputs.work.peer / CLUSTER_BYTES_PER_CLOCK),
    "tensor memory": _per_cta(lambda inputs: inputs.work.tensor_memory),
    "L1": _per_cta(lambda inputs: inputs.work.l1),
    "L2": _l2,
    "DRAM": _dram,
}


def dram_bytes(work: CtaWork, launch: Launch) -> tuple[float, float]:
    """DRAM bytes read and written: the accessed bytes of each array, each once, as if L2 held all of them."""
    buffers = launch.buffers
    read: float = sum(min(work.read[n] * launch.blocks, one.size) for n, one in buffers.items())
    written: float = sum(min(work.written[n] * launch.blocks, one.size) for n, one in buffers.items())
    # Accesses that belong to no known array.
    read += (work.async_l2_bytes + work.read[0]) * launch.blocks
    written += work.written[0] * launch.blocks + _stored_by_copies(work, launch)
    most_read = sum(one.size for one in buffers.values() if one.is_read)
    most_written = sum(one.size for one in buffers.values() if one.is_written)
    return min(read, most_read), min(written, most_written)


def roofline(inputs: RooflineInputs) -> dict[str, float]:
    """Cycles by bound, without zero bounds."""
    found = {name: row(inputs) for name, row in BOUNDS.items()}
    return {name: clocks for name, clocks in found.items() if clocks}


def peak_roofline(inputs: RooflineInputs) -> dict[str, float]:
    """As ``roofline``, at the rates of the whole GPU: as if all SMs shared the work evenly."""
    even = replace(inputs.waves, busiest_sm_ctas=inputs.waves.even_ctas_per_sm)
    found = roofline(replace(inputs, waves=even))
    return found | ({"L2": _l2_bytes(inputs) / inputs.gpu.l2_rate} if "L2" in found else {})
