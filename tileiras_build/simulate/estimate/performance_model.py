"""The estimate of one launch: its roofline bounds, the latency of its CTAs, and the limiting one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...target.gpu_models import GpuModel, gpu_model
from .concurrent_ctas import Sustained, sustained
from .constant_bank_values import Constants, Launch
from .copy_sizes import Copies
from .cta_timeline import Timeline, average, simulate_clusters
from .cta_work_counts import CtaWork, WorkCounter
from .kernel_from_cubin import KernelModel
from .l2_misses import reads_with_misses
from .memory_load import IDLE, MemoryLoad
from .occupancy_waves import OccupancyWaves, occupancy_waves
from .roofline import RooflineInputs, dram_bytes, peak_roofline
from .tensor_memory_columns import allocated_columns
from .trace_warps import Tracer
from .traced_sample import TracedSample, trace_sample

LATENCY = "latency"
_LATENCY_DECIDES = 1.1  # times the largest bound: if the launch takes longer, latencies under load matter


@dataclass(frozen=True)
class Estimate:
    """The estimate of one launch: ``clocks`` in all, the cycles of each bound, and ``limit``, the name of the largest one.

    ``clock_mhz`` is the clock under this load. ``reached`` is the utilization of the busiest resource.
    """

    kernel: str
    target: str
    gpu: GpuModel
    launch: Launch
    waves: OccupancyWaves
    work: CtaWork
    clocks: float
    clock_mhz: float
    bounds: Mapping[str, float]
    timeline: Timeline
    read: float
    written: float

    @property
    def limit(self) -> str:
        """The limiting bound."""
        return max(self.bounds, key=lambda name: self.bounds[name])

    @property
    def resource(self) -> str:
        """The busiest resource."""
        return max((name for name in self.bounds if name != LATENCY), key=lambda name: self.bounds[name])

    @property
    def reached(self) -> float:
        """The utilization of the busiest resource."""
        return self.bounds[self.resource] / self.clocks

    @property
    def peak_bounds(self) -> dict[str, float]:
        """The cycles of each resource at the rate that the whole GPU has of it under this load."""
        gpu = replace(self.gpu, clock_mhz=self.clock_mhz)
        return peak_roofline(RooflineInputs(self.work, self.waves, gpu, self.launch, self.read, self.written))

    @property
    def microseconds(self) -> float:
        """The estimated time."""
        return self.clocks / self.clock_mhz

    @property
    def multiply_adds(self) -> float:
        """Multiply-adds of the tensor pipe in all CTAs."""
        return self.work.multiply_adds * self.launch.blocks


def estimate(
    kernel: KernelModel, launch: Launch, trips: Mapping[int, int] | None = None, gpu: GpuModel | None = None
) -> Estimate:
    """The estimate of one launch on ``gpu``, by default the target's; ``trips`` are trip counts of loops with a data-dependent
    exit, by branch address.

    Raises Unsupported[estimate-no-rates], InvalidInput[estimate-too-large], InvalidInput[estimate-endless].
    """
    machine = gpu or gpu_model(kernel.target)
    resources = kernel.resources
    tracer = Tracer(kernel.code, launch, Constants.of(launch, kernel.layout, kernel.banks), dict(trips or {}))
    sample = trace_sample(tracer, launch)
    shared, columns = resources.shared + launch.shared_memory, allocated_columns(kernel.code, sample.clusters)
    waves = occupancy_waves(kernel.target, machine, launch, resources.registers, shared, columns)
    work = _average_work(kernel, machine, sample)
    once, written = dram_bytes(work, launch)
    read = reads_with_misses(kernel, machine, launch, waves.resident, sample, work, once)

    def follow(load: MemoryLoad) -> tuple[Timeline, OccupancyWaves, Sustained]:
        followed = simulate_clusters(kernel.code, machine, launch, sample.clusters, work, read, load)
        timeline = followed[0] if launch.tile_programs else average(followed)
        lengths = sample.lengths(launch, [one.clocks for one in followed])
        uneven = waves.of_lengths(lengths, machine.sm_count // launch.cluster_blocks)
        inputs = RooflineInputs(work, uneven, machine, launch, read, written)
        return timeline, uneven, sustained(inputs, timeline.clocks)

    timeline, waves, found = follow(IDLE)
    if found.clocks > _LATENCY_DECIDES * max(found.bounds.values(), default=0.0):
        timeline, waves, found = follow(MemoryLoad(found.utilization("L2"), found.utilization("DRAM")))
    bounds = {**found.bounds, LATENCY: waves.clocks(lambda _: timeline.clocks)}
    return Estimate(
        kernel.name, kernel.target.name, machine, launch, waves, work, found.clocks, found.clock_mhz, bounds, timeline, read,
        written,
    )  # fmt: skip


def _average_work(kernel: KernelModel, machine: GpuModel, sample: TracedSample) -> CtaWork:
    accountant = WorkCounter(kernel.code, machine)
    found = CtaWork()
    for cluster, share in zip(sample.clusters, sample.shares, strict=True):
        l2_share = Copies.of(kernel.code, cluster).l2_share
        for warps in cluster:
            found.add(accountant.block(warps, l2_share), share / len(cluster))
    return found
