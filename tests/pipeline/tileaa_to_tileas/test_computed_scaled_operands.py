"""Block-scaled dots whose operands the loop computes: threads write them where the instruction of tensor memory reads them."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("computed_scaled_operands.py")
BLOCK = 32
TILES = {
    "left": (128, 64, 64),
    "left_deep": (128, 128, 128),
    "both": (128, 64, 128),
    "right": (128, 64, 128),
    "right_grouped": (128, 128, 256),
}


def _factor(rng, lines, k):
    """Elements of e4m3, and a power of two for each block of which one has the magnitude 1."""
    small = rng.choice([0, 0.5, 1, -1, 1.5, -1.75], (lines, k))
    small[:, ::BLOCK] = 1
    return small, np.exp2(rng.integers(-2, 3, (lines, k // BLOCK)))


def _scaled(factor):
    small, scales = factor
    return small * np.repeat(scales, BLOCK, axis=1)


def _given(name, left, right):
    small, scale, wide = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, ml_dtypes.bfloat16
    quantized = [_scaled(left).astype(wide)], [_scaled(right).astype(wide)]
    kept = [[values.astype(small), scales.astype(scale)] for values, scales in (left, right)]
    if name == "both":
        return [*quantized[0], *quantized[1]]
    if name.startswith("left"):
        return [*quantized[0], *kept[1]]
    return [*kept[0], right[0].astype(wide), kept[1][1]]


@pytest.mark.parametrize(
    ("name", "sm", "steps"),
    [
        *((name, "sm_100", steps) for name in TILES for steps in (2, 6)),
        ("left", "sm_120", 3),
        ("both", "sm_90", 3),
        ("right", "sm_120", 3),
    ],
)
def test_results(name, sm, steps):
    m, n, k = TILES[name]
    rng = np.random.default_rng(steps)
    left, right = (_factor(rng, 2 * lines - 16, steps * k) for lines in (m, n))
    out = np.full((2 * m - 16, 2 * n - 16), 7, np.float32)
    found = run(KERNELS, name, sm, [*_given(name, left, right), out], (2, 2, 1))[-1]
    np.testing.assert_array_equal(found, _scaled(left) @ _scaled(right).T)


@pytest.mark.parametrize("name", TILES)
def test_tensor_memory_multiplies_them(name):
    ptx = compiled(KERNELS, name, "sm_100").ptx
    assert "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale" in ptx and "mma.sync" not in ptx
