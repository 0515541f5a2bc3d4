"""The roofline: for each thing that a kernel needs, the clocks below which no launch of it can stay.

A row is a function of the work, the waves and the machine. Bounds of a multiprocessor are those of the one with the most
blocks, those of L2 and DRAM are of the whole GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...target.gpu_rates import L2_BYTES_PER_CLOCK, SHARED_BYTES_PER_CLOCK, SM_PARTITIONS, GpuModel
from .cta_resource_usage import CtaWork
from .instruction_throughput import ALU, FMA, FMA_HEAVY, FP64, SHUFFLE, UNIFORM, XU
from .launch_and_constant_banks import Launch
from .occupancy_waves import OccupancyWaves


@dataclass(frozen=True)
class RooflineInputs:
    """What bounds are made of; ``read`` and ``written`` are bytes of DRAM for the whole launch."""

    work: CtaWork
    waves: OccupancyWaves
    gpu: GpuModel
    launch: Launch
    read: float
    written: float


def _of_block(cycles_per_cta: Callable[[RooflineInputs], float]) -> Callable[[RooflineInputs], float]:
    """A bound of the busiest multiprocessor, from the clocks of one block."""
    return lambda facts: cycles_per_cta(facts) * facts.waves.busiest_sm_ctas


def _pipe(name: str, *others: str) -> Callable[[RooflineInputs], float]:
    return _of_block(lambda facts: sum(facts.work.pipes[pipe] for pipe in (name, *others)))


def _fma(facts: RooflineInputs) -> float:
    """Integer products keep half of the pipe busy where it has two halves."""
    rates = facts.gpu.rates
    heavy = facts.work.pipes[FMA_HEAVY]
    shared = facts.work.pipes[FMA] + heavy * rates.integer_multiply / rates.float32
    return max(heavy, shared)


def _shared(facts: RooflineInputs) -> float:
    """Wavefronts, operands of products, and what asynchronous copies write and read."""
    work = facts.work
    return (
        work.shared
        + (work.fetched + _stored_by_copies(facts.work, facts.launch) / facts.launch.blocks) / SHARED_BYTES_PER_CLOCK
    )


def _stored_by_copies(work: CtaWork, launch: Launch) -> float:
    """Bytes that copies from shared memory store: results that no instruction of a thread writes."""
    if not work.async_stores:
        return 0.0
    return float(sum(one.size for n, one in launch.buffers.items() if one.is_written and not work.written[n]))


def _l2(facts: RooflineInputs) -> float:
    total = facts.work.l2_bytes * facts.launch.blocks + _stored_by_copies(facts.work, facts.launch)
    machine = facts.gpu
    reached = facts.launch.blocks if facts.launch.blocks < machine.sm_count else machine.sm_count
    return total / min(machine.l2_rate, L2_BYTES_PER_CLOCK * reached)


BOUNDS: dict[str, Callable[[RooflineInputs], float]] = {
    "tensor pipe": _of_block(lambda facts: facts.work.tensor),
    "issue slots": _of_block(lambda facts: facts.work.instructions / SM_PARTITIONS),
    "FMA pipe": _of_block(_fma),
    "ALU pipe": _pipe(ALU),
    "SFU and conversions": _pipe(XU),
    "FP64 pipe": _pipe(FP64),
    "shuffles": _pipe(SHUFFLE),
    "uniform pipe": _pipe(UNIFORM),
    "shared memory": _of_block(_shared),
    "tensor memory": _of_block(lambda facts: facts.work.tensor_memory),
    "L1": _of_block(lambda facts: facts.work.l1),
    "L2": _l2,
    "DRAM": lambda facts: (facts.read + facts.written) / facts.gpu.dram_bytes,
}


def dram_bytes(work: CtaWork, launch: Launch) -> tuple[float, float]:
    """Bytes read and written of DRAM: what is asked for of each array, but none of its bytes twice, as if L2 kept it."""
    buffers = launch.buffers
    read: float = sum(min(work.read[n] * launch.blocks, one.size) for n, one in buffers.items())
    written: float = sum(min(work.written[n] * launch.blocks, one.size) for n, one in buffers.items())
    # Whose bytes the others are is not known.
    read += (work.fetched + work.read[0]) * launch.blocks
    written += work.written[0] * launch.blocks + _stored_by_copies(work, launch)
    most_read = sum(one.size for one in buffers.values() if one.is_read)
    most_written = sum(one.size for one in buffers.values() if one.is_written)
    return min(read, most_read), min(written, most_written)


def roofline(facts: RooflineInputs) -> dict[str, float]:
    """Clocks by bound, of those that are not zero."""
    found = {name: row(facts) for name, row in BOUNDS.items()}
    return {name: clocks for name, clocks in found.items() if clocks}
