"""GPUS: the GPUs that estimates are for, by the name that ``estimate --gpu`` takes, each with the sources of its values.

A clock is the highest one that the board runs at. Boards lower it under load: ``busy_mhz`` is the clock at which the board
reaches its power limit while all tensor pipes multiply random data without a pause. It is fitted (``benchmarks/calibration.py``)
on A100, H100, B200, RTX PRO 6000 and RTX 5090. For the others it is an assumption: that of a sibling, scaled by power, or the
boost clock.

[A] NVIDIA A100 Tensor Core GPU Architecture, whitepaper V1.0; A100 data sheet
[GA] NVIDIA Ampere GA102 GPU Architecture, whitepaper V2.1, appendix A; A40 and RTX A6000 data sheets
[O] NVIDIA Jetson AGX Orin Series technical brief v1.2
[L] NVIDIA Ada GPU Architecture, whitepaper V2.1; L40, L40S and RTX 4090 data sheets
[H] NVIDIA H100 Tensor Core GPU Architecture, whitepaper V1.04, tables 1 to 3; H100, H200 and H100 NVL data sheets
[B] NVIDIA Blackwell Architecture Technical Brief; HGX B200 and B300 data sheets
[T] NVIDIA Jetson Thor data sheet
[R] NVIDIA RTX Blackwell GPU Architecture, whitepaper V1.1; RTX PRO 6000 Blackwell data sheet
[S] NVIDIA DGX Spark data sheet
[M] Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture", arXiv 2402.13499, tables of latencies
[J] Jarmusch et al., "Dissecting the NVIDIA Blackwell Architecture with Microbenchmarks", arXiv 2507.10789
[K] github.com/markdewing/AI_kernels, latency/README.md: latencies of L2 and DRAM, less the 4 clocks that its loop adds
[U] github.com/te42kyfo/gpu-benches: gpu-l2-cache, gpu-stream, gpu-roofline
[W] github.com/waynehacking8/blackwell-tensorcore-kernels, results: cycles of Nsight Compute against times at free clocks
[P] github.com/gau-nernst/learn-cuda, 02b, 02c and 02e: matmuls on A100, RTX 5090 (at 400 W) and B200
[V] github.com/VeOmni/VeOmni, pull 986: clocks and memory of B200
[Q] github.com/Dao-AILab/quack, AI: copies, loads and stores on H100
[I] github.com/kekzl/imp, pulls 606 and 254: the clock of RTX 5090
[=] in no publication that we know of: taken from the neighbor that the row names
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ..core.errors import InvalidInput, Unsupported, suggest
from .gpu_rates import SM_RATES, SmRates
from .targets import TARGETS, Target

# The part of a board's power that does not depend on the clock, and the energy of an f32 multiply-add in those of f16 in the
# tensor pipe: both from the clocks of [W] and [P] at two power limits, with and without tensor pipes.
STATIC_POWER, FMA_ENERGY = 0.25, 4.0

# The part of DRAM's bandwidth that a stream of reads or of writes reaches, and how much of it is lost, at most, where the bus
# switches between both: from the streams of [U] on A100, H100, H200 and L40, and of [Q].
DRAM_EFFICIENCY, DRAM_TURNAROUND = 0.96, 0.07


# Parts of L2, each of which caches what the SMs that are connected to it read [A, section "A100 L2 cache"; H and B: =]: what all SMs
# read is in each of them. Other GPUs have one.
L2_PARTS = {80: 2, 90: 2, 100: 2, 103: 2}


def dram_efficiency(read: float, written: float) -> float:
    """The part of DRAM's bandwidth that this mix of bytes reaches."""
    return DRAM_EFFICIENCY - DRAM_TURNAROUND * 4 * read * written / (read + written) ** 2


@dataclass(frozen=True)
class GpuModel:
    """One GPU of a target: SMs, clocks in MHz, watts, bandwidths in GB/s, L2 size in bytes; latencies in clocks.

    ``is_half_rate``: MMAs with f32 accumulators run at half of the target's rate, as on GeForce.
    """

    name: str
    number: int
    sm_count: int
    clock_mhz: float
    busy_mhz: int
    watts: int
    dram_gb_per_s: float
    l2_gb_per_s: float
    l2_size: int
    shared_latency: int
    l2_latency: int
    dram_latency: int
    source: str
    is_half_rate: bool = False

    @cached_property
    def rates(self) -> SmRates:
        """The rates of one SM."""
        rates = SM_RATES[self.number]
        return replace(rates, f32_accumulate=0.5) if self.is_half_rate else rates

    @property
    def dram_bytes(self) -> float:
        """DRAM bytes per clock, for the whole GPU."""
        return self.dram_gb_per_s * 1e3 / self.clock_mhz

    @property
    def l2_rate(self) -> float:
        """L2 bytes per clock, for the whole GPU."""
        return self.l2_gb_per_s * 1e3 / self.clock_mhz

    @property
    def l2_capacity(self) -> float:
        """The bytes that L2 holds of what all SMs read."""
        return self.l2_size / L2_PARTS.get(self.number, 1)

    def locked(self, clock_mhz: int) -> GpuModel:
        """This GPU with its clock locked, as by ``nvidia-smi --lock-gpu-clocks``: latencies in time stay as they are."""
        scale = clock_mhz / self.clock_mhz
        return replace(
            self,
            clock_mhz=clock_mhz,
            busy_mhz=max(self.busy_mhz, clock_mhz),
            dram_latency=round(self.dram_latency * scale),
        )

    def limited(self, watts: int) -> GpuModel:
        """This GPU with another power limit. Power that depends on the clock grows with its third power."""
        static = STATIC_POWER * self.watts
        if watts <= static:
            raise InvalidInput("estimate-gpu", f"{self.name} does not run at {watts} W", remedy=f"use {self.watts}")
        scale = ((watts - static) / (self.watts - static)) ** (1 / 3)
        return replace(self, watts=watts, busy_mhz=round(self.busy_mhz * scale))

    def sustained_mhz(self, tensor: float, fma: float) -> float:
        """The clock under load, where the tensor and the FMA pipes are busy for so much of the time (0 to 1).

        Dynamic power is the load times the third power of the clock, as the voltage follows it.
        """
        load = tensor + fma * FMA_ENERGY * self.rates.float32 / self.rates.tensor["f16"]
        return min(self.clock_mhz, self.busy_mhz * max(load, 1e-6) ** (-1 / 3))


_MIB = 1 << 20
GPUS: dict[str, GpuModel] = {
    "a100": GpuModel("A100 SXM 80 GB", 80, 108, 1410, 1160, 400, 2039, 5400, 40 * _MIB, 29, 206, 546, "A; K; U; W; P"),
    "a100-40gb": GpuModel("A100 SXM 40 GB", 80, 108, 1410, 1160, 400, 1555, 5400, 40 * _MIB, 29, 206, 546, "A; K; U; P"),
    "a40": GpuModel("A40", 86, 84, 1740, 1740, 300, 696, 2670, 6 * _MIB, 29, 262, 466, "GA; latencies: M, = a100"),
    "rtxa6000": GpuModel("RTX A6000", 86, 84, 1800, 1740, 300, 768, 2760, 6 * _MIB, 29, 262, 466, "GA; = a40"),
    "orin": GpuModel("Jetson AGX Orin 64 GB", 87, 16, 1300, 1300, 60, 205, 666, 4 * _MIB, 29, 262, 466, "O; = a100"),
    "l40s": GpuModel("L40S", 89, 142, 2520, 1740, 350, 864, 5200, 96 * _MIB, 30, 273, 542, "L; M on RTX 4090; U on L40"),
    "rtx4090": GpuModel("GeForce RTX 4090", 89, 128, 2730, 2520, 450, 1008, 5200, 72 * _MIB, 30, 292, 632, "L; K; U on L40",
                        is_half_rate=True),
    "h100": GpuModel("H100 SXM 80 GB", 90, 132, 1980, 1500, 700, 3352, 10000, 50 * _MIB, 29, 287, 696, "H; K; U; W"),
    "h100-pcie": GpuModel("H100 PCIe 80 GB", 90, 114, 1755, 1150, 350, 2039, 7000, 50 * _MIB, 29, 260, 650, "H; U"),
    "h100-nvl": GpuModel("H100 NVL 94 GB", 90, 132, 1785, 1280, 400, 3900, 9000, 50 * _MIB, 29, 277, 686, "H; U; = h100"),
    "h200": GpuModel("H200 SXM 141 GB", 90, 132, 1980, 1500, 700, 4800, 10000, 50 * _MIB, 29, 277, 686, "H; K; U; = h100"),
    "b200": GpuModel("B200", 100, 148, 1965, 1250, 1000, 7672, 18600, 126 * _MIB, 29, 291, 856, "B; K; V; P; L2: 64 bytes for each SM, ="),
    "b300": GpuModel("B300", 103, 148, 2032, 1400, 1400, 8000, 18600, 126 * _MIB, 29, 291, 844, "B; K; = b200"),
    "thor": GpuModel("Jetson T5000", 110, 20, 1575, 1575, 130, 273, 2000, 32 * _MIB, 29, 300, 650, "T; = b200"),
    "rtxpro6000": GpuModel("RTX PRO 6000 Blackwell", 120, 188, 2617, 2060, 600, 1792, 10700, 128 * _MIB, 30, 348, 860, "R; K; W"),
    "rtx5090": GpuModel("GeForce RTX 5090", 120, 170, 2850, 2780, 575, 1792, 9700, 96 * _MIB, 30, 356, 932, "R; I; K; P",
                        is_half_rate=True),
    "rtx5080": GpuModel("GeForce RTX 5080", 120, 84, 2806, 2617, 360, 960, 4800, 64 * _MIB, 30, 358, 877, "R; J",
                        is_half_rate=True),
    "rtx5060ti": GpuModel("GeForce RTX 5060 Ti 16 GB", 120, 36, 2692, 2572, 180, 448, 2060, 32 * _MIB, 30, 358, 877, "R; = rtx5080",
                          is_half_rate=True),
    "gb10": GpuModel("GB10 (DGX Spark)", 121, 48, 2500, 2500, 140, 273, 3840, 24 * _MIB, 30, 358, 877, "S; = rtx5080"),
}  # fmt: skip
# The GPU that estimates for a target are for, where none is named.
DEFAULT_GPUS: dict[int, str] = {
    80: "a100", 86: "a40", 87: "orin", 89: "l40s", 90: "h100", 100: "b200", 103: "b300", 110: "thor", 120: "rtxpro6000", 121: "gb10",
}  # fmt: skip


def gpu_model(target: Target, name: str | None = None) -> GpuModel:
    """The GPU that estimates for a target are for: the one of this name, or the target's default.

    Raises Unsupported[estimate-no-rates] for a target without published rates; InvalidInput[estimate-gpu] for an unknown
    name, or a GPU that does not run the target's code.
    """
    if target.number not in DEFAULT_GPUS:
        known = ", ".join(name for name, row in TARGETS.items() if row.number in DEFAULT_GPUS)
        message = f"no rates of {target.name} are published (target/gpu_models.py)"
        raise Unsupported("estimate-no-rates", message, remedy=f"use {known}")
    if name is None:
        return GPUS[DEFAULT_GPUS[target.number]]
    fitting = [key for key, row in GPUS.items() if _runs(row, target)]
    if name not in GPUS:
        raise InvalidInput("estimate-gpu", f"unknown GPU {name!r}", remedy=suggest(name, GPUS))
    if name not in fitting:
        message = f"{GPUS[name].name} is sm_{GPUS[name].number}, which does not run code for {target.name}"
        raise InvalidInput("estimate-gpu", message, remedy=f"use {', '.join(fitting)}")
    return GPUS[name]


def _runs(machine: GpuModel, target: Target) -> bool:
    """Whether a GPU runs a target's machine code: a GPU of the same major version, and of no smaller minor one."""
    return machine.number // 10 == target.number // 10 and machine.number >= target.number
