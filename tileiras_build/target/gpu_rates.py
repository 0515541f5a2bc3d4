"""Throughputs of an SM, each row with the source of its values; ``gpu_models.py`` has the GPUs.

Rates are per SM and clock, dense. A row of ``SM_RATES`` holds for all GPUs of a target.

[G] CUDA C++ Programming Guide, "Arithmetic Instructions", table "Throughput of Native Arithmetic Instructions"
[A] NVIDIA A100 Tensor Core GPU Architecture, whitepaper V1.0, tables 2, 4 and section "A100 L2 cache"
[GA] NVIDIA Ampere GA102 GPU Architecture, whitepaper V2.1, appendix A; A40 data sheet
[O] NVIDIA Jetson AGX Orin Series technical brief v1.2
[L] NVIDIA Ada GPU Architecture, whitepaper V2.1; L40S data sheet
[H] NVIDIA H100 Tensor Core GPU Architecture, whitepaper V1.04, tables 1 to 3
[B] NVIDIA Blackwell Architecture Technical Brief; HGX B200 and B300 data sheets
[T] NVIDIA Jetson Thor data sheet
[R] NVIDIA RTX Blackwell GPU Architecture, whitepaper V1.1; RTX PRO 6000 Blackwell data sheet
[S] NVIDIA DGX Spark data sheet
[M] Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture", arXiv 2402.13499, tables of latencies
[J] Jarmusch et al., "Dissecting the NVIDIA Blackwell Architecture with Microbenchmarks", arXiv 2507.10789
[F] Zadouri et al., "FlashAttention-4", 2026, section "feeds and speeds": 8192 operations of f16, 16 exponentials and 128 bytes
    of shared memory a clock
[N] Jarmusch and Chandrasekaran, "Microbenchmarking NVIDIA's Blackwell Architecture", arXiv 2512.02189: 16 TB/s to read
[=] not published, as far as we know: taken from the similar GPU that the row names
"""

from __future__ import annotations

from dataclasses import dataclass

SM_PARTITIONS = 4  # of an SM; each issues one instruction a clock [G, "Multiprocessor Level"]
SHARED_BYTES_PER_CLOCK = 128  # shared memory and L1: 32 banks of 4 bytes [G, "Shared Memory"; F]
L2_BYTES_PER_CLOCK = 64  # from L2 to one SM [A, "A100 L2 cache"]
CLUSTER_LATENCY = 180  # clocks to the shared memory of another block of the cluster [M, "Distributed shared memory"]
# To the shared memory of another block of the cluster, of each SM at once: 3.27 TB/s on 132 SMs at 1755 MHz [M, "Distributed
# shared memory", clusters of two].
CLUSTER_BYTES_PER_CLOCK = 14
TMA_LATENCY = 170  # clocks that a copy by TMA takes longer than a load: fitted (benchmarks/calibration.py)
TENSOR_MEMORY_READ, TENSOR_MEMORY_WRITE = 512, 256  # bytes a clock: 128 lanes of 4, half of it to write [N]
# Element type of a dot's operands, as OPERAND_TYPES names it, without a row of its own in ``SmRates.tensor`` -> the row.
TENSOR_RATES = {
    "bf16": "f16",
    **dict.fromkeys(("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"), "f8"),
    "f4E2M1FNx2": "f4",
}


@dataclass(frozen=True)
class SmRates:
    """Results per clock of one SM, by pipe; ``tensor`` are multiply-adds by operand type.

    ``source`` names the publications. ``warp_tensor`` is the fraction of ``tensor`` that warp-wide MMAs reach, ``f32_accumulate`` the
    one that floating-point MMAs with f32 accumulators reach, but for block-scaled ones.
    """

    float32: int
    half2: int
    float64: float
    alu: int
    integer_multiply: int
    special: int
    conversion: int
    shuffle: int
    tensor: dict[str, int]
    source: str
    exponential: int = 16
    warp_tensor: float = 1.0
    f32_accumulate: float = 1.0

    def multiply_adds(self, operand_type: str) -> float:
        """Of the tensor pipe each clock, for operands of a type of ``OPERAND_TYPES``."""
        name = TENSOR_RATES.get(operand_type, operand_type)
        return self.tensor.get(name, self.tensor["f16"]) or self.float64


def _tensor(
    f16: int, *, f64: int = 0, i8: int | None = None, f8: int | None = None, f4: int | None = None
) -> dict[str, int]:
    found = {"f16": f16, "tf32": f16 // 2, "i8": 2 * f16 if i8 is None else i8, "f64": f64}
    return found | ({"f8": f8} if f8 else {}) | ({"f4": f4} if f4 else {})


# float32, half2 (pairs), float64, alu, integer multiply, special, conversion, shuffle. [G] counts halves: 256 are 128 pairs.
SM_RATES: dict[int, SmRates] = {
    80: SmRates(64, 128, 32, 64, 64, 16, 16, 32, _tensor(1024, f64=64), "G, column 8.0; A, table 4"),
    86: SmRates(128, 64, 2, 64, 64, 16, 16, 32, _tensor(512), "G, column 8.6; GA"),
    87: SmRates(128, 128, 2, 64, 64, 16, 16, 32, _tensor(1024), "G, column 8.7; O"),
    89: SmRates(128, 64, 2, 64, 64, 16, 16, 32, _tensor(512, f8=1024), "G, column 8.9; L"),
    90: SmRates(
        128, 128, 64, 64, 64, 16, 64, 32, _tensor(2048, f64=128, f8=4096), "G, column 9.0; H; M for warp-wide MMAs",
        warp_tensor=0.63,
    ),
    100: SmRates(128, 128, 64, 64, 64, 16, 64, 32, _tensor(4096, f64=64, f8=8192, f4=16384), "G, column 10.0; B; F",
               warp_tensor=0.25),
    103: SmRates(128, 128, 2, 64, 64, 16, 64, 32, _tensor(4096, i8=256, f8=8192, f4=24576), "G, column 10.3; B",
               exponential=32, warp_tensor=0.25),
    110: SmRates(128, 128, 2, 64, 64, 16, 64, 32, _tensor(4096, f8=8192, f4=16384), "T; = 100", warp_tensor=0.25),
    120: SmRates(128, 64, 2, 128, 64, 16, 64, 32, _tensor(512, f8=1024, f4=2048), "G, column 12.0; R"),
    121: SmRates(128, 64, 2, 128, 64, 16, 64, 32, _tensor(512, f8=1024, f4=2048), "G, column 12.1; S"),
}  # fmt: skip


# Layout of the launch parameters in constant bank 0 in code of ptxas 13; a cubin also has the offset of the parameters.
@dataclass(frozen=True)
class BankLayout:
    """Byte offsets in constant bank 0: of the extents of block and grid, a pointer to the parameters, the parameters,
    the top of the stack, the extents of a cluster, the cluster counts, a cluster's blocks and the reciprocals of its
    extents in f32, from which ptxas computes %clusterid.
    """

    block: int
    grid: int
    pointer: int
    parameters: int
    stack: int
    cluster: int | None = None
    clusters: int | None = None
    rank: int | None = None
    reciprocals: int | None = None


_BEFORE_90 = BankLayout(0x0, 0xC, 0x118, 0x160, 0x28)
_FROM_90 = BankLayout(0x0, 0xC, 0x198, 0x210, 0x28, 0x144, 0x15C, 0x188)
_FROM_100 = BankLayout(0x360, 0x370, 0x348, 0x380, 0x37C, 0x200, 0x220, 0x22C, 0x210)
CONSTANT_BANK_LAYOUTS: dict[int, BankLayout] = {
    80: _BEFORE_90, 86: _BEFORE_90, 87: _BEFORE_90, 89: _BEFORE_90, 90: _FROM_90, 100: _FROM_100, 103: _FROM_100,
    110: _FROM_100, 120: _FROM_100, 121: _FROM_100,
}  # fmt: skip
