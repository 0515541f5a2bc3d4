"""The kernels of benchmarks/fast_path_kernels.py compute what they say: full-size tiles, few of them, in the emulator."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import run

KERNELS = Path(__file__).parents[2] / "benchmarks" / "fast_path_kernels.py"
SMS = ("sm_80", "sm_90", "sm_120")
STEPS = 3


def wide(array):
    return array.astype(np.float64)


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("tile", [(128, 128, 64), (128, 256, 64), (256, 128, 64)], ids=str)
def test_products(tile, sm):
    m, n, k = tile
    name = f"matmul_f16_{m}x{n}x{k}"
    rng = np.random.default_rng(m + n)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float16) for shape in ((m, STEPS * k), (STEPS * k, n)))
    actual = run(KERNELS, name, sm, [a, b, np.full((m, n), np.nan, np.float16)])[2]
    np.testing.assert_allclose(wide(actual), wide(a) @ wide(b), rtol=2**-10, atol=1e-3)


@pytest.mark.parametrize("sm", SMS)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal, sm):
    rng, heads, length, size = np.random.default_rng(causal), 1, 256, 128
    q, k, v = (rng.uniform(-1, 1, (heads, length, size)).astype(np.float16) for _ in range(3))
    scale = 1 / np.sqrt(size)
    name = "attention_f16_128x128" + ("_causal" if causal else "")
    out = run(KERNELS, name, sm, [q, k, v, np.full_like(q, np.nan), scale], grid=(length // 128, heads, 1))[3]
    scores = wide(q) @ wide(k).transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = powers / powers.sum(axis=2, keepdims=True) @ wide(v)
    np.testing.assert_allclose(wide(out), expected, rtol=2**-9, atol=2**-11)
