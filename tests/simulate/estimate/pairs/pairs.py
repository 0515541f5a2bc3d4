"""Pairs of kernels of which publications say which is the faster one: the launches, and where it was measured.

Kernels are those of ``kernels.cu``, written after the descriptions in the publications. Their GPUs are others than the
one that the model is asked for (sm_80): what is compared is the order.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileiras_build.simulate.estimate.constant_bank_values import GlobalBuffer

SM = "sm_80"
WORD = 4

[TRANSPOSE, STRIDES, VECTORS, VOLKOV, REDUCTION, SHUFFLED, BOEHM, TENSOR, SOFTMAX, AMPERE] = [
    "Harris, An Efficient Matrix Transpose in CUDA C/C++, NVIDIA Technical Blog, 2013: effective bandwidths of C2050 and K20c",
    "Harris, How to Access Global Memory Efficiently in CUDA C/C++ Kernels, NVIDIA Technical Blog, 2013: bandwidth by stride",
    "Luitjens, CUDA Pro Tip: Increase Performance with Vectorized Memory Access, NVIDIA Technical Blog, 2013: copies by vector",
    "Volkov, Better Performance at Lower Occupancy, GTC 2010: parts II and III",
    "Harris, Optimizing Parallel Reduction in CUDA, NVIDIA, 2007: table of seven kernels, 8.054 to 0.268 ms",
    "CUDA C++ Best Practices Guide, Occupancy; Volkov, Understanding Latency Hiding on GPUs, UCB/EECS-2016-143, chapter 4",
    "Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance, 2022: table of ten kernels on A6000",
    "Appleyard and Yokim, Programming Tensor Cores in CUDA 9, NVIDIA Technical Blog, 2017",
    "Milakov and Gimelshein, Online normalizer calculation for softmax, arXiv 1805.02867: figure of large vectors",
    "NVIDIA A100 Tensor Core GPU Architecture, whitepaper, table 1: 9.7 TFLOP/s of FP64, 19.5 of FP32",
]  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A launch of a kernel of ``kernels.cu``."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    values: tuple[GlobalBuffer | int | float, ...]
    shared: int = 0


@dataclass(frozen=True)
class Pair:
    """Two launches that do the same; ``factor``: how much faster the model has to find the one at least."""

    faster: Run
    slower: Run
    source: str
    factor: float = 1.02


def _arrays(*sizes: int) -> tuple[GlobalBuffer, ...]:
    """The first is the result."""
    return tuple(GlobalBuffer(f"p{n}", size, "loaded" if n else "stored") for n, size in enumerate(sizes))


# ---- transposes and copies -----------------------------------------------------------------------------------------------
_SIDE = 4096
_matrix = lambda kernel: Run(
    kernel, (_SIDE // 32, _SIDE // 32, 1), (32, 8, 1), (*_arrays(*2 * [WORD * _SIDE**2]), _SIDE)
)


def _strided(stride: int) -> Run:
    return Run("strided", (4096, 1, 1), (256, 1, 1), (GlobalBuffer("a", WORD * 4096 * 256 * stride), stride))


_LENGTH = 1 << 22


def _copy(kernel: str, blocks: int = 108) -> Run:
    return Run(kernel, (blocks, 1, 1), (256, 1, 1), (*_arrays(*2 * [WORD * _LENGTH]), _LENGTH))


def _low_occupancy(kernel: str, each: int, shared: int) -> Run:
    return Run(kernel, (_LENGTH // 128 // each, 1, 1), (128, 1, 1), _arrays(*2 * [WORD * _LENGTH]), shared)


# ---- arithmetic ----------------------------------------------------------------------------------------------------------
def _chains(kernel: str, size: int = WORD, threads: int = 128) -> Run:
    return Run(kernel, (108, 1, 1), (threads, 1, 1), (*_arrays(size * 108 * threads), 1.0, 0.5, 1024))


# ---- reductions ----------------------------------------------------------------------------------------------------------
def _reduction(kernel: str, each: int, blocks: int | None = None) -> Run:
    grid = (blocks or _LENGTH // 128 // each, 1, 1)
    values = (*_arrays(WORD * grid[0], WORD * _LENGTH), *((_LENGTH,) if blocks else ()))
    return Run(kernel, grid, (128, 1, 1), values, WORD * 128)


_STEPS = [
    _reduction("reduce_interleaved", 1), _reduction("reduce_strided", 1), _reduction("reduce_sequential", 1),
    _reduction("reduce_first_add", 2), _reduction("reduce_last_warp", 2), _reduction("reduce_many", 2, blocks=1008),
]  # fmt: skip


# ---- matmuls -------------------------------------------------------------------------------------------------------------
_N, _DEPTH = 3072, 128


def _matmul(kernel: str, tile: int, threads: int, size: int = WORD) -> Run:
    factors = tuple(GlobalBuffer(name, size * _N * _DEPTH, "loaded") for name in "ab")
    grid = (_N // tile, _N // tile, 1)
    return Run(kernel, grid, (threads, 1, 1), (*factors, GlobalBuffer("c", WORD * _N * _N, "stored"), _N, _DEPTH))


_MATMULS = [
    _matmul("matmul_scattered", 32, 1024), _matmul("matmul_coalesced", 32, 1024), _matmul("matmul_shared", 32, 1024),
    _matmul("matmul_columns", 64, 512), _matmul("matmul_squares", 128, 256),
]  # fmt: skip

_WIDTH, _ROWS = 1 << 12, 4096
_softmax = lambda kernel: Run(kernel, (_ROWS, 1, 1), (256, 1, 1), (*_arrays(*2 * [WORD * _WIDTH * _ROWS]), _WIDTH))

PAIRS: dict[str, Pair] = {
    "transpose: by tiles, not scattered": Pair(_matrix("transpose_padded"), _matrix("transpose_plain"), TRANSPOSE),
    "transpose: without bank conflicts": Pair(_matrix("transpose_padded"), _matrix("transpose_tiled"), TRANSPOSE),
    "transpose: a copy scatters nothing": Pair(_matrix("copy_matrix"), _matrix("transpose_plain"), TRANSPOSE),
    "stride: 1 before 2": Pair(_strided(1), _strided(2), STRIDES),
    "stride: 2 before 8": Pair(_strided(2), _strided(8), STRIDES),
    "copy: pairs before words": Pair(_copy("copy_pairs"), _copy("copy_words"), VECTORS),
    "copy: vectors before pairs": Pair(_copy("copy_vectors"), _copy("copy_pairs"), VECTORS),
    "copy: four loads ahead of the stores": Pair(
        _low_occupancy("copy_four", 4, 72 << 10), _low_occupancy("copy_one", 1, 72 << 10), VOLKOV
    ),
    "copy: all blocks that fit before two": Pair(
        _low_occupancy("copy_one", 1, 0), _low_occupancy("copy_one", 1, 72 << 10), SHUFFLED
    ),
    "arithmetic: four chains before one": Pair(_chains("four_chains"), _chains("one_chain"), VOLKOV),
    "arithmetic: f32 before f64": Pair(
        _chains("four_chains", threads=512), _chains("four_chains_f64", 8, 512), AMPERE, 1.5
    ),
    "reduction: strided before interleaved": Pair(_STEPS[1], _STEPS[0], REDUCTION),
    "reduction: sequential before strided": Pair(_STEPS[2], _STEPS[1], REDUCTION),
    "reduction: first add at the load": Pair(_STEPS[3], _STEPS[2], REDUCTION),
    "reduction: the last warp unrolled": Pair(_STEPS[4], _STEPS[3], REDUCTION),
    "reduction: all unrolled, many elements of a thread": Pair(_STEPS[5], _STEPS[3], REDUCTION),
    "matmul: coalesced before scattered": Pair(_MATMULS[1], _MATMULS[0], BOEHM),
    "matmul: shared memory": Pair(_MATMULS[2], _MATMULS[1], BOEHM),
    "matmul: a column of a thread": Pair(_MATMULS[3], _MATMULS[2], BOEHM),
    "matmul: a square of a thread": Pair(_MATMULS[4], _MATMULS[3], BOEHM),
    "matmul: tensor cores": Pair(_matmul("matmul_tensor", 128, 256, 2), _MATMULS[4], TENSOR, 1.5),
    "softmax: two passes before three": Pair(_softmax("softmax_online"), _softmax("softmax_three_passes"), SOFTMAX),
}
