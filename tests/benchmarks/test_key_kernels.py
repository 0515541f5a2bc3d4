"""The kernels of benchmarks/key_kernels.py, full-size tiles in the emulator: right results and few bank conflicts."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import run
from tests.pairwise import alternate
from tileiras_build.simulate.emulator import Counters
from tileiras_build.target.targets import find_target

KERNELS = Path(__file__).parents[2] / "benchmarks" / "key_kernels.py"
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
STEPS = 3
MATMULS = {
    "matmul_f16_128x128x64": (128, 128, 64),
    "matmul_f16_128x256x64": (128, 256, 64),
    "matmul_f16_256x128x64": (256, 128, 64),
    "matmul_f16_256x128x64_2ctas": (256, 128, 64),
    "matmul_f16_128x128x64_persistent": (128, 128, 64),
    "matmul_f16_128x256x64_persistent": (128, 256, 64),
    "matmul_f16_256x128x64_persistent": (256, 128, 64),
    "matmul_f16_256x128x64_persistent_2ctas": (256, 128, 64),
    "matmul_f16_256x256x64_2ctas": (256, 256, 64),
    "matmul_f16_256x256x64_persistent_2ctas": (256, 256, 64),
    "matmul_bf16_128x128x64": (128, 128, 64),
    "matmul_f8e4m3_128x128x64": (128, 128, 64),
    "matmul_f8e4m3_128x128x64_by_rows": (128, 128, 64),
    "matmul_tf32_128x128x32": (128, 128, 32),
}
FP4 = ml_dtypes.float4_e2m1fn
SCALED = {
    "scaled_mxf8e4m3_128x128x128": (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, 32, (128, 128, 128)),
    "scaled_mxfp4_128x128x256": (FP4, ml_dtypes.float8_e8m0fnu, 32, (128, 128, 256)),
    "scaled_nvfp4_128x128x256": (FP4, ml_dtypes.float8_e4m3fn, 16, (128, 128, 256)),
}
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn, "tf32": np.float32}


def wide(array):
    return array.astype(np.float64)


def launch(name, sm, values, grid=(1, 1, 1), most=1):
    """The arrays after a launch in which at most ``most`` words of one access to shared memory lie in one bank."""
    counters = Counters()
    result = run(KERNELS, name, sm, values, grid, counters)
    extra = counters.bank_conflicts.items()
    conflicts = {where: count for where, count in extra if count > (most - 1) * counters.accesses[where]}
    assert not conflicts
    return result


def most_words_of_a_bank(kind, sm):
    """None of TMA's swizzles of 128 bytes parts the four rows of k that a tf32 fragment reads eight columns of."""
    return 2 if kind == "tf32" and find_target(sm).has("tma") else 1


def uniform(seed, shape, dtype=np.float16):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


# Where warps multiply, shapes, types and persistence are looked at one by one, most of them with one way to copy. sm_80 converts
# fp8 in registers, where it is not copied for ldmatrix, and has no clusters.
BY_WARPS = ("matmul_f16_128x256x64", "matmul_f16_128x128x64_persistent", "matmul_tf32_128x128x32")
BY_WARPS_WITH_TMA = (
    "matmul_f16_128x128x64", "matmul_f16_256x128x64", "matmul_f16_128x128x64_persistent", "matmul_tf32_128x128x32",
    "matmul_bf16_128x128x64", "matmul_f16_256x128x64_2ctas", "matmul_f8e4m3_128x128x64", "matmul_f8e4m3_128x128x64_by_rows",
)  # fmt: skip
# Of the others each runs on one GPU, those whose schedules differ most on both.
ASYNC = [
    *alternate(MATMULS, ("sm_90", "sm_100")), ("matmul_f16_128x256x64_persistent", "sm_90"), ("matmul_tf32_128x128x32", "sm_90"),
    ("matmul_f16_256x128x64_persistent_2ctas", "sm_90"), ("matmul_f16_256x128x64_persistent", "sm_100"),
]  # fmt: skip
RUN = [
    *(("sm_80", name) for name in BY_WARPS),
    *((sm, name) for name, sm in ASYNC),
    *(("sm_120", name) for name in BY_WARPS_WITH_TMA),
]


@pytest.mark.parametrize(("sm", "name"), RUN)
def test_matmuls(sm, name):
    multiply(name, sm, STEPS)


def multiply(name, sm, steps):
    """Compare a matmul of so many steps along k with that of float64."""
    kind, (m, n, k) = name.split("_")[1], MATMULS[name]
    m *= STEPS if "persistent" in name else 1  # tiles of one block
    a, b = uniform(1, (m, steps * k), TYPES[kind]), uniform(2, (steps * k, n), TYPES[kind])
    if kind == "tf32":
        # Multiples of 2**-8 are tf32 values.
        a, b = (np.round(array * 256).astype(np.float32) / 256 for array in (a, b))
    out = np.full((m, n), np.nan).astype(np.float16 if kind == "f8e4m3" else TYPES[kind])
    by_columns = kind == "f8e4m3" and not name.endswith("_by_rows")
    operands = [a, np.asfortranarray(b) if by_columns else b, out]
    actual = launch(name, sm, operands, most=most_words_of_a_bank(kind, sm))[2]
    relative = float(ml_dtypes.finfo(out.dtype).eps)
    # The tensor cores of sm_90 keep 13 bits of fraction between two promotions (docs/performance.md).
    absolute = 4e-3 if kind == "f8e4m3" and sm == "sm_90" else 1e-3
    np.testing.assert_allclose(wide(actual), wide(a) @ wide(b), rtol=relative, atol=absolute)


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
def test_stages_that_fill_shared_memory_are_used_again(sm):
    """14 of 16 KiB: the tiles of 17 steps."""
    multiply("matmul_f8e4m3_128x128x64", sm, 17)


@pytest.mark.parametrize("sm", ["sm_100", "sm_120"])
@pytest.mark.parametrize("name", SCALED)
def test_block_scaled_matmuls(name, sm):
    elements, scale, block, (m, n, k) = SCALED[name]
    rng, k = np.random.default_rng(3), 4 * k
    codes = [rng.integers(0, 1 << 8, (rows, k)).astype(np.uint8) for rows in (m, n)]
    codes = [array & (15 if elements is FP4 else 0xBF) for array in codes]  # fp8 below 2
    factors = [rng.integers(0x30, 0x40, (rows, k // block)).astype(np.uint8) for rows in (m, n)]
    if scale is ml_dtypes.float8_e8m0fnu:
        factors = [array % 4 + 124 for array in factors]
    values = [wide(array.view(elements)) for array in codes]
    stored = [array[:, ::2] | array[:, 1::2] << 4 if elements is FP4 else array.view(elements) for array in codes]
    scales = [array.view(scale) for array in factors]
    out = np.full((m, n), np.nan, np.float16)
    actual = launch(name, sm, [stored[0], scales[0], stored[1], scales[1], out])[4]
    left, right = (array * np.repeat(wide(one), block, axis=1) for array, one in zip(values, scales))
    np.testing.assert_allclose(wide(actual), left @ right.T, rtol=2**-10, atol=2**-8)


@pytest.mark.parametrize(
    ("rows", "causal", "sm"),
    [(128, True, "sm_80"), (128, False, "sm_120"), *((*kind, sm) for kind in ((128, False), (256, True)) for sm in ("sm_90", "sm_100"))],
)  # fmt: skip
def test_attention(rows, causal, sm):
    length, size = 256, 128
    q, k, v = (uniform(seed, (1, length, size)) for seed in range(3))
    scale = 1 / np.sqrt(size)
    name = f"attention_f16_{rows}x128" + ("_causal" if causal else "")
    out = launch(name, sm, [q, k, v, np.full_like(q, np.nan), scale], grid=(length // rows, 1, 1))[3]
    scores = wide(q) @ wide(k).transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = powers / powers.sum(axis=2, keepdims=True) @ wide(v)
    np.testing.assert_allclose(wide(out), expected, rtol=2**-9, atol=2**-11)


# Where no instruction for matrices is: the code of all GPUs is alike, and tests/examples runs such kernels on all of them.
@pytest.mark.parametrize(("dtype", "sm"), alternate([np.float16, np.float32], SMS))
def test_transpose(dtype, sm):
    x = uniform(0, (128, 64), dtype)
    name = f"transpose_f{8 * np.dtype(dtype).itemsize}_64x64"
    out = launch(name, sm, [x, np.full((64, 128), np.nan, dtype)], grid=(2, 1, 1))[1]
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("sm", SMS[1::2])
def test_layer_norm(sm):
    x, gamma, beta = uniform(0, (2, 4096)), uniform(1, 4096), uniform(2, 4096)
    out = launch("layer_norm_f16_4096", sm, [x, gamma, beta, np.full_like(x, np.nan), 1e-5], grid=(2, 1, 1))[3]
    centered = wide(x) - wide(x).mean(axis=1, keepdims=True)
    normal = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(wide(out), normal * wide(gamma) + wide(beta), rtol=2**-10, atol=2**-14)


@pytest.mark.parametrize("sm", SMS[::2])
def test_softmax(sm):
    x = uniform(0, (2, 4096))
    out = launch("softmax_f16_4096", sm, [x, np.full_like(x, np.nan)], grid=(2, 1, 1))[1]
    powers = np.exp(wide(x) - wide(x).max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(wide(out), expected, rtol=2**-10, atol=2**-24)


ADDED = {"vector_add_f32_1024": (1024, np.float32), "vector_add_f16_4096": (4096, np.float16)}


@pytest.mark.parametrize(("name", "sm"), alternate(ADDED, SMS))
def test_vector_add(name, sm):
    size, dtype = ADDED[name]
    a, b = uniform(0, 2 * size, dtype), uniform(1, 2 * size, dtype)
    out = launch(name, sm, [a, b, np.full_like(a, np.nan)], grid=(2, 1, 1))[2]
    np.testing.assert_array_equal(out, a + b)
